"""Combining tasks: one machine that runs several at once, is final when a formula over them holds, and pays their sum.

`machines.side_by_side` finds out what the parts do together; here it gets names and rules, and what all tops of a state do alike is
one rule with `z`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pdrm.errors import BadSetting, UnknownMachine, WrongKind, did_you_mean
from pdrm.language.document import AnyMachine
from pdrm.language.source import Line
from pdrm.language.syntax import read_guard
from pdrm.language.task_text import ENDS, LOST
from pdrm.limits import reading
from pdrm.machines.checks.wellformed import NAME, RESERVED
from pdrm.machines.conversions import counting_to_pushdown, fresh_name
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import SILENT, And, Event, Exactly, Formula, Guard, Or, Silent, events_of
from pdrm.machines.labels import TRUE, formula_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.rewards import reward_of
from pdrm.machines.side_by_side import (
    ENDED,
    FAILED,
    JUDGE,
    Move,
    Part,
    Place,
    SideBySide,
    Symbol,
    exact,
)
from pdrm.machines.transitions import ANY, BOTTOM, Otherwise, Stack, Transition

SEVERAL = "put the machines in a list: pdrm.combine([machine, other])"
"""What to write in place of machines that are given one by one."""


def combine(
    parts: Mapping[str, AnyMachine] | Iterable[AnyMachine],
    when: str = "and",
    *,
    weights: Mapping[str, float] | None = None,
    accept: str = "first",
    name: str = "",
) -> PushdownRewardMachine:
    """One machine that runs several at once and pays the sum of what they pay.

    name: of the combination.
    parts: machines, by name; without names, their own are taken. A part that reaches a final state stops there: it is *finished*, and
    pays no more. when: the combination is final when this formula over the names of finished parts holds; `"and"`: all of them, `"or"`: one;
    `maze.home` says in which state a part is. `"a & !b"`: a is finished, and b is not. weights: what a part pays is multiplied by
    its weight, 1 unless given. accept: `"first"`: final as soon as the formula holds after a label; `"end"`: it is judged when the event
    `end` is read (the parts read that label too), so that `"!a"` can be said. Each part reads the events of a label that are its own.

    >>> import pdrm
    >>> once = pdrm.from_ltlf("F b", events=["a", "b"], reward=10, name="once")
    >>> both = combine([once, pdrm.from_regex('"a" "a"', name="twice")], weights={"twice": 0.5})
    >>> run = both.run([{"a"}, {"b"}, {"a"}])
    >>> run.accepted, run.reward
    (True, 10.5)
    """
    named = _name_parts(parts)
    formula = _read_when(when, named)
    if accept not in ENDS:
        raise BadSetting(f"`accept` is {accept!r}", fix='use "first" or "end"')
    given = dict(weights or {})
    for wrong in given.keys() - named.keys():
        raise BadSetting(
            f"`{wrong}` has a weight and is not a part", fix=did_you_mean(str(wrong), named)
        )
    finite = [
        Part(
            one,
            counting_to_pushdown(machine)
            if isinstance(machine, CountingRewardAutomaton)
            else machine,
            exact(reward_of(given.get(one, 1))),
        )
        for one, machine in named.items()
    ]
    with reading("<combination>"):
        return _Writing(SideBySide(finite, formula, accept)).build(
            name or fresh_name("-".join(named), ())
        )


def _name_parts(parts: Mapping[str, AnyMachine] | Iterable[AnyMachine]) -> dict[str, AnyMachine]:
    named: dict[str, AnyMachine] = {}
    if not isinstance(parts, Iterable):
        raise WrongKind(f"{str(parts)[:40]!r} is not several machines", fix=SEVERAL)
    pairs = (
        list(parts.items())
        if isinstance(parts, Mapping)
        else [(getattr(one, "name", ""), one) for one in parts]
    )
    for one, machine in pairs:
        if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
            raise BadSetting(
                f"{str(machine)[:40]!r} is not a machine",
                fix='pdrm.catalogue("letter"), pdrm.load("task.pdrm")',
            )
        free = fresh_name(str(one), named)
        if isinstance(parts, Mapping) and not NAME.fullmatch(free):
            raise BadSetting(f"`{free[:40]}` cannot name a part", fix="use a word")
        named[free] = machine
    if not named:
        raise BadSetting("nothing is combined", fix="give two machines or more")
    return named


def _read_when(when: str, parts: Mapping[str, AnyMachine]) -> Formula:
    """The formula, whose events are parts or `part.state`."""
    events = [Event(name) for name in parts]
    if when in ("and", "or"):
        return (
            events[0]
            if len(events) == 1
            else And(tuple(events))
            if when == "and"
            else Or(tuple(events))
        )
    if not isinstance(when, str):
        raise WrongKind(f"`when` is {str(when)[:40]!r}, but must be a formula", fix=SEVERAL)
    with reading("<when>"):
        guard = read_guard(line := Line("<when>", 1, when))
    if isinstance(guard, Silent | Exactly):
        fix = 'write for example "a & !b"'
        raise BadSetting("`when` is a formula over the parts", where=line.at(1, len(when)), fix=fix)
    known = {
        *parts,
        *(
            f"{name}.{state}"
            for name, machine in parts.items()
            for state in (*machine.states, *machine.final)
        ),
    }
    for event in sorted(events_of(guard) - known):
        found = re.search(rf"(?<![\w.-]){re.escape(event)}(?![\w.-])", when)
        where = line.at((0 if found is None else found.start()) + 1, len(event))
        raise UnknownMachine(
            f"`{event}` is not a part", where=where, fix=did_you_mean(event, [*parts, *known])
        )
    return guard


# --- Writing the machine


class _Rule(NamedTuple):
    """A rule before it is one of a machine with a stack, or without."""

    source: str
    target: str
    guard: Guard
    top: str
    push: Stack
    reward: float

    @property
    def stays(self) -> bool:
        """Whether it changes nothing."""
        return self.source == self.target and self.push == (self.top,) and self.guard is not SILENT


class _Writing:
    """Names for states and symbols, and rules for moves."""

    def __init__(self, together: SideBySide) -> None:
        self.together, self.store = together, together.store
        self.tops: dict[Place, list[Symbol | None]] = {}
        for place, top in together.moves:
            self.tops.setdefault(place, []).append(top)
        self.names = self._name_states()
        self.empties = any(
            top is None and moves for (_, top), moves in together.moves.items()
        ) and bool(together.stacked)
        """Whether a label may be read with nothing on the stack: then a symbol below the bottom shows it."""
        self.symbols = self._name_symbols()
        self.below = fresh_name("_", set(self.symbols.values()))
        self.impossible = self.store.invert(together.possible)

    def _name_states(self) -> dict[Place, str]:
        names: dict[Place, str] = {}
        ending = {JUDGE: ".judged", FAILED: f".{LOST}"}
        for place in sorted(self.tops, key=lambda place: place.phase == JUDGE):
            wanted = ".".join(place.states) + ending.get(place.phase, "")
            names[place] = fresh_name(wanted, set(names.values()))
        return names

    def _name_symbols(self) -> dict[Symbol, str]:
        """The symbols that occur, the bottom first, then as the parts list them."""
        occurring = {top for tops in self.tops.values() for top in tops if top is not None}
        occurring |= {
            symbol
            for moves in self.together.moves.values()
            for move in moves
            for symbol in move.push
        }
        listed = [self.together.parts[number].stack for number in self.together.stacked]
        order = [{symbol: number for number, symbol in enumerate(stack)} for stack in listed]
        names: dict[Symbol, str] = {}
        for symbol in sorted(
            occurring, key=lambda one: [at.get(own, -1) for at, own in zip(order, one, strict=True)]
        ):
            names[symbol] = fresh_name(".".join(symbol), {ANY, *RESERVED, *names.values()})
        bottom = tuple(stack[0] for stack in listed)
        return {one: names[one] for one in sorted(names, key=lambda one: one != bottom)}

    def build(self, name: str) -> PushdownRewardMachine:
        together = self.together
        otherwise, rules = self._choose_otherwise(
            [rule for place in self.tops for rule in self._rules(place)]
        )
        final = tuple(name for place, name in self.names.items() if place.phase == ENDED)
        states = tuple(name for place, name in self.names.items() if place.phase != ENDED)
        start, events, groups = (
            self.names[together.start],
            together.alphabet.events,
            together.alphabet.exclusive,
        )
        name = name if NAME.fullmatch(name) else "combination"
        if not together.stacked:
            plain = tuple(
                Transition.plain(rule.source, rule.target, rule.guard, rule.reward)
                for rule in rules
            )
            return PushdownRewardMachine(
                name, events, (BOTTOM,), start, final, otherwise, plain, groups, states
            )
        stack = tuple(self.symbols.values())
        if self.empties:
            begin = fresh_name("begin", states + final)
            rules.insert(0, _Rule(begin, start, SILENT, self.below, (stack[0], self.below), 0.0))
            start, states, stack = begin, (begin, *states), (self.below, *stack)
        written = tuple(Transition(*rule) for rule in rules)
        return PushdownRewardMachine(
            name, events, stack, start, final, otherwise, written, groups, states
        )

    def _rules(self, place: Place) -> list[_Rule]:
        """The rules of one state; one with `z` for what is done at every top that occurs there."""
        there = self.tops[place]
        alike: dict[tuple[int | None, str, Stack, float], list[str]] = {}
        for top in there:
            shown = self.below if top is None else self.symbols[top]
            for move in self.together.moves[place, top]:
                pushed = self._pushed(move, top)
                push = (*pushed[:-1], ANY) if pushed[-1:] == (shown,) else pushed
                key = move.guard, self.names[move.target], push, reward_of(move.reward)
                alike.setdefault(key, []).append(shown)
        rules: list[_Rule] = []
        for (guard, target, push, reward), tops in alike.items():
            for looked in [ANY] if len(tops) == len(there) > 1 else tops:
                own = tuple(looked if symbol == ANY else symbol for symbol in push)
                rules.append(
                    _Rule(self.names[place], target, self._guard(guard), looked, own, reward)
                )
        return rules

    def _pushed(self, move: Move, top: Symbol | None) -> Stack:
        own = tuple(self.symbols[symbol] for symbol in move.push)
        return (*own, self.below) if top is None else own

    def _guard(self, node: int | None) -> Guard:
        if node is None:
            return SILENT
        most = self.store.choose(self.impossible, TRUE, node)
        return formula_of(self.store.cover(node, most), self.together.alphabet)

    def _choose_otherwise(self, rules: list[_Rule]) -> tuple[Otherwise, list[_Rule]]:
        """What happens where no rule applies, and the rules that are then needed: the commonest way to stay is left out."""
        if any(part.machine.otherwise.action == "error" for part in self.together.parts):
            return Otherwise.error(), rules
        staying = Counter(rule.reward for rule in rules if rule.stays)
        reward = staying.most_common(1)[0][0] if staying else 0.0
        return Otherwise.stay(reward), [
            rule for rule in rules if not rule.stays or rule.reward != reward
        ]
