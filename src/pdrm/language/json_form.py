"""Machines as JSON: the form for programs. `schema.json` in this folder is its published schema.

A fault in the JSON itself is reported with line and column, a fault in a value by the keys that lead to it: `rules[3].label`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pdrm.errors import (
    BadShape,
    CannotRead,
    DuplicateName,
    PdrmError,
    TooDeep,
    Where,
    did_you_mean,
)
from pdrm.language.document import AnyMachine, Document
from pdrm.language.source import Line, check_size
from pdrm.language.syntax import RuleSpec, Word, number_of, read_guard
from pdrm.limits import DEEPEST
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import Guard
from pdrm.machines.machine import states_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition

# --- Writing a machine

VERSION = 1
"""The version of this form."""
LISTS = ("events", "stack", "states", "final")
KEYS = ("$schema", "pdrm", "name", *LISTS, "exclusive", "counters", "start", "otherwise", "rules")
NEEDED = ("pdrm", "start", "otherwise", "rules")
RULE_KEYS = ("from", "to", "label", "top", "push", "tests", "changes", "reward")


def to_json(machine: AnyMachine) -> str:
    """The machine as JSON text, one rule per line.

    >>> from pdrm.language.loading import catalogue
    >>> print(to_json(catalogue("anbn")).partition(",")[0])
    {
      "pdrm": 1
    """
    head: dict[str, Any] = {"pdrm": VERSION, "name": machine.name, "events": machine.events}
    if machine.exclusive:
        head["exclusive"] = machine.exclusive
    if isinstance(machine, PushdownRewardMachine) and not machine.leaves_stack:
        head["stack"] = machine.stack
    elif isinstance(machine, CountingRewardAutomaton):
        head["counters"] = machine.counters
    if machine.states != states_of(machine.start, machine.final, machine.transitions):
        head["states"] = machine.states
    head |= {
        "start": machine.start,
        "final": machine.final,
        "otherwise": _otherwise(machine.otherwise),
    }
    lines = [f"  {json.dumps(key)}: {_encode(value)}," for key, value in head.items()]
    rules = [f"    {_encode(_rule(machine, rule))}" for rule in machine.transitions]
    return "\n".join(["{", *lines, '  "rules": [', ",\n".join(rules), "  ]", "}", ""]).replace(
        "[\n\n", "[\n"
    )


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _otherwise(otherwise: Otherwise) -> dict[str, Any]:
    go = {"to": otherwise.target} if otherwise.target is not None else {}
    pay = {"reward": otherwise.reward} if otherwise.action != "error" else {}
    return {"do": otherwise.action, **go, **pay}


def _rule(machine: AnyMachine, rule: Transition | CountingTransition) -> dict[str, Any]:
    record: dict[str, Any] = {"from": rule.source, "to": rule.target, "label": str(rule.guard)}
    if isinstance(rule, Transition) and not machine.leaves_stack:
        record |= {"top": rule.top, "push": rule.push}
    elif isinstance(rule, CountingTransition):
        record |= {"tests": rule.tests, "changes": rule.changes}
    return {**record, "reward": rule.reward}


# --- Reading JSON: values that know the keys that lead to them

KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value and the keys that lead to it."""

    data: dict[str, Value] | list[Value] | str | float | bool | None
    where: Where

    def read(self, kind: type[T]) -> T:
        """The value, or `BadShape` if it is of another kind."""
        if isinstance(self.data, kind):
            return self.data
        fault = f"this must be {KINDS[kind]}, not {KINDS[type(self.data)]}"
        raise BadShape(fault, where=self.where, fix="see the schema")

    def text(self) -> str:
        return self.read(str)

    def number(self) -> str:
        """A number as it may be written in a .pdrm file."""
        number = self.read(float)
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e16 else repr(number)

    def items(self) -> list[Value]:
        return self.read(list)

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def object(self) -> dict[str, Value]:
        return self.read(dict)

    def members(self, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Value]:
        """The value as an object with known keys, the needed ones among them."""
        members = self.object()
        for key, value in members.items():
            if key not in known:
                fix = did_you_mean(key, known)
                raise BadShape(f"unknown key `{key[:40]}`", where=value.where, fix=fix)
        for key in needed:
            if key not in members:
                fix = f'add "{key}": …'
                raise BadShape(f"the key `{key}` is missing", where=self.where, fix=fix)
        return members


def read_values(text: str, file: str) -> Value:
    """The JSON value of a text.

    >>> rule = read_values('{"rules": [{"reward": 1}]}', "m.json").object()["rules"].items()[0].object()["reward"]
    >>> rule.number(), str(rule.where)
    ('1', 'm.json: rules[0].reward')
    """
    check_size(text, file)

    def refuse(word: str) -> None:
        raise CannotRead(f"`{word}` is not JSON", where=Where(file), fix="write a finite number")

    try:  # objects are read as tuples of pairs, so that a key that appears twice is seen
        data = json.loads(
            text,
            parse_int=float,
            parse_constant=refuse,
            object_pairs_hook=tuple,
        )
        return _value(data, file, "", 0)
    except json.JSONDecodeError as error:
        fault = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        line = text.split("\n", error.lineno)[error.lineno - 1].rstrip("\r")
        where = Where(file, error.lineno, error.colno, line)
        fix = "check commas, quotes and brackets around this place"
        raise CannotRead(fault, where=where, fix=fix) from None
    except RecursionError:
        fix = "is this a machine's JSON?"
        raise TooDeep(f"nested more than {DEEPEST} deep", where=Where(file), fix=fix) from None


def _value(data: Any, file: str, path: str, depth: int) -> Value:
    where = Where(file, path=path)
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(data, list):
        items = [_value(one, file, f"{path}[{i}]", depth + 1) for i, one in enumerate(data)]
        return Value(items, where)
    if not isinstance(data, tuple):
        return Value(data, where)
    members: dict[str, Value] = {}
    for key, one in data:
        inside = f"{path}[{_encode(key[:40])}]"
        if key.isidentifier() and len(key) <= 40:
            inside = f"{path}.{key}".removeprefix(".")
        if key in members:
            fault = f"the key `{key[:40]}` appears twice in one object"
            raise DuplicateName(fault, where=Where(file, path=inside), fix="keep one of them")
        members[key] = _value(one, file, inside, depth + 1)
    return Value(members, where)


# --- Reading a machine


def read_json(text: str, document: Document) -> None:
    """Fill a document from JSON."""
    members = read_values(text, document.file).members(KEYS, NEEDED)
    version = members["pdrm"]
    if version.data != VERSION:
        fault = '"pdrm" must be 1, the version of this form'
        raise BadShape(fault, where=version.where, fix='write "pdrm": 1')

    for key, value in members.items():
        match key:
            case "name" | "start" | "counters":
                _add(document, key, value, [value])
            case "events" | "stack" | "states" | "final":
                _add(document, key, value, value.items())
            case "exclusive":
                for group in value.items():
                    _add(document, key, value, group.items())
            case "otherwise":
                do = value.members(("do", "to", "reward"), ("do",))
                words = [do[one] for one in ("do", "to", "reward") if one in do]
                _add(document, key, value, words)
    for rule in members["rules"].items():
        with document.noting():
            document.add_rule(_read_rule(rule))


def _add(document: Document, key: str, value: Value, values: Iterable[Value]) -> None:
    """Add a header line; numbers stand in `counters` and as the reward of `otherwise`."""
    words = []
    for one in values:
        is_number = one.where.path in ("counters", "otherwise.reward")
        words.append(Word(one.number() if is_number else one.text(), one.where))
    document.add_header(Word(key, value.where), words)


def _read_rule(value: Value) -> RuleSpec:
    record = value.members(RULE_KEYS, ("from", "to", "label", "reward"))
    look: tuple[str, ...] | None = None
    if "top" in record:
        look = (record["top"].text(),)
    change = record["push"].texts() if "push" in record else None
    if vector := "tests" in record or "changes" in record:
        look = record["tests"].texts() if "tests" in record else ()
        changes = record["changes"].items() if "changes" in record else ()
        change = tuple(item.number() for item in changes)
    return RuleSpec(
        record["from"].text(),
        record["to"].text(),
        _read_label(record["label"]),
        number_of(record["reward"].number(), record["reward"].where),
        value.where,
        look,
        change,
        vector,
    )


def _read_label(value: Value) -> Guard:
    """The guard in a string, written as in a .pdrm file (without comments and maps)."""
    text = value.text()
    try:
        return read_guard(Line(value.where.file, 1, text))
    except PdrmError as error:
        fault = f"{error.message} in the label `{text[:60]}`"
        raise type(error)(fault, where=value.where, fix=error.fix) from None
