"""Zero patterns: which counters are zero ("0") and which are not ("1"). Rules test no more, so clashes are found on them.

Which patterns a state meets is followed from the start, a counter counted down being both zero and not: more cases than
occur (what occurs is undecidable for two counters), never fewer. A reward machine is the case of no counters, and exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from pdrm.errors import Nondeterministic, TooManyCases
from pdrm.machines.alphabet import Cube
from pdrm.machines.checks.determinism import Meeting, Reading, find_clashes
from pdrm.machines.checks.wellformed import Machine, labels_left
from pdrm.machines.transitions import Rule

ZERO, NONZERO, ANY_VALUE = "0", "1", "-"
Pattern = tuple[str, ...]
"""One test per counter: `0`, `1`, or in rules `-` for either."""

MOST_CASES = 10_000
"""States and zero patterns looked at for warnings."""


class CountingRule(Rule):
    """A rule that tests counters and changes them."""

    __slots__ = ()
    tests: Pattern
    changes: tuple[int, ...]


R_co = TypeVar("R_co", bound=CountingRule, covariant=True)


class CountingMachine(Machine[R_co]):
    """A counting reward automaton, or a reward machine as one without counters."""

    __slots__ = ()
    counters: int


class Case(NamedTuple):
    """A state and a zero pattern."""

    state: str
    zeros: Pattern


def matches(tests: Pattern, zeros: Pattern) -> bool:
    """Whether a rule with these tests applies to this zero pattern."""
    return all(test in (ANY_VALUE, zero) for test, zero in zip(tests, zeros, strict=True))


def common_pattern(one: Pattern, other: Pattern) -> Pattern | None:
    """A zero pattern that passes both tests, or None: `[1, 0]` passes `[-, 0]` and `[1, -]`."""
    pairs = list(zip(one, other, strict=True))
    if any({ZERO, NONZERO} == {first, second} for first, second in pairs):
        return None
    return tuple(NONZERO if NONZERO in pair else ZERO for pair in pairs)


def pattern_text(values: Sequence[object]) -> str:
    """A vector as the paper prints it: `[1, 0]`."""
    return f"[{', '.join(map(str, values))}]"


def find_counting_clashes(
    machine: CountingMachine[CountingRule],
) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once, each with a label and a zero pattern where they do."""

    def place(
        one: Reading[CountingRule], other: Reading[CountingRule], met: list[Cube]
    ) -> tuple[Cube, str] | None:
        zeros = common_pattern(one.rule.tests, other.rule.tests)
        return (
            None
            if zeros is None
            else (met[0], f" and counters {pattern_text(zeros)}" if zeros else "")
        )

    def look(tests: Pattern) -> Cube:
        bits = [1 << len(machine.events) + number for number in range(len(tests))]
        nonzero, zero = (
            sum(bit for bit, test in zip(bits, tests, strict=True) if test == kind)
            for kind in (NONZERO, ZERO)
        )
        return Cube(nonzero, zero)

    ways = "the labels or the tests" if machine.counters else "the labels"
    return find_clashes(
        machine,
        lambda readings: [
            Meeting(readings, [look(reading.rule.tests) for reading in readings], (), place)
        ],
        fix=f"make {ways} differ, or declare `exclusive` events",
        silent_fix="let the silent rule start in a state of its own, or test for other counters",
    )


def reachable_cases(machine: CountingMachine[CountingRule]) -> set[Case]:
    """Every state and zero pattern that some word may lead to, and perhaps some that none does."""
    start = Case(machine.start, (ZERO,) * machine.counters)
    found, todo = {start}, [start]
    while todo:
        new = {after for after in _successors(machine, todo.pop()) if after not in found}
        found |= new
        todo += new
        if len(found) > MOST_CASES:
            raise TooManyCases(f"there are more than {MOST_CASES:,} states and zero patterns")
    return found


def _successors(machine: CountingMachine[CountingRule], case: Case) -> Iterator[Case]:
    rules = rules_in(machine, case)
    for rule in rules:
        ways = [
            _zeros_after(zero, change)
            for zero, change in zip(case.zeros, rule.changes, strict=True)
        ]
        yield from (Case(rule.target, zeros) for zeros in product(*ways))
    if machine.otherwise.target is not None and labels_left(machine, case.state, rules):
        yield Case(machine.otherwise.target, case.zeros)


def _zeros_after(zero: str, change: int) -> str:
    """The tests that a counter may pass after a change; counters are floored at zero."""
    if change > 0:
        return NONZERO
    return zero if change == 0 or zero == ZERO else ZERO + NONZERO


def rules_in(machine: CountingMachine[CountingRule], case: Case) -> list[CountingRule]:
    """The rules that apply in a case for some label."""
    if case.state in machine.final:
        return []
    rules = [rule for rule in machine.rules_from(case.state) if matches(rule.tests, case.zeros)]
    return [rule for rule in rules if rule.silent or machine.alphabet.cubes(rule.guard)]
