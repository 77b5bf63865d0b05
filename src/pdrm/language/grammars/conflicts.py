"""Words that show what is wrong with a grammar, from its leftmost derivations, the shortest words first.

If the same letters lead to the same symbols by two derivations, the grammar is ambiguous. If a
word begins with another one, a task that is done as soon as it can be never sees the longer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import zip_longest
from typing import NamedTuple

from pdrm.errors import Undecidable, Where
from pdrm.language.grammars.grammar_text import Definition
from pdrm.language.grammars.lr1 import Automaton
from pdrm.language.grammars.productions import NO_MORE, START, Grammar, Production

MAX_FORMS = 20_000
"""Forms that are looked at."""
MAX_WORD_LENGTH = 60
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
    while waiting and number < MAX_FORMS:
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
            letters = grammar.letters.letters_of[first]
            after = [Form((*form.word, one), tuple(rest), form.used) for one in letters]
        for one in after:
            length = len(one.word) + sum(grammar.shortest[symbol].length for symbol in one.rest)
            if length <= MAX_WORD_LENGTH:
                number += 1
                heappush(waiting, (length, number, one))


def _shortest_word(grammar: Grammar, symbols: tuple[int, ...]) -> Word:
    """The shortest word of some symbols."""
    word: list[int] = []
    waiting = list(reversed(symbols))
    while waiting:
        symbol = waiting.pop()
        if grammar.is_terminal(symbol):
            word.append(min(grammar.letters.letters_of[symbol]))
        else:
            waiting += reversed(grammar.shortest[symbol].production.right)
    return tuple(word)


def explain(automaton: Automaton, rules: Mapping[str, Definition]) -> Undecidable:
    """Describe what is wrong with a grammar whose parser has conflicts."""
    grammar = automaton.grammar
    spell = grammar.letters.spell
    names = [*grammar.names, START]

    def locate(symbol: int) -> Where:
        """The place of a rule, or of the first one that holds a group or repetition."""
        name = names[symbol]
        holding = (rule for rule in rules.values() if name in str(rule.inner))
        return rules.get(name, next(holding, rules[START])).where

    two = _find_ambiguity(grammar, automaton.whole.right)
    if two is not None:
        first, second = two
        pairs = zip_longest(first.used, second.used)
        symbol = next((other or one).left for one, other in pairs if one != other)
        whole = spell(*first.word, *_shortest_word(grammar, first.rest))
        fault = f"the word `{whole or '(empty)'}` has two derivations, which differ in `{names[symbol]}`"
        fix = "write the rules so that each word has one derivation"
        error = Undecidable(fault, where=locate(symbol), fix=fix)
        error.words = (whole, whole)
        return error
    number, letter = automaton.find_conflicts()[0]
    symbol = automaton.states[number].reduce[letter][0].left
    after = "at the end of the word" if letter == NO_MORE else f"at `{spell(letter)}`"
    fault = f"{after}, one event of look-ahead does not say if `{names[symbol]}` is complete"
    fix = 'if two alternatives begin alike, factor out the common beginning: `"a" ("b" | "c")` instead of `"a" "b" | "a" "c"`'
    return Undecidable(fault, where=locate(symbol), fix=fix)


def _find_ambiguity(grammar: Grammar, symbols: tuple[int, ...]) -> tuple[Form, Form] | None:
    """Two derivations of the same letters and symbols, if they are found."""
    known: dict[tuple[Word, tuple[int, ...]], Form] = {}
    for form in _derive(grammar, symbols):
        other = known.setdefault(form[:2], form)
        if other is not form:
            return other, form
    return None


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
