"""Reading .pdrm text: lines to blocks, `for` blocks unrolled, maps applied. Every faulty line is reported, not just the first."""

from __future__ import annotations

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
from pdrm.language.source import COMMENTS, split_lines
from pdrm.language.syntax import LineParser, Word
from pdrm.limits import DEEPEST

MOST_WORDS = 1_000_000
"""Words of a text's rules once its `for` blocks are unrolled, and turns of these, at most."""

NOT_VARIABLES = ("z", "eps", "true", "false")

Values = dict[str, str]
"""Loop variables and what they stand for."""


def read_text(text: str, document: Document) -> None:
    """Fill a document from .pdrm text."""
    reader = _Reader(document, text)
    reader.read(0, len(reader.lines), {})
    for keyword in ("events", "stack", "states", "final", "start"):
        words = {word.text for line in document.lines(keyword) for word in line}
        for variable in reader.variables.keys() & words:
            fault = f"loop variable `{variable}` is also on the `{keyword}` line"
            where = reader.variables[variable]
            document.note(DuplicateName(fault, where=where, fix="rename the loop variable"))


class _Reader:
    """Fills a document from lines: blocks are found by indentation, maps remembered, loops unrolled, terms resolved."""

    def __init__(self, document: Document, text: str) -> None:
        self.document = document
        self.maps: dict[str, dict[str, str]] = {}
        lines = split_lines(text, document.file)
        self.lines = [line for line in lines if line.code.strip()]
        self.parsers: dict[int, LineParser] = {}
        """Those of lines in a `for`, which are read again."""
        self.words = 0
        self.variables: dict[str, Where] = {}

    def read(self, begin: int, end: int, values: Values) -> None:
        """Read the lines of a block; a fault in one is noted and reading continues."""
        indent = self.lines[begin].indent if values else 0
        at = begin
        while at < end:
            line = self.lines[at]
            parser = self.parsers.get(at) or LineParser(line, self.maps)
            if values:
                self.parsers[at] = parser
            if line.indent != indent or line.code[:indent].strip(" "):
                fault = "the indentation of this line matches no block above it"
                fix = "indent the lines of one `for` block alike, with spaces, and no others"
                where = line.at(1, max(1, line.indent))
                self.document.note(BadIndentation(fault, where=where, fix=fix))
            self.words += len(parser.tokens)
            if self.words > MOST_WORDS:
                fix = "use fewer or smaller loops, or build the machine in Python"
                where = line.at(line.indent + 1)
                raise TooLarge("the `for` blocks unroll to too much", where=where, fix=fix)
            at += 1
            inside = at
            while parser.shape == "loop" and at < end and self.lines[at].indent > line.indent:
                at += 1
            parser.begin(values)
            with self.document.noting():
                match parser.shape:
                    case "rule":
                        self.document.add_rule(*parser.rule())
                    case "loop":
                        self._loop(parser, inside, at, values)
                    case "mapping":
                        self._mapping(*parser.mapping())
                    case _:
                        self._header(*parser.header())

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

    def _loop(self, parser: LineParser, begin: int, end: int, values: Values) -> None:
        at = parser.line.at(parser.line.indent + 1, 3)
        if len(values) >= DEEPEST:
            fault = f"`for` blocks nested more than {DEEPEST} deep"
            raise TooDeep(fault, where=at, fix="use fewer")
        variable, words = parser.loop()
        if begin == end:
            fix = "indent the rules that belong to it by four spaces"
            raise BadIndentation("a `for` with no lines inside it", where=at, fix=fix)
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
                self.read(begin, end, inner)
