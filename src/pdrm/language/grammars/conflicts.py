"""Why a grammar cannot be decided: a shortest word with two derivations, or two words that begin alike and must be read differently.

Where a parser has a conflict, it is followed both ways at once, as parsers that allow for any grammar do. If both ways end with the same word,
that word is ambiguous. If none such is found, the words that each way leads to show how far ahead one would have to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice

from pdrm.language.grammars.lr_tables import NO_MORE, Automaton
from pdrm.language.grammars.productions import Production
from pdrm.limits import spend

MOST_TRIED = 20_000
"""Stacks that the search for an ambiguous word looks at."""
MOST_REDUCTIONS = 50
"""Reductions before one letter that are tried."""
LONGEST = 200
"""Events of a word at most."""

Tree = str
"""A derivation: `pair(open close)`."""
Word = tuple[int, ...]
Stack = tuple[tuple[int, Tree], ...]
"""Parser states with what was read to get there, the top last."""
ACCEPTED = -1
"""On top of a stack: the whole word was read."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two readings that one event does not tell apart: how the words begin, the two words, and their derivations."""

    prefix: Word
    """The letters read before the parser must decide; the next one is all that it knows."""
    words: tuple[Word, Word]
    trees: tuple[Tree, Tree]
    production: Production
    """One that is in doubt."""

    @property
    def ambiguous(self) -> bool:
        """Whether one word has both derivations."""
        return self.words[0] == self.words[1]


def explain_conflict(automaton: Automaton) -> Conflict | None:
    """The conflict that is met after the fewest letters; None where no word that is short enough shows one."""
    return _Explaining(automaton).conflict()


class _Explaining:
    def __init__(self, automaton: Automaton) -> None:
        self.automaton, self.states = automaton, automaton.states
        self.names, self.productions = automaton.grammar.names, automaton.productions
        self.letters = range(len(automaton.letters.labels))
        self.yields = _shortest_words(automaton)
        self.tried = 0

    def conflict(self) -> Conflict | None:
        reached = self._reach()
        for number, letter in sorted(
            self.automaton.find_conflicts(), key=lambda one: len(reached.get(one[0], [()])[0])
        ):
            if number in reached:
                word, stack = reached[number]
                found = self._follow(word, letter, stack)
                if found is not None:
                    return found
        return None

    def _reach(self) -> dict[int, tuple[Word, Stack]]:
        """A shortest word that leads to each state, and the stack then."""
        found: dict[int, tuple[Word, Stack]] = {}
        waiting: list[tuple[int, int, Word, Stack]] = [(0, 0, (), ((0, ""),))]
        while waiting:
            length, number, word, stack = heappop(waiting)
            if number in found:
                continue
            found[number] = word, stack
            state = self.states[number]
            steps: list[tuple[int, Word, Tree]] = []
            steps += [
                (after, (letter,), self._example(letter)) for letter, after in state.shift.items()
            ]
            steps += [
                (after, *self.yields[symbol])
                for symbol, after in state.goto.items()
                if symbol in self.yields
            ]
            for after, more, tree in steps:
                spend(1 + len(stack) // 8)
                if after not in found and length + len(more) <= LONGEST:
                    heappush(
                        waiting, (length + len(more), after, word + more, (*stack, (after, tree)))
                    )
        return found

    def _example(self, letter: int) -> Tree:
        return self.automaton.letters.example(letter)

    # --- Both ways

    def _act(self, stack: Stack, letter: int) -> Iterator[tuple[Stack, bool]]:
        """The stacks after one thing that could be done at a letter, and whether that was to read it."""
        state = self.states[stack[-1][0]]
        if letter in state.shift:
            yield (*stack, (state.shift[letter], self._example(letter))), True
        for way in state.reduce.get(letter, ()):
            production = self.productions[way]
            rest = stack[: len(stack) - len(production.right)]
            inside = " ".join(tree for _, tree in stack[len(rest) :])
            if way == 0:
                yield (*rest, (ACCEPTED, inside)), True
            elif (after := self.states[rest[-1][0]].goto.get(production.left)) is not None:
                yield (*rest, (after, f"{self.names[production.left]}({inside})")), False

    def _read(self, stack: Stack, letter: int) -> Iterator[Stack]:
        """All stacks after a letter, by whatever reductions before it."""
        waiting = [stack]
        for one in islice(waiting, MOST_REDUCTIONS):
            spend(1)
            self.tried += 1
            for after, read in self._act(one, letter):
                if read:
                    yield after
                else:
                    waiting.append(after)

    def _follow(self, word: Word, letter: int, stack: Stack) -> Conflict | None:
        """Both ways of going on, to the same word if there is one."""
        reduced = self.productions[max(self.states[stack[-1][0]].reduce[letter])]
        ways = [
            [way] if read else list(self._read(way, letter))
            for way, read in islice(self._act(stack, letter), 2)
        ]
        read = (letter,)
        if letter == NO_MORE:
            if len(ways) == 2 and all(ways):
                return Conflict(word, (word, word), (ways[0][0][-1][1], ways[1][0][-1][1]), reduced)
            return None
        if (
            same := self._finish([(one, other) for one in ways[0] for other in ways[1]])
        ) is not None:
            rest, (one, other) = same
            whole = (*word, *read, *rest)
            return Conflict(word, (whole, whole), (one[-1][1], other[-1][1]), reduced)
        ended = [next(filter(None, map(self._complete, way)), None) for way in ways]
        if ended[0] is None or ended[1] is None:
            return None
        words = (*word, *read, *ended[0][0]), (*word, *read, *ended[1][0])
        return Conflict(word, words, (ended[0][1], ended[1][1]), reduced)

    def _finish(self, begun: list[tuple[Stack, Stack]]) -> tuple[Word, tuple[Stack, Stack]] | None:
        """A shortest way to read two stacks to their end with the same letters, if a short search finds one."""
        waiting: list[tuple[Word, tuple[Stack, Stack]]] = [((), stacks) for stacks in begun]
        known: set[tuple[tuple[int, ...], ...]] = set()
        until = self.tried + MOST_TRIED
        for word, (one, other) in waiting:
            if self.tried > until or len(word) > LONGEST:
                break
            key = tuple(tuple(number for number, _ in stack) for stack in (one, other))
            if key in known:
                continue
            known.add(key)
            if (left := next(self._read(one, NO_MORE), None)) and (
                right := next(self._read(other, NO_MORE), None)
            ):
                return word, (left, right)
            for letter in self.letters:
                seconds = list(islice(self._read(other, letter), 4))
                firsts = islice(self._read(one, letter), 4) if seconds else ()
                waiting += [
                    ((*word, letter), (first, second)) for first in firsts for second in seconds
                ]
        return None

    def _complete(self, stack: Stack) -> tuple[Word, Tree] | None:
        """A shortest word that a stack can be read to, and the derivation: what is begun is completed, the innermost first."""
        waiting: list[tuple[int, int, int, Word, Tree]] = [
            (0, len(stack) - 1, stack[-1][0], (), stack[-1][1])
        ]
        known: set[tuple[int, int]] = set()
        while waiting:
            length, depth, number, word, tree = heappop(waiting)
            if (depth, number) in known:
                continue
            known.add((depth, number))
            for way, dot in self.states[number].kernel:
                spend(1)
                production = self.productions[way]
                rest = production.right[dot:]
                more = [self.yields[symbol] for symbol in rest if symbol in self.yields]
                after = tuple(letter for one in more for letter in one[0])
                if len(more) < len(rest) or length + len(after) > LONGEST:
                    continue
                below = depth - dot
                trees = (
                    [one for _, one in stack[below + 1 : depth]] + [tree] + [one for _, one in more]
                )
                if way == 0:
                    return word + after, " ".join(trees)
                target = self.states[stack[below][0]].goto.get(production.left)
                if target is not None:
                    whole = f"{self.names[production.left]}({' '.join(trees)})"
                    heappush(waiting, (length + len(after), below + 1, target, word + after, whole))
        return None


def _shortest_words(automaton: Automaton) -> dict[int, tuple[Word, Tree]]:
    """A shortest word from each nonterminal, with its derivation; none where that is too long."""
    grammar = automaton.grammar
    found: dict[int, tuple[Word, Tree]] = {
        symbol: ((letter := min(automaton.letters.of[symbol]),), automaton.letters.example(letter))
        for symbol in range(grammar.start)
    }
    grew = True
    while grew:
        grew = False
        for production in automaton.productions[1:]:
            spend(1)
            if all(symbol in found for symbol in production.right):
                word = tuple(letter for symbol in production.right for letter in found[symbol][0])
                known = found.get(production.left)
                if len(word) <= LONGEST and (known is None or len(word) < len(known[0])):
                    inside = " ".join(found[symbol][1] for symbol in production.right)
                    found[production.left] = word, f"{grammar.names[production.left]}({inside})"
                    grew = True
    return found
