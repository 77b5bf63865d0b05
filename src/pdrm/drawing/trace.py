"""A run as the rows of a table: one per move, with silent moves on separate rows.

The rows are texts, which `render` draws and `pdrm step` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pdrm.drawing.figure import make_line, spell, spell_number
from pdrm.machines.counting import CountingStep, pattern_text
from pdrm.machines.guards import label_text
from pdrm.machines.transitions import Configuration, MachineRun, Rule, Stack, Step
from pdrm.wording import plural

HEADINGS = ("step", "label", "rule", "stack before", "stack after", "reward")
"""The columns of a trace, in the order of `TraceRow`."""

MAX_SYMBOLS = 12
"""Maximum number of stack symbols in a row. The others are counted."""


class TraceRow(NamedTuple):
    """A row, with stacks top first. Counting automata have counters instead of stacks.

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
    """The rows of a run. Step 0 contains the silent moves before the first label."""
    stack = not run.is_reward_machine
    steps = enumerate(run.steps)
    return [row for number, step in steps for row in _rows(step, str(number), stack=stack)]


def _rows(step: AnyStep, number: str, *, stack: bool) -> Iterator[TraceRow]:
    label = "ε" if step.label is None else label_text(step.label)
    if isinstance(step, Step):
        for move in step.moves:
            rule = _rule(move.rule, move.before.state, move.after.state, stack=stack)
            before = write_stack(move.before.stack) if stack else ""
            after = write_stack(move.after.stack) if stack else ""
            yield TraceRow(number, label, rule, before, after, spell_number(move.reward))
            label = "ε"
    elif step.moves:
        target = step.rule.target if step.rule is not None else step.after.state
        parts = [] if step.label is None else [_rule(step.rule, step.before.state, target)]
        silent = step.moves - len(parts)
        if silent:  # a step only counts them
            parts.append(f"{plural(silent, 'silent move')} to {step.after.state}")
        yield TraceRow(
            number,
            label,
            ", then ".join(parts),
            pattern_text(step.before.counters),
            pattern_text(step.after.counters),
            spell_number(step.reward),
        )


def _rule(rule: Rule | None, source: str, target: str, *, stack: bool = True) -> str:
    line = "otherwise" if rule is None else spell(make_line(rule, stack=stack).tokens())
    return f"{source} → {target}: {line}"


def write_stack(stack: Stack) -> str:
    """Write a stack, top first, and count the symbols below the first MAX_SYMBOLS.

    >>> write_stack(()), write_stack(("A",) * 20 + ("#",))
    ('ε', 'A A A A A A A A A A A A … 9 more')
    """
    shown = " ".join(stack[:MAX_SYMBOLS]) or "ε"
    return shown if len(stack) <= MAX_SYMBOLS else f"{shown} … {len(stack) - MAX_SYMBOLS} more"


def describe_end(run: MachineRun[AnyStep]) -> str:
    """Describe the last configuration and the reward of a run in a line.

    >>> from pdrm.language.loading import catalogue
    >>> describe_end(catalogue("letter").run([frozenset("B"), frozenset("C")]))
    'ended in u2, # (final); reward 0.99'
    """
    after = run.after
    configuration = str(after)
    if isinstance(after, Configuration):
        configuration = f"{after.state}, {write_stack(after.stack)}"
    unread = f", {plural(run.unread, 'label')} left unread" if run.unread else ""
    end = f"not ended: in {configuration}"
    if run.finished:
        end = f"ended in {configuration} (final){unread}"
    return f"{end}; reward {spell_number(float(f'{run.reward:g}'))}"


def align(rows: Sequence[Sequence[str]]) -> str:
    """Align the columns of a table; return its lines.

    >>> print(align([["a", "bc"], ["def", "g"]]))
    a    bc
    def  g
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def write_trace(run: MachineRun[AnyStep]) -> str:
    """Write a run as text: its table without empty columns, and its end.

    >>> from pdrm.language.loading import catalogue
    >>> print(write_trace(catalogue("letter").run([frozenset("B")])))
    step  label  rule                        stack before  stack after  reward
    1     {B}    u0 → u1: {B}, z / z, −0.01  #             #            −0.01
    not ended: in u1, #; reward −0.01
    """
    columns = zip(HEADINGS, *trace_run(run), strict=True)
    rows = zip(*(column for column in columns if any(column[1:])), strict=True)
    return f"{align(list(rows))}\n{describe_end(run)}"
