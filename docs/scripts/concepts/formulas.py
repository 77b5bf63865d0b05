"""Temporal operators along a trace: the labels at which each formula holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pdrm
from docs.scripts.concepts.sheet import SOFT, box, sheet, words
from pdrm.drawing.plots import COLOURS, INK
from pdrm.machines.guards import label_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRACE = ("a", "-", "a", "a+b", "-")
FUTURE = ("a", "X a", "WX a", "F a", "G !b", "a U b", "last")
PAST = ("Y a", "O b", "H !b", "!b S a", "first")
Row = tuple[str, tuple[bool, ...]]

COFFEE = "!plant U (office & O coffee)"
EVENTS = ["coffee", "office", "plant"]


def task() -> pdrm.PushdownRewardMachine:
    """Bring coffee to the office, and step on no plant."""
    return pdrm.from_ltlf(COFFEE, EVENTS, fail=-1, exclusive=[EVENTS], name="coffee")


PAIRS = """name pairs
events    open close
exclusive open close
stack     # o
start     u
otherwise stay 0
final     v

u -> u : open,  # / o #, 0
u -> v : close, o / eps, 1
"""
"""Open a bracket and close it."""


def combination() -> pdrm.PushdownRewardMachine:
    """The machine for brackets combined with a formula."""
    return pdrm.combine(
        {"pairs": pdrm.parse(PAIRS), "rest": pdrm.from_ltlf("F rest", ["rest"], reward=0.5)}
    )


def rows(formulas: Sequence[str]) -> tuple[Row, ...]:
    """Where each formula holds. The machine reads the trace starting at a label, or for past
    formulas ending there."""
    labels = pdrm.language.parse_word(" ".join(TRACE))
    result: list[Row] = []
    for text in formulas:
        machine = pdrm.from_ltlf(text, ["a", "b"], accept="end")
        traces = [labels[: i + 1] if formulas is PAST else labels[i:] for i in range(len(labels))]
        holds = (machine.run([*trace, frozenset({"end"})]).accepted for trace in traces)
        result.append((text, tuple(holds)))
    return tuple(result)


def formulas_plot(trace: Sequence[str], future: Sequence[Row], past: Sequence[Row]) -> Figure:
    """A column per label, a row per formula, and a filled circle where it holds."""
    tall = len(future) + len(past) + 3.0
    figure, axes = sheet((1.6 * len(trace) + 6.6) / 2.5, tall / 2.5)
    left = 4.0
    height = tall - 1.0
    for column, label in enumerate(trace):
        events = label_text(pdrm.language.parse_word(label)[0])
        box(axes, (left + 1.6 * column - 0.65, height - 0.4), (1.3, 0.8), "#eef3fa")
        words(axes, (left + 1.6 * column, height), events, 11)
    for title, listed in (("looking ahead", future), ("looking back", past)):
        height -= 1.1
        words(axes, (left + 1.6 * len(trace) - 0.6, height), title, 10, color=SOFT, ha="left")
        for text, holds in listed:
            words(axes, (left - 1.2, height), text, 12, ha="right")
            for column, true in enumerate(holds):
                fill = COLOURS[0] if true else "none"
                axes.plot(
                    left + 1.6 * column,
                    height,
                    "o",
                    markersize=13,
                    color=INK,
                    markerfacecolor=fill,
                    markeredgewidth=0.8,
                )
            height -= 1.0
        height += 0.6
    return figure
