"""Checks of a machine when it is built: names declared once and spelt right, and at most one rule that applies.

The parts that all machines share (states, events, `otherwise`) are checked here for the three kinds alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Protocol, TypeVar

from pdrm.errors import (
    BadName,
    BadReward,
    DuplicateName,
    FinalStateWithRules,
    MissingHeader,
    NoBottom,
    Nondeterministic,
    PdrmError,
    TooManyCases,
    UnknownEvent,
    UnknownState,
    UnknownSymbol,
    Where,
    did_you_mean,
)
from pdrm.machines.alphabet import Alphabet, Cube
from pdrm.machines.configurations import Step
from pdrm.machines.guards import Guard, Label, Silent, events_of, label_text
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition

# --- Well-formed machines: every name a rule uses is declared, once, and can be a name; the header is complete.
#
# The faults of the parts that all machines share (states, events, `otherwise`) are found here for the three kinds alike.

NAME = re.compile(r"(?!-)[^\s\x00-\x1f\x7f{}()\[\],:/&|!<>=+\"'\\]{1,100}")
RESERVED_SYMBOLS = (ANY, NONE)
RESERVED_EVENTS = (NONE, "true", "false")


class Rule(Protocol):
    """What the rules of all three kinds of machine have."""

    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def guard(self) -> Guard: ...
    @property
    def reward(self) -> float: ...
    @property
    def where(self) -> Where | None: ...


class Machine(Protocol):
    """What all three kinds of machine have."""

    @property
    def name(self) -> str: ...
    @property
    def events(self) -> tuple[str, ...]: ...
    @property
    def exclusive(self) -> tuple[tuple[str, ...], ...]: ...
    @property
    def states(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> str: ...
    @property
    def final(self) -> tuple[str, ...]: ...
    @property
    def otherwise(self) -> Otherwise: ...
    @property
    def transitions(self) -> Sequence[Rule]: ...


class PushdownSystem(Machine, Protocol):
    """What the checks and the analysis need of a pushdown machine; `PushdownRewardMachine` is the one that has it."""

    @property
    def alphabet(self) -> Alphabet: ...
    @property
    def stack(self) -> tuple[str, ...]: ...
    @property
    def transitions(self) -> tuple[Transition, ...]: ...
    def rules_from(self, state: str) -> tuple[Transition, ...]: ...
    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None: ...
    def begin(self) -> Step: ...


def faults(machine: PushdownSystem) -> Iterator[PdrmError]:
    """Every fault of a pushdown reward machine's names."""
    yield from shared_faults(machine)
    if not machine.stack:
        yield NoBottom("the stack has no symbols, so no bottom symbol", fix="list them, the bottom first: `stack # A`")
    yield from bad_names("stack symbol", machine.stack, RESERVED_SYMBOLS)
    for rule in machine.transitions:
        yield from _symbol_faults(machine, rule)


def shared_faults(machine: Machine) -> Iterator[PdrmError]:
    """The faults of what every kind of machine has: names, states, guards, rewards, `otherwise`."""
    yield from bad_names("machine", (machine.name,))
    yield from bad_names("event", machine.events, RESERVED_EVENTS)
    yield from bad_names("state", (*machine.states, *machine.final))
    for group in machine.exclusive:
        for event in group:
            if event not in machine.events:
                yield _unknown_event(event, machine, None, "the `exclusive` line")
    if machine.start in machine.final:
        yield FinalStateWithRules(
            f"the start state `{machine.start}` is final", fix="use another state as the start", word=machine.start
        )
    elif machine.start not in machine.states:
        yield _unknown_state(machine.start, machine, None, "the `start` line")
    yield from _otherwise_faults(machine)
    for rule in machine.transitions:
        yield from _rule_faults(machine, rule)


def bad_names(kind: str, names: Sequence[str], reserved: Iterable[str] = ()) -> Iterator[PdrmError]:
    """Names that cannot be written in the language, are reserved, or stand twice."""
    for name in names:
        if not NAME.fullmatch(name):
            yield BadName(
                f"{kind} `{name[:40]}` cannot be a name", fix="use letters, digits, `_` and the like", word=name
            )
        elif name in reserved:
            article = "an" if kind == "event" else "a"
            yield BadName(
                f"`{name}` is reserved and cannot name {article} {kind}", fix="choose another name", word=name
            )
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield DuplicateName(f"{kind} `{name}` is declared twice", fix="remove one of them", word=name)


def _otherwise_faults(machine: Machine) -> Iterator[PdrmError]:
    otherwise = machine.otherwise
    if otherwise.action not in ("stay", "go", "error") or (otherwise.action == "go") != (otherwise.target is not None):
        yield MissingHeader(f"`otherwise {otherwise.action}` is no rule", fix="use `stay R`, `go STATE R` or `error`")
    elif otherwise.target is not None and otherwise.target not in (*machine.states, *machine.final):
        yield _unknown_state(otherwise.target, machine, otherwise.where, "the `otherwise` line")
    if not math.isfinite(otherwise.reward):
        yield BadReward(
            f"the reward of `otherwise` is {otherwise.reward}", where=otherwise.where, fix="use a finite number"
        )


def _rule_faults(machine: Machine, rule: Rule) -> Iterator[PdrmError]:
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


def _symbol_faults(machine: PushdownSystem, rule: Transition) -> Iterator[PdrmError]:
    known = machine.stack
    if rule.top not in (ANY, NONE, *known):
        fix = did_you_mean(rule.top, known)
        yield UnknownSymbol(f"`{rule.top}` is no stack symbol: rule {rule}", where=rule.where, fix=fix, word=rule.top)
    for symbol in dict.fromkeys(rule.push):
        if symbol == ANY and rule.top != ANY:
            yield UnknownSymbol(
                f"`z` is pushed, but the rule does not look at `z`: rule {rule}",
                where=rule.where,
                fix=f"write `{rule.top}` itself" if rule.top != NONE else "look at `z` instead of `eps`",
                word=symbol,
            )
        elif symbol not in (ANY, *known):
            fix = did_you_mean(symbol, known)
            yield UnknownSymbol(f"`{symbol}` is no stack symbol: rule {rule}", where=rule.where, fix=fix, word=symbol)


def _unknown_state(state: str, machine: Machine, where: Where | None, place: str) -> PdrmError:
    hint = did_you_mean(state, (*machine.states, *machine.final))
    return UnknownState(
        f"`{state}` is no state: no rule leaves it and it is not final ({place})",
        where=where,
        fix=f"{hint} (or list it on the `final` line; a dead end: `states {' '.join(machine.states[:6])} {state}`)",
        word=state,
    )


def _unknown_event(event: str, machine: Machine, where: Where | None, place: str) -> PdrmError:
    fix = did_you_mean(event, machine.events) or "add an `events` line that lists all of them"
    return UnknownEvent(f"`{event}` is not declared as an event ({place})", where=where, fix=fix, word=event)


# --- Determinism: at most one rule for every state, label and top of stack (the paper's own condition is weaker).
#
# The one precedence is that a rule naming the top symbol beats a rule with `z`. Two silent rules, or a silent and a reading
# one, clash wherever both look at the same top, since a silent move does not wait for the label. The search for a clash is
# the same for the three kinds of machine: they differ in where two rules meet (a top, a zero pattern, or anywhere).

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


def clashes(machine: PushdownSystem) -> list[Nondeterministic | TooManyCases]:
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
    place = one.where and (one.where.path or f"line {one.where.line}")
    silent = _silent(one) != _silent(other)
    why = "a silent rule leaves no label to read there" if silent else "at most one rule may apply"
    return Nondeterministic(
        f"two rules apply in state `{one.source}` for {case}: {why}\n    {one}{f' ({place})' if place else ''}\n    {other}",
        where=other.where or one.where,
        fix=fix,
    )


# --- What the three kinds of machine do alike with their rules: list the states that rules leave, and sort rules by source.


def states_of(start: str, final: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """The states U when they are not declared: every source of a rule, the start first, final ones left out.

    A start that no rule leaves is taken for a misspelt name, unless there are no rules at all.
    """
    ended = set(final)
    sources = dict.fromkeys(rule.source for rule in rules)
    first = [start] if start in sources or not sources else []
    return tuple(state for state in dict.fromkeys([*first, *sources]) if state not in ended)


def by_source(states: Iterable[str], rules: Iterable[R]) -> dict[str, tuple[R, ...]]:
    """The rules that leave each state, in the order they were written."""
    leaving: dict[str, list[R]] = {state: [] for state in states}
    for rule in rules:
        leaving.setdefault(rule.source, []).append(rule)
    return {state: tuple(found) for state, found in leaving.items()}
