"""A machine in the making: moves over sets of labels, made few, and written as rules.

Grammars, expressions, formulas and combinations all become such moves. `shrink` makes those of a
grammar few without changing a word or a reward: silent moves join the moves before them; a symbol
below another that never occurs without it goes; symbols that do the same at all heads become one,
and so do states. As rules, moves that differ in labels alone are one, and so are most that differ
in the top alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from pdrm.files import MAX_RULES
from pdrm.language.source import limit
from pdrm.language.task_text import DONE, LOST, add_rewards
from pdrm.machines.guards import SILENT, Guard
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import RESERVED, fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import ANY, BOTTOM, NONE, Otherwise, Transition

State = Any
Symbol = Any
Head = tuple[State, Symbol]
"""A state and the symbol on top, both hashable."""


class DraftMove(NamedTuple):
    """A move at a head for some labels, a node of the diagrams in `sets` (silent if None); the push has its top first."""

    labels: int | None
    target: State
    push: tuple[Symbol, ...]
    reward: float


Moves = dict[Head, list[DraftMove]]


class DraftRule(NamedTuple):
    """A rule without its guard; the top, and the end of the push that stands for it, may be `z`."""

    source: str
    target: str
    top: str
    push: tuple[str, ...]
    reward: float

    @property
    def stays(self) -> bool:
        """The rule changes nothing."""
        return self.source == self.target and self.push == (self.top,)


@dataclass(frozen=True, slots=True)
class Draft:
    """A pushdown machine: its moves, its first head, its final states, and names."""

    sets: LabelSets
    start: Head
    moves: Moves
    """Those at every head that occurs. At two tops of one state, the labels of two moves are the same or
    have none in common, unless `otherwise` is left open or an error."""
    final: tuple[State, ...]
    otherwise: Otherwise | None
    """What happens at other labels (None: the moves that change nothing become it)."""
    name_state: Callable[[State], str]
    name_symbol: Callable[[Symbol], str]

    def write(self, name: str) -> PushdownRewardMachine:
        """The machine of the moves."""
        heads = [self.start, *self.moves]
        every = [(top, move) for (_, top), found in self.moves.items() for move in found]
        order = [state for state, _ in heads] + [move.target for _, move in every]
        order += [LOST] if self.otherwise is not None and self.otherwise.target else []
        states = {end: end for end in (DONE, LOST) if end in order}
        _add_names(states, order, self.name_state, RESERVED)
        symbols: dict[Symbol, str] = {}
        used = [symbol for top, move in every for symbol in (*move.push, top)]
        _add_names(symbols, [self.start[1], *used], self.name_symbol, (ANY, NONE, *RESERVED))
        found = self._find_rules(states, symbols)
        otherwise = self.otherwise
        if otherwise is None:
            idle = [rule for rule, labels in found.items() if rule.stays and None not in labels]
            paid = Counter(rule.reward for rule in idle)
            otherwise = Otherwise.stay(max(paid, key=paid.__getitem__, default=0.0))
            for rule in idle:
                if rule.reward == otherwise.reward:
                    del found[rule]
        plain = len(symbols) == 1 and all(rule.push == (rule.top,) for rule in found)
        rules = []
        for rule, labels in found.items():
            ends = (rule.source, rule.target, self._guard(labels))
            move = (NONE, ()) if plain else (rule.top, rule.push)
            rules.append(Transition(*ends, *move, rule.reward))
        final = tuple(states[state] for state in self.final if state in states)
        alphabet = self.sets.alphabet
        return PushdownRewardMachine(
            name,
            alphabet.events,
            (BOTTOM,) if plain else tuple(symbols.values()),
            states[self.start[0]],
            final,
            otherwise,
            tuple(rules),
            alphabet.exclusive,
            tuple(states[state] for state in dict.fromkeys(order) if states[state] not in final),
        )

    def _guard(self, labels: list[int | None]) -> Guard:
        nodes = [node for node in labels if node is not None]
        if not nodes:
            return SILENT
        return LabelSet(self.sets, self.sets.join(nodes)).formula()

    def _find_rules(
        self, states: dict[State, str], symbols: dict[Symbol, str]
    ) -> dict[DraftRule, list[int | None]]:
        """The rules, with the labels that they read."""
        tops: dict[str, dict[str, bool]] = {}
        """The tops at each state, and whether labels are read there."""
        effects: dict[tuple[str, int | None], dict[DraftRule, list[str]]] = {}
        """The rules at each state and labels if their top is left open, and the tops at which they apply."""
        for (state, symbol), found in self.moves.items():
            top = symbols[symbol]
            source = states[state]
            reads = all(move.labels is not None for move in found)
            tops.setdefault(source, {})[top] = reads
            for move in found:
                push = tuple(symbols[one] for one in move.push)
                if push[-1:] == (top,):
                    push = (*push[:-1], ANY)
                rule = DraftRule(source, states[move.target], ANY, push, move.reward)
                effects.setdefault((source, move.labels), {}).setdefault(rule, []).append(top)
        rules: dict[DraftRule, list[int | None]] = {}
        for (source, labels), alike in effects.items():
            named = {top for found in alike.values() for top in found}
            waiting = [top for top, reads in tops[source].items() if reads or labels is None]
            missing = [top for top in waiting if top not in named]
            for rule in self._share(alike, missing, labels is None):
                push = tuple(rule.top if one == ANY else one for one in rule.push)
                rules.setdefault(rule._replace(push=push), []).append(labels)
        return rules

    def _share(
        self, alike: dict[DraftRule, list[str]], missing: list[str], silent: bool
    ) -> Iterator[DraftRule]:
        """Rules with the tops at which they apply: the commonest has `z`, if that makes them fewer.

        At the tops that miss it, a rule then says what happens otherwise.
        """
        commonest = max(alike, key=lambda rule: len(alike[rule]))
        other = Otherwise.error() if self.otherwise is None or silent else self.otherwise
        shared = len(alike[commonest]) > 1 + len(missing)
        if other.action == "error":
            shared &= not missing
        if self.otherwise is None:  # a rule that changes nothing may be left out
            shared &= len(alike) == 1
        for rule, tops in alike.items():
            if rule == commonest and shared:
                yield rule
                for top in missing:
                    target = other.target or rule.source
                    yield DraftRule(rule.source, target, top, (ANY,), other.reward)
            else:
                yield from (rule._replace(top=top) for top in tops)


def _add_names(
    names: dict[Any, str], things: Iterable[Any], call: Callable[[Any], str], taken: Iterable[str]
) -> None:
    """Name what has no name yet, with names that nothing else has."""
    for thing in things:
        if thing not in names:
            names[thing] = fresh_name(call(thing), {*taken, *names.values()})


# --- Fewer moves

FINAL = (DONE, LOST)
MAX_DRAFT_SIZE = 10 * MAX_RULES
"""Moves, and symbols that they push, at most."""


def shrink(find: Callable[[Head], list[DraftMove]], start: Head) -> Moves:
    """The moves at the heads that occur, made fewer without changing a word or a reward.

    Args:
        find: The moves at a head.
        start: The first head.
    """
    small = _simplify(reach(find, start), start)
    before: Moves = {}
    while len(small) != len(before):
        before = small
        small = _simplify(_fuse(small, start), start)
    return {head: found for head, found in small.items() if found}


def _change(moves: Moves, change: Callable[[Head, DraftMove], DraftMove]) -> Moves:
    return {head: [change(head, move) for move in found] for head, found in moves.items()}


def _simplify(moves: Moves, start: Head) -> Moves:
    """Join what follows silently, and use one symbol or state for all that do the same."""
    joined = _change(moves, partial(_join, moves))
    return _merge(_merge(reach(joined.__getitem__, start), 1), 0)


def reach(find: Callable[[Head], list[DraftMove]], start: Head) -> Moves:
    """The moves at the heads that occur, those of the first head first."""
    known: Moves = {}
    size = 0

    def explore(head: Head) -> Iterable[tuple[State, tuple[Symbol, ...]]]:
        nonlocal size
        known[head] = [] if head[0] in FINAL else find(head)
        size += sum(1 + len(move.push) for move in known[head])
        limit(size, MAX_DRAFT_SIZE, "moves and symbols")
        return [(move.target, move.push) for move in known[head]]

    saturate(explore, [(start[0], (start[1],))])
    return known


def _join(moves: Moves, head: Head, move: DraftMove) -> DraftMove:
    """Let a move make the silent moves that surely follow it."""
    seen: set[Hashable] = set()
    while move.push and (after := (move.target, move.push[0])) not in seen:
        seen.add(after)
        silent = [one for one in moves.get(after, ()) if one.labels is None]
        if not silent:
            break
        (one,) = silent
        paid = add_rewards(move.reward, one.reward)
        move = DraftMove(move.labels, one.target, one.push + move.push[1:], paid)
    if move.target in FINAL:
        return move._replace(push=(head[1],))  # nothing looks at the stack any more
    return move


def _fuse(moves: Moves, start: Head) -> Moves:
    """Drop a symbol below another one that never occurs without it."""
    below: dict[Symbol, set[Symbol | None]] = {start[1]: {None}}
    for (_, top), found in moves.items():
        for move in found:
            for symbol, under in zip_longest(move.push, move.push[1:]):
                if under is not None or symbol != top:
                    below.setdefault(symbol, set()).add(under)
    hidden = {
        symbol: next(iter(under))
        for symbol, under in below.items()
        if len(under) == 1 and not under & {None, symbol}
    }

    def hide(head: Head, move: DraftMove) -> DraftMove:
        if move.target in FINAL:
            return move
        push = (*move.push, hidden[head[1]]) if head[1] in hidden else move.push
        over = (None, *push)
        kept = [symbol for above, symbol in zip(over, push, strict=False) if above not in hidden]
        return move._replace(push=tuple(kept))

    return _change(moves, hide)


Naming = Callable[[Any], Any]
"""The name of a state or symbol, or of its class."""


def _rename(move: DraftMove, part: int, name: Naming) -> DraftMove:
    if part:
        return move._replace(push=tuple(map(name, move.push)))
    return move._replace(target=name(move.target))


def _merge(moves: Moves, part: int) -> Moves:
    """Merge the states (part 0 of a head) or symbols (part 1) that do the same at all heads."""

    def describe(classes: Mapping[Any, int]) -> dict[Any, Hashable]:
        rows: dict[Any, set[Hashable]] = {}
        for head, found in moves.items():
            does = tuple(_rename(move, part, classes.get) for move in found)
            rows.setdefault(head[part], set()).add((head[1 - part], does))
        return {one: (one if one in FINAL else None, frozenset(row)) for one, row in rows.items()}

    classes = refine(describe)
    first: dict[int | None, Any] = {}

    def name(one: Any) -> Any:
        return first.setdefault(classes.get(one), one)

    merged: Moves = {}
    for (state, symbol), found in moves.items():
        head = (state, name(symbol)) if part else (name(state), symbol)
        merged[head] = [_rename(move, part, name) for move in found]
    return merged


def refine(describe: Callable[[dict[int, int]], Mapping[int, Hashable]]) -> dict[int, int]:
    """Number the classes of states with equal descriptions, until the numbers change nothing (Moore 1956).

    Args:
        describe: The descriptions of all states, given their classes so far (none at first).

    Example:
        >>> after = {1: 2, 2: 4, 3: 4, 4: None}
        >>> refine(lambda classes: {one: classes.get(then) for one, then in after.items()})
        {1: 0, 2: 1, 3: 1, 4: 2}
    """
    classes: dict[int, int] = {}
    count = 0
    while True:
        numbers: dict[Hashable, int] = {}
        found: dict[int, int] = {}
        for one, description in describe(classes).items():
            found[one] = numbers.setdefault((classes.get(one), description), len(numbers))
        if len(numbers) == count:
            return found
        count = len(numbers)
        classes = found
