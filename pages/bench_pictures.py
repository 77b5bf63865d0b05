"""docs/images/bench-*.svg: the records in docs/benchmarks/ as pictures: bars of ratios, curves by size, shares of time.

Each ends in a comment with a digest of what it shows, by which a test knows one that is out of date: the bytes of a picture
also depend on the version of Matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from pages.benchmarks import GPU, records
from pdrm.bench.bench_display import plot_growth
from pdrm.bench.bench_record import Record
from pdrm.bench.bench_rows import Row, points
from pdrm.drawing.plots import COLOURS, plot_bytes

INK, GRID = "#262a33", "#e4e2dc"
SB3, PYCRM, STORM = "Stable-Baselines3", "PyCRM", "Storm"
SB3_SETTINGS = {"": "SB3's defaults", "64_envs": "64 environments", "paper": "the paper's settings"}
SOLVED = {"letter": 0, "brackets": 2}
"""Tasks that Storm solves too -> the number of its colour, which is that in the picture of growth."""


class Picture(NamedTuple):
    """A picture before it is drawn."""

    draw: Callable[..., Figure]
    shown: tuple[Any, ...]
    """What it is given."""

    @property
    def digest(self) -> str:
        """Of what it shows."""
        return sha256(repr(self.shown).encode()).hexdigest()[:16]

    def svg(self) -> bytes:
        """The picture with its digest."""
        return (
            plot_bytes(self.draw(*self.shown), "svg") + f"<!-- shows {self.digest} -->\n".encode()
        )


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


def pictures() -> dict[str, Picture]:
    """File name in docs/images/ -> the picture."""
    found = records()
    tabular, analysis = found["tabular"].rows, found["analysis"].rows
    heights = [Curve("a step", points(tabular, "height", "height_cost"))]
    updates = [
        Curve(
            choice.replace("_", "-"), points(tabular, "episodes", "updates", choice=choice), number
        )
        for number, choice in enumerate(("exhaustive", "co_observed", "deduplicated"))
    ]
    solved = [
        Curve(
            f"{task}, {who}",
            points(analysis, "states", figure, task=task),
            colour,
            dashed=who == STORM,
        )
        for task, colour in SOLVED.items()
        for figure, who in (("solve_s", "pdrm"), ("storm_s", STORM))
    ]
    growth = [row for row in analysis if "growth_states" in row.figures]
    drawn = {
        "bench-ratios.svg": Picture(plot_ratios, (ratios(found),)),
        "bench-heights.svg": Picture(
            plot_curves,
            (heights, Axis("stack height", "ns per step of Q-learning", from_zero=True)),
        ),
        "bench-updates.svg": Picture(plot_curves, (updates, Axis("episodes", "updates per step"))),
        "bench-solve.svg": Picture(
            plot_curves, (solved, Axis("states", "seconds to values within 1e-6"))
        ),
        "bench-growth.svg": Picture(plot_growth, (growth,)),
    }
    deep = [name for name in ("deep-cpu", GPU) if name in found]
    return drawn | {
        f"bench-{name}.svg": Picture(plot_shares, (shares(found[name].rows),)) for name in deep
    }


def ratios(found: dict[str, Record]) -> list[Bar]:
    """How many times as fast as the peer each is."""
    tabular, analysis, deep = (found[name] for name in ("tabular", "analysis", "deep-cpu"))
    races = {
        row.about["settings"]: row.figures["sb3_ppo_ratio"]
        for row in deep.rows
        if "settings" in row.about
    }
    worst = {
        task: max(
            ratio for _, ratio in points(analysis.rows, "states", "storm_time_ratio", task=task)
        )
        for task in SOLVED
    }
    return [
        Bar("Q-learning", PYCRM, tabular.figures["q_steps_ratio"]),
        Bar("CpRM, updates", PYCRM, tabular.figures["cprm_updates_ratio"]),
        *(Bar(f"PPO, {words}", SB3, races[settings]) for settings, words in SB3_SETTINGS.items()),
        *(Bar(f"values of {task}", STORM, 1 / ratio) for task, ratio in worst.items()),
    ]


def shares(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Where the time of a training step with two epochs goes, by the number of environments."""
    bars = {}
    for (envs, collect), (_, epoch) in zip(
        *(points(rows, "envs", f"many_ppo_{part}_ns") for part in ("collect", "epoch")), strict=True
    ):
        parts = {"collecting": collect, "learning, 2 epochs": 2 * epoch}
        bars[f"{envs:,.0f} environments,\n{collect + 2 * epoch:,.1f} ns per step"] = parts
    return bars


def plot_ratios(bars: Sequence[Bar]) -> Figure:
    """One bar each on a logarithmic scale that begins at 1, as fast as the peer; a colour for each peer."""
    figure, axes = _figure(7.2, 0.7 + 0.34 * len(bars))
    peers = list(dict.fromkeys(bar.peer for bar in bars))
    for peer in peers:
        own = [(number, bar.ratio) for number, bar in enumerate(bars) if bar.peer == peer]
        colour = COLOURS[peers.index(peer)]
        drawn = axes.barh(
            [at for at, _ in own],
            [ratio for _, ratio in own],
            color=colour,
            label=peer,
            height=0.62,
        )
        labels = [f"{ratio:,.1f}×" if ratio < 100 else f"{ratio:,.0f}×" for _, ratio in own]
        axes.bar_label(drawn, labels=labels, padding=3, fontsize=8)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.set(
        xscale="log",
        xlim=(1, 2.5 * max(bar.ratio for bar in bars)),
        xlabel="times as fast as the peer",
    )
    _finish_bars(figure, axes, len(peers))
    return figure


def plot_shares(bars: Mapping[str, Mapping[str, float]]) -> Figure:
    """What each bar consists of, as shares of it; the parts of all are the same."""
    figure, axes = _figure(6.4, 1.2 + 0.4 * len(bars))
    parts = list(next(iter(bars.values())))
    before = [0.0] * len(bars)
    for number, part in enumerate(parts):
        widths = [100 * bar[part] / sum(bar.values()) for bar in bars.values()]
        drawn = axes.barh(
            list(bars), widths, left=before, color=COLOURS[number], label=part, height=0.62
        )
        axes.bar_label(drawn, fmt="%.0f %%", label_type="center", color="white", fontsize=8)
        before = [left + width for left, width in zip(before, widths, strict=True)]
    axes.set(xlabel="share of PPO's time", xlim=(0, 100))
    axes.xaxis.set_major_formatter("{x:.0f} %")
    _finish_bars(figure, axes, len(parts))
    return figure


def plot_curves(curves: Sequence[Curve], axis: Axis) -> Figure:
    """Curves over one size, with a legend where there are several."""
    figure, axes = _figure(6.4, 3.4)
    for curve in curves:
        style = {"linestyle": "--", "markerfacecolor": "white"} if curve.dashed else {}
        colour = COLOURS[curve.colour]
        axes.plot(
            *zip(*curve.points, strict=True),
            label=curve.name,
            color=colour,
            marker="o",
            markersize=4,
            **style,
        )
    axes.set(xscale="log", xlabel=axis.x, ylabel=axis.y)
    if axis.from_zero:
        axes.set_ylim(0, 1.4 * max(y for curve in curves for _, y in curve.points))
    else:
        axes.set_yscale("log")
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=8)
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    """A figure with one pair of axes in the house's style."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=INK)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(size=9, color=INK)
    return figure, axes


def _finish_bars(figure: Figure, axes: Any, columns: int) -> None:
    """The first bar on top, a grid behind the bars, and a legend below them."""
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
