"""Machines as JSON. `schema.json` in this folder is the published schema.

Syntax errors are reported with line and column, errors in a value with its path: `rules[3].label`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pdrm.errors import (
    BadShape,
    CannotRead,
    DuplicateName,
    TooDeep,
    Where,
    did_you_mean,
)
from pdrm.language.document import (
    UNWRITTEN,
    AnyMachine,
    AnyRule,
    Document,
    integer_of,
    number_of,
)
from pdrm.language.reader import read_guard_at
from pdrm.language.source import Token
from pdrm.language.writer import header_of
from pdrm.machines.counting import CountingTransition
from pdrm.machines.transitions import NONE, Transition

# --- Writing a machine

VERSION = "1"
"""The version of the schema."""


def to_json(machine: AnyMachine) -> str:
    """Write a machine as JSON.

    >>> from pdrm.language.loading import catalogue
    >>> print(to_json(catalogue("anbn")).partition(",")[0])
    {
      "pdrm": 1
    """
    otherwise: dict[str, Any] = {"do": machine.otherwise.action}
    if machine.otherwise.target is not None:
        otherwise["to"] = machine.otherwise.target
    if machine.otherwise.action != "error":
        otherwise["reward"] = machine.otherwise.reward
    header = {"pdrm": int(VERSION), **header_of(machine), "otherwise": otherwise}
    rules = [_rule_record(rule, "stack" in header) for rule in machine.transitions]
    return json.dumps({**header, "rules": rules}, ensure_ascii=False, indent=2) + "\n"


def _rule_record(rule: Transition | CountingTransition, stacked: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"from": rule.source, "to": rule.target, "label": str(rule.guard)}
    if isinstance(rule, CountingTransition):
        record |= {"tests": rule.tests, "changes": rule.changes}
    elif stacked:
        record |= {"top": rule.top, "push": rule.push}
    return {**record, "reward": rule.reward}


# --- Reading JSON


class Number(str):
    """The text of a number."""


JSON_TYPE_NAMES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    Number: "a number",
    bool: "true or false",
    type(None): "null",
}
Shape = Any
"""The expected form of a value.

A type; `[shape]` for an array; `{key: shape}` for an object, where `?` marks optional keys and
`str` stands for any key; or `(shape, …)` for alternatives.
"""
RULE = {
    "from": str,
    "to": str,
    "label": str,
    "top?": str,
    "push?": [str],
    "tests?": [str],
    "changes?": [Number],
    "reward": Number,
}
MACHINE = {
    "$schema?": str,
    "pdrm": Number,
    "name?": str,
    "events?": [str],
    "stack?": [str],
    "states?": [str],
    "final?": [str],
    "exclusive?": [[str]],
    "counters?": Number,
    "start": str,
    "otherwise": {"do": str, "to?": str, "reward?": Number},
    "rules": list,
}


def inside(where: Where, *keys: str | int) -> Where:
    """The position of a nested value."""
    path = where.path
    for key in keys:
        if isinstance(key, str) and key.isidentifier() and len(key) <= 40:
            path = f"{path}.{key}".removeprefix(".")
        else:
            shown = key if isinstance(key, int) else json.dumps(key[:40], ensure_ascii=False)
            path = f"{path}[{shown}]"
    return replace(where, path=path)


def read_values(text: str, file: str) -> Any:
    """Read JSON, with numbers as text.

    >>> read_values('{"rules": [{"reward": 1}]}', "m.json")
    {'rules': [{'reward': '1'}]}
    """
    where = Where(file)

    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in pairs:
            if key in members:
                raise DuplicateName(
                    f"the key `{key[:40]}` appears twice in one object",
                    where=inside(where, key),
                    fix="keep one of them",
                )
            members[key] = value
        return members

    try:
        return json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number,
            object_pairs_hook=make_object,
        )
    except json.JSONDecodeError as error:
        fault = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        line = text.split("\n", error.lineno)[error.lineno - 1].rstrip("\r")
        where = Where(file, error.lineno, error.colno, line)
        raise CannotRead(
            fault, where=where, fix="check the commas, quotes and brackets near this position"
        ) from None
    except RecursionError:
        raise TooDeep("nested too deeply", where=where, fix="is this a machine's JSON?") from None


def check_shape(value: Any, shape: Shape, where: Where) -> None:
    """Raise `BadShape` unless a value has this shape."""
    alternatives = shape if isinstance(shape, tuple) else (shape,)
    by_type: dict[type, Shape] = {
        option if isinstance(option, type) else type(option): option for option in alternatives
    }
    if type(value) not in by_type:
        expected = JSON_TYPE_NAMES[[*by_type][-1]]
        raise BadShape(
            f"this must be {expected}, not {JSON_TYPE_NAMES[type(value)]}",
            where=where,
            fix="see the schema",
        )
    chosen = by_type[type(value)]
    if isinstance(chosen, list):
        for number, item in enumerate(value):
            check_shape(item, chosen[0], inside(where, number))
    if isinstance(chosen, dict):
        for key, item in value.items():
            item_shape = chosen.get(str) or chosen.get(key) or chosen.get(f"{key}?")
            if item_shape is None:
                known = [name.rstrip("?") for name in chosen]
                raise BadShape(
                    f"unknown key `{key[:40]}`",
                    where=inside(where, key),
                    fix=did_you_mean(key, known),
                )
            check_shape(item, item_shape, inside(where, key))
        for key in chosen:
            if key is not str and not key.endswith("?") and key not in value:
                raise BadShape(f"the key `{key}` is missing", where=where, fix=f'add "{key}": …')


# --- Reading a machine


def read_json(text: str, document: Document) -> None:
    """Fill a document from JSON."""
    machine = read_values(text, document.file)
    where = Where(document.file)
    check_shape(machine, MACHINE, where)
    if machine["pdrm"] != VERSION:
        raise BadShape(
            '"pdrm" must be 1, the version of the schema',
            where=inside(where, "pdrm"),
            fix='write "pdrm": 1',
        )
    rules = machine.pop("rules")
    for key in machine:
        if key in ("pdrm", "$schema"):
            continue
        position = inside(where, key)
        for line in machine[key] if key == "exclusive" else [machine[key]]:
            document.add_header([Token(key, position), *_words(line, position)])
    for number, rule in enumerate(rules):
        with document.collecting_errors():
            document.add_rule(_read_rule(rule, inside(where, "rules", number)))


def _words(value: Any, where: Where) -> list[Token]:
    """The words of a header line."""
    if isinstance(value, str):
        return [Token(value, where)]
    if isinstance(value, list):
        return [Token(word, inside(where, number)) for number, word in enumerate(value)]
    keys = [key for key in ("do", "to", "reward") if key in value]
    return [Token(value[key], inside(where, key)) for key in keys]


def _read_rule(rule: Any, where: Where) -> AnyRule:
    check_shape(rule, RULE, where)
    guard = read_guard_at(rule["label"], inside(where, "label"))
    reward = number_of(rule["reward"], inside(where, "reward"))
    ends = (rule["from"], rule["to"], guard)
    if "tests" in rule or "changes" in rule:
        tests = tuple(rule.get("tests", ()))
        changes = tuple(integer_of(change, where) for change in rule.get("changes", ()))
        return CountingTransition(*ends, tests, changes, reward, where)
    uses_stack = "top" in rule and "push" in rule
    top = rule["top"] if uses_stack else UNWRITTEN
    push = tuple(symbol for symbol in rule.get("push", ()) if symbol != NONE)
    return Transition(*ends, top, push, reward, where)
