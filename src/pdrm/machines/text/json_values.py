"""JSON values that know where they stand, so that a wrong one is shown with its line and column."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import cast

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from pdrm.errors import BadShape, CannotRead, DuplicateName, TooDeep, Where, did_you_mean
from pdrm.machines.text.source import DEEPEST, LARGEST_FILE, Line, split_lines
from pdrm.machines.transition import number_text

KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value and its place."""

    data: dict[str, Value] | list[Value] | str | float | bool | None
    where: Where

    def text(self) -> str:
        """The value as a string, or `BadShape`."""
        if isinstance(self.data, str):
            return self.data
        raise self.wrong("a string")

    def number(self) -> float:
        """The value as a number, or `BadShape`."""
        if isinstance(self.data, float):
            return self.data
        raise self.wrong("a number")

    def digits(self) -> str:
        """The number as text, whole ones written out, or `BadShape`: 100000, where a reward would be written 1e5."""
        number = self.number()
        return str(int(number)) if number.is_integer() and abs(number) < 1e16 else number_text(number)

    def items(self) -> list[Value]:
        """The value as an array, or `BadShape`."""
        if isinstance(self.data, list):
            return self.data
        raise self.wrong("an array")

    def texts(self) -> list[Value]:
        """The value as an array of strings, or `BadShape`."""
        items = self.items()
        for item in items:
            item.text()
        return items

    def members(self, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Value]:
        """The value as an object with known keys, the needed ones among them, or `BadShape`."""
        if not isinstance(self.data, dict):
            raise self.wrong("an object")
        for key, value in self.data.items():
            if key not in known:
                raise BadShape(f"unknown key `{key[:40]}`", where=value.where, fix=did_you_mean(key, known))
        for key in needed:
            if key not in self.data:
                raise BadShape(f"the key `{key}` is missing", where=self.where, fix=f'add "{key}": …')
        return self.data

    def wrong(self, wanted: str) -> BadShape:
        """The error that this value is not what was wanted."""
        return BadShape(
            f"{wanted} is wanted here, not {KINDS[type(self.data)]}", where=self.where, fix="see the schema"
        )


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = files(__package__).joinpath("json.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start="value", propagate_positions=True, maybe_placeholders=False)


def read_values(text: str, file: str) -> Value:
    """The JSON value of a text."""
    lines = split_lines(text, file, longest=LARGEST_FILE)
    _check_depth(lines)
    try:
        return _value(_parser().parse(text), lines)
    except UnexpectedInput as error:
        raise _cannot_read(error, lines) from None


def _value(node: Tree[Token] | Token, lines: list[Line]) -> Value:
    if isinstance(node, Token):
        return Value(_scalar(node, lines), _where(lines, node.line, node.column, len(node)))
    where = _where(lines, node.meta.line, node.meta.column)
    if node.data == "array":
        return Value([_value(child, lines) for child in node.children], where)
    members: dict[str, Value] = {}
    for pair in cast("list[Tree[Token]]", node.children):
        key, value = cast("tuple[Token, Tree[Token] | Token]", pair.children)
        name = str(_scalar(key, lines))
        if name in members:
            place = _where(lines, key.line, key.column, len(key))
            raise DuplicateName(
                f"the key `{name[:40]}` stands twice in one object", where=place, fix="keep one of them"
            )
        members[name] = _value(value, lines)
    return Value(members, where)


def _scalar(token: Token, lines: list[Line]) -> str | float | bool | None:
    where = _where(lines, token.line, token.column, len(token))
    if token.type == "WORD":
        words: dict[str, bool | None] = {"true": True, "false": False, "null": None}
        if token not in words:
            raise CannotRead(f"`{token[:40]}` is no JSON value", where=where, fix="strings stand in double quotes")
        return words[token]
    try:
        return float(token) if token.type == "NUMBER" else str(json.loads(token))
    except ValueError:
        raise CannotRead(
            "a string with an escape that JSON does not have", where=where, fix="write \\\\ for \\"
        ) from None


def _check_depth(lines: list[Line]) -> None:
    """Refuse what is nested beyond reason, before anything recurses over it. Brackets within a string are text."""
    depth = 0
    for line in lines:
        inside = escaped = False  # a string ends with its line
        for column, character in enumerate(line.text, 1):
            if inside:
                inside, escaped = character != '"' or escaped, character == "\\" and not escaped
            elif character == '"':
                inside = True
            else:
                depth += (character in "[{") - (character in "]}")
            if depth > DEEPEST:
                raise TooDeep(
                    f"nested more than {DEEPEST} deep", where=line.at(column), fix="is this a machine's JSON?"
                )


def _where(lines: list[Line], line: int | None, column: int | None, width: int = 1) -> Where:
    return lines[(line or 1) - 1].at(column or 1, width)


def _cannot_read(error: UnexpectedInput, lines: list[Line]) -> CannotRead:
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        where = _where(lines, error.token.line, error.token.column, len(error.token))
        found = f"`{str(error.token)[:40]}` does not belong here"
    elif isinstance(error, UnexpectedCharacters):
        where = _where(lines, error.line, error.column)
        found = f"`{where.text[error.column - 1 : error.column]}` does not belong here"
    else:
        where = lines[-1].at(len(lines[-1].text) + 1)
        found = "the text ends too early"
    return CannotRead(f"{found}: not JSON", where=where, fix="check commas, quotes and brackets around this place")
