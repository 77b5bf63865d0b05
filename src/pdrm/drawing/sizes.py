"""Sizes drawn: how a task's tables grow with the steps of an episode, what may be and what is, both axes logarithmic.

Bounds may have thousands of digits, so what is plotted is their logarithm. A bound leaves the picture at the top.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pdrm.drawing.plot_file import check_plot_format, write_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's: told apart by colour-blind readers too."""

Points = list[tuple[int, float]]


def draw_sizes(record: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Draw a `sizes_record` into a file, in the format its ending names."""
    check_plot_format(path)
    write_plot(sizes_plot(record), path)


def sizes_plot(record: dict[str, Any]) -> Figure:
    """The growth of a task's tables."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    _plot(figure.subplots(), record)
    return figure


def curves(record: dict[str, Any]) -> dict[str, Points]:
    """The decimal logarithms of the sizes by steps, from the first step on: the bound, the full policy, each k-policy.

    >>> row = {"steps": 1, "bound": {"exact": 100, "log10": 2.0}, "rows": None, "views": {"1": 10}}
    >>> curves({"growth": [row]})
    {'full policy: bound': [(1, 2.0)], 'full policy': [], '1-policy': [(1, 1.0)]}
    """
    growth = [row for row in record["growth"] if row["steps"] > 0]
    found = {
        "full policy: bound": [(row["steps"], row["bound"]["log10"]) for row in growth],
        "full policy": _logarithms((row["steps"], row["rows"]) for row in growth),
    }
    for k in growth[0]["views"] if growth else ():
        found[f"{k}-policy"] = _logarithms((row["steps"], row["views"][k]) for row in growth)
    return found


def _logarithms(points: Iterable[tuple[int, int | None]]) -> Points:
    return [(steps, math.log10(count)) for steps, count in points if count]


def _plot(axes: Any, record: dict[str, Any]) -> None:  # noqa: ANN401 - matplotlib's axes
    found = curves(record)
    counted = [height for name, points in found.items() if "bound" not in name for _, height in points]
    top = math.ceil(max(counted, default=1.0) + 2)
    for number, (name, points) in enumerate(found.items()):
        bound = "bound" in name
        style = {"linestyle": "--"} if bound else {"marker": "o", "markersize": 3}
        colour = COLOURS[0] if bound else COLOURS[(number - 1) % len(COLOURS)]
        if points:
            axes.plot(*zip(*points, strict=True), label=name, color=colour, **style)
    limit = max(2, record["steps"])
    axes.set(xscale="log", xlim=(1, limit), ylim=(0, top), xlabel="steps of an episode", ylabel="rows of the table")
    ticks = range(0, top + 1, max(1, math.ceil(top / 8)))
    axes.set_yticks(list(ticks), [f"$10^{{{tick}}}$" for tick in ticks])
    places = sorted({10**power for power in range(7) if 2 * 10**power <= limit} | {limit})
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.minorticks_off()
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(f"{record['domain']}, machine {record['machine']}", loc="left", fontsize="medium")
    if any(found.values()):
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
