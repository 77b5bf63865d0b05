"""Views of the stack: the visible symbols of two stacks, and whether they are distinguishable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from docs.scripts.concepts.sheet import SOFT, sheet, stack, words
from pdrm.drawing.plots import INK, SEEN, UNSEEN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Stack = tuple[str, ...]
WIDE, SIDE = 4.1, 0.72


def views_plot(one: Stack, other: Stack, views: Sequence[tuple[str, int]]) -> Figure:
    """The two stacks side by side for each view: its name and number of visible symbols."""
    tall = SIDE * max(len(one), len(other))
    figure, axes = sheet((WIDE * len(views) + 0.6) / 2.5, (tall + 3.3) / 2.5)
    for number, (name, seen) in enumerate(views):
        middle = 0.3 + WIDE * (number + 0.5)
        words(axes, (middle, tall + 2.7), name, 12, weight="bold")
        for shift, symbols in ((-1.45, one), (0.35, other)):
            stack(axes, (middle + shift, 1.9), symbols, seen, SIDE)
        alike = one[:seen] == other[:seen]
        words(axes, (middle, 1.3), "look alike" if alike else "distinguishable", 11)
    for x, fill, name in ((5.4, SEEN, "visible"), (9.4, UNSEEN, "hidden")):
        axes.add_patch(
            Rectangle((x, 0.28), 0.7, 0.45, facecolor=fill, edgecolor=INK, linewidth=0.8)
        )
        words(axes, (x + 0.95, 0.5), name, 11, ha="left", color=SOFT)
    return figure
