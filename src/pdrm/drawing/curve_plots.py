"""Learning curves in the paper's style: a line for the median, and a band from the 25th to the 75th percentile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import EngFormatter

from pdrm.drawing.plots import COLOURS, INK, Plot, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]
STYLES = ("-", "--", ":", "-.")
PANELS_IN_A_ROW = 2
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

    >>> CurveLine("q 1", "letter", "episodes", np.array([100]), np.zeros(1), np.ones(1), np.ones(1)).middle
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
    scaled: bool = False
    """True if returns are normalised to [-1, 1]."""
    key: str = ""
    """Lines of equal keys are drawn in one colour (default: the name)."""
    dashed: bool = False
    quantity: str = "return"
    """The quantity on the vertical axis: return or success."""
    optimum: float | None = None
    """The best value possible, if it is known: a line across the panel."""

    @property
    def colour_key(self) -> str:
        """The colour key."""
        return self.key or self.name


def colours(keys: Sequence[str]) -> dict[str, str]:
    """A colour for each key.

    >>> colours(["1-pdRM", "mine"])
    {'1-pdRM': '#d55e00', 'mine': '#0072b2'}
    """
    found = {key: NAMED[key] for key in keys if key in NAMED}
    left = [colour for colour in OTHERS if colour not in found.values()] or OTHERS
    unnamed = [key for key in dict.fromkeys(keys) if key not in NAMED]
    return found | dict(zip(unnamed, cycle(left), strict=False))


def panel_plot(lines: Sequence[CurveLine]) -> Plot:
    """The curves of one panel, without a title."""
    figure = Plot(figsize=(6.4, 4.4), layout="constrained")
    _draw_panel(figure.subplots(), lines, colours([line.colour_key for line in lines]))
    return figure


def study_plot(panels: Sequence[Sequence[CurveLine]]) -> Plot:
    """The panels of a study, two in a row; lines with different units of training are drawn apart."""
    apart = [
        [line for line in lines if line.unit == unit]
        for lines in panels
        for unit in dict.fromkeys(line.unit for line in lines)
    ]
    columns = min(len(apart), PANELS_IN_A_ROW)
    rows = -(-len(apart) // columns)
    figure = Plot(figsize=(6.4 * columns, 4.6 * rows), layout="constrained")
    places = figure.subfigures(rows, columns, squeeze=False).flat
    shades = colours([line.colour_key for lines in apart for line in lines])
    for lines, place in zip(apart, places, strict=False):
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
    for lines, style in zip(panels, cycle(STYLES), strict=False):
        for line in lines:
            colour, label = shades[line.colour_key], f"{line.name}, {line.panel}"
            axes.plot(line.at, line.middle, color=colour, label=label, linestyle=style)
    _finish(axes, every)
    return figure


def _draw_panel(axes: Axes, lines: Sequence[CurveLine], shades: dict[str, str]) -> None:
    for line in lines:
        colour = shades[line.colour_key]
        (drawn,) = axes.plot(line.at, line.middle, color=colour, linewidth=1.6, label=line.name)
        drawn.set(linestyle="--" if line.dashed else "-", marker="o" * (len(line.at) == 1))
        axes.fill_between(line.at, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
    for optimum in {line.optimum for line in lines if line.optimum is not None}:
        axes.axhline(
            optimum, color=INK, linestyle=":", linewidth=1, label=f"optimal: {optimum:.4g}"
        )
    _finish(axes, lines)


def _finish(axes: Axes, lines: Sequence[CurveLine]) -> None:
    """Axes, labels and the legend."""
    first = lines[0]
    longest = max(int(line.at[-1]) for line in lines)
    axes.set_xlabel(f"training {first.unit}", color=INK)
    if longest >= 100_000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    scaled = all(line.scaled for line in lines)
    scale = ", normalised to [−1, 1]" if scaled else ""
    axes.set_ylabel(f"{first.quantity} in evaluation{scale}", color=INK)
    if scaled:
        axes.set_ylim(-1.08, 1.08)
    axes.set_xlim(0, longest)
    open_frame(axes)
    labels = len(axes.get_legend_handles_labels()[0])
    axes.figure.legend(
        loc="outside lower center", ncols=2 if labels > 4 else 1, fontsize=8, frameon=False
    )
