"""A machine as it is written, and the machine built from it.

Each reader (text, JSON, other programs' formats) makes a document: header lines and rules with the place of every word. `build`
finds out which of the three kinds of machine it describes and builds that, or raises all that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pdrm.errors import (
    MOST_FAULTS,
    BadNumber,
    CannotRead,
    DuplicateName,
    MissingHeader,
    NoBottom,
    PdrmError,
    TooLarge,
    Where,
    raise_all,
)
from pdrm.language.source import COMMENTS
from pdrm.language.syntax import RuleSpec, Word, number_of
from pdrm.limits import MOST_RULES
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import SILENT
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import BOTTOM, NONE, Otherwise, Transition

KEYWORDS = (
    "name",
    "events",
    "exclusive",
    "stack",
    "counters",
    "states",
    "start",
    "final",
    "otherwise",
)


@dataclass(frozen=True, slots=True)
class Header:
    """One header line: its keyword and the words after it."""

    keyword: Word
    words: tuple[Word, ...]


@dataclass(slots=True)
class Document:
    """Header lines and rules, in the order of the text, and the faults found while reading."""

    file: str
    headers: list[Header] = field(default_factory=list)
    rules: list[RuleSpec] = field(default_factory=list)
    errors: list[PdrmError] = field(default_factory=list)

    def add_header(self, keyword: Word, words: Iterable[Word]) -> None:
        """Keep a header line."""
        self.headers.append(Header(keyword, tuple(words)))

    def add_rule(self, rule: RuleSpec) -> None:
        """Keep a rule."""
        if len(self.rules) >= MOST_RULES:
            fix = "use fewer or smaller loops, or build the machine in Python"
            raise TooLarge(f"more than {MOST_RULES:,} rules", where=rule.where, fix=fix)
        self.rules.append(rule)

    def note(self, error: PdrmError) -> None:
        """Keep a fault, one for each place; after the last that is reported, reading ends."""
        if all((error.code, error.where) != (one.code, one.where) for one in self.errors):
            self.errors.append(error)
        if len(self.errors) >= MOST_FAULTS:
            fault = f"{MOST_FAULTS} faults; the rest is not read"
            raise TooLarge(fault, where=error.where, fix="correct these first")

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note a fault inside, so that reading continues after it."""
        try:
            yield
        except TooLarge:
            raise
        except PdrmError as error:
            self.note(error)

    def lines(self, keyword: str) -> list[Header]:
        """The header lines with this keyword."""
        return [header for header in self.headers if header.keyword.text == keyword]

    def locate(self, error: PdrmError) -> Where:
        """Point an error at its word: in the line it names, or at the last header that holds the word."""
        where = error.where
        if where is None:
            words = [word for header in self.headers for word in header.words]
            places = [word.where for word in words if word.text == error.word]
            keywords = [header.keyword.where for header in self.headers]
            where = [Where(self.file, 1, 1), *keywords[:1], *places][-1]
        elif error.word:
            code = where.text.partition("//")[0]
            word = re.compile(rf"(?<!\w){re.escape(error.word)}(?!\w)")
            if found := word.search(code, where.column - 1):
                width = len(error.word)
                where = replace(where, column=found.start() + 1, width=width, path="")
        error.where = where
        return where


# --- Rules: with a stack, with counters, or with neither

STACK_LINE = "list the stack symbols, the bottom one first: `stack # A`"
INTEGER = re.compile(r"[+-]?\d{1,9}", re.ASCII)
"""An integer as it may be written."""


def stack_rule(rule: RuleSpec) -> Transition:
    """`u0 -> u1 : LABEL, TOP / PUSH, REWARD`."""
    if rule.look is None or rule.change is None or rule.vector:
        fix = "write SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD; the top may be `z` (any) or `eps` (none)"
        fault = "a rule of a machine with a stack names the top and what replaces it"
        raise CannotRead(fault, where=rule.where, fix=fix)
    push = tuple(symbol for symbol in rule.change if symbol != NONE)
    return Transition(*rule.ends, rule.look[0], push, rule.reward, rule.where)


def counter_rule(rule: RuleSpec) -> CountingTransition:
    """`u0 -> u1 : LABEL, [TEST, …] / [CHANGE, …], REWARD`."""
    if rule.look is None or rule.change is None or not rule.vector:
        fix = (
            "write SOURCE -> TARGET : LABEL, [0, 1 or -] / [CHANGE], REWARD, one entry per counter"
        )
        fault = "a rule of a counting automaton tests and changes its counters"
        raise CannotRead(fault, where=rule.where, fix=fix)
    for change in rule.change:
        if not INTEGER.fullmatch(change):
            fix = "use an integer such as +1, 0 or -2"
            fault = f"`{change[:40]}` is not a counter change"
            raise BadNumber(fault, where=rule.where, fix=fix, word=change)
    changes = tuple(map(int, rule.change))
    return CountingTransition(*rule.ends, rule.look, changes, rule.reward, rule.where)


def plain_rule(rule: RuleSpec) -> Transition:
    """`u0 -> u1 : LABEL, REWARD`."""
    if rule.vector:
        fault = "the rule tests counters, but there is no `counters` line"
        raise BadNumber(fault, where=rule.where, fix="add a line such as `counters 1`")
    if rule.look is not None:
        fault = "the rule uses a stack, but no `stack` line names the bottom symbol"
        raise NoBottom(fault, where=rule.where, fix=STACK_LINE)
    if rule.guard == SILENT:
        fix = "let the rule read a label, or give the machine a `stack` line"
        fault = "a machine without a stack has no silent moves"
        raise CannotRead(fault, where=rule.where, fix=fix)
    return Transition(*rule.ends, NONE, (), rule.reward, rule.where)


# --- Machines: which of the three kinds, and its fields from the header lines

AnyMachine = PushdownRewardMachine | CountingRewardAutomaton
MOST_COUNTERS = 16
"""Counters a counting automaton may have."""
OTHERWISE = "write `otherwise stay REWARD`, `otherwise go STATE REWARD` or `otherwise error`"

T = TypeVar("T")


def read(fill: Callable[[str, Document], None], text: str, file: str) -> Document:
    """The document that a reader makes of a text; its `errors` list what is wrong with it."""
    document = Document(file)
    try:
        fill(text, document)
    except PdrmError as error:
        document.errors.append(error)
    return document


def build(document: Document, name: str) -> AnyMachine:
    """The machine a document describes, or all that is wrong with it, one fault of a kind for each place."""
    try:
        raise_all(document.errors)
        return _Building(document, name).machine()
    except PdrmError as error:
        first: dict[tuple[str, Where, str], PdrmError] = {}
        for one in error.errors:
            message = "" if one.where else one.message
            first.setdefault((one.code, document.locate(one), message), one)
        places = sorted(first, key=lambda key: (key[1].line, key[1].column))
        raise_all(first[key] for key in places)
        raise


class _Building:
    """Header lines looked up by keyword, with the faults found on the way."""

    def __init__(self, document: Document, name: str) -> None:
        self.document = document
        self.default_name = name
        self.faults: dict[tuple[str, str], PdrmError] = {}
        """By code and message: the same fault in many rules is reported once."""

    def machine(self) -> AnyMachine:
        """The machine of the kind the header lines say."""
        name = str(self._single("name") or self.default_name)
        events = self._words("events")
        rest = (
            tuple(tuple(map(str, one.words)) for one in self.document.lines("exclusive")),
            self._words("states"),
        )
        start = self._single("start")
        if start is None and not self.document.lines("start"):
            self._fault(MissingHeader("the `start` line is missing", fix="add `start STATE`"))
        middle = (str(start), self._words("final"), self._otherwise())
        stack = self._line("stack")
        counters = self._single("counters")
        if counters is not None:
            if stack is not None:
                fault = "a machine has a stack or counters, not both"
                self._fault(DuplicateName(fault, where=counters.where, fix="remove one"))
            count = self._count(counters)
            counting = self._rules(counter_rule)
            return CountingRewardAutomaton(name, events, count, *middle, counting, *rest)
        symbols = (BOTTOM,) if stack is None else self._words("stack")
        if stack is not None and not symbols:
            fault = "the `stack` line names no bottom symbol"
            self._fault(NoBottom(fault, where=stack.keyword.where, fix=STACK_LINE))
        rules = self._rules(plain_rule if stack is None else stack_rule)
        return PushdownRewardMachine(name, events, symbols, *middle, rules, *rest)

    def _fault(self, error: PdrmError) -> None:
        self.faults.setdefault((error.code, error.message), error)

    def _line(self, keyword: str) -> Header | None:
        """The header line with this keyword; a second one is a fault."""
        lines = self.document.lines(keyword)
        for extra in lines[1:2]:
            first = lines[0].keyword.where.line
            fault = f"a second `{keyword}` line; the first is line {first}"
            self._fault(DuplicateName(fault, where=extra.keyword.where, fix="keep one of them"))
        return lines[0] if lines else None

    def _words(self, keyword: str) -> tuple[str, ...]:
        line = self._line(keyword)
        return () if line is None else tuple(map(str, line.words))

    def _single(self, keyword: str) -> Word | None:
        """The one word of a header line."""
        line = self._line(keyword)
        if line is None:
            return None
        if len(line.words) != 1:
            where = line.words[1].where if line.words else line.keyword.where
            fault = f"`{keyword}` takes one word, not {len(line.words)}"
            fix = comment_fix(line.words) or f"write `{keyword} WORD`"
            self._fault(CannotRead(fault, where=where, fix=fix))
            return None
        return line.words[0]

    def _otherwise(self) -> Otherwise:
        line = self._line("otherwise")
        if line is None:
            fault = "the `otherwise` line is missing: what happens if no rule applies?"
            self._fault(MissingHeader(fault, fix=OTHERWISE))
            return Otherwise.error()
        where = line.keyword.where
        try:
            match [str(word) for word in line.words]:
                case ["error"]:
                    return Otherwise("error", where=where)
                case [("stay" | "go") as action, *state, reward] if len(state) == (action == "go"):
                    paid = number_of(reward, line.words[-1].where)
                    return Otherwise(action, "".join(state) or None, paid, where)
            fix = comment_fix(line.words) or OTHERWISE
            self._fault(CannotRead("this `otherwise` cannot be read", where=where, fix=fix))
        except PdrmError as error:
            self._fault(error)
        return Otherwise.error()

    def _count(self, counters: Word) -> int:
        count = int(counters.text) if INTEGER.fullmatch(counters.text) else 0
        if not 1 <= count <= MOST_COUNTERS:
            fault = (
                f"`counters` takes an integer from 1 to {MOST_COUNTERS}, not `{counters.text[:40]}`"
            )
            raise BadNumber(fault, where=counters.where, fix="write `counters 1`")
        return count

    def _rules(self, convert: Callable[[RuleSpec], T]) -> tuple[T, ...]:
        """The rules as transitions; their faults, and those of the header, are raised together."""
        rules: list[T] = []
        for rule in self.document.rules:
            try:
                rules.append(convert(rule))
            except PdrmError as error:
                self._fault(error)
        raise_all(self.faults.values())
        return tuple(rules)


def comment_fix(words: Iterable[Word]) -> str:
    """The fix for a line that ends in a comment with another sign."""
    return COMMENTS if any(word.text.startswith("#") for word in words) else ""
