"""Example words that explain the conflicts of a grammar, found by leftmost derivation.

If two derivations have the same letters and remaining symbols, the grammar is ambiguous. If one
word is a prefix of another, a task with `accept first` can never accept the longer one.
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
"""The maximum number of forms that are searched."""
MAX_WORD_LENGTH = 60
"""The maximum length of the words that are searched."""

Word = tuple[int, ...]


class Form(NamedTuple):
    """A stage of a leftmost derivation."""

    word: Word
    """The letters so far."""
    rest: tuple[int, ...]
    """The symbols that are not derived yet."""
    used: tuple[Production, ...]
    """The productions so far."""


def _derive(grammar: Grammar, symbols: tuple[int, ...]) -> Iterator[Form]:
    """Yield the forms that are derived from some symbols, with the shortest words first."""
    todo = [(0, 0, Form((), symbols, ()))]
    expanded: set[tuple[Word, tuple[int, ...]]] = set()
    number = 0
    while todo and number < MAX_FORMS:
        form = heappop(todo)[-1]
        yield form
        if not form.rest or form[:2] in expanded:
            continue
        expanded.add(form[:2])
        first, *rest = form.rest
        successors = [
            Form(form.word, (*production.right, *rest), (*form.used, production))
            for production in grammar.productions[first]
        ]
        if grammar.is_terminal(first):
            letters = grammar.letters.letters_of[first]
            successors = [Form((*form.word, letter), tuple(rest), form.used) for letter in letters]
        for successor in successors:
            rest_length = sum(grammar.shortest[symbol].length for symbol in successor.rest)
            length = len(successor.word) + rest_length
            if length <= MAX_WORD_LENGTH:
                number += 1
                heappush(todo, (length, number, successor))


def _shortest_word(grammar: Grammar, symbols: tuple[int, ...]) -> Word:
    """The shortest word of some symbols."""
    word: list[int] = []
    todo = list(reversed(symbols))
    while todo:
        symbol = todo.pop()
        if grammar.is_terminal(symbol):
            word.append(min(grammar.letters.letters_of[symbol]))
        else:
            todo += reversed(grammar.shortest[symbol].production.right)
    return tuple(word)


def explain(automaton: Automaton, rules: Mapping[str, Definition]) -> Undecidable:
    """The error for a grammar whose parser has conflicts."""
    grammar = automaton.grammar
    spell = grammar.letters.spell
    names = [*grammar.names, START]

    def locate(symbol: int) -> Where:
        """The position of a rule, or of the first rule that contains a group or repetition."""
        name = names[symbol]
        containing = (rule for rule in rules.values() if name in str(rule.inner))
        return rules.get(name, next(containing, rules[START])).where

    ambiguity = _find_ambiguity(grammar, automaton.whole.right)
    if ambiguity is not None:
        first, second = ambiguity
        pairs = zip_longest(first.used, second.used)
        symbol = next((right or left).left for left, right in pairs if left != right)
        word = spell(*first.word, *_shortest_word(grammar, first.rest))
        error = Undecidable(
            f"the word `{word or '(empty)'}` has two derivations, "
            f"which differ in `{names[symbol]}`",
            where=locate(symbol),
            fix="write the rules so that each word has one derivation",
        )
        error.words = (word, word)
        return error
    number, letter = automaton.find_conflicts()[0]
    symbol = automaton.states[number].reduce[letter][0].left
    position = "at the end of the word" if letter == NO_MORE else f"at `{spell(letter)}`"
    return Undecidable(
        f"{position}, one event of lookahead does not determine if `{names[symbol]}` is complete",
        where=locate(symbol),
        fix="if two alternatives start alike, factor out the common start: "
        '`"a" ("b" | "c")` instead of `"a" "b" | "a" "c"`',
    )


def _find_ambiguity(grammar: Grammar, symbols: tuple[int, ...]) -> tuple[Form, Form] | None:
    """Two derivations of the same letters and remaining symbols, or None."""
    known: dict[tuple[Word, tuple[int, ...]], Form] = {}
    for form in _derive(grammar, symbols):
        other = known.setdefault(form[:2], form)
        if other is not form:
            return other, form
    return None


def find_prefix_word(grammar: Grammar) -> tuple[Word, Word] | None:
    """Two short words of which the first is a prefix of the second, or None."""
    words: set[Word] = set()
    for form in _derive(grammar, (grammar.start,)):
        if not form.rest:
            for end in range(1, len(form.word)):
                if form.word[:end] in words:
                    return form.word[:end], form.word
            words.add(form.word)
    return None
