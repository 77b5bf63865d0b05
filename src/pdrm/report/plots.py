"""Learning curves in the paper's style: the median over the seeds, and a band from the 25th to the 75th percentile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from pdrm.experiments.curves import Curves
from pdrm.report.colours import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    axes.plot(curves.episode, middle, linewidth=1.6, **style)
    if band:
        axes.fill_between(curves.episode, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _finish(axes: Axes, lines: Sequence[Curves]) -> None:
    scaled = all(np.isfinite(curves.lowest) for curves in lines)
    axes.set_xlabel("training episodes", color=INK)
    axes.set_ylabel("return of the test, mapped to [−1, 1]" if scaled else "return of the test", color=INK)
    if scaled:
        axes.set_ylim(-1.08, 1.08)
    axes.set_xlim(0, max(int(curves.episode[-1]) for curves in lines))
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    columns = 2 if len(lines) > 4 else 1
    axes.figure.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
