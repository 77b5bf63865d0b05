"""What a larger k buys and what it costs: the value a best k-policy reaches, and the rows of its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from pdrm.drawing.plots import COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trade_plot(views: Sequence[str], kept: Sequence[float], rows: Sequence[int]) -> Figure:
    """A bar a view in both halves: per cent of the optimal value, and rows."""
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    _bars(left, views, kept, COLOURS[0], [f"{share:g} %" for share in kept])
    left.set_ylim(0, 115)
    left.set_title("value reached, of the optimum", fontsize=11, color=INK, loc="left")
    _bars(right, views, rows, COLOURS[1], [f"{count:,}" for count in rows])
    right.set_ylim(0, 1.15 * max(rows))
    right.set_title("rows of the table", fontsize=11, color=INK, loc="left")
    return figure


def _bars(
    axes: Axes, views: Sequence[str], heights: Sequence[float], colour: str, shown: Sequence[str]
) -> None:
    bars = axes.bar(views, heights, color=colour, width=0.62)
    axes.bar_label(bars, labels=shown, padding=2, fontsize=10, color=INK)
    axes.set_xlabel("what is seen of the stack", fontsize=10, color=INK)
    axes.tick_params(labelsize=10, colors=INK)
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
