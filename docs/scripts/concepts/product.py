"""The product: an environment, a machine that reads its labels, and an agent that observes both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docs.scripts.concepts.sheet import SOFT, STATES, Point, arrow, box, grid, sheet, stack, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALE = "#f7f6f2"


def product_plot(
    rows: Sequence[str], place: Point, label: str, state: str, symbols: Sequence[str]
) -> Figure:
    """One moment: the agent on the map, the last label, and the machine with its stack. The agent
    observes the top symbol."""
    figure, axes = sheet(7.2, 4.3)
    box(axes, (0.4, 3.6), (17.2, 6.6), PALE, linestyle="--", linewidth=1.1)
    words(
        axes,
        (9.0, 9.7),
        "the product: a state is ⟨environment state s, machine state u, stack ζ⟩",
        11,
    )
    box(axes, (0.9, 4.1), (6.3, 5.0), "#ffffff")
    words(axes, (4.05, 8.65), "environment", 12, weight="bold")
    grid(axes, (4.05 - 0.8 * len(rows[0]) / 2, 4.35), rows, 0.8, place)
    box(axes, (11.2, 4.1), (5.9, 5.0), "#ffffff")
    words(axes, (14.15, 8.65), "machine", 12, weight="bold")
    words(axes, (13.2, 7.5), "state", 10, color=SOFT, ha="right")
    words(axes, (13.5, 7.5), state, 12, color=STATES[state], weight="bold", ha="left")
    words(axes, (13.2, 5.9), "stack", 10, color=SOFT, ha="right")
    stack(axes, (13.5, 4.35), symbols, 1, 0.48)
    arrow(axes, (7.2, 6.4), (11.2, 6.4))
    words(axes, (9.2, 6.85), label, 12)
    words(axes, (9.2, 5.95), "label L(s, a, s′)", 10, color=SOFT)
    box(axes, (6.6, 0.4), (4.8, 1.5), "#ffffff")
    words(axes, (9.0, 1.15), "agent", 12, weight="bold")
    arrow(axes, (6.6, 1.15), (2.4, 4.1), bend=-0.25)
    words(axes, (2.6, 1.3), "action a", 11)
    arrow(axes, (16.2, 4.1), (11.4, 1.15), bend=-0.3)
    words(axes, (15.6, 1.0), "observes s, u and the\ntop k symbols of ζ", 11)
    arrow(axes, (9.0, 3.6), (9.0, 1.9))
    words(axes, (9.3, 2.75), "reward: environment’s\nplus machine’s", 10, color=SOFT, ha="left")
    return figure
