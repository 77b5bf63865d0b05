"""Combining tasks: one machine that runs several at once, and is final when a formula over them holds.

The product's state holds the states of the parts. Parts that leave their stack alone may be any number.
Several other stacks become one whose symbols are tuples. That works only if the parts always replace
their tops by equally many symbols, as visibly pushdown automata over the same calls and returns do
(Alur and Madhusudan 2004); it is asked of the heads that some word reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pdrm.errors import (
    BadSetting,
    CannotCombine,
    TooLarge,
    UnknownMachine,
    WrongKind,
    did_you_mean,
)
from pdrm.language.document import AnyMachine
from pdrm.language.draft import Draft, DraftMove, Head
from pdrm.language.reader import read_guard
from pdrm.language.source import Line
from pdrm.language.task_text import END, ENDS, LOST, add_rewards
from pdrm.limits import MOST_WORKED_OUT
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import (
    ALWAYS,
    NAME,
    And,
    Event,
    Exactly,
    Formula,
    Guard,
    Or,
    Silent,
    events_of,
    label_text,
    spell_out,
)
from pdrm.machines.labels import FALSE, TRUE, Alphabet, LabelSet, LabelSets
from pdrm.machines.machine import fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import ANY, Otherwise, Stack, Transition, reward_of

SEVERAL = "put the machines in a list: pdrm.combine([machine, other])"
"""The fix for machines that are given one by one."""


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
        raise WrongKind("several machines and a formula over them are needed", fix=SEVERAL)
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
    called = name or fresh_name("-".join(named), ())
    draft = Product(taking_part, formula, accept).draft()
    return draft.write(called if NAME.fullmatch(called) else "combination")


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
    events = tuple(map(Event, parts))
    if when in ("and", "or"):
        joined = And(events) if when == "and" else Or(events)
        return events[0] if len(events) == 1 else joined
    line = Line("<when>", 1, when)
    guard = read_guard(line)
    if isinstance(guard, Silent | Exactly):
        fix = 'write for example "a & !b"'
        raise BadSetting("`when` is a formula over the parts", where=line.at(1, len(when)), fix=fix)
    known = list(parts)
    for name, machine in parts.items():
        known += [f"{name}.{state}" for state in (*machine.states, *machine.final)]
    for event in sorted(events_of(guard) - set(known)):
        found = re.search(rf"(?<![\w.-]){re.escape(event)}(?![\w.-])", when)
        where = line.at(found.start() + 1 if found else 1, len(event))
        fix = did_you_mean(event, known)
        raise UnknownMachine(f"`{event}` is not a part", where=where, fix=fix)
    return guard


# --- One part

MOST_TRIED = 3_000
"""Configurations that are searched for the word of an error message."""


class PartMove(NamedTuple):
    """A move of a part. The push is None if it has no stack, or is finished."""

    target: str
    push: Stack | None
    reward: float


@dataclass(frozen=True, slots=True)
class Part:
    """A machine that takes part, and its moves at a state and a top (None for the empty stack)."""

    name: str
    machine: PushdownRewardMachine
    weight: float

    @property
    def stacked(self) -> bool:
        """The machine uses its stack."""
        return not self.machine.leaves_stack

    def stay(self, state: str, top: str | None) -> PartMove:
        kept = () if top is None else (top,)
        runs = self.stacked and state not in self.machine.final
        return PartMove(state, kept if runs else None, 0.0)

    def silent(self, state: str, top: str | None) -> PartMove | None:
        """The silent move."""
        rule = None if state in self.machine.final else self.machine.rule(state, None, top)
        return None if rule is None else self._move(rule, top)

    def moves(self, state: str, top: str | None) -> Iterator[tuple[Guard, PartMove]]:
        """Guards in the order in which they are tried, and their moves; other labels are errors."""
        stay = self.stay(state, top)
        if state in self.machine.final:
            yield ALWAYS, stay
            return
        rules = self.machine.rules_from[state]
        for rule in sorted(rules, key=lambda rule: rule.top == ANY):  # one that names the top first
            if not rule.silent and rule.looks_at(top):
                yield rule.guard, self._move(rule, top)
        otherwise = self.machine.otherwise
        if otherwise.action != "error":
            paid = self.weight * otherwise.reward
            yield ALWAYS, PartMove(otherwise.target or state, stay.push, paid)

    def _move(self, rule: Transition, top: str | None) -> PartMove:
        push = rule.replacement(top) if self.stacked else None
        return PartMove(rule.target, push, self.weight * rule.reward)


# --- All parts together

RUN, JUDGE, ENDED, FAILED = "", "judged", "ended", LOST
"""Phases: reading labels, silent moves before it is judged, final, or judged and not final."""
FILLER = "_"
"""Stands in a symbol for a part that is finished."""
Symbol = tuple[str, ...]
EMPTY: Symbol = ()
"""Lies below all other symbols."""


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
        self.quiet = [
            {rule.source for rule in part.machine.transitions if rule.silent} for part in parts
        ]
        """The states of each part with silent moves."""
        self.stacked = [number for number, part in enumerate(parts) if part.stacked]
        own = dict.fromkeys(event for part in parts for event in part.machine.events)
        events = tuple(own | dict.fromkeys([END] if accept == "end" else []))
        groups = dict.fromkeys(group for part in parts for group in part.machine.exclusive)
        self.sets = LabelSets(Alphabet(events, tuple(groups)))
        self.store = self.sets
        self.end = self.store.variable(events.index(END)) if accept == "end" else FALSE
        self.start = Place(tuple(part.machine.start for part in parts), RUN)
        self.bottom: Symbol = tuple(parts[number].machine.stack[0] for number in self.stacked)
        if accept == "first" and self._holds(self.start.states):
            fault = (
                "`when` holds before anything has been read: the combination would be final at once"
            )
            fix = 'say what must be finished, "a & !b", or judge at the end: accept="end"'
            raise BadSetting(fault, fix=fix)

    def draft(self) -> Draft:
        """The machine: the moves at every head that some word reaches."""
        found: dict[Head, list[DraftMove]] = {}

        def explore(head: Head) -> Iterable[tuple[Place, tuple[Symbol, ...]]]:
            found[head] = self._moves(head)
            if len(found) > MOST_WORKED_OUT:
                fault = f"the combination has more than {MOST_WORKED_OUT:,} states and tops"
                raise TooLarge(fault, fix="combine fewer or smaller machines")
            return [(move.target, move.push) for move in found[head]]

        try:
            saturate(explore, [(self.start, (self.bottom, EMPTY))])
        except CannotCombine as error:
            raise self._find_apart(error) from None
        final = dict.fromkeys(place for place, _ in found if place.phase == ENDED)
        falls = any(made for (_, top), made in found.items() if top == EMPTY)
        moves = {
            (place, top): made
            for (place, top), made in found.items()
            if place.phase != ENDED and (falls or top != EMPTY)
        }
        start: Head = self.start, self.bottom
        if self.stacked and falls:
            start = Place(("begin",), RUN), EMPTY
            moves = {start: [DraftMove(None, self.start, (self.bottom, EMPTY), 0.0)]} | moves
        strict = any(part.machine.otherwise.action == "error" for part in self.parts)
        return Draft(
            self.sets,
            start,
            moves,
            tuple(final),
            Otherwise.error() if strict else None,
            lambda place: ".".join([*place.states, *{place.phase} - {RUN, ENDED}]),
            lambda symbol: ".".join(symbol) or FILLER,
        )

    def _holds(self, states: tuple[str, ...]) -> bool:
        pairs = list(zip(self.parts, states, strict=True))
        finished = {part.name for part, state in pairs if state in part.machine.final}
        return self.when.holds(
            frozenset(finished | {f"{one.name}.{state}" for one, state in pairs})
        )

    def _tops(self, top: Symbol) -> list[str | None]:
        """The top of each part's own stack."""
        tops: list[str | None] = [
            None if one.stacked else one.machine.stack[0] for one in self.parts
        ]
        for number, symbol in zip(self.stacked, top, strict=False):
            tops[number] = symbol
        return tops

    def _moves(self, head: Head) -> list[DraftMove]:
        """The moves at a head."""
        place, top = head
        states, phase = place
        if phase == ENDED:
            return []
        if phase == FAILED:
            return [DraftMove(self.sets.all.node, place, (top,), 0.0)]
        at = list(zip(self.parts, states, self._tops(top), strict=True))
        silent = [part.silent(state, own) for part, state, own in at]
        if any(silent):
            stay = [part.stay(state, own) for part, state, own in at]
            moves = self._choose_silent(silent, stay)
            return [self._join(head, None, moves, phase == JUDGE)]
        if phase == JUDGE or (self.accept == "first" and self._holds(states)):
            return [DraftMove(None, self._judge(states), (top,), 0.0)]
        found: dict[DraftMove, int] = {}
        for labels, moves in self._cases(head):
            at_end = self.store.choose(self.end, labels, FALSE)
            before = self.store.choose(self.end, FALSE, labels)
            for read, judged in ((before, False), (at_end, True)):
                if read != FALSE:
                    effect = self._join(head, read, moves, judged)._replace(labels=FALSE)
                    found[effect] = self.store.choose(read, TRUE, found.get(effect, FALSE))
        return [effect._replace(labels=labels) for effect, labels in found.items()]

    def _join(
        self, head: Head, labels: int | None, moves: list[PartMove], judged: bool
    ) -> DraftMove:
        """The parts' moves as one."""
        paid = add_rewards(*(move.reward for move in moves))
        push = self._push(head, moves, labels)
        return DraftMove(labels, self._enter(moves, judged), push, paid)

    def _choose_silent(self, silent: list[PartMove | None], stay: list[PartMove]) -> list[PartMove]:
        """One part's silent move that keeps the height of its stack, or else those of all parts."""
        for number, move in enumerate(silent):
            if move is not None and len(move.push or ()) == len(stay[number].push or ()):
                return [*stay[:number], move, *stay[number + 1 :]]
        return [move or still for move, still in zip(silent, stay, strict=True)]

    def _enter(self, moves: list[PartMove], judged: bool) -> Place:
        """The state after a move; it is judged at once if no silent move can follow."""
        states = tuple(move.target for move in moves)
        quiet = any(state in held for held, state in zip(self.quiet, states, strict=True))
        if judged or (self.accept == "first" and self._holds(states)):
            return Place(states, JUDGE if judged else RUN) if quiet else self._judge(states)
        return Place(states, RUN)

    def _judge(self, states: tuple[str, ...]) -> Place:
        return Place(states, ENDED if self._holds(states) else FAILED)

    def _cases(self, head: Head) -> Iterator[tuple[int, list[PartMove]]]:
        """Labels, and the moves of the parts; labels at which a part has none are left out."""
        tops = self._tops(head[1])

        def extend(labels: int, moves: list[PartMove]) -> Iterator[tuple[int, list[PartMove]]]:
            number = len(moves)
            if number == len(self.parts):
                yield labels, moves
                return
            part = self.parts[number]
            for guard, move in part.moves(head[0].states[number], tops[number]):
                if isinstance(guard, Exactly):  # it is exact about the part's own events
                    guard = spell_out(guard, part.machine.events)
                held = self.sets.holding(guard).node
                here = self.store.choose(held, labels, FALSE)
                labels = self.store.choose(held, FALSE, labels)
                if here != FALSE:
                    yield from extend(here, [*moves, move])

        return extend(self.sets.all.node, [])

    # --- The stack

    def _push(self, head: Head, moves: list[PartMove], labels: int | None) -> tuple[Symbol, ...]:
        """The symbols that replace the top: the parts' own symbols side by side."""
        pushes = [moves[number].push for number in self.stacked]
        lengths = {len(push) for push in pushes if push is not None}
        if len(lengths) > 1:
            raise self._apart(head, pushes, labels)
        if not lengths:
            return (head[1],)
        fill = (FILLER,) * lengths.pop()
        together = tuple(zip(*(fill if push is None else push for push in pushes), strict=True))
        return (*together, EMPTY) if head[1] == EMPTY else together

    def _apart(self, head: Head, pushes: list[Stack | None], labels: int | None) -> CannotCombine:
        kept = int(head[1] != EMPTY)
        does = []
        for number, push in zip(self.stacked, pushes, strict=True):
            if push is not None:
                verb = "pops" if len(push) < kept else "pushes"
                verb = "keeps its stack" if len(push) == kept else verb
                does.append(f"`{self.parts[number].name}` {verb}")
        at = "silently"
        if labels is not None:
            at = f"at label {label_text(LabelSet(self.sets, labels).example())}"
        fault = f"the stacks do not move together: {at}, {' and '.join(does)}"
        fix = (
            "let both push and pop at the same labels, or combine one with machines without a stack"
        )
        return CannotCombine(fault, fix=fix)

    def _find_apart(self, error: CannotCombine) -> CannotCombine:
        """The refusal after a shortest word, if one is found soon."""
        words: dict[tuple[Place, tuple[Symbol, ...]], tuple[str, ...]] = {}
        words[self.start, (self.bottom, EMPTY)] = ()
        for place, stack in (order := list(words)):
            word = words[place, stack]
            try:
                moves = self._moves((place, stack[0]))
            except CannotCombine as first:
                if word:
                    first.message += f"; a word that leads there is `{' '.join(word)}`"
                return first
            for move in moves:
                after = move.target, move.push + stack[1:]
                if after not in words and len(words) < MOST_TRIED:
                    words[after] = word
                    order.append(after)
                    if move.labels is not None:
                        label = LabelSet(self.sets, move.labels).example()
                        words[after] += ("+".join(sorted(label)) or "-",)
        return error
