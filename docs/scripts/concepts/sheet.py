"""A blank sheet and functions that draw on it: boxes, arrows, words, stacks, grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from pdrm.domains.finite_domain import FLOOR, WALL
from pdrm.drawing.plots import COLOURS, INK, SEEN, UNSEEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOFT = "#6a6e78"
"""Colour of explanations."""
STONE = "#3e4451"
"""Colour of walls."""
PLACE = "#ffe3a3"
"""Colour of places on a map."""
HIDDEN = "#9a978f"
"""Colour of hidden symbols."""
STATES = {"search": COLOURS[0], "return": COLOURS[1], "home": COLOURS[2], "lost": COLOURS[3]}
"""The colours of the treasure machine's states, as in the library's picture of an episode."""

Point = tuple[float, float]


def sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of this size in inches, with 2.5 units per inch starting at the lower left."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 2.5 * width), ylim=(0, 2.5 * height), aspect="equal")
    axes.set_axis_off()
    return figure, axes


def words(axes: Axes, at: Point, text: str, size: float = 10, **style: Any) -> None:
    """Write words centred at a point."""
    look: dict[str, Any] = {"fontsize": size, "color": INK, "ha": "center", "va": "center"}
    axes.text(*at, text, **look | style)


def box(axes: Axes, at: Point, size: Point, fill: str, **style: Any) -> None:
    """Draw a box with round corners; `at` is its lower left corner."""
    look: dict[str, Any] = {"facecolor": fill, "edgecolor": INK, "linewidth": 0.9}
    axes.add_patch(
        FancyBboxPatch(at, *size, boxstyle="round,pad=0,rounding_size=0.18", **look | style)
    )


def arrow(axes: Axes, start: Point, end: Point, colour: str = INK, bend: float = 0.0) -> None:
    """Draw an arrow."""
    curve = f"arc3,rad={bend}"
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=13,
            linewidth=1.4,
            color=colour,
            connectionstyle=curve,
        )
    )


def stack(
    axes: Axes, at: Point, symbols: Sequence[str], seen: int | None = None, side: float = 0.62
) -> None:
    """Draw a stack with its lower left corner at a point, and the top `seen` symbols in colour."""
    for height, symbol in enumerate(reversed(symbols)):
        shown = seen is None or len(symbols) - height <= seen
        corner = (at[0], at[1] + height * side)
        fill = SEEN if shown else UNSEEN
        axes.add_patch(
            Rectangle(corner, side * 1.5, side, facecolor=fill, edgecolor=INK, linewidth=0.8)
        )
        middle = (corner[0] + 0.75 * side, corner[1] + side / 2 - 0.02)
        words(axes, middle, symbol, 10, color=INK if shown else HIDDEN)


def grid(
    axes: Axes, at: Point, rows: Sequence[str], side: float, agent: Point | None = None
) -> None:
    """Draw a map with its lower left corner at a point, and the agent as a dot in (row, column)."""
    for row, line in enumerate(rows):
        for column, shown in enumerate(line):
            x, y = at[0] + column * side, at[1] + (len(rows) - 1 - row) * side
            fill = {WALL: STONE, FLOOR: "#ffffff"}.get(shown, PLACE)
            axes.add_patch(
                Rectangle((x, y), side, side, facecolor=fill, edgecolor="#d8d5cc", linewidth=0.6)
            )
            if shown not in (WALL, FLOOR):
                words(axes, (x + side / 2, y + side / 2), shown, 13 * side)
    if agent is not None:
        axes.plot(*cell(at, rows, side, agent), marker="o", color=INK, markersize=10 * side)


def cell(at: Point, rows: Sequence[str], side: float, place: Point) -> Point:
    """The centre of a map's cell."""
    return at[0] + (place[1] + 0.5) * side, at[1] + (len(rows) - 0.5 - place[0]) * side
