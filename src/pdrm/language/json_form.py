"""Machines as JSON: the form for programs. `schema.json` in this folder is its published schema.

A fault in the JSON itself is reported with line and column, a fault in a value by the keys that lead to it: `rules[3].label`.
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
"""The version of this form."""


def to_json(machine: AnyMachine) -> str:
    """The machine as JSON text.

    >>> from pdrm.language.loading import catalogue
    >>> print(to_json(catalogue("anbn")).partition(",")[0])
    {
      "pdrm": 1
    """
    otherwise = machine.otherwise
    do: dict[str, Any] = {"do": otherwise.action}
    if otherwise.target is not None:
        do["to"] = otherwise.target
    if otherwise.action != "error":
        do["reward"] = otherwise.reward
    head = {"pdrm": int(VERSION), **header_of(machine), "otherwise": do}
    rules = [_rule(rule, "stack" in head) for rule in machine.transitions]
    return json.dumps({**head, "rules": rules}, ensure_ascii=False, indent=2) + "\n"


def _rule(rule: Transition | CountingTransition, stacked: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"from": rule.source, "to": rule.target, "label": str(rule.guard)}
    if isinstance(rule, CountingTransition):
        record |= {"tests": rule.tests, "changes": rule.changes}
    elif stacked:
        record |= {"top": rule.top, "push": rule.push}
    return {**record, "reward": rule.reward}


# --- Reading JSON


class Number(str):
    """A number as it is written."""


JSON_TYPE_NAMES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    Number: "a number",
    bool: "true or false",
    type(None): "null",
}
Shape = Any
"""A kind of value; `[shape]`, an array; `{key: shape}`, an object, with `?` after keys that may be missing, and
`str` for any key; `(shape, …)`, one of several."""
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
    """The place of a part of a value, of a part of that, and so on."""
    *outer, key = keys
    where = inside(where, *outer) if outer else where
    if isinstance(key, str) and key.isidentifier() and len(key) <= 40:
        return replace(where, path=f"{where.path}.{key}".removeprefix("."))
    shown = key if isinstance(key, int) else json.dumps(key[:40], ensure_ascii=False)
    return replace(where, path=f"{where.path}[{shown}]")


def read_values(text: str, file: str) -> Any:
    """The JSON value of a text, with numbers as they are written.

    >>> read_values('{"rules": [{"reward": 1}]}', "m.json")
    {'rules': [{'reward': '1'}]}
    """
    where = Where(file)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                fault = f"the key `{key[:40]}` appears twice in one object"
                raise DuplicateName(fault, where=inside(where, key), fix="keep one of them")
            found[key] = value
        return found

    try:
        return json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number,
            object_pairs_hook=members,
        )
    except json.JSONDecodeError as error:
        fault = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        line = text.split("\n", error.lineno)[error.lineno - 1].rstrip("\r")
        where = Where(file, error.lineno, error.colno, line)
        fix = "check commas, quotes and brackets around this place"
        raise CannotRead(fault, where=where, fix=fix) from None
    except RecursionError:
        raise TooDeep("nested too deep", where=where, fix="is this a machine's JSON?") from None


def check_shape(value: Any, shape: Shape, where: Where) -> None:
    """Raise `BadShape` unless a value has this shape."""
    shapes = shape if isinstance(shape, tuple) else (shape,)
    kinds: dict[type, Shape] = {one if isinstance(one, type) else type(one): one for one in shapes}
    if type(value) not in kinds:
        fault = f"this must be {JSON_TYPE_NAMES[[*kinds][-1]]}, not {JSON_TYPE_NAMES[type(value)]}"
        raise BadShape(fault, where=where, fix="see the schema")
    one = kinds[type(value)]
    if isinstance(one, list):
        for number, item in enumerate(value):
            check_shape(item, one[0], inside(where, number))
    if isinstance(one, dict):
        for key, item in value.items():
            wanted = one.get(str) or one.get(key) or one.get(f"{key}?")
            if wanted is None:
                known = [name.rstrip("?") for name in one]
                fault = f"unknown key `{key[:40]}`"
                raise BadShape(fault, where=inside(where, key), fix=did_you_mean(key, known))
            check_shape(item, wanted, inside(where, key))
        for key in one:
            if key is not str and not key.endswith("?") and key not in value:
                raise BadShape(f"the key `{key}` is missing", where=where, fix=f'add "{key}": …')


# --- Reading a machine


def read_json(text: str, document: Document) -> None:
    """Fill a document from JSON."""
    machine = read_values(text, document.file)
    where = Where(document.file)
    check_shape(machine, MACHINE, where)
    if machine["pdrm"] != VERSION:
        fault = '"pdrm" must be 1, the version of this form'
        raise BadShape(fault, where=inside(where, "pdrm"), fix='write "pdrm": 1')
    rules = machine.pop("rules")
    for key in machine:
        place = inside(where, key)
        if key in ("pdrm", "$schema"):
            continue
        for line in machine[key] if key == "exclusive" else [machine[key]]:
            document.add_header([Token(key, place), *_words(line, place)])
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
        changes = tuple(integer_of(one, where) for one in rule.get("changes", ()))
        return CountingTransition(*ends, tests, changes, reward, where)
    written = "top" in rule and "push" in rule
    top = rule["top"] if written else UNWRITTEN
    push = tuple(symbol for symbol in rule.get("push", ()) if symbol != NONE)
    return Transition(*ends, top, push, reward, where)
