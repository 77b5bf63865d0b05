"""A grammar as productions over numbers: what parsers are made from, and the sets that they need.

Terminals are guards. A *letter* is a set of labels that no terminal tells apart: with exclusive events, each event is one; where labels
may hold several events, a terminal may stand for several letters, and two terminals may share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from pdrm.errors import BadGrammar, TooLarge, Where, did_you_mean
from pdrm.language.grammars.grammar_text import (
    Calls,
    Choice,
    Expression,
    Reads,
    Repeat,
    Rule,
    Sequence,
)
from pdrm.language.task_text import END, TaskOptions
from pdrm.limits import MOST_SYMBOLS, spend
from pdrm.machines.guards import ALWAYS, Event, Exactly, Formula, Guard, Or, events_of, spell_out
from pdrm.machines.labels import Alphabet, LabelSet, LabelSets

START = "start"
"""The rule that the words of the language come from."""
MOST_LETTERS = 300
"""Sets of labels that the terminals of a grammar may tell apart."""
MOST_WAYS = 32
"""Ways to write one alternative out, with its groups and optional parts; beyond that they become rules of their own."""


@dataclass(frozen=True, slots=True)
class Production:
    """One way to rewrite a nonterminal."""

    left: int
    right: tuple[int, ...]
    reward: float = 0.0


@dataclass(slots=True)
class Productions:
    """A grammar as numbers: terminals 0, 1, …, then nonterminals, the start symbol first."""

    guards: list[Guard]
    """Of the terminals."""
    rewards: list[float]
    """What reading a terminal pays."""
    names: list[str]
    """Of all symbols, as one would write them."""
    of: list[list[Production]]
    """The productions of every symbol (none of a terminal)."""
    end: int | None = None
    """The terminal that ends every word; None: a word ends as soon as it is complete."""
    nullable: list[bool] = field(default_factory=list)
    """Whether a symbol can stand for no event at all."""

    def __post_init__(self) -> None:
        self.nullable = self._grow([False] * len(self.of))

    @property
    def start(self) -> int:
        return len(self.guards)

    def is_terminal(self, symbol: int) -> bool:
        return symbol < len(self.guards)

    def find_endless(self) -> list[int]:
        """The nonterminals that no word comes from."""
        ends = self._grow([self.is_terminal(symbol) for symbol in range(len(self.of))])
        return [symbol for symbol, done in enumerate(ends) if not done]

    def _grow(self, holds: list[bool]) -> list[bool]:
        """The symbols that hold, or have a production of nothing but such symbols."""
        missing: dict[int, list[tuple[int, list[int]]]] = {}
        """For each symbol, the productions that wait for it: their left-hand side, and how many symbols they wait for."""
        found = [symbol for symbol, held in enumerate(holds) if held]
        for symbol, productions in enumerate(self.of):
            for production in productions:
                left = [len(production.right)]
                if not production.right and not holds[symbol]:
                    found.append(symbol)
                for part in production.right:
                    missing.setdefault(part, []).append((symbol, left))
        known = [False] * len(holds)
        while found:
            symbol = found.pop()
            if known[symbol]:
                continue
            known[symbol] = True
            for target, left in missing.get(symbol, ()):
                left[0] -= 1
                if not left[0]:
                    found.append(target)
        return known


def first_letters(grammar: Productions, letters: list[frozenset[int]]) -> list[frozenset[int]]:
    """The letters that what a symbol stands for can begin with."""
    first = [
        letters[symbol] if grammar.is_terminal(symbol) else frozenset[int]()
        for symbol in range(len(grammar.of))
    ]
    grew = True
    while grew:
        grew = False
        for symbol in reversed(
            range(grammar.start, len(grammar.of))
        ):  # rules most often use later ones
            found = first[symbol].union(
                *(first_of(grammar, first, one.right) for one in grammar.of[symbol])
            )
            if found != first[symbol]:
                first[symbol], grew = found, True
    return first


def first_of(
    grammar: Productions, first: list[frozenset[int]], sequence: Iterable[int]
) -> frozenset[int]:
    """The letters that a sequence of symbols can begin with."""
    found: frozenset[int] = frozenset()
    for symbol in sequence:
        spend(1)
        found |= first[symbol]
        if not grammar.nullable[symbol]:
            break
    return found


# --- Words, the shortest first

MOST_FORMS, LONGEST_FORM = 3_000, 60
"""Sentential forms that are looked at in search of a word that begins with another, and symbols of one."""


def find_word_in_word(grammar: Productions) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Two words, as terminals, the second of which begins with the first; None where none of the shortest do."""
    least = _shortest_lengths(grammar)
    words: set[tuple[int, ...]] = set()
    seen: set[tuple[int, ...]] = {(grammar.start,)}
    waiting: list[tuple[int, int, tuple[int, ...], tuple[int, ...]]] = [
        (0, 0, (), (grammar.start,))
    ]
    for number in range(1, MOST_FORMS):
        if not waiting:
            break
        _, _, read, rest = heappop(
            waiting
        )  # leftmost derivations, those that can end in the shortest word first
        spend(1 + len(rest) // 8)
        if not rest:
            begins = next((read[:end] for end in range(1, len(read)) if read[:end] in words), None)
            if begins is not None:
                return begins, read
            words.add(read)
            continue
        for production in grammar.of[rest[0]]:
            form = (*read, *production.right, *rest[1:])
            if form not in seen and len(form) <= LONGEST_FORM:
                seen.add(form)
                place = next(
                    (at for at, one in enumerate(form) if not grammar.is_terminal(one)), len(form)
                )
                entry = sum(least[one] for one in form), number, form[:place], form[place:]
                heappush(waiting, entry)
    return None


def _shortest_lengths(grammar: Productions) -> list[int]:
    """How many terminals the shortest word of each symbol has; every one has a word."""
    most = 10**6
    least = [1 if grammar.is_terminal(symbol) else most for symbol in range(len(grammar.of))]
    grew = True
    while grew:
        grew = False
        for symbol, productions in enumerate(grammar.of):
            for production in productions:
                spend(1)
                length = sum(least[one] for one in production.right)
                if length < least[symbol]:
                    least[symbol], grew = length, True
    return least


# --- From rules to productions


def expand(rules: list[Rule], options: TaskOptions, *, left: bool) -> Productions:
    """The productions of some rules; repetitions become nonterminals of their own, left-recursive ones if `left`."""
    return _Expanding(rules, options.complete, left).productions(
        Event(END) if options.accept == END else None
    )


_Body = tuple[int | str, ...]


class _Expanding:
    """Nonterminals by name, each with what it can be rewritten to; terminals by number."""

    def __init__(self, rules: list[Rule], complete: Mapping[str, float], left: bool) -> None:
        self.rules = {rule.name: rule for rule in rules}
        self.complete, self.left = complete, left
        self.guards: dict[Guard, int] = {}
        self.helpers: dict[Expression, str] = {}
        self.bodies: dict[str, list[_Body]] = {}
        self.pending: list[tuple[str, Expression]] = []
        self.symbols = 0

    def productions(self, end: Guard | None) -> Productions:
        self.bodies[START] = []
        self.pending.append((START, self.rules[START].inner))
        while self.pending:
            name, inner = self.pending.pop()
            self.bodies[name] = self._options(name, inner)
        last = None if end is None else self.guards.setdefault(end, len(self.guards))
        order = self._order()
        number = {name: len(self.guards) + place for place, name in enumerate(order)}
        of: list[list[Production]] = [[] for _ in range(len(self.guards) + len(order))]
        for name in order:
            paid = self.complete.get(name, 0.0)
            for body in dict.fromkeys(body for body in self.bodies[name] if body != (name,)):
                right = tuple(
                    number[symbol] if isinstance(symbol, str) else symbol for symbol in body
                )
                of[number[name]].append(Production(number[name], right, paid))
        texts = list(map(str, self.guards))
        rewards = [self.complete.get(f'"{text}"', 0.0) for text in texts]
        return Productions(list(self.guards), rewards, [*texts, *order], of, last)

    def _order(self) -> list[str]:
        """The nonterminals, breadth-first from the start."""
        order = [START]
        known = set(order)
        for name in order:
            for symbol in (symbol for body in self.bodies[name] for symbol in body):
                if isinstance(symbol, str) and symbol not in known:
                    known.add(symbol)
                    order.append(symbol)
        return order

    def _options(self, name: str, inner: Expression) -> list[_Body]:
        """What a nonterminal can be rewritten to."""
        match inner:
            case Repeat(once, least, None) if self.helpers.get(inner) == name:
                if self.left and least == 0:
                    return [self._sequence(Repeat(once, 1, None)), ()]
                bodies = self._options("", once)
                if self.left:
                    return [*((name, *body) for body in bodies), *bodies]
                return [*((*body, name) for body in bodies), ()]
            case Repeat(once, 0, most) if most is not None and self.helpers.get(inner) == name:
                more = self._sequence(Repeat(once, 0, most - 1)) if most > 1 else ()
                return [*((*body, *more) for body in self._options("", once)), ()]
            case Choice(options):
                return [body for option in options for body in self._bodies(option)]
        return self._bodies(inner)

    def _bodies(self, option: Expression) -> list[_Body]:
        """The ways to write one alternative: with `left`, each group and each part that may be missing written out, while they are few."""
        parts = option.parts if isinstance(option, Sequence) else (option,)
        bodies: list[_Body] = [()]
        for part in parts:
            ways = self._ways(part) if self.left else []
            if not ways or len(bodies) * len(ways) > MOST_WAYS:
                ways = [self._sequence(part)]
            bodies = [body + way for body in bodies for way in ways]
            spend(len(bodies))
        return bodies

    def _ways(self, part: Expression) -> list[_Body]:
        """The ways to write a part out; none where it is not to be."""
        match part:
            case Choice(options):
                return [body for option in options for body in self._bodies(option)]
            case Sequence():
                return self._bodies(part)
            case Repeat(once, 0, 1):
                return [*(self._ways(once) or [self._sequence(once)]), ()]
            case Repeat(once, 0, None):
                return [self._sequence(Repeat(once, 1, None)), ()]
        return []

    def _sequence(self, inner: Expression) -> _Body:
        """The symbols that stand for an expression."""
        match inner:
            case Reads(guard, where):
                self._count(where)
                return (self.guards.setdefault(guard, len(self.guards)),)
            case Calls(name, where):
                self._count(where)
                return (self._rule(name, where),)
            case Sequence(parts):
                return tuple(symbol for part in parts for symbol in self._sequence(part))
            case Repeat(once, least, most) if least and (most is not None or not self.left):
                symbols = self._sequence(once)
                self._count(None, len(symbols) * least)
                rest = None if most is None else most - least
                return symbols * least + (
                    () if rest == 0 else (self._helper(Repeat(once, 0, rest)),)
                )
        return (self._helper(inner),)

    def _rule(self, name: str, where: Where) -> str:
        if name not in self.rules:
            hint = did_you_mean(name, self.rules)
            fix = (
                hint
                if hint.startswith("did")
                else f'add a rule `{name}: …`, or write the event in quotes: "{name}"'
            )
            raise BadGrammar(f"there is no rule `{name[:40]}`", where=where, fix=fix)
        if name not in self.bodies:
            self.bodies[name] = []
            self.pending.append((name, self.rules[name].inner))
        return name

    def _helper(self, inner: Expression) -> str:
        """A nonterminal for an expression; equal ones share it."""
        if inner not in self.helpers:
            name = str(inner)
            name = name if len(name) <= 40 else f"{name[:36]}…{len(self.helpers)}"
            while name in self.rules or name in self.bodies:
                name += "_"
            self.helpers[inner] = name
            self.bodies[name] = []
            self._count(None)
            self.pending.append((name, inner))
        return self.helpers[inner]

    def _count(self, where: Where | None, symbols: int = 1) -> None:
        self.symbols += symbols
        if self.symbols > MOST_SYMBOLS:
            fix = "use fewer rules, or build the machine in Python"
            raise TooLarge(
                f"the grammar has more than {MOST_SYMBOLS:,} symbols", where=where, fix=fix
            )


# --- Letters


@dataclass(frozen=True, slots=True)
class Letters:
    """The sets of labels that some guards tell apart, numbered; `of` has those that each guard holds for."""

    alphabet: Alphabet
    guards: tuple[Guard, ...]
    of: tuple[frozenset[int], ...]
    labels: tuple[LabelSet, ...]
    """The labels of each letter."""
    sets: LabelSets
    others: bool
    """Whether there are labels that no guard holds for."""

    def guard_of(self, wanted: frozenset[int]) -> Guard:
        """A short guard that holds for just these letters."""
        for guard, letters in zip(self.guards, self.of, strict=True):
            if letters == wanted:
                return guard
        parts: list[Guard] = []
        left = set(wanted)
        fitting = [
            (guard, letters)
            for guard, letters in zip(self.guards, self.of, strict=True)
            if letters <= wanted
        ]
        while fitting:
            guard, letters = max(fitting, key=lambda one: len(left & one[1]))
            if not left & letters:
                break
            left -= letters
            parts.append(guard)
        formulas = [
            *(as_formula(self.alphabet, part) for part in parts),
            *(self.labels[letter].formula() for letter in sorted(left)),
        ]
        return formulas[0] if len(formulas) == 1 else Or(tuple(formulas))

    def example(self, letter: int) -> str:
        """A label of a letter, as one types it."""
        return "+".join(sorted(self.labels[letter].example())) or "-"

    def pass_over(self) -> Guard:
        """The guard of the labels that no other guard holds for: that some events are not there, where this says it."""
        named = list(
            dict.fromkeys(event for guard in self.guards for event in sorted(events_of(guard)))
        )
        for event in reversed(named.copy()):
            rest = [one for one in named if one != event]
            if self._none_hold(rest):
                named = rest
        left = self.sets.left(self.guards)
        without = self._without(named)
        if self._none_hold(named) and not left - without:
            return without.formula()
        return left.formula()

    def _without(self, events: list[str]) -> LabelSet:
        """The labels without these events."""
        return self.sets.left(map(Event, events))

    def _none_hold(self, without: list[str]) -> bool:
        """Whether no guard holds for a label without these events."""
        return not self._without(without) - self.sets.left(self.guards)


def as_formula(alphabet: Alphabet, guard: Guard) -> Formula:
    """A guard as a formula: an exact label spelt out."""
    if isinstance(guard, Formula):
        return guard
    return spell_out(guard, alphabet.events) if isinstance(guard, Exactly) else ALWAYS


def tell_apart(alphabet: Alphabet, guards: Iterable[Guard]) -> Letters:
    """The letters of some guards, each cell of labels split by one guard after the other.

    >>> letters = tell_apart(Alphabet(("a", "t")), [Event("a"), Event("t")])
    >>> [sorted(of) for of in letters.of], [letters.example(letter) for letter in range(3)]
    ([[0, 1], [0, 2]], ['a+t', 'a', 't'])
    """
    listed = tuple(guards)
    sets = LabelSets(alphabet)
    cells: list[tuple[LabelSet, frozenset[int]]] = [(sets.all, frozenset())]
    for number, guard in enumerate(listed):
        held = sets.of(guard)
        split: list[tuple[LabelSet, frozenset[int]]] = []
        for labels, names in cells:
            inside, outside = labels & held, labels - held
            split += [(inside, names | {number})] if inside else []
            split += [(outside, names)] if outside else []
        cells = split
        if len(cells) > MOST_LETTERS:
            fix = "declare which events exclude each other, or use simpler guards"
            raise TooLarge(
                f"the events of the grammar make more than {MOST_LETTERS} different labels", fix=fix
            )
    named = [cell for cell in cells if cell[1]]
    of = tuple(
        frozenset(letter for letter, (_, names) in enumerate(named) if number in names)
        for number in range(len(listed))
    )
    of_letter = tuple(labels for labels, _ in named)
    return Letters(alphabet, listed, of, of_letter, sets, len(named) < len(cells))
