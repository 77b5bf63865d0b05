"""An episode in one picture: the way on the map, a colour for each machine state, and the stack step by step beside it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.picture import FLOOR, WALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
TINTS = ("#e8e5dd", "#aecbe8", "#f6d9a8", "#bfe0c8", "#efc3d2", "#d8cdea", "#f2b8a2", "#cfe8ea")
INK, STONE, PLACE = "#262a33", "#3e4451", "#ffe3a3"
MOST_COLUMNS, MOST_ROWS = 60, 24
"""Steps and symbols of the stack that are drawn."""
LETTERED = 34
"""Steps up to which the symbols are written out."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One moment of an episode."""

    place: int
    """The environment state."""
    state: str
    """The machine state."""
    stack: tuple[str, ...]
    """Top first."""


def episode_plot(domain: FiniteDomain, moments: Sequence[Shown]) -> Figure:
    """Draw an episode; a domain without a map has its stack only."""
    from matplotlib.figure import Figure

    wide = domain.picture is not None
    figure = Figure(figsize=(8.6 if wide else 5.2, 3.9), layout="constrained")
    parts = figure.subplots(1, 2 if wide else 1, width_ratios=[1, 1.15] if wide else None, squeeze=False)[0]
    states = list(dict.fromkeys(moment.state for moment in moments))
    shade = {state: SHADES[number % len(SHADES)] for number, state in enumerate(states)}
    if wide:
        _map(parts[0], domain, moments, shade)
    _stack(parts[-1], moments, shade)
    return figure


def _map(axes: Axes, domain: FiniteDomain, moments: Sequence[Shown], shade: dict[str, str]) -> None:
    picture = domain.picture
    if picture is None:
        return
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    rows = picture.scenes[picture.scene[moments[0].place]].rows
    paint = {WALL: STONE, FLOOR: "#ffffff"}
    axes.imshow([[to_rgb(paint.get(shown, PLACE)) for shown in line] for line in rows], interpolation="nearest")
    for y, line in enumerate(rows):
        for x, shown in enumerate(line):
            if shown not in paint:
                axes.text(x, y, shown, ha="center", va="center", fontsize=max(6, 12 - len(rows) // 3), color=INK)
    # Ways there and back lie beside each other: each machine state has its own place in the cell.
    shift = {state: (number - (len(shade) - 1) / 2) * 0.22 for number, state in enumerate(shade)}
    ways, tones = [], []
    for before, after in itertools.pairwise(moments):
        (y0, x0), (y1, x1) = picture.cell[before.place], picture.cell[after.place]
        by = shift[before.state]
        ways.append([(x0 + by, y0 + by), (x1 + by, y1 + by)])
        tones.append(shade[before.state])
    axes.add_collection(LineCollection(ways, colors=tones, linewidths=2, capstyle="round"))
    for state, colour in shade.items():
        if any(moment.state == state for moment in moments[:-1]):
            axes.plot([], [], color=colour, linewidth=2, label=state)
    y, x = picture.cell[moments[0].place]
    axes.plot(x, y, marker="o", color=INK, markersize=5)
    axes.set(xlim=(-0.5, len(rows[0]) - 0.5), ylim=(len(rows) - 0.5, -0.5), aspect="equal", xticks=[], yticks=[])
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4)


def _stack(axes: Axes, moments: Sequence[Shown], shade: dict[str, str]) -> None:
    """A column a moment, the bottom of the stack below; over it the machine state's colour."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    columns = moments[:MOST_COLUMNS]
    height = min(MOST_ROWS, max(len(moment.stack) for moment in columns))
    symbols = list(dict.fromkeys(symbol for moment in columns for symbol in reversed(moment.stack)))
    tint = {symbol: TINTS[number % len(TINTS)] for number, symbol in enumerate(symbols)}
    lettered = len(columns) <= LETTERED and max(map(len, symbols), default=1) <= 2
    cells = np.ones((height, len(columns), 3))
    for x, moment in enumerate(columns):
        for y, symbol in enumerate(moment.stack[::-1][:height]):
            cells[y, x] = to_rgb(tint[symbol])
            if lettered:
                axes.text(x + 0.5, y + 0.5, symbol, ha="center", va="center", fontsize=8, color=INK)
    axes.imshow(cells, extent=(0, len(columns), 0, height), origin="lower", aspect="auto", interpolation="nearest")
    axes.vlines(range(1, len(columns)), 0, height, color="#ffffff", linewidth=0.6)
    axes.hlines(range(1, height), 0, len(columns), color="#ffffff", linewidth=0.6)
    bars = [[(x + 0.08, height + 0.35), (x + 0.92, height + 0.35)] for x in range(len(columns))]
    axes.add_collection(LineCollection(bars, colors=[shade[moment.state] for moment in columns], linewidths=4))
    if not lettered:
        for symbol, colour in tint.items():
            axes.fill([], [], color=colour, label=symbol)
        axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=5)
    more = f" (the first {len(columns)} of {len(moments)} moments)" if len(moments) > len(columns) else ""
    axes.set(
        xlim=(0, max(8, len(columns))),
        ylim=(0, max(6, height + 0.8)),
        xlabel=f"step{more}",
        ylabel="stack, top uppermost",
    )
    axes.set_xticks(np.arange(0, len(columns), max(1, len(columns) // 8)) + 0.5)
    axes.set_xticklabels([str(int(tick)) for tick in axes.get_xticks()])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
