"""Learning curves in the paper's style: of a study the median over the seeds and a band from the 25th to the 75th percentile, of a
run the mean of each test and the same band over its episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import EngFormatter

from pdrm.drawing.plots import INK, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]
STYLES = ("-", "--", ":", "-.")
PANELS_IN_A_ROW = 2
EARLY = 0.9
"""A line whose training ends before this share of the longest is marked where it does."""
NAMED = {
    "pdRM": "#0072b2",
    "1-pdRM": "#d55e00",
    "2-pdRM": "#e69f00",
    "CpRM": "#009e73",
    "1-CpRM": "#cc79a7",
    "2-CpRM": "#8c564b",
    "Q-CRA": "#56b4e9",
    "CQL-CRA": "#7f7f7f",
    "hierarchical pdRM": "#1b3a93",
    "hierarchical 1-pdRM": "#b30000",
    "hierarchical 2-pdRM": "#f28e2b",
    "0-pdRM (ours)": "#000000",
    "1-CpRM, deduplicated (ours)": "#aa3377",
    "summary (ours)": "#7b2cbf",
    "3-pdRM": "#009e73",
    "4-pdRM": "#cc79a7",
    "5-pdRM": "#0072b2",
    "PPO + 1-pdRM": "#d55e00",
    "PPO": "#0072b2",
    "recurrent PPO": "#009e73",
    "DQN + 1-CpRM": "#0072b2",
    "DQN + 1-pdRM": "#56b4e9",
    "SAC + 1-CpRM": "#d55e00",
    "SAC + 1-pdRM": "#e69f00",
}
"""One colour for each agent, in every figure, that colour-blind readers can tell apart."""
OTHERS = (
    "#0072b2",
    "#d55e00",
    "#cc79a7",
    "#009e73",
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#882255",
    "#999933",
)
"""For agents without one of their own, in this order: the next that no other line of the plot has."""


@dataclass(frozen=True, slots=True, eq=False)
class CurveLine:
    """A line of a plot, with the band around it.

    >>> CurveLine("q 1", "letter", "episodes", np.array([100]), np.zeros(1), np.ones(1), np.ones(1)).middle
    array([1.])
    """

    name: str
    """As the legend shows it."""
    panel: str
    """The title of the axes it belongs to."""
    unit: str
    """What training is counted in: episodes or timesteps."""
    at: npt.NDArray[np.int64]
    """[T]: training before each test."""
    low: Numbers
    middle: Numbers
    high: Numbers
    """[T] each."""
    scaled: bool = False
    """Whether returns are normalised to [-1, 1]."""
    key: str = ""
    """Lines of equal keys are drawn in one colour; nothing: the name is the key."""
    dashed: bool = False

    @property
    def colour_key(self) -> str:
        """The colour key."""
        return self.key or self.name


def colours(keys: Sequence[str]) -> dict[str, str]:
    """A colour for each key.

    >>> colours(["1-pdRM", "mine"])
    {'1-pdRM': '#d55e00', 'mine': '#0072b2'}
    """
    free = [key for key in dict.fromkeys(keys) if key not in NAMED]
    taken = {NAMED[key] for key in keys if key in NAMED}
    left = [colour for colour in OTHERS if colour not in taken] or OTHERS
    own = {key: left[number % len(left)] for number, key in enumerate(free)}
    return {key: NAMED.get(key) or own[key] for key in keys}


def run_plot(line: CurveLine) -> Plot:
    """The curve of one run."""
    figure = Plot(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.set_title(f"{line.panel}: {line.name}", color=INK, loc="left", fontsize="medium")
    _draw_curve(axes, line, color=colours([line.colour_key])[line.colour_key])
    _finish(axes, [line])
    return figure


def panel_plot(lines: Sequence[CurveLine]) -> Plot:
    """The curves of one panel."""
    figure = Plot(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    _draw_panel(axes, lines, colours([line.colour_key for line in lines]))
    return figure


def study_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """The panels of a study side by side, two in a row, each with its title and its own legend; an agent has one colour in all."""
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    figure = Plot(figsize=(6.4 * columns, 4.6 * rows), layout="constrained")
    places = figure.subfigures(rows, columns, squeeze=False).flat
    shades = colours([line.colour_key for lines in panels for line in lines])
    for lines, place in zip(panels, places, strict=False):
        axes = place.subplots()
        axes.set_title(lines[0].panel, color=INK)
        _draw_panel(axes, lines, shades)
    return figure


def overview_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """The paper's agents on several maps in one plot: a colour per agent, a line style per map."""
    figure = Plot(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    every = [line for lines in panels for line in lines]
    shades = colours([line.colour_key for line in every])
    for lines, style in zip(panels, STYLES * len(panels), strict=False):
        for line in lines:
            shade, label = shades[line.colour_key], f"{line.name}, {line.panel}"
            _draw_curve(axes, line, color=shade, label=label, linestyle=style, band=False)
    _finish(axes, every)
    _add_legend(axes, len(every))
    return figure


def _draw_panel(axes: Axes, lines: Sequence[CurveLine], shades: dict[str, str]) -> None:
    """The lines of a panel; where some count episodes and others timesteps, the second unit has an axis at the top, its lines are
    dash-dotted, and each axis says whose it is."""
    units = list(dict.fromkeys(line.unit for line in lines))
    for place, unit in enumerate(units):
        own = axes.twiny() if place else axes
        some = [line for line in lines if line.unit == unit]
        end = max(int(line.at[-1]) for line in some)
        for line in some:
            style, side = (
                "--" if line.dashed else "-." if place else "-",
                f" ({unit}, above)" * bool(place),
            )
            _draw_curve(
                own, line, color=shades[line.colour_key], label=line.name + side, linestyle=style
            )
            if line.at[-1] < EARLY * end:
                _go_on(own, line, end, shades[line.colour_key])
        _finish(own, some)
        if len(units) > 1:
            own.set_xlabel(f"{unit} of {', '.join(line.name for line in some)}", color=INK)
            own.spines["top"].set_visible(bool(place))
            own.grid(visible=not place)
    _add_legend(axes, len(lines))


def _draw_curve(axes: Axes, line: CurveLine, *, band: bool = True, **style: Any) -> None:
    marker = "o" if len(line.at) == 1 else ""
    axes.plot(line.at, line.middle, linewidth=1.6, marker=marker, **style)
    if band:
        axes.fill_between(
            line.at, line.low, line.high, color=style["color"], alpha=0.15, linewidth=0
        )


def _go_on(axes: Axes, line: CurveLine, end: int, colour: str) -> None:
    """A line whose training ends long before that of others: a mark where it does, and dots from there on."""
    last = line.middle[-1]
    axes.plot([line.at[-1], end], [last, last], color=colour, linestyle=":", linewidth=1.6)
    axes.plot(
        line.at[-1:],
        line.middle[-1:],
        color=colour,
        marker="D",
        markersize=5,
        clip_on=False,
        zorder=5,
    )


def _finish(axes: Axes, lines: Sequence[CurveLine]) -> None:
    scaled, unit = all(line.scaled for line in lines), lines[0].unit
    axes.set_xlabel(f"training {unit}", color=INK)
    if unit == "timesteps":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylabel(
        "return of the test, normalised to [−1, 1]" if scaled else "return of the test", color=INK
    )
    if scaled:
        axes.set_ylim(-1.08, 1.08)
    axes.set_xlim(0, max(int(line.at[-1]) for line in lines))
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _add_legend(axes: Axes, lines: int) -> None:
    axes.figure.legend(
        loc="outside lower center", ncols=2 if lines > 4 else 1, fontsize=8, frameon=False
    )
