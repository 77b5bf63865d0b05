"""Making a draft small without changing a word or a reward.

Silent moves join the moves before them; a symbol below another that never occurs without it goes;
symbols that do the same at all heads become one, and so do states. Only heads that occur are
looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any

from pdrm.errors import TooLarge
from pdrm.language.draft import DraftMove, Head, Moves, State, Symbol, refine
from pdrm.language.task_text import DONE, LOST, add_rewards
from pdrm.limits import MOST_RULES
from pdrm.machines.reach import saturate

Find = Callable[[Head], list[DraftMove]]
FINAL = (DONE, LOST)
LARGEST_DRAFT = 10 * MOST_RULES
"""Moves, and symbols that they push, at most."""


def shrink(find: Find, start: Head, alike: Mapping[Symbol, list[Symbol]]) -> Moves:
    """The moves at the heads that occur, made fewer without changing a word or a reward.

    Args:
        find: The moves at a head.
        start: The first head.
        alike: Symbols, by each of them, that become one if no two moves then read the same.
    """
    moves = _reach(_unite(find, alike), start)
    if any(len({move.labels for move in found}) < len(found) for found in moves.values()):
        moves = _reach(find, start)
    small = _simplify(moves, start)
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
    return _merge(_merge(_reach(joined.__getitem__, start), 1), 0)


def _unite(find: Find, alike: Mapping[Symbol, list[Symbol]]) -> Find:
    """The moves with the first of the symbols that are alike for all of them."""

    def find_all(head: Head) -> list[DraftMove]:
        state, symbol = head
        moves = (move for one in alike.get(symbol, [symbol]) for move in find((state, one)))
        return list(dict.fromkeys(_rename(move, 1, name) for move in moves))

    def name(symbol: Symbol) -> Symbol:
        return alike[symbol][0] if symbol in alike else symbol

    return find_all


def _reach(find: Find, start: Head) -> Moves:
    """The moves at the heads that occur, those of the first head first."""
    known: Moves = {}
    size = 0

    def explore(head: Head) -> Iterable[tuple[State, tuple[Symbol, ...]]]:
        nonlocal size
        known[head] = [] if head[0] in FINAL else find(head)
        size += sum(1 + len(move.push) for move in known[head])
        if size > LARGEST_DRAFT:
            fault = f"the machine of this grammar has more than {LARGEST_DRAFT:,} moves and symbols"
            raise TooLarge(fault, fix="use fewer rules")
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
