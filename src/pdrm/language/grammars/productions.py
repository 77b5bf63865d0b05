"""A grammar as productions over numbered symbols, with the sets that its parsers need.

Parsers read letters, the classes of labels that satisfy the same guards. If events are exclusive,
each event is a letter. Otherwise a guard can hold for several letters, and guards can share
letters.
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
from pdrm.machines.labels import Alphabet, LabelSet, LabelSets

MAX_LETTERS = 300
"""The maximum number of letters."""

# --- Letters


class Letters:
    """The numbered letters of some guards.

    >>> from pdrm.machines.guards import Event
    >>> letters = Letters(Alphabet(("a", "t")), [Event("a"), Event("t")])
    >>> [sorted(numbers) for numbers in letters.letters_of], letters.spell(0, 1, 2)
    ([[1, 2], [0, 2]], 't a a+t')
    """

    def __init__(self, alphabet: Alphabet, guards: list[Guard]) -> None:
        self.guards = guards
        self.sets = LabelSets(alphabet)
        labels_of_guards = [self.sets.labels_of(guard).node for guard in guards]
        self.holding = self.sets.choose(self.sets.all.node, self.sets.leaf(0), self.sets.leaf(None))
        """The diagram from labels to the guards that hold, as bits (None if not a label)."""
        for number, labels in enumerate(labels_of_guards):
            self._split(number, labels)
        self.others = self._labels(0)
        """The labels for which no guard holds."""
        leaves = self.sets.leaves(self.holding)
        masks = [mask for mask in leaves if isinstance(mask, int) and mask]
        self.labels = [self._labels(mask) for mask in masks]
        """The labels of each letter."""
        self.letters_of = [
            frozenset(letter for letter, mask in enumerate(masks) if mask >> number & 1)
            for number in range(len(guards))
        ]
        """The letters that each guard holds for."""

    def _split(self, number: int, labels: int) -> None:
        """Set the bit of a guard at its labels."""

        def set_bit(mask: Hashable) -> Hashable:
            return mask | 1 << number if isinstance(mask, int) else mask

        inside = self.sets.choose(labels, self.holding, self.sets.leaf(None))
        marked = self.sets.rename_leaves(inside, set_bit, {})
        self.holding = self.sets.choose(labels, marked, self.holding)
        fix = "declare exclusive events, or use simpler guards"
        limit(len(self.sets.leaves(self.holding)) - 2, MAX_LETTERS, "different labels", fix=fix)

    def spell(self, *word: int) -> str:
        """An example of a word with these letters."""
        return word_text(LabelSet(self.sets, self.labels[letter]).example() for letter in word)

    def _labels(self, mask: int) -> int:
        """The labels for which exactly these guards hold."""
        return self.sets.rename_leaves(self.holding, lambda guards: guards == mask, {})


# --- Expansion of rules

START = "start"
"""The rule of the words of the language."""
NO_MORE = -1
"""The end of a word, as a letter or as a symbol below all others."""
MAX_VARIANTS = 32
"""The maximum number of bodies of one alternative. Further groups become nonterminals."""


class RewardMarker(NamedTuple):
    """An empty symbol that gives a reward at the end of a rule, for top-down parsers."""

    reward: float

    def __str__(self) -> str:
        return f"reward {self.reward}"


Symbol = Terminal | Reference | Alternatives | Repeat | Sequence | RewardMarker
Body = tuple[Symbol, ...]


class Expansion:
    """The bodies of the nonterminals that words are derived from.

    Groups and repetitions become nonterminals. For a bottom-up parser (`lr`), repetitions are
    left-recursive, and other groups are expanded.
    """

    def __init__(
        self, rules: Mapping[str, Definition], complete: Mapping[str, float], lr: bool
    ) -> None:
        self.rules = rules
        self.complete = complete
        self.lr = lr
        start: Symbol = Reference(START, rules[START].where)
        self.bodies: dict[Symbol, list[Body]] = {start: []}
        """The bodies of each nonterminal."""
        self.terminals: dict[Guard, Where] = {}
        """The first position of each terminal."""
        total = 0
        for symbol in (order := [start]):
            bodies = list(dict.fromkeys(self._define(symbol)))
            reward = complete.get(str(symbol), 0.0)
            if reward and not lr:
                bodies = [(*body, RewardMarker(reward)) for body in bodies]
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
        """The bodies of a nonterminal."""
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
                return [*(body + more for body in self._options(inner) for more in rest), ()]
        return self._options(symbol)

    def _rule(self, symbol: Reference, name: str) -> Expression:
        if name in self.rules:
            return self.rules[name].inner
        raise BadGrammar(
            f"unknown rule `{name[:40]}`",
            where=symbol.where,
            fix=suggest(
                name, self.rules, f'add a rule `{name}: …`, or write the event in quotes: "{name}"'
            ),
        )

    def _options(self, inner: Expression) -> list[Body]:
        """The bodies of all alternatives of an expression."""
        options = inner.parts if isinstance(inner, Alternatives) else (inner,)
        return [body for option in options for body in self._write_out(option)]

    def _write_out(self, inner: Expression) -> list[Body]:
        """The bodies of an expression inside a rule."""
        bodies: list[Body] = [(inner,)]
        match inner:
            case Sequence(parts):
                bodies = self._join(parts)
            case Repeat(_, 0, 0):
                bodies = [()]
            case Repeat(once, least, most) if least and most is not None:
                bodies = self._join((*(once,) * least, Repeat(once, 0, most - least)))
            case Repeat(once, 1, None) if not self.lr:
                bodies = self._join((once, Repeat(once, 0, None)))
            case Repeat(once, 0, None) if self.lr:
                bodies = [(Repeat(once, 1, None),), ()]
            case Repeat(once, 0, 1) if self.lr:
                bodies = [*self._options(once), ()]
            case Alternatives() if self.lr:
                bodies = self._options(inner)
        return bodies

    def _join(self, parts: Iterable[Expression]) -> list[Body]:
        """The bodies of a sequence. Parts with too many bodies become nonterminals."""
        bodies: list[Body] = [()]
        for part in parts:
            options = self._write_out(part)
            if len(options) > 1 and len(bodies) * len(options) > MAX_VARIANTS:
                options = [(part,)]
            bodies = [body + option for body in bodies for option in options]
            limit(sum(map(len, bodies)), MAX_SYMBOLS, "symbols")
        return bodies


# --- Productions


class Production(NamedTuple):
    """A production: a nonterminal, its replacement, and the reward for completing it."""

    left: int
    right: tuple[int, ...]
    reward: float


class Derivation(NamedTuple):
    """The derivation of a shortest word of a symbol."""

    length: int
    """The length of the word."""
    production: Production
    """The first production."""
    reward: float
    """The reward of all productions."""


class Grammar:
    """Numbered symbols, first the terminals, then the nonterminals starting with `start`."""

    def __init__(self, letters: Letters, expansion: Expansion, end: Guard | None) -> None:
        bodies = expansion.bodies
        complete = expansion.complete
        self.letters = letters
        self.start = len(letters.guards)
        self.names = [*map(str, letters.guards), *map(str, bodies)]
        self.rewards = [complete.get(f'"{guard}"', 0.0) for guard in letters.guards]
        """The reward for reading each terminal."""
        self.productions: list[list[Production]] = [[] for _ in letters.guards]
        """The productions of each symbol (empty for a terminal)."""
        numbers: dict[object, int] = {}
        for symbol in (*letters.guards, *bodies):
            numbers[symbol] = len(numbers)
        self.end = NO_MORE if end is None else numbers[end]
        """The terminal that ends every word, or `NO_MORE`."""
        for nonterminal, options in bodies.items():
            reward = complete.get(str(nonterminal), 0.0) if expansion.lr else 0.0
            if isinstance(nonterminal, RewardMarker):
                reward = nonterminal.reward
            productions = []
            for body in options:
                keys = (part.guard if isinstance(part, Terminal) else part for part in body)
                right = tuple(numbers[key] for key in keys)
                productions.append(Production(numbers[nonterminal], right, reward))
            self.productions.append(productions)
        self.shortest: dict[int, Derivation] = {}
        """The derivation of a shortest word of each symbol."""
        self.first = [*letters.letters_of, *(frozenset[int]() for _ in bodies)]
        """The first letters of each symbol."""
        self._analyse()

    def is_terminal(self, symbol: int) -> bool:
        return symbol < self.start

    def _analyse(self) -> None:
        """Compute shortest words and first letters by fixed-point iteration."""
        for terminal in range(self.start):
            self.shortest[terminal] = Derivation(1, Production(terminal, (), 0.0), 0.0)
        order = [
            production for productions in reversed(self.productions) for production in productions
        ]
        grew = True
        while grew:
            grew = False
            for production in order:
                if all(symbol in self.shortest for symbol in production.right):
                    grew |= self._shorten(production)
                first = self.first[production.left] | self.first_of(production.right)
                grew |= first != self.first[production.left]
                self.first[production.left] = first

    def _shorten(self, production: Production) -> bool:
        """Use a production for the shortest word of its left side; return True if it is shorter."""
        parts = [self.shortest[symbol] for symbol in production.right]
        length = min(sum(part.length for part in parts), MAX_SYMBOLS)
        known = self.shortest.get(production.left)
        if known is not None and known.length <= length:
            return False
        reward = add_rewards(production.reward, *(part.reward for part in parts))
        self.shortest[production.left] = Derivation(length, production, reward)
        return True

    def is_nullable(self, symbol: int) -> bool:
        """Return True if the empty word can be derived from a symbol."""
        return symbol in self.shortest and not self.shortest[symbol].length

    def all_nullable(self, symbols: Iterable[int]) -> bool:
        """Return True if the empty word can be derived from each symbol."""
        return all(map(self.is_nullable, symbols))

    def first_of(self, symbols: Iterable[int]) -> frozenset[int]:
        """The first letters of a sequence of symbols."""
        letters: frozenset[int] = frozenset()
        for symbol in symbols:
            letters |= self.first[symbol]
            if not self.is_nullable(symbol):
                break
        return letters
