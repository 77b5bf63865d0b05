"""LR(1) parsers (Knuth 1965): the automaton of items, and the moves of a bottom-up parser.

An item is a production with a dot. A state is a set of items, each with the letters that can follow
it (its lookahead). So the state on top of the stack determines whether the word so far is in the
language, without making the pending reductions.
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
"""The maximum number of states of a parser."""
READ = "read"

Item = tuple[Production, int]
"""A production, and the number of symbols before the dot."""
Items = dict[Item, frozenset[int]]
"""Items with their lookahead."""


@dataclass(slots=True)
class ParserState:
    """A state of the parser, with its actions."""

    kernel: Items
    is_initial: bool
    """True if no letter may have been read yet. Then the empty word is not accepted here."""
    closure: Items = field(default_factory=dict)
    shift: dict[int, int] = field(default_factory=dict)
    """The next state after shifting a letter."""
    reduce: dict[int, list[Production]] = field(default_factory=dict)
    """The productions to reduce by if a letter follows."""
    goto: dict[int, int] = field(default_factory=dict)
    """The next state after a nonterminal."""
    rewards: dict[int, float] = field(default_factory=dict)
    """The reward for shifting a letter."""

    def only_reduction(self) -> Production | None:
        """The production, if the only action is to reduce by it (otherwise None)."""
        productions = {production for found in self.reduce.values() for production in found}
        return productions.pop() if len(productions) == 1 and not self.shift else None


class Automaton:
    """The states of the parser. The initial state is number 0."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        right = (grammar.start,) if grammar.end == NO_MORE else (grammar.start, grammar.end)
        self.whole = Production(len(grammar.names), right, 0.0)
        """The production of a complete word."""
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
        """The states that accept and read no further letter, except those whose only reduction is
        the same in every context."""

    def find_conflicts(self) -> list[tuple[int, int]]:
        """The states and letters with more than one action."""
        return [
            (number, letter)
            for number, state in enumerate(self.states)
            for letter, productions in state.reduce.items()
            if len(productions) > 1 or letter in state.shift
        ]

    def _add(self, kernel: Items, is_initial: bool = False) -> int:
        """Return the number of the state with this kernel; add the state if it is new."""
        key = frozenset(kernel.items()), is_initial
        number = self.numbers.setdefault(key, len(self.states))
        if number == len(self.states):
            self.states.append(ParserState(kernel, is_initial))
            limit(len(self.states), MAX_STATES, "states of a bottom-up parser")
        return number

    def _close(self, kernel: Items) -> Items:
        """The closure of a kernel."""
        closure = dict(kernel)
        todo = list(kernel)
        while todo:
            production, dot = item = todo.pop()
            rest = production.right[dot:]
            if not rest or self.grammar.is_terminal(rest[0]):
                continue
            follow = self.grammar.first_of(rest[1:])
            if self.grammar.all_nullable(rest[1:]):
                follow |= closure[item]
            for next_production in self.grammar.productions[rest[0]]:
                next_item = next_production, 0
                known = closure.get(next_item)
                if known is None or not follow <= known:
                    closure[next_item] = follow | (known or frozenset())
                    todo.append(next_item)
        return closure

    def _complete(self, state: ParserState) -> None:
        """Compute the actions of a state, and add the next states."""
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
        """Add the states after each letter. A letter can be several terminals."""
        letters = self.grammar.letters
        by_letter: dict[int, Items] = {}
        for symbol in filter(self.grammar.is_terminal, sorted(after)):
            reward = self.grammar.rewards[symbol]
            for letter in letters.letters_of[symbol]:
                by_letter.setdefault(letter, {}).update(after[symbol])
                if state.rewards.setdefault(letter, reward) != reward:
                    raise BadGrammar(
                        f"label `{letters.spell(letter)}` is two events with different rewards",
                        fix="use the same reward for both, or put them in rules and reward these",
                    )
        state.shift = {letter: self._add(by_letter[letter]) for letter in sorted(by_letter)}


# --- The moves


class Reduction(NamedTuple):
    """A machine state in the middle of a reduction."""

    left: int
    """The nonterminal."""
    letter: int | None
    """The letter that determined the reduction (None if no letter was read)."""
    pops: int
    """The number of symbols that are still to be popped."""


class BottomUp:
    """The moves of a parser without conflicts. The stack symbols are the states of the parser.

    A reduction pops silently. If a letter determines it, the machine state stores the letter.
    """

    def __init__(self, automaton: Automaton, options: TaskOptions) -> None:
        self.grammar = automaton.grammar
        self.automaton = automaton
        self.states = automaton.states
        self.options = options
        self.start: DraftHead = READ, 0
        self.has_rewards = any(
            production.reward for found in self.grammar.productions for production in found
        )

    def moves(self, head: DraftHead) -> list[DraftMove]:
        """Read a letter, or continue a reduction."""
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
        """Extend a move by the action for a letter (None if there is none)."""
        state = self.states[number]
        if letter in state.reduce:
            return self._begin(state.reduce[letter][0], letter, move)
        after = state.shift.get(letter)
        if after is None:
            return None
        reward = add_rewards(move.reward, state.rewards[letter])
        if after in self.automaton.ends and self.automaton.whole.right[1:]:
            return move._replace(target=DONE, reward=add_rewards(reward, self.options.reward))
        return move._replace(push=(after, *move.push), reward=reward)

    def _begin(self, production: Production, letter: int | None, move: DraftMove) -> DraftMove:
        """Extend a move by the start of a reduction."""
        target: State = Reduction(production.left, letter, len(production.right))
        reward = production.reward
        if production == self.automaton.whole:
            target = DONE
            reward = self.options.reward
        return move._replace(target=target, reward=add_rewards(move.reward, reward))

    def _reduce(self, reduction: Reduction, top: int) -> list[DraftMove]:
        """Pop a symbol, or push the state after the nonterminal."""
        left, letter, pops = reduction
        if pops:
            return [DraftMove(None, reduction._replace(pops=pops - 1), (), 0.0)]
        after = self.states[top].goto.get(left)
        if after is None:  # unreachable
            return []
        read = DraftMove(None, READ, (after, top), 0.0)
        move = None if letter is None else self._act(after, letter, read)
        if move is None and letter not in (None, NO_MORE) and self.options.fail != IGNORE:
            return [read._replace(target=LOST, reward=self.options.fail_reward)]
        return [move or read]

    def name_state(self, state: State) -> str:
        """A name: the nonterminal of a reduction."""
        return self.grammar.names[state.left] if isinstance(state, Reduction) else str(state)

    def name_symbol(self, symbol: Symbol) -> str:
        """A name: the symbol before the dot of an item."""
        production, dot = list(self.states[symbol].kernel)[-1]
        return self.grammar.names[production.right[dot - 1]]
