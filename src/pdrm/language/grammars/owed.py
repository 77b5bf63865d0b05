"""Grammars that one event decides (LL(1)) as a machine whose stack holds what is still owed, the next part on top.

A stack symbol is a *debt*: a sequence of symbols of which only the last must be there. So an event either belongs to the debt on top, or no
word continues with it: nothing is ever taken off the stack silently, and the top alone says whether the word may end here.
"""

from __future__ import annotations

from graphlib import TopologicalSorter

from pdrm.language.grammars.draft import Draft, Move
from pdrm.language.grammars.productions import (
    Letters,
    Production,
    Productions,
    first_letters,
    first_of,
)
from pdrm.language.task_text import DONE, TaskOptions, add_rewards
from pdrm.limits import spend

BEGIN, READ = "begin", "read"
END_OF_WORD = -1
"""The symbol below all others where a word is accepted as soon as it is complete."""
PAID = -2
"""Symbols from here on down are rewards that are due when they come to the top."""
LONGEST_DEBT, MOST_DEBTS = 12, 400
"""Symbols in one debt, and debts, at most; else the grammar is read bottom-up."""

Debt = tuple[int, ...]


class NotTopDown(Exception):
    """One event does not say which alternative is meant, or debts grow without bound."""


def owe(grammar: Productions, letters: Letters, options: TaskOptions) -> Draft:
    """The moves of the machine; `NotTopDown` where the grammar must be read bottom-up."""
    return _Owing(grammar, letters, options).draft()


class _Owing:
    def __init__(self, grammar: Productions, letters: Letters, options: TaskOptions) -> None:
        self.grammar, self.options, self.letters = grammar, options, letters
        self.first = first_letters(grammar, list(letters.of))
        self.due: list[float] = []
        self.end = END_OF_WORD if grammar.end is None else grammar.end
        self.bottom: Debt = (grammar.start, self.end)
        self._check_empty_words()
        self.open = self._open()

    def _check_empty_words(self) -> None:
        """At most one way to read nothing; and what it pays."""
        grammar = self.grammar
        self.nothing = [0.0] * len(grammar.of)
        empty: list[list[Production]] = [
            [one for one in of if all(grammar.nullable[part] for part in one.right)]
            for of in grammar.of
        ]
        if any(len(ways) > 1 for ways in empty):
            raise NotTopDown
        for symbol in TopologicalSorter(
            {at: ways[0].right for at, ways in enumerate(empty) if ways}
        ).static_order():
            if empty[symbol]:
                way = empty[symbol][0]
                self.nothing[symbol] = add_rewards(
                    way.reward, *(self.nothing[part] for part in way.right)
                )

    def _open(self) -> list[bool]:
        """Whether more may follow in a symbol when what must be there has been read."""
        grammar = self.grammar
        opened = list(grammar.nullable)
        grew = True
        while grew:
            grew = False
            for symbol in range(grammar.start, len(grammar.of)):
                spend(len(grammar.of[symbol]))
                if not opened[symbol] and any(
                    opened[one.right[-1]] for one in grammar.of[symbol] if one.right
                ):
                    opened[symbol] = grew = True
        return opened

    # --- Debts

    def _split(self, owed: Debt) -> list[Debt]:
        """What is owed as debts: each ends with a symbol that must be there, and the rewards due with it."""
        debts: list[Debt] = []
        debt: list[int] = []
        solid = False
        for symbol in owed:
            if solid and symbol > PAID:
                debts.append(tuple(debt))
                debt, solid = [], False
            debt.append(symbol)
            solid = solid or symbol == END_OF_WORD or (symbol >= 0 and not self.open[symbol])
        if debt:
            debts.append(tuple(debt))
        return debts

    def _pay_now(self, owed: Debt) -> tuple[Debt, float]:
        """Pay the rewards that are due at once."""
        paid = 0.0
        while owed and owed[0] <= PAID:
            paid, owed = add_rewards(paid, self.due[PAID - owed[0]]), owed[1:]
        return owed, paid

    def _may_end(self, owed: Debt) -> float | None:
        """What is due if the word ends here; None where it may not."""
        paid = 0.0
        for symbol in owed:
            if symbol == END_OF_WORD:
                return paid
            if symbol > PAID and not self.grammar.nullable[symbol]:
                return None
            paid = add_rewards(
                paid, self.due[PAID - symbol] if symbol <= PAID else self.nothing[symbol]
            )
        return None

    def _mark(self, production: Production) -> Debt:
        """The right-hand side, with the reward that is due at its end."""
        if not production.reward:
            return production.right
        if production.reward not in self.due:
            self.due.append(production.reward)
        return (*production.right, PAID - self.due.index(production.reward))

    def _read(self, owed: Debt, letter: int) -> tuple[Debt, float] | None:
        """What is owed after a letter, and what was paid; None where no word continues with it."""
        paid, expanded = 0.0, 0
        while owed:
            spend(1)
            symbol, rest = owed[0], owed[1:]
            if symbol == END_OF_WORD:
                return None
            if symbol <= PAID:
                paid = add_rewards(paid, self.due[PAID - symbol])
            elif self.grammar.is_terminal(symbol):
                return (
                    (rest, add_rewards(paid, self.grammar.rewards[symbol]))
                    if letter in self.letters.of[symbol]
                    else None
                )
            elif letter in self.first[symbol]:
                ways = [
                    one
                    for one in self.grammar.of[symbol]
                    if letter in first_of(self.grammar, self.first, one.right)
                ]
                expanded += 1
                after = (part for part in rest if part >= 0)
                later = self.grammar.nullable[symbol] and letter in first_of(
                    self.grammar, self.first, after
                )
                if len(ways) > 1 or later or expanded > len(self.grammar.of):
                    raise NotTopDown
                owed = self._mark(ways[0]) + rest
                continue
            elif not self.grammar.nullable[symbol]:
                return None
            else:
                paid = add_rewards(paid, self.nothing[symbol])
            owed = rest
        return None

    # --- Moves

    def draft(self) -> Draft:
        """Moves for every debt that can come to the top, from the whole task on."""
        begins = READ if self._may_end(self.bottom) is None else BEGIN
        numbers: dict[Debt, int] = {self.bottom: 0}
        moves: list[Move] = []
        for debt in (waiting := [self.bottom]):
            number, pending = numbers[debt], self._may_end(debt)
            source = begins if debt == self.bottom else READ
            if pending is not None:
                moves.append(
                    Move(
                        READ,
                        None,
                        number,
                        DONE,
                        (number,),
                        add_rewards(self.options.reward, pending),
                    )
                )
            for letter in (
                range(len(self.letters.labels)) if pending is None or source == BEGIN else ()
            ):
                read = self._read(debt, letter)
                if read is not None:
                    owed, now = self._pay_now(read[0])
                    paid = add_rewards(self.options.step, read[1], now)
                    if not owed and self.end in debt:
                        paid = add_rewards(paid, self.options.reward)
                        moves.append(Move(source, letter, number, DONE, (number,), paid))
                        continue
                    debts = self._split(owed)
                    for one in debts:
                        if one not in numbers:
                            numbers[one] = len(numbers)
                            waiting.append(one)
                        if len(one) > LONGEST_DEBT or len(numbers) > MOST_DEBTS:
                            raise NotTopDown
                    moves.append(
                        Move(
                            source, letter, number, READ, tuple(numbers[one] for one in debts), paid
                        )
                    )
        return Draft(moves, [self._names(debt) for debt in numbers], begins)

    def _names(self, debt: Debt) -> tuple[str, ...]:
        """What a debt may be called: the part that must be there alone, with what may come first, or all of it."""
        symbols = [symbol for symbol in debt if symbol >= 0]
        named = [self.grammar.names[symbol] for symbol in symbols]
        if self.end in debt:
            alone = "nothing" if self.end == END_OF_WORD else named[-1]
            return ("#",) if len(debt) > 1 else (alone,)
        return named[-1], f"{self._first_name(symbols[0])}…{named[-1]}", " ".join(named)

    def _first_name(self, symbol: int) -> str:
        """The rule or event that something begins with which has no name of its own."""
        for _ in range(LONGEST_DEBT):
            name, of = self.grammar.names[symbol], self.grammar.of[symbol]
            if not of or name.isidentifier() or not of[0].right:
                break
            symbol = of[0].right[0]
        return self.grammar.names[symbol]
