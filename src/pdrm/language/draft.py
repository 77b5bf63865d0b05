"""A machine in the making: moves over sets of labels, and the rules that they are written as.

Grammars, expressions, formulas and combinations all become such moves. Moves that differ in labels
alone become one rule, and so do most that differ in the top alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pdrm.language.task_text import DONE, LOST
from pdrm.machines.guards import SILENT, Guard
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import RESERVED, fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, BOTTOM, NONE, Otherwise, Transition

State = Any
Symbol = Any
Head = tuple[State, Symbol]
"""A state and the symbol on top, both hashable."""


class DraftMove(NamedTuple):
    """A move at a head for some labels, which are a diagram (silent if None); the push has its top first."""

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
    guards: Mapping[int, Guard] = field(default_factory=dict)
    """How some sets of labels are written."""

    def write(self, name: str) -> PushdownRewardMachine:
        """The machine of the moves."""
        heads = [self.start, *self.moves]
        every = [(top, move) for (_, top), found in self.moves.items() for move in found]
        order = [state for state, _ in heads] + [move.target for _, move in every]
        order += [LOST] if self.otherwise is not None and self.otherwise.target else []
        states = {end: end for end in (DONE, LOST) if end in order}
        for state in order:
            if state not in states:
                states[state] = fresh_name(self.name_state(state), {*states.values(), *RESERVED})
        symbols: dict[Symbol, str] = {}
        pushed = (symbol for top, move in every for symbol in (*move.push, top))
        for symbol in [self.start[1], *pushed]:
            if symbol not in symbols:
                taken = {ANY, NONE, *RESERVED, *symbols.values()}
                symbols[symbol] = fresh_name(self.name_symbol(symbol), taken)
        found = self._find_rules(states, symbols)
        otherwise = self.otherwise
        if otherwise is None:
            idle = {rule for rule, labels in found.items() if rule.stays and None not in labels}
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
        node = self.sets.join(nodes)
        return self.guards.get(node) or LabelSet(self.sets, node).formula()

    def _find_rules(
        self, states: dict[State, str], symbols: dict[Symbol, str]
    ) -> dict[DraftRule, list[int | None]]:
        """The rules, with the labels that they read."""
        tops: dict[str, dict[str, bool]] = {}
        """The tops at each state, and whether labels are read there."""
        effects: dict[tuple[str, int | None], dict[DraftRule, list[str]]] = {}
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
            there = [top for top, reads in tops[source].items() if reads or labels is None]
            for rule in self._share(source, alike, there, labels is None):
                push = tuple(rule.top if one == ANY else one for one in rule.push)
                rules.setdefault(rule._replace(push=push), []).append(labels)
        return rules

    def _share(
        self, source: str, alike: dict[DraftRule, list[str]], there: list[str], silent: bool
    ) -> Iterator[DraftRule]:
        """Rules with the tops at which they apply: the commonest has `z`, if that makes them fewer.

        At the tops that miss it, a rule then says what happens otherwise.
        """
        commonest = max(alike, key=lambda rule: len(alike[rule]))
        named = {top for tops in alike.values() for top in tops}
        missing = [top for top in there if top not in named]
        other = Otherwise.error() if self.otherwise is None or silent else self.otherwise
        shared = len(alike[commonest]) > 1 + len(missing)
        if self.otherwise is None:
            shared &= len(alike[commonest]) == len(there)
        elif other.action == "error":
            shared &= not missing
        for rule, tops in alike.items():
            if rule == commonest and shared:
                yield rule
                for top in missing:
                    target = other.target or source
                    yield DraftRule(source, target, top, (ANY,), other.reward)
            else:
                yield from (rule._replace(top=top) for top in tops)


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
