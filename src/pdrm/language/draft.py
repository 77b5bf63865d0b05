"""A machine in the making: moves over letters and numbered symbols, made small before it becomes a pushdown reward machine.

What `shrink` does changes no reward and no word: silent moves are joined to the moves before them, symbols and states that behave alike
become one, and what is not reached goes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from pdrm.language.productions import Letters
from pdrm.language.task_text import DONE, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.limits import spend
from pdrm.machines.guards import SILENT, Guard
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Otherwise, Stack, Transition
from pdrm.machines.wellformed import NAME, RESERVED


class Move(NamedTuple):
    """A rule: letter None is silent; the push has the new top first."""

    source: str
    letter: int | None
    top: int
    target: str
    push: tuple[int, ...]
    reward: float


@dataclass(slots=True)
class Draft:
    """Moves, what each symbol may be called (the bottom symbol is 0), and the state it begins in."""

    moves: list[Move]
    names: list[tuple[str, ...]]
    start: str


# --- Making it small


def shrink(draft: Draft) -> Draft:
    """The same machine with fewer moves, symbols and states."""
    moves = draft.moves
    while True:
        smaller = _merge(_reach(_join(moves), draft.start), draft.names, draft.start)
        if smaller == moves:
            return Draft(moves, draft.names, draft.start)
        moves = smaller


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
        joined.append(
            move._replace(target=target, push=push, reward=add_rewards(*paid) if len(paid) > 1 else move.reward)
        )
    return joined


_Head = tuple[str, int]


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


def _reach(moves: list[Move], start: str) -> list[Move]:
    """The moves from a state and a top that occur."""
    heads = _Reaching(moves).heads_from((start, 0))
    return [move for move in moves if (move.source, move.top) in heads]


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
            if type(left) is not type(right) or {left, right} & {DONE, LOST}:
                break
            if right == self.start or (isinstance(left, int) and isinstance(right, int) and right < left):
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
        same = next((place for place in mine if self.find(place) == self.find(at)), None)
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
        if isinstance(one, int) and isinstance(other, int) and self.names[one][0] == self.names[other][0]:
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
                if alike.find(one) == one and alike.find(other) == other and alike.worth_trying(one, other):
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


# --- Names and rules

SIGNS = str.maketrans(
    {"&": "·", "|": "∨", "!": "¬", "+": "⁺", "(": "⟨", ")": "⟩", "{": "⟨", "}": "⟩", ",": "·", '"': None}
)


def _call(draft: Draft) -> dict[int, str]:
    """A name for each symbol that occurs: the first of those it may have that no other has taken."""
    used = {0: "#"}
    taken = {"#", ANY, NONE, *RESERVED}
    occurring = dict.fromkeys(symbol for move in draft.moves for symbol in (move.top, *move.push))
    wanted = Counter(draft.names[symbol][0] for symbol in occurring)
    for symbol in occurring:
        if symbol in used:
            continue
        first, *others = draft.names[symbol]
        options = [first, *others] if wanted[first] == 1 else [*others, first]
        names = [name for name in map(_clean, options) if name not in taken] or [_clean(options[-1])]
        name, number = names[0], 2
        while name in taken:
            name, number = f"{names[0]}.{number}", number + 1
        taken.add(name)
        used[symbol] = name
    return used


def _clean(name: str) -> str:
    """A text as the language writes names."""
    short = re.sub(r"\s+", ".", name.translate(SIGNS).replace(" · ", "·").replace(" ∨ ", "∨"))[:60].strip("-.")
    return short if NAME.fullmatch(short) else re.sub(r"[^\w*?·¬∨⟨⟩⁺.…]", "", short) or "part"


def build(draft: Draft, letters: Letters, options: TaskOptions, name: str) -> PushdownRewardMachine:
    """The pushdown reward machine of a draft: moves with the same effect become one rule, or one for any top."""
    called = _call(draft)
    rules = _write(draft, letters, {**called, -1: ANY}, options)
    sources = list(dict.fromkeys([draft.start, *(rule.source for rule in rules)]))
    final = (DONE,) if options.fail is None or options.fail == IGNORE else (DONE, LOST)
    if options.fail == IGNORE:
        otherwise, states = Otherwise.stay(options.step), sources
    else:
        otherwise = Otherwise.go(LOST, add_rewards(options.step, options.fail or 0.0))  # type: ignore[arg-type]
        states = sources if options.fail is not None else [*sources, LOST]
        if letters.others:
            reading = dict.fromkeys(rule.source for rule in rules if not rule.silent)
            rules += [Transition(state, state, letters.pass_over(), ANY, (ANY,), options.step) for state in reading]
    stack = tuple(called.values())
    alphabet = letters.alphabet
    return PushdownRewardMachine(
        name, alphabet.events, stack, draft.start, final, otherwise, tuple(rules), alphabet.exclusive, tuple(states)
    )


def _write(draft: Draft, letters: Letters, called: dict[int, str], options: TaskOptions) -> list[Transition]:
    """The rules: letters with the same effect are one guard, and tops with the same effect one rule with `z`."""
    read: dict[tuple[str, str, str, Stack, float], set[int]] = {}
    tops: dict[str, set[int]] = {}
    at: dict[tuple[str, int | None], dict[tuple[str, tuple[int, ...], float], set[int]]] = {}
    for move in draft.moves:
        keeps = move.push[-1:] == (move.top,)
        effect = (move.target, (*move.push[:-1], -1) if keeps else move.push, move.reward)
        at.setdefault((move.source, move.letter), {}).setdefault(effect, set()).add(move.top)
        if move.letter is not None:
            tops.setdefault(move.source, set()).add(move.top)
    for (source, letter), effects in at.items():
        taken = {top for found in effects.values() for top in found}
        missing = tops.get(source, set()) - taken
        most = max(effects.values(), key=len)
        for (target, push, reward), found in effects.items():
            any_top = letter is not None and found is most and len(found) > 1 + len(missing)
            for top in [-1] if any_top else found:
                words = tuple(called[top if one == -1 else one] for one in push)
                read.setdefault((source, called[top], target, words, reward), set()).add(
                    -1 if letter is None else letter
                )
            for top in missing if any_top else ():
                fails = options.fail == IGNORE
                paid = options.step if fails or options.fail is None else add_rewards(options.step, options.fail)  # type: ignore[arg-type]
                wrong = (source, called[top], source if fails else LOST, (called[top],), paid)
                read.setdefault(wrong, set()).add(letter or 0)
    rules = []
    for (source, look, target, words, reward), held in read.items():
        guard: Guard = SILENT if -1 in held else letters.guard_of(frozenset(held))
        rules.append(Transition(source, target, guard, look, words, reward))
    return rules
