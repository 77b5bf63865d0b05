"""Source texts: bytes to lines, with limits that keep a damaged or hostile file from eating time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pdrm.errors import CannotOpen, NotUtf8, TooDeep, TooLarge, Where

LARGEST_FILE = 4 * 2**20
"""Bytes of a machine file at most."""

LONGEST_LINE = 10_000
"""Characters of one line at most."""

DEEPEST = 40
"""Parentheses, negations, blocks or JSON values inside each other at most."""

COMMENT = "//"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a source: its number, its text as it stands, and the text before the comment.

    >>> line = Line("t.pdrm", 3, "    a -> b  // why")
    >>> line.indent, line.code, str(line.at(5))
    (4, '    a -> b', 't.pdrm:3:5')
    """

    file: str
    number: int
    text: str

    @property
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
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise CannotOpen(f"{path} cannot be opened: {reason}", fix="check the path and its permissions") from error


def decode(data: bytes, file: str) -> str:
    """The text of a file's bytes, or `NotUtf8` at the first wrong one."""
    try:
        return data[:LARGEST_FILE].decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if len(data) > LARGEST_FILE and error.start > LARGEST_FILE - 4:
            return data[: error.start].decode()
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        text = data.split(b"\n")[line - 1].decode(errors="replace")
        raise NotUtf8(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            where=Where(file, line, column, text[: column + LONGEST_LINE]),
            fix="save the file as UTF-8",
        ) from error


def split_lines(text: str, file: str, longest: int = LONGEST_LINE) -> list[Line]:
    """The lines of a text, each within the limits."""
    lines = [Line(file, number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1)]
    for line in lines:
        if len(line.text) > longest:
            raise TooLarge(
                f"line {line.number} is {len(line.text):,} characters long or more; {longest:,} is the most",
                where=Where(file, line.number, longest + 1, line.text[: longest + 1]),
                fix="is this a .pdrm file? Its lines are short",
            )
    # A file cut at the limit may be half a character and a byte order mark short of it.
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_FILE - 7:
        last = lines[-1]
        raise TooLarge(
            f"the file is larger than {LARGEST_FILE // 2**20} MiB",
            where=last.at(max(1, len(last.text))),
            fix="a machine of this size is better built in Python",
        )
    return lines


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
