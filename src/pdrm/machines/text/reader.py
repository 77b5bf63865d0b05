"""Reading .pdrm text: lines to a document, `for` blocks unrolled and maps applied. Every faulty line is reported at once."""

from __future__ import annotations

import math
import re
from typing import cast

from lark import Token, Tree

from pdrm.errors import (
    BadName,
    BadReward,
    DuplicateName,
    PdrmError,
    TooLarge,
    UnknownKeyword,
    UnknownMap,
    Where,
    did_you_mean,
)
from pdrm.machines.text.blocks import Block, read_blocks
from pdrm.machines.text.document import KEYWORDS, Document, Header, RuleSpec
from pdrm.machines.text.source import Line, split_lines
from pdrm.machines.text.syntax import Node, guard_of, place_of, word_of

MOST_RULES = 20_000
"""Rules that `for` blocks may unroll to."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
NOT_VARIABLES = ("z", "eps", "true", "false")

_RuleParts = tuple[Node, Node, Node, Node | None, Node | None, Node]
Values = dict[str, str]
"""Loop variables and what they stand for."""


def read_text(text: str, file: str) -> Document:
    """The document that a text stands for; its `errors` list what is wrong with it."""
    document = Document(file)
    try:
        blocks, document.errors = read_blocks(split_lines(text, file))
        reading = _Reading(document)
        for block in blocks:
            reading.read(block, {})
    except PdrmError as error:
        document.errors.append(error)
    return document


def number_of(text: str, where: Where, what: str = "a reward") -> float:
    """A finite number, or `BadReward`."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        fix = "write a finite number such as 1, -0.01 or 1e5"
        raise BadReward(f"`{text[:40]}` is not a number, but {what} must be one", where=where, fix=fix)
    return value


class _Reading:
    """Fills a document from blocks: maps are remembered, loops unrolled, terms resolved."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.maps: dict[str, dict[str, str]] = {}

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
        except TooLarge:
            raise
        except PdrmError as error:
            self._note(error)

    def _note(self, error: PdrmError) -> None:
        """Keep a fault, once however often its line is unrolled."""
        if not any((error.code, error.where) == (other.code, other.where) for other in self.document.errors):
            self.document.errors.append(error)

    def _header(self, line: Line, node: Node) -> None:
        keyword, *words = (word_of(line, token) for token in node.children if isinstance(token, Token))
        if keyword.text not in KEYWORDS:
            comment = "a comment starts with `//`, since `#` is a stack symbol"
            fix = comment if keyword.text.startswith("#") else did_you_mean(keyword.text, (*KEYWORDS, "map", "for"))
            raise UnknownKeyword(f"`{keyword.text[:40]}` starts no header line", where=keyword.where, fix=fix)
        self.document.headers.append(Header(keyword, tuple(words)))

    def _mapping(self, line: Line, node: Node) -> None:
        name, *pairs = cast("tuple[Token, *tuple[Node, ...]]", tuple(node.children))
        if name in self.maps:
            raise DuplicateName(f"map `{name}` is defined twice", where=place_of(line, name), fix="rename one of them")
        entries: dict[str, str] = {}
        for pair in pairs:
            key, value = (str(token) for token in pair.children)
            if key in entries:
                fix = "keep one of them"
                raise DuplicateName(f"map `{name}` has two values for `{key}`", where=place_of(line, pair), fix=fix)
            entries[key] = value
        self.maps[str(name)] = entries

    def _loop(self, block: Block, node: Node, values: Values) -> None:
        line = block.line
        variable, *words = (token for token in node.children if isinstance(token, Token))
        where = place_of(line, variable)
        if variable in NOT_VARIABLES:
            raise BadName(f"`{variable}` has a meaning of its own", where=where, fix="use another loop variable")
        if variable in values:
            raise DuplicateName(f"loop variable `{variable}` is used by an outer `for`", where=where, fix="rename it")
        self._no_shadow(str(variable), where)
        conditions = [child for child in node.children if isinstance(child, Tree)]
        for word in words:
            inner = values | {str(variable): values.get(str(word), str(word))}
            if all(self._holds(line, condition, inner) for condition in conditions):
                for inside in block.inside:
                    self.read(inside, inner)

    def _no_shadow(self, variable: str, where: Where) -> None:
        for keyword in ("events", "stack", "states", "final", "start"):
            for header in self.document.lines(keyword):
                if any(word.text == variable for word in header.words):
                    fix = "rename the loop variable"
                    fault = f"loop variable `{variable}` is also on the `{keyword}` line"
                    raise DuplicateName(fault, where=where, fix=fix)

    def _holds(self, line: Line, condition: Node, values: Values) -> bool:
        left, sign, right = cast("tuple[Node, Token, Node]", condition.children)
        equal = self._term(line, left, values) == self._term(line, right, values)
        return equal == (str(sign) == "==")

    def _rule(self, line: Line, node: Node, values: Values) -> None:
        source, target, guard, look, change, reward = cast("_RuleParts", node.children)
        if len(self.document.rules) >= MOST_RULES:
            raise TooLarge(
                f"more than {MOST_RULES:,} rules", where=line.at(line.indent + 1), fix="use fewer or smaller loops"
            )
        paid = self._term(line, reward, values)
        self.document.rules.append(
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
        return tuple(self._term(line, child, values) for child in node.children if isinstance(child, Tree))

    def _term(self, line: Line, node: Node, values: Values) -> str:
        """The word a term stands for: a loop variable's value, a map's, or itself."""
        word, argument = node.children
        if not isinstance(argument, Tree):
            return values.get(str(word), str(word))
        key = self._term(line, argument, values)
        where = place_of(line, node)
        if word not in self.maps:
            fix = did_you_mean(str(word), self.maps) or f"define it above: `map {word} {key}:…`"
            raise UnknownMap(f"no map is called `{word}`", where=where, fix=fix)
        if key not in self.maps[str(word)]:
            raise UnknownMap(f"map `{word}` has no value for `{key}`", where=where, fix=f"add `{key}:…` to its line")
        return self.maps[str(word)][key]


def _is_vector(node: Node) -> bool:
    first = node.children[0]
    return isinstance(first, Tree) and first.data == "vector"
