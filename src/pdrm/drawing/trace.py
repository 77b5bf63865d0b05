"""Traces: a run as a table, one row for each move, silent moves on rows of their own under their step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import singledispatch

from pdrm.drawing.figure import line_of
from pdrm.drawing.graphviz import FONT, html
from pdrm.drawing.label_tokens import number_sign, plain, printable
from pdrm.machines.configurations import Run, Step
from pdrm.machines.counting import CountingStep
from pdrm.machines.guards import Label, label_text
from pdrm.machines.reward_machine import RewardStep
from pdrm.machines.transitions import Stack
from pdrm.machines.wellformed import Rule
from pdrm.machines.zero_patterns import pattern_text

HEADINGS = ("step", "label", "rule", "stack before", "stack after", "reward")
"""The columns of a trace, those of `TraceRow`."""

MOST_SYMBOLS = 12
"""Stack symbols a row shows; of a higher stack the rest is counted."""

RIGHT = ("step", "reward")
"""Columns of numbers."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row; the stacks are top first, a counting automaton's counters stand in their place.

    >>> TraceRow("1", "{A}", "u0 → u0: {A}, z / A z, 0", "#", "A #", "0").after
    'A #'
    """

    step: str
    label: str
    rule: str
    before: str
    after: str
    reward: str


AnyStep = Step | RewardStep | CountingStep


def trace_rows(run: Run[AnyStep]) -> list[TraceRow]:
    """The rows of a run's table: step 0 holds the silent moves before the first label, if there are any."""
    return [row for number, step in enumerate(run.steps) for row in _rows(step, str(number))]


@singledispatch
def _rows(step: AnyStep, number: str) -> Iterator[TraceRow]:
    raise TypeError(f"no rows are known for {type(step).__name__}, step {number}")


@_rows.register
def _(step: Step, number: str) -> Iterator[TraceRow]:
    for position, move in enumerate(step.moves):
        label = _label(step.label if position == 0 else None)
        rule = _rule(move.rule, move.before.state, move.after.state)
        stacks = stack_text(move.before.stack), stack_text(move.after.stack)
        yield TraceRow(number, label, rule, *stacks, number_sign(move.reward))


@_rows.register
def _(step: RewardStep, number: str) -> Iterator[TraceRow]:
    if step.label is not None:
        rule = _rule(step.rule, step.before.state, step.after.state)
        yield TraceRow(number, _label(step.label), rule, "", "", number_sign(step.reward))


@_rows.register
def _(step: CountingStep, number: str) -> Iterator[TraceRow]:
    # The step keeps the number of its silent moves, not the moves: they share its row.
    silent = step.moves - (step.label is not None)
    then = f"{silent:,} silent move{'s' * (silent > 1)} to {printable(step.after.state)}" if silent else ""
    first = step.rule.target if step.rule is not None else step.after.state
    parts = [
        *([_rule(step.rule, step.before.state, first)] if step.label is not None else []),
        *([then] if then else []),
    ]
    if parts:
        counters = pattern_text(step.before.counters), pattern_text(step.after.counters)
        yield TraceRow(number, _label(step.label), ", then ".join(parts), *counters, number_sign(step.reward))


def _label(label: Label | None) -> str:
    return "ε" if label is None else printable(label_text(label))


def _rule(rule: Rule | None, source: str, target: str) -> str:
    said = "otherwise" if rule is None else plain(line_of(rule).words())
    return f"{printable(source)} → {printable(target)}: {said}"


def stack_text(stack: Stack) -> str:
    """A stack, top first, the lower part of a high one only counted.

    >>> stack_text(()), stack_text(("A",) * 20 + ("#",))
    ('ε', 'A A A A A A A A A A A A … 9 more')
    """
    shown = " ".join(printable(symbol) for symbol in stack[:MOST_SYMBOLS]) or "ε"
    return shown if len(stack) <= MOST_SYMBOLS else f"{shown} … {len(stack) - MOST_SYMBOLS} more"


def verdict(run: Run[AnyStep]) -> str:
    """What became of the word, in a line."""
    if run.accepted:
        end = "accepted"
    elif run.finished:
        end = f"not accepted: {run.unread} label{'s' * (run.unread > 1)} left unread at a final state"
    else:
        end = "not accepted: no final state reached"
    return f"{end}; reward {number_sign(run.reward)}"


def trace_dot(run: Run[AnyStep]) -> str:
    """A run's table as a graph of one node, in Graphviz's language."""
    head = _table_row(f"<B>{heading}</B>" for heading in HEADINGS)
    body = [_table_row(html(cell) for cell in astuple(row)) for row in trace_rows(run)]
    foot = f'<TR><TD COLSPAN="{len(HEADINGS)}" ALIGN="LEFT">{html(verdict(run))}</TD></TR>'
    rows = "<HR/>".join([head, "".join(body), foot] if body else [head, foot])
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4">{rows}</TABLE>'
    return (
        f'digraph trace {{\n  graph [pad=0.15, bgcolor=white];\n  node [shape=plaintext, fontname="{FONT}", fontsize=12];\n'
        f"  trace [label=<{table}>];\n}}\n"
    )


def _table_row(cells: Iterable[str]) -> str:
    sides = ("RIGHT" if heading in RIGHT else "LEFT" for heading in HEADINGS)
    return (
        "<TR>" + "".join(f'<TD ALIGN="{side}">{cell}</TD>' for cell, side in zip(cells, sides, strict=True)) + "</TR>"
    )
