"""LL(1) parsers: the stack contains the predicted rest of the word, with the next part on top.

A stack symbol is a *prediction*: grammar symbols of which only the last cannot be empty. So an
event either belongs to the prediction on top, or no word continues with it. There are no silent
pops, and the top alone determines whether the word can end.
"""

from __future__ import annotations

from pdrm.language.draft import DraftHead, DraftMove, State, Symbol
from pdrm.language.grammars.productions import NO_MORE, Grammar
from pdrm.language.task_text import DONE, TaskOptions, add_rewards

BEGIN, READ = "begin", "read"
MAX_PREDICTIONS = 400
"""The maximum number of predictions. Grammars with more are parsed bottom-up."""

Prediction = tuple[int, ...]


class NotLL1(Exception):
    """One event of lookahead does not determine the production, or predictions are unbounded."""


class TopDown:
    """The moves of an LL(1) parser. Raises `NotLL1` if the grammar is not LL(1)."""

    def __init__(self, grammar: Grammar, options: TaskOptions) -> None:
        self.grammar = grammar
        self.options = options
        self.known: set[Prediction] = set()
        for productions in grammar.productions:
            if sum(grammar.all_nullable(production.right) for production in productions) > 1:
                raise NotLL1
        self.open = self._find_open_symbols()
        bottom = (grammar.start, grammar.end)
        state = READ if self._reward_for_ending(bottom) is None else BEGIN
        self.start: DraftHead = state, bottom

    def _find_open_symbols(self) -> set[int]:
        """The symbols whose words can end with an optional part."""
        grammar = self.grammar
        result = set(filter(grammar.is_nullable, range(len(grammar.names))))
        grew = True
        while grew:
            grew = False
            for symbol, productions in enumerate(grammar.productions):
                for production in productions:
                    reading = [part for part in production.right if grammar.first[part]]
                    if symbol not in result and reading and reading[-1] in result:
                        result.add(symbol)
                        grew = True
        return result

    def moves(self, head: DraftHead) -> list[DraftMove]:
        """Read each letter that fits the prediction on top, or end the word."""
        state, prediction = head
        reward_at_end = self._reward_for_ending(prediction)
        if reward_at_end is not None and state == READ:
            reward = add_rewards(self.options.reward, reward_at_end)
            return [DraftMove(None, DONE, (prediction,), reward)]
        moves = []
        for letter, labels in enumerate(self.grammar.letters.labels):
            if (read := self._read(prediction, letter)) is None:
                continue
            rest, reward_of_rules = read
            reward = add_rewards(self.options.step, reward_of_rules)
            move = DraftMove(labels, READ, self._split(rest), reward)
            if not rest and self.grammar.end in prediction:
                reward = add_rewards(reward, self.options.reward)
                move = DraftMove(labels, DONE, (prediction,), reward)
            moves.append(move)
        return moves

    def _split(self, symbols: Prediction) -> tuple[Symbol, ...]:
        """Split symbols into predictions, after each symbol that is not open."""
        predictions: list[Symbol] = []
        part: list[int] = []
        closed = False
        for symbol in symbols:
            if closed and (symbol == self.grammar.end or self.grammar.first[symbol]):
                predictions.append(tuple(part))
                part = []
                closed = False
            part.append(symbol)
            closed |= symbol not in self.open
        if part:
            predictions.append(tuple(part))
        self.known |= set(predictions)
        if len(self.known) > MAX_PREDICTIONS:
            raise NotLL1
        return tuple(predictions)

    def _reward_for_ending(self, prediction: Prediction) -> float | None:
        """The reward of the rest if the word ends here (None if it cannot end)."""
        if prediction[-1] != NO_MORE or not self.grammar.all_nullable(prediction[:-1]):
            return None
        return add_rewards(*(self.grammar.shortest[symbol].reward for symbol in prediction[:-1]))

    def _read(self, prediction: Prediction, letter: int) -> tuple[Prediction, float] | None:
        """Read a letter.

        Returns:
            The rest of the prediction and the reward, or None if the letter does not fit.
        """
        grammar = self.grammar
        rewards = [0.0]
        rest = prediction
        for _ in range(len(grammar.names) + len(prediction)):
            if not rest or rest[0] == NO_MORE:
                return None
            symbol = rest[0]
            if letter not in grammar.first[symbol]:
                if not grammar.is_nullable(symbol):
                    return None
                rewards.append(grammar.shortest[symbol].reward)
                rest = rest[1:]
            elif grammar.is_terminal(symbol):
                rewards.append(grammar.rewards[symbol])
                rest = rest[1:]
                while rest and rest[0] != NO_MORE and not grammar.first[rest[0]]:
                    rewards.append(grammar.shortest[rest[0]].reward)
                    rest = rest[1:]
                return rest, add_rewards(*rewards)
            else:
                rest = self._choose(symbol, letter, rest[1:]) + rest[1:]
        raise NotLL1

    def _choose(self, symbol: int, letter: int, after: Prediction) -> Prediction:
        """The right side of the production of `symbol` that the next letter determines."""
        grammar = self.grammar
        right_sides = [
            production.right
            for production in grammar.productions[symbol]
            if letter in grammar.first_of(production.right)
        ]
        later = [following for following in after if following != NO_MORE]
        can_skip = grammar.is_nullable(symbol) and letter in grammar.first_of(later)
        if len(right_sides) > 1 or can_skip:
            raise NotLL1
        return right_sides[0]

    def name_symbol(self, prediction: Symbol) -> str:
        """The name of the last symbol that reads events."""
        grammar = self.grammar
        symbols = [symbol for symbol in prediction if symbol != NO_MORE and grammar.first[symbol]]
        return grammar.names[symbols[-1]] if symbols else "nothing"

    def name_state(self, state: State) -> str:
        return str(state)
