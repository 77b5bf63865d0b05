"""Determinism: at most one rule for every state, label and top of stack (the condition of SPEC, not the paper's weaker one).

The one precedence is that a rule naming the top symbol beats a rule with `z`. Two silent rules, or a silent and a reading
one, clash wherever both look at the same top, since a silent move does not wait for the label.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from pdrm.errors import Nondeterministic, TooManyCases
from pdrm.machines.alphabet import Alphabet, Cube
from pdrm.machines.guard import label_text
from pdrm.machines.transition import ANY, NONE, Transition

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine

MOST_REPORTED = 5
"""Clashes listed before the check stops."""


def clashes(machine: PushdownRewardMachine) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once, each with a label and a top where they do."""
    found: list[Nondeterministic | TooManyCases] = []
    for state in machine.states:
        for clash in _clashes_at(machine, state):
            found.append(clash)
            if len(found) == MOST_REPORTED:
                return found
    return found


def _clashes_at(machine: PushdownRewardMachine, state: str) -> Iterator[Nondeterministic | TooManyCases]:
    cubes: list[tuple[Transition, list[Cube]]] = []
    for rule in machine.rules_from(state):
        try:
            cubes.append((rule, machine.alphabet.cubes(rule.guard)))
        except TooManyCases as error:
            yield TooManyCases(error.message, where=rule.where, fix=error.fix)
    for (one, cubes_one), (other, cubes_other) in combinations(cubes, 2):
        top = common_top(one, other, machine.stack[0])
        if top is None:
            continue
        label = _common_label(machine.alphabet, one, cubes_one, other, cubes_other)
        if label is not None:
            yield _clash(one, other, label, top)


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
    alphabet: Alphabet, one: Transition, cubes_one: list[Cube], other: Transition, cubes_other: list[Cube]
) -> str | None:
    """A label both rules would read, as text; any label will do next to a silent rule."""
    if one.silent and other.silent:
        return "eps (both are silent)"
    if one.silent or other.silent:
        reading = cubes_other if one.silent else cubes_one
        return label_text(alphabet.smallest(reading[0])) if reading else None
    for cube in cubes_one:
        for second in cubes_other:
            both = alphabet.meet(cube, second)
            if both is not None:
                return label_text(alphabet.smallest(both))
    return None


def _clash(one: Transition, other: Transition, label: str, top: str) -> Nondeterministic:
    place = f" (line {one.where.line})" if one.where is not None else ""
    silent = one.silent != other.silent
    why = "a silent rule leaves no label to read there" if silent else "at most one rule may apply"
    return Nondeterministic(
        f"two rules apply in state `{one.source}` for label {label} and top {top}: {why}\n"
        f"    {one}{place}\n    {other}",
        where=other.where or one.where,
        fix="make the labels or the tops differ, declare `exclusive` events, or name the top in one of them and use `z` in the other"
        if not silent
        else "let the silent rule start in a state of its own, or name other tops",
    )
