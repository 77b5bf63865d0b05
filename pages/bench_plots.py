"""What benches found, drawn: bars of ratios, curves by size, and where time goes as stacked bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from pdrm.drawing.plots import COLOURS

INK, GRID = "#262a33", "#e4e2dc"


class Bar(NamedTuple):
    """How many times as fast as a peer something is."""

    name: str
    peer: str
    ratio: float


class Curve(NamedTuple):
    """A quantity by a size."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int = 0
    """Its number among the colours: curves that belong together share one."""
    dashed: bool = False


class Axis(NamedTuple):
    """What both axes show."""

    x: str
    y: str
    from_zero: bool = False
    """Whether y is linear and begins at 0; else both axes are logarithmic."""


def ratio_plot(bars: Sequence[Bar]) -> Figure:
    """One bar each on a logarithmic scale that begins at 1, as fast as the peer; a colour a peer."""
    figure, axes = _figure(7.2, 0.7 + 0.34 * len(bars))
    peers = list(dict.fromkeys(bar.peer for bar in bars))
    for peer in peers:
        own = [(number, bar.ratio) for number, bar in enumerate(bars) if bar.peer == peer]
        colour = COLOURS[peers.index(peer)]
        drawn = axes.barh([at for at, _ in own], [ratio for _, ratio in own], color=colour, label=peer, height=0.62)
        labels = [f"{ratio:,.1f}×" if ratio < 100 else f"{ratio:,.0f}×" for _, ratio in own]
        axes.bar_label(drawn, labels=labels, padding=3, fontsize=8)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(1, 2.5 * max(bar.ratio for bar in bars)), xlabel="times as fast as the peer")
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=len(peers), frameon=False, fontsize=8)
    return figure


def curve_plot(curves: Sequence[Curve], axis: Axis) -> Figure:
    """Curves over one size."""
    figure, axes = _figure(6.4, 3.4)
    draw_curves(axes, curves, axis)
    return figure


def draw_curves(axes: Any, curves: Sequence[Curve], axis: Axis) -> None:  # noqa: ANN401 - matplotlib's axes
    """The curves on some axes, with a legend where there are several."""
    for curve in curves:
        style = {"linestyle": "--", "markerfacecolor": "white"} if curve.dashed else {}
        colour = COLOURS[curve.colour]
        axes.plot(*zip(*curve.points, strict=True), label=curve.name, color=colour, marker="o", markersize=4, **style)
    axes.set(xscale="log", xlabel=axis.x, ylabel=axis.y)
    if axis.from_zero:
        axes.set_ylim(0, 1.4 * max(y for curve in curves for _, y in curve.points))
    else:
        axes.set_yscale("log")
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=8)


def share_plot(bars: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    """What each bar consists of, as shares of it; the parts of all are the same."""
    figure, axes = _figure(6.4, 1.2 + 0.4 * len(bars))
    parts = list(next(iter(bars.values())))
    before = [0.0] * len(bars)
    for number, part in enumerate(parts):
        widths = [100 * bar[part] / sum(bar.values()) for bar in bars.values()]
        drawn = axes.barh(list(bars), widths, left=before, color=COLOURS[number], label=part, height=0.62)
        axes.bar_label(drawn, fmt="%.0f %%", label_type="center", color="white", fontsize=8)
        before = [left + width for left, width in zip(before, widths, strict=True)]
    axes.invert_yaxis()
    axes.set(xlabel=label, xlim=(0, 100))
    axes.xaxis.set_major_formatter("{x:.0f} %")
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=len(parts), frameon=False, fontsize=8)
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    """A figure with one pair of axes in the house's style."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=8, colors=INK)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(size=9, color=INK)
    return figure, axes
