"""Determinism: at most one rule for every state, label and top of stack (the paper's own condition is weaker).

Two silent rules, or a silent and a reading one, clash wherever they meet, because a silent move does not wait for the label.
Each kind of machine says which rules of a state can meet besides at a label: at a top of stack, or at a zero pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from pdrm.errors import Nondeterministic, TooLarge, TooManyCases
from pdrm.machines.guards import Event, events_of, label_text
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import Machine
from pdrm.machines.transitions import Rule

MOST_REPORTED = 5
"""Clashes listed."""

MOST_FOUND = 100
"""Clashes found before the check stops; of these, the first are listed."""

R = TypeVar("R", bound=Rule)


class Reading(NamedTuple, Generic[R]):
    """A rule and the labels at which it applies: a silent rule at every label."""

    rule: R
    number: int
    labels: LabelSet


class Clash(NamedTuple, Generic[R]):
    """Two rules that apply at once: at these labels, and at a place in words."""

    one: Reading[R]
    other: Reading[R]
    labels: LabelSet
    place: str = ""


def find_clashes(
    machine: Machine[R],
    meetings: Callable[[list[Reading[R]]], Iterable[Clash[R]]],
    fix: str,
    silent_fix: str,
) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once, in the order of the rules; `meetings` finds them among the rules of a state."""
    faults: list[Nondeterministic | TooManyCases] = []
    for state in machine.states:
        rules = machine.rules_from(state)
        if len(rules) < 2:
            continue
        events = frozenset[str]().union(*(events_of(rule.guard) for rule in rules))
        sets = LabelSets(machine.alphabet.within(events))
        rule = rules[0]
        try:
            readings: list[Reading[R]] = []
            for number, rule in enumerate(rules):
                labels = sets.all if rule.silent else sets.holding(rule.guard)
                readings.append(Reading(rule, number, labels))
            found = list(islice(meetings(readings), MOST_FOUND))
        except TooLarge as error:
            faults.append(TooManyCases(error.message, where=rule.where, fix=error.fix))
            continue
        found.sort(key=lambda clash: (clash.one.number, clash.other.number))
        faults += _report(machine, found, fix, silent_fix)
        if len(faults) >= MOST_REPORTED:
            break
    return faults[:MOST_REPORTED]


def find_overlaps(readings: Sequence[Reading[R]]) -> Iterator[Clash[R]]:
    """The pairs among these rules that share a label."""
    if len(readings) > 1:
        half = len(readings) // 2
        first, second = readings[:half], readings[half:]
        yield from find_overlaps(first)
        yield from find_overlaps(second)
        yield from find_overlaps_between(first, second)


def find_overlaps_between(
    some: Sequence[Reading[R]], others: Sequence[Reading[R]]
) -> Iterator[Clash[R]]:
    """The pairs of one of these rules and one of those that share a label."""
    if not some or not others:
        return
    every = some[0].labels.sets.all
    met = join_labels(some) & join_labels(others) & every
    if not met:
        return
    facing = [other for other in others if other.labels & met]
    for one in some:
        for other in facing if one.labels & met else ():
            shared = one.labels & other.labels & every
            if shared:
                first, second = (one, other) if one.number < other.number else (other, one)
                yield Clash(first, second, shared)


def join_labels(readings: Sequence[Reading[R]]) -> LabelSet:
    """The labels of all these rules together."""
    sets = readings[0].labels.sets
    return LabelSet(sets, sets.store.join([reading.labels.node for reading in readings]))


def _report(
    machine: Machine[R], clashes: list[Clash[R]], fix: str, silent_fix: str
) -> Iterator[Nondeterministic]:
    """One error for each line that clashes with lines above it; for each pair of rules that were not read from a text."""
    lines: dict[object, list[Clash[R]]] = {}
    for clash in clashes:
        one, other = clash.one.rule, clash.other.rule
        blamed = one if one.silent and not other.silent else other
        lines.setdefault(blamed.where or len(lines), []).append(clash)
    for alike in lines.values():
        same = (clash for clash in alike if clash.one.rule == clash.other.rule)
        clash = next(same, alike[0])
        one, other = clash.one.rule, clash.other.rule
        why = "at most one rule may apply"
        label = label_text(clash.labels.example())
        if one.silent != other.silent:
            why = "a silent rule leaves no label to read there"
            way_out = silent_fix
        elif one != other:
            way_out = _propose_exclusive(machine, clashes, one, other) or fix
        elif one.where is not None and one.where == other.where:
            way_out = "this line of a `for` says the same at every turn: use its variable, or move the line out"
        else:
            way_out = "remove one of the two"
        if one.silent and other.silent:
            label = "eps (both are silent)"
        more = f"\n    (and {len(alike) - 1} more of this line)" if len(alike) > 1 else ""
        place = "" if one.where is None else f" ({one.where.path or f'line {one.where.line}'})"
        yield Nondeterministic(
            f"two rules apply in state `{one.source}` for label {label}{clash.place}: {why}"
            f"\n    {machine.rule_text(one)}{place}\n    {machine.rule_text(other)}{more}",
            where=other.where or one.where,
            fix=way_out,
        )


def _propose_exclusive(machine: Machine[R], clashes: list[Clash[R]], one: Rule, other: Rule) -> str:
    """The line that says that events never come together, if two clashing rules read one event each."""
    events = isinstance(one.guard, Event) and isinstance(other.guard, Event)
    if not events or one.guard == other.guard:
        return ""
    guards = (rule.guard for clash in clashes for rule in (clash.one.rule, clash.other.rule))
    read = {guard.name for guard in guards if isinstance(guard, Event)}
    line = f"exclusive {' '.join(event for event in machine.events if event in read)}"
    return f"if events never come together, say so: `{line}`; else let one rule read `{other.guard} & !{one.guard}`"
