"""Reading .pdrm text: lines to blocks, `for` blocks unrolled, maps applied. Every faulty line is reported, not just the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from lark import Token, Tree

from pdrm.errors import (
    BadIndentation,
    BadName,
    DuplicateName,
    PdrmError,
    TooDeep,
    TooLarge,
    UnknownKeyword,
    UnknownMap,
    Where,
    did_you_mean,
)
from pdrm.language.document import KEYWORDS, Document, Header, RuleSpec
from pdrm.language.source import COMMENTS, Line, split_lines
from pdrm.language.syntax import Node, guard_of, number_of, parse_line, place_of, word_of
from pdrm.limits import DEEPEST, spend

# --- Blocks: the lines of a text as a forest, where the lines indented below a `for` belong to it


@dataclass(slots=True)
class Block:
    """A parsed line (None: it could not be read) and, for a `for`, the blocks inside it."""

    line: Line
    node: Node | None
    inside: list[Block] = field(default_factory=list)


class _BlockReading:
    """A walk down the lines, one call of `level` for each depth of indentation."""

    def __init__(self, lines: Sequence[Line], document: Document) -> None:
        self.lines = [line for line in lines if line.code.strip()]
        self.next = 0
        self.document = document

    def level(self, indent: int, depth: int) -> Iterator[Block]:
        """The blocks from the next line on that stand at this indentation, each whole before the next is looked at."""
        while self.next < len(self.lines) and self.lines[self.next].indent >= indent:
            line = self.lines[self.next]
            self._check_indent(line, indent)
            block = Block(line, None)
            try:
                block.node = parse_line(line)
            except PdrmError as error:
                self.document.note(error)
            self.next += 1
            if line.code.split()[0] == "for" and "->" not in line.code:
                block.inside = self._inside(line, depth)
            yield block

    def _inside(self, line: Line, depth: int) -> list[Block]:
        at = line.at(line.indent + 1, 3)
        if depth >= DEEPEST:
            raise TooDeep(
                f"`for` blocks nested more than {DEEPEST} deep", where=at, fix="use fewer"
            )
        deeper = self.lines[self.next].indent if self.next < len(self.lines) else 0
        if deeper <= line.indent:
            fix = "indent the rules that belong to it by four spaces"
            self.document.note(BadIndentation("a `for` with no lines inside it", where=at, fix=fix))
            return []
        return list(self.level(deeper, depth + 1))

    def _check_indent(self, line: Line, indent: int) -> None:
        if line.code[: line.indent].strip(" "):
            fault, fix = (
                "this line is indented with a character that is not a space",
                "indent with spaces only",
            )
        elif line.indent != indent:
            fault = "the indentation of this line matches no block above it"
            fix = "indent the lines of one `for` block alike, and no others"
        else:
            return
        self.document.note(BadIndentation(fault, where=line.at(1, max(1, line.indent)), fix=fix))


# --- From blocks to a document

OTHER_KEYWORDS = {
    **dict.fromkeys(("initial", "init", "begin"), "start"),
    **dict.fromkeys(("accept", "accepting", "end", "terminal", "goal"), "final"),
    **dict.fromkeys(("alphabet", "labels", "propositions", "symbols"), "events"),
    **dict.fromkeys(("else", "default"), "otherwise"),
    **dict.fromkeys(("machine", "task"), "name"),
}
"""What other languages call our keywords."""
NOT_VARIABLES = ("z", "eps", "true", "false")

_RuleParts = tuple[Node, Node, Node, Node | None, Node | None, Node]
Values = dict[str, str]
"""Loop variables and what they stand for."""


def read_text(text: str, file: str) -> Document:
    """The document that a text stands for; its `errors` list what is wrong with it."""
    document = Document(file)
    try:
        reading = _Reading(document)
        for block in _BlockReading(split_lines(text, file), document).level(0, 0):
            reading.read(block, {})
        reading.check_variables()
    except PdrmError as error:
        document.errors.append(error)
    return document


class _Reading:
    """Fills a document from blocks: maps are remembered, loops unrolled, terms resolved."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.maps: dict[str, dict[str, str]] = {}
        self.variables: dict[str, Where] = {}

    def read(self, block: Block, values: Values) -> None:
        """Take in one block; a fault in it is noted and the rest goes on."""
        try:
            match block.node:
                case Tree(data="rule"):
                    self._rule(block.line, block.node, values)
                case Tree(data="loop"):
                    self._loop(block, block.node, values)
                case Tree(data="mapping"):
                    self._mapping(block.line, block.node)
                case Tree(data="header"):
                    self._header(block.line, block.node)
        except TooLarge as error:
            if error.where is None or not error.where.line:
                error.where = block.line.at(block.line.indent + 1)
            raise
        except PdrmError as error:
            self.document.note(error)

    def check_variables(self) -> None:
        """Refuse loop variables that are also names, wherever these are declared."""
        for keyword in ("events", "stack", "states", "final", "start"):
            for word in (word for header in self.document.lines(keyword) for word in header.words):
                if (where := self.variables.get(word.text)) is not None:
                    fault = f"loop variable `{word}` is also on the `{keyword}` line"
                    self.document.note(
                        DuplicateName(fault, where=where, fix="rename the loop variable")
                    )

    def _header(self, line: Line, node: Node) -> None:
        keyword, *words = (
            word_of(line, token) for token in node.children if isinstance(token, Token)
        )
        if keyword.text not in KEYWORDS:
            ours = OTHER_KEYWORDS.get(keyword.text.casefold())
            fix = (
                f"write `{ours}`" if ours else did_you_mean(keyword.text, (*KEYWORDS, "map", "for"))
            )
            fix = COMMENTS if keyword.text.startswith("#") else fix
            raise UnknownKeyword(
                f"`{keyword.text[:40]}` is not a keyword", where=keyword.where, fix=fix
            )
        self.document.add_header(Header(keyword, tuple(words)))

    def _mapping(self, line: Line, node: Node) -> None:
        name, *pairs = cast("tuple[Token, *tuple[Node, ...]]", tuple(node.children))
        if name in self.maps:
            raise DuplicateName(
                f"map `{name}` is defined twice",
                where=place_of(line, name),
                fix="rename one of them",
            )
        entries: dict[str, str] = {}
        for pair in pairs:
            key, value = (str(token) for token in pair.children)
            if key in entries:
                fix = "keep one of them"
                raise DuplicateName(
                    f"map `{name}` has two values for `{key}`", where=place_of(line, pair), fix=fix
                )
            entries[key] = value
        self.maps[str(name)] = entries

    def _loop(self, block: Block, node: Node, values: Values) -> None:
        line = block.line
        variable, *words = (token for token in node.children if isinstance(token, Token))
        where = place_of(line, variable)
        if variable in NOT_VARIABLES:
            raise BadName(
                f"`{variable}` has a meaning of its own",
                where=where,
                fix="use another loop variable",
            )
        if variable in values:
            raise DuplicateName(
                f"loop variable `{variable}` is used by an outer `for`",
                where=where,
                fix="rename it",
            )
        self.variables.setdefault(str(variable), where)
        conditions = [child for child in node.children if isinstance(child, Tree)]
        for word in words:
            spend(5, where)
            inner = values | {str(variable): values.get(str(word), str(word))}
            if all(self._holds(line, condition, inner) for condition in conditions):
                for inside in block.inside:
                    self.read(inside, inner)

    def _holds(self, line: Line, condition: Node, values: Values) -> bool:
        left, sign, right = cast("tuple[Node, Token, Node]", condition.children)
        equal = self._term(line, left, values) == self._term(line, right, values)
        return equal == (str(sign) == "==")

    def _rule(self, line: Line, node: Node, values: Values) -> None:
        source, target, guard, look, change, reward = cast("_RuleParts", node.children)
        for variable, value in values.items():
            self.document.loops.setdefault(line.number, {}).setdefault(variable, set()).add(value)
        paid = self._term(line, reward, values)
        self.document.add_rule(
            RuleSpec(
                self._term(line, source, values),
                self._term(line, target, values),
                guard_of(guard, lambda term: self._term(line, term, values)),
                self._words(line, look, values),
                self._words(line, change, values),
                look is not None and _is_vector(look),
                number_of(paid, place_of(line, reward)),
                line.at(line.indent + 1, max(1, len(line.code) - line.indent)),
            )
        )

    def _words(self, line: Line, node: Node | None, values: Values) -> tuple[str, ...] | None:
        """What a look or a change says: its symbols, or the entries of its vector."""
        if node is None:
            return None
        if _is_vector(node):
            return tuple(str(token) for token in cast("Node", node.children[0]).children)
        return tuple(
            self._term(line, child, values) for child in node.children if isinstance(child, Tree)
        )

    def _term(self, line: Line, node: Node, values: Values) -> str:
        """The word a term stands for: a loop variable's value, a map's, or itself."""
        spend()
        word, argument = node.children
        if not isinstance(argument, Tree):
            return values.get(str(word), str(word))
        key = self._term(line, argument, values)
        where = place_of(line, node)
        if word not in self.maps:
            fix = did_you_mean(str(word), self.maps) or f"define it above: `map {word} {key}:…`"
            raise UnknownMap(f"no map is called `{word}`", where=where, fix=fix)
        if key not in self.maps[str(word)]:
            raise UnknownMap(
                f"map `{word}` has no value for `{key}`",
                where=where,
                fix=f"add `{key}:…` to its line",
            )
        return self.maps[str(word)][key]


def _is_vector(node: Node) -> bool:
    first = node.children[0]
    return isinstance(first, Tree) and first.data == "vector"
