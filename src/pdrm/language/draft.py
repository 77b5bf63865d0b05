"""A machine under construction: moves over sets of labels, minimised and written as rules.

Grammars, expressions, formulas and combinations all become drafts. `shrink` minimises the moves of
a grammar without changing any word or reward:

- Silent moves are inlined into the moves before them.
- A symbol is removed if it always lies directly below the same other symbol.
- Equivalent symbols and equivalent states are merged.

As rules, moves that differ only in their labels are merged, and so are most moves that differ only
in the top.
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
from pdrm.machines.guards import SILENT
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import RESERVED, fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import ANY, BOTTOM, NONE, Otherwise, Transition

State = Any
Symbol = Any
DraftHead = tuple[State, Symbol]
"""A state and the symbol on top of the stack, both hashable."""


class DraftMove(NamedTuple):
    """A move at a head."""

    labels: int | None
    """The labels, as a node of the decision diagrams (None for a silent move)."""
    target: State
    push: tuple[Symbol, ...]
    """The symbols that replace the top, the new top first."""
    reward: float


Moves = dict[DraftHead, list[DraftMove]]


class DraftRule(NamedTuple):
    """A rule without its guard. The top may be `z`, and then also the end of the push."""

    source: str
    target: str
    top: str
    push: tuple[str, ...]
    reward: float

    def with_top(self, top: str) -> DraftRule:
        """The rule for one top instead of `z`."""
        push = tuple(top if symbol == ANY else symbol for symbol in self.push)
        return self._replace(top=top, push=push)

    @property
    def is_idle(self) -> bool:
        """True if the rule does not change the configuration."""
        return self.source == self.target and self.push == (self.top,)


TopsByRule = dict[DraftRule, list[str]]
"""Rules with an open top, and the tops at which they apply."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A pushdown machine: its moves, its first head, its final states, and names."""

    sets: LabelSets
    start: DraftHead
    moves: Moves
    """The moves at every reachable head. The label sets of two moves at different tops of a state
    are equal or disjoint, unless `otherwise` is None or an error."""
    final: tuple[State, ...]
    otherwise: Otherwise | None
    """The default for other labels (None: the commonest reward of the idle moves)."""
    name_state: Callable[[State], str]
    name_symbol: Callable[[Symbol], str]

    def write(self, name: str) -> PushdownRewardMachine:
        """Write the moves as a machine."""
        heads = [self.start, *self.moves]
        top_moves = [
            (top, move) for (_, top), head_moves in self.moves.items() for move in head_moves
        ]
        order = [state for state, _ in heads] + [move.target for _, move in top_moves]
        if self.otherwise is not None and self.otherwise.target:
            order.append(LOST)
        states = {end: end for end in (DONE, LOST) if end in order}
        _add_names(states, order, self.name_state, RESERVED)
        symbols: dict[Symbol, str] = {}
        used = [symbol for top, move in top_moves for symbol in (*move.push, top)]
        _add_names(symbols, [self.start[1], *used], self.name_symbol, (ANY, NONE, *RESERVED))
        labels_by_rule = self._find_rules(states, symbols)
        otherwise = self.otherwise or _extract_otherwise(labels_by_rule)
        stackless = len(symbols) == 1 and all(rule.push == (rule.top,) for rule in labels_by_rule)
        rules = []
        for rule, labels in labels_by_rule.items():
            nodes = [node for node in labels if node is not None]
            guard = LabelSet(self.sets, self.sets.join(nodes)).formula() if nodes else SILENT
            change = (NONE, ()) if stackless else (rule.top, rule.push)
            rules.append(Transition(rule.source, rule.target, guard, *change, rule.reward))
        final = tuple(states[state] for state in self.final if state in states)
        alphabet = self.sets.alphabet
        return PushdownRewardMachine(
            name,
            alphabet.events,
            (BOTTOM,) if stackless else tuple(symbols.values()),
            states[self.start[0]],
            final,
            otherwise,
            tuple(rules),
            alphabet.exclusive,
            tuple(states[state] for state in dict.fromkeys(order) if states[state] not in final),
        )

    def _find_rules(
        self, states: dict[State, str], symbols: dict[Symbol, str]
    ) -> dict[DraftRule, list[int | None]]:
        """The rules, each with the labels that it reads."""
        tops: dict[str, dict[str, bool]] = {}
        """The tops at each state, each with True if labels are read there."""
        effects: dict[tuple[str, int | None], TopsByRule] = {}
        """The rules for each state and labels."""
        for (state, symbol), head_moves in self.moves.items():
            top = symbols[symbol]
            source = states[state]
            reads = all(move.labels is not None for move in head_moves)
            tops.setdefault(source, {})[top] = reads
            for move in head_moves:
                push = tuple(symbols[pushed] for pushed in move.push)
                if push[-1:] == (top,):
                    push = (*push[:-1], ANY)
                rule = DraftRule(source, states[move.target], ANY, push, move.reward)
                effects.setdefault((source, move.labels), {}).setdefault(rule, []).append(top)
        rules: dict[DraftRule, list[int | None]] = {}
        for (source, labels), alternatives in effects.items():
            covered = {top for covered_tops in alternatives.values() for top in covered_tops}
            missing = [
                top
                for top, reads in tops[source].items()
                if (reads or labels is None) and top not in covered
            ]
            for rule in self._choose_tops(alternatives, missing, labels is None):
                rules.setdefault(rule, []).append(labels)
        return rules

    def _choose_tops(
        self, alternatives: TopsByRule, missing: list[str], silent: bool
    ) -> Iterator[DraftRule]:
        """Yield the rules for the same state and labels with their tops.

        Args:
            alternatives: The rules.
            missing: The tops at which none of them applies.
            silent: True if the rules are silent.
        """
        any_top = None
        if self._may_use_any_top(alternatives, missing, silent):
            any_top = max(alternatives, key=lambda rule: len(alternatives[rule]))
        for rule, tops in alternatives.items():
            if rule != any_top:
                yield from map(rule.with_top, tops)
                continue
            yield rule
            if self.otherwise is not None:
                target = self.otherwise.target or rule.source
                for top in missing:
                    yield DraftRule(rule.source, target, top, (top,), self.otherwise.reward)

    def _may_use_any_top(self, alternatives: TopsByRule, missing: list[str], silent: bool) -> bool:
        """Return True if the commonest rule can have the top `z`."""
        if self.otherwise is None and len(alternatives) > 1:
            # An idle rule that overrides `z` at some tops may be dropped later.
            return False
        default = None if silent else self.otherwise
        if missing and (default is None or default.action == "error"):
            # No rule can restate the default at the missing tops.
            return False
        # With `z`, one rule replaces many, but `otherwise` is restated at the missing tops.
        return max(map(len, alternatives.values())) > 1 + len(missing)


def _extract_otherwise(rules: dict[DraftRule, list[int | None]]) -> Otherwise:
    """Replace the idle rules with the commonest reward by `otherwise`."""
    idle = [rule for rule, labels in rules.items() if rule.is_idle and None not in labels]
    rewards = Counter(rule.reward for rule in idle)
    otherwise = Otherwise.stay(max(rewards, key=rewards.__getitem__, default=0.0))
    for rule in idle:
        if rule.reward == otherwise.reward:
            del rules[rule]
    return otherwise


def _add_names(
    names: dict[Any, str], items: Iterable[Any], name: Callable[[Any], str], taken: Iterable[str]
) -> None:
    """Assign a fresh name to every item without a name."""
    for item in items:
        if item not in names:
            names[item] = fresh_name(name(item), {*taken, *names.values()})


# --- Minimisation

FINAL = (DONE, LOST)
MAX_DRAFT_SIZE = 10 * MAX_RULES
"""The maximum number of moves and pushed symbols."""


def shrink(find: Callable[[DraftHead], list[DraftMove]], start: DraftHead) -> Moves:
    """Return the moves at the reachable heads, minimised without changing any word or reward.

    Args:
        find: Returns the moves at a head.
        start: The first head.
    """
    small = _simplify(reach(find, start), start)
    before: Moves = {}
    while len(small) != len(before):
        before = small
        small = _simplify(_remove_fixed_symbols(small, start), start)
    return {head: head_moves for head, head_moves in small.items() if head_moves}


def _map_moves(moves: Moves, change: Callable[[DraftHead, DraftMove], DraftMove]) -> Moves:
    return {head: [change(head, move) for move in head_moves] for head, head_moves in moves.items()}


def _simplify(moves: Moves, start: DraftHead) -> Moves:
    """Inline deterministic silent moves, then merge equivalent symbols and states."""
    inlined = _map_moves(moves, partial(_inline_silent_moves, moves))
    return _merge_states(_merge_symbols(reach(inlined.__getitem__, start)))


def reach(find: Callable[[DraftHead], list[DraftMove]], start: DraftHead) -> Moves:
    """Return the moves at the reachable heads, starting with the first head."""
    moves: Moves = {}
    size = 0

    def explore(head: DraftHead) -> Iterable[tuple[State, tuple[Symbol, ...]]]:
        nonlocal size
        moves[head] = [] if head[0] in FINAL else find(head)
        size += sum(1 + len(move.push) for move in moves[head])
        limit(size, MAX_DRAFT_SIZE, "moves and symbols")
        return [(move.target, move.push) for move in moves[head]]

    saturate(explore, [(start[0], (start[1],))])
    return moves


def _inline_silent_moves(moves: Moves, head: DraftHead, move: DraftMove) -> DraftMove:
    """Extend a move by the silent moves that follow it."""
    seen: set[Hashable] = set()
    while move.push and (after := (move.target, move.push[0])) not in seen:
        seen.add(after)
        silent = next((option for option in moves.get(after, ()) if option.labels is None), None)
        if silent is None:
            break
        reward = add_rewards(move.reward, silent.reward)
        move = DraftMove(move.labels, silent.target, silent.push + move.push[1:], reward)
    if move.target in FINAL:
        return move._replace(push=(head[1],))  # the stack no longer matters
    return move


def _remove_fixed_symbols(moves: Moves, start: DraftHead) -> Moves:
    """Remove stack symbols that always lie directly below the same other symbol."""
    below: dict[Symbol, set[Symbol | None]] = {start[1]: {None}}
    for (_, top), head_moves in moves.items():
        for move in head_moves:
            for symbol, under in zip_longest(move.push, move.push[1:]):
                if under is not None or symbol != top:
                    below.setdefault(symbol, set()).add(under)
    fixed = {
        symbol: next(iter(under))
        for symbol, under in below.items()
        if len(under) == 1 and not under & {None, symbol}
    }

    def remove(head: DraftHead, move: DraftMove) -> DraftMove:
        if move.target in FINAL:
            return move
        push = (*move.push, fixed[head[1]]) if head[1] in fixed else move.push
        pairs = zip((None, *push), push, strict=False)
        return move._replace(push=tuple(symbol for above, symbol in pairs if above not in fixed))

    return _map_moves(moves, remove)


Naming = Callable[[Any], Any]
"""The name of a state or symbol, or of its class."""


def _merge_states(moves: Moves) -> Moves:
    """Merge states with the same moves at all symbols."""

    def rename(move: DraftMove, name: Naming) -> DraftMove:
        return move._replace(target=name(move.target))

    rows = [(state, symbol, head_moves) for (state, symbol), head_moves in moves.items()]
    merged = _merge(rows, rename)
    return {
        (merged(state), symbol): [rename(move, merged) for move in head_moves]
        for state, symbol, head_moves in rows
    }


def _merge_symbols(moves: Moves) -> Moves:
    """Merge stack symbols with the same moves in all states."""

    def rename(move: DraftMove, name: Naming) -> DraftMove:
        return move._replace(push=tuple(map(name, move.push)))

    rows = [(symbol, state, head_moves) for (state, symbol), head_moves in moves.items()]
    merged = _merge(rows, rename)
    return {
        (state, merged(symbol)): [rename(move, merged) for move in head_moves]
        for symbol, state, head_moves in rows
    }


def _merge(
    rows: list[tuple[Any, Any, list[DraftMove]]], rename: Callable[[DraftMove, Naming], DraftMove]
) -> Naming:
    """Find items with the same moves in all contexts.

    Args:
        rows: Items (states or symbols), their contexts (the other), and the moves there.
        rename: Renames the items of a move.

    Returns:
        The function from an item to the first item of its class that it is called with.
    """

    def describe(classes: Mapping[Any, int]) -> dict[Any, Hashable]:
        cells: dict[Any, set[Hashable]] = {}
        for item, context, head_moves in rows:
            renamed = tuple(rename(move, classes.get) for move in head_moves)
            cells.setdefault(item, set()).add((context, renamed))
        return {
            item: (item if item in FINAL else None, frozenset(cell)) for item, cell in cells.items()
        }

    classes = refine(describe)
    first: dict[int | None, Any] = {}
    return lambda item: first.setdefault(classes.get(item), item)


def refine(describe: Callable[[dict[Any, int]], Mapping[Any, Hashable]]) -> dict[Any, int]:
    """Partition refinement (Moore 1956): number the classes of equivalent items.

    Args:
        describe: Returns descriptions of all items, given their classes so far (empty at first).
            Items with equal descriptions stay in the same class.

    Example:
        >>> after = {1: 2, 2: 4, 3: 4, 4: None}
        >>> refine(lambda classes: {item: classes.get(then) for item, then in after.items()})
        {1: 0, 2: 1, 3: 1, 4: 2}
    """
    classes: dict[Any, int] = {}
    count = 0
    while True:
        numbers: dict[Hashable, int] = {}
        refined: dict[Any, int] = {}
        for item, description in describe(classes).items():
            refined[item] = numbers.setdefault((classes.get(item), description), len(numbers))
        if len(numbers) == count:
            return refined
        count = len(numbers)
        classes = refined
