"""Learning curves in the paper's style: the median over the seeds, and a band from the 25th to the 75th percentile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from pdrm.experiments.curves import Curves
from pdrm.experiments.water_records import Tested

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- One colour for each agent, in every figure: told apart by colour-blind readers, and in grey by dashes.

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
OTHERS = ("#332288", "#88ccee", "#44aa99", "#999933", "#ddcc77", "#cc6677", "#882255", "#661100")


def colours(keys: Sequence[str]) -> dict[str, str]:
    """A colour for each key.

    >>> colours(["1-pdRM", "mine"])
    {'1-pdRM': '#d55e00', 'mine': '#332288'}
    """
    free = [key for key in dict.fromkeys(keys) if key not in NAMED]
    own = {key: OTHERS[number % len(OTHERS)] for number, key in enumerate(free)}
    return {key: NAMED.get(key) or own[key] for key in keys}


# --- Learning curves in the paper's style: the median over the seeds, and a band from the 25th to the 75th percentile.

STYLES = ("-", "--", ":", "-.")
INK = "#262a33"
PANELS_IN_A_ROW = 2


def panel_plot(lines: Sequence[Curves]) -> Figure:
    """The curves of one panel; agents that are ours are dashed."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    _panel(axes, lines, colours([curves.line.key for curves in lines]))
    return figure


def study_plot(panels: Sequence[Sequence[Curves]]) -> Figure:
    """The panels of a study side by side, two in a row, each with its title and its own legend; one colour an agent in all."""
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
    """The paper's agents on several maps in one plot: a colour an agent, a line style a map."""
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    shades = colours([curves.line.key for lines in panels for curves in lines])
    for lines, style in zip(panels, STYLES * len(panels), strict=False):
        for curves in lines:
            label = f"{curves.line.name}, {curves.panel.title}"
            _curve(axes, curves, color=shades[curves.line.key], label=label, linestyle=style, band=False)
    _finish(axes, [curves for lines in panels for curves in lines])
    return figure


def _panel(axes: Axes, lines: Sequence[Curves], shades: dict[str, str]) -> None:
    for curves in lines:
        style = "--" if curves.line.ours else "-"
        _curve(axes, curves, color=shades[curves.line.key], label=curves.line.name, linestyle=style)
    _finish(axes, lines)


def _curve(axes: Axes, curves: Curves, *, band: bool = True, **style: Any) -> None:  # noqa: ANN401 - matplotlib's
    values = curves.normalised if np.isfinite(curves.lowest) else curves.returns
    low, middle, high = curves.quartiles(values)
    axes.plot(curves.at, middle, linewidth=1.6, **style)
    if band:
        axes.fill_between(curves.at, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _finish(axes: Axes, lines: Sequence[Curves]) -> None:
    scaled = all(np.isfinite(curves.lowest) for curves in lines)
    axes.set_xlabel("training episodes", color=INK)
    axes.set_ylabel("return of the test, mapped to [−1, 1]" if scaled else "return of the test", color=INK)
    if scaled:
        axes.set_ylim(-1.08, 1.08)
    axes.set_xlim(0, max(int(curves.at[-1]) for curves in lines))
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    columns = 2 if len(lines) > 4 else 1
    axes.figure.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


# --- WaterWorld's curves from its records: the medians and quartiles over seeds of the tests, one panel a map.

HIGHEST = 116_001
"""The highest return of an episode."""


def water_plot(tests: Sequence[Tested]) -> Figure:
    """All agents in some tests, a panel for each map."""
    domains, lines = (list(dict.fromkeys(getattr(test, name) for test in tests)) for name in ("domain", "line"))
    shades = colours(lines)
    figure = Figure(figsize=(6.4 if len(domains) == 1 else 8.6, 3.8), layout="constrained")
    for axes, domain in zip(figure.subplots(1, len(domains), squeeze=False)[0], domains, strict=True):
        for line in lines:
            _water_curve(axes, [test for test in tests if (test.domain, test.line) == (domain, line)], shades[line])
        _finish_water(axes, domain)
    figure.axes[0].set_ylabel("return of a test episode, thousands", color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(lines), fontsize=8, frameon=False)
    return figure


def _water_curve(axes: Axes, tests: list[Tested], colour: str) -> None:
    at = sorted({test.timesteps for test in tests})
    returns = [[one.returned / 1e3 for one in tests if one.timesteps == time] for time in at]
    low, middle, high = np.quantile(np.array(returns), (0.25, 0.5, 0.75), axis=1)
    steps = np.array(at) / 1e6
    axes.plot(steps, middle, color=colour, label=tests[0].line, linewidth=1.6)
    axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)


def _finish_water(axes: Axes, domain: str) -> None:
    axes.axhline(HIGHEST / 1e3, color="#999999", linewidth=0.8, linestyle=":")
    axes.set_title(domain, fontsize=10, color=INK)
    axes.set_xlabel("training steps, millions", color=INK)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 122)
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
