"""A machine as it is written, and the machine built from it.

Each reader (text, JSON, other programs' formats) makes a document: header lines and rules with the place of every word. `build`
finds out which of the three kinds of machine it describes and builds that, or raises all that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pdrm.errors import (
    MAX_FAULTS,
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
from pdrm.files import MAX_RULES
from pdrm.language.source import COMMENTS, Token, limit
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import BOTTOM, NONE, Otherwise, Transition, reward_of

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
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
INTEGER = re.compile(r"[+-]?\d{1,9}", re.ASCII)
"""An integer as it may be written."""


AnyRule = Transition | CountingTransition
UNWRITTEN = ""
"""The top of a rule that names none."""


@dataclass(slots=True)
class Document:
    """Header lines and rules, in the order of the text, and the faults found while reading."""

    file: str
    headers: dict[str, list[Token]] = field(default_factory=dict)
    """Each line by its keyword: that, and the words after it."""
    exclusive: list[list[Token]] = field(default_factory=list)
    """The lines of this keyword, of which there may be several."""
    rules: list[AnyRule] = field(default_factory=list)
    """A rule that says nothing about a stack or counters has the top `UNWRITTEN`."""
    errors: dict[tuple[str, Where, str], PdrmError] = field(default_factory=dict)
    """Faults, one of a kind for each place (and message, if it has no place of its own)."""

    def add_header(self, line: list[Token]) -> None:
        """Keep a header line: a keyword and the words after it."""
        keyword = line[0].text
        if keyword == "exclusive":
            self.exclusive.append(line)
            return
        first = self.headers.setdefault(keyword, line)
        if first is not line:
            fault = f"a second `{keyword}` line; the first is line {first[0].where.line}"
            raise DuplicateName(fault, where=line[0].where, fix="keep one of them")

    def add_rule(self, rule: AnyRule) -> None:
        """Keep a rule."""
        self.rules.append(rule)
        limit(len(self.rules), MAX_RULES, "rules", rule.where)

    def note(self, error: PdrmError) -> None:
        """Keep a fault, or each of several."""
        for one in error.errors:
            message = "" if one.where else one.message
            one.where = self._locate(one)
            self.errors.setdefault((one.code, one.where, message), one)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note a fault inside, so that reading continues after it, up to the last that is reported."""
        try:
            yield
        except TooLarge:
            raise
        except PdrmError as error:
            self.note(error)
            if len(self.errors) >= MAX_FAULTS:
                fault = f"{MAX_FAULTS} faults; the rest is not read"
                raise TooLarge(fault, where=error.where, fix="correct these first") from None

    def raise_errors(self) -> None:
        """Raise all that is wrong, in the order of the text."""
        places = sorted(self.errors, key=lambda key: (key[1].line, key[1].column))
        raise_all(self.errors[key] for key in places)

    def names(self, keyword: str) -> tuple[str, ...]:
        """The words of a header line."""
        return tuple(map(str, self.headers.get(keyword, [])[1:]))

    def single(self, keyword: str) -> Token | None:
        """The one word of a header line."""
        line = self.headers.get(keyword, [])
        if line and len(line) != 2:
            where = line[2 if len(line) > 2 else 0].where
            fault = f"`{keyword}` takes one word, not {len(line) - 1}"
            fix = comment_fix(line) or f"write `{keyword} WORD`"
            self.note(CannotRead(fault, where=where, fix=fix))
        return line[1] if len(line) == 2 else None

    def _locate(self, error: PdrmError) -> Where:
        """The place of an error: of its word in the line it names, or of the last header that holds the word."""
        where = error.where
        if where is None:
            lines = [*self.headers.values(), *self.exclusive]
            first = [line[0].where for line in lines[:1]]
            places = [word.where for line in lines for word in line[1:] if word.text == error.word]
            return [Where(self.file, 1, 1), *first, *places][-1]
        code = where.text.partition("//")[0]
        word = re.compile(rf"(?<!\w){re.escape(error.word)}(?!\w)")
        found = word.search(code, where.column - 1)
        if not error.word or found is None:
            return where
        return replace(where, column=found.start() + 1, width=len(error.word), path="")


def number_of(text: str, where: Where) -> float:
    """A finite number, or `BadReward`."""
    return reward_of(float(text) if NUMBER.fullmatch(text) else text, where)


def integer_of(text: str, where: Where) -> int:
    """A change of a counter, or `BadNumber`."""
    if not INTEGER.fullmatch(text):
        fix = "use an integer such as +1, 0 or -2"
        raise BadNumber(f"`{text[:40]}` is not a counter change", where=where, fix=fix)
    return int(text)


# --- Machines: which of the three kinds, and its fields from the header lines

AnyMachine = PushdownRewardMachine | CountingRewardAutomaton
MAX_COUNTERS = 16
"""Counters a counting automaton may have."""
OTHERWISE = "write `otherwise stay REWARD`, `otherwise go STATE REWARD` or `otherwise error`"

STACK_LINE = "list the stack symbols, the bottom one first: `stack # A`"
STACK_RULE = (
    "write SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD; the top may be `z` (any) or `eps` (none)"
)
COUNTER_RULE = (
    "write SOURCE -> TARGET : LABEL, [0, 1 or -] / [CHANGE], REWARD, one entry per counter"
)


def read(fill: Callable[[str, Document], None], text: str, file: str) -> Document:
    """The document that a reader makes of a text without faults."""
    document = Document(file)
    try:
        fill(text, document)
    except PdrmError as error:
        document.note(error)
    document.raise_errors()
    return document


def build(document: Document, name: str) -> AnyMachine:
    """The machine a document describes, or all that is wrong with it."""
    try:
        return _machine(document, name)
    except PdrmError as error:
        if not document.errors:
            document.note(error)
        document.raise_errors()
        raise


def _machine(document: Document, default_name: str) -> AnyMachine:
    """The machine of the kind that the header lines say."""
    name = str(document.single("name") or default_name)
    events = document.names("events")
    start = document.single("start")
    if "start" not in document.headers:
        document.note(MissingHeader("the `start` line is missing", fix="add `start STATE`"))
    middle = (str(start), document.names("final"), _otherwise(document))
    groups = tuple(tuple(map(str, line[1:])) for line in document.exclusive)
    rest = (groups, document.names("states"))
    stack = document.headers.get("stack", [])
    counters = document.single("counters")
    count = 0
    if counters is not None:
        if stack:
            fault = "a machine has a stack or counters, not both"
            document.note(DuplicateName(fault, where=counters.where, fix="remove one"))
        count = int(counters.text) if INTEGER.fullmatch(counters.text) else 0
        if not 1 <= count <= MAX_COUNTERS:
            found = f"not `{counters.text[:40]}`"
            fault = f"`counters` takes an integer from 1 to {MAX_COUNTERS}, {found}"
            document.note(BadNumber(fault, where=counters.where, fix="write `counters 1`"))
    elif len(stack) == 1:
        fault = "the `stack` line names no bottom symbol"
        document.note(NoBottom(fault, where=stack[0].where, fix=STACK_LINE))
    memory = "counters" if counters is not None else "stack" if stack else ""
    counting: list[CountingTransition] = []
    rules: list[Transition] = []
    with document.noting():
        for rule in document.rules:
            _check_kind(rule, memory)
            if isinstance(rule, CountingTransition):
                counting.append(rule)
            else:
                rules.append(replace(rule, top=NONE) if rule.top == UNWRITTEN else rule)
    document.raise_errors()
    if counters is not None:
        return CountingRewardAutomaton(name, events, count, *middle, tuple(counting), *rest)
    symbols = document.names("stack") or (BOTTOM,)
    return PushdownRewardMachine(name, events, symbols, *middle, tuple(rules), *rest)


def _check_kind(rule: AnyRule, memory: str) -> None:
    """Refuse a rule that does not belong to a machine with this memory: `counters`, `stack` or none."""
    kind = "counters"
    if isinstance(rule, Transition):
        kind = "" if rule.top == UNWRITTEN else "stack"
    if memory and kind != memory:
        fault = (
            f"a rule of a machine with {memory} says what it looks at there, and what it changes"
        )
        fix = STACK_RULE if memory == "stack" else COUNTER_RULE
        raise CannotRead(fault, where=rule.where, fix=fix)
    if kind == "counters" and not memory:
        fault = "the rule tests counters, but there is no `counters` line"
        raise BadNumber(fault, where=rule.where, fix="add a line such as `counters 1`")
    if kind == "stack" and not memory:
        fault = "the rule uses a stack, but no `stack` line names the bottom symbol"
        raise NoBottom(fault, where=rule.where, fix=STACK_LINE)
    if rule.silent and not memory:
        fault = "a machine without a stack has no silent moves"
        fix = "let the rule read a label, or give the machine a `stack` line"
        raise CannotRead(fault, where=rule.where, fix=fix)


def _otherwise(document: Document) -> Otherwise:
    line = document.headers.get("otherwise", [])
    if not line:
        fault = "the `otherwise` line is missing: what happens if no rule applies?"
        document.note(MissingHeader(fault, fix=OTHERWISE))
    with document.noting():
        match list(map(str, line[1:])):
            case ["error"]:
                return Otherwise("error", where=line[0].where)
            case [("stay" | "go") as action, *state, reward] if len(state) == (action == "go"):
                paid = number_of(reward, line[-1].where)
                return Otherwise(action, "".join(state) or None, paid, line[0].where)
        if line:
            fix = comment_fix(line) or OTHERWISE
            raise CannotRead("this `otherwise` cannot be read", where=line[0].where, fix=fix)
    return Otherwise.error()


def comment_fix(words: Iterable[Token]) -> str:
    """The fix for a line that ends in a comment with another sign."""
    return COMMENTS if any(word.text.startswith("#") for word in words) else ""
