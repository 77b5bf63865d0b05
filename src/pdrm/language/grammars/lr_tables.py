"""LR(1) automata: the states of a bottom-up parser, with what each does at each letter.

An item is a production with a dot; a state is items, each with the letters that may follow it. States with the same items may become one
state with more followers (LALR(1)). As long as no two are merged that differ in whether the *word may end* after an item, the state on top
of the stack says at once whether the word read so far is in the language, however deep the reductions that would show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pdrm.errors import TooLarge
from pdrm.language.grammars.productions import (
    Letters,
    Production,
    Productions,
    first_letters,
    first_of,
)
from pdrm.limits import spend

NO_MORE = -1
"""In the place of a letter: the end of a word."""

Item = tuple[int, int]
"""The number of a production, and how many symbols of it are before the dot."""
Follow = dict[Item, frozenset[int]]


@dataclass(slots=True)
class State:
    """Items with the letters that may follow them, and what is done: shift to a state, reduce by productions, go on after one."""

    kernel: Follow
    closure: Follow = field(default_factory=dict)
    shift: dict[int, int] = field(default_factory=dict)
    reduce: dict[int, list[int]] = field(default_factory=dict)
    goto: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Automaton:
    """The states, numbered breadth-first from the first; production 0 is the whole word."""

    grammar: Productions
    letters: Letters
    productions: list[Production]
    states: list[State]
    stops: frozenset[int]
    """The states in which the word is complete, so that nothing is read there any more."""
    knows_ends: bool
    """Whether the state on top, after all that it does without looking ahead, says that the word is complete."""

    def find_conflicts(self) -> list[tuple[int, int]]:
        """The states and letters where more than one thing could be done."""
        found: list[tuple[int, int]] = []
        for number, state in enumerate(self.states):
            for letter, ways in state.reduce.items():
                if len(ways) > 1 or letter in state.shift:
                    found.append((number, letter))
        return found


def looks_ahead(automaton: Automaton) -> bool:
    """Whether the next letter ever decides about a reduction."""
    return any(
        state.reduce
        and (
            number == 0
            or state.shift
            or len({way for ways in state.reduce.values() for way in ways}) > 1
        )
        for number, state in enumerate(automaton.states)
    )


NOT_AT_ALL, BY_ENDS, ALL = "not at all", "by ends", "all"
"""How states are merged: none; those with the same items after which the word may end; all with the same items."""


def automate(grammar: Productions, letters: Letters, *, merge: str, most: int) -> Automaton:
    """The automaton of a grammar with at most so many states; `TooLarge` beyond them."""
    return _Automating(grammar, letters, merge, most).automaton()


class _Automating:
    def __init__(self, grammar: Productions, letters: Letters, merge: str, most: int) -> None:
        self.grammar, self.letters, self.merge, self.most = grammar, letters, merge, most
        whole = (grammar.start,) if grammar.end is None else (grammar.start, grammar.end)
        self.productions = [
            Production(len(grammar.of), whole),
            *(one for of in grammar.of for one in of),
        ]
        self.of: dict[int, list[int]] = {}
        for number, production in enumerate(self.productions):
            self.of.setdefault(production.left, []).append(number)
        self.first = first_letters(grammar, list(letters.of))
        self.states: list[State] = []
        self.numbers: dict[object, int] = {}
        self.waiting: list[int] = []
        self.begins = {0}
        """The states that can be on top before anything is read: there the word goes on, even where it could end."""

    def automaton(self) -> Automaton:
        self._add({(0, 0): frozenset([NO_MORE])})
        while self.waiting:
            self._finish(self.waiting.pop(0))
        ends = {
            number for number, state in enumerate(self.states) if number and NO_MORE in state.reduce
        }
        knows = True
        if self.merge == ALL:
            last = self.states[0].goto[self.grammar.start] if self.grammar.end is None else None
            stops = {number for number in ends if 0 in self.states[number].reduce[NO_MORE]}
            knows = all(map(self._single, ends)) and (last is None or stops == {last})
            ends = stops
        return Automaton(
            self.grammar, self.letters, self.productions, self.states, frozenset(ends), knows
        )

    def _single(self, number: int) -> bool:
        """Whether there is one thing to do in a state, whatever comes."""
        state = self.states[number]
        return not state.shift and len({way for ways in state.reduce.values() for way in ways}) == 1

    def _add(self, kernel: Follow) -> int:
        """The number of the state with this kernel: a new one, or one that it is merged with."""
        key: object
        if self.merge == ALL:
            key = frozenset(kernel)
        elif self.merge == BY_ENDS:
            key = frozenset((item, NO_MORE in follow) for item, follow in kernel.items())
        else:
            key = frozenset(kernel.items())
        number = self.numbers.setdefault(key, len(self.states))
        if number == len(self.states):
            if number >= self.most:
                raise TooLarge(
                    f"reading this grammar bottom-up takes more than {self.most:,} states",
                    fix="use fewer rules",
                )
            self.states.append(State(dict(kernel)))
            self.waiting.append(number)
            return number
        state = self.states[number]
        grown = {item: state.kernel[item] | follow for item, follow in kernel.items()}
        if grown != state.kernel:
            state.kernel = grown
            if number not in self.waiting:
                self.waiting.append(number)
        return number

    def _close(self, kernel: Follow) -> Follow:
        """The items of a state: with what may come next, all that it can begin with."""
        closure = dict(kernel)
        waiting = list(kernel)
        while waiting:
            item = waiting.pop()
            right = self.productions[item[0]].right
            if item[1] == len(right) or self.grammar.is_terminal(right[item[1]]):
                continue
            rest = right[item[1] + 1 :]
            follow = first_of(self.grammar, self.first, rest)
            if all(self.grammar.nullable[part] for part in rest):
                follow |= closure[item]
            for number in self.of[right[item[1]]]:
                spend(1 + len(follow) // 16)
                new = (number, 0)
                known = closure.get(new)
                if known is None or not follow <= known:
                    closure[new] = follow if known is None else known | follow
                    waiting.append(new)
        return closure

    def _finish(self, number: int) -> None:
        """Find out what is done in a state, and the states that it leads to."""
        state = self.states[number]
        state.closure = self._close(state.kernel)
        state.shift, state.reduce, state.goto = {}, {}, {}
        for item, follow in state.closure.items():
            if item[1] == len(self.productions[item[0]].right):
                for letter in sorted(follow):
                    state.reduce.setdefault(letter, []).append(item[0])
        by_letter, after = self._move_on(state.closure)
        if NO_MORE in state.reduce and number not in self.begins and self.merge != ALL:
            # The word is complete: all that is left is to reduce.
            state.reduce, by_letter = {NO_MORE: state.reduce[NO_MORE]}, {}
            only = frozenset([NO_MORE])
            _, after = self._move_on(
                {item: only for item, follow in state.closure.items() if NO_MORE in follow}
            )
        for letter in sorted(by_letter):
            state.shift[letter] = self._add(by_letter[letter])
        for symbol in sorted(after):
            state.goto[symbol] = target = self._add(after[symbol])
            if (
                number in self.begins
                and self.grammar.nullable[symbol]
                and target not in self.begins
            ):
                self.begins.add(target)
                if target not in self.waiting:
                    self.waiting.append(target)

    def _move_on(self, items: Follow) -> tuple[dict[int, Follow], dict[int, Follow]]:
        """The items after each letter, and after each nonterminal."""
        by_letter: dict[int, Follow] = {}
        after: dict[int, Follow] = {}
        for item, follow in items.items():
            right = self.productions[item[0]].right
            if item[1] < len(right):
                symbol, moved = right[item[1]], (item[0], item[1] + 1)
                if self.grammar.is_terminal(symbol):
                    for letter in self.letters.of[symbol]:
                        by_letter.setdefault(letter, {})[moved] = follow
                else:
                    after.setdefault(symbol, {})[moved] = follow
        return by_letter, after


def accessing(automaton: Automaton) -> list[list[tuple[int, int]]]:
    """For each state, the states that lead to it, with the symbol in between (a terminal is its letter, below 0)."""
    found: list[list[tuple[int, int]]] = [[] for _ in automaton.states]
    for number, state in enumerate(automaton.states):
        for letter, target in state.shift.items():
            found[target].append((number, -1 - letter))
        for symbol, target in state.goto.items():
            found[target].append((number, symbol))
    return found


def below(before: list[list[tuple[int, int]]], states: Iterable[int]) -> set[int]:
    """The states that may be right below some states on the stack."""
    return {number for state in states for number, _ in before[state]}
