"""A run as the rows of a table: one for each move, silent moves on rows of their own under their step.

The rows are words; `render` draws them and `pdrm step` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pdrm.drawing.figure import make_line, spell, spell_number
from pdrm.machines.counting import CountingStep, pattern_text
from pdrm.machines.guards import label_text
from pdrm.machines.transitions import Configuration, MachineRun, Rule, Stack, Step

HEADINGS = ("step", "label", "rule", "stack before", "stack after", "reward")
"""The columns of a trace, those of `TraceRow`."""

MAX_SYMBOLS = 12
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


def trace_run(run: MachineRun[AnyStep]) -> list[TraceRow]:
    """The rows of a run's table: step 0 holds the silent moves before the first label, if there are any."""
    stack = not run.is_reward_machine
    steps = enumerate(run.steps)
    return [row for number, step in steps for row in _rows(step, str(number), stack=stack)]


def _rows(step: AnyStep, number: str, *, stack: bool) -> Iterator[TraceRow]:
    label = "ε" if step.label is None else label_text(step.label)
    if isinstance(step, Step):
        for move in step.moves:
            rule = _rule(move.rule, move.before.state, move.after.state, stack=stack)
            shown = write_stack(move.before.stack), write_stack(move.after.stack)
            stacks = shown if stack else ("", "")
            yield TraceRow(number, label, rule, *stacks, spell_number(move.reward))
            label = "ε"
    elif step.moves:
        target = step.rule.target if step.rule is not None else step.after.state
        said = [] if step.label is None else [_rule(step.rule, step.before.state, target)]
        silent = step.moves - len(said)
        if silent:  # which the step does not keep one by one
            moves = f"{silent:,} silent move{'s' * (silent > 1)}"
            said.append(f"{moves} to {step.after.state}")
        counters = pattern_text(step.before.counters), pattern_text(step.after.counters)
        yield TraceRow(number, label, ", then ".join(said), *counters, spell_number(step.reward))


def _rule(rule: Rule | None, source: str, target: str, *, stack: bool = True) -> str:
    said = "otherwise" if rule is None else spell(make_line(rule, stack=stack).tokens())
    return f"{source} → {target}: {said}"


def write_stack(stack: Stack) -> str:
    """A stack, top first, the lower part of a high one only counted.

    >>> write_stack(()), write_stack(("A",) * 20 + ("#",))
    ('ε', 'A A A A A A A A A A A A … 9 more')
    """
    shown = " ".join(stack[:MAX_SYMBOLS]) or "ε"
    return shown if len(stack) <= MAX_SYMBOLS else f"{shown} … {len(stack) - MAX_SYMBOLS} more"


def describe_end(run: MachineRun[AnyStep]) -> str:
    """The end and the reward of a run in a line; a final state ends the episode, whether well or badly.

    >>> from pdrm.language.loading import catalogue
    >>> describe_end(catalogue("letter").run([frozenset("B"), frozenset("C")]))
    'ended in u2, # (final); reward 0.99'
    """
    after = run.after
    shown = str(after)
    if isinstance(after, Configuration):
        shown = f"{after.state}, {write_stack(after.stack)}"
    left = f", {run.unread} label{'s' * (run.unread > 1)} left unread" if run.unread else ""
    end = f"ended in {shown} (final){left}" if run.finished else f"not ended: in {shown}"
    return f"{end}; reward {spell_number(float(f'{run.reward:g}'))}"


def align(rows: Sequence[Sequence[str]]) -> str:
    """The rows of a table as lines with aligned columns.

    >>> print(align([["a", "bc"], ["def", "g"]]))
    a    bc
    def  g
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def write_trace(run: MachineRun[AnyStep]) -> str:
    """A run as text: its table without empty columns, and how it ended.

    >>> from pdrm.language.loading import catalogue
    >>> print(write_trace(catalogue("letter").run([frozenset("B")])))
    step  label  rule                        stack before  stack after  reward
    1     {B}    u0 → u1: {B}, z / z, −0.01  #             #            −0.01
    not ended: in u1, #; reward −0.01
    """
    columns = zip(HEADINGS, *trace_run(run), strict=True)
    rows = zip(*(column for column in columns if any(column[1:])), strict=True)
    return f"{align(list(rows))}\n{describe_end(run)}"
