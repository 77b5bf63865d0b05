"""A run as the rows of a table: one for each move, silent moves on rows of their own under their step.

The rows are words; `render` draws them and `pdrm step` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import NamedTuple

from pdrm.drawing.label_tokens import make_line, make_printable, spell, spell_number
from pdrm.machines.configurations import Configuration, Run, Step
from pdrm.machines.counting import CountingStep, pattern_text
from pdrm.machines.guards import Label, label_text
from pdrm.machines.transitions import BOTTOM, Rule, Stack

HEADINGS = ("step", "label", "rule", "stack before", "stack after", "reward")
"""The columns of a trace, those of `TraceRow`."""

MOST_SYMBOLS = 12
"""Stack symbols a row shows; of a higher stack the rest is counted."""


class TraceRow(NamedTuple):
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


AnyStep = Step | CountingStep


def trace_run(run: Run[AnyStep]) -> list[TraceRow]:
    """The rows of a run's table: step 0 holds the silent moves before the first label, if there are any."""
    rows = [row for number, step in enumerate(run.steps) for row in _rows(step, str(number))]
    moves = [move for step in run.steps if isinstance(step, Step) for move in step.moves]
    rules = [move.rule for move in moves if move.rule is not None]
    kept = all(move.before.stack == (BOTTOM,) for move in moves)
    if rules and kept and all(rule.leaves_stack for rule in rules):  # a reward machine
        return [row._replace(before="", after="") for row in rows]
    return rows


@singledispatch
def _rows(step: AnyStep, number: str) -> Iterator[TraceRow]:
    raise TypeError(f"no rows are known for {type(step).__name__}, step {number}")


@_rows.register
def _(step: Step, number: str) -> Iterator[TraceRow]:
    for position, move in enumerate(step.moves):
        label = _label(step.label if position == 0 else None)
        plain = move.rule is not None and move.rule.leaves_stack and move.before.stack == (BOTTOM,)
        rule = _rule(move.rule, move.before.state, move.after.state, plain=plain)
        stacks = write_stack(move.before.stack), write_stack(move.after.stack)
        yield TraceRow(number, label, rule, *stacks, spell_number(move.reward))


@_rows.register
def _(step: CountingStep, number: str) -> Iterator[TraceRow]:
    # The step keeps the number of its silent moves, not the moves: they share its row.
    silent = step.moves - (step.label is not None)
    first = step.rule.target if step.rule is not None else step.after.state
    parts = [] if step.label is None else [_rule(step.rule, step.before.state, first)]
    if silent:
        parts.append(
            f"{silent:,} silent move{'s' * (silent > 1)} to {make_printable(step.after.state)}"
        )
    if parts:
        counters = pattern_text(step.before.counters), pattern_text(step.after.counters)
        yield TraceRow(
            number, _label(step.label), ", then ".join(parts), *counters, spell_number(step.reward)
        )


def _label(label: Label | None) -> str:
    return "ε" if label is None else make_printable(label_text(label))


def _rule(rule: Rule | None, source: str, target: str, *, plain: bool = False) -> str:
    said = "otherwise" if rule is None else spell(make_line(rule, stack=not plain).tokens())
    return f"{make_printable(source)} → {make_printable(target)}: {said}"


def write_stack(stack: Stack) -> str:
    """A stack, top first, the lower part of a high one only counted.

    >>> write_stack(()), write_stack(("A",) * 20 + ("#",))
    ('ε', 'A A A A A A A A A A A A … 9 more')
    """
    shown = " ".join(make_printable(symbol) for symbol in stack[:MOST_SYMBOLS]) or "ε"
    return shown if len(stack) <= MOST_SYMBOLS else f"{shown} … {len(stack) - MOST_SYMBOLS} more"


def describe_end(run: Run[AnyStep]) -> str:
    """Where a run ended and what it paid, in a line; a final state ends the episode, be it well or badly.

    >>> from pdrm.language.loading import catalogue
    >>> describe_end(catalogue("letter").run([frozenset("B"), frozenset("C")]))
    'ended in u2, # (final); reward 0.99'
    """
    after = run.after
    where = (
        f"{after.state}, {write_stack(after.stack)}"
        if isinstance(after, Configuration)
        else str(after)
    )
    if run.finished:
        left = f", {run.unread} label{'s' * (run.unread > 1)} left unread" if run.unread else ""
        end = f"ended in {where} (final){left}"
    else:
        end = f"not ended: in {where}"
    return f"{end}; reward {spell_number(run.reward)}"
