"""Checks of a machine when it is built, as far as the three kinds of machine share them.

Every name a rule uses is declared, once, and can be a name; the header is complete; and at most one rule applies to a label.
The kinds differ in where two rules meet: at a top of stack, at a zero pattern, or anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Generic, TypeVar

from pdrm.errors import (
    BadName,
    BadReward,
    DuplicateName,
    FinalStateWithRules,
    MachineFinished,
    MissingHeader,
    Nondeterministic,
    PdrmError,
    TooManyCases,
    UndefinedMove,
    UnknownConfiguration,
    UnknownEvent,
    UnknownState,
    Where,
    did_you_mean,
)
from pdrm.machines.alphabet import Alphabet, Cube
from pdrm.machines.configurations import HasState
from pdrm.machines.guards import Label, events_of, label_text
from pdrm.machines.transitions import NONE, Otherwise, Rule

NAME = re.compile(r"(?!-)[^\s\x00-\x1f\x7f{}()\[\],:/&|!<>=+\"'\\]{1,100}")
RESERVED_EVENTS = (NONE, "true", "false")


R = TypeVar("R", bound=Rule)
R_co = TypeVar("R_co", bound=Rule, covariant=True)


class Machine(Generic[R_co]):
    """What all three kinds of machine have."""

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

    def _fill_in(self) -> None:
        """Set the fields that follow from the others: the alphabet, the rules by state, and the states if not declared."""
        object.__setattr__(self, "alphabet", Alphabet(self.events, self.exclusive))
        if not self.states:
            object.__setattr__(self, "states", states_of(self.start, self.final, self.transitions))
        leaving: dict[str, list[R_co]] = {state: [] for state in (*self.states, *self.final)}
        for rule in self.transitions:
            leaving.setdefault(rule.source, []).append(rule)
        object.__setattr__(self, "_from", {state: tuple(rules) for state, rules in leaving.items()})

    def rules_from(self, state: str) -> tuple[R_co, ...]:
        """The rules that leave a state, in the order they were written."""
        return self._from[state]

    def check_state(self, state: str) -> None:
        """Raise unless a label can be read in this state."""
        if state in self.final:
            raise MachineFinished(f"`{state}` is a final state of machine `{self.name}`", fix="begin a new episode")
        if state not in self._from:
            fix = did_you_mean(state, self._from)
            raise UnknownConfiguration(f"`{state}` is not a state of `{self.name}`", fix=fix)

    def otherwise_leads_to(self, label: Label, configuration: HasState) -> str:
        """The state that `otherwise` leads to, or `UndefinedMove` where it says `error`."""
        if self.otherwise.action == "error":
            raise UndefinedMove(
                f"machine `{self.name}` has no rule for label {label_text(label)} at {configuration}",
                fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
            )
        return configuration.state if self.otherwise.target is None else self.otherwise.target


# --- Rules by state


def states_of(start: str, final: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """The states U when they are not declared: every source of a rule, the start first, final ones left out.

    A start that no rule leaves is taken for a misspelt name, unless there are no rules at all.
    """
    ended = set(final)
    sources = dict.fromkeys(rule.source for rule in rules)
    first = [start] if start in sources or not sources else []
    return tuple(state for state in dict.fromkeys([*first, *sources]) if state not in ended)


def labels_left(machine: Machine[Rule], state: str, rules: Sequence[Rule]) -> list[Cube]:
    """The labels that fall to `otherwise` where these rules apply: none in a final state or next to a silent rule."""
    if state in machine.final or any(rule.silent for rule in rules):
        return []
    return machine.alphabet.complement(rule.guard for rule in rules)


# --- Names, header and rewards


def find_faults(machine: Machine[Rule]) -> Iterator[PdrmError]:
    """The faults of what every kind of machine has: names, states, guards, rewards, `otherwise`."""
    yield from find_bad_names("machine", (machine.name,))
    yield from find_bad_names("event", machine.events, RESERVED_EVENTS)
    yield from find_bad_names("state", (*machine.states, *machine.final))
    for group in machine.exclusive:
        for event in group:
            if event not in machine.events:
                yield _unknown_event(event, machine, None, "the `exclusive` line")
    if machine.start in machine.final:
        fault = f"the start state `{machine.start}` is final"
        yield FinalStateWithRules(fault, fix="use another state as the start", word=machine.start)
    elif machine.start not in machine.states:
        yield _unknown_state(machine.start, machine, None, "the `start` line")
    yield from _otherwise_faults(machine)
    for rule in machine.transitions:
        yield from _rule_faults(machine, rule)


def find_bad_names(kind: str, names: Sequence[str], reserved: Iterable[str] = ()) -> Iterator[PdrmError]:
    """Names that cannot be written in the language, are reserved, or are declared twice."""
    for name in names:
        if not NAME.fullmatch(name):
            fault = f"{kind} `{name[:40]}` cannot be a name"
            yield BadName(fault, fix="use letters, digits, `_` and the like", word=name)
        elif name in reserved:
            fault = f"`{name}` is reserved and cannot name {'an' if kind == 'event' else 'a'} {kind}"
            yield BadName(fault, fix="choose another name", word=name)
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield DuplicateName(f"{kind} `{name}` is declared twice", fix="remove one of them", word=name)


def _otherwise_faults(machine: Machine[Rule]) -> Iterator[PdrmError]:
    otherwise = machine.otherwise
    if otherwise.action not in ("stay", "go", "error") or (otherwise.action == "go") != (otherwise.target is not None):
        fault = f"`otherwise {otherwise.action}` is not a rule"
        yield MissingHeader(fault, fix="use `stay R`, `go STATE R` or `error`")
    elif otherwise.target is not None and otherwise.target not in (*machine.states, *machine.final):
        yield _unknown_state(otherwise.target, machine, otherwise.where, "the `otherwise` line")
    if not math.isfinite(otherwise.reward):
        fault = f"the reward of `otherwise` is {otherwise.reward}"
        yield BadReward(fault, where=otherwise.where, fix="use a finite number")


def _rule_faults(machine: Machine[Rule], rule: Rule) -> Iterator[PdrmError]:
    if rule.source in machine.final:
        yield FinalStateWithRules(
            f"`{rule.source}` is final, so no rule may leave it: {rule}",
            where=rule.where,
            fix=f"remove the rule, or take `{rule.source}` off the `final` line",
            word=rule.source,
        )
    elif rule.source not in machine.states:
        yield _unknown_state(rule.source, machine, rule.where, f"rule {rule}")
    if rule.target not in (*machine.states, *machine.final):
        yield _unknown_state(rule.target, machine, rule.where, f"rule {rule}")
    for event in sorted(events_of(rule.guard).difference(machine.events)):
        yield _unknown_event(event, machine, rule.where, f"rule {rule}")
    if not math.isfinite(rule.reward):
        yield BadReward(f"the reward of rule {rule} is {rule.reward}", where=rule.where, fix="use a finite number")


def _unknown_state(state: str, machine: Machine[Rule], where: Where | None, place: str) -> PdrmError:
    hint = did_you_mean(state, (*machine.states, *machine.final))
    return UnknownState(
        f"`{state}` is not a state: no rule leaves it and it is not final ({place})",
        where=where,
        fix=f"{hint} (or list it on the `final` line; a dead end: `states {' '.join(machine.states[:6])} {state}`)",
        word=state,
    )


def _unknown_event(event: str, machine: Machine[Rule], where: Where | None, place: str) -> PdrmError:
    fix = did_you_mean(event, machine.events) or "add an `events` line that lists all of them"
    return UnknownEvent(f"`{event}` is not declared as an event ({place})", where=where, fix=fix, word=event)


# --- Determinism: at most one rule for every state and label (the paper's own condition is weaker)
#
# Two silent rules, or a silent and a reading one, clash wherever they meet, because a silent move does not wait for the label.

MOST_REPORTED = 5
"""Clashes listed before the check stops."""


def find_clashes(
    machine: Machine[R], place: Callable[[R, R], str | None], fix: str, silent_fix: str
) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once; `place` says where besides the label two rules of one state meet (None: nowhere)."""

    def clashes() -> Iterator[Nondeterministic | TooManyCases]:
        for state in machine.states:
            cubes: list[tuple[R, list[Cube]]] = []
            for rule in machine.rules_from(state):
                try:
                    cubes.append((rule, machine.alphabet.cubes(rule.guard)))
                except TooManyCases as error:
                    yield TooManyCases(error.message, where=rule.where, fix=error.fix)
            for (one, cubes_one), (other, cubes_other) in combinations(cubes, 2):
                there = place(one, other)
                label = None if there is None else _common_label(machine.alphabet, one, cubes_one, other, cubes_other)
                if label is not None:
                    yield _clash(one, other, f"label {label}{there}", silent_fix if one.silent != other.silent else fix)

    return list(islice(clashes(), MOST_REPORTED))


def _common_label(
    alphabet: Alphabet, one: Rule, cubes_one: list[Cube], other: Rule, cubes_other: list[Cube]
) -> str | None:
    """A label both rules would read, as text; any label will do next to a silent rule."""
    if one.silent and other.silent:
        return "eps (both are silent)"
    if one.silent or other.silent:
        reading = cubes_other if one.silent else cubes_one
        return label_text(alphabet.smallest(reading[0])) if reading else None
    met = (alphabet.meet(first, second) for first in cubes_one for second in cubes_other)
    return next((label_text(alphabet.smallest(both)) for both in met if both is not None), None)


def _clash(one: Rule, other: Rule, case: str, fix: str) -> Nondeterministic:
    place = one.where and (one.where.path or f"line {one.where.line}")
    silent = one.silent != other.silent
    why = "a silent rule leaves no label to read there" if silent else "at most one rule may apply"
    return Nondeterministic(
        f"two rules apply in state `{one.source}` for {case}: {why}\n    {one}{f' ({place})' if place else ''}\n    {other}",
        where=other.where or one.where,
        fix=fix,
    )
