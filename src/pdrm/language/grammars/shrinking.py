"""Making a draft small without changing a word or a reward.

Silent moves join the moves before them; a symbol below another that never occurs without it goes;
symbols that do the same wherever both occur become one, and so do states. Only heads that occur
are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import combinations, zip_longest
from typing import Any

from pdrm.errors import TooLarge
from pdrm.language.draft import DraftMove, Head, Moves, State, Symbol
from pdrm.language.task_text import DONE, LOST, add_rewards
from pdrm.limits import MOST_RULES
from pdrm.machines.reach import saturate

LARGEST_DRAFT = 10 * MOST_RULES
"""Moves, and symbols that they push, at most."""


def shrink(find: Callable[[Head], list[DraftMove]], start: Head) -> Moves:
    """The moves at the heads that occur, made fewer without changing a word or a reward."""
    small = _simplify(_reach(find, start), start)
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
    return _merge(_reach(joined.__getitem__, start))


def _reach(find: Callable[[Head], list[DraftMove]], start: Head) -> Moves:
    """The moves at the heads that occur, those of the first head first."""
    known: Moves = {}
    size = 0

    def explore(head: Head) -> Iterable[tuple[State, tuple[Symbol, ...]]]:
        nonlocal size
        known[head] = [] if head[0] in (DONE, LOST) else find(head)
        size += sum(1 + len(move.push) for move in known[head])
        if size > LARGEST_DRAFT:
            fault = f"the machine of this grammar has more than {LARGEST_DRAFT:,} moves and symbols"
            raise TooLarge(fault, fix="use fewer rules")
        return [(move.target, move.push) for move in known[head]]

    def rank(head: Head) -> tuple[bool, str, Any]:
        return head != start, str(head[0]), head[1]

    saturate(explore, [(start[0], (start[1],))])
    return {head: known[head] for head in sorted(known, key=rank)}


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
    if move.target in (DONE, LOST):
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
        if move.target in (DONE, LOST):
            return move
        push = (*move.push, hidden[head[1]]) if head[1] in hidden else move.push
        over = (None, *push)
        kept = [symbol for above, symbol in zip(over, push, strict=False) if above not in hidden]
        return move._replace(push=tuple(kept))

    return _change(moves, hide)


Kind = tuple[str, Hashable]
"""A state or a symbol: ("state", name) or ("symbol", name)."""
Roots = dict[Kind, Kind]
"""States and symbols that are merged, each with one that it is merged with."""


def _find(roots: Roots, one: Kind) -> Kind:
    while one in roots:
        one = roots[one]
    return one


def _unite(
    roots: Roots, rows: dict[Kind, dict[Kind, list[DraftMove]]], one: Kind, other: Kind
) -> bool:
    """Merge two and all that they lead to; return False if that meets a difference."""
    waiting = [(one, other)]
    while waiting:
        left, right = (_find(roots, each) for each in waiting.pop())
        if left == right:
            continue
        if {DONE, LOST} & {left[1], right[1]}:
            return False
        mine = {_find(roots, at): found for at, found in rows.get(left, {}).items()}
        for at, theirs in rows.get(right, {}).items():
            ours = mine.get(_find(roots, at), theirs)
            if list(map(_outline, ours)) != list(map(_outline, theirs)):
                return False
            for first, second in zip(ours, theirs, strict=True):
                waiting.append((("state", first.target), ("state", second.target)))
                for above, below in zip(first.push, second.push, strict=True):
                    waiting.append((("symbol", above), ("symbol", below)))
        roots[right] = left
        rows[left] = {**rows.get(right, {}), **rows.get(left, {})}
    return True


def _outline(move: DraftMove) -> tuple[int | None, float, int]:
    """The part of a move that must be equal for it to be merged with another."""
    return move.labels, move.reward, len(move.push)


def _merge(moves: Moves) -> Moves:
    """Merge symbols, then states, that do the same wherever both occur."""
    rows: dict[Kind, dict[Kind, list[DraftMove]]] = {}
    for (state, symbol), found in moves.items():
        rows.setdefault(("symbol", symbol), {})["state", state] = found
        rows.setdefault(("state", state), {})["symbol", symbol] = found
    roots: Roots = {}
    merged = rows
    for one, other in sorted(combinations(rows, 2), key=lambda pair: pair[0][0] == "state"):
        met = {one, other} & roots.keys()
        if one[0] == other[0] and not met and rows[one].keys() & rows[other].keys():
            trial = dict(roots), dict(merged)
            if _unite(*trial, one, other):
                roots, merged = trial

    def root(kind: str, name: Hashable) -> Any:
        return _find(roots, (kind, name))[1]

    return {
        (root("state", state), root("symbol", symbol)): [
            move._replace(
                target=root("state", move.target),
                push=tuple(root("symbol", one) for one in move.push),
            )
            for move in found
        ]
        for (state, symbol), found in moves.items()
    }
