"""Words that show what is wrong with a grammar, from its leftmost derivations, the shortest words first.

If the same letters lead to the same symbols by two derivations, the grammar is ambiguous. If a
word begins with another one, a task that is done as soon as it can be never sees the longer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import zip_longest
from typing import NamedTuple

from pdrm.language.grammars.lr1 import Automaton
from pdrm.language.grammars.productions import NO_MORE, Grammar, Production

MOST_FORMS = 20_000
"""Forms that are looked at."""
LONGEST_WORD = 60
"""Letters of a word that is searched for at most."""

Word = tuple[int, ...]


class Form(NamedTuple):
    """A stage of a leftmost derivation: letters, symbols that are not derived yet, and the productions so far."""

    word: Word
    rest: tuple[int, ...]
    used: tuple[Production, ...]


def _derive(grammar: Grammar, symbols: tuple[int, ...]) -> Iterator[Form]:
    """Forms of some symbols, those of the shortest words first."""
    waiting = [(0, 0, Form((), symbols, ()))]
    expanded: set[tuple[Word, tuple[int, ...]]] = set()
    number = 0
    while waiting and number < MOST_FORMS:
        form = heappop(waiting)[-1]
        yield form
        if not form.rest or form[:2] in expanded:
            continue
        expanded.add(form[:2])
        first, *rest = form.rest
        after = [
            Form(form.word, (*way.right, *rest), (*form.used, way))
            for way in grammar.productions[first]
        ]
        if grammar.is_terminal(first):
            letters = grammar.letters.of[first]
            after = [Form((*form.word, one), tuple(rest), form.used) for one in letters]
        for one in after:
            length = len(one.word) + sum(grammar.shortest[symbol].length for symbol in one.rest)
            if length <= LONGEST_WORD:
                number += 1
                heappush(waiting, (length, number, one))


def _complete(grammar: Grammar, symbols: tuple[int, ...], form: Form) -> tuple[Word, str]:
    """The shortest word of some symbols that comes from a form, and its derivation."""
    letters = iter(form.word)
    used = iter(form.used)
    word: list[int] = []
    shown: list[str] = []
    waiting = list(reversed(symbols))
    while waiting:
        symbol = waiting.pop()
        if symbol == NO_MORE:
            shown.append(")")
        elif grammar.is_terminal(symbol):
            word.append(next(letters, min(grammar.letters.of[symbol])))
            shown.append(grammar.letters.example(word[-1]))
        else:
            shown.append(f"{grammar.names[symbol]}(")
            production = next(used, grammar.shortest[symbol].production)
            waiting += [NO_MORE, *reversed(production.right)]
    return tuple(word), " ".join(shown).replace("( ", "(").replace(" )", ")")


class Ambiguity(NamedTuple):
    """A word, two derivations of it, and the nonterminal that they rewrite differently."""

    word: Word
    trees: tuple[str, str]
    symbol: int


def find_ambiguity(automaton: Automaton) -> Ambiguity | None:
    """A short word with two derivations, if one is found."""
    grammar = automaton.grammar
    symbols = automaton.whole.right
    known: dict[tuple[Word, tuple[int, ...]], Form] = {}
    for form in _derive(grammar, symbols):
        other = known.setdefault(form[:2], form)
        if other is not form:
            pairs = zip_longest(other.used, form.used)
            symbol = next((two or one).left for one, two in pairs if one != two)
            word, tree = _complete(grammar, symbols, form)
            return Ambiguity(word, (_complete(grammar, symbols, other)[1], tree), symbol)
    return None


def find_prefix(automaton: Automaton) -> tuple[Word | None, int, int]:
    """A shortest word to a state with a conflict (None: a long one), the state, and the letter that does not decide."""
    conflicts = dict(reversed(automaton.find_conflicts()))
    grammar = automaton.grammar
    reached: set[int] = set()
    waiting: list[tuple[int, Word, int]] = [(0, (), 0)]
    while waiting:
        _, word, number = heappop(waiting)
        if number in conflicts:
            return word, number, conflicts[number]
        if number in reached:
            continue
        reached.add(number)
        state = automaton.states[number]
        steps: list[tuple[Word, int]] = [
            ((letter,), after) for letter, after in state.shift.items()
        ]
        for symbol, after in state.goto.items():
            if grammar.shortest[symbol].length <= LONGEST_WORD:
                steps.append((_complete(grammar, (symbol,), Form((), (), ()))[0], after))
        for more, after in steps:
            heappush(waiting, (len(word + more), word + more, after))
    return None, *automaton.find_conflicts()[0]


def find_prefix_word(grammar: Grammar) -> tuple[Word, Word] | None:
    """Two short words, the first of which is a prefix of the second."""
    words: set[Word] = set()
    for form in _derive(grammar, (grammar.start,)):
        if not form.rest:
            for end in range(1, len(form.word)):
                if form.word[:end] in words:
                    return form.word[:end], form.word
            words.add(form.word)
    return None
