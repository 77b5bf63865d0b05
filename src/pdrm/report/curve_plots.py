"""Learning curves in the paper's style: the median over the seeds, and a band from the 25th to the 75th percentile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from pdrm.experiments.curves import Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", ":", "-.")
INK = "#262a33"
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
    "hierarchical pdRM": "#1b3a93",
    "hierarchical 1-pdRM": "#b30000",
    "hierarchical 2-pdRM": "#f28e2b",
    "0-pdRM (ours)": "#000000",
    "1-CpRM, deduplicated (ours)": "#aa3377",
    "CpRM, co-observed (ours)": "#117733",
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
OTHERS = ("#332288", "#88ccee", "#44aa99", "#999933", "#ddcc77", "#cc6677", "#882255", "#661100")


def colours(keys: Sequence[str]) -> dict[str, str]:
    """A colour for each key.

    >>> colours(["1-pdRM", "mine"])
    {'1-pdRM': '#d55e00', 'mine': '#332288'}
    """
    free = [key for key in dict.fromkeys(keys) if key not in NAMED]
    own = {key: OTHERS[number % len(OTHERS)] for number, key in enumerate(free)}
    return {key: NAMED.get(key) or own[key] for key in keys}


def panel_plot(lines: Sequence[Curves]) -> Figure:
    """The curves of one panel; agents that are ours are dashed."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    _panel(axes, lines, colours([curves.line.key for curves in lines]))
    return figure


def study_plot(panels: Sequence[Sequence[Curves]]) -> Figure:
    """The panels of a study side by side, two in a row, each with its title and its own legend; an agent has one colour in all."""
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6.4 * columns, 4.6 * rows), layout="constrained")
    places = figure.subfigures(rows, columns, squeeze=False).flat
    shades = colours([curves.line.key for lines in panels for curves in lines])
    for lines, place in zip(panels, places, strict=False):
        axes = place.subplots()
        axes.set_title(lines[0].panel.title or lines[0].panel.name, color=INK)
        _panel(axes, lines, shades)
    return figure


def overview_plot(panels: Sequence[Sequence[Curves]]) -> Figure:
    """The paper's agents on several maps in one plot: a colour per agent, a line style per map."""
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    every = [curves for lines in panels for curves in lines]
    shades = colours([curves.line.key for curves in every])
    for lines, style in zip(panels, STYLES * len(panels), strict=False):
        for curves in lines:
            label = f"{curves.line.name}, {curves.panel.title or curves.panel.name}"
            _curve(axes, curves, color=shades[curves.line.key], label=label, linestyle=style, band=False)
    _finish(axes, every)
    _legend(axes, len(every))
    return figure


def _panel(axes: Axes, lines: Sequence[Curves], shades: dict[str, str]) -> None:
    """The lines of a panel; where some count episodes and others timesteps, the second unit has an axis at the top."""
    for place, unit in enumerate(dict.fromkeys(curves.unit for curves in lines)):
        own = axes.twiny() if place else axes
        some = [curves for curves in lines if curves.unit == unit]
        for curves in some:
            style = "--" if curves.line.ours else "-"
            _curve(own, curves, color=shades[curves.line.key], label=curves.line.name, linestyle=style)
        _finish(own, some)
    _legend(axes, len(lines))


def _curve(axes: Axes, curves: Curves, *, band: bool = True, **style: Any) -> None:  # noqa: ANN401 - matplotlib's
    values = curves.normalised if curves.scaled else curves.returns
    low, middle, high = curves.quartiles(values)
    axes.plot(curves.at, middle, linewidth=1.6, **style)
    if band:
        axes.fill_between(curves.at, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _finish(axes: Axes, lines: Sequence[Curves]) -> None:
    scaled, unit = all(curves.scaled for curves in lines), lines[0].unit
    axes.set_xlabel(f"training {unit}", color=INK)
    if unit == "timesteps":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylabel("return of the test, mapped to [−1, 1]" if scaled else "return of the test", color=INK)
    if scaled:
        axes.set_ylim(-1.08, 1.08)
    axes.set_xlim(0, max(int(curves.at[-1]) for curves in lines))
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _legend(axes: Axes, lines: int) -> None:
    axes.figure.legend(loc="outside lower center", ncols=2 if lines > 4 else 1, fontsize=8, frameon=False)
