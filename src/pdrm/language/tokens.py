"""Tokens of a grammar, an expression or a formula, and a cursor that moves over them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pdrm.errors import TooLarge, Where
from pdrm.language.source import Line


class Token(NamedTuple):
    """A word or sign, with its kind: the name of the group of the pattern that matched it."""

    kind: str
    text: str
    line: Line
    column: int

    @property
    def where(self) -> Where:
        """The place of the token."""
        return self.line.at(self.column, max(1, len(self.text)))


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
            tokens.append(Token(kind, found[kind], last, found.start(kind) + 1))
            if len(tokens) > most:
                fault = f"more than {most:,} words and signs"
                fix = "split the task, and combine its machines"
                raise TooLarge(fault, where=tokens[-1].where, fix=fix)
    return [*tokens, Token(END_OF_TEXT, "", last, len(last.code) + 1)]


class Cursor:
    """A position in a list of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def here(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def next(self) -> Token:
        """Take the next token."""
        token = self.here
        self.position += token.kind != END_OF_TEXT
        return token

    def take(self, *signs: str) -> Token | None:
        """Take the next token if it is one of some signs."""
        token = self.here
        return self.next() if token.kind == "sign" and token.text in signs else None
