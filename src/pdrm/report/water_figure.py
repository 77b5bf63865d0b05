"""Figure 5 from the records: the medians and quartiles over seeds of the tests, one panel a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from pdrm.experiments.water_runs import Tested, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")


def draw_tests(tables: list[Path], path: Path, title: str) -> None:
    """All lines of some tables, as a picture (.svg or .png)."""
    tests = [test for table in tables for test in read_table(table)]
    domains = list(dict.fromkeys(test.domain for test in tests))
    with mpl.rc_context({"svg.hashsalt": "pdrm", "font.size": 9}):
        figure = Figure(figsize=(4.2 * len(domains), 3.2), layout="constrained")
        for axes, domain in zip(figure.subplots(1, len(domains), squeeze=False)[0], domains, strict=True):
            _panel(axes, [test for test in tests if test.domain == domain])
            axes.set_title(f"{title}: {domain}")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)


def _panel(axes: Axes, tests: list[Tested]) -> None:
    lines = list(dict.fromkeys(test.line for test in tests))
    for line, colour in zip(lines, COLOURS, strict=False):
        at = sorted({test.timesteps for test in tests if test.line == line})
        returns = [[one.returned for one in tests if one.line == line and one.timesteps == time] for time in at]
        low, middle, high = np.quantile(np.array(returns), (0.25, 0.5, 0.75), axis=1)
        steps = np.array(at) / 1e6
        axes.plot(steps, middle, color=colour, label=line)
        axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.axhline(116_001, color="#999999", linewidth=0.8, linestyle=":")
    axes.set_xlabel("training steps (millions)")
    axes.set_ylabel("return of a test episode")
    axes.legend(frameon=False)
