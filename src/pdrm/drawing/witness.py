"""A witness side by side: where the agent is, its stack with what a k-policy sees of it, and what is best to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pdrm.domains.drawing_pixels import as_pixels
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.drawing.plot_file import check_plot_format, write_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

MOST_SYMBOLS = 12
"""Symbols of a stack that are drawn; the rest is counted."""
SEEN, UNSEEN, INK = "#ffe3a3", "#eceae4", "#262a33"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One situation, as it is drawn."""

    place: int
    state: str
    stack: tuple[str, ...]
    seen: int
    """How many symbols the policy sees."""
    way: str
    best: str
    value: str


def draw_witness(domain: FiniteDomain, situations: Sequence[Drawn], title: str, path: Path) -> None:
    """Draw some situations next to each other to a `.svg`, `.png` or `.pdf`."""
    check_plot_format(path)
    write_plot(witness_plot(domain, situations, title), path)


def witness_plot(domain: FiniteDomain, situations: Sequence[Drawn], title: str) -> Figure:
    """Some situations next to each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(situations), 4.6), layout="constrained")
    figure.suptitle(title, fontsize=12, color=INK)
    axes = figure.subplots(1, 2 * len(situations), width_ratios=[2.6, 1] * len(situations), squeeze=False)[0]
    for number, one in enumerate(situations):
        grid, stack = axes[2 * number], axes[2 * number + 1]
        grid.imshow(as_pixels(domain, one.place), interpolation="nearest")
        grid.set_axis_off()
        grid.set_title(f"after {one.way}", fontsize=11, color=INK, wrap=True)
        grid.text(
            0.5, -0.02, f"best: {one.best}\nvalue {one.value}", transform=grid.transAxes, ha="center", va="top",
            fontsize=11, color=INK,
        )  # fmt: skip
        _stack(stack, one)
    return figure


def _stack(axes: Axes, one: Drawn) -> None:
    """The stack, top first; what the policy sees is filled."""
    shown = one.stack[:MOST_SYMBOLS]
    for row, symbol in enumerate(shown):
        axes.add_patch(_box(row, SEEN if row < one.seen else UNSEEN))
        axes.text(0.5, -row - 0.5, symbol, ha="center", va="center", fontsize=11, color=INK)
    if len(one.stack) > len(shown):
        axes.text(0.5, -len(shown) - 0.5, f"… {len(one.stack) - len(shown)} more", ha="center", va="center", fontsize=9)
    axes.set_title(one.state, fontsize=11, color=INK)
    axes.set_xlim(-0.2, 1.2)
    axes.set_ylim(-max(8, len(shown) + 1), 0.2)
    axes.set_axis_off()


def _box(row: int, colour: str) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((0, -row - 1), 1, 1, facecolor=colour, edgecolor=INK, linewidth=0.8)
