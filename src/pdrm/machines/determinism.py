"""Determinism: at most one rule for every state, label and top of stack (the paper's own condition is weaker).

The one precedence is that a rule naming the top symbol beats a rule with `z`. Two silent rules, or a silent and a reading
one, clash wherever both look at the same top, since a silent move does not wait for the label. The search for a clash is
the same for the three kinds of machine: they differ in where two rules meet (a top, a zero pattern, or anywhere).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Protocol, TypeVar

from pdrm.errors import Nondeterministic, TooManyCases
from pdrm.machines.alphabet import Alphabet, Cube
from pdrm.machines.guard import Silent, label_text
from pdrm.machines.transition import ANY, NONE, Transition
from pdrm.machines.wellformed import Rule

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine

R = TypeVar("R", bound=Rule)
R_co = TypeVar("R_co", bound=Rule, covariant=True)

MOST_REPORTED = 5
"""Clashes listed before the check stops."""


class Checked(Protocol[R_co]):
    """What the search needs to know of a machine."""

    @property
    def alphabet(self) -> Alphabet: ...
    @property
    def states(self) -> tuple[str, ...]: ...
    def rules_from(self, state: str) -> tuple[R_co, ...]: ...


def clashes(machine: PushdownRewardMachine) -> list[Nondeterministic | TooManyCases]:
    """Pairs of a pushdown machine's rules that apply at once, each with a label and a top where they do."""

    def place(one: Transition, other: Transition) -> str | None:
        top = common_top(one, other, machine.stack[0])
        return None if top is None else f" and top {top}"

    return clashes_where(
        machine,
        place,
        fix="make the labels or the tops differ, declare `exclusive` events, or name the top in one of them and use `z` in the other",
        silent_fix="let the silent rule start in a state of its own, or name other tops",
    )


def clashes_where(
    machine: Checked[R], place: Callable[[R, R], str | None], fix: str, silent_fix: str
) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once; `place` says where besides the label two rules of one state meet (None: nowhere)."""
    found: list[Nondeterministic | TooManyCases] = []
    for state in machine.states:
        for clash in _clashes_at(machine, state, place, fix, silent_fix):
            found.append(clash)
            if len(found) == MOST_REPORTED:
                return found
    return found


def _clashes_at(
    machine: Checked[R], state: str, place: Callable[[R, R], str | None], fix: str, silent_fix: str
) -> Iterator[Nondeterministic | TooManyCases]:
    cubes: list[tuple[R, list[Cube]]] = []
    for rule in machine.rules_from(state):
        try:
            cubes.append((rule, machine.alphabet.cubes(rule.guard)))
        except TooManyCases as error:
            yield TooManyCases(error.message, where=rule.where, fix=error.fix)
    for (one, cubes_one), (other, cubes_other) in combinations(cubes, 2):
        there = place(one, other)
        if there is None:
            continue
        label = _common_label(machine.alphabet, one, cubes_one, other, cubes_other)
        if label is not None:
            yield _clash(one, other, f"label {label}{there}", silent_fix if _silent(one) != _silent(other) else fix)


def common_top(one: Transition, other: Transition, bottom: str) -> str | None:
    """A top of stack at which both rules would apply with none beating the other, or None."""
    tops = {one.top, other.top}
    if tops == {NONE}:
        return "(empty)"
    if NONE in tops:
        named = (tops - {NONE}).pop()
        return bottom if named == ANY else named
    if one.top == other.top:
        return bottom if one.top == ANY else one.top
    if ANY not in tops:
        return None
    any_rule, named_rule = (one, other) if one.top == ANY else (other, one)
    return named_rule.top if any_rule.silent and not named_rule.silent else None


def _common_label(
    alphabet: Alphabet, one: Rule, cubes_one: list[Cube], other: Rule, cubes_other: list[Cube]
) -> str | None:
    """A label both rules would read, as text; any label will do next to a silent rule."""
    if _silent(one) and _silent(other):
        return "eps (both are silent)"
    if _silent(one) or _silent(other):
        reading = cubes_other if _silent(one) else cubes_one
        return label_text(alphabet.smallest(reading[0])) if reading else None
    for cube in cubes_one:
        for second in cubes_other:
            both = alphabet.meet(cube, second)
            if both is not None:
                return label_text(alphabet.smallest(both))
    return None


def _silent(rule: Rule) -> bool:
    return isinstance(rule.guard, Silent)


def _clash(one: Rule, other: Rule, case: str, fix: str) -> Nondeterministic:
    line = f" (line {one.where.line})" if one.where is not None else ""
    silent = _silent(one) != _silent(other)
    why = "a silent rule leaves no label to read there" if silent else "at most one rule may apply"
    return Nondeterministic(
        f"two rules apply in state `{one.source}` for {case}: {why}\n    {one}{line}\n    {other}",
        where=other.where or one.where,
        fix=fix,
    )
