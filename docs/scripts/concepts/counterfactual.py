"""Counterfactual experiences: the machine's moves for one step of the environment, from its actual
and other configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from docs.scripts.concepts.sheet import SOFT, STATES, Point, arrow, box, cell, grid, sheet, words
from pdrm.drawing.plots import SEEN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (0.0, 1.9, 5.7, 7.6, 11.0)


class Experience(NamedTuple):
    """The machine's move from a configuration."""

    state: str
    stack: str
    next_state: str
    next_stack: str
    reward: str
    real: bool = False


def counterfactual_plot(
    rows: Sequence[str], step: tuple[Point, Point], label: str, experiences: Sequence[Experience]
) -> Figure:
    """The step on the map, and a line for each experience with the real one highlighted."""
    side, high = 0.9, 0.95
    figure, axes = sheet(7.2, (2.2 + high * len(experiences)) / 2.5)
    top = 0.5 + high * len(experiences)
    corner = (0.3, top / 2 - side * len(rows) / 2 + 0.3)
    grid(axes, corner, rows, side)
    arrow(axes, cell(corner, rows, side, step[0]), cell(corner, rows, side, step[1]))
    middle = corner[0] + side * len(rows[0]) / 2
    words(axes, (middle, corner[1] + side * len(rows) + 0.45), f"one step, label {label}", 10)
    box(axes, (middle - 2.2, corner[1] - 0.95), (0.6, 0.4), SEEN, linewidth=0.6)
    words(axes, (middle - 1.4, corner[1] - 0.76), "the real experience", 9, ha="left")
    left = 5.5
    headings = ("state", "stack", "next state", "next stack", "reward")
    for x, heading in zip(COLUMNS, headings, strict=True):
        words(axes, (left + x, top + 0.45), heading, 10, color=SOFT, ha="left")
    words(axes, (left + 3.8, top + 1.15), "the machine’s moves for this label", 11, weight="bold")
    for number, experience in enumerate(experiences):
        y = top - high * (number + 0.5)
        if experience.real:
            box(axes, (left - 0.25, y - 0.42), (12.55, 0.84), SEEN, linewidth=0.6)
        for x, text in zip(COLUMNS, experience[:5], strict=True):
            style = {"color": STATES[text], "weight": "bold"} if text in STATES else {}
            words(axes, (left + x, y), text, 10, ha="left", **style)
        arrow(axes, (left + 4.75, y), (left + 5.5, y), SOFT)
    return figure
