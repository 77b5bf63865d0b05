"""Constant counting reward automata (Section 5): counters, zero tests and constant changes.

A counter never falls below zero. Silent moves run until none applies, as in a pushdown machine.
Whether they end is undecidable for two counters, so a step stops with an error after too many.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

from pdrm.errors import (
    BadNumber,
    EndlessSilentMoves,
    Finding,
    PdrmError,
    TooLarge,
    TooManyCases,
    UnknownConfiguration,
    Where,
)
from pdrm.machines.guards import Guard, Label
from pdrm.machines.labels import FALSE, TRUE, LabelSet
from pdrm.machines.machine import LabelledRule, Machine, otherwise_at
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import Otherwise, Rule, StepRecord

ZERO, NONZERO, ANY_VALUE = "0", "1", "-"
Pattern = tuple[str, ...]
"""A test for each counter: `0` (zero), `1` (not zero), or in rules `-` (either)."""

MAX_CASES = 10_000
"""The maximum number of states with zero patterns that are inspected for warnings."""

MAX_CHANGED = 999_999_999
"""The maximum change of a counter by a rule, with as many digits as a file can contain."""


@dataclass(frozen=True, slots=True)
class CountingTransition(Rule):
    """A rule (δ and λ of Appendix B).

    `tests` has for each counter "0" (it is zero), "1" (it is not zero) or "-" (either). `changes`
    are added to the counters.

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
        """The counters after the changes, at least zero."""
        pairs = zip(counters, self.changes, strict=True)
        return tuple([max(0, value + change) for value, change in pairs])

    def __str__(self) -> str:
        changes = [f"{change:+d}" if change else "0" for change in self.changes]
        return self._text(f"{pattern_text(self.tests)} / {pattern_text(changes)}, ")


def pattern_text(values: Sequence[object]) -> str:
    """A vector in the paper's notation: `[1, 0]`."""
    return f"[{', '.join(map(str, values))}]"


def _integer(change: int) -> int:
    """Convert a counter change to an int."""
    with suppress(TypeError):
        integer = operator.index(change)
        if abs(integer) <= MAX_CHANGED:
            return integer
    raise BadNumber(
        f"`{str(change)[:20]}` is not a counter change",
        fix=f"use an integer such as 1, 0 or -2, at most {MAX_CHANGED:,}",
    )


MAX_SILENT_MOVES = 10_000_000
"""The default maximum number of silent moves in a step."""


@dataclass(frozen=True, slots=True)
class CountingConfiguration:
    """A state and the values of the counters.

    >>> print(CountingConfiguration("u0", (2, 0)))
    u0, [2, 0]
    """

    state: str
    counters: tuple[int, ...]

    def after(self, rule: CountingTransition | Otherwise) -> CountingConfiguration:
        """The configuration after a rule is applied."""
        return CountingConfiguration(rule.target or self.state, rule.change(self.counters))

    def __str__(self) -> str:
        return f"{self.state}, {pattern_text(self.counters)}"


@dataclass(frozen=True, slots=True)
class CountingStep(StepRecord[CountingConfiguration]):
    """A step of a counting automaton, with its rule (None for `otherwise`).

    The moves are counted, not stored: moving a stack between counters takes millions of them.
    """

    rule: CountingTransition | None
    moves: int


@dataclass(frozen=True, repr=False)
class CountingRewardAutomaton(Machine[CountingTransition, CountingConfiguration, CountingStep]):
    """⟨U, F, Σ, Δ, δ, λ, u₀⟩ with `counters` that start at zero; `transitions` are δ and λ.

    `states` is optional, as for a pushdown machine.

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
    """The name of the machine."""
    events: tuple[str, ...]
    """The events. Σ consists of sets of events."""
    counters: int
    """The number of counters."""
    start: str
    """u₀."""
    final: tuple[str, ...]
    """F: the states that end the episode."""
    otherwise: Otherwise
    """The default move when no rule applies."""
    transitions: tuple[CountingTransition, ...]
    """The rules."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of events of which a label contains at most one."""
    states: tuple[str, ...] = ()
    """U without F, in order."""
    most_silent: int = field(default=MAX_SILENT_MOVES, compare=False)
    """The maximum number of silent moves in a step."""
    _fix = "make the labels or the tests differ, or declare `exclusive` events"
    _silent_fix = "move the silent rule to a separate state, or change its counter tests"

    def _find_own_faults(self) -> Iterator[PdrmError]:
        """Yield the errors in the counters, and in the tests and changes of the rules."""
        if self.counters < 1:
            fault = f"a counting automaton with {self.counters} counters"
            yield BadNumber(fault, fix="use one counter or more: `counters 1`")
        for rule in self.transitions:
            if not len(rule.tests) == len(rule.changes) == self.counters:
                fix = "write one test and one change for each counter, as in `[1, -] / [-1, 0]`"
                fault = f"a rule for another number of counters than {self.counters}: {rule}"
                yield BadNumber(fault, where=rule.where, fix=fix)
            for test in rule.tests:
                if test not in (ZERO, NONZERO, ANY_VALUE):
                    fault = f"`{test}` is not a counter test: rule {rule}"
                    fix = "use 0 (zero), 1 (not zero) or - (either)"
                    yield BadNumber(fault, where=rule.where, fix=fix, word=test)

    def _co_applicable_rules(
        self, rules: Sequence[LabelledRule]
    ) -> Iterator[tuple[str, list[LabelledRule]]]:
        """Yield all rules of a state. A counter test is a variable after the events."""
        sets = rules[0].labels.sets
        tested = []
        for rule in rules:
            labels = rule.labels
            for number, test in enumerate(rule.rule.tests, start=len(sets.alphabet.events)):
                if test != ANY_VALUE:
                    branches = (TRUE, FALSE) if test == ZERO else (FALSE, TRUE)
                    labels &= LabelSet(sets, sets.node(number, *branches))
            tested.append(rule._replace(labels=labels))
        yield "", tested

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        from pdrm.machines.findings import common_findings, incomplete_findings

        def describe(cases: list[StatePattern]) -> str:
            return f" with counters {' or '.join(pattern_text(case.pattern) for case in cases)}"

        try:
            return common_findings(self, _reachable_patterns(self), describe)
        except (TooLarge, TooManyCases) as error:
            return incomplete_findings(self, error)

    def rule(
        self, state: str, label: Label | None, counters: tuple[int, ...]
    ) -> CountingTransition | None:
        """Return the rule that applies, or None.

        Args:
            state: A state of the automaton.
            label: The label to read (None for the silent rule).
            counters: The values of the counters.
        """
        for rule in self.rules_from[state]:
            if rule.reads(label) and rule.allows(counters):
                return rule
        return None

    def begin(self) -> CountingStep:
        """The initial step, with the silent moves before the first label."""
        before = CountingConfiguration(self.start, (0,) * self.counters)
        return self._run_silent_moves(CountingStep(None, before, before, 0.0, None, 0))

    def _step(self, before: CountingConfiguration, label: Label) -> CountingStep:
        rule = self.rule(before.state, label, before.counters)
        if rule is None and self.otherwise.action == "error":
            raise self.undefined_move(label, before)
        applied = rule or self.otherwise
        reward = 0.0 + applied.reward  # turns -0.0 into 0.0
        first = CountingStep(label, before, before.after(applied), reward, rule, 1)
        return self._run_silent_moves(first)

    def _run_silent_moves(self, step: CountingStep) -> CountingStep:
        """Make the silent moves of a step and add their rewards in order."""
        after = step.after
        reward = step.reward
        moves = 0
        while (rule := self.rule(after.state, None, after.counters)) is not None:
            if moves == self.most_silent:
                raise EndlessSilentMoves(
                    f"machine `{self.name}` made {moves:,} silent moves in one step, "
                    f"the last to {after}",
                    where=rule.where,
                    fix=f"see the rule {rule}, or allow more moves (`most_silent`) if they end",
                )
            after = after.after(rule)
            reward += rule.reward
            moves += 1
        return replace(step, after=after, reward=reward, moves=step.moves + moves)

    def _check_memory(self, configuration: CountingConfiguration) -> None:
        counters = configuration.counters
        if len(counters) != self.counters or any(value < 0 for value in counters):
            raise UnknownConfiguration(
                f"{pattern_text(counters)} are not counter values of `{self.name}`",
                fix="use one non-negative integer per counter",
            )


# --- Zero patterns: the counters that are zero ("0") and those that are not ("1")
#
# Rules cannot distinguish more. Patterns are propagated from the start. A decremented counter may
# be zero or not, so this over-approximates the reachable cases (exact reachability is undecidable
# for two counters).


class StatePattern(NamedTuple):
    """A state and a zero pattern."""

    state: str
    pattern: Pattern


RulesByPattern = dict[StatePattern, list[tuple[CountingTransition | Otherwise, LabelSet]]]


def _reachable_patterns(machine: CountingRewardAutomaton) -> RulesByPattern:
    """The rules that apply in each reachable case with their labels (an over-approximation)."""
    sets = machine.sets
    result: RulesByPattern = {}

    def moves(head: tuple[StatePattern, None]) -> Iterator[tuple[StatePattern, tuple[None]]]:
        case, _ = head
        if len(result) == MAX_CASES:
            raise TooManyCases(f"there are more than {MAX_CASES:,} states and zero patterns")
        counters = tuple(map(int, case.pattern))
        rules = [
            rule
            for rule in machine.rules_from[case.state]
            if rule.allows(counters) and (rule.silent or sets.labels_of(rule.guard))
        ]
        result[case] = [(rule, sets.holding(rule.guard)) for rule in rules]
        for rule in rules:
            for pattern in product(*map(_tests_after, case.pattern, rule.changes)):
                yield StatePattern(rule.target, pattern), (None,)
        otherwise = otherwise_at(machine, case.state, rules)
        if otherwise and not any(rule.silent for rule in rules):
            result[case] += otherwise
            yield case._replace(state=machine.otherwise.target or case.state), (None,)

    saturate(moves, [(StatePattern(machine.start, (ZERO,) * machine.counters), (None,))])
    return result


def _tests_after(test: str, change: int) -> str:
    """The tests that a counter may pass after a change, if it passes `test` before."""
    if change > 0:
        return NONZERO
    if change == 0 or test == ZERO:
        return test
    return ZERO + NONZERO
