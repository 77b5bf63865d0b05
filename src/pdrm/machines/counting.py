"""Constant counting reward automata (Section 5): counters instead of the stack, tested for zero and changed by constants.

A counter is floored at zero. Silent moves run until none applies, as in a pushdown machine; but whether they ever end is
undecidable for two counters, so it is not decided here: a step that makes too many is stopped.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import NamedTuple

from pdrm.errors import (
    BadNumber,
    EndlessSilentMoves,
    Finding,
    PdrmError,
    TooManyCases,
    UnknownConfiguration,
    Where,
)
from pdrm.machines.guards import Guard, Label
from pdrm.machines.labels import FALSE, TRUE, LabelSet
from pdrm.machines.machine import LabelledRule, Machine, otherwise_at
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import Otherwise, Rule, StepRecord, number_text

ZERO, NONZERO, ANY_VALUE = "0", "1", "-"
Pattern = tuple[str, ...]
"""One test per counter: `0`, `1`, or in rules `-` for either."""

MAX_CASES = 10_000
"""States and zero patterns looked at for warnings."""

MAX_CHANGED = 999_999_999
"""The largest change of a counter by a rule: as many digits as the language reads."""


@dataclass(frozen=True, slots=True)
class CountingTransition(Rule):
    """One rule (δ and λ of Appendix B): `tests` asks of each counter that it be zero ("0"), not zero ("1") or anything ("-"),
    `changes` adds to it.

    >>> from pdrm.machines.guards import Event
    >>> rule = CountingTransition("u0", "u1", Event("B"), ("1", "-"), (-3, 1), 0)
    >>> print(rule, rule.allows((2, 0)), rule.change((2, 0)))
    u0 -> u1 : B, [1, -] / [-3, +1], 0 True (0, 1)
    """

    source: str
    target: str
    guard: Guard
    tests: Pattern
    changes: tuple[int, ...]
    reward: float
    where: Where | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        object.__setattr__(self, "tests", tuple(self.tests))
        object.__setattr__(self, "changes", tuple(_integer(change) for change in self.changes))

    def allows(self, counters: tuple[int, ...]) -> bool:
        """Return True if the counters pass the tests."""
        pairs = zip(self.tests, counters, strict=True)
        return all(test in (ANY_VALUE, NONZERO if value else ZERO) for test, value in pairs)

    def change(self, counters: tuple[int, ...]) -> tuple[int, ...]:
        """The counters after the changes, none below zero."""
        return tuple(
            [max(0, value + change) for value, change in zip(counters, self.changes, strict=True)]
        )

    def __str__(self) -> str:
        changes = [f"{change:+d}" if change else "0" for change in self.changes]
        vectors = f"{pattern_text(self.tests)} / {pattern_text(changes)}"
        return (
            f"{self.source} -> {self.target} : {self.guard}, {vectors}, {number_text(self.reward)}"
        )


def pattern_text(values: Sequence[object]) -> str:
    """A vector as the paper prints it: `[1, 0]`."""
    return f"[{', '.join(map(str, values))}]"


def _integer(change: int) -> int:
    """A counter change as a plain int."""
    with suppress(TypeError):
        whole = operator.index(change)
        if abs(whole) <= MAX_CHANGED:
            return whole
    fix = f"use an integer such as 1, 0 or -2, at most {MAX_CHANGED:,}"
    raise BadNumber(f"`{str(change)[:20]}` is not a counter change", fix=fix)


MAX_SILENT_MOVES = 10_000_000
"""Silent moves that one step may make."""


@dataclass(frozen=True, slots=True)
class CountingConfiguration:
    """A state and the counters' values.

    >>> print(CountingConfiguration("u0", (2, 0)))
    u0, [2, 0]
    """

    state: str
    counters: tuple[int, ...]

    def after(self, acting: CountingTransition | Otherwise) -> CountingConfiguration:
        """The configuration that a move leads to."""
        return CountingConfiguration(acting.target or self.state, acting.change(self.counters))

    def __str__(self) -> str:
        return f"{self.state}, {pattern_text(self.counters)}"


@dataclass(frozen=True, slots=True)
class CountingStep(StepRecord[CountingConfiguration]):
    """One label read, by a rule (None for `otherwise`), and its silent moves.

    The moves are counted, not kept: a step that moves a stack between counters makes millions of them.
    """

    rule: CountingTransition | None
    moves: int


@dataclass(frozen=True, repr=False)
class CountingRewardAutomaton(Machine[CountingTransition, CountingConfiguration, CountingStep]):
    """⟨U, F, Σ, Δ, δ, λ, u₀⟩ with a number of `counters`, all zero at the start; `transitions` hold δ and λ.

    `states` may be left out as for a pushdown machine.

    >>> from pdrm.machines.guards import Event
    >>> up = CountingTransition("u0", "u0", Event("A"), ("-",), (1,), 0)
    >>> down = CountingTransition("u0", "u0", Event("B"), ("1",), (-1,), 1)
    >>> end = CountingTransition("u0", "done", Event("B"), ("0",), (0,), 5)
    >>> machine = CountingRewardAutomaton(
    ...     "as", ("A", "B"), 1, "u0", ("done",), Otherwise.stay(0), (up, down, end), (("A", "B"),)
    ... )
    >>> run = machine.run([frozenset(event) for event in "AABBB"])
    >>> run.accepted, run.reward, str(run.after)
    (True, 7.0, 'done, [0]')
    """

    name: str
    """Its name."""
    events: tuple[str, ...]
    """Σ is made of these: a label is a set of them."""
    counters: int
    """The number of counters."""
    start: str
    """u₀."""
    final: tuple[str, ...]
    """F: the states in which the task is over."""
    otherwise: Otherwise
    """The default when no rule applies."""
    transitions: tuple[CountingTransition, ...]
    """The rules."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of events of which at most one is in a label."""
    states: tuple[str, ...] = ()
    """U without F, in order."""
    most_silent: int = field(default=MAX_SILENT_MOVES, compare=False)
    """Silent moves that one step may make."""
    _fix = "make the labels or the tests differ, or declare `exclusive` events"
    _silent_fix = "let the silent rule start in a state of its own, or test for other counters"

    def _find_own_faults(self) -> Iterator[PdrmError]:
        """The faults of the counters, and of the rules' tests and changes."""
        if self.counters < 1:
            fault = f"a counting automaton with {self.counters} counters"
            yield BadNumber(fault, fix="give it one or more: `counters 1`")
        for rule in self.transitions:
            if not len(rule.tests) == len(rule.changes) == self.counters:
                fix = "write one test and one change for each counter, as in `[1, -] / [-1, 0]`"
                fault = f"the automaton has {self.counters} counters, and the rule another number: {rule}"
                yield BadNumber(fault, where=rule.where, fix=fix)
            for test in rule.tests:
                if test not in (ZERO, NONZERO, ANY_VALUE):
                    fault = f"`{test}` is not a counter test: rule {rule}"
                    fix = "use 0 (zero), 1 (not zero) or - (either)"
                    yield BadNumber(fault, where=rule.where, fix=fix, word=test)

    def _co_applicable_rules(
        self, readings: Sequence[LabelledRule]
    ) -> Iterator[tuple[str, list[LabelledRule]]]:
        """The rules of one state with their labels: a test of a counter is a variable after the events."""
        sets = readings[0].labels.sets
        tested = []
        for reading in readings:
            labels = reading.labels
            for number, test in enumerate(reading.rule.tests, start=len(sets.alphabet.events)):
                if test != ANY_VALUE:
                    branches = (TRUE, FALSE) if test == ZERO else (FALSE, TRUE)
                    labels &= LabelSet(sets, sets.node(number, *branches))
            tested.append(reading._replace(labels=labels))
        yield "", tested

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        from pdrm.machines.findings import inspect

        def describe(cases: list[StatePattern]) -> str:
            return f" with counters {' or '.join(pattern_text(case.pattern) for case in cases)}"

        return inspect(self, partial(_reachable_patterns, self), describe)

    def rule(
        self, state: str, label: Label | None, counters: tuple[int, ...]
    ) -> CountingTransition | None:
        """The one rule that applies.

        Args:
            state: A state of the automaton.
            label: The label that is read (None for the silent rule).
            counters: The counters' values.
        """
        for rule in self.rules_from[state]:
            if rule.reads(label) and rule.allows(counters):
                return rule
        return None

    def begin(self) -> CountingStep:
        """The start: initial state, counters at zero, and the silent moves before the first label."""
        before = CountingConfiguration(self.start, (0,) * self.counters)
        return self._run_silent_moves(CountingStep(None, before, before, 0.0, None, 0))

    def _step(self, before: CountingConfiguration, label: Label) -> CountingStep:
        rule = self.rule(before.state, label, before.counters)
        if rule is None and self.otherwise.action == "error":
            raise self.undefined_move(label, before)
        acting = rule or self.otherwise
        paid = 0.0 + acting.reward  # -0.0 is paid as 0.0
        return self._run_silent_moves(
            CountingStep(label, before, before.after(acting), paid, rule, 1)
        )

    def _run_silent_moves(self, step: CountingStep) -> CountingStep:
        """The step with its silent moves made: their rewards are added in order."""
        here, paid, moves = step.after, step.reward, 0
        while (rule := self.rule(here.state, None, here.counters)) is not None:
            if moves == self.most_silent:
                raise EndlessSilentMoves(
                    f"machine `{self.name}` made {moves:,} silent moves in one step, the last to {here}",
                    where=rule.where,
                    fix=f"if they do end, allow more moves (`most_silent`); if not, see this rule: {rule}",
                )
            here = here.after(rule)
            paid += rule.reward
            moves += 1
        return replace(step, after=here, reward=paid, moves=step.moves + moves)

    def _check_memory(self, configuration: CountingConfiguration) -> None:
        counters = configuration.counters
        if len(counters) != self.counters or any(value < 0 for value in counters):
            fault = f"{pattern_text(counters)} are not counter values of `{self.name}`"
            raise UnknownConfiguration(fault, fix="give one non-negative integer per counter")


# --- Zero patterns: which counters are zero ("0") and which are not ("1"). Rules test no more.
#
# The patterns that a state meets are followed from the start, a counter counted down being both zero and not: more cases
# than occur (which occur is undecidable for two counters), never fewer.


class StatePattern(NamedTuple):
    """A state and a zero pattern."""

    state: str
    pattern: Pattern


Cases = dict[StatePattern, list[tuple[CountingTransition | Otherwise, LabelSet]]]
"""The rules that apply in each case, and the labels that they read."""


def _reachable_patterns(machine: CountingRewardAutomaton) -> Cases:
    """Every state and zero pattern that some word may lead to, and perhaps some that none does, with the rules that apply."""
    sets = machine.sets
    found: Cases = {}

    def moves(head: tuple[StatePattern, None]) -> Iterator[tuple[StatePattern, tuple[None]]]:
        case, _ = head
        if len(found) == MAX_CASES:
            raise TooManyCases(f"there are more than {MAX_CASES:,} states and zero patterns")
        counters = tuple(map(int, case.pattern))
        rules = [
            rule
            for rule in machine.rules_from[case.state]
            if rule.allows(counters) and (rule.silent or sets.labels_of(rule.guard))
        ]
        found[case] = [(rule, sets.holding(rule.guard)) for rule in rules]
        for rule in rules:
            for pattern in product(*map(_zeros_after, case.pattern, rule.changes)):
                yield StatePattern(rule.target, pattern), (None,)
        left = otherwise_at(machine, case.state, rules)
        if left and not any(rule.silent for rule in rules):
            found[case] += left
            yield case._replace(state=machine.otherwise.target or case.state), (None,)

    saturate(moves, [(StatePattern(machine.start, (ZERO,) * machine.counters), (None,))])
    return found


def _zeros_after(zero: str, change: int) -> str:
    """The tests that a counter may pass after a change; counters are floored at zero."""
    if change > 0:
        return NONZERO
    return zero if change == 0 or zero == ZERO else ZERO + NONZERO
