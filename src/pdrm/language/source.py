"""Source texts: bytes to lines to tokens, with limits that keep a damaged or hostile file from eating time and memory."""

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
"""The message about a comment that begins with another sign."""


def limit(
    size: int,
    most: int,
    things: str,
    where: Where | None = None,
    fix: str = "use a smaller text, split the task and combine its machines, or build the machine in Python",
) -> None:
    """Refuse more things than a limit allows."""
    if size > most:
        raise TooLarge(f"more than {most:,} {things}", where=where, fix=fix)


@dataclass(frozen=True)
class Line:
    """One line of a source: its number, and its text as it stands.

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
        """The comment with its slashes, or nothing."""
        _, slashes, words = self.text.partition(COMMENT)
        return f"{slashes}{words}".rstrip()

    @property
    def indent(self) -> int:
        """Blank characters before the first word."""
        return len(self.code) - len(self.code.lstrip())

    def at(self, column: int, width: int = 1) -> Where:
        """A place in this line (columns count from 1)."""
        return Where(self.file, self.number, column, self.text, width)


def decode(data: bytes, file: str) -> str:
    """The text of a file's bytes, or `NotUtf8` at the first wrong one."""
    limit(len(data), MAX_TEXT_BYTES, "bytes", Where(file))
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        text = data.split(b"\n")[line - 1].decode(errors="replace")
        where = Where(file, line, column, text[: column + MAX_LINE_LENGTH])
        fault = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise NotUtf8(fault, where=where, fix="save the file as UTF-8") from error


def split_lines(text: str, file: str) -> list[Line]:
    """The lines of a text, each within the limits."""
    if not isinstance(text, str):
        raise WrongKind(f"a text is needed, not {str(text)[:40]!r}", fix="give what is written")
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
    """A word or sign and its place, with its kind: the name of the group of the pattern that matched it."""

    text: str
    where: Where
    kind: str = "name"

    def __str__(self) -> str:
        return self.text


END_OF_TEXT = "end"
"""The kind of the token after all others; its text is empty."""


def scan(lines: Iterable[Line], file: str, pattern: re.Pattern[str], most: int) -> list[Token]:
    r"""Split lines into tokens, with an empty one at the end.

    >>> pattern = re.compile(r"\s*(?:(?P<name>[a-z]+)|(?P<sign>[:|]))")
    >>> [token.text for token in scan([Line("t", 1, "start: a | b")], "t", pattern, 10)]
    ['start', ':', 'a', '|', 'b', '']
    """
    tokens: list[Token] = []
    last = Line(file, 1, "")
    for last in lines:
        for found in pattern.finditer(last.code):
            kind = str(found.lastgroup)
            where = last.at(found.start(kind) + 1, max(1, len(found[kind])))
            tokens.append(Token(found[kind], where, kind))
            if (kind, found[kind]) == ("odd", '"'):
                fix = 'write a second `"` on its line'
                raise CannotRead("this quote is not closed", where=where, fix=fix)
            limit(len(tokens), most, "words and signs", where)
    return [*tokens, Token("", last.at(len(last.code) + 1), END_OF_TEXT)]


class Cursor:
    """A position in a list of tokens."""

    deepest = MAX_NESTING
    """Levels of nesting at most."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def here(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    @property
    def at_end(self) -> bool:
        """Return True if all tokens are taken."""
        return self.here.kind == END_OF_TEXT

    def next(self) -> Token:
        """Take the next token."""
        token = self.here
        self.position += not self.at_end
        return token

    def take(self, *signs: str) -> Token | None:
        """Take the next token if it is one of some signs."""
        token = self.here
        return self.next() if token.kind == "sign" and token.text in signs else None

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Read what the token before opens, unless it is nested beyond reason."""
        if self.depth >= self.deepest:
            fault = f"nested more than {self.deepest} deep"
            where = self.tokens[self.position - 1].where
            raise TooDeep(fault, where=where, fix="simplify it, or split the task")
        self.depth += 1
        yield
        self.depth -= 1
