"""The contents of a machine file, independent of its format, and the machine built from it.

Each reader (text, JSON, other formats) fills a document: header lines and rules, with the position
of every word. `build` determines the kind of machine and builds it, or raises all errors.
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
"""An integer in a file."""


AnyRule = Transition | CountingTransition
UNWRITTEN = ""
"""The top of a rule without a stack part."""


@dataclass(slots=True)
class Document:
    """Header lines and rules in the order of the text, and the errors found while reading."""

    file: str
    headers: dict[str, list[Token]] = field(default_factory=dict)
    """The header lines by keyword. Each line includes its keyword."""
    exclusive: list[list[Token]] = field(default_factory=list)
    """The `exclusive` lines."""
    rules: list[AnyRule] = field(default_factory=list)
    """The rules. Without a stack part or counter part, the top is `UNWRITTEN`."""
    errors: dict[tuple[str, Where, str], PdrmError] = field(default_factory=dict)
    """The errors by code, position, and message if they had no position. So a line in a `for`
    block, which is read many times, has one error of each kind."""

    def add_header(self, line: list[Token]) -> None:
        """Add a header line: a keyword and the words after it."""
        keyword = line[0].text
        if keyword == "exclusive":
            self.exclusive.append(line)
            return
        first = self.headers.setdefault(keyword, line)
        if first is not line:
            raise DuplicateName(
                f"a second `{keyword}` line; the first is line {first[0].where.line}",
                where=line[0].where,
                fix="keep one of them",
            )

    def add_rule(self, rule: AnyRule) -> None:
        """Add a rule."""
        self.rules.append(rule)
        limit(len(self.rules), MAX_RULES, "rules", rule.where)

    def add_error(self, error: PdrmError) -> None:
        """Add an error, or each error of a group, with its position."""
        for part in error.errors:
            message = "" if part.where else part.message
            part.where = self._locate(part)
            self.errors.setdefault((part.code, part.where, message), part)

    @contextmanager
    def collecting_errors(self) -> Iterator[None]:
        """Record an error raised in the block and continue, up to the reporting limit."""
        try:
            yield
        except TooLarge:
            raise
        except PdrmError as error:
            self.add_error(error)
            if len(self.errors) >= MAX_FAULTS:
                raise TooLarge(
                    f"{MAX_FAULTS} errors; the rest of the file is not read",
                    where=error.where,
                    fix="correct these first",
                ) from None

    def raise_errors(self) -> None:
        """Raise all errors in the order of the text."""
        keys = sorted(self.errors, key=lambda key: (key[1].line, key[1].column))
        raise_all(self.errors[key] for key in keys)

    def names(self, keyword: str) -> tuple[str, ...]:
        """The words of a header line."""
        return tuple(map(str, self.headers.get(keyword, [])[1:]))

    def single(self, keyword: str) -> Token | None:
        """The only word of a header line (None if the line is missing or has another number)."""
        line = self.headers.get(keyword, [])
        if line and len(line) != 2:
            where = line[2 if len(line) > 2 else 0].where
            fault = f"`{keyword}` takes one word, not {len(line) - 1}"
            fix = comment_fix(line) or f"write `{keyword} WORD`"
            self.add_error(CannotRead(fault, where=where, fix=fix))
        return line[1] if len(line) == 2 else None

    def _locate(self, error: PdrmError) -> Where:
        """The position of an error's word in its line, or in the last header with the word."""
        where = error.where
        if where is None:
            lines = [*self.headers.values(), *self.exclusive]
            first = [line[0].where for line in lines[:1]]
            matches = [word.where for line in lines for word in line[1:] if word.text == error.word]
            return [Where(self.file, 1, 1), *first, *matches][-1]
        code = where.text.partition("//")[0]
        word = re.compile(rf"(?<!\w){re.escape(error.word)}(?!\w)")
        match = word.search(code, where.column - 1)
        if not error.word or match is None:
            return where
        return replace(where, column=match.start() + 1, width=len(error.word), path="")


def number_of(text: str, where: Where) -> float:
    """Read a finite number; raise `BadReward` otherwise."""
    return reward_of(float(text) if NUMBER.fullmatch(text) else text, where)


def integer_of(text: str, where: Where) -> int:
    """Read a change of a counter; raise `BadNumber` otherwise."""
    if not INTEGER.fullmatch(text):
        raise BadNumber(
            f"`{text[:40]}` is not a counter change",
            where=where,
            fix="use an integer such as +1, 0 or -2",
        )
    return int(text)


# --- Building a machine of the right kind from the header lines and rules

AnyMachine = PushdownRewardMachine | CountingRewardAutomaton
MAX_COUNTERS = 16
"""The maximum number of counters."""
OTHERWISE = "write `otherwise stay REWARD`, `otherwise go STATE REWARD` or `otherwise error`"

STACK_LINE = "list the stack symbols, the bottom one first: `stack # A`"
RULE_FIXES = {
    "stack": "write SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD; "
    "the top can be `z` (any) or `eps` (none)",
    "counters": "write SOURCE -> TARGET : LABEL, [0, 1 or -] / [CHANGE], REWARD, "
    "one entry per counter",
}


def read(fill: Callable[[str, Document], None], text: str, file: str) -> Document:
    """Fill a document from a text, or raise all errors.

    Args:
        fill: The reader of the format.
        text: The text.
        file: The name of the file, for messages.
    """
    document = Document(file)
    try:
        fill(text, document)
    except PdrmError as error:
        document.add_error(error)
    document.raise_errors()
    return document


def build(document: Document, name: str) -> AnyMachine:
    """Build the machine of a document, or raise all errors.

    Args:
        document: The document.
        name: The name of the machine if the document has none.
    """
    try:
        return _build_machine(document, name)
    except PdrmError as error:
        if not document.errors:
            document.add_error(error)
            document.raise_errors()
        raise


def _build_machine(document: Document, default_name: str) -> AnyMachine:
    name = str(document.single("name") or default_name)
    events = document.names("events")
    start = document.single("start")
    if "start" not in document.headers:
        document.add_error(MissingHeader("the `start` line is missing", fix="add `start STATE`"))
    middle = (str(start), document.names("final"), _otherwise(document))
    groups = tuple(tuple(map(str, line[1:])) for line in document.exclusive)
    rest = (groups, document.names("states"))
    stack = document.headers.get("stack", [])
    counters = document.single("counters")
    count = 0
    if counters is not None:
        if stack:
            fault = "a machine has a stack or counters, not both"
            document.add_error(DuplicateName(fault, where=counters.where, fix="remove one"))
        count = int(counters.text) if INTEGER.fullmatch(counters.text) else 0
        if not 1 <= count <= MAX_COUNTERS:
            fault = (
                f"`counters` takes an integer from 1 to {MAX_COUNTERS}, not `{counters.text[:40]}`"
            )
            document.add_error(BadNumber(fault, where=counters.where, fix="write `counters 1`"))
    elif len(stack) == 1:
        fault = "the `stack` line names no bottom symbol"
        document.add_error(NoBottom(fault, where=stack[0].where, fix=STACK_LINE))
    memory = "stack" if stack else ""
    if counters is not None:
        memory = "counters"
    counting: list[CountingTransition] = []
    rules: list[Transition] = []
    with document.collecting_errors():
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
    """Raise unless a rule fits a machine with this memory (`counters`, `stack` or empty)."""
    kind = "counters"
    if isinstance(rule, Transition):
        kind = "" if rule.top == UNWRITTEN else "stack"
    if memory and kind != memory:
        raise CannotRead(
            f"the machine has a `{memory}` line, but the rule has no part for it",
            where=rule.where,
            fix=RULE_FIXES[memory],
        )
    if kind == "counters" and not memory:
        raise BadNumber(
            "the rule tests counters, but there is no `counters` line",
            where=rule.where,
            fix="add a line such as `counters 1`",
        )
    if kind == "stack" and not memory:
        raise NoBottom(
            "the rule uses a stack, but no `stack` line names the bottom symbol",
            where=rule.where,
            fix=STACK_LINE,
        )
    if rule.silent and not memory:
        raise CannotRead(
            "a machine without a stack has no silent moves",
            where=rule.where,
            fix="let the rule read a label, or give the machine a `stack` line",
        )


def _otherwise(document: Document) -> Otherwise:
    line = document.headers.get("otherwise", [])
    if not line:
        fault = "the `otherwise` line is missing: what happens if no rule applies?"
        document.add_error(MissingHeader(fault, fix=OTHERWISE))
    with document.collecting_errors():
        match list(map(str, line[1:])):
            case ["error"]:
                return Otherwise("error", where=line[0].where)
            case ["stay", reward]:
                return Otherwise("stay", None, number_of(reward, line[-1].where), line[0].where)
            case ["go", target, reward]:
                return Otherwise("go", target, number_of(reward, line[-1].where), line[0].where)
        if line:
            raise CannotRead(
                "this `otherwise` cannot be read",
                where=line[0].where,
                fix=comment_fix(line) or OTHERWISE,
            )
    return Otherwise.error()


def comment_fix(words: Iterable[Token]) -> str:
    """The fix for a line that ends in a comment with the wrong sign."""
    return COMMENTS if any(word.text.startswith("#") for word in words) else ""
