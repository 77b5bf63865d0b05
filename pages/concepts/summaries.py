"""Summaries: the lines of one stack symbol, how two symbols compose, what solving takes as the maze grows, and the agent beside others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

import pdrm
from pages.concepts.sheet import SOFT, arrow, box, sheet, stack, words
from pdrm.drawing.plots import COLOURS, INK, PLACE, SEEN

if TYPE_CHECKING:
    from pdrm.analysis.solving import Solution

RECORD = Path(__file__).parent.parent.parent / "docs" / "summaries.json"
SYMBOLS = ("cafe", "mall")
MOST = 2_000.0
"""The worth of what lies below, in the picture."""
SHOWN = 4
"""Exits of the first symbol that are drawn."""

Way = tuple[int, float, str]
"""A line: its steps, what is gained, and where its exit is."""


@cache
def _solution() -> Solution:
    return pdrm.solve("deliver-8")


def ways(symbol: str, s: int | None = None) -> tuple[Way, ...]:
    """The lines of a symbol on top, from the start of DeliverWorld or from a state of it: the quickest first."""
    solution = _solution()
    place = solution.begins[0].s if s is None else s
    number = solution.machine.stack.index(symbol) + 1
    found = solution.summaries.operator(
        place, solution.machine.states.index("deliver"), number
    ).lines
    rows = [(line.t, line.c, solution.domain.describe(line.place)) for line in found]
    return tuple(sorted(rows))


def shown_lines() -> tuple[tuple[Way, ...], float]:
    """The lines of the first symbol, and the discount."""
    return ways(SYMBOLS[0])[:SHOWN], _solution().discount


def shown_composition() -> tuple[Sequence[str], tuple[tuple[Way, tuple[Way, ...]], ...]]:
    """The stack, and for some exits of its top symbol the quickest exits of the next."""
    solution = _solution()
    number = solution.machine.stack.index(SYMBOLS[0]) + 1
    found = solution.summaries.operator(
        solution.begins[0].s, solution.machine.states.index("deliver"), number
    ).lines
    first = sorted(found, key=lambda line: line.t)[:2]
    pairs = [
        ((line.t, line.c, solution.domain.describe(line.place)), ways(SYMBOLS[1], line.place)[:2])
        for line in first
    ]
    return (*SYMBOLS, "#"), tuple(pairs)


def lines_plot(lines: tuple[Way, ...], discount: float) -> Figure:
    """Each line over the worth of what lies below, and the greatest of them."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    w = np.linspace(0.0, MOST, 50)
    heights = [c + discount**t * w for t, c, _ in lines]
    axes.plot(
        w,
        np.max(heights, axis=0),
        color=SEEN,
        linewidth=9,
        solid_capstyle="butt",
        label="the operator",
    )
    for (t, c, where), height, colour in zip(lines, heights, COLOURS, strict=False):
        axes.plot(
            w, height, color=colour, linewidth=1.6, label=f"{where}: {c:.0f} + {discount:g}^{t} w"
        )
    axes.set_xlabel("w: what the stack below is worth, if it were worth the same at every exit")
    axes.set_ylabel(f"worth with {SYMBOLS[0]} on top")
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def composition_plot(
    symbols: Sequence[str], pairs: tuple[tuple[Way, tuple[Way, ...]], ...]
) -> Figure:
    """A stack, the exits of its top symbol, and from each of these the exits of the next one."""
    figure, axes = sheet(7.2, 3.4)
    stack(axes, (0.4, 2.6), symbols, side=0.95)
    words(axes, (1.1, 2.1), "the stack", 10, color=SOFT)
    words(axes, (6.4, 8.0), f"{symbols[0]}: its lines", 11, weight="bold")
    words(axes, (13.8, 8.0), f"{symbols[1]}: its lines from there", 11, weight="bold")
    for row, (first, later) in enumerate(pairs):
        y = 5.3 - 3.4 * row
        _draw_way(axes, (4.3, y), first)
        arrow(axes, (2.3, 4.0), (4.2, y + 0.8))
        for place, way in enumerate(later):
            _draw_way(axes, (11.7, y + 0.75 - 1.65 * place), way)
            arrow(axes, (8.6, y + 0.8), (11.6, y + 1.4 - 1.65 * place))
    words(
        axes,
        (9.0, 0.35),
        "one way through both: gain c + γᵗ c′, and t + t′ steps",
        10.5,
        color=SOFT,
    )
    return figure


def _draw_way(axes: Any, at: tuple[float, float], way: Way) -> None:
    t, c, where = way
    box(axes, at, (4.3, 1.35), PLACE)
    words(axes, (at[0] + 2.15, at[1] + 0.95), where, 9)
    words(axes, (at[0] + 2.15, at[1] + 0.42), f"t = {t}, c = {c:.0f}", 9.5)


def growth() -> tuple[dict[str, Any], ...]:
    """What was measured (`python -m pages.summary_study growth`)."""
    return _recorded("growth")


def _recorded(part: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(RECORD.read_text(encoding="utf-8"))[part])


def growth_plot(*rows: dict[str, Any]) -> Figure:
    """Seconds, and numbers kept, by the size of the maze."""
    figure = Figure(figsize=(7, 2.9), layout="constrained")
    sizes = [row["size"] for row in rows]
    for place, (name, what) in enumerate(
        (("seconds", "seconds to solve"), ("numbers", "numbers kept"))
    ):
        axes = figure.add_subplot(1, 2, place + 1)
        axes.plot(
            sizes, [row[name] for row in rows], marker="o", color=COLOURS[place], linewidth=1.8
        )
        for row in rows:
            said = f"{row[name]:,}" if place else f"{row[name]:.2g} s"
            axes.annotate(
                said,
                (row["size"], row[name]),
                (-4, 5),
                textcoords="offset points",
                ha="right",
                fontsize=8,
            )
        axes.set(
            xscale="log",
            yscale="log",
            xlim=(2.5, 50),
            xticks=sizes,
            xlabel="cells a side",
            title=what,
        )
        axes.set_xticklabels([str(size) for size in sizes])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
    return figure


def mazes() -> tuple[dict[str, Any], ...]:
    """What was measured (`python -m pages.summary_study mazes`)."""
    return _recorded("mazes")


def mazes_plot(*rows: dict[str, Any]) -> Figure:
    """The episodes that each seed needed, by task: one agent above the other."""
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes, tasks = figure.subplots(), list(dict.fromkeys(row["task"] for row in rows))
    lines = list(dict.fromkeys(row["line"] for row in rows))
    names = {line: "summary" if "summary" in line else "1-CpRM" for line in lines}
    never = 2 * max(row["episodes"] for row in rows)
    for row in rows:
        place, colour = lines.index(row["line"]), COLOURS[lines.index(row["line"])]
        needed = [never if count is None else count for count in row["needed"]]
        height = (
            -tasks.index(row["task"]) + 0.17 - 0.34 * place + np.linspace(-0.1, 0.1, len(needed))
        )
        label = names[row["line"]] if row["task"] == tasks[0] else None
        axes.scatter(needed, height, s=22, color=colour, alpha=0.75, label=label, linewidths=0)
    axes.set(
        xscale="log",
        xlabel="training episodes needed",
        yticks=[-place for place in range(len(tasks))],
    )
    axes.set_yticklabels(tasks)
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    axes.grid(visible=True, axis="x", color="#e4e2dc", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    if any(count is None for row in rows for count in row["needed"]):
        axes.axvline(never, color=SOFT, linewidth=0.8, linestyle=":")
        axes.text(never, 0.55, "never", ha="center", va="bottom", color=SOFT, fontsize=8)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure


def deliveries() -> tuple[dict[str, Any], ...]:
    """What was measured (`python -m pages.summary_study deliveries`)."""
    return _recorded("deliveries")


def deliveries_plot(*rows: dict[str, Any]) -> Figure:
    """The median share of the optimum that each agent has, by the number of deliveries."""
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    counts, agents = (
        list(dict.fromkeys(row[name] for row in rows)) for name in ("deliveries", "agent")
    )
    for place, (axes, count) in enumerate(
        zip(figure.subplots(1, len(counts), sharey=True), counts, strict=True)
    ):
        mine = [row for row in rows if row["deliveries"] == count]
        kept = [100 * (1 - row["lost_median"]) for row in mine]
        shades = [COLOURS[0] if row["agent"] == "summary" else SOFT for row in mine]
        axes.barh(range(len(mine)), np.maximum(kept, 0), color=shades, height=0.65)
        for at, (row, share) in enumerate(zip(mine, kept, strict=True)):
            said = (
                f"{share:.1f} %"
                if row["finished"] == row["sequences"]
                else f"{share:.1f} %, {row['finished']} of {row['sequences']} done"
            )
            axes.text(
                max(share, 0) + 2 if share < 60 else 2,
                at,
                said,
                va="center",
                fontsize=7,
                color=INK if share < 60 else "white",
            )
        axes.set(xlim=(0, 102), title=f"{count:,} deliveries", xlabel="% of the optimum")
        axes.set_yticks(range(len(agents)), agents, fontsize=8)
        axes.tick_params(colors=INK, labelleft=not place)
        axes.spines[["top", "right"]].set_visible(False)
        if not place:
            axes.invert_yaxis()
    return figure
