"""A grammar as productions over numbered symbols, with the sets that parsers are made from.

Parsers read letters: the sets of labels that the guards tell apart. If events are exclusive, each event is a letter. If labels
may hold several events, a guard may hold for several letters, and two guards may share one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from pdrm.errors import BadGrammar, Where, suggest
from pdrm.files import MAX_SYMBOLS
from pdrm.language.grammars.grammar_text import (
    Alternatives,
    Definition,
    Expression,
    Reference,
    Repeat,
    Sequence,
    Terminal,
)
from pdrm.language.source import limit
from pdrm.language.task_text import add_rewards
from pdrm.machines.guards import Guard, word_text
from pdrm.machines.labels import FALSE, Alphabet, LabelSet, LabelSets

MAX_LETTERS = 300
"""Letters at most."""

# --- Letters


class Letters:
    """The letters of some guards, numbered.

    >>> from pdrm.machines.guards import Event
    >>> letters = Letters(Alphabet(("a", "t")), [Event("a"), Event("t")])
    >>> [sorted(of) for of in letters.letters_of], letters.spell(0, 1, 2)
    ([[1, 2], [0, 2]], 't a a+t')
    """

    def __init__(self, alphabet: Alphabet, guards: list[Guard]) -> None:
        self.guards = guards
        self.sets = LabelSets(alphabet)
        read = [self.sets.labels_of(guard).node for guard in guards]
        self.holding = self.sets.choose(self.sets.all.node, self.sets.leaf(0), self.sets.leaf(None))
        """The guards that hold for a label as bits (None if the label does not exist)."""
        for number, labels in enumerate(read):
            self._split(number, labels)
        masks = [mask for mask in self.sets.leaves(self.holding) if isinstance(mask, int)]
        self.others = self._labels(0) if 0 in masks else FALSE
        """The labels for which no guard holds."""
        masks = [mask for mask in masks if mask]
        self.labels = [self._labels(mask) for mask in masks]
        """The labels of each letter."""
        self.letters_of = [
            frozenset(letter for letter, mask in enumerate(masks) if mask >> number & 1)
            for number in range(len(guards))
        ]
        """The letters that each guard holds for."""

    def _split(self, number: int, held: int) -> None:
        """Mark the labels that a guard holds for."""

        def mark(mask: Hashable) -> Hashable:
            return mask | 1 << number if isinstance(mask, int) else mask

        inside = self.sets.choose(held, self.holding, self.sets.leaf(None))
        marked = self.sets.rename_leaves(inside, mark, {})
        self.holding = self.sets.choose(held, marked, self.holding)
        fix = "declare which events exclude each other, or use simpler guards"
        limit(len(self.sets.leaves(self.holding)) - 2, MAX_LETTERS, "different labels", fix=fix)

    def spell(self, *word: int) -> str:
        """Labels of some letters, as one types them."""
        return word_text(LabelSet(self.sets, self.labels[letter]).example() for letter in word)

    def _labels(self, mask: int) -> int:
        """The labels for which just these guards hold."""
        return self.sets.rename_leaves(self.holding, lambda held: held == mask, {})


# --- Rules written out

START = "start"
"""The rule that the words of the language come from."""
NO_MORE = -1
"""The end of a word, as a letter or as a symbol below all others."""
MAX_VARIANTS = 32
"""Bodies that one alternative is written out to at most; further groups become nonterminals."""


class RewardMarker(NamedTuple):
    """Stands for no event, and pays: the end of a rule that is read top-down."""

    reward: float

    def __str__(self) -> str:
        return f"pay {self.reward}"


Symbol = Terminal | Reference | Alternatives | Repeat | Sequence | RewardMarker
Body = tuple[Symbol, ...]


class Expansion:
    """The rules that words come from, as ways to rewrite nonterminals.

    Groups and repetitions become nonterminals. For a bottom-up parser (`lr`), repetitions are
    left-recursive, and other groups are written out.
    """

    def __init__(
        self, rules: Mapping[str, Definition], complete: Mapping[str, float], lr: bool
    ) -> None:
        self.rules = rules
        self.complete = complete
        self.lr = lr
        start: Symbol = Reference(START, rules[START].where)
        self.bodies: dict[Symbol, list[Body]] = {start: []}
        """The ways to rewrite each nonterminal."""
        self.terminals: dict[Guard, Where] = {}
        """The first place of each terminal."""
        total = 0
        for symbol in (order := [start]):
            bodies = list(dict.fromkeys(self._define(symbol)))
            paid = complete.get(str(symbol), 0.0)
            if paid and not lr:
                bodies = [(*body, RewardMarker(paid)) for body in bodies]
            self.bodies[symbol] = bodies
            for part in (part for body in bodies for part in body):
                total += 1
                if isinstance(part, Terminal):
                    self.terminals.setdefault(part.guard, part.where)
                elif part not in self.bodies:
                    self.bodies[part] = []
                    order.append(part)
            limit(total, MAX_SYMBOLS, "symbols")

    def _define(self, symbol: Symbol) -> list[Body]:
        """The ways to rewrite a nonterminal."""
        match symbol:
            case RewardMarker():
                return [()]
            case Reference(name):
                return self._options(self._rule(symbol, name))
            case Repeat(inner, 1, None):
                once = self._options(inner)
                return [*((symbol, *body) for body in once), *once]
            case Repeat(inner, 0, None) if not self.lr:
                return [*((*body, symbol) for body in self._options(inner)), ()]
            case Repeat(inner, 0, most) if most is not None:
                rest = self._write_out(Repeat(inner, 0, most - 1))
                return [*(one + more for one in self._options(inner) for more in rest), ()]
        return self._options(symbol)

    def _rule(self, symbol: Reference, name: str) -> Expression:
        if name in self.rules:
            return self.rules[name].inner
        fix = f'add a rule `{name}: …`, or write the event in quotes: "{name}"'
        fault = f"unknown rule `{name[:40]}`"
        raise BadGrammar(fault, where=symbol.where, fix=suggest(name, self.rules, fix))

    def _options(self, inner: Expression) -> list[Body]:
        """The bodies of the alternatives of an expression."""
        options = inner.parts if isinstance(inner, Alternatives) else (inner,)
        return [body for option in options for body in self._write_out(option)]

    def _write_out(self, inner: Expression) -> list[Body]:
        """The bodies that an expression is written out to."""
        ways: list[Body] = [(inner,)]
        match inner:
            case Sequence(parts):
                ways = self._join(parts)
            case Repeat(_, 0, 0):
                ways = [()]
            case Repeat(once, least, most) if least and most is not None:
                ways = self._join((*(once,) * least, Repeat(once, 0, most - least)))
            case Repeat(once, 1, None) if not self.lr:
                ways = self._join((once, Repeat(once, 0, None)))
            case Repeat(once, 0, None) if self.lr:
                ways = [(Repeat(once, 1, None),), ()]
            case Repeat(once, 0, 1) if self.lr:
                ways = [*self._options(once), ()]
            case Alternatives() if self.lr:
                ways = self._options(inner)
        return ways

    def _join(self, parts: Iterable[Expression]) -> list[Body]:
        """The ways to write several parts one after the other, as long as they are few."""
        bodies: list[Body] = [()]
        for part in parts:
            ways = self._write_out(part)
            if len(ways) > 1 and len(bodies) * len(ways) > MAX_VARIANTS:
                ways = [(part,)]
            bodies = [body + way for body in bodies for way in ways]
            limit(sum(map(len, bodies)), MAX_SYMBOLS, "symbols")
        return bodies


# --- Productions


class Production(NamedTuple):
    """One way to rewrite a nonterminal, and the reward when that is complete."""

    left: int
    right: tuple[int, ...]
    reward: float


class Derivation(NamedTuple):
    """The length of a shortest word of a symbol, the production that it begins with, and the rewards."""

    length: int
    production: Production
    reward: float


class Grammar:
    """Terminals are numbered 0, 1, …, then come the nonterminals, the start symbol first."""

    def __init__(self, letters: Letters, expansion: Expansion, end: Guard | None) -> None:
        bodies = expansion.bodies
        complete = expansion.complete
        self.letters = letters
        self.start = len(letters.guards)
        self.names = [*map(str, letters.guards), *map(str, bodies)]
        self.rewards = [complete.get(f'"{guard}"', 0.0) for guard in letters.guards]
        """Those for reading each terminal."""
        self.productions: list[list[Production]] = [[] for _ in letters.guards]
        """Those of each symbol (none of a terminal)."""
        numbers: dict[object, int] = {}
        for one in (*letters.guards, *bodies):
            numbers[one] = len(numbers)
        self.end = NO_MORE if end is None else numbers[end]
        """The terminal that ends every word, or `NO_MORE`."""
        for symbol, options in bodies.items():
            reward = complete.get(str(symbol), 0.0) if expansion.lr else 0.0
            if isinstance(symbol, RewardMarker):
                reward = symbol.reward
            found = []
            for body in options:
                keys = (one.guard if isinstance(one, Terminal) else one for one in body)
                right = tuple(numbers[key] for key in keys)
                found.append(Production(numbers[symbol], right, reward))
            self.productions.append(found)
        self.shortest: dict[int, Derivation] = {}
        self.first = [*letters.letters_of, *(frozenset[int]() for _ in bodies)]
        """The letters that each symbol can begin with."""
        self._analyse()

    def is_terminal(self, symbol: int) -> bool:
        return symbol < self.start

    def _analyse(self) -> None:
        """Find shortest words and first letters, by repetition until nothing is new."""
        for terminal in range(self.start):
            self.shortest[terminal] = Derivation(1, Production(terminal, (), 0.0), 0.0)
        every = [one for productions in reversed(self.productions) for one in productions]
        grew = True
        while grew:
            grew = False
            for production in every:
                if all(symbol in self.shortest for symbol in production.right):
                    grew |= self._shorten(production)
                first = self.first[production.left] | self.first_of(production.right)
                grew |= first != self.first[production.left]
                self.first[production.left] = first

    def _shorten(self, production: Production) -> bool:
        """Use a production for the shortest word of its left side, if it is shorter."""
        parts = [self.shortest[symbol] for symbol in production.right]
        length = min(sum(part.length for part in parts), MAX_SYMBOLS)
        known = self.shortest.get(production.left)
        if known is not None and known.length <= length:
            return False
        reward = add_rewards(production.reward, *(part.reward for part in parts))
        self.shortest[production.left] = Derivation(length, production, reward)
        return True

    def is_nullable(self, symbol: int) -> bool:
        """Return True if a symbol can stand for no event."""
        return symbol in self.shortest and not self.shortest[symbol].length

    def all_nullable(self, symbols: Iterable[int]) -> bool:
        """Return True if all symbols can stand for no event."""
        return all(map(self.is_nullable, symbols))

    def first_of(self, symbols: Iterable[int]) -> frozenset[int]:
        """The letters that a sequence of symbols can begin with."""
        found: frozenset[int] = frozenset()
        for symbol in symbols:
            found |= self.first[symbol]
            if not self.is_nullable(symbol):
                break
        return found
