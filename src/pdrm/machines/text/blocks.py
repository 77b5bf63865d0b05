"""Blocks: the lines of a text as a forest, where the lines indented below a `for` belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pdrm.errors import BadIndentation, PdrmError, TooDeep
from pdrm.machines.text.source import DEEPEST, Line
from pdrm.machines.text.syntax import Node, parse_line


@dataclass(slots=True)
class Block:
    """A parsed line (None: it could not be read) and, for a `for`, the blocks inside it."""

    line: Line
    node: Node | None
    inside: list[Block] = field(default_factory=list)


def read_blocks(lines: Sequence[Line]) -> tuple[list[Block], list[PdrmError]]:
    """The blocks of a text, and what is wrong with its lines."""
    reading = _Reading([line for line in lines if line.code.strip()])
    return reading.level(0, 0), reading.errors


class _Reading:
    """A walk down the lines, one call of `level` for each depth of indentation."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.next = 0
        self.errors: list[PdrmError] = []

    def level(self, indent: int, depth: int) -> list[Block]:
        """The blocks from the next line on that stand at this indentation."""
        blocks: list[Block] = []
        while self.next < len(self.lines) and self.lines[self.next].indent >= indent:
            line = self.lines[self.next]
            self._check_indent(line, indent)
            block = Block(line, self._parse(line))
            blocks.append(block)
            self.next += 1
            if line.code.split()[0] == "for" and "->" not in line.code:
                block.inside = self._inside(line, depth)
        return blocks

    def _inside(self, line: Line, depth: int) -> list[Block]:
        at = line.at(line.indent + 1, 3)
        if depth >= DEEPEST:
            raise TooDeep(f"`for` blocks nested more than {DEEPEST} deep", where=at, fix="use fewer")
        deeper = self.lines[self.next].indent if self.next < len(self.lines) else 0
        if deeper <= line.indent:
            fix = "indent the rules that belong to it by four spaces"
            self.errors.append(BadIndentation("a `for` with no lines inside it", where=at, fix=fix))
            return []
        return self.level(deeper, depth + 1)

    def _check_indent(self, line: Line, indent: int) -> None:
        blank = line.code[: line.indent]
        if blank.strip(" "):
            fault, fix = "indented with a character that is not a space", "indent with spaces only"
        elif line.indent != indent:
            fault, fix = (
                "indented like no open block above it",
                "indent the lines of one `for` block alike, and no others",
            )
        else:
            return
        self.errors.append(BadIndentation(f"this line is {fault}", where=line.at(1, max(1, line.indent)), fix=fix))

    def _parse(self, line: Line) -> Node | None:
        try:
            return parse_line(line)
        except PdrmError as error:
            self.errors.append(error)
            return None
