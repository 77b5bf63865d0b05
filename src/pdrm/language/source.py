"""Source texts: bytes to lines, with limits that keep a damaged or hostile file from eating time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pdrm.errors import NotUtf8, TooDeep, TooLarge, Where, WrongKind
from pdrm.files import read_beginning
from pdrm.limits import DEEPEST, LARGEST_TEXT, LONGEST_LINE, MOST_LINES

COMMENT = "//"
COMMENTS = "a comment starts with `//`, because `#` is a stack symbol"
"""The message about a comment that begins with another sign."""


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


def read_bytes(path: Path) -> bytes:
    """The file's bytes, one more than allowed at most."""
    return read_beginning(path, LARGEST_TEXT + 1)


def decode(data: bytes, file: str) -> str:
    """The text of a file's bytes, or `NotUtf8` at the first wrong one."""
    try:
        return data[:LARGEST_TEXT].decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if len(data) > LARGEST_TEXT and error.start > LARGEST_TEXT - 4:
            return data[: error.start].decode()
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        text = data.split(b"\n")[line - 1].decode(errors="replace")
        where = Where(file, line, column, text[: column + LONGEST_LINE])
        fault = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise NotUtf8(fault, where=where, fix="save the file as UTF-8") from error


def split_lines(text: str, file: str) -> list[Line]:
    """The lines of a text, each within the limits."""
    check_size(text, file)
    if text.count("\n") >= MOST_LINES:
        last = "\n".join(text.split("\n", MOST_LINES)[:MOST_LINES]).rpartition("\n")[2]
        where = Line(file, MOST_LINES, last[:LONGEST_LINE]).at(1)
        raise TooLarge(
            f"more than {MOST_LINES:,} lines",
            where=where,
            fix="a machine of this size is better built in Python",
        )
    lines = [
        Line(file, number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1)
    ]
    for line in lines:
        if len(line.text) > LONGEST_LINE:
            where = Where(file, line.number, LONGEST_LINE + 1, line.text[: LONGEST_LINE + 1])
            fault = f"a line of more than {LONGEST_LINE:,} characters"
            raise TooLarge(fault, where=where, fix="is this a .pdrm file? Its lines are short")
    return lines


def check_size(text: str, file: str) -> None:
    """Refuse a text that is too large, or that was cut at the limit: it may be half a character and a byte order mark short."""
    if not isinstance(text, str):
        raise WrongKind(f"a text is needed, not {str(text)[:40]!r}", fix="give what is written")
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_TEXT - 7:
        last = text.rpartition("\n")[2]
        raise TooLarge(
            f"the file is larger than {LARGEST_TEXT // 2**20} MiB",
            where=Where(file, text.count("\n") + 1, max(1, len(last)), last),
            fix="a machine of this size is better built in Python",
        )


def check_depth(line: Line) -> None:
    """Refuse a line whose parentheses or negations nest beyond reason, before anything recurses over it."""
    depth, negations, deepest, column = 0, 0, 0, 1
    for position, character in enumerate(line.code, 1):
        if character == "!":
            negations += 1
        elif character in "([{":
            depth += 1
        elif character not in " \t":
            negations = 0
            depth -= character in ")]}"
        if depth + negations > deepest:
            deepest, column = depth + negations, position
    if deepest > DEEPEST:
        fault = f"nested {deepest} deep; {DEEPEST} is the most"
        raise TooDeep(fault, where=line.at(column), fix="simplify the formula")
