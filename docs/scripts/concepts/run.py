"""A run of a machine: its word, and the state, stack and reward after every label."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.patches import Rectangle

from docs.scripts.concepts.sheet import SOFT, STATES, sheet, words
from pdrm.drawing.plots import INK, TINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 1.32
LEFT = 3.1
"""Width of a moment, and the position of the first."""


class Moment(NamedTuple):
    """A machine after a label."""

    label: str
    """Empty before the first label."""
    state: str
    stack: tuple[str, ...]
    """Top first."""
    reward: str


def run_plot(moments: Sequence[Moment]) -> Figure:
    """A column per moment, with the stack growing upwards."""
    highest = max(len(moment.stack) for moment in moments)
    top = 1.2 + 0.8 * highest
    figure, axes = sheet((LEFT + SIDE * len(moments) + 0.3) / 2.5, (top + 2.6) / 2.5)
    names = {
        "label read": top + 2.0,
        "state": top + 1.0,
        "stack": 0.95 + 0.4 * highest,
        "reward": 0.45,
    }
    for name, height in names.items():
        words(axes, (LEFT - 0.4, height), name, 11, color=SOFT, ha="right")
    symbols = list(dict.fromkeys(symbol for moment in moments for symbol in reversed(moment.stack)))
    for number, moment in enumerate(moments):
        x = LEFT + number * SIDE
        words(axes, (x + SIDE / 2, top + 2.0), moment.label, 10)
        words(axes, (x + SIDE / 2, 0.45), moment.reward, 10)
        for height, symbol in enumerate(reversed(moment.stack)):
            tint = TINTS[symbols.index(symbol)]
            corner = (x + 0.06, 0.95 + 0.8 * height)
            axes.add_patch(
                Rectangle(corner, SIDE - 0.12, 0.8, facecolor=tint, edgecolor=INK, linewidth=0.6)
            )
            words(axes, (x + SIDE / 2, corner[1] + 0.38), symbol, 11)
    x = LEFT
    for state, group in groupby(moments, key=lambda moment: moment.state):
        width = SIDE * len(list(group))
        axes.add_patch(Rectangle((x + 0.06, top + 0.6), width - 0.12, 0.8, facecolor=STATES[state]))
        words(axes, (x + width / 2, top + 0.98), state, 10, color="#ffffff", weight="bold")
        x += width
    return figure
