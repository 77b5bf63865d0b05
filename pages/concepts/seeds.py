"""How runs become a line: the curve of every seed, and their median with a band from quartile to quartile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from pdrm.drawing.curve_plots import colours
from pdrm.drawing.plots import INK
from pdrm.experiments.statistics import quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def seeds_plot(name: str, episode: Sequence[int], scores: Sequence[Sequence[float]]) -> Figure:
    """The seeds' curves on the left, the line that a figure shows on the right."""
    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    colour = colours([name])[name]
    for curve in scores:
        left.plot(episode, curve, color=colour, linewidth=1.1, alpha=0.55)
    low, middle, high = quartiles(np.array(scores))
    right.plot(episode, middle, color=colour, linewidth=2)
    right.fill_between(episode, low, high, color=colour, alpha=0.2, linewidth=0)
    _finish(left, f"{len(scores)} runs, one a seed")
    _finish(right, "median, and the middle half")
    left.set_ylabel("return, mapped to [−1, 1]", fontsize=10, color=INK)
    left.set_ylim(-1.08, 1.08)
    return figure


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    axes.set_xlabel("training episodes", fontsize=10, color=INK)
    axes.set_xlim(left=0)
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    axes.tick_params(labelsize=9, colors=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
