"""Combining tasks: one machine that runs several at once, and is final when a formula over them holds.

The product's state holds the states of the parts. Parts that leave their stack alone may be any number.
Several other stacks become one whose symbols are tuples. That works only if the parts always replace
their tops by equally many symbols, as visibly pushdown automata over the same calls and returns do
(Alur and Madhusudan 2004); it is asked of the heads that some word reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

from pdrm.errors import (
    BadSetting,
    CannotCombine,
    UnknownMachine,
    WrongKind,
    did_you_mean,
)
from pdrm.language.document import AnyMachine
from pdrm.language.draft import Draft, DraftMove, Head, reach
from pdrm.language.reader import read_guard
from pdrm.language.source import Line
from pdrm.language.task_text import END, ENDS, LOST, add_rewards
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import (
    ALWAYS,
    NAME,
    Exactly,
    Formula,
    Guard,
    events_of,
    label_text,
    spell_out,
)
from pdrm.machines.labels import FALSE, TRUE, Alphabet, LabelSet, LabelSets
from pdrm.machines.machine import fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, Otherwise, RuleOrOtherwise, Stack, reward_of


def combine(
    parts: Mapping[str, AnyMachine] | Iterable[AnyMachine],
    when: str = "and",
    *,
    weights: Mapping[str, float] | None = None,
    accept: str = "first",
    name: str = "",
) -> PushdownRewardMachine:
    """Make one machine that runs several at once and pays the sum of what they pay.

    Args:
        parts: Machines, by name (default: their own names). A part that reaches a final state
            stops there: it is *finished*, and pays no more.
        when: The combination is final when this formula over the names of finished parts holds:
            `"a & !b"` means that a is finished and b is not; `maze.home` that a part is in a state.
            `"and"` means all of them, `"or"` one.
        weights: What a part pays is multiplied by its weight (default: 1).
        accept: `"first"`: final as soon as the formula holds after a label. `"end"`: it is judged
            when the event `end` is read (the parts read that label too), so that `"!a"` can be said.
        name: The name of the combination.

    Each part reads the events of a label that are its own.

    Example:
        >>> import pdrm
        >>> once = pdrm.from_ltlf("F b", events=["a", "b"], reward=10, name="once")
        >>> both = combine([once, pdrm.from_regex('"a" "a"', name="twice")], weights={"twice": 0.5})
        >>> run = both.run([{"a"}, {"b"}, {"a"}])
        >>> run.accepted, run.reward
        (True, 10.5)
    """
    if not isinstance(parts, Iterable) or not isinstance(when, str):
        raise WrongKind(
            "several machines and a formula over them are needed",
            fix="put the machines in a list: pdrm.combine([machine, other])",
        )
    named = _name_parts(parts)
    formula = _read_when(when, named)
    if accept not in ENDS:
        raise BadSetting(f"`accept` is {accept!r}", fix='use "first" or "end"')
    given = dict(weights or {})
    for wrong in given.keys() - named.keys():
        raise BadSetting(
            f"`{wrong}` has a weight and is not a part", fix=did_you_mean(str(wrong), named)
        )
    taking_part = []
    for one, machine in named.items():
        if isinstance(machine, CountingRewardAutomaton):
            machine = counting_to_pushdown(machine)
        taking_part.append(Part(one, machine, reward_of(given.get(one, 1))))
    draft = Product(taking_part, formula, accept).draft()
    return draft.write(name or fresh_name("-".join(named), ()))


def _name_parts(parts: Mapping[str, AnyMachine] | Iterable[AnyMachine]) -> dict[str, AnyMachine]:
    named: dict[str, AnyMachine] = {}
    pairs = parts.items() if isinstance(parts, Mapping) else [(None, one) for one in parts]
    for called, machine in pairs:
        if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
            fix = 'pdrm.catalogue("letter"), pdrm.load("task.pdrm")'
            raise BadSetting(f"{str(machine)[:40]!r} is not a machine", fix=fix)
        free = fresh_name(machine.name if called is None else str(called), named)
        if not NAME.fullmatch(free):
            raise BadSetting(f"`{free[:40]}` cannot name a part", fix="use a word")
        named[free] = machine
    if not named:
        raise BadSetting("nothing is combined", fix="give two machines or more")
    return named


def _read_when(when: str, parts: Mapping[str, AnyMachine]) -> Formula:
    """The formula, whose events are parts or `part.state`."""
    if when in ("and", "or"):
        when = (" & " if when == "and" else " | ").join(parts)
    line = Line("<when>", 1, when)
    guard = read_guard(line)
    if not isinstance(guard, Formula):
        fix = 'write for example "a & !b"'
        raise BadSetting("`when` is a formula over the parts", where=line.at(1, len(when)), fix=fix)
    known = list(parts)
    for name, machine in parts.items():
        known += [f"{name}.{state}" for state in (*machine.states, *machine.final)]
    for event in sorted(events_of(guard) - set(known)):
        where = line.at(when.index(event) + 1, len(event))
        fix = did_you_mean(event, known)
        raise UnknownMachine(f"`{event}` is not a part", where=where, fix=fix)
    return guard


# --- One part


@dataclass(frozen=True, slots=True)
class Part:
    """A machine that takes part."""

    name: str
    machine: PushdownRewardMachine
    weight: float

    def rules(self, state: str, top: str | None) -> Iterator[tuple[Guard, RuleOrOtherwise]]:
        """Guards in the order in which they are tried, and what acts; other labels are errors."""
        rules = self.machine.rules_from[state]
        for rule in sorted(rules, key=lambda rule: rule.top == ANY):  # one that names the top first
            if not rule.silent and rule.looks_at(top):
                yield rule.guard, rule
        otherwise = STAY if state in self.machine.final else self.machine.otherwise
        if otherwise.action != "error":
            yield ALWAYS, otherwise

    def push(self, state: str, top: str | None, acting: RuleOrOtherwise) -> Stack | None:
        """The symbols that replace the top; None if the part has no stack, or is finished."""
        if self.machine.is_reward_machine or state in self.machine.final:
            return None
        return acting.replacement(top)


# --- All parts together

STAY = Otherwise.stay(0)
RUN, JUDGE, ENDED, FAILED = "", "judged", "ended", LOST
"""Phases: reading labels, silent moves before it is judged, final, or judged and not final."""
FILLER = "_"
"""Stands in a symbol for a part that has no stack, or is finished."""
Symbol = tuple[str | None, ...]
"""The symbols of all parts; None below their bottoms."""


class Place(NamedTuple):
    """A state of the combination."""

    states: tuple[str, ...]
    phase: str


class Product:
    """The moves of all parts at the heads that words reach."""

    def __init__(self, parts: list[Part], when: Formula, accept: str) -> None:
        self.parts = parts
        self.when = when
        self.accept = accept
        own = dict.fromkeys(event for part in parts for event in part.machine.events)
        events = tuple(own | dict.fromkeys([END] if accept == "end" else []))
        groups = dict.fromkeys(group for part in parts for group in part.machine.exclusive)
        self.sets = LabelSets(Alphabet(events, tuple(groups)))
        self.end = self.sets.variable(events.index(END)) if accept == "end" else FALSE
        self.start = Place(tuple(part.machine.start for part in parts), RUN)
        machines = [part.machine for part in parts]
        self.bottom: Symbol = tuple(
            FILLER if machine.is_reward_machine else machine.stack[0] for machine in machines
        )
        self.empty: Symbol = (None,) * len(parts)
        """Lies below all other symbols."""
        if accept == "first" and self._holds(self.start):
            fault = (
                "`when` holds before anything has been read: the combination would be final at once"
            )
            fix = 'say what must be finished, "a & !b", or judge at the end: accept="end"'
            raise BadSetting(fault, fix=fix)

    def draft(self) -> Draft:
        """The machine: the moves at every head that some word reaches."""
        begin: Head = Place(("begin",), RUN), self.empty
        first = DraftMove(None, self.start, (self.bottom, self.empty), 0.0)
        moves = reach(lambda head: [first] if head == begin else self._moves(head), begin)
        falls = any(
            found for head, found in moves.items() if head != begin and head[1] == self.empty
        )
        final = tuple(dict.fromkeys(place for place, _ in moves if place.phase == ENDED))
        start = begin
        if not falls:
            start = self.start, self.bottom
            moves = {head: found for head, found in moves.items() if head[1] != self.empty}
        strict = any(part.machine.otherwise.action == "error" for part in self.parts)
        return Draft(
            self.sets,
            start,
            moves,
            final,
            Otherwise.error() if strict else None,
            lambda place: ".".join([*place.states, *{place.phase} - {RUN, ENDED}]),
            self._name_symbol,
        )

    def _name_symbol(self, symbol: Symbol) -> str:
        stacked = [not part.machine.is_reward_machine for part in self.parts]
        return ".".join(filter(None, compress(symbol, stacked))) or FILLER

    def _holds(self, place: Place) -> bool:
        """Return True if the formula holds for the states of the parts."""
        told = []
        for part, state in zip(self.parts, place.states, strict=True):
            told.append(f"{part.name}.{state}")
            if state in part.machine.final:
                told.append(part.name)
        return self.when.holds(frozenset(told))

    def _evaluate_when(self, place: Place) -> Place:
        """Judge a state in which no silent move can follow."""
        if place.phase == JUDGE or self.accept == "first":
            if self._holds(place):
                return Place(place.states, ENDED)
            if place.phase == JUDGE:
                return Place(place.states, FAILED)
        return place

    def _moves(self, head: Head) -> list[DraftMove]:
        """The moves at a head."""
        place, top = head
        if place.phase == ENDED:
            return []
        if place.phase == FAILED:
            return [DraftMove(self.sets.all.node, place, (top,), 0.0)]
        silent = [
            part.machine.rule(state, None, own)
            for part, state, own in zip(self.parts, place.states, top, strict=True)
        ]
        if any(silent):
            return [self._join(head, [rule or STAY for rule in silent], place.phase, None)]
        settled = self._evaluate_when(place)
        if settled != place:
            return [DraftMove(None, settled, (top,), 0.0)]
        found: dict[DraftMove, int] = {}
        for labels, acting in self._cases(head):
            before = self.sets.choose(self.end, FALSE, labels)
            at_end = self.sets.choose(self.end, labels, FALSE)
            for phase, read in ((RUN, before), (JUDGE, at_end)):
                if read != FALSE:
                    effect = self._join(head, acting, phase, read)._replace(labels=None)
                    found[effect] = self.sets.choose(read, TRUE, found.get(effect, FALSE))
        return [effect._replace(labels=labels) for effect, labels in found.items()]

    def _cases(self, head: Head) -> list[tuple[int, list[RuleOrOtherwise]]]:
        """Labels, and what acts in each part; labels at which nothing does in a part are left out."""
        cases: list[tuple[int, list[RuleOrOtherwise]]] = [(self.sets.all.node, [])]
        for part, state, top in zip(self.parts, head[0].states, head[1], strict=True):
            split: list[tuple[int, list[RuleOrOtherwise]]] = []
            for left, before in cases:
                for guard, acting in part.rules(state, top):
                    if isinstance(guard, Exactly):  # it is exact about the part's own events
                        guard = spell_out(guard, part.machine.events)
                    held = self.sets.holding(guard).node
                    here = self.sets.choose(held, left, FALSE)
                    left = self.sets.choose(held, FALSE, left)
                    if here != FALSE:
                        split.append((here, [*before, acting]))
            cases = split
        return cases

    def _join(
        self, head: Head, acting: Sequence[RuleOrOtherwise], phase: str, labels: int | None
    ) -> DraftMove:
        """The parts' moves as one: their states and symbols side by side."""
        states: list[str] = []
        pushes: list[Stack | None] = []
        paid: list[float] = []
        for part, state, top, acts in zip(self.parts, head[0].states, head[1], acting, strict=True):
            states.append(acts.target or state)
            pushes.append(part.push(state, top, acts))
            paid.append(part.weight * acts.reward)
        place = Place(tuple(states), phase)
        rules = [
            rule
            for part, state in zip(self.parts, place.states, strict=True)
            for rule in part.machine.rules_from[state]
        ]
        if not any(rule.silent for rule in rules):
            place = self._evaluate_when(place)
        reward = add_rewards(*paid)
        lengths = {len(push) for push in pushes if push is not None}
        if len(lengths) > 1:
            at = "silently"
            if labels is not None:
                at = f"at label {label_text(LabelSet(self.sets, labels).example())}"
            state = ".".join(head[0].states)
            fault = f"the stacks do not move together in state `{state}`, {at}"
            fix = "let both push and pop at the same labels, or combine one with machines without a stack"
            raise CannotCombine(fault, fix=fix)
        if not lengths:
            return DraftMove(labels, place, (head[1],), reward)
        fill = (FILLER,) * lengths.pop()
        filled = [fill if push is None else push for push in pushes]
        below = (self.empty,) if head[1] == self.empty else ()
        return DraftMove(labels, place, (*zip(*filled, strict=True), *below), reward)
