"""LR(1) parsers: the automaton of items, and the pushdown machine that reads bottom-up by it.

An item is a production with a dot; a state is items, each with the letters that may follow it
(its lookahead). States with the same items are merged (as in LALR(1)) only if they agree on the
items after which the word may end: then the state on top of the stack says at once whether the
word read so far is in the language, however deep the reductions that would show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pdrm.errors import BadGrammar, TooLarge
from pdrm.language.grammars.draft import Draft, DraftMove, Head, State, Symbol
from pdrm.language.grammars.productions import NO_MORE, Grammar, Production
from pdrm.language.task_text import DONE, IGNORE, LOST, TaskOptions, add_rewards

MOST_STATES = 2_000
"""States of a parser at most."""
READ = "read"

Item = tuple[Production, int]
"""A production, and the number of its symbols before the dot."""
Items = dict[Item, frozenset[int]]
"""Items with their lookahead."""


@dataclass(slots=True)
class ParserState:
    """Items, and what they do: shift a letter, reduce by productions, go to a state after a symbol."""

    kernel: Items
    closure: Items = field(default_factory=dict)
    shift: dict[int, int] = field(default_factory=dict)
    reduce: dict[int, list[Production]] = field(default_factory=dict)
    goto: dict[int, int] = field(default_factory=dict)

    def only_reduction(self) -> Production | None:
        """The production that is reduced whatever comes, if that is the only thing to do."""
        ways = [way for found in self.reduce.values() for way in found]
        return ways[0] if ways and not self.shift and ways.count(ways[0]) == len(ways) else None


class Automaton:
    """The states of the parser, the first one numbered 0. With `merge`, it has fewer states."""

    def __init__(self, grammar: Grammar, end: int | None, merge: bool) -> None:
        self.grammar = grammar
        self.merge = merge
        right = (grammar.start,) if end is None else (grammar.start, end)
        self.whole = Production(len(grammar.names), right, 0.0)
        """The production of the whole word."""
        self.states: list[ParserState] = []
        self.numbers: dict[object, int] = {}
        self.begins = {0}
        """States that can be on top before anything is read: there the empty word does not end."""
        self.waiting: list[int] = []
        self._add({(self.whole, 0): frozenset([NO_MORE])})
        while self.waiting:
            self._complete(self.waiting.pop(0))
        may_end = [n for n, state in enumerate(self.states) if n and NO_MORE in state.reduce]
        self.ends = set(may_end)
        """States in which the word is complete, so that no more is read."""
        self.knows_ends = True
        if merge:
            self.ends = {n for n in may_end if self.whole in self.states[n].reduce[NO_MORE]}
            alone = all(self.states[n].only_reduction() for n in may_end)
            self.knows_ends = alone and (
                end is not None or self.ends == {self.states[0].goto[grammar.start]}
            )

    def find_conflicts(self) -> list[tuple[int, int]]:
        """The states and letters with several things to do."""
        return [
            (number, letter)
            for number, state in enumerate(self.states)
            for letter, ways in state.reduce.items()
            if len(ways) > 1 or letter in state.shift
        ]

    def looks_ahead(self) -> bool:
        """Return True if the next letter ever decides about a reduction."""
        return any(
            state.reduce and (number == 0 or state.only_reduction() is None)
            for number, state in enumerate(self.states)
        )

    def _add(self, kernel: Items) -> int:
        """The number of the state with this kernel, which may be new, or grow."""
        key = frozenset((item, None if self.merge else follow) for item, follow in kernel.items())
        number = self.numbers.setdefault(key, len(self.states))
        if number == len(self.states):
            if number >= MOST_STATES:
                fault = f"reading this grammar bottom-up takes more than {MOST_STATES:,} states"
                raise TooLarge(fault, fix="use fewer rules")
            self.states.append(ParserState(kernel))
            self.waiting.append(number)
        known = self.states[number].kernel
        grown = {item: known[item] | follow for item, follow in kernel.items()}
        if grown != known:
            self.states[number].kernel = grown
            self._revisit(number)
        return number

    def _revisit(self, number: int) -> None:
        if number not in self.waiting:
            self.waiting.append(number)

    def _close(self, kernel: Items) -> Items:
        """A kernel with all items that its next symbols can begin with."""
        closure = dict(kernel)
        waiting = list(kernel)
        while waiting:
            production, dot = item = waiting.pop()
            rest = production.right[dot:]
            if not rest or self.grammar.is_terminal(rest[0]):
                continue
            follow = self.grammar.first_of(rest[1:])
            if self.grammar.all_nullable(rest[1:]):
                follow |= closure[item]
            for way in self.grammar.productions[rest[0]]:
                known = closure.get((way, 0))
                if known is None or not follow <= known:
                    closure[way, 0] = follow | (known or frozenset())
                    waiting.append((way, 0))
        return closure

    def _complete(self, number: int) -> None:
        """Find what a state does, and the states that it leads to."""
        state = self.states[number]
        state.closure = self._close(state.kernel)
        state.reduce = {}
        for (production, dot), follow in state.closure.items():
            if dot == len(production.right):
                for letter in sorted(follow):
                    state.reduce.setdefault(letter, []).append(production)
        items = state.closure
        ended = NO_MORE in state.reduce and number not in self.begins and not self.merge
        if ended:
            state.reduce = {NO_MORE: state.reduce[NO_MORE]}  # the word is complete
            only = frozenset([NO_MORE])
            items = {item: only for item, follow in items.items() if NO_MORE in follow}
        by_letter, by_symbol = self._advance(items)
        if ended:
            by_letter = {}
        state.shift = {letter: self._add(by_letter[letter]) for letter in sorted(by_letter)}
        state.goto = {symbol: self._add(by_symbol[symbol]) for symbol in sorted(by_symbol)}
        for symbol, target in state.goto.items():
            skipped = number in self.begins and self.grammar.is_nullable(symbol)
            if skipped and target not in self.begins:
                self.begins.add(target)
                self._revisit(target)

    def _advance(self, items: Items) -> tuple[dict[int, Items], dict[int, Items]]:
        """The items after each letter, and after each nonterminal."""
        by_letter: dict[int, Items] = {}
        by_symbol: dict[int, Items] = {}
        for (production, dot), follow in items.items():
            if dot == len(production.right):
                continue
            symbol = production.right[dot]
            if not self.grammar.is_terminal(symbol):
                by_symbol.setdefault(symbol, {})[production, dot + 1] = follow
                continue
            for letter in self.grammar.letters.of[symbol]:
                by_letter.setdefault(letter, {})[production, dot + 1] = follow
        return by_letter, by_symbol


# --- The machine


class Reduction(NamedTuple):
    """Being in the middle of a reduction: the nonterminal, the letter that decided it (None: none
    was read for it), and the number of symbols that are still to be popped."""

    left: int
    letter: int | None
    pops: int


def read_bottom_up(automaton: Automaton, options: TaskOptions) -> Draft:
    """The moves of a parser without conflicts."""
    return _BottomUp(automaton, options).draft()


class _BottomUp:
    """Stack symbols are states of the parser.

    A reduction pops silently; if the next letter decides it, the machine's state remembers that.
    """

    def __init__(self, automaton: Automaton, options: TaskOptions) -> None:
        self.grammar = automaton.grammar
        self.automaton = automaton
        self.states = automaton.states
        self.options = options
        self.pays = any(one.reward for found in self.grammar.productions for one in found)

    def draft(self) -> Draft:
        return Draft(self.grammar.letters, (READ, 0), self.moves, self._name, self._names)

    def moves(self, head: Head) -> list[DraftMove]:
        """Read at the parser state on top, or continue a reduction."""
        state, top = head
        assert isinstance(top, int)
        if isinstance(state, Reduction):
            return self._reduce(state, top)
        if top in self.automaton.ends and not self.pays:
            return [DraftMove(None, DONE, (top,), self.options.reward)]
        only = self.states[top].only_reduction() if top else None
        if only is not None:
            letter = NO_MORE if top in self.automaton.ends else None
            return [self._begin(only, letter, top, (top,), None, 0.0)]
        found = []
        for letter in range(self.grammar.letters.count):
            move = self._act(top, (top,), letter, letter, self.options.step)
            if move is not None:
                found.append(move)
        return found

    def _act(
        self, number: int, stack: tuple[int, ...], letter: int, read: int | None, paid: float
    ) -> DraftMove | None:
        """Shift a letter in a state of the parser, or reduce by it; `read` is what the move reads."""
        state = self.states[number]
        if letter in state.shift:
            after = state.shift[letter]
            paid = add_rewards(paid, self._reward_of(state, letter))
            if after in self.automaton.ends and self.automaton.whole.right[1:]:
                return DraftMove(read, DONE, stack, add_rewards(paid, self.options.reward))
            return DraftMove(read, READ, (after, *stack), paid)
        if letter in state.reduce:
            return self._begin(state.reduce[letter][0], letter, number, stack, read, paid)
        return None

    def _begin(
        self,
        production: Production,
        letter: int | None,
        number: int,
        stack: tuple[int, ...],
        read: int | None,
        paid: float,
    ) -> DraftMove:
        """Begin a reduction."""
        if production == self.automaton.whole:
            return DraftMove(read, DONE, stack, add_rewards(paid, self.options.reward))
        pops = Reduction(production.left, letter, len(production.right))
        return DraftMove(read, pops, stack, add_rewards(paid, production.reward))

    def _reduce(self, reduction: Reduction, top: int) -> list[DraftMove]:
        """Pop a symbol, or go to the state after the nonterminal."""
        left, letter, pops = reduction
        if pops:
            return [DraftMove(None, Reduction(left, letter, pops - 1), (), 0.0)]
        after = self.states[top].goto.get(left)
        if after is None:  # no stack has this state there
            return []
        stack = (after, top)
        move = None
        if letter is not None:
            move = self._act(after, stack, letter, None, 0.0)
        if move is None and letter not in (None, NO_MORE) and self.options.fail != IGNORE:
            return [DraftMove(None, LOST, stack, self.options.paid_for_failing)]
        return [move or DraftMove(None, READ, stack, 0.0)]

    def _reward_of(self, state: ParserState, letter: int) -> float:
        """The reward for reading a letter."""
        letters = self.grammar.letters
        reading = {
            production.right[dot]
            for production, dot in state.closure
            if dot < len(production.right) and self.grammar.is_terminal(production.right[dot])
        }
        paid = {self.grammar.rewards[one] for one in reading if letter in letters.of[one]}
        if len(paid) > 1:
            fault = f"label `{letters.example(letter)}` is two events, which pay differently"
            fix = "pay both alike, or make rules of them and pay for those"
            raise BadGrammar(fault, fix=fix)
        return paid.pop()

    def _name(self, state: State) -> str:
        """The nonterminal of a reduction, the letter, and the symbols that are still to be popped."""
        if not isinstance(state, Reduction):
            return str(state)
        name = self.grammar.names[state.left]
        if state.letter is not None:
            example = self.grammar.letters.example
            name += f".{'end' if state.letter == NO_MORE else example(state.letter)}"
        return f"{name}.{state.pops}" if state.pops else name

    def _names(self, symbol: Symbol) -> tuple[str, ...]:
        """The symbol before the dot of an item, with the rule it is in, or the item."""
        assert isinstance(symbol, int)
        production, dot = list(self.states[symbol].kernel)[-1]
        names = [self.grammar.names[one] for one in production.right]
        if production == self.automaton.whole:
            return (names[dot - 1],)
        left = self.grammar.names[production.left]
        item = f"{left}→{' '.join(names[:dot])} • {' '.join(names[dot:])}".rstrip()
        return names[dot - 1], f"{left} {names[dot - 1]}", item
