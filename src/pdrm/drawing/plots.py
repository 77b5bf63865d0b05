"""Plots with matplotlib: files and axes, learning curves, a witness that k is too small, an episode with its stack.

A plot is written in the format that the file's ending names, whole or not at all, and the same plot gives the same bytes.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from pdrm.domains.finite_domain import FiniteDomain, Picture
from pdrm.domains.pictures import draw_grid, draw_state
from pdrm.errors import UnknownFormat
from pdrm.files import FilePath, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PLOT_FORMATS = (".svg", ".png", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's: colour-blind readers can tell them apart."""
TINTS = ("#e8e5dd", "#aecbe8", "#f6d9a8", "#bfe0c8", "#efc3d2", "#d8cdea", "#f2b8a2", "#cfe8ea")
INK, SEEN, UNSEEN = "#262a33", "#ffe3a3", "#eceae4"
STYLED = rc_context(
    {
        "axes.labelcolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.constrained_layout.use": True,
        "grid.color": "#e4e2dc",
        "grid.linewidth": 0.6,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "text.color": INK,
        "text.parse_math": False,
    }
)
"""The style of all plots; a `$` in a name is not a formula."""
MAX_SYMBOLS = 12
"""Symbols of a witness's stack that are drawn; the rest is counted."""
LINE, MAX_LINES = 32, 3
"""Letters of a line above a witness's map, and lines."""
MAX_COLUMNS = 60
"""Steps of an episode that are drawn."""


# --- Files and axes


class Plot(Figure):
    r"""A figure of matplotlib that shows itself in a notebook, and that `save` writes to a file.

    >>> Plot(figsize=(2, 1))._repr_png_()[:4]
    b'\x89PNG'
    """

    def save(self, path: FilePath) -> None:
        """Write it in the format that the file's ending names: .svg, .png or .pdf."""
        check_plot_format(path)
        write_atomically(Path(path), plot_bytes(self, Path(path).suffix[1:]))

    def saved(self, path: FilePath | None) -> Plot:
        """The figure, after it was written to the file, if one is named."""
        if path is not None:
            self.save(path)
        return self

    def _repr_png_(self) -> bytes:
        return plot_bytes(self, "png")


def check_plot_format(path: FilePath) -> None:
    """Refuse a file name whose ending is not a format for plots."""
    if Path(path).suffix not in PLOT_FORMATS:
        fault = f"`{path}` does not end in a format for plots"
        raise UnknownFormat(fault, fix=f"use one of {', '.join(PLOT_FORMATS)}")


def plot_bytes(figure: Figure, kind: str, about: str | None = None) -> bytes:
    """A figure as `svg`, `png` or `pdf`; the same figure gives the same bytes. about: a description inside an SVG."""
    buffer = io.BytesIO()
    dates = {"svg": {"Date": None, "Description": about}, "pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "pdrm"}):
        figure.savefig(buffer, format=kind, dpi=150, metadata=dates.get(kind))
    return buffer.getvalue()


@STYLED
def loss_plot(found: Sequence[tuple[int, tuple[float, float]]], title: str) -> Plot:
    """The loss of the best k-policy, for each k: a bar from the lower to the upper bound."""
    figure = Plot(figsize=(5, 3))
    axes = figure.subplots()
    for k, (low, high) in found:
        if math.isfinite(high):
            axes.vlines(k, low, high, color=COLOURS[0], linewidth=6)
            axes.plot(k, high, "_", color=COLOURS[1], markersize=14)
    ticks = [k for k, _ in found]
    axes.set(xlabel="k", ylabel="loss from the start", title=title, xticks=ticks)
    axes.grid()
    return figure


# --- A witness: situations side by side, each with the agent's place, its stack with the part that a k-policy sees, and the best action.


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """One moment of an episode."""

    env_state: int
    """The environment state."""
    state: str
    """The machine state."""
    stack: tuple[str, ...]
    """Top first."""


@dataclass(frozen=True, slots=True)
class Situation(EpisodeStep):
    """One situation of a witness, as it is drawn."""

    seen: int
    """The number of symbols that the policy sees."""
    way: str
    best: str
    value: str


@STYLED
def witness_plot(domain: FiniteDomain, situations: Sequence[Situation], title: str) -> Plot:
    """Some situations next to each other."""
    pictures = [draw_state(domain, one.env_state) for one in situations]
    high, wide = pictures[0].shape[:2]
    rows = max(min(len(one.stack), MAX_SYMBOLS) + 1 for one in situations)
    height = max(3.2 * high / wide + 1.7, 0.33 * rows + 1.2)
    figure = Plot(figsize=(4.6 * len(situations), height))
    figure.suptitle(title)
    ratios = [2.6, 1] * len(situations)
    axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    for one, shown, grid, stack in zip(situations, pictures, axes[::2], axes[1::2], strict=True):
        grid.imshow(shown, interpolation="antialiased")
        way = textwrap.wrap(f"after {one.way}", LINE, max_lines=MAX_LINES, placeholder=" …")
        best = f"best: {one.best}\nvalue {one.value}"
        grid.set(title="\n".join(way), xlabel=best, xticks=[], yticks=[], frame_on=False)
        _plot_seen_stack(stack, one)
    if any(one.seen for one in situations):
        figure.supxlabel("yellow: what the policy sees")
    return figure


def _plot_seen_stack(axes: Axes, one: Situation) -> None:
    """The stack, top first; the part that the policy sees is filled."""
    shown = [*one.stack[:MAX_SYMBOLS]]
    rows = len(shown)
    colours = [SEEN if row < one.seen else UNSEEN for row in range(rows)]
    boxes = axes.barh(range(rows), 1, 1, color=colours, edgecolor=INK)
    axes.bar_label(boxes, shown, label_type="center")
    if len(one.stack) > rows:
        axes.text(0.5, rows, f"… {len(one.stack) - rows} more", ha="center", va="center")
    axes.set(title=one.state, xlim=(-0.2, 1.2), ylim=(max(8, rows + 1) - 0.5, -0.7))
    axes.set_axis_off()


# --- An episode: the way on the map, with a colour for each machine state, and the stack step by step next to it.


@STYLED
def episode_plot(domain: FiniteDomain, moments: Sequence[EpisodeStep]) -> Plot:
    """Draw an episode; a domain without a map has its stack only."""
    states = list(dict.fromkeys(moment.state for moment in moments))
    shade = dict(zip(states, cycle(COLOURS), strict=False))
    if domain.picture is None:
        figure = Plot(figsize=(5.2, 3.9))
        stacks = figure.subplots()
    else:
        figure = Plot(figsize=(8.6, 3.9))
        way, stacks = figure.subplots(1, 2, width_ratios=[1, 1.15])
        _plot_way(way, domain.picture, moments, shade)
    _plot_stacks(stacks, moments, shade)
    return figure


def _plot_way(
    axes: Axes, picture: Picture, moments: Sequence[EpisodeStep], shade: dict[str, str]
) -> None:
    """The map with the agent at its start, and the moves; each machine state has its own place in a cell, so that ways there and back
    lie next to each other."""
    height, width = picture.size
    box = (-0.5, width - 0.5, height - 0.5, -0.5)
    grid = draw_grid(picture, moments[0].env_state).pixels()
    axes.imshow(grid, interpolation="antialiased", extent=box)
    cells = np.array([picture.cell[moment.env_state] for moment in moments])[:, ::-1]
    moves = np.stack([cells[:-1], cells[1:]], axis=1)
    states = np.array([moment.state for moment in moments[:-1]])
    ways = list(dict.fromkeys(states.tolist()))
    between = min(0.26, 0.8 / max(1, len(ways)))  # all within a cell
    for number, state in enumerate(ways):
        way = moves[states == state] + (number - (len(ways) - 1) / 2) * between
        lines = LineCollection(
            list(way), label=state, colors=shade[state], linewidths=2, capstyle="round"
        )
        axes.add_collection(lines)
    axes.set(xticks=[], yticks=[])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4)


def _plot_stacks(axes: Axes, moments: Sequence[EpisodeStep], shade: dict[str, str]) -> None:
    """A column per moment, with the bottom of the stack below, and above it the machine state's colour."""
    columns = moments[:MAX_COLUMNS]
    height = max(len(moment.stack) for moment in columns)
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for x, moment in enumerate(columns):
        for y, symbol in enumerate(reversed(moment.stack)):
            places[symbol].append((x, y))
        axes.hlines(height + 0.35, x - 0.5, x + 0.5, color=shade[moment.state], linewidth=4)
    for (symbol, cells), tint in zip(places.items(), cycle(TINTS), strict=False):
        x, y = np.transpose(cells)
        boxes = axes.bar(x, 1, 1, y, color=tint, edgecolor="#ffffff", label=symbol)
        letters = [symbol[0]] * len(cells)
        axes.bar_label(boxes, letters, label_type="center", fontsize=7)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=5)
    whole = len(moments) == len(columns)
    more = "" if whole else f" (the first {len(columns)} of {len(moments)} moments)"
    axes.set(
        xlabel=f"step{more}",
        xlim=(-0.5, max(8, len(columns)) - 0.5),
        ylabel="stack, top uppermost",
        ylim=(0, max(6, height + 0.8)),
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


# --- Learning curves in the paper's style: a line for the median, and a band from the 25th to the 75th percentile.

Numbers = npt.NDArray[np.float64]
STYLES = ("-", "--", ":", "-.")
PANELS_IN_A_ROW = 2
NORMALISED = "return, normalised to [−1, 1]"
NAMED = {
    "pdRM": "#0072b2",
    "1-pdRM": "#d55e00",
    "2-pdRM": "#e69f00",
    "CpRM": "#009e73",
    "1-CpRM": "#cc79a7",
    "2-CpRM": "#8c564b",
    "Q-CRA": "#56b4e9",
    "CQL-CRA": "#7f7f7f",
    "hierarchical 1-pdRM": "#b30000",
    "PPO + 1-pdRM": "#d55e00",
    "PPO": "#0072b2",
    "recurrent PPO": "#009e73",
}
"""The colours of the paper's agents, in every figure."""
OTHERS = (*COLOURS, "#7f7f7f", "#882255", "#999933")
"""For other agents, in this order: the next that no line of the plot has."""


@dataclass(frozen=True, slots=True, eq=False)
class CurveLine:
    """A line of a plot, with the band around it.

    >>> values = np.zeros(1), np.ones(1), np.ones(1)
    >>> CurveLine("q 1", "letter", "episodes", np.array([100]), *values, "return", "q").middle
    array([1.])
    """

    name: str
    """The name in the legend."""
    panel: str
    """The title of the axes it belongs to."""
    unit: str
    """The unit of training: episodes or timesteps."""
    at: npt.NDArray[np.int64]
    """[T]: training before each evaluation."""
    low: Numbers
    middle: Numbers
    high: Numbers
    """[T] each."""
    quantity: str
    """The quantity on the vertical axis."""
    key: str
    """Lines of equal keys are drawn in one colour."""
    dashed: bool = False
    optimum: float | None = None
    """The best value possible, if it is known: a line across the panel."""


def colours(lines: Iterable[CurveLine]) -> dict[str, str]:
    """A colour for each key of these lines: the paper's agents have their own."""
    keys = dict.fromkeys(line.key for line in lines)
    known = {key: NAMED[key] for key in keys if key in NAMED}
    left = [colour for colour in OTHERS if colour not in known.values()] or OTHERS
    unnamed = [key for key in keys if key not in NAMED]
    return known | dict(zip(unnamed, cycle(left), strict=False))


@STYLED
def study_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """The panels of a study, two in a row; lines with different units of training are drawn apart."""
    apart: dict[tuple[int, str], list[CurveLine]] = defaultdict(list)
    for number, lines in enumerate(panels):
        for line in lines:
            apart[number, line.unit].append(line)
    shades = colours(chain(*apart.values()))
    columns = min(len(apart), PANELS_IN_A_ROW)
    rows = math.ceil(len(apart) / columns)
    figure = Plot(figsize=(6.4 * columns, 4.6 * rows))
    places = figure.subfigures(rows, columns, squeeze=False).flat
    for lines, env_state in zip(apart.values(), places, strict=False):
        axes = env_state.subplots()
        axes.set_title(lines[0].panel)
        _draw_panel(axes, lines, shades)
    return figure


@STYLED
def overview_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """The paper's agents on several maps in one plot: a colour per agent, a line style per map."""
    figure = Plot(figsize=(6.4, 4.6))
    axes = figure.subplots()
    every = list(chain(*panels))
    shades = colours(every)
    for lines, style in zip(panels, cycle(STYLES), strict=False):
        for line in lines:
            label = f"{line.name}, {line.panel}"
            axes.plot(line.at, line.middle, style, color=shades[line.key], label=label)
    _finish(axes, every)
    return figure


def _draw_panel(axes: Axes, lines: Sequence[CurveLine], shades: dict[str, str]) -> None:
    for line in lines:
        colour = shades[line.key]
        style = "--" if line.dashed else "-"
        point = "o" if len(line.at) == 1 else ""
        axes.plot(line.at, line.middle, style + point, color=colour, linewidth=1.6, label=line.name)
        axes.fill_between(line.at, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
    for optimum in {line.optimum for line in lines if line.optimum is not None}:
        label = f"optimal: {optimum:.4g}"
        axes.axhline(optimum, color=INK, linestyle=":", linewidth=1, label=label)
    _finish(axes, lines)


def _finish(axes: Axes, lines: Sequence[CurveLine]) -> None:
    """Axes, labels and the legend."""
    first = lines[0]
    longest = max(int(line.at[-1]) for line in lines)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if first.quantity == NORMALISED:
        axes.set_ylim(-1.08, 1.08)
    axes.set(xlabel=f"training {first.unit}", ylabel=first.quantity, xlim=(0, longest))
    axes.grid()
    columns = 2 if len(axes.get_legend_handles_labels()[0]) > 4 else 1
    axes.figure.legend(loc="outside lower center", ncols=columns)
