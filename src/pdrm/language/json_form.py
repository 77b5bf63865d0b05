"""Machines as JSON: the form for programs. `schema.json` beside this file is its published schema.

A fault in the JSON itself is reported with line and column, a fault in a value by the keys that lead to it: `rules[3].label`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from pdrm.errors import (
    BadReward,
    BadShape,
    CannotRead,
    DuplicateName,
    PdrmError,
    TooDeep,
    TooLarge,
    Where,
    did_you_mean,
)
from pdrm.language.document import AnyMachine, Document, Header, RuleSpec
from pdrm.language.source import Line, check_size
from pdrm.language.syntax import Word, number_of, read_guard
from pdrm.limits import DEEPEST
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import Guard
from pdrm.machines.machine import states_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.rewards import number_text
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

KINDS: dict[type, str] = {dict: "an object", list: "an array", str: "a string", float: "a number"}
KINDS |= {bool: "true or false", type(None): "null"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value and the keys that lead to it."""

    data: dict[str, Value] | list[Value] | str | float | bool | None
    where: Where

    def read(self, kind: type[T]) -> T:
        """The value, or `BadShape` where it is of another kind."""
        if isinstance(self.data, kind):
            return self.data
        found = float if isinstance(self.data, float) else type(self.data)
        fault = f"this must be {KINDS[kind]}, not {KINDS[found]}"
        raise BadShape(fault, where=self.where, fix="see the schema")

    def text(self) -> str:
        return self.read(str)

    def word(self) -> Word:
        return Word(self.text(), self.where)

    def number(self) -> float:
        return self.read(float)

    def digits(self) -> str:
        """The number as text; integers are written out: 100000, where a reward would be written 1e5."""
        number = self.number()
        return (
            str(int(number)) if number.is_integer() and abs(number) < 1e16 else number_text(number)
        )

    def items(self) -> list[Value]:
        return self.read(list)

    def texts(self) -> list[str]:
        return [item.text() for item in self.items()]

    def object(self) -> dict[str, Value]:
        return self.read(dict)

    def members(self, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Value]:
        """The value as an object with known keys, the needed ones among them."""
        members = self.object()
        for key, value in members.items():
            if key not in known:
                raise BadShape(
                    f"unknown key `{key[:40]}`", where=value.where, fix=did_you_mean(key, known)
                )
        for key in needed:
            if key not in members:
                raise BadShape(
                    f"the key `{key}` is missing", where=self.where, fix=f'add "{key}": …'
                )
        return members


def read_values(text: str, file: str) -> Value:
    """The JSON value of a text.

    >>> rule = read_values('{"rules": [{"reward": 1}]}', "m.json").object()["rules"].items()[0].object()["reward"]
    >>> rule.number(), str(rule.where)
    (1.0, 'm.json: rules[0].reward')
    """
    check_size(text, file)

    def refuse(word: str) -> None:
        raise CannotRead(f"`{word}` is not JSON", where=Where(file), fix="write a finite number")

    try:  # numbers of any length are rewards; the pairs of an object are a tuple, so that a key that appears twice is seen
        data = json.loads(
            text,
            parse_int=float,
            parse_float=float,
            parse_constant=refuse,
            object_pairs_hook=tuple,
        )
        return _value(data, file, "", 0)
    except json.JSONDecodeError as error:
        fault = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        where = Where(
            file,
            error.lineno,
            error.colno,
            text.split("\n", error.lineno)[error.lineno - 1].rstrip("\r"),
        )
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
        return Value(
            [_value(item, file, f"{path}[{i}]", depth + 1) for i, item in enumerate(data)], where
        )
    if not isinstance(data, tuple):
        return Value(data, where)
    members: dict[str, Value] = {}
    for key, item in data:
        plain = key.isidentifier() and len(key) <= 40
        inside = (
            f"{path}.{key}".removeprefix(".")
            if plain
            else f"{path}[{json.dumps(key[:40], ensure_ascii=False)}]"
        )
        if key in members:
            fault = f"the key `{key[:40]}` appears twice in one object"
            raise DuplicateName(fault, where=Where(file, path=inside), fix="keep one of them")
        members[key] = _value(item, file, inside, depth + 1)
    return Value(members, where)


# --- Reading a machine


def read_json(text: str, file: str) -> Document:
    """The document that a JSON text stands for."""
    document = Document(file)
    try:
        members = read_values(text, file).members(KEYS, NEEDED)
        version = members["pdrm"]
        if version.data != VERSION:
            raise BadShape(
                '"pdrm" must be 1, the version of this form',
                where=version.where,
                fix='write "pdrm": 1',
            )
        _headers(members, document)
        for rule in members["rules"].items():
            _collect(document, rule)
    except PdrmError as error:
        document.errors.append(error)
    return document


def _headers(members: dict[str, Value], document: Document) -> None:
    def add(key: str, words: list[Word]) -> None:
        document.add_header(Header(Word(key, members[key].where), tuple(words)))

    for key in ("name", "start"):
        if key in members:
            add(key, [members[key].word()])
    for key in LISTS:
        if key in members:
            add(key, [item.word() for item in members[key].items()])
    for group in members["exclusive"].items() if "exclusive" in members else []:
        add("exclusive", [item.word() for item in group.items()])
    if "counters" in members:
        counters = members["counters"]
        add("counters", [Word(counters.digits(), counters.where)])
    what = members["otherwise"].members(("do", "to", "reward"), ("do",))
    words = [what[key].word() for key in ("do", "to") if key in what]
    words += [Word(_reward(what["reward"]), what["reward"].where)] if "reward" in what else []
    add("otherwise", words)


def _collect(document: Document, value: Value) -> None:
    """Add one rule, or its fault."""
    try:
        record = value.members(RULE_KEYS, ("from", "to", "label", "reward"))
        look: tuple[str, ...] | None
        change: tuple[str, ...] | None
        if vector := "tests" in record or "changes" in record:
            look = tuple(record["tests"].texts()) if "tests" in record else ()
            change = (
                tuple(item.digits() for item in record["changes"].items())
                if "changes" in record
                else ()
            )
        else:
            look = (record["top"].text(),) if "top" in record else None
            change = tuple(record["push"].texts()) if "push" in record else None
        reward = number_of(_reward(record["reward"]), record["reward"].where)
        source, target = record["from"].text(), record["to"].text()
        guard = _guard(record["label"])
        document.add_rule(
            RuleSpec(source, target, guard, look, change, vector, reward, value.where)
        )
    except PdrmError as error:
        if isinstance(error, TooLarge):
            raise
        document.note(error)


def _guard(value: Value) -> Guard:
    """The guard in a string, written as in a .pdrm file (without comments and maps)."""
    where, text = value.where, value.text()
    try:
        return read_guard(Line(where.file, 1, text))
    except PdrmError as error:
        raise type(error)(
            f"{error.message} in the label `{text[:60]}`", where=where, fix=error.fix
        ) from None


def _reward(value: Value) -> str:
    number = value.number()
    if number - number != 0:
        fix = "write a number such as -0.01 or 1e5"
        raise BadReward("a reward must be a finite number", where=value.where, fix=fix)
    return repr(number)
