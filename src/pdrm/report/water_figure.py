"""WaterWorld's curves from its records: the medians and quartiles over seeds of the tests, one panel a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from pdrm.experiments.water_records import Tested
from pdrm.report.colours import colours
from pdrm.report.plots import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIGHEST = 116_001
"""The highest return of an episode."""


def water_plot(tests: Sequence[Tested]) -> Figure:
    """All agents in some tests, a panel for each map."""
    domains, lines = (list(dict.fromkeys(getattr(test, name) for test in tests)) for name in ("domain", "line"))
    shades = colours(lines)
    figure = Figure(figsize=(6.4 if len(domains) == 1 else 8.6, 3.8), layout="constrained")
    for axes, domain in zip(figure.subplots(1, len(domains), squeeze=False)[0], domains, strict=True):
        for line in lines:
            _curve(axes, [test for test in tests if (test.domain, test.line) == (domain, line)], shades[line])
        _finish(axes, domain)
    figure.axes[0].set_ylabel("return of a test episode, thousands", color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(lines), fontsize=8, frameon=False)
    return figure


def _curve(axes: Axes, tests: list[Tested], colour: str) -> None:
    at = sorted({test.timesteps for test in tests})
    returns = [[one.returned / 1e3 for one in tests if one.timesteps == time] for time in at]
    low, middle, high = np.quantile(np.array(returns), (0.25, 0.5, 0.75), axis=1)
    steps = np.array(at) / 1e6
    axes.plot(steps, middle, color=colour, label=tests[0].line, linewidth=1.6)
    axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)


def _finish(axes: Axes, domain: str) -> None:
    axes.axhline(HIGHEST / 1e3, color="#999999", linewidth=0.8, linestyle=":")
    axes.set_title(domain, fontsize=10, color=INK)
    axes.set_xlabel("training steps, millions", color=INK)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 122)
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
