"""The reason why a grammar is not LR(1), as words that show it.

If a parser has a conflict, both ways are followed at once. If both can read the same word, that
word has two derivations: the grammar is ambiguous. Otherwise the shortest words that each way leads
to show how far ahead a parser would have to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

from pdrm.language.grammars.lr1 import Automaton
from pdrm.language.grammars.productions import LONGEST_WORD, NO_MORE, Production

MOST_CONFLICTS = 5
"""Conflicts that are looked at, those after the fewest letters first."""
MOST_TRIED = 10_000
"""Stacks that the search for an ambiguous word looks at."""
MOST_REDUCTIONS = 50
"""Reductions before one letter that are tried."""
MOST_STACKS = 4
"""Ways to read one letter that are followed."""

Word = tuple[int, ...]
Stack = tuple[tuple[int, str], ...]
"""Parser states with the derivation of what was read to get there, the top last."""
ACCEPTED = -1
"""On top of a stack: the whole word was read."""


class Conflict(NamedTuple):
    """Two derivations that one letter does not tell apart."""

    prefix: Word
    """The letters before the parser must decide; the next one is all that it knows."""
    words: tuple[Word, Word]
    """The same word twice if it has both derivations."""
    trees: tuple[str, str]
    production: Production
    """A production that is reduced in one of them."""

    @property
    def length(self) -> int:
        """The letters of both words."""
        return len(self.words[0]) + len(self.words[1])


def explain_conflict(automaton: Automaton) -> Conflict | None:
    """The conflict with the shortest words, an ambiguous one if there is any."""
    explanation = _Explanation(automaton)
    reached = explanation.reach()
    conflicts = [one for one in automaton.find_conflicts() if one[0] in reached]
    conflicts.sort(key=lambda one: len(reached[one[0]][0]))
    tried = [
        explanation.follow(*reached[number], letter)
        for number, letter in conflicts[:MOST_CONFLICTS]
    ]
    found = [one for one in tried if one is not None]
    return min(found, key=lambda one: (one.words[0] != one.words[1], one.length), default=None)


class _Explanation:
    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.states = automaton.states
        self.grammar = automaton.grammar
        letters = self.grammar.letters
        self.examples = [letters.example(letter) for letter in range(letters.count)]
        self.tried = 0

    def _derive(self, symbols: tuple[int, ...]) -> tuple[Word, list[str]] | None:
        """The shortest words of some symbols and their derivations; None if they are too long."""
        parts = [self.grammar.shortest[symbol] for symbol in symbols]
        if sum(part.length for part in parts) > LONGEST_WORD:
            return None
        word = tuple(letter for part in parts for letter in part.letters)
        return word, [part.tree for part in parts]

    def reach(self) -> dict[int, tuple[Word, Stack]]:
        """A shortest word that leads to each state, and the stack after it."""
        found: dict[int, tuple[Word, Stack]] = {}
        waiting: list[tuple[int, int, Word, Stack]] = [(0, 0, (), ((0, ""),))]
        while waiting:
            _, number, word, stack = heappop(waiting)
            if number in found:
                continue
            found[number] = word, stack
            state = self.states[number]
            steps: list[tuple[int, Word, str]] = [
                (after, (one,), self.examples[one]) for one, after in state.shift.items()
            ]
            for symbol, after in state.goto.items():
                if (derived := self._derive((symbol,))) is not None:
                    steps.append((after, derived[0], derived[1][0]))
            for after, more, tree in steps:
                longer = word + more
                if after not in found and len(longer) <= LONGEST_WORD:
                    heappush(waiting, (len(longer), after, longer, (*stack, (after, tree))))
        return found

    def _act(self, stack: Stack, letter: int) -> Iterator[tuple[Stack, bool]]:
        """The stacks after each thing that a letter allows, and if that was to read it."""
        state = self.states[stack[-1][0]]
        if letter in state.shift:
            yield (*stack, (state.shift[letter], self.examples[letter])), True
        for production in state.reduce.get(letter, ()):
            rest = stack[: len(stack) - len(production.right)]
            inside = " ".join(tree for _, tree in stack[len(rest) :])
            if production == self.automaton.whole:
                yield (*rest, (ACCEPTED, inside)), True
            elif (after := self.states[rest[-1][0]].goto.get(production.left)) is not None:
                name = self.grammar.names[production.left]
                yield (*rest, (after, f"{name}({inside})")), False

    def _read(self, stack: Stack, letter: int) -> Iterator[Stack]:
        """The stacks after a letter, by any reductions before it."""
        waiting = [stack]
        for one in islice(waiting, MOST_REDUCTIONS):
            self.tried += 1
            for after, read in self._act(one, letter):
                if read:
                    yield after
                else:
                    waiting.append(after)

    def follow(self, word: Word, stack: Stack, letter: int) -> Conflict | None:
        """Follow both ways, to the same word if there is one."""
        production = max(self.states[stack[-1][0]].reduce[letter])
        first, second = (
            [way] if read else list(self._read(way, letter))
            for way, read in islice(self._act(stack, letter), 2)
        )
        start = word if letter == NO_MORE else (*word, letter)
        pairs = [(one, other) for one in first for other in second]
        same = self._finish(pairs, done=letter == NO_MORE)
        if same is not None:
            whole = start + same[0]
            return Conflict(word, (whole, whole), same[1], production)
        ends = [next(filter(None, map(self._complete, way)), None) for way in (first, second)]
        if ends[0] is None or ends[1] is None:
            return None
        words = start + ends[0][0], start + ends[1][0]
        return Conflict(word, words, (ends[0][1], ends[1][1]), production)

    def _finish(
        self, pairs: list[tuple[Stack, Stack]], done: bool
    ) -> tuple[Word, tuple[str, str]] | None:
        """A shortest way to read two stacks to the end with the same letters, and the derivations."""
        if done:
            return ((), (pairs[0][0][-1][1], pairs[0][1][-1][1])) if pairs else None
        waiting: list[tuple[Word, tuple[Stack, Stack]]] = [((), stacks) for stacks in pairs]
        known: set[tuple[tuple[int, ...], ...]] = set()
        until = self.tried + MOST_TRIED
        for word, stacks in waiting:
            if self.tried > until or len(word) > LONGEST_WORD:
                break
            key = tuple(tuple(number for number, _ in stack) for stack in stacks)
            if key in known:
                continue
            known.add(key)
            ends = [next(self._read(stack, NO_MORE), None) for stack in stacks]
            if ends[0] is not None and ends[1] is not None:
                return word, (ends[0][-1][1], ends[1][-1][1])
            for letter in range(len(self.examples)):
                seconds = list(islice(self._read(stacks[1], letter), MOST_STACKS))
                firsts = islice(self._read(stacks[0], letter), MOST_STACKS) if seconds else ()
                longer = (*word, letter)
                waiting += [(longer, (one, other)) for one in firsts for other in seconds]
        return None

    def _complete(self, stack: Stack) -> tuple[Word, str] | None:
        """A shortest way to complete what is begun, the innermost first, and the derivation."""
        begin = (0, len(stack) - 1, stack[-1][0], (), stack[-1][1])
        waiting: list[tuple[int, int, int, Word, str]] = [begin]
        known: set[tuple[int, int]] = set()
        while waiting:
            _, depth, number, word, tree = heappop(waiting)
            if number == ACCEPTED:
                return word, tree
            if (depth, number) in known:
                continue
            known.add((depth, number))
            for production, dot in self.states[number].kernel:
                rest = self._derive(production.right[dot:])
                if rest is None or len(word + rest[0]) > LONGEST_WORD:
                    continue
                longer = word + rest[0]
                below = depth - dot
                read = [one for _, one in stack[below + 1 : depth]]
                inside = " ".join([*read, tree, *rest[1]])
                if production == self.automaton.whole:
                    heappush(waiting, (len(longer), 0, ACCEPTED, longer, inside))
                    continue
                target = self.states[stack[below][0]].goto.get(production.left)
                if target is not None:
                    whole = f"{self.grammar.names[production.left]}({inside})"
                    heappush(waiting, (len(longer), below + 1, target, longer, whole))
        return None
