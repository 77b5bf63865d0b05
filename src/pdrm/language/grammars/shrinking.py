"""Making a machine small without changing a word or a reward.

Silent moves are joined to the moves before them, or put off until something is read; a state and a top that do the same as another state with
another top lead there; symbols that do the same wherever both occur become one, and so do states; what is not reached goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from pdrm.language.grammars.draft import Draft, Move
from pdrm.language.task_text import DONE, LOST, add_rewards
from pdrm.limits import spend

_Head = tuple[str, int]
"""A state and the symbol on top."""
FEW_MOVES, MOST_ROUNDS = 1_000, 6
"""Moves up to which all is tried, and how often; a larger machine is made smaller, but not as small as can be."""
_LAST = (DONE, LOST)
"""States in which nothing is read."""


def shrink(draft: Draft) -> Draft:
    """The same machine with fewer moves, symbols and states."""
    now = _shrink(draft)
    later = _shrink(Draft(_linger(now.moves), draft.names, draft.start))
    small = min(later, now, key=size_of)
    while len(draft.moves) <= FEW_MOVES and (fused := _fuse(small.moves)) is not None:
        smaller = _shrink(Draft(fused, draft.names, draft.start))
        if size_of(smaller) >= size_of(small):
            break
        small = smaller
    return small


def size_of(draft: Draft) -> int:
    """Its moves, symbols and states together."""
    symbols = {symbol for move in draft.moves for symbol in (move.top, *move.push)}
    return len(draft.moves) + len(symbols) + len({move.source for move in draft.moves})


def _shrink(draft: Draft) -> Draft:
    moves = draft.moves
    rounds = MOST_ROUNDS if len(moves) <= FEW_MOVES else 1
    for _ in range(rounds):
        reached = _reach(_end_early(_join(moves), draft.start), draft.start)
        smaller = _merge(_reach(_redirect(reached), draft.start), draft.names, draft.start)
        if smaller == moves:
            break
        moves = smaller
    return Draft(moves, draft.names, draft.start)


def _fuse(moves: list[Move]) -> list[Move] | None:
    """Make one symbol of two where the one is never without the other right below it; None where there are none."""
    followers: dict[int, set[int]] = {}
    for move in moves:
        for place, symbol in enumerate(move.push):
            after = move.push[place + 1] if place + 1 < len(move.push) else None
            if after is not None or symbol != move.top:
                followers.setdefault(symbol, set()).add(-1 if after is None else after)
    for symbol, found in followers.items():
        if symbol and len(found) == 1 and not found & {-1, symbol}:
            return [_fuse_in(move, symbol, next(iter(found))) for move in moves]
    return None


def _fuse_in(move: Move, symbol: int, below: int) -> Move:
    push = list(move.push) + [below] * (move.top == symbol)
    fused = [
        one for place, one in enumerate(push) if one != below or push[place - 1 : place] != [symbol]
    ]
    return move._replace(push=tuple(fused))


def _linger(moves: list[Move]) -> list[Move]:
    """Instead of a silent move that pays nothing and leads to where something is read, read it before that move."""
    by_head: dict[_Head, list[Move]] = {}
    for move in moves:
        by_head.setdefault((move.source, move.top), []).append(move)
    for head, here in list(by_head.items()):
        silent = here[0]
        while silent.letter is None and not silent.reward and silent.push:
            after = by_head.get((silent.target, silent.push[0]), [])
            if not after or silent.target == silent.source or after[0].letter is None:
                break
            rest = silent.push[1:]
            by_head[head] = [
                Move(silent.source, one.letter, silent.top, one.target, one.push + rest, one.reward)
                for one in after
            ]
            silent = by_head[head][0]
    return [move for here in by_head.values() for move in here]


def _join(moves: list[Move]) -> list[Move]:
    """Let each move make the silent ones that surely follow it."""
    silent = {(move.source, move.top): move for move in moves if move.letter is None}
    joined: list[Move] = []
    for move in moves:
        target, push, paid = move.target, move.push, [move.reward]
        seen: set[tuple[str, int]] = set()
        while push and (after := silent.get((target, push[0]))) and (target, push[0]) not in seen:
            spend(1)
            seen.add((target, push[0]))
            target, push = after.target, after.push + push[1:]
            paid.append(after.reward)
        if target in _LAST:
            push = (move.top,)  # nothing reads the stack any more
        joined.append(
            move._replace(
                target=target,
                push=push,
                reward=add_rewards(*paid) if len(paid) > 1 else move.reward,
            )
        )
    return joined


class _Reaching:
    """Which states and tops occur. A symbol below the top comes up when all above it can be gone."""

    def __init__(self, moves: list[Move]) -> None:
        self.moves: dict[_Head, list[Move]] = {}
        for move in moves:
            self.moves.setdefault((move.source, move.top), []).append(move)
        self.waiting: dict[_Head, set[tuple[_Head, tuple[int, ...]]]] = {}
        """For each head that occurs, who waits for its symbol to be gone: the head that pushed it, and what comes up then."""
        self.gone: dict[_Head, set[str]] = {}
        """The states in which the symbol of a head can be gone."""

    def heads_from(self, start: _Head) -> set[_Head]:
        todo: list[tuple[str, _Head, tuple[int, ...]]] = [(start[0], ("", -1), (start[1],))]
        while todo:
            spend(1)
            state, origin, below = todo.pop()
            if not below:
                if state not in self.gone.setdefault(origin, set()):
                    self.gone[origin].add(state)
                    todo += [(state, who, rest) for who, rest in self.waiting.get(origin, ())]
                continue
            head, asks = (state, below[0]), (origin, below[1:])
            if head not in self.waiting:
                todo += [(move.target, head, move.push) for move in self.moves.get(head, ())]
            if asks not in self.waiting.setdefault(head, set()):
                self.waiting[head].add(asks)
                todo += [(after, *asks) for after in self.gone.get(head, ())]
        return set(self.waiting)


def _end_early(moves: list[Move], start: str) -> list[Move]:
    """Lead to the end at once where a state only takes symbols off the stack, silently, until it gets there."""
    paid: dict[str, set[float]] = {}
    for move in moves:
        ends = move.letter is None and move.target in _LAST
        goes_on = (
            move.letter is None and move.target == move.source and not move.push and not move.reward
        )
        paid.setdefault(move.source, set()).update(
            [move.reward] if ends and move.target == DONE else [] if goes_on else [0, 1]
        )
    for state, _ in _Reaching(moves).heads_from((start, 0)) - {
        (move.source, move.top) for move in moves
    }:
        paid.pop(state, None)  # it may stop on the way
    sure = {state: rewards.pop() for state, rewards in paid.items() if len(rewards) == 1}
    return [
        move._replace(
            target=DONE, push=(move.top,), reward=add_rewards(move.reward, sure[move.target])
        )
        if move.target in sure
        else move
        for move in moves
    ]


def _reach(moves: list[Move], start: str) -> list[Move]:
    """The moves from a state and a top that occur."""
    heads = _Reaching(moves).heads_from((start, 0))
    return [move for move in moves if (move.source, move.top) in heads]


def _redirect(moves: list[Move]) -> list[Move]:
    """Where a state with one top does the same as another state with another top, lead to the one that is used more."""
    by_head: dict[_Head, list[Move]] = {}
    for move in moves:
        by_head.setdefault((move.source, move.top), []).append(move)
    classes: dict[_Head, int] = dict.fromkeys(by_head, 0)
    count = 1
    while True:
        keys: dict[_Head, Hashable] = {}
        for head, here in by_head.items():
            does = set()
            for move in here:
                spend(1)
                known = classes.get((move.target, move.push[0])) if move.push else None
                leads: Hashable = (
                    (known, move.push[1:]) if known is not None else (move.target, move.push)
                )
                does.add((move.letter, move.reward, move.target if move.target in _LAST else leads))
            keys[head] = classes[head], frozenset(does)
        numbers = _number(keys.values())
        classes = dict(zip(keys, numbers, strict=True))
        if len(set(numbers)) == count:
            break
        count = len(set(numbers))
    uses = Counter(symbol for move in moves for symbol in (move.top, *move.push))
    best: dict[int, _Head] = {}
    for head in sorted(by_head, key=lambda one: -uses[one[1]]):
        best.setdefault(classes[head], head)

    def lead(move: Move) -> Move:
        head = (move.target, move.push[0]) if move.push else None
        if head is None or head not in classes:
            return move
        state, symbol = best[classes[head]]
        return move._replace(target=state, push=(symbol, *move.push[1:]))

    return [lead(move) for move in moves]


def _number(keys: Iterable[Hashable]) -> list[int]:
    """Equal keys as equal numbers."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


class _Alike:
    """Symbols and states that may be one: wherever both occur, they do the same, if those they lead to may be one, too."""

    def __init__(self, moves: list[Move], names: list[tuple[str, ...]], start: str) -> None:
        self.names, self.start = names, start
        self.parent: dict[int | str, int | str] = {}
        self.heads: dict[int | str, dict[int | str, dict[int | None, Move]]] = {}
        """By symbol and state, and by state and symbol, the moves of each letter."""
        for move in moves:
            self.heads.setdefault(move.top, {}).setdefault(move.source, {})[move.letter] = move
            self.heads.setdefault(move.source, {}).setdefault(move.top, {})[move.letter] = move
        for move in moves:
            symbols: tuple[int | str, ...] = (*move.push, move.top)
            self.parent |= {one: one for one in (*symbols, move.target, move.source)}

    def find(self, one: int | str) -> int | str:
        while self.parent[one] != one:
            one = self.parent[one]
        return one

    def unite(self, one: int | str, other: int | str) -> bool:
        """Make two one, and all that must be one then; undone where that cannot be."""
        before, heads = dict(self.parent), dict(self.heads)
        waiting = [(one, other)]
        while waiting:
            left, right = (self.find(each) for each in waiting.pop())
            if left == right:
                continue
            if type(left) is not type(right) or {left, right} & set(_LAST):
                break
            if right == self.start or (
                isinstance(left, int) and isinstance(right, int) and right < left
            ):
                left, right = right, left
            mine, yours = self.heads.get(left, {}), self.heads.get(right, {})
            demands = [self._compare(at, mine, yours) for at in yours]
            if None in demands:
                break
            waiting += [pair for demand in demands if demand is not None for pair in demand]
            self.parent[right] = left
            self.heads[left] = {**yours, **mine}
        else:
            return True
        self.parent, self.heads = before, heads
        return False

    def _compare(
        self,
        at: int | str,
        mine: dict[int | str, dict[int | None, Move]],
        yours: dict[int | str, dict[int | None, Move]],
    ) -> list[tuple[int | str, int | str]] | None:
        """The pairs that must be one if two do the same at a place; None where they do not."""
        spend(1)
        found = self.find(at)
        same = (
            at if at in mine else next((place for place in mine if self.find(place) == found), None)
        )
        if same is None:
            return []
        if mine[same].keys() != yours[at].keys():
            return None
        pairs: list[tuple[int | str, int | str]] = []
        for letter, move in mine[same].items():
            other = yours[at][letter]
            if move.reward != other.reward or len(move.push) != len(other.push):
                return None
            pairs += [(move.target, other.target), *zip(move.push, other.push, strict=True)]
        return pairs

    def worth_trying(self, one: int | str, other: int | str) -> bool:
        """Whether they do something at the same place, or are called the same: else one name would mean two things."""
        if (
            isinstance(one, int)
            and isinstance(other, int)
            and self.names[one][0] == self.names[other][0]
        ):
            return True
        return bool(self.heads.get(one, {}).keys() & self.heads.get(other, {}).keys())


def _merge(moves: list[Move], names: list[tuple[str, ...]], start: str) -> list[Move]:
    """Make one of symbols that do the same wherever both occur, and of such states."""
    alike = _Alike(moves, names, start)
    symbols: list[int | str] = [*sorted(one for one in alike.parent if isinstance(one, int))]
    states: list[int | str] = [one for one in alike.parent if isinstance(one, str)]
    for group in (symbols, states):
        for number, other in enumerate(group):
            for one in group[:number]:
                spend(1)
                if (
                    alike.find(one) == one
                    and alike.find(other) == other
                    and alike.worth_trying(one, other)
                ):
                    alike.unite(one, other)

    def state(one: str) -> str:
        return str(alike.find(one))

    def symbol(one: int) -> int:
        return int(alike.find(one))

    return list(
        dict.fromkeys(
            Move(
                state(one.source),
                one.letter,
                symbol(one.top),
                state(one.target),
                tuple(map(symbol, one.push)),
                one.reward,
            )
            for one in moves
        )
    )
