"""Machines as JSON: the form for programs. `schema.json` beside this file is its published schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from pdrm.errors import BadReward, BadShape, CannotRead, DuplicateName, PdrmError, TooDeep, Where, did_you_mean
from pdrm.language.document import AnyMachine, Document, Header, RuleSpec
from pdrm.language.source import DEEPEST, LARGEST_FILE, Line, split_lines
from pdrm.language.syntax import Word, read_guard
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import Guard
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardTransition
from pdrm.machines.transitions import Otherwise, Transition, number_text
from pdrm.machines.wellformed import states_of

# --- JSON values that know where they stand, so that a wrong one is shown with its line and column.

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


# --- Machines as JSON: the form for programs. `schema.json` beside this file is its published schema.

VERSION = 1
LISTS = ("events", "stack", "states", "final")
KEYS = ("$schema", "pdrm", "name", *LISTS, "exclusive", "counters", "start", "otherwise", "rules")
NEEDED = ("pdrm", "start", "otherwise", "rules")
RULE_KEYS = ("from", "to", "label", "top", "push", "tests", "changes", "reward")


def to_json(machine: AnyMachine) -> str:
    """The machine as JSON text, one rule a line.

    >>> from pdrm.language.loading import catalogue
    >>> print(to_json(catalogue("anbn")).partition(",")[0])
    {
      "pdrm": 1
    """
    head: dict[str, Any] = {"pdrm": VERSION, "name": machine.name, "events": machine.events}
    if machine.exclusive:
        head["exclusive"] = machine.exclusive
    if isinstance(machine, PushdownRewardMachine):
        head["stack"] = machine.stack
    elif isinstance(machine, CountingRewardAutomaton):
        head["counters"] = machine.counters
    if machine.states != states_of(machine.start, machine.final, machine.transitions):
        head["states"] = machine.states
    head |= {"start": machine.start, "final": machine.final, "otherwise": _otherwise(machine.otherwise)}
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    rules = [f"    {json.dumps(_rule(rule), ensure_ascii=False)}" for rule in machine.transitions]
    return "\n".join(["{", *lines, '  "rules": [', ",\n".join(rules), "  ]", "}", ""]).replace("[\n\n", "[\n")


def _otherwise(otherwise: Otherwise) -> dict[str, Any]:
    go = {"to": otherwise.target} if otherwise.target is not None else {}
    pay = {"reward": otherwise.reward} if otherwise.action != "error" else {}
    return {"do": otherwise.action, **go, **pay}


def _rule(rule: Transition | CountingTransition | RewardTransition) -> dict[str, Any]:
    record: dict[str, Any] = {"from": rule.source, "to": rule.target, "label": str(rule.guard)}
    if isinstance(rule, Transition):
        record |= {"top": rule.top, "push": rule.push}
    elif isinstance(rule, CountingTransition):
        record |= {"tests": rule.tests, "changes": rule.changes}
    return {**record, "reward": rule.reward}


def read_json(text: str, file: str) -> Document:
    """The document that a JSON text stands for."""
    document = Document(file)
    try:
        members = read_values(text, file).members(KEYS, NEEDED)
        version = members["pdrm"]
        if version.data != VERSION:
            raise BadShape('"pdrm" must be 1, the version of this form', where=version.where, fix='write "pdrm": 1')
        _headers(members, document)
        for rule in members["rules"].items():
            _collect(document, rule)
    except PdrmError as error:
        document.errors.append(error)
    return document


def _headers(members: dict[str, Value], document: Document) -> None:
    def add(key: str, words: list[Word]) -> None:
        document.headers.append(Header(Word(key, members[key].where), tuple(words)))

    for key in ("name", "start"):
        if key in members:
            add(key, [_word(members[key])])
    for key in LISTS:
        if key in members:
            add(key, [_word(item) for item in members[key].texts()])
    for group in members["exclusive"].items() if "exclusive" in members else []:
        add("exclusive", [_word(item) for item in group.texts()])
    if "counters" in members:
        counters = members["counters"]
        add("counters", [Word(counters.digits(), counters.where)])
    what = members["otherwise"].members(("do", "to", "reward"), ("do",))
    words = [_word(what["do"])]
    words += [_word(what["to"])] if "to" in what else []
    words += [Word(_reward(what["reward"]), what["reward"].where)] if "reward" in what else []
    add("otherwise", words)


def _collect(document: Document, value: Value) -> None:
    """Add one rule, or its fault."""
    try:
        record = value.members(RULE_KEYS, ("from", "to", "label", "reward"))
        vector = "tests" in record or "changes" in record
        look, change = _movement(record, vector)
        reward = float(_reward(record["reward"]))
        source, target = record["from"].text(), record["to"].text()
        guard = _guard(record["label"])
        document.rules.append(RuleSpec(source, target, guard, look, change, vector, reward, value.where))
    except PdrmError as error:
        document.errors.append(error)


def _movement(record: dict[str, Value], vector: bool) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    if vector:
        tests = record["tests"].texts() if "tests" in record else []
        changes = record["changes"].items() if "changes" in record else []
        return tuple(item.text() for item in tests), tuple(item.digits() for item in changes)
    look = (record["top"].text(),) if "top" in record else None
    change = tuple(item.text() for item in record["push"].texts()) if "push" in record else None
    return look, change


def _guard(value: Value) -> Guard:
    """The guard in a string, written as in a .pdrm file (without comments and maps)."""
    where, text = value.where, value.text()
    try:
        return read_guard(Line(where.file, where.line, text))
    except PdrmError as error:
        raise type(error)(f"{error.message} in the label `{text[:60]}`", where=where, fix=error.fix) from None


def _reward(value: Value) -> str:
    number = value.number()
    if number - number != 0:
        raise BadReward(
            "a reward must be a finite number", where=value.where, fix="write a number such as -0.01 or 1e5"
        )
    return repr(number)


def _word(value: Value) -> Word:
    return Word(value.text(), value.where)
