"""Growth drawn: how many states a product has, and how long it takes to build and to solve, by the bound of its stack."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pdrm.drawing.plot_file import check_plot_format, write_plot
from pdrm.drawing.sizes import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Grown(NamedTuple):
    """A product with stacks up to a height.

    >>> Grown(height=8, states=21_845, build_s=0.01, solve_s=0.002).states
    21845
    """

    height: int
    states: int
    build_s: float
    solve_s: float


def draw_growth(tasks: Mapping[str, Sequence[Grown]], path: str | os.PathLike[str]) -> None:
    """Draw the growth of some tasks' products into a file, in the format its ending names."""
    check_plot_format(path)
    write_plot(growth_plot(tasks), path)


def growth_plot(tasks: Mapping[str, Sequence[Grown]]) -> Figure:
    """States on the left, seconds on the right (solid to solve, dashed to build), all axes logarithmic.

    >>> plot = growth_plot({"maze": [Grown(2, 5, 0.001, 0.001), Grown(3, 21, 0.001, 0.001)]})
    >>> [axes.get_ylabel() for axes in plot.axes]
    ['states', 'seconds']
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, (task, grown) in zip(COLOURS, tasks.items(), strict=False):
        heights = [one.height for one in grown]
        style = {"color": colour, "marker": "o", "markersize": 3}
        left.plot(heights, [one.states for one in grown], label=task, **style)
        right.plot(heights, [one.solve_s for one in grown], label=f"{task}: solve", **style)
        right.plot(heights, [one.build_s for one in grown], label=f"{task}: build", linestyle="--", **style)
    _axes(left, "states")
    _axes(right, "seconds")
    return figure


def _axes(axes: Any, what: str) -> None:  # noqa: ANN401 - matplotlib's axes
    axes.set(xscale="log", yscale="log", xlabel="highest stack", ylabel=what)
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
