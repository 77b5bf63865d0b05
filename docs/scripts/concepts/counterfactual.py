"""Counterfactual experiences: one step of the environment, read by the machine from where it is and from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from docs.scripts.concepts.sheet import SOFT, STATES, Point, arrow, box, cell, grid, sheet, words
from pdrm.drawing.plots import SEEN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (0.0, 1.9, 5.7, 7.6, 11.0)


class Imagined(NamedTuple):
    """What the machine would do from a configuration."""

    state: str
    stack: str
    after: str
    then: str
    paid: str
    real: bool = False


def counterfactual_plot(
    rows: Sequence[str], step: tuple[Point, Point], label: str, imagined: Sequence[Imagined]
) -> Figure:
    """The step on the map, and a line for each experience; the real one stands out."""
    side, high = 0.9, 0.95
    figure, axes = sheet(7.2, (2.2 + high * len(imagined)) / 2.5)
    top = 0.5 + high * len(imagined)
    at = (0.3, top / 2 - side * len(rows) / 2 + 0.3)
    grid(axes, at, rows, side)
    arrow(axes, cell(at, rows, side, step[0]), cell(at, rows, side, step[1]))
    middle = at[0] + side * len(rows[0]) / 2
    words(axes, (middle, at[1] + side * len(rows) + 0.45), f"one step, label {label}", 10)
    box(axes, (middle - 2.2, at[1] - 0.95), (0.6, 0.4), SEEN, linewidth=0.6)
    words(axes, (middle - 1.4, at[1] - 0.76), "what really happened", 9, ha="left")
    left = 5.5
    heads = ("if in", "with stack", "then in", "with stack", "paid")
    for x, head in zip(COLUMNS, heads, strict=True):
        words(axes, (left + x, top + 0.45), head, 10, color=SOFT, ha="left")
    words(axes, (left + 3.8, top + 1.15), "what the machine would have done", 11, weight="bold")
    for number, one in enumerate(imagined):
        y = top - high * (number + 0.5)
        if one.real:
            box(axes, (left - 0.25, y - 0.42), (12.55, 0.84), SEEN, linewidth=0.6)
        for x, text in zip(COLUMNS, one[:5], strict=True):
            style = {"color": STATES[text], "weight": "bold"} if text in STATES else {}
            words(axes, (left + x, y), text, 10, ha="left", **style)
        arrow(axes, (left + 4.75, y), (left + 5.5, y), SOFT)
    return figure
