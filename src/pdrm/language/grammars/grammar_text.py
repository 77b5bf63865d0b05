"""The text of context-free grammars, in Lark's notation.

    start: pair*
    pair: "open" pair* "close"

The operators are `|`, `( )`, `?`, `*`, `+`, `[ ]` (optional) and `~ 2..3` (two or three times). A
double-quoted text is an event, or a guard as in a `.pdrm` rule: `"u & !t"`. Other features of Lark,
which are about characters, are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pdrm.errors import BadGrammar, DuplicateName, PdrmError, Where
from pdrm.files import MAX_SYMBOLS
from pdrm.language.reader import read_guard
from pdrm.language.source import Cursor, Line, Token, scan
from pdrm.machines.guards import NAME, Event, Guard, Silent

# --- Expressions: the right-hand sides of rules


@dataclass(frozen=True, slots=True)
class Terminal:
    """An event, or a guard."""

    guard: Guard
    where: Where = field(compare=False)

    def __str__(self) -> str:
        return f'"{self.guard}"'


@dataclass(frozen=True, slots=True)
class Reference:
    """The name of a rule."""

    name: str
    where: Where = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence of expressions."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " ".join(map(_grouped, self.parts))


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A choice between expressions."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition from `least` to `most` times (None for no limit)."""

    inner: Expression
    least: int
    most: int | None

    def __str__(self) -> str:
        times = (self.least, self.most)
        return _grouped(self.inner) + SUFFIXES.get(times, f"~{self.least}..{self.most}")


Expression = Terminal | Reference | Sequence | Alternatives | Repeat
SUFFIXES: dict[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}
TIMES = {sign: times for times, sign in SUFFIXES.items()}


def _grouped(inner: Expression) -> str:
    return f"({inner})" if isinstance(inner, Sequence | Alternatives) else str(inner)


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule of a grammar."""

    name: str
    inner: Expression
    where: Where


# --- Reading the text

TOKEN = re.compile(
    r'\s*(?:(?P<name>[^\W\d]\w*)|(?P<string>"[^"\n]*")|(?P<number>\d{1,9})'
    r"|(?P<sign>\.\.|[:|()\[\]*+?~])|(?P<odd>->|\S))"
)
MAX_TOKENS = 4 * MAX_SYMBOLS
"""The maximum number of words and signs of a grammar."""
MAX_TIMES = 1_000
"""The maximum number of repetitions by `~`."""
SHAPE = 'write rules such as `pair: "open" pair* "close"`, with events in double quotes'
EXPRESSION = 'write events in double quotes: `"a" ("b" | "c")*`'


def read_rules(lines: Iterable[Line], file: str) -> dict[str, Definition]:
    """Read the rules of a grammar, by name.

    >>> rules = read_rules([Line("t.grammar", 1, 'start: ("a" | "b")+ rest?')], "t.grammar")
    >>> str(rules["start"].inner)
    '("a" | "b")+ rest?'
    """
    parser = _GrammarParser(scan(lines, file, TOKEN, MAX_TOKENS))
    rules: dict[str, Definition] = {}
    while not parser.at_end:
        rule = parser.rule()
        if rule.name in rules:
            first = rules[rule.name].where.line
            raise DuplicateName(
                f"a second rule `{rule.name}`; the first is on line {first}",
                where=rule.where,
                fix="join them with `|`, or rename one",
            )
        rules[rule.name] = rule
    return rules


def read_expression(lines: Iterable[Line], file: str) -> Expression:
    """Read a regular expression over events.

    >>> print(read_expression([Line("t.regex", 1, '"a" ("b" | "c")* "d"')], "t.regex"))
    "a" ("b" | "c")* "d"
    """
    parser = _GrammarParser(scan(lines, file, TOKEN, MAX_TOKENS))
    for token in parser.tokens:
        if token.kind == "name":
            raise BadGrammar(
                f"`{token.text}` is not in quotes",
                where=token.where,
                fix=f'write events in double quotes: `"{token.text}"` (only a grammar has rules)',
            )
    parser.shape = EXPRESSION
    inner = parser.alternatives()
    if not parser.at_end:
        parser.fail()
    return inner


class _GrammarParser(Cursor):
    """Reads rules and expressions from left to right."""

    indent = 0
    """The column of the current rule. The next rule starts there, or further left."""

    shape = SHAPE
    """The fix for an unexpected token."""

    def fail(self) -> None:
        token = self.current
        raise BadGrammar(
            f"unexpected `{token.text}`" if token.text else "unexpected end",
            where=token.where,
            fix=self.shape,
        )

    def rule(self) -> Definition:
        name = self.current
        if not self._starts_line():
            self.fail()
        if name.kind == "name":
            self.next()
        if name.kind != "name" or not self.take(":"):
            raise BadGrammar("a rule starts with its name and a colon", where=name.where, fix=SHAPE)
        self.indent = name.where.column
        return Definition(name.text, self.alternatives(), name.where)

    def _starts_line(self) -> bool:
        where = self.current.where
        return not where.text[: where.column - 1].strip()

    def alternatives(self) -> Expression:
        options = [self._sequence()]
        while self.take("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Alternatives(tuple(options))

    def _sequence(self) -> Expression:
        parts: list[Expression] = []
        while not self._ends_sequence():
            parts.append(self._item())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _ends_sequence(self) -> bool:
        token = self.current
        if token.kind not in ("name", "string") and token.text not in ("(", "["):
            return True
        if self.depth or not self._starts_line():
            return False
        names_rule = self.tokens[self.position + 1].text == ":"
        return names_rule or token.where.column <= self.indent

    def _item(self) -> Expression:
        token = self.next()
        inner: Expression
        if token.kind == "name":
            inner = Reference(token.text, token.where)
        elif token.kind == "string":
            inner = Terminal(_guard_of(token), token.where)
        else:
            inner = self._group(token)
        while sign := self.take(*TIMES, "~"):
            least, most = self._times(sign) if sign.text == "~" else TIMES[sign.text]
            inner = _repeat(inner, least, most)
        return inner

    def _group(self, opened: Token) -> Expression:
        with self.nested():
            inner = self.alternatives()
        closing = ")" if opened.text == "(" else "]"
        if not self.take(closing):
            raise BadGrammar(
                f"a `{closing}` is missing", where=opened.where, fix=f"close the `{opened.text}`"
            )
        return inner if opened.text == "(" else _repeat(inner, 0, 1)

    def _times(self, sign: Token) -> tuple[int, int]:
        """Read the numbers after `~`."""
        numbers = [self.next()]
        if self.take(".."):
            numbers.append(self.next())
        times = [int(token.text) for token in numbers if token.kind == "number"]
        if len(times) < len(numbers) or not times[0] <= times[-1] <= MAX_TIMES or not times[-1]:
            raise BadGrammar(
                "invalid number of repetitions",
                where=sign.where,
                fix=f"write ~ 3, or ~ 1..3, with at most {MAX_TIMES}",
            )
        return times[0], times[-1]


def _repeat(inner: Expression, least: int, most: int | None) -> Repeat:
    """Repeat an expression, and simplify nested repetitions: `(a+)?` is `a*`."""
    if isinstance(inner, Repeat) and {(inner.least, inner.most), (least, most)} <= SUFFIXES.keys():
        limit = 1 if inner.most == most == 1 else None
        return Repeat(inner.inner, inner.least * least, limit)
    return Repeat(inner, least, most)


def _guard_of(token: Token) -> Guard:
    text = token.text[1:-1]
    if NAME.fullmatch(text) and text not in ("eps", "true", "false"):
        return Event(text)
    where = token.where
    try:
        guard = read_guard(Line(where.file, where.line, " " * where.column + text))
    except PdrmError as error:
        position = where if error.where is None else replace(error.where, text=where.text)
        raise BadGrammar(
            error.message,
            where=position,
            fix='write an event, as in `"open"`, or a guard, as in `"open & !key"`',
        ) from error
    if isinstance(guard, Silent):
        raise BadGrammar(
            "`eps` is not an event",
            where=where,
            fix="remove it: an empty alternative reads nothing",
        )
    return guard
