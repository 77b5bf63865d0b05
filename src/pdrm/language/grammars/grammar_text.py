"""Context-free grammars as they are written, in Lark's notation.

    start: pair*
    pair: "open" pair* "close"

Alternatives `|`, groups `( )`, `?`, `*`, `+`, `[ ]` (may be left out) and `~ 2..3` (so many times). What stands in double quotes is an
event, or a guard as a `.pdrm` rule has it: `"u & !t"`. Nothing else of Lark is: there are no characters here, only events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from pdrm.errors import BadGrammar, DuplicateName, PdrmError, TooDeep, TooLarge, Where
from pdrm.language.source import Line
from pdrm.language.syntax import read_guard
from pdrm.limits import DEEPEST, MOST_SYMBOLS, spend
from pdrm.machines.checks.wellformed import NAME
from pdrm.machines.guards import Event, Guard, Silent

# --- Expressions: the right-hand sides of rules


@dataclass(frozen=True, slots=True)
class Reads:
    """An event, or a guard."""

    guard: Guard
    where: Where = field(compare=False)

    def __str__(self) -> str:
        return f'"{self.guard}"'


@dataclass(frozen=True, slots=True)
class Calls:
    """A rule by its name."""

    name: str
    where: Where = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " ".join(map(_grouped, self.parts))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    options: tuple[Expression, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.options))


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `least` to `most` times (None: any number of times)."""

    inner: Expression
    least: int
    most: int | None

    def __str__(self) -> str:
        sign = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get(
            (self.least, self.most), f"~{self.least}..{self.most}"
        )
        return _grouped(self.inner) + sign


Expression = Reads | Calls | Sequence | Choice | Repeat


def _grouped(inner: Expression) -> str:
    return f"({inner})" if isinstance(inner, Sequence | Choice) else str(inner)


@dataclass(frozen=True, slots=True)
class Rule:
    """A name and what it stands for."""

    name: str
    inner: Expression
    where: Where


# --- Reading the text

TOKEN = re.compile(
    r'[ \t]*(?:(?P<name>[^\W\d]\w*)|(?P<string>"[^"\n]*")|(?P<number>\d{1,9})|(?P<sign>\.\.|[:|()\[\]*+?~])|(?P<odd>->|\S))'
)
HINTS = {
    "/": "there are no characters here, only events: write their names in double quotes",
    "%": "lines with `%` are Lark's; here everything in the grammar is rules and events",
    "->": "rename the rule instead: there are no aliases",
    "'": "write events in double quotes",
    '"': "close the quotes on the same line",
    "{": "templates cannot be used: write the rule out",
    "!": "`!` and `?` before a rule mean nothing here: leave them away",
}
ARROWS = ("->", "→", "=")
"""What others write between a rule's name and what it stands for."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    where: Where


def read_rules(lines: Iterable[Line]) -> list[Rule]:
    """The rules in some lines; a line that begins with a name and a colon begins a rule.

    >>> [rule] = read_rules([Line("t.grammar", 1, 'start: ("a" | "b")+ rest?')])
    >>> rule.name, str(rule.inner)
    ('start', '("a" | "b")+ rest?')
    """
    rules: list[Rule] = []
    known: dict[str, Where] = {}
    for tokens in _split_rules(lines):
        rule = _Reading(tokens, 2).rule()
        if rule.name in known:
            fault = f"a second rule `{rule.name}`; the first is on line {known[rule.name].line}"
            raise DuplicateName(fault, where=rule.where, fix="join them with `|`, or rename one")
        known[rule.name] = rule.where
        rules.append(rule)
    return rules


def read_expression(lines: Iterable[Line]) -> Expression:
    """The one expression in some lines, without the names of rules: a regular expression over events.

    >>> print(read_expression([Line("t.regex", 1, '"a" ("b" | "c")* "d"')]))
    "a" ("b" | "c")* "d"
    """
    tokens = list(
        islice((token for line in lines for token in _tokens(line, rules=False)), MOST_WORDS + 1)
    )
    if len(tokens) > MOST_WORDS:
        fault = f"the expression has more than {MOST_WORDS:,} words and signs"
        raise TooLarge(
            fault, where=tokens[-1].where, fix="split the task, and combine its machines"
        )
    for token in tokens:
        if token.kind == "name":
            fix = f'write events in double quotes: `"{token.text}"`; an expression has no rules (a grammar has)'
            raise BadGrammar(f"`{token.text}` is not in quotes", where=token.where, fix=fix)
    return _Reading(tokens, 0).expression()


def _split_rules(lines: Iterable[Line]) -> Iterator[list[_Token]]:
    rule: list[_Token] = []
    indent, depth, count = 0, 0, 0
    for line in lines:
        tokens = list(_tokens(line, rules=True))
        count += len(tokens)
        if count > MOST_TOKENS:
            fix = "use fewer rules, or build the machine in Python"
            raise TooLarge(
                f"the grammar has more than {MOST_TOKENS:,} words and signs",
                where=line.at(1),
                fix=fix,
            )
        begins = [token.text for token in tokens[1:2]] == [":"] and tokens[0].kind == "name"
        if begins and depth <= 0:
            if rule:
                yield rule
            rule, indent, depth = tokens, line.indent, 0
        elif not rule or (depth <= 0 and line.indent <= indent and tokens[0].text != "|"):
            fix = 'write NAME: WHAT IT STANDS FOR, for example `pair: "open" pair* "close"`'
            raise BadGrammar(
                "a rule begins with its name and a colon", where=tokens[0].where, fix=fix
            )
        else:
            rule += tokens
        depth += sum(
            (token.text in "([") - (token.text in ")]") for token in tokens if token.kind == "sign"
        )
        if depth > DEEPEST:
            raise _too_deep(tokens[-1])
    if rule:
        yield rule


def _tokens(line: Line, *, rules: bool) -> Iterator[_Token]:
    """The words and signs of a line. rules: whether it may begin a rule."""
    code = line.code
    for found in TOKEN.finditer(code):
        kind = str(found.lastgroup)
        spend(2, where := line.at(found.start(kind) + 1, len(found[kind])))
        if kind == "odd":
            fix = HINTS.get(found[kind], 'write rules such as `pair: "open" pair* "close"`')
            if (
                rules
                and found[kind] in ARROWS
                and code[: found.start(kind)].strip(" \t:").isidentifier()
            ):
                fix = 'after the name of a rule comes a colon, and events are in double quotes: `start: "a" start "b"`'
            raise BadGrammar(f"`{found[kind]}` does not belong in a grammar", where=where, fix=fix)
        yield _Token(kind, found[kind], where)


class _Reading:
    """The tokens of one rule, read from left to right."""

    def __init__(self, tokens: list[_Token], first: int) -> None:
        self.tokens = tokens
        self.next = first

    def rule(self) -> Rule:
        return Rule(self.tokens[0].text, self.expression(), self.tokens[0].where)

    def expression(self) -> Expression:
        inner = self._choice(0)
        if (token := self._peek()) is not None:
            fix = HINTS["!"] if token.text in "?!" else "remove it, or open a parenthesis before it"
            raise BadGrammar(f"`{token.text}` does not belong here", where=token.where, fix=fix)
        return inner

    def _peek(self) -> _Token | None:
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def _take(self, text: str) -> _Token | None:
        """The next token, if it is this sign."""
        token = self._peek()
        if token is None or token.kind != "sign" or token.text != text:
            return None
        self.next += 1
        return token

    def _choice(self, depth: int) -> Expression:
        options = [self._sequence(depth)]
        while self._take("|"):
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, depth: int) -> Expression:
        parts: list[Expression] = []
        while (token := self._peek()) is not None and (
            token.kind in ("name", "string") or token.text in "(["
        ):
            parts.append(self._item(token, depth))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _item(self, token: _Token, depth: int) -> Expression:
        self.next += 1
        if token.kind == "name":
            inner: Expression = Calls(token.text, token.where)
        elif token.kind == "string":
            inner = Reads(_guard_of(token), token.where)
        else:
            inner = self._group(token, depth + 1)
        while (sign := self._peek()) is not None and sign.kind == "sign" and sign.text in "?*+~":
            self.next += 1
            least, most = (
                self._times(sign)
                if sign.text == "~"
                else {"?": (0, 1), "*": (0, None), "+": (1, None)}[sign.text]
            )
            inner = _repeat(inner, least, most)
        return inner

    def _group(self, token: _Token, depth: int) -> Expression:
        if depth > DEEPEST:
            raise _too_deep(token)
        inner, closing = self._choice(depth), {"(": ")", "[": "]"}[token.text]
        if self._take(closing) is None:
            found = self._peek()
            where = token.where if found is None else found.where
            raise BadGrammar(
                f"a `{closing}` is missing", where=where, fix=f"close the `{token.text}`"
            )
        return inner if token.text == "(" else _repeat(inner, 0, 1)

    def _times(self, sign: _Token) -> tuple[int, int]:
        least = most = self._number(sign)
        if self._take(".."):
            most = self._number(sign)
        if not 0 <= least <= most <= MOST_TIMES or not most:
            fix = f"write ~ 3, or ~ 1..3; {MOST_TIMES} is the most"
            raise BadGrammar(
                f"nothing can be repeated {least} to {most} times", where=sign.where, fix=fix
            )
        return least, most

    def _number(self, sign: _Token) -> int:
        token = self._peek()
        if token is None or token.kind != "number":
            raise BadGrammar(
                "a number of times is missing", where=sign.where, fix="write ~ 3, or ~ 1..3"
            )
        self.next += 1
        return int(token.text)


MOST_WORDS = 4 * MOST_SYMBOLS
"""Words and signs of an expression at most."""


def _too_deep(token: _Token) -> TooDeep:
    return TooDeep(
        f"groups nested more than {DEEPEST} deep",
        where=token.where,
        fix="give the inner one a name",
    )


MOST_TOKENS = 4 * MOST_SYMBOLS
"""Words and signs that are read at most."""
MOST_TIMES = 1_000
"""Times that `~` may repeat."""


def _repeat(inner: Expression, least: int, most: int | None) -> Repeat:
    """Repetitions of a repetition as one where they are the same words: `(a+)?` is `a*`."""
    plain = (inner.least <= 1 and inner.most in (1, None)) if isinstance(inner, Repeat) else False
    if isinstance(inner, Repeat) and plain and least <= 1 and most in (1, None):
        return Repeat(inner.inner, inner.least * least, 1 if inner.most == most == 1 else None)
    return Repeat(inner, least, most)


def _guard_of(token: _Token) -> Guard:
    text = token.text[1:-1]
    if NAME.fullmatch(text) and text not in ("eps", "true", "false"):
        return Event(text)
    where = token.where
    padded = Line(where.file, where.line, " " * where.column + text)
    try:
        guard = read_guard(padded)
    except PdrmError as error:
        place = where if error.where is None else replace(error.where, text=where.text)
        fix = 'write an event, as in `"open"`, or a guard, as in `"open & !key"`'
        raise BadGrammar(error.message, where=place, fix=fix) from error
    if isinstance(guard, Silent):
        raise BadGrammar(
            "`eps` is no event",
            where=where,
            fix="leave it away: an empty alternative reads nothing",
        )
    return guard
