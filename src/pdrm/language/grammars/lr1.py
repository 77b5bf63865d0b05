"""LR(1) parsers (Knuth 1965): the automaton of items, and the pushdown machine that reads bottom-up by it.

An item is a production with a dot; a state is items, each with the letters that may follow it (its
lookahead). So the state on top of the stack says at once if the word read so far is in the
language, however deep the reductions that would show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pdrm.errors import BadGrammar
from pdrm.language.draft import DraftHead, DraftMove, State, Symbol
from pdrm.language.grammars.productions import NO_MORE, Grammar, Production
from pdrm.language.source import limit
from pdrm.language.task_text import DONE, IGNORE, LOST, TaskOptions, add_rewards

MAX_STATES = 2_000
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
    is_initial: bool
    """True if nothing may have been read yet: then the empty word does not end here."""
    closure: Items = field(default_factory=dict)
    shift: dict[int, int] = field(default_factory=dict)
    reduce: dict[int, list[Production]] = field(default_factory=dict)
    goto: dict[int, int] = field(default_factory=dict)
    paid: dict[int, float] = field(default_factory=dict)
    """The reward for shifting a letter."""

    def only_reduction(self) -> Production | None:
        """The production that is reduced whatever comes, if that is the only thing to do."""
        ways = {way for found in self.reduce.values() for way in found}
        return ways.pop() if len(ways) == 1 and not self.shift else None


class Automaton:
    """The states of the parser, the first one numbered 0."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        right = (grammar.start,) if grammar.end == NO_MORE else (grammar.start, grammar.end)
        self.whole = Production(len(grammar.names), right, 0.0)
        """The production of the whole word."""
        self.states: list[ParserState] = []
        self.numbers: dict[object, int] = {}
        self._add({(self.whole, 0): frozenset([NO_MORE])}, is_initial=True)
        for state in self.states:
            self._complete(state)
        complete = {n for n, state in enumerate(self.states) if n and NO_MORE in state.reduce}
        others = {
            frozenset(state.kernel) for n, state in enumerate(self.states) if n not in complete
        }
        self.ends = {
            n
            for n in complete
            if len(self.states[n].closure) > 1 or frozenset(self.states[n].kernel) not in others
        }
        """States in which the word is complete, so that no more is read; not those that reduce the
        same production whatever comes, here and in other contexts."""

    def find_conflicts(self) -> list[tuple[int, int]]:
        """The states and letters with several things to do."""
        return [
            (number, letter)
            for number, state in enumerate(self.states)
            for letter, ways in state.reduce.items()
            if len(ways) > 1 or letter in state.shift
        ]

    def _add(self, kernel: Items, is_initial: bool = False) -> int:
        """The number of the state with this kernel, which may be new."""
        key = frozenset(kernel.items()), is_initial
        number = self.numbers.setdefault(key, len(self.states))
        if number == len(self.states):
            self.states.append(ParserState(kernel, is_initial))
            limit(len(self.states), MAX_STATES, "states of a bottom-up parser")
        return number

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

    def _complete(self, state: ParserState) -> None:
        """Find what a state does, and the states that it leads to."""
        items = state.closure = self._close(state.kernel)
        for (production, dot), follow in items.items():
            for letter in sorted(follow) if dot == len(production.right) else ():
                state.reduce.setdefault(letter, []).append(production)
        ended = NO_MORE in state.reduce and not state.is_initial
        if ended:  # the word is complete
            state.reduce = {NO_MORE: state.reduce[NO_MORE]}
            only = frozenset([NO_MORE])
            items = {item: only for item, follow in items.items() if NO_MORE in follow}
        after: dict[int, Items] = {}
        for (production, dot), follow in items.items():
            if dot < len(production.right):
                moved = after.setdefault(production.right[dot], {})
                moved[production, dot + 1] = follow
        for symbol in sorted(after):
            if not self.grammar.is_terminal(symbol):
                is_initial = state.is_initial and self.grammar.is_nullable(symbol)
                state.goto[symbol] = self._add(after[symbol], is_initial)
        if not ended:
            self._shift(state, after)

    def _shift(self, state: ParserState, after: dict[int, Items]) -> None:
        """Find the states after letters, each of which may be several terminals."""
        letters = self.grammar.letters
        by_letter: dict[int, Items] = {}
        for symbol in filter(self.grammar.is_terminal, sorted(after)):
            paid = self.grammar.rewards[symbol]
            for letter in letters.letters_of[symbol]:
                by_letter.setdefault(letter, {}).update(after[symbol])
                if state.paid.setdefault(letter, paid) != paid:
                    fault = f"label `{letters.spell(letter)}` is two events, which pay differently"
                    fix = "pay both alike, or make rules of them and pay for those"
                    raise BadGrammar(fault, fix=fix)
        state.shift = {letter: self._add(by_letter[letter]) for letter in sorted(by_letter)}


# --- The machine


class Reduction(NamedTuple):
    """Being in the middle of a reduction: the nonterminal, the letter that decided it (None: none
    was read for it), and the number of symbols that are still to be popped."""

    left: int
    letter: int | None
    pops: int


class BottomUp:
    """The moves of a parser without conflicts. Stack symbols are its states.

    A reduction pops silently; if the next letter decides it, the machine's state remembers that.
    """

    def __init__(self, automaton: Automaton, options: TaskOptions) -> None:
        self.grammar = automaton.grammar
        self.automaton = automaton
        self.states = automaton.states
        self.options = options
        self.start: DraftHead = READ, 0
        self.has_rewards = any(one.reward for found in self.grammar.productions for one in found)

    def moves(self, head: DraftHead) -> list[DraftMove]:
        """Read at the parser state on top, or continue a reduction."""
        state, top = head
        if isinstance(state, Reduction):
            return self._reduce(state, top)
        if top in self.automaton.ends and not self.has_rewards:
            return [DraftMove(None, DONE, (top,), self.options.reward)]
        only = self.states[top].only_reduction() if top else None
        if only is not None:
            letter = NO_MORE if top in self.automaton.ends else None
            return [self._begin(only, letter, DraftMove(None, READ, (top,), 0.0))]
        moves = (
            self._act(top, letter, DraftMove(labels, READ, (top,), self.options.step))
            for letter, labels in enumerate(self.grammar.letters.labels)
        )
        return [move for move in moves if move is not None]

    def _act(self, number: int, letter: int, move: DraftMove) -> DraftMove | None:
        """Let a move shift a letter in a state of the parser, or begin a reduction by it."""
        state = self.states[number]
        if letter in state.reduce:
            return self._begin(state.reduce[letter][0], letter, move)
        after = state.shift.get(letter)
        if after is None:
            return None
        paid = add_rewards(move.reward, state.paid[letter])
        if after in self.automaton.ends and self.automaton.whole.right[1:]:
            return move._replace(target=DONE, reward=add_rewards(paid, self.options.reward))
        return move._replace(push=(after, *move.push), reward=paid)

    def _begin(self, production: Production, letter: int | None, move: DraftMove) -> DraftMove:
        """Let a move begin a reduction."""
        target: State = Reduction(production.left, letter, len(production.right))
        paid = production.reward
        if production == self.automaton.whole:
            target = DONE
            paid = self.options.reward
        return move._replace(target=target, reward=add_rewards(move.reward, paid))

    def _reduce(self, reduction: Reduction, top: int) -> list[DraftMove]:
        """Pop a symbol, or go to the state after the nonterminal."""
        left, letter, pops = reduction
        if pops:
            return [DraftMove(None, reduction._replace(pops=pops - 1), (), 0.0)]
        after = self.states[top].goto.get(left)
        if after is None:  # no stack has this state there
            return []
        read = DraftMove(None, READ, (after, top), 0.0)
        move = None if letter is None else self._act(after, letter, read)
        if move is None and letter not in (None, NO_MORE) and self.options.fail != IGNORE:
            return [read._replace(target=LOST, reward=self.options.fail_reward)]
        return [move or read]

    def name_state(self, state: State) -> str:
        """The nonterminal of a reduction."""
        return self.grammar.names[state.left] if isinstance(state, Reduction) else str(state)

    def name_symbol(self, symbol: Symbol) -> str:
        """The symbol before the dot of an item."""
        production, dot = list(self.states[symbol].kernel)[-1]
        return self.grammar.names[production.right[dot - 1]]
