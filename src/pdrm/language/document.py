"""A machine as it is written, and the machine built from it.

Each reader (text, JSON, other programs' formats) makes a document: header lines and rules with the place of every word. `build`
finds out which of the three kinds of machine it describes and builds that, or raises all that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
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
from pdrm.language.syntax import Word, number_of
from pdrm.limits import MOST_RULES
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import SILENT, Guard
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


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """One rule with its variables filled in. `look` and `change` are None where the rule has no such part, symbols for a
    pushdown machine, and are marked `vector` for a counting automaton."""

    source: str
    target: str
    guard: Guard
    look: tuple[str, ...] | None
    change: tuple[str, ...] | None
    vector: bool
    reward: float
    where: Where


@dataclass(slots=True)
class Document:
    """Header lines and rules, in the order of the text, and the faults found while reading."""

    file: str
    headers: list[Header] = field(default_factory=list)
    rules: list[RuleSpec] = field(default_factory=list)
    errors: list[PdrmError] = field(default_factory=list)
    looped: set[int] = field(default_factory=set)
    """The lines inside `for` blocks, by number."""
    _noted: set[tuple[str, Where | None]] = field(default_factory=set)

    def add_header(self, header: Header) -> None:
        """Keep a header line."""
        if len(self.headers) >= MOST_RULES or len(header.words) > MOST_RULES:
            fault = f"more than {MOST_RULES:,} header lines, or names on one"
            raise TooLarge(fault, where=header.keyword.where, fix="build the machine in Python")
        self.headers.append(header)

    def add_rule(self, rule: RuleSpec) -> None:
        """Keep a rule."""
        if len(self.rules) >= MOST_RULES:
            fix = "use fewer or smaller loops, or build the machine in Python"
            raise TooLarge(f"more than {MOST_RULES:,} rules", where=rule.where, fix=fix)
        self.rules.append(rule)

    def note(self, error: PdrmError) -> None:
        """Keep a fault, once however often it is found; after the last that is reported, reading ends."""
        known = error.code, error.where
        if known not in self._noted:
            self._noted.add(known)
            self.errors.append(error)
            if len(self.errors) >= MOST_FAULTS:
                raise TooLarge(
                    f"{len(self.errors)} faults; the rest is not read",
                    where=error.where,
                    fix="mend these first",
                )

    def lines(self, keyword: str) -> list[Header]:
        """The header lines with this keyword."""
        return [header for header in self.headers if header.keyword.text == keyword]

    def locate(self, error: PdrmError) -> PdrmError:
        """Point an error at its word: in the line it names, or at the last header that holds the word."""
        if error.where is not None and error.word:
            code = error.where.text.partition("//")[0]
            found = re.compile(rf"(?<!\w){re.escape(error.word)}(?!\w)").search(
                code, error.where.column - 1
            )
            if found:
                error.where = replace(
                    error.where, column=found.start() + 1, width=len(error.word), path=""
                )
        elif error.where is None:
            places = [
                word.where
                for header in self.headers
                for word in header.words
                if word.text == error.word
            ]
            first = self.headers[0].keyword.where if self.headers else Where(self.file, 1, 1)
            error.where = places[-1] if places else first
        return error


# --- Rules: with a stack, with counters, or with neither

INTEGER = re.compile(r"[+-]?\d{1,9}", re.ASCII)
"""An integer as it may be written."""


def stack_rule(rule: RuleSpec) -> Transition:
    """`u0 -> u1 : LABEL, TOP / PUSH, REWARD`."""
    if rule.look is None or rule.change is None or rule.vector:
        fix = "write SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD; the top may be `z` (any) or `eps` (none)"
        fault = "a rule of a machine with a stack names the top and what replaces it"
        raise CannotRead(fault, where=rule.where, fix=fix)
    push = tuple(symbol for symbol in rule.change if symbol != NONE)
    return Transition(
        rule.source, rule.target, rule.guard, rule.look[0], push, rule.reward, rule.where
    )


def counter_rule(rule: RuleSpec) -> CountingTransition:
    """`u0 -> u1 : LABEL, [TEST, …] / [CHANGE, …], REWARD`."""
    if rule.look is None or rule.change is None or not rule.vector:
        fix = (
            "write SOURCE -> TARGET : LABEL, [0, 1 or -] / [CHANGE], REWARD, one entry per counter"
        )
        raise CannotRead(
            "a rule of a counting automaton tests and changes its counters",
            where=rule.where,
            fix=fix,
        )
    for change in rule.change:
        if not INTEGER.fullmatch(change):
            fix = "use an integer such as +1, 0 or -2"
            raise BadNumber(
                f"`{change[:40]}` is not a counter change", where=rule.where, fix=fix, word=change
            )
    changes = tuple(int(change) for change in rule.change)
    return CountingTransition(
        rule.source, rule.target, rule.guard, rule.look, changes, rule.reward, rule.where
    )


def plain_rule(rule: RuleSpec) -> Transition:
    """`u0 -> u1 : LABEL, REWARD`."""
    if rule.vector:
        fix = "add a line such as `counters 1`"
        raise BadNumber(
            "the rule tests counters, but there is no `counters` line", where=rule.where, fix=fix
        )
    if rule.look is not None:
        fix = "list the stack symbols, the bottom one first: `stack # A`"
        raise NoBottom(
            "the rule uses a stack, but no `stack` line names the bottom symbol",
            where=rule.where,
            fix=fix,
        )
    if rule.guard == SILENT:
        fix = "let the rule read a label, or give the machine a `stack` line"
        fault = "a machine without a stack has no silent moves"
        raise CannotRead(fault, where=rule.where, fix=fix)
    return Transition(rule.source, rule.target, rule.guard, NONE, (), rule.reward, rule.where)


# --- Machines: which of the three kinds, and its fields from the header lines

AnyMachine = PushdownRewardMachine | CountingRewardAutomaton
MOST_COUNTERS = 16
"""Counters a counting automaton may have."""

T = TypeVar("T")


def build(document: Document, name: str) -> AnyMachine:
    """The machine a document describes, or all that is wrong with it."""
    try:
        raise_all(document.errors)
        return _Building(document, name).machine()
    except PdrmError as error:
        located = sorted(
            map(document.locate, error.errors),
            key=lambda one: (one.where.line, one.where.column) if one.where else (0, 0),
        )
        raise_all(_join_alike(located, document.looped))
        raise


def _join_alike(errors: list[PdrmError], looped: Collection[int]) -> Iterator[PdrmError]:
    """One error for each place: a line in a `for` stands for many rules, which all have its fault."""

    def identify(error: PdrmError) -> tuple[str, Where | None, str]:
        inside = error.where is not None and error.where.line in looped
        return error.code, error.where, "" if inside else error.message

    places: dict[tuple[str, Where | None, str], list[PdrmError]] = {}
    for error in errors:
        places.setdefault(identify(error), []).append(error)
    for first, *others in places.values():
        more = len({one.message for one in others} - {first.message})
        if more:
            first.message += f"; and {more} more from this line of a `for`"
        yield first


class _Building:
    """Header lines looked up by keyword, with the faults found on the way."""

    def __init__(self, document: Document, name: str) -> None:
        self.document = document
        self.default_name = name
        self.faults: dict[tuple[str, str], PdrmError] = {}

    def machine(self) -> AnyMachine:
        """The machine of the kind the header lines say."""
        name = self._single("name")
        events, states, final = (
            tuple(map(str, self._words(key))) for key in ("events", "states", "final")
        )
        exclusive = tuple(
            tuple(map(str, header.words)) for header in self.document.lines("exclusive")
        )
        start, otherwise = self._single("start", needed=True), self._otherwise()
        stack, counters = self._line("stack"), self._single("counters")
        if stack is not None and counters is not None:
            fault = "a machine has a stack or counters, not both"
            self._fault(DuplicateName(fault, where=counters.where, fix="remove one"))
        if stack is not None and not stack.words:
            fix = "list the stack symbols, the bottom one first: `stack # A`"
            self._fault(
                NoBottom(
                    "the `stack` line names no bottom symbol", where=stack.keyword.where, fix=fix
                )
            )
        title, middle = str(name or self.default_name), (str(start), final, otherwise)
        if counters is not None:
            count, counting = self._count(counters), self._rules(counter_rule)
            return CountingRewardAutomaton(
                title, events, count, *middle, counting, exclusive, states
            )
        if stack is not None:
            symbols, pushdown = tuple(map(str, stack.words)), self._rules(stack_rule)
            return PushdownRewardMachine(
                title, events, symbols, *middle, pushdown, exclusive, states
            )
        plain = self._rules(plain_rule)
        return PushdownRewardMachine(title, events, (BOTTOM,), *middle, plain, exclusive, states)

    def _fault(self, error: PdrmError) -> None:
        """Note a fault; the same one in many rules is reported once."""
        self.faults.setdefault((error.code, error.message), error)

    def _line(self, keyword: str) -> Header | None:
        """The header line with this keyword; a second one is a fault."""
        lines = self.document.lines(keyword)
        for extra in lines[1:2]:
            first = lines[0].keyword.where.line
            fault = f"a second `{keyword}` line; the first is line {first}"
            self._fault(DuplicateName(fault, where=extra.keyword.where, fix="keep one of them"))
        return lines[0] if lines else None

    def _words(self, keyword: str) -> tuple[Word, ...]:
        line = self._line(keyword)
        return line.words if line is not None else ()

    def _single(self, keyword: str, needed: bool = False) -> Word | None:
        """The one word of a header line."""
        line = self._line(keyword)
        if line is None:
            if needed:
                self._fault(
                    MissingHeader(f"the `{keyword}` line is missing", fix=f"add `{keyword} STATE`")
                )
            return None
        if len(line.words) != 1:
            where = line.words[1].where if line.words else line.keyword.where
            fault = f"`{keyword}` takes one word, not {len(line.words)}"
            comment = any(word.text.startswith("#") for word in line.words[1:])
            self._fault(
                CannotRead(
                    fault, where=where, fix=COMMENTS if comment else f"write `{keyword} WORD`"
                )
            )
            return None
        return line.words[0]

    def _otherwise(self) -> Otherwise:
        line = self._line("otherwise")
        fix = "write `otherwise stay REWARD`, `otherwise go STATE REWARD` or `otherwise error`"
        if line is None:
            self._fault(
                MissingHeader(
                    "the `otherwise` line is missing: what happens where no rule applies?", fix=fix
                )
            )
            return Otherwise.error()
        where = line.keyword.where
        try:
            match [str(word) for word in line.words]:
                case ["error"]:
                    return Otherwise("error", where=where)
                case ["stay", reward]:
                    return Otherwise("stay", None, number_of(reward, line.words[1].where), where)
                case ["go", state, reward]:
                    return Otherwise("go", state, number_of(reward, line.words[2].where), where)
            comment = any(word.text.startswith("#") for word in line.words)
            self._fault(
                CannotRead(
                    "this `otherwise` cannot be read", where=where, fix=COMMENTS if comment else fix
                )
            )
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
        """The rules as transitions; the faults of all of them, and those of the header, are raised together."""
        rules: list[T] = []
        for rule in self.document.rules:
            try:
                rules.append(convert(rule))
            except PdrmError as error:
                self._fault(error)
        raise_all(self.faults.values())
        return tuple(rules)
