"""Machines of any kind: tuples of names and rules, checked when they are built.

Every name that a rule uses is declared, once, and can be a name, and the header is complete. At most one rule applies to a label;
each kind of machine says which rules of a state can meet besides: at a top of stack, or at a zero pattern.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from pdrm.errors import (
    BadName,
    BadReward,
    DuplicateName,
    FinalStateWithRules,
    MachineFinished,
    MissingHeader,
    Nondeterministic,
    PdrmError,
    TooLarge,
    TooManyCases,
    UndefinedMove,
    UnknownConfiguration,
    UnknownEvent,
    UnknownState,
    Where,
    did_you_mean,
    name_alike,
)
from pdrm.lazy import Displayed
from pdrm.machines.guards import Event, Label, events_of, label_text
from pdrm.machines.labels import Alphabet, LabelSet, LabelSets, names_of
from pdrm.machines.transitions import NONE, Otherwise, Rule

NAME = re.compile(r"(?!-)[^\s\x00-\x1f\x7f{}()\[\],:/&|!<>=+\"'\\]{1,100}")
RESERVED = ("where",)
"""A word that could be a name, but that ends the list of a `for`."""
RESERVED_EVENTS = (NONE, "true", "false", *RESERVED)
LONGEST_NAME = 90
"""Characters of a generated name, with room for a number to tell it from others."""


R = TypeVar("R", bound=Rule)
R_co = TypeVar("R_co", bound=Rule, covariant=True)


class Machine(Displayed, Generic[R_co]):
    """The parts that all kinds of machine share."""

    __slots__ = ()
    name: str
    events: tuple[str, ...]
    start: str
    final: tuple[str, ...]
    otherwise: Otherwise
    transitions: tuple[R_co, ...]
    exclusive: tuple[tuple[str, ...], ...]
    states: tuple[str, ...]
    alphabet: Alphabet
    _from: dict[str, tuple[R_co, ...]]
    leaves_stack: bool = False
    """It is a reward machine: it has no stack, or one that no rule looks at or changes."""

    def __repr__(self) -> str:
        states, rules = len(self.states) + len(self.final), len(self.transitions)
        size = f"{states} state{'s' * (states != 1)}, {rules} rule{'s' * (rules != 1)}"
        return f"<{type(self).__name__} {self.name!r}: {size}>"

    def _fill_in(self) -> None:
        """Make tuples of what may be lists, and set the fields that follow from the others: the alphabet, the rules by state,
        and the states if not declared."""
        alphabet = Alphabet(self.events, self.exclusive)
        final = names_of("final", self.final)
        rules = tuple(self.transitions)
        states = names_of("states", self.states) or states_of(self.start, final, rules)
        leaving: dict[str, list[R_co]] = {state: [] for state in (*states, *final)}
        for rule in rules:
            leaving.setdefault(rule.source, []).append(rule)
        fields = {
            "alphabet": alphabet,
            "events": alphabet.events,
            "exclusive": alphabet.exclusive,
            "final": final,
            "transitions": rules,
            "states": states,
            "_from": {state: tuple(several) for state, several in leaving.items()},
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def rules_from(self, state: str) -> tuple[R_co, ...]:
        """The rules that leave a state, in the order they were written."""
        return self._from[state]

    def check_state(self, state: str) -> None:
        """Raise unless a label can be read in this state."""
        if state in self.final:
            raise MachineFinished(
                f"`{state}` is a final state of machine `{self.name}`", fix="begin a new episode"
            )
        if state not in self._from:
            fix = did_you_mean(state, self._from)
            raise UnknownConfiguration(f"`{state}` is not a state of `{self.name}`", fix=fix)

    def undefined_move(self, label: Label, configuration: object) -> UndefinedMove:
        """The error that no rule applies and `otherwise` is an error."""
        return UndefinedMove(
            f"machine `{self.name}` has no rule for label {label_text(label)} at {configuration}",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
        )

    def rule_text(self, rule: Rule) -> str:
        """A rule as it is written in a file of this machine."""
        return str(rule)


# --- Rules by state


def states_of(start: str, final: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """The states U when they are not declared: every source of a rule, the start first, final ones left out.

    A start that no rule leaves is taken for a misspelt name, unless there are no rules at all.
    """
    ended = set(final)
    sources = dict.fromkeys(rule.source for rule in rules)
    first = [start] if start in sources or not sources else []
    return tuple(state for state in dict.fromkeys([*first, *sources]) if state not in ended)


def labels_left(
    machine: Machine[Rule], sets: LabelSets, state: str, rules: Iterable[Rule]
) -> list[tuple[Otherwise, LabelSet]]:
    """`otherwise`, and the labels that fall to it if these rules apply; nothing if there are none, or in a final state."""
    left = sets.none if state in machine.final else sets.left(rule.guard for rule in rules)
    return [(machine.otherwise, left)] if left else []


# --- Names, header and rewards


def find_faults(machine: Machine[Rule]) -> Iterator[PdrmError]:
    """The faults of what every kind of machine has: names, states, guards, rewards, `otherwise`."""
    yield from find_bad_names("machine", (machine.name,))
    yield from find_bad_names("event", machine.events, RESERVED_EVENTS)
    yield from find_bad_names("state", (*machine.states, *machine.final), RESERVED)
    events = frozenset(machine.events)
    states = frozenset((*machine.states, *machine.final))
    for group in machine.exclusive:
        for event in group:
            if event not in events:
                yield _unknown_event(event, machine, None, "the `exclusive` line")
        yield from _find_twice("event", group, "stands twice on an `exclusive` line")
    if machine.start in machine.final:
        fault = f"the start state `{machine.start}` is final"
        yield FinalStateWithRules(fault, fix="use another state as the start", word=machine.start)
    elif machine.start not in states:
        yield _unknown_state(machine.start, machine, None, "the `start` line")
    otherwise = machine.otherwise
    has_target = otherwise.target is not None
    if otherwise.action not in ("stay", "go", "error") or (otherwise.action == "go") != has_target:
        fault = f"`otherwise {otherwise.action}` is not a rule"
        yield MissingHeader(fault, fix="use `stay R`, `go STATE R` or `error`")
    elif otherwise.target is not None and otherwise.target not in states:
        yield _unknown_state(otherwise.target, machine, otherwise.where, "the `otherwise` line")
    yield from _find_bad_reward(otherwise, "`otherwise`")
    yield from _find_rule_faults(machine, events, states)


def _find_rule_faults(
    machine: Machine[Rule], events: frozenset[str], states: frozenset[str]
) -> Iterator[PdrmError]:
    final = frozenset(machine.final)
    for rule in machine.transitions:
        place = f"rule {machine.rule_text(rule)}"
        if rule.source in final:
            yield FinalStateWithRules(
                f"`{rule.source}` is final, so no rule may leave it: {place}",
                where=rule.where,
                fix=f"remove the rule, or take `{rule.source}` off the `final` line",
                word=rule.source,
            )
        for state in (rule.source, rule.target):
            if state not in states:
                yield _unknown_state(state, machine, rule.where, place)
        for event in sorted(events_of(rule.guard) - events):
            yield _unknown_event(event, machine, rule.where, place)
        yield from _find_bad_reward(rule, place)


def find_bad_names(
    kind: str, names: Sequence[str], reserved: Iterable[str] = ()
) -> Iterator[PdrmError]:
    """Names that cannot be written in the language, are reserved, or are declared twice."""
    for name in names:
        if not NAME.fullmatch(name):
            fault = f"{kind} `{name[:40]}` cannot be a name"
            yield BadName(fault, fix="use letters, digits, `_` and the like", word=name)
        elif name in reserved:
            fault = (
                f"`{name}` is reserved and cannot name {'an' if kind == 'event' else 'a'} {kind}"
            )
            yield BadName(fault, fix="choose another name", word=name)
    yield from _find_twice(kind, names, "is declared twice")


def _find_twice(kind: str, names: Iterable[str], fault: str) -> Iterator[PdrmError]:
    for name, count in Counter(names).items():
        if count > 1:
            comment = " (a comment starts with `//`)" * (name == "#")
            yield DuplicateName(
                f"{kind} `{name[:40]}` {fault}", fix=f"remove one of them{comment}", word=name
            )


def _find_bad_reward(paying: Rule | Otherwise, place: str) -> Iterator[PdrmError]:
    if not math.isfinite(paying.reward):
        fault = f"the reward of {place} is {paying.reward}"
        yield BadReward(fault, where=paying.where, fix="use a finite number")


def _unknown_state(
    state: str, machine: Machine[Rule], where: Where | None, place: str
) -> PdrmError:
    hint = did_you_mean(state, (*machine.states, *machine.final))
    final = "list it on the `final` line" if machine.final else f"add a line `final {state}`"
    return UnknownState(
        f"`{state}` is not a state: no rule leaves it and it is not final ({place})",
        where=where,
        fix=f"{hint} (or {final}; a dead end: `states {' '.join(machine.states[:6])} {state}`)",
        word=state,
    )


def _unknown_event(
    event: str, machine: Machine[Rule], where: Where | None, place: str
) -> PdrmError:
    like = name_alike(event, machine.events)
    fix = f"add `{event}` to the `events` line"
    return UnknownEvent(
        f"`{event}` is not declared as an event ({place})",
        where=where,
        fix=f"did you mean `{like}`? (or {fix})" if like else fix,
        word=event,
    )


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """The wanted name, cut if it is too long for a name, and numbered if it is taken: `u0~2`."""
    stem = wanted if len(wanted) <= LONGEST_NAME else wanted[-80:].lstrip("-")
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}~{number}"
    return name


# --- Determinism: at most one rule for every state, label and top of stack (the paper's own condition is weaker)
#
# Two silent rules, or a silent and a reading one, clash wherever they meet, because a silent move does not wait for the label.

MOST_REPORTED = 5
"""Clashes listed."""

MOST_FOUND = 100
"""Clashes found before the check stops; of these, the first are listed."""


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
        found: dict[tuple[int, int], Clash[R]] = {}
        try:
            readings: list[Reading[R]] = []
            for number, rule in enumerate(rules):
                labels = sets.all if rule.silent else sets.holding(rule.guard)
                readings.append(Reading(rule, number, labels))
            for clash in meetings(readings):
                found.setdefault((clash.one.number, clash.other.number), clash)
                if len(found) == MOST_FOUND:
                    break
        except TooLarge as error:
            faults.append(TooManyCases(error.message, where=rule.where, fix=error.fix))
            continue
        clashes = [found[pair] for pair in sorted(found)]
        faults += _report(machine, clashes, fix, silent_fix)
        if len(faults) >= MOST_REPORTED:
            break
    return faults[:MOST_REPORTED]


def find_overlaps(readings: Sequence[Reading[R]]) -> Iterator[Clash[R]]:
    """The pairs among these rules that share a label: within each half, then between the halves."""
    if len(readings) < 2:
        return
    middle = len(readings) // 2
    some, others = readings[:middle], readings[middle:]
    yield from find_overlaps(some)
    yield from find_overlaps(others)
    every = readings[0].labels.sets.all
    met = join_labels(some) & join_labels(others) & every
    if not met:
        return
    facing = [other for other in others if other.labels & met]
    for one in some:
        for other in facing if one.labels & met else ():
            shared = one.labels & other.labels & every
            if shared:
                first, second = sorted((one, other), key=lambda reading: reading.number)
                yield Clash(first, second, shared)


def join_labels(readings: Sequence[Reading[R]]) -> LabelSet:
    """The labels of all these rules together."""
    sets = readings[0].labels.sets
    return LabelSet(sets, sets.store.join([reading.labels.node for reading in readings]))


def _report(
    machine: Machine[R], clashes: list[Clash[R]], fix: str, silent_fix: str
) -> Iterator[Nondeterministic]:
    """One error for each line that clashes with lines above it; for each pair of rules that were not read from a text."""
    blamed = set[object]()
    for clash in clashes:
        one, other = clash.one.rule, clash.other.rule
        line = (one if one.silent and not other.silent else other).where
        key: object = line or (clash.one.number, clash.other.number)
        if key in blamed:
            continue
        blamed.add(key)
        why, way_out = "at most one rule may apply", fix
        label = label_text(clash.labels.example())
        if one.silent and other.silent:
            label = "eps (both are silent)"
        if one.silent != other.silent:
            why, way_out = "a silent rule leaves no label to read there", silent_fix
        elif one.where is not None and one.where == other.where:
            way_out = "this line of a `for` says the same at every turn: use its variable, or move the line out"
        elif one == other:
            way_out = "remove one of the two"
        elif isinstance(one.guard, Event) and isinstance(other.guard, Event):
            way_out = _propose_exclusive(machine, clashes, one.guard, other.guard) or fix
        place = "" if one.where is None else f" ({one.where.path or f'line {one.where.line}'})"
        yield Nondeterministic(
            f"two rules apply in state `{one.source}` for label {label}{clash.place}: {why}"
            f"\n    {machine.rule_text(one)}{place}\n    {machine.rule_text(other)}",
            where=other.where or one.where,
            fix=way_out,
        )


def _propose_exclusive(
    machine: Machine[R], clashes: list[Clash[R]], one: Event, other: Event
) -> str:
    """The line that says that events never come together, if two clashing rules read one event each."""
    if one == other:
        return ""
    guards = (rule.guard for clash in clashes for rule in (clash.one.rule, clash.other.rule))
    read = {guard.name for guard in guards if isinstance(guard, Event)}
    line = f"exclusive {' '.join(event for event in machine.events if event in read)}"
    return f"if events never come together, say so: `{line}`; else let one rule read `{other} & !{one}`"
