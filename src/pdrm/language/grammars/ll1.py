"""LL(1) grammars as a machine whose stack holds what is still to come, the next part on top.

A stack symbol is a *prediction*: grammar symbols of which only the last cannot be empty. So an
event either belongs to the prediction on top, or no word continues with it: nothing is ever popped
silently, and the top alone says if the word may end.
"""

from __future__ import annotations

from pdrm.language.draft import DraftHead, DraftMove, State, Symbol
from pdrm.language.grammars.productions import NO_MORE, Grammar
from pdrm.language.task_text import DONE, TaskOptions, add_rewards

BEGIN, READ = "begin", "read"
MAX_PREDICTIONS = 400
"""Predictions at most; otherwise the grammar is read bottom-up."""

Prediction = tuple[int, ...]


class NotLL1(Exception):
    """One event does not choose between alternatives, or predictions grow without bound."""


class TopDown:
    """The moves of an LL(1) parser; they raise `NotLL1` if the grammar has none."""

    def __init__(self, grammar: Grammar, options: TaskOptions) -> None:
        self.grammar = grammar
        self.options = options
        self.known: set[Prediction] = set()
        for productions in grammar.productions:
            if sum(grammar.all_nullable(one.right) for one in productions) > 1:
                raise NotLL1
        self.open = self._find_open()
        bottom = (grammar.start, grammar.end)
        begin = READ if self._reward_for_ending(bottom) is None else BEGIN
        self.start: DraftHead = begin, bottom

    def _find_open(self) -> set[int]:
        """The symbols that leave something that may still be read, or not, after their last event."""
        grammar = self.grammar
        found = set(filter(grammar.is_nullable, range(len(grammar.names))))
        grew = True
        while grew:
            grew = False
            for symbol, productions in enumerate(grammar.productions):
                for production in productions:
                    reading = [one for one in production.right if grammar.first[one]]
                    if symbol not in found and reading and reading[-1] in found:
                        found.add(symbol)
                        grew = True
        return found

    def moves(self, head: DraftHead) -> list[DraftMove]:
        """Read each letter that fits the prediction on top, or end the word."""
        state, prediction = head
        pending = self._reward_for_ending(prediction)
        if pending is not None and state == READ:
            paid = add_rewards(self.options.reward, pending)
            return [DraftMove(None, DONE, (prediction,), paid)]
        found = []
        for letter, labels in enumerate(self.grammar.letters.labels):
            if (read := self._read(prediction, letter)) is None:
                continue
            rest, reward = read
            paid = add_rewards(self.options.step, reward)
            move = DraftMove(labels, READ, self._cut(rest), paid)
            if not rest and self.grammar.end in prediction:
                paid = add_rewards(paid, self.options.reward)
                move = DraftMove(labels, DONE, (prediction,), paid)
            found.append(move)
        return found

    def _cut(self, symbols: Prediction) -> tuple[Symbol, ...]:
        """Cut symbols into predictions, after each that leaves nothing open."""
        cut: list[Symbol] = []
        part: list[int] = []
        closed = False
        for symbol in symbols:
            if closed and (symbol == self.grammar.end or self.grammar.first[symbol]):
                cut.append(tuple(part))
                part = []
                closed = False
            part.append(symbol)
            closed |= symbol not in self.open
        cut += [tuple(part)] if part else []
        self.known |= set(cut)
        if len(self.known) > MAX_PREDICTIONS:
            raise NotLL1
        return tuple(cut)

    def _reward_for_ending(self, prediction: Prediction) -> float | None:
        """The reward that is due if the word ends here; None if it may not."""
        if prediction[-1] != NO_MORE or not self.grammar.all_nullable(prediction[:-1]):
            return None
        return add_rewards(*(self.grammar.shortest[one].reward for one in prediction[:-1]))

    def _read(self, prediction: Prediction, letter: int) -> tuple[Prediction, float] | None:
        """The prediction after a letter, and the rewards; None if the letter does not fit."""
        grammar = self.grammar
        paid = [0.0]
        rest = prediction
        for _ in range(len(grammar.names) + len(prediction)):
            if not rest or rest[0] == NO_MORE:
                return None
            symbol = rest[0]
            if letter not in grammar.first[symbol]:
                if not grammar.is_nullable(symbol):
                    return None
                paid.append(grammar.shortest[symbol].reward)
                rest = rest[1:]
            elif grammar.is_terminal(symbol):
                paid.append(grammar.rewards[symbol])
                rest = rest[1:]
                while rest and rest[0] != NO_MORE and not grammar.first[rest[0]]:
                    paid.append(grammar.shortest[rest[0]].reward)
                    rest = rest[1:]
                return rest, add_rewards(*paid)
            else:
                rest = self._choose(symbol, letter, rest[1:]) + rest[1:]
        raise NotLL1

    def _choose(self, symbol: int, letter: int, after: Prediction) -> Prediction:
        """The right side of the production that a letter chooses."""
        grammar = self.grammar
        ways = [
            production.right
            for production in grammar.productions[symbol]
            if letter in grammar.first_of(production.right)
        ]
        later = [one for one in after if one != NO_MORE]
        skipped = grammar.is_nullable(symbol) and letter in grammar.first_of(later)
        if len(ways) > 1 or skipped:
            raise NotLL1
        return ways[0]

    def name_symbol(self, prediction: Symbol) -> str:
        """The last symbol that is still to come."""
        grammar = self.grammar
        symbols = [one for one in prediction if one != NO_MORE and grammar.first[one]]
        return grammar.names[symbols[-1]] if symbols else "nothing"

    def name_state(self, state: State) -> str:
        return str(state)
