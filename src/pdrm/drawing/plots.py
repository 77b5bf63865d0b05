"""Plots with matplotlib: learning curves, witnesses that k is too small, and episodes.

A plot is written atomically in the format of the file's suffix. The same plot gives the same bytes.
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
"""Okabe and Ito's colours, safe for colour-blind readers."""
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
"""The style of all plots. A `$` in a name does not start a formula."""
MAX_SYMBOLS = 12
"""Maximum number of drawn symbols of a witness's stack. The others are counted."""
LINE, MAX_LINES = 32, 3
"""Maximum characters per line above a witness's map, and maximum lines."""
MAX_LETTERED = 40
"""Maximum number of drawn steps with a letter for each symbol. More columns have colours only."""
MAX_COLUMNS = 60
"""Maximum number of drawn steps of an episode."""


# --- Files and axes


class Plot(Figure):
    r"""A matplotlib figure that displays itself in notebooks.

    >>> Plot(figsize=(2, 1))._repr_png_()[:4]
    b'\x89PNG'
    """

    def save(self, path: FilePath) -> None:
        """Write the plot in the format of the file's suffix: .svg, .png or .pdf."""
        check_plot_format(path)
        write_atomically(Path(path), plot_bytes(self, Path(path).suffix[1:]))

    def saved(self, path: FilePath | None) -> Plot:
        """Save the plot if a path is given, and return it."""
        if path is not None:
            self.save(path)
        return self

    def _repr_png_(self) -> bytes:
        return plot_bytes(self, "png")


def check_plot_format(path: FilePath) -> None:
    """Raise unless the suffix of a file is a format for plots."""
    if Path(path).suffix not in PLOT_FORMATS:
        fault = f"the suffix of `{path}` is not a format for plots"
        raise UnknownFormat(fault, fix=f"use one of {', '.join(PLOT_FORMATS)}")


def plot_bytes(figure: Figure, kind: str, about: str | None = None) -> bytes:
    """Render a figure as `svg`, `png` or `pdf`. `about` is a description inside an SVG."""
    buffer = io.BytesIO()
    dates = {"svg": {"Date": None, "Description": about}, "pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "pdrm"}):
        figure.savefig(buffer, format=kind, dpi=150, metadata=dates.get(kind))
    return buffer.getvalue()


@STYLED
def loss_plot(losses: Sequence[tuple[int, tuple[float, float]]], title: str) -> Plot:
    """Plot the loss of the best k-policy by k, as bars from the lower to the upper bound."""
    figure = Plot(figsize=(5, 3))
    axes = figure.subplots()
    for k, (low, high) in losses:
        if math.isfinite(high):
            axes.vlines(k, low, high, color=COLOURS[0], linewidth=6)
            axes.plot(k, high, "_", color=COLOURS[1], markersize=14)
    axes.set(xlabel="k", ylabel="loss from the start", title=title, xticks=[k for k, _ in losses])
    axes.grid()
    return figure


# --- A witness: situations side by side, each with the agent's position, its stack with the part
# that a k-policy sees, and the best action


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """A moment of an episode."""

    env_state: int
    """The environment state."""
    state: str
    """The machine state."""
    stack: tuple[str, ...]
    """Top first."""


@dataclass(frozen=True, slots=True)
class Situation(EpisodeStep):
    """A situation of a witness, as drawn."""

    seen: int
    """The number of symbols that the policy sees."""
    path: str
    best: str
    value: str


@STYLED
def witness_plot(domain: FiniteDomain, situations: Sequence[Situation], title: str) -> Plot:
    """Plot situations next to each other."""
    pictures = [draw_state(domain, situation.env_state) for situation in situations]
    pixel_rows, pixel_columns = pictures[0].shape[:2]
    rows = max(min(len(situation.stack), MAX_SYMBOLS) + 1 for situation in situations)
    height = max(3.2 * pixel_rows / pixel_columns + 1.7, 0.33 * rows + 1.2)
    figure = Plot(figsize=(4.6 * len(situations), height))
    figure.suptitle(title)
    ratios = [2.6, 1] * len(situations)
    axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    columns = zip(situations, pictures, axes[::2], axes[1::2], strict=True)
    for situation, image, grid, stack in columns:
        grid.imshow(image, interpolation="antialiased")
        lines = textwrap.wrap(
            f"after {situation.path}", LINE, max_lines=MAX_LINES, placeholder=" …"
        )
        best = f"best: {situation.best}\nvalue {situation.value}"
        grid.set(title="\n".join(lines), xlabel=best, xticks=[], yticks=[], frame_on=False)
        _plot_seen_stack(stack, situation)
    if any(situation.seen for situation in situations):
        figure.supxlabel("yellow: what the policy sees")
    return figure


def _plot_seen_stack(axes: Axes, situation: Situation) -> None:
    """Plot the stack, top first, with the visible part in colour."""
    symbols = [*situation.stack[:MAX_SYMBOLS]]
    rows = len(symbols)
    colours = [SEEN if row < situation.seen else UNSEEN for row in range(rows)]
    boxes = axes.barh(range(rows), 1, 1, color=colours, edgecolor=INK)
    axes.bar_label(boxes, symbols, label_type="center")
    if len(situation.stack) > rows:
        axes.text(0.5, rows, f"… {len(situation.stack) - rows} more", ha="center", va="center")
    axes.set(title=situation.state, xlim=(-0.2, 1.2), ylim=(max(8, rows + 1) - 0.5, -0.7))
    axes.set_axis_off()


# --- An episode: the path on the map, with a colour per machine state, and the stack at every step


@STYLED
def episode_plot(domain: FiniteDomain, moments: Sequence[EpisodeStep]) -> Plot:
    """Plot an episode: its path, if the domain has a map, and its stacks."""
    states = list(dict.fromkeys(moment.state for moment in moments))
    shade = dict(zip(states, cycle(COLOURS), strict=False))
    if domain.picture is None:
        figure = Plot(figsize=(5.2, 3.9))
        stacks = figure.subplots()
    else:
        figure = Plot(figsize=(8.6, 3.9))
        path, stacks = figure.subplots(1, 2, width_ratios=[1, 1.15])
        _plot_path(path, domain.picture, moments, shade)
    _plot_stacks(stacks, moments, shade)
    return figure


def _plot_path(
    axes: Axes, picture: Picture, moments: Sequence[EpisodeStep], shade: dict[str, str]
) -> None:
    """Plot the map with the agent at its start, and the moves, offset by machine state."""
    height, width = picture.size
    box = (-0.5, width - 0.5, height - 0.5, -0.5)
    grid = draw_grid(picture, moments[0].env_state).pixels()
    axes.imshow(grid, interpolation="antialiased", extent=box)
    cells = np.array([picture.cell[moment.env_state] for moment in moments])[:, ::-1]
    moves = np.stack([cells[:-1], cells[1:]], axis=1)
    states = np.array([moment.state for moment in moments[:-1]])
    names = list(dict.fromkeys(states.tolist()))
    distance = min(0.26, 0.8 / max(1, len(names)))  # all within a cell
    for number, state in enumerate(names):
        path = moves[states == state] + (number - (len(names) - 1) / 2) * distance
        lines = LineCollection(
            list(path), label=state, colors=shade[state], linewidths=2, capstyle="round"
        )
        axes.add_collection(lines)
    axes.set(xticks=[], yticks=[])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4)


def _plot_stacks(axes: Axes, moments: Sequence[EpisodeStep], shade: dict[str, str]) -> None:
    """Plot the stacks as columns, with the colour of the machine state above each."""
    columns = moments[:MAX_COLUMNS]
    height = max(len(moment.stack) for moment in columns)
    positions: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for x, moment in enumerate(columns):
        for y, symbol in enumerate(reversed(moment.stack)):
            positions[symbol].append((x, y))
        axes.hlines(height + 0.35, x - 0.5, x + 0.5, color=shade[moment.state], linewidth=4)
    for (symbol, cells), tint in zip(positions.items(), cycle(TINTS), strict=False):
        x, y = np.transpose(cells)
        boxes = axes.bar(x, 1, 1, y, color=tint, edgecolor="#ffffff", label=symbol)
        if len(columns) <= MAX_LETTERED:
            axes.bar_label(boxes, [symbol[0]] * len(cells), label_type="center", fontsize=7)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=5)
    hidden = len(moments) > len(columns)
    more = f" (the first {len(columns)} of {len(moments)} moments)" if hidden else ""
    axes.set(
        xlabel=f"step{more}",
        xlim=(-0.5, max(8, len(columns)) - 0.5),
        ylabel="stack, top uppermost",
        ylim=(0, max(6, height + 0.8)),
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


# --- Learning curves in the paper's style: the median, and a band from the 25th to the 75th
# percentile

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
"""Colours for other agents. The first unused ones are taken."""


@dataclass(frozen=True, slots=True, eq=False)
class CurveLine:
    """A line of a plot, with a band around it.

    >>> values = np.zeros(1), np.ones(1), np.ones(1)
    >>> CurveLine("q 1", "letter", "episodes", np.array([100]), *values, "return", "q").middle
    array([1.])
    """

    name: str
    """The name in the legend."""
    panel: str
    """The title of its axes."""
    unit: str
    """The unit of training: episodes or timesteps."""
    at: npt.NDArray[np.int64]
    """[T]: the amount of training before each evaluation."""
    low: Numbers
    middle: Numbers
    high: Numbers
    """[T] each: percentiles of the runs."""
    quantity: str
    """The quantity on the vertical axis."""
    key: str
    """Lines with equal keys have the same colour."""
    dashed: bool = False
    optimum: float | None = None
    """The optimal value (optional), drawn as a line across the panel."""


def colours(lines: Iterable[CurveLine]) -> dict[str, str]:
    """Choose a colour for each key. The paper's agents have fixed colours."""
    keys = dict.fromkeys(line.key for line in lines)
    known = {key: NAMED[key] for key in keys if key in NAMED}
    unused = [colour for colour in OTHERS if colour not in known.values()] or OTHERS
    others = [key for key in keys if key not in NAMED]
    return known | dict(zip(others, cycle(unused), strict=False))


@STYLED
def study_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """Plot the panels of a study, two in a row, with separate axes for each unit of training."""
    panel_lines: dict[tuple[int, str], list[CurveLine]] = defaultdict(list)
    for number, lines in enumerate(panels):
        for line in lines:
            panel_lines[number, line.unit].append(line)
    shades = colours(chain(*panel_lines.values()))
    columns = min(len(panel_lines), PANELS_IN_A_ROW)
    rows = math.ceil(len(panel_lines) / columns)
    figure = Plot(figsize=(6.4 * columns, 4.6 * rows))
    subfigures = figure.subfigures(rows, columns, squeeze=False).flat
    for lines, subfigure in zip(panel_lines.values(), subfigures, strict=False):
        axes = subfigure.subplots()
        axes.set_title(lines[0].panel)
        _draw_panel(axes, lines, shades)
    return figure


@STYLED
def overview_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """Plot the paper's agents on several maps: a colour per agent, a line style per map."""
    figure = Plot(figsize=(6.4, 4.6))
    axes = figure.subplots()
    all_lines = list(chain(*panels))
    shades = colours(all_lines)
    for lines, style in zip(panels, cycle(STYLES), strict=False):
        for line in lines:
            label = f"{line.name}, {line.panel}"
            axes.plot(line.at, line.middle, style, color=shades[line.key], label=label)
    _finish(axes, all_lines)
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
    """Set axes, labels and the legend."""
    first = lines[0]
    longest = max(int(line.at[-1]) for line in lines)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if first.quantity == NORMALISED:
        axes.set_ylim(-1.08, 1.08)
    axes.set(xlabel=f"training {first.unit}", ylabel=first.quantity, xlim=(0, longest))
    axes.grid()
    columns = 2 if len(axes.get_legend_handles_labels()[0]) > 4 else 1
    axes.figure.legend(loc="outside lower center", ncols=columns)
