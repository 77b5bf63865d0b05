"""Reading .pdrm text: lines to blocks, `for` blocks unrolled, maps applied. Every faulty line is reported, not just the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pdrm.errors import (
    BadIndentation,
    BadName,
    DuplicateName,
    TooDeep,
    TooLarge,
    UnknownKeyword,
    UnknownMap,
    Where,
    did_you_mean,
)
from pdrm.language.document import KEYWORDS, Document, RuleSpec
from pdrm.language.source import COMMENTS, Line, split_lines
from pdrm.language.syntax import (
    HeaderLine,
    LoopLine,
    MapLine,
    ParsedLine,
    RuleLine,
    Term,
    Vector,
    Word,
    guard_of,
    number_of,
    parse_line,
)
from pdrm.limits import DEEPEST

MOST_WORDS = 1_000_000
"""Words of a text's rules once its `for` blocks are unrolled, and turns of these, at most."""

NOT_VARIABLES = ("z", "eps", "true", "false")

Values = dict[str, str]
"""Loop variables and what they stand for."""


@dataclass(slots=True)
class Block:
    """A line as parsed (None: it could not be read) and, for a `for`, the blocks inside it."""

    line: Line
    parsed: ParsedLine | None
    inside: list[Block] = field(default_factory=list)


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
        block = Block(line, None)
        with self.document.noting():
            block.parsed = parse_line(line)
        if line.code.split(maxsplit=1)[0] == "for" and "->" not in line.code:
            block.inside = self._inside(line, depth)
        return block

    def _inside(self, line: Line, depth: int) -> list[Block]:
        at = line.at(line.indent + 1, 3)
        if depth >= DEEPEST:
            fault = f"`for` blocks nested more than {DEEPEST} deep"
            raise TooDeep(fault, where=at, fix="use fewer")
        deeper = self.lines[self.next].indent if self.next < len(self.lines) else 0
        if deeper <= line.indent:
            fix = "indent the rules that belong to it by four spaces"
            with self.document.noting():
                raise BadIndentation("a `for` with no lines inside it", where=at, fix=fix)
            return []
        found: list[Block] = []
        while self.next < len(self.lines) and self.lines[self.next].indent >= deeper:
            found.append(self.block(deeper, depth + 1))
        return found

    def _check_indent(self, line: Line, indent: int) -> None:
        where = line.at(1, max(1, line.indent))
        with self.document.noting():
            if line.code[: line.indent].strip(" "):
                fault = "this line is indented with a character that is not a space"
                raise BadIndentation(fault, where=where, fix="indent with spaces only")
            if line.indent != indent:
                fault = "the indentation of this line matches no block above it"
                fix = "indent the lines of one `for` block alike, and no others"
                raise BadIndentation(fault, where=where, fix=fix)

    def read(self, block: Block, values: Values) -> None:
        """Take in one block; a fault in it is noted and reading continues."""
        line = block.line
        with self.document.noting():
            match block.parsed:
                case RuleLine() as rule:
                    self._rule(line, rule, values)
                case LoopLine() as loop:
                    self._loop(block, loop, values)
                case MapLine() as mapping:
                    self._mapping(line, mapping)
                case HeaderLine(words):
                    self._header(*(Word(word.word, _place(line, word)) for word in words))

    def check_variables(self) -> None:
        """Refuse loop variables that are also names, wherever these are declared."""
        for keyword in ("events", "stack", "states", "final", "start"):
            words = {word.text for header in self.document.lines(keyword) for word in header.words}
            for variable in self.variables.keys() & words:
                with self.document.noting():
                    fault = f"loop variable `{variable}` is also on the `{keyword}` line"
                    where = self.variables[variable]
                    raise DuplicateName(fault, where=where, fix="rename the loop variable")

    def _header(self, keyword: Word, *words: Word) -> None:
        if keyword.text not in KEYWORDS:
            fix = did_you_mean(keyword.text, (*KEYWORDS, "map", "for"))
            fix = COMMENTS if keyword.text.startswith("#") else fix
            fault = f"`{keyword.text[:40]}` is not a keyword"
            raise UnknownKeyword(fault, where=keyword.where, fix=fix)
        self.document.add_header(keyword, words)

    def _mapping(self, line: Line, mapping: MapLine) -> None:
        name, entries = mapping.name.word, dict[str, str]()
        if name in self.maps:
            where = _place(line, mapping.name)
            raise DuplicateName(f"map `{name}` is defined twice", where=where, fix="rename one")
        for key, value in mapping.pairs:
            if key.word in entries:
                where = line.at(key.column, value.end - key.column)
                fault = f"map `{name}` has two values for `{key.word}`"
                raise DuplicateName(fault, where=where, fix="keep one of them")
            entries[key.word] = value.word
        self.maps[name] = entries

    def _loop(self, block: Block, loop: LoopLine, values: Values) -> None:
        line, variable = block.line, loop.variable.word
        where = _place(line, loop.variable)
        if variable in NOT_VARIABLES:
            fix = "use another loop variable"
            raise BadName(f"`{variable}` has a meaning of its own", where=where, fix=fix)
        if variable in values:
            fault = f"loop variable `{variable}` is used by an outer `for`"
            raise DuplicateName(fault, where=where, fix="rename it")
        self.variables.setdefault(variable, where)
        for word in loop.words:
            self.words += 1
            if self.words > MOST_WORDS:
                fix = "use fewer or smaller loops, or build the machine in Python"
                raise TooLarge("the `for` blocks unroll to too much", where=where, fix=fix)
            inner = values | {variable: values.get(word.word, word.word)}
            if all(
                (self._term(line, left, inner) == self._term(line, right, inner)) == equal
                for left, equal, right in loop.conditions
            ):
                for inside in block.inside:
                    self.read(inside, inner)

    def _rule(self, line: Line, rule: RuleLine, values: Values) -> None:
        paid = self._term(line, rule.reward, values)
        self.document.add_rule(
            RuleSpec(
                self._term(line, rule.source, values),
                self._term(line, rule.target, values),
                guard_of(rule.guard, lambda term: self._term(line, term, values)),
                number_of(paid, _place(line, rule.reward)),
                line.at(line.indent + 1, max(1, len(line.code) - line.indent)),
                self._symbols(line, rule.look, values),
                self._symbols(line, rule.change, values),
                isinstance(rule.look, Vector),
            )
        )

    def _symbols(
        self, line: Line, part: tuple[Term, ...] | Vector | None, values: Values
    ) -> tuple[str, ...] | None:
        """The symbols of a look or a change, or the entries of its vector."""
        if part is None:
            return None
        if isinstance(part, Vector):
            return part.entries
        return tuple(self._term(line, term, values) for term in part)

    def _term(self, line: Line, term: Term, values: Values) -> str:
        """The word a term stands for: a loop variable's value, a map's, or itself."""
        self.words += 1
        if term.argument is None:
            return values.get(term.word, term.word)
        key, where = self._term(line, term.argument, values), _place(line, term)
        if term.word not in self.maps:
            fix = (
                did_you_mean(term.word, self.maps) or f"define it above: `map {term.word} {key}:…`"
            )
            raise UnknownMap(f"no map is called `{term.word}`", where=where, fix=fix)
        if key not in self.maps[term.word]:
            fault = f"map `{term.word}` has no value for `{key}`"
            raise UnknownMap(fault, where=where, fix=f"add `{key}:…` to its line")
        return self.maps[term.word][key]


def _place(line: Line, term: Term) -> Where:
    return line.at(term.column, term.end - term.column)
