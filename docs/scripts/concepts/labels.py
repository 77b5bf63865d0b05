"""A labelled environment: a cell of a map, and the result and label of each action there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from docs.scripts.concepts.sheet import SOFT, Point, arrow, cell, grid, sheet, words
from pdrm.drawing.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 1.5
FAR = 0.72
BUMP = 0.5
"""Length of an arrow in cells: into the next cell, or up to a wall."""


class Move(NamedTuple):
    """An action in the cell."""

    action: str
    towards: Point
    """The direction in (rows, columns)."""
    moves: bool
    label: str


def labels_plot(rows: Sequence[str], place: Point, moves: Sequence[Move]) -> Figure:
    """The map with an arrow per action, and a table of their labels."""
    tall = SIDE * len(rows)
    wide = SIDE * len(rows[0])
    figure, axes = sheet((wide + 9.3) / 2.5, (tall + 0.8) / 2.5)
    corner = (0.4, 0.4)
    grid(axes, corner, rows, SIDE, place)
    right = corner[0] + wide + 1.0
    for x, name in ((0.4, "action"), (3.6, "leads to"), (6.4, "label")):
        words(axes, (right + x, tall - 0.3), name, 11, color=SOFT)
    for number, move in enumerate(moves):
        far = FAR if move.moves else BUMP
        target = (place[0] + far * move.towards[0], place[1] + far * move.towards[1])
        colour = COLOURS[0] if move.moves else COLOURS[1]
        arrow(axes, cell(corner, rows, SIDE, place), cell(corner, rows, SIDE, target), colour)
        height = tall - 1.6 - 1.4 * number
        words(axes, (right + 0.4, height), move.action, 12)
        words(
            axes,
            (right + 3.6, height),
            "the next cell" if move.moves else "a wall: stays",
            11,
            color=colour,
        )
        words(axes, (right + 6.4, height), move.label, 12)
    return figure
