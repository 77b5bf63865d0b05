"""Making a draft small without changing a word or a reward.

Silent moves join the moves before them; heads that do the same become one; a symbol below another
that never occurs without it goes; symbols that do the same wherever both occur become one, and so do
states. Only heads that occur are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import combinations, zip_longest
from typing import Any

from pdrm.errors import TooLarge
from pdrm.language.grammars.draft import Draft, DraftMove, Head, Moves, State, Symbol, count_uses
from pdrm.language.refining import refine
from pdrm.language.task_text import DONE, LOST, add_rewards
from pdrm.limits import MOST_RULES
from pdrm.machines.reach import saturate


def shrink(draft: Draft) -> Moves:
    """The moves at the heads that occur, made fewer without changing a word or a reward."""
    moves = _simplify(_reach(draft.moves, draft.start), draft.start)
    skipped = {head: _skip_silent(moves, head) for head in moves}
    small = min((moves, _simplify(skipped, draft.start)), key=_size)
    while _size(smaller := _simplify(_fuse(small, draft.start), draft.start)) < _size(small):
        small = smaller
    return {head: found for head, found in small.items() if found}


def _size(moves: Moves) -> int:
    """The number of moves, symbols and states together."""
    states = {state for state, _ in moves}
    return sum(map(len, moves.values())) + len(count_uses(moves)) + len(states)


def _change(moves: Moves, change: Callable[[Head, DraftMove], DraftMove]) -> Moves:
    return {head: [change(head, move) for move in found] for head, found in moves.items()}


def _simplify(moves: Moves, start: Head) -> Moves:
    """Join what follows silently, and use one head, symbol or state for all that do the same."""
    joined = _change(moves, partial(_join, moves))
    ended = _end_early(_reach(joined.__getitem__, start))
    redirected = _redirect(_reach(ended.__getitem__, start))
    return _merge(_reach(redirected.__getitem__, start))


def _reach(find: Callable[[Head], list[DraftMove]], start: Head) -> Moves:
    """The moves at the heads that occur."""
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

    saturate(explore, start)
    return {head: known[head] for head in sorted(known, key=partial(_rank, start))}


def _rank(start: Head, head: Head) -> tuple[bool, str, Any]:
    """The order of heads in a machine, the first head first."""
    return head != start, str(head[0]), head[1]


LARGEST_DRAFT = 10 * MOST_RULES
"""Moves, and symbols that they push, at most."""


def _silent(moves: Moves, head: tuple[Any, ...]) -> DraftMove | None:
    """The silent move at a head, which is then its only one."""
    found = moves.get((head[0], head[1])) if head[1:] else None
    return next((move for move in found or () if move.letter is None), None)


def _join(moves: Moves, head: Head, move: DraftMove) -> DraftMove:
    """Let a move make the silent moves that surely follow it."""
    seen: set[Hashable] = set()
    while (after := (move.target, *move.push[:1])) not in seen and (one := _silent(moves, after)):
        seen.add(after)
        paid = add_rewards(move.reward, one.reward)
        move = DraftMove(move.letter, one.target, one.push + move.push[1:], paid)
    if move.target in (DONE, LOST):
        return move._replace(push=(head[1],))  # nothing looks at the stack any more
    return move


def _skip_silent(moves: Moves, head: Head) -> list[DraftMove]:
    """Instead of a silent move that pays nothing, read at once what is read after it."""
    silent = _silent(moves, head)
    if silent is None or silent.reward:
        return moves[head]
    after = (silent.target, *silent.push[:1])
    if not moves.get(after) or _silent(moves, after):
        return moves[head]
    return [move._replace(push=move.push + silent.push[1:]) for move in moves[after]]


def _end_early(moves: Moves) -> Moves:
    """End at once instead of entering a state that only pops, silently, until it ends."""
    paid: dict[State, set[float | None]] = {}
    for head, found in moves.items():
        if found != [DraftMove(None, head[0], (), 0.0)]:
            ends = bool(found) and found[0].letter is None and found[0].target == DONE
            paid.setdefault(head[0], set()).add(found[0].reward if ends else None)

    def end(head: Head, move: DraftMove) -> DraftMove:
        (reward, *others) = paid.get(move.target, {None})
        if reward is None or others:
            return move
        return DraftMove(move.letter, DONE, (head[1],), add_rewards(move.reward, reward))

    return _change(moves, end)


def _redirect(moves: Moves) -> Moves:
    """If heads do the same, lead to the one whose symbol is used most."""

    def describe(classes: dict[Head, int]) -> dict[Head, Hashable]:
        found: dict[Head, Hashable] = {}
        for head in moves:
            does = set()
            for move in moves[head]:
                after = (move.target, *move.push[:1])
                ends = move.target in (DONE, LOST)
                leads = move.target if ends else (classes.get(after, after), move.push[1:])
                does.add((move.letter, move.reward, leads))
            found[head] = frozenset(does)
        return found

    classes = refine(describe)
    uses = count_uses(moves)
    best: dict[int, Head] = {}
    for head in sorted(moves, key=lambda head: -uses[head[1]]):
        best.setdefault(classes[head], head)

    def redirect(_: Head, move: DraftMove) -> DraftMove:
        after = (move.target, *move.push[:1])
        if after not in moves or not moves[after]:
            return move
        state, symbol = best[classes[after]]
        return move._replace(target=state, push=(symbol, *move.push[1:]))

    return _change(moves, redirect)


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


class _Merging:
    """States and symbols that are merged, each with its root, and the moves of the roots."""

    def __init__(
        self, roots: dict[Kind, Kind], rows: dict[Kind, dict[Kind, list[DraftMove]]]
    ) -> None:
        self.roots = roots
        self.rows = rows

    def find(self, kind: str, name: Hashable) -> Hashable:
        one = kind, name
        while one in self.roots:
            one = self.roots[one]
        return one[1]

    def unite(self, one: Kind, other: Kind) -> bool:
        """Merge two and all that they lead to; return False if that meets a difference."""
        waiting = [(one, other)]
        while waiting:
            (kind, one_name), (_, other_name) = waiting.pop()
            left = kind, self.find(kind, one_name)
            right = kind, self.find(kind, other_name)
            if left == right:
                continue
            if {DONE, LOST} & {left[1], right[1]}:
                return False
            mine = {self.find(*at): found for at, found in self.rows.get(left, {}).items()}
            for at, theirs in self.rows.get(right, {}).items():
                ours = mine.get(self.find(*at), theirs)
                if list(map(_outline, ours)) != list(map(_outline, theirs)):
                    return False
                for first, second in zip(ours, theirs, strict=True):
                    waiting.append((("state", first.target), ("state", second.target)))
                    for above, below in zip(first.push, second.push, strict=True):
                        waiting.append((("symbol", above), ("symbol", below)))
            self.roots[right] = left
            self.rows[left] = {**self.rows.get(right, {}), **self.rows.get(left, {})}
        return True


def _outline(move: DraftMove) -> tuple[int | None, float, int]:
    """The part of a move that must be equal for it to be merged with another."""
    return move.letter, move.reward, len(move.push)


def _merge(moves: Moves) -> Moves:
    """Merge symbols, then states, that do the same wherever both occur."""
    rows: dict[Kind, dict[Kind, list[DraftMove]]] = {}
    for (state, symbol), found in moves.items():
        rows.setdefault(("symbol", symbol), {})["state", state] = found
        rows.setdefault(("state", state), {})["symbol", symbol] = found
    merging = _Merging({}, rows)
    for one, other in sorted(combinations(rows, 2), key=lambda pair: pair[0][0] == "state"):
        met = {one, other} & merging.roots.keys()
        if one[0] == other[0] and not met and rows[one].keys() & rows[other].keys():
            trial = _Merging(dict(merging.roots), dict(merging.rows))
            if trial.unite(one, other):
                merging = trial
    merged: Moves = {}
    for (state, symbol), found in moves.items():
        merged[merging.find("state", state), merging.find("symbol", symbol)] = [
            move._replace(
                target=merging.find("state", move.target),
                push=tuple(merging.find("symbol", one) for one in move.push),
            )
            for move in found
        ]
    return merged
