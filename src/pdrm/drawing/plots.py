"""Plots of results, with matplotlib: how tables grow, a witness that k is too small, an episode with its stack.

A plot is written in the format that the file's ending names, whole or not at all, and the same plot gives the same bytes.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain, Picture
from pdrm.domains.pictures import draw_state
from pdrm.errors import UnknownFormat
from pdrm.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT_FORMATS = (".svg", ".png", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's: colour-blind readers can tell them apart."""
TINTS = ("#e8e5dd", "#aecbe8", "#f6d9a8", "#bfe0c8", "#efc3d2", "#d8cdea", "#f2b8a2", "#cfe8ea")
INK, STONE, PLACE, SEEN, UNSEEN = "#262a33", "#3e4451", "#ffe3a3", "#ffe3a3", "#eceae4"
MOST_SYMBOLS = 12
"""Symbols of a witness's stack that are drawn; the rest is counted."""
LINE, MOST_LINES = 32, 2
"""Letters of a line above a witness's map, and lines of a way that is written out."""
MOST_COLUMNS, MOST_ROWS = 60, 24
"""Steps of an episode and symbols of its stack that are drawn."""
LETTERED = 34
"""Steps up to which an episode's stack symbols are written out."""


# --- Files and axes


class Plot(Figure):
    r"""A figure of matplotlib that shows itself in a notebook, and that `save` writes to a file.

    >>> Plot(figsize=(2, 1))._repr_png_()[:4]
    b'\x89PNG'
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it in the format that the file's ending names: .svg, .png or .pdf."""
        write_plot(self, path)

    def saved(self, path: str | os.PathLike[str] | None) -> Plot:
        """The figure, written to a file where one is named."""
        if path is not None:
            self.save(path)
        return self

    def _repr_png_(self) -> bytes:
        return plot_bytes(self, "png")


def check_plot_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file name whose ending is not a format for plots."""
    file = Path(path)
    if file.suffix not in PLOT_FORMATS:
        fault = f"`{file.name}` does not end in a format for plots"
        raise UnknownFormat(fault, fix=f"use one of {', '.join(PLOT_FORMATS)}")


def write_plot(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file."""
    check_plot_format(path)
    file = Path(path)
    write_atomically(file, plot_bytes(figure, file.suffix[1:]))


def _take_names_literally(figure: Figure) -> None:
    """Have a `$` in a name drawn as it is: matplotlib would read a formula, and fail where it is none. Numbers along an axis may
    be formulas (powers of ten), and no name stands there."""
    from matplotlib.text import Text

    axes = [axis for one in figure.axes for axis in (one.xaxis, one.yaxis)]
    numbers = {id(text) for axis in axes for text in axis.findobj(Text)} - {
        id(axis.label) for axis in axes
    }
    for text in figure.findobj(Text):
        if isinstance(text, Text) and id(text) not in numbers:
            text.set_parse_math(False)


def plot_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as `svg`, `png` or `pdf`."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    _take_names_literally(figure)
    with rc_context(
        {"svg.hashsalt": "pdrm"}
    ):  # else the names of its parts are drawn anew each time
        figure.savefig(buffer, format=kind, dpi=150, metadata=about)
    return buffer.getvalue()


def _new_figure(width: float, height: float) -> Plot:
    return Plot(figsize=(width, height), layout="constrained")


def _open_frame(axes: Axes, *, grid: bool = True) -> None:
    """Axes without a line above and to the right, over a light grid."""
    if grid:
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


# --- Sizes: how a task's tables grow with the steps of an episode, bounds and counts, both axes logarithmic.
#
# Bounds may have thousands of digits, so what is plotted is their logarithm. A bound leaves the picture at the top.

Points = list[tuple[int, float]]


def loss_plot(found: Sequence[tuple[int, tuple[float, float]]], title: str) -> Plot:
    """What the best k-policy loses, for each k: a bar from the lower to the upper bound."""
    figure = _new_figure(5, 3)
    axes = figure.subplots()
    for k, (low, high) in found:
        if math.isfinite(high):
            axes.plot([k, k], [low, high], color=COLOURS[0], linewidth=6, solid_capstyle="butt")
            axes.plot([k], [high], color=COLOURS[1], marker="_", markersize=14)
    axes.set(xlabel="k", ylabel="loss from the start", title=title)
    axes.set_xticks([k for k, _ in found])
    _open_frame(axes)
    return figure


def sizes_plot(record: dict[str, Any]) -> Plot:
    """The growth of a task's tables."""
    figure = _new_figure(7, 4.2)
    axes = figure.subplots()
    found = size_curves(record)
    counted = [
        height for name, points in found.items() if "bound" not in name for _, height in points
    ]
    top = math.ceil(max(counted, default=1.0) + 2)
    for number, (name, points) in enumerate(found.items()):
        bound = "bound" in name
        style = {"linestyle": "--"} if bound else {"marker": "o", "markersize": 3}
        colour = COLOURS[0] if bound else COLOURS[(number - 1) % len(COLOURS)]
        if points:
            axes.plot(*zip(*points, strict=True), label=name, color=colour, **style)
    limit = max(2, record["steps"])
    axes.set(
        xscale="log",
        xlim=(1, limit),
        ylim=(0, top),
        xlabel="steps of an episode",
        ylabel="rows of the table",
    )
    ticks = range(0, top + 1, max(1, math.ceil(top / 8)))
    axes.set_yticks(list(ticks), [f"$10^{{{tick}}}$" for tick in ticks])
    places = sorted({10**power for power in range(7) if 2 * 10**power <= limit} | {limit})
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.minorticks_off()
    _open_frame(axes)
    axes.set_title(
        f"{record['domain']}, machine {record['machine']}", loc="left", fontsize="medium"
    )
    if any(found.values()):
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def size_curves(record: dict[str, Any]) -> dict[str, Points]:
    """The decimal logarithms of the sizes by steps, from the first step on: the bound, the full policy, each k-policy.

    >>> row = {"steps": 1, "bound": {"exact": 100, "log10": 2.0}, "rows": None, "views": {"1": 10}}
    >>> size_curves({"growth": [row]})
    {'full policy: bound': [(1, 2.0)], 'full policy': [], '1-policy': [(1, 1.0)]}
    """
    growth = [row for row in record["growth"] if row["steps"] > 0]
    found = {
        "full policy: bound": [(row["steps"], row["bound"]["log10"]) for row in growth],
        "full policy": _take_logarithms((row["steps"], row["rows"]) for row in growth),
    }
    for k in growth[0]["views"] if growth else ():
        found[f"{k}-policy"] = _take_logarithms((row["steps"], row["views"][k]) for row in growth)
    return found


def _take_logarithms(points: Iterable[tuple[int, int | None]]) -> Points:
    return [(steps, math.log10(count)) for steps, count in points if count]


# --- A witness: situations side by side, where the agent is, its stack with what a k-policy sees of it, what is best to do.


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation, as it is drawn."""

    place: int
    state: str
    stack: tuple[str, ...]
    seen: int
    """How many symbols the policy sees."""
    way: str
    best: str
    value: str


def witness_plot(domain: FiniteDomain, situations: Sequence[Situation], title: str) -> Plot:
    """Some situations next to each other."""
    pictures = [draw_state(domain, one.place) for one in situations]
    high, wide = pictures[0].shape[:2]
    rows = max(min(len(one.stack), MOST_SYMBOLS) + 1 for one in situations)
    figure = _new_figure(4.6 * len(situations), max(3.2 * high / wide + 1.7, 0.33 * rows + 1.2))
    figure.suptitle(title, fontsize=12, color=INK)
    axes = figure.subplots(
        1, 2 * len(situations), width_ratios=[2.6, 1] * len(situations), squeeze=False
    )[0]
    for number, one in enumerate(situations):
        grid, stack = axes[2 * number], axes[2 * number + 1]
        grid.imshow(pictures[number], interpolation="antialiased")
        grid.set_axis_off()
        grid.set_title(shorten_way(f"after {one.way}"), fontsize=11, color=INK)
        grid.text(
            0.5, -0.02, f"best: {one.best}\nvalue {one.value}", transform=grid.transAxes, ha="center", va="top",
            fontsize=11, color=INK,
        )  # fmt: skip
        _plot_seen_stack(stack, one)
    if any(one.seen for one in situations):
        axes[-1].text(0.5, 0.0, "yellow:\nwhat the\npolicy sees", transform=axes[-1].transAxes, ha="center", va="bottom", fontsize=9, color=INK)  # fmt: skip
    return figure


def shorten_way(way: str) -> str:
    """The way to a situation in lines that fit above its map; of a long one the beginning and the end, and how much is between.

    >>> print(shorten_way("after actions " + " ".join("lr" * 20)))
    after actions l r l r l r l r l
    … 21 more …
    l r l r l r l r l r
    """
    words = way.split(" ")
    lines = textwrap.wrap(way, LINE, break_long_words=False, break_on_hyphens=False)
    if len(lines) <= MOST_LINES:
        return "\n".join(lines)
    first, last = (
        lines[0],
        textwrap.wrap(" ".join(reversed(words)), LINE // 2 + 3, break_long_words=False)[0],
    )
    ending = last.split(" ")[::-1]
    between = len(words) - len(first.split(" ")) - len(ending)
    return f"{first}\n… {between} more …\n{' '.join(ending)}"


def _plot_seen_stack(axes: Axes, one: Situation) -> None:
    """The stack, top first; what the policy sees is filled."""
    from matplotlib.patches import Rectangle

    shown = one.stack[:MOST_SYMBOLS]
    for row, symbol in enumerate(shown):
        colour = SEEN if row < one.seen else UNSEEN
        axes.add_patch(
            Rectangle((0, -row - 1), 1, 1, facecolor=colour, edgecolor=INK, linewidth=0.8)
        )
        axes.text(0.5, -row - 0.5, symbol, ha="center", va="center", fontsize=11, color=INK)
    if len(one.stack) > len(shown):
        axes.text(
            0.5,
            -len(shown) - 0.5,
            f"… {len(one.stack) - len(shown)} more",
            ha="center",
            va="center",
            fontsize=9,
        )
    axes.set_title(one.state, fontsize=11, color=INK)
    axes.set_xlim(-0.2, 1.2)
    axes.set_ylim(-max(8, len(shown) + 1), 0.2)
    axes.set_axis_off()


# --- An episode: the way on the map, a colour for each machine state, and the stack step by step beside it.


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """One moment of an episode."""

    place: int
    """The environment state."""
    state: str
    """The machine state."""
    stack: tuple[str, ...]
    """Top first."""


def episode_plot(domain: FiniteDomain, moments: Sequence[EpisodeStep]) -> Plot:
    """Draw an episode; a domain without a map has its stack only."""
    wide = domain.picture is not None
    figure = _new_figure(8.6 if wide else 5.2, 3.9)
    parts = figure.subplots(
        1, 2 if wide else 1, width_ratios=[1, 1.15] if wide else None, squeeze=False
    )[0]
    states = list(dict.fromkeys(moment.state for moment in moments))
    shade = {state: COLOURS[number % len(COLOURS)] for number, state in enumerate(states)}
    if domain.picture is not None:
        _plot_way(parts[0], domain.picture, moments, shade)
    _plot_stacks(parts[-1], moments, shade)
    return figure


def _plot_way(
    axes: Axes, picture: Picture, moments: Sequence[EpisodeStep], shade: dict[str, str]
) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    rows = picture.scenes[picture.scene[moments[0].place]].rows
    paint = {WALL: STONE, FLOOR: "#ffffff"}
    axes.imshow(
        [[to_rgb(paint.get(shown, PLACE)) for shown in line] for line in rows],
        interpolation="nearest",
    )
    for y, line in enumerate(rows):
        for x, shown in enumerate(line):
            if shown not in paint:
                axes.text(
                    x,
                    y,
                    shown,
                    ha="center",
                    va="center",
                    fontsize=max(6, 12 - len(rows) // 3),
                    color=INK,
                )
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
    (y, x), by = picture.cell[moments[0].place], shift[moments[0].state]
    axes.plot(x + by, y + by, marker="o", color=INK, markersize=5)
    axes.set(
        xlim=(-0.5, len(rows[0]) - 0.5),
        ylim=(len(rows) - 0.5, -0.5),
        aspect="equal",
        xticks=[],
        yticks=[],
    )
    axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4)


def _plot_stacks(axes: Axes, moments: Sequence[EpisodeStep], shade: dict[str, str]) -> None:
    """A column per moment, the bottom of the stack below; over it the machine state's colour."""
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
    axes.imshow(
        cells,
        extent=(0, len(columns), 0, height),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    axes.vlines(range(1, len(columns)), 0, height, color="#ffffff", linewidth=0.6)
    axes.hlines(range(1, height), 0, len(columns), color="#ffffff", linewidth=0.6)
    bars = [[(x + 0.08, height + 0.35), (x + 0.92, height + 0.35)] for x in range(len(columns))]
    axes.add_collection(
        LineCollection(bars, colors=[shade[moment.state] for moment in columns], linewidths=4)
    )
    if not lettered:
        for symbol, colour in tint.items():
            axes.fill([], [], color=colour, label=symbol)
        axes.legend(
            fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=5
        )
    more = (
        f" (the first {len(columns)} of {len(moments)} moments)"
        if len(moments) > len(columns)
        else ""
    )
    axes.set(
        xlim=(0, max(8, len(columns))),
        ylim=(0, max(6, height + 0.8)),
        xlabel=f"step{more}",
        ylabel="stack, top uppermost",
    )
    axes.set_xticks(np.arange(0, len(columns), max(1, len(columns) // 8)) + 0.5)
    axes.set_xticklabels([str(int(tick)) for tick in axes.get_xticks()])
    _open_frame(axes, grid=False)
