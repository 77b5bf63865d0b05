"""Well-formed machines: every name a rule uses is declared, once, and can be a name; the header is complete.

The faults of the parts that all machines share (states, events, `otherwise`) are found here for the three kinds alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from pdrm.errors import (
    BadName,
    BadReward,
    DuplicateName,
    FinalStateWithRules,
    MissingHeader,
    NoBottom,
    PdrmError,
    UnknownEvent,
    UnknownState,
    UnknownSymbol,
    Where,
    did_you_mean,
)
from pdrm.machines.guard import Guard, events_of
from pdrm.machines.transition import ANY, NONE, Otherwise, Transition

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine

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


def faults(machine: PushdownRewardMachine) -> Iterator[PdrmError]:
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


def _symbol_faults(machine: PushdownRewardMachine, rule: Transition) -> Iterator[PdrmError]:
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
