"""Transitions of a counting reward automaton: δ and λ of Appendix B as one record per rule.

`u1 -> u1 : C, [1] / [-1], 0` reads a label with C where the counter is not zero, and takes one off it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pdrm.errors import BadNumber, PdrmError, Where
from pdrm.machines.guard import Guard, Silent, check_guard
from pdrm.machines.transition import number_text, reward_of
from pdrm.machines.wellformed import shared_faults
from pdrm.machines.zero_patterns import ANY_VALUE, NONZERO, ZERO, Pattern, pattern_text

if TYPE_CHECKING:
    from pdrm.machines.counting import CountingRewardAutomaton

MOST_CHANGED = 999_999_999
"""What a rule may add to a counter or take off it: as many digits as the language reads."""


@dataclass(frozen=True, slots=True)
class CountingTransition:
    """One rule: `tests` asks of each counter that it be zero ("0"), not zero ("1") or anything ("-"), `changes` adds to it.

    >>> from pdrm.machines.guard import Event
    >>> rule = CountingTransition("u0", "u1", Event("B"), ("1", "-"), (-3, 1), 0)
    >>> print(rule, rule.allows((2, 0)), rule.changed((2, 0)))
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
        check_guard(self.guard)
        object.__setattr__(self, "tests", tuple(self.tests))
        object.__setattr__(self, "changes", tuple(_whole(change) for change in self.changes))
        object.__setattr__(self, "reward", reward_of(self.reward))

    @property
    def silent(self) -> bool:
        """Whether the rule reads no label."""
        return isinstance(self.guard, Silent)

    def allows(self, counters: tuple[int, ...]) -> bool:
        """Whether the counters pass the tests."""
        for test, value in zip(self.tests, counters, strict=True):
            if test != ANY_VALUE and (test == ZERO) != (value == 0):
                return False
        return True

    def changed(self, counters: tuple[int, ...]) -> tuple[int, ...]:
        """The counters after the changes, none below zero."""
        return tuple([max(0, value + change) for value, change in zip(counters, self.changes, strict=True)])

    def __str__(self) -> str:
        changes = [f"{change:+d}" if change else "0" for change in self.changes]
        vectors = f"{pattern_text(self.tests)} / {pattern_text(changes)}"
        return f"{self.source} -> {self.target} : {self.guard}, {vectors}, {number_text(self.reward)}"


def _whole(change: int) -> int:
    """A counter change as a plain whole number."""
    try:
        whole = operator.index(change)
    except TypeError:
        raise BadNumber(f"`{change}` is no counter change", fix="use a whole number such as 1, 0 or -2") from None
    if abs(whole) > MOST_CHANGED:
        raise BadNumber(f"a counter change by {change:.3g}", fix=f"changes are at most {MOST_CHANGED:,}")
    return whole


def counting_faults(machine: CountingRewardAutomaton) -> Iterator[PdrmError]:
    """Every fault of a counting automaton's names and numbers."""
    yield from shared_faults(machine)
    if machine.counters < 1:
        yield BadNumber(
            f"a counting automaton with {machine.counters} counters", fix="give it one or more: `counters 1`"
        )
    for rule in machine.transitions:
        for kind, length in (("tests", len(rule.tests)), ("changes", len(rule.changes))):
            if length != machine.counters:
                yield BadNumber(
                    f"{length} {kind} for {machine.counters} counters: rule {rule}",
                    where=rule.where,
                    fix="write one test and one change for each counter, as in `[1, -] / [-1, 0]`",
                )
        for test in rule.tests:
            if test not in (ZERO, NONZERO, ANY_VALUE):
                yield BadNumber(
                    f"`{test}` is no counter test: rule {rule}",
                    where=rule.where,
                    fix="use 0 (zero), 1 (not zero) or - (either)",
                )
