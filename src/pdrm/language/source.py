"""Source texts: from bytes to lines to tokens, with limits on the time and memory of bad files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pdrm.errors import CannotRead, NotUtf8, TooDeep, TooLarge, Where, WrongKind
from pdrm.files import MAX_LINE_LENGTH, MAX_LINES, MAX_NESTING, MAX_TEXT_BYTES

COMMENT = "//"
COMMENTS = "a comment starts with `//`, because `#` is a stack symbol"
"""The fix for a comment with the wrong sign."""


def limit(
    size: int,
    most: int,
    things: str,
    where: Where | None = None,
    fix: str = "use a smaller text, combine machines of smaller tasks, or build it in Python",
) -> None:
    """Raise `TooLarge` if there are more than `most` things."""
    if size > most:
        raise TooLarge(f"more than {most:,} {things}", where=where, fix=fix)


@dataclass(frozen=True)
class Line:
    """A line of a text.

    >>> line = Line("t.pdrm", 3, "    a -> b  // why")
    >>> line.indent, line.code, str(line.at(5))
    (4, '    a -> b', 't.pdrm:3:5')
    """

    file: str
    number: int
    text: str

    @cached_property
    def code(self) -> str:
        """The line without its comment and trailing space."""
        return self.text.partition(COMMENT)[0].rstrip()

    @property
    def comment(self) -> str:
        """The comment with its slashes, or an empty text."""
        _, slashes, words = self.text.partition(COMMENT)
        return f"{slashes}{words}".rstrip()

    @property
    def indent(self) -> int:
        """The number of blank characters before the first word."""
        return len(self.code) - len(self.code.lstrip())

    def at(self, column: int, width: int = 1) -> Where:
        """A position in this line. Columns count from 1."""
        return Where(self.file, self.number, column, self.text, width)


def decode(data: bytes, file: str) -> str:
    """Decode the bytes of a file; raise `NotUtf8` at the first invalid byte."""
    limit(len(data), MAX_TEXT_BYTES, "bytes", Where(file))
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        text = data.split(b"\n")[line - 1].decode(errors="replace")
        where = Where(file, line, column, text[: column + MAX_LINE_LENGTH])
        raise NotUtf8(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            where=where,
            fix="save the file as UTF-8",
        ) from error


def split_lines(text: str, file: str) -> list[Line]:
    """Split a text into lines within the limits."""
    if not isinstance(text, str):
        raise WrongKind(f"expected a text, not {str(text)[:40]!r}", fix="pass a str")
    texts = text.split("\n")
    lines = [Line(file, number, line.rstrip("\r")) for number, line in enumerate(texts, 1)]
    limit(len(lines), MAX_LINES, "lines", Where(file, MAX_LINES, 1))
    for line in lines:
        beyond = line.text[: MAX_LINE_LENGTH + 1]
        where = Where(file, line.number, MAX_LINE_LENGTH + 1, beyond)
        limit(len(beyond), MAX_LINE_LENGTH, "characters in a line", where)
    return lines


# --- Tokens


class Token(NamedTuple):
    """A word or sign with its position."""

    text: str
    where: Where
    kind: str = "name"
    """The name of the group of the pattern that matched."""

    def __str__(self) -> str:
        return self.text


END_OF_TEXT = "end"
"""The kind of the last token, whose text is empty."""


def scan(lines: Iterable[Line], file: str, pattern: re.Pattern[str], most: int) -> list[Token]:
    r"""Split lines into tokens, followed by an empty token.

    >>> pattern = re.compile(r"\s*(?:(?P<name>[a-z]+)|(?P<sign>[:|]))")
    >>> [token.text for token in scan([Line("t", 1, "start: a | b")], "t", pattern, 10)]
    ['start', ':', 'a', '|', 'b', '']
    """
    tokens: list[Token] = []
    last = Line(file, 1, "")
    for last in lines:
        for match in pattern.finditer(last.code):
            kind = str(match.lastgroup)
            where = last.at(match.start(kind) + 1, max(1, len(match[kind])))
            tokens.append(Token(match[kind], where, kind))
            if (kind, match[kind]) == ("odd", '"'):
                raise CannotRead(
                    "this quote is not closed", where=where, fix='write a second `"` on this line'
                )
            limit(len(tokens), most, "words and signs", where)
    return [*tokens, Token("", last.at(len(last.code) + 1), END_OF_TEXT)]


class Cursor:
    """A position in a list of tokens."""

    max_depth = MAX_NESTING
    """The maximum depth of nesting."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def current(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    @property
    def at_end(self) -> bool:
        """True if all tokens are taken."""
        return self.current.kind == END_OF_TEXT

    def next(self) -> Token:
        """Take the next token."""
        token = self.current
        self.position += not self.at_end
        return token

    def take(self, *signs: str) -> Token | None:
        """Take the next token if it is one of these signs, otherwise return None."""
        token = self.current
        return self.next() if token.kind == "sign" and token.text in signs else None

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Read the contents of a group; raise `TooDeep` if it is nested too deeply."""
        if self.depth >= self.max_depth:
            fault = f"nested more than {self.max_depth} deep"
            where = self.tokens[self.position - 1].where
            raise TooDeep(fault, where=where, fix="simplify it, or split the task")
        self.depth += 1
        yield
        self.depth -= 1
