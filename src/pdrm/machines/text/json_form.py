"""Machines as JSON: the form for programs. `schema.json` beside this file is its published schema."""

from __future__ import annotations

import json
from typing import Any

from pdrm.errors import BadReward, BadShape, PdrmError
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guard import Guard
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardTransition
from pdrm.machines.rules import states_of
from pdrm.machines.text.build import AnyMachine
from pdrm.machines.text.document import Document, Header, RuleSpec
from pdrm.machines.text.json_values import Value, read_values
from pdrm.machines.text.source import Line
from pdrm.machines.text.syntax import Word, read_guard
from pdrm.machines.transition import Otherwise, Transition

VERSION = 1
LISTS = ("events", "stack", "states", "final")
KEYS = ("$schema", "pdrm", "name", *LISTS, "exclusive", "counters", "start", "otherwise", "rules")
NEEDED = ("pdrm", "start", "otherwise", "rules")
RULE_KEYS = ("from", "to", "label", "top", "push", "tests", "changes", "reward")


def to_json(machine: AnyMachine) -> str:
    """The machine as JSON text, one rule a line.

    >>> from pdrm.machines.catalogue import catalogue
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
