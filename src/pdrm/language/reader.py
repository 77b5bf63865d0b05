"""Reading .pdrm text: lines to blocks, `for` blocks unrolled, maps applied. Every faulty line is reported, not just the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdrm.errors import (
    BadIndentation,
    BadName,
    DuplicateName,
    TooDeep,
    TooLarge,
    UnknownKeyword,
    Where,
    did_you_mean,
)
from pdrm.language.document import KEYWORDS, Document
from pdrm.language.source import COMMENTS, Line, split_lines
from pdrm.language.syntax import LineParser, Word
from pdrm.limits import DEEPEST

MOST_WORDS = 1_000_000
"""Words of a text's rules once its `for` blocks are unrolled, and turns of these, at most."""

NOT_VARIABLES = ("z", "eps", "true", "false")

Values = dict[str, str]
"""Loop variables and what they stand for."""


@dataclass(slots=True)
class Block:
    """A line with its tokens and, for a `for`, the blocks inside it."""

    parser: LineParser
    inside: list[Block]


def read_text(text: str, document: Document) -> None:
    """Fill a document from .pdrm text."""
    lines = [line for line in split_lines(text, document.file) if line.code.strip()]
    reader = _Reader(document, lines)
    while reader.next < len(lines):
        reader.read(reader.block(0, 0), {})
    reader.check_variables()


class _Reader:
    """Fills a document from lines: blocks are found by indentation, maps remembered, loops unrolled, terms resolved."""

    def __init__(self, document: Document, lines: Sequence[Line]) -> None:
        self.document, self.lines = document, lines
        self.next = self.words = 0
        self.maps: dict[str, dict[str, str]] = {}
        self.variables: dict[str, Where] = {}

    def block(self, indent: int, depth: int) -> Block:
        """The next line with all that is inside it."""
        line = self.lines[self.next]
        self.next += 1
        self._check_indent(line, indent)
        parser = LineParser(line, self.maps)
        return Block(parser, self._inside(line, depth) if parser.shape == "loop" else [])

    def _inside(self, line: Line, depth: int) -> list[Block]:
        at = line.at(line.indent + 1, 3)
        if depth >= DEEPEST:
            fault = f"`for` blocks nested more than {DEEPEST} deep"
            raise TooDeep(fault, where=at, fix="use fewer")
        deeper = self.lines[self.next].indent if self.next < len(self.lines) else 0
        if deeper <= line.indent:
            fix = "indent the rules that belong to it by four spaces"
            self.document.note(BadIndentation("a `for` with no lines inside it", where=at, fix=fix))
            return []
        found: list[Block] = []
        while self.next < len(self.lines) and self.lines[self.next].indent >= deeper:
            found.append(self.block(deeper, depth + 1))
        return found

    def _check_indent(self, line: Line, indent: int) -> None:
        if line.indent != indent or line.code[:indent].strip(" "):
            fault = "the indentation of this line matches no block above it"
            fix = "indent the lines of one `for` block alike, with spaces, and no others"
            where = line.at(1, max(1, line.indent))
            self.document.note(BadIndentation(fault, where=where, fix=fix))

    def read(self, block: Block, values: Values) -> None:
        """Take in one block; a fault in it is noted and reading continues."""
        parser = block.parser
        self.words += len(parser.tokens)
        if self.words > MOST_WORDS:
            fix = "use fewer or smaller loops, or build the machine in Python"
            where = parser.line.at(parser.line.indent + 1)
            raise TooLarge("the `for` blocks unroll to too much", where=where, fix=fix)
        parser.begin(values)
        with self.document.noting():
            match parser.shape:
                case "rule":
                    self.document.add_rule(*parser.rule())
                case "loop":
                    self._loop(block, parser, values)
                case "mapping":
                    self._mapping(*parser.mapping())
                case _:
                    self._header(*parser.header())

    def check_variables(self) -> None:
        """Refuse loop variables that are also names, wherever these are declared."""
        for keyword in ("events", "stack", "states", "final", "start"):
            words = {word.text for line in self.document.lines(keyword) for word in line}
            for variable in self.variables.keys() & words:
                fault = f"loop variable `{variable}` is also on the `{keyword}` line"
                where = self.variables[variable]
                fix = "rename the loop variable"
                self.document.note(DuplicateName(fault, where=where, fix=fix))

    def _header(self, keyword: Word, *words: Word) -> None:
        if keyword.text not in KEYWORDS:
            fix = did_you_mean(keyword.text, (*KEYWORDS, "map", "for"))
            fix = COMMENTS if keyword.text.startswith("#") else fix
            fault = f"`{keyword.text[:40]}` is not a keyword"
            raise UnknownKeyword(fault, where=keyword.where, fix=fix)
        self.document.headers.append([keyword, *words])

    def _mapping(self, name: Word, pairs: list[tuple[Word, Word]]) -> None:
        if name.text in self.maps:
            fault = f"map `{name}` is defined twice"
            raise DuplicateName(fault, where=name.where, fix="rename one")
        entries: dict[str, str] = {}
        for key, value in pairs:
            if key.text in entries:
                fault = f"map `{name}` has two values for `{key}`"
                raise DuplicateName(fault, where=key.where, fix="keep one of them")
            entries[key.text] = value.text
        self.maps[name.text] = entries

    def _loop(self, block: Block, parser: LineParser, values: Values) -> None:
        variable, words = parser.loop()
        if variable.text in NOT_VARIABLES:
            fix = "use another loop variable"
            raise BadName(f"`{variable}` has a meaning of its own", where=variable.where, fix=fix)
        if variable.text in values:
            fault = f"loop variable `{variable}` is used by an outer `for`"
            raise DuplicateName(fault, where=variable.where, fix="rename it")
        self.variables.setdefault(variable.text, variable.where)
        conditions = parser.position
        for word in words:
            inner = values | {variable.text: word}
            parser.begin(inner)
            parser.position = conditions
            if parser.conditions():
                for inside in block.inside:
                    self.read(inside, inner)
