"""JSON, its schema and the text agree."""

import json
from importlib.resources import files

import jsonschema
import pytest

from pdrm.errors import PdrmError, TooDeep
from pdrm.language.json_form import to_json
from pdrm.language.loading import catalogue, catalogue_names, parse
from pdrm.language.writer import to_text

SCHEMA = json.loads(files("pdrm.language").joinpath("schema.json").read_text())


def test_every_machine_fits_the_schema_and_comes_back():
    for name in catalogue_names():
        machine = catalogue(name)
        text = to_json(machine)
        jsonschema.validate(json.loads(text), SCHEMA)
        assert parse(text) == machine
        assert (
            parse(json.dumps(json.loads(text))) == machine
        )  # on one line, as other programs write it


def test_what_the_schema_refuses_is_refused():
    good = json.loads(to_json(catalogue("letter")))
    for key, value in [
        ("pdrm", 2),
        ("events", ["a b"]),
        ("stack", []),
        ("start", 3),
        ("otherwise", {"do": "go"}),
        ("new", 1),
    ]:
        bad = {**good, key: value}
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(bad)
        with pytest.raises(PdrmError):
            parse(json.dumps(bad))


PUSHDOWN = """{
  "pdrm": 1,
  "name": "m",
  "events": ["é", "b"],
  "exclusive": [["é", "b"]],
  "stack": ["#", "A"],
  "states": ["u", "dead"],
  "start": "u",
  "final": ["f"],
  "otherwise": {"do": "go", "to": "f", "reward": -0.5},
  "rules": [
    {"from": "u", "to": "dead", "label": "é & !b", "top": "z", "push": ["A", "z"], "reward": 1.0},
    {"from": "u", "to": "f", "label": "{b}", "top": "#", "push": [], "reward": 0.0}
  ]
}
"""
COUNTING = """{
  "pdrm": 1,
  "name": "c",
  "events": ["a"],
  "counters": 2,
  "start": "u",
  "final": [],
  "otherwise": {"do": "error"},
  "rules": [
    {"from": "u", "to": "u", "label": "a", "tests": ["0", "-"], "changes": [1, -2], "reward": 0.0}
  ]
}
"""
REWARD = """{
  "pdrm": 1,
  "name": "r",
  "events": ["a"],
  "start": "u",
  "final": ["f"],
  "otherwise": {"do": "stay", "reward": 0.0},
  "rules": [
    {"from": "u", "to": "f", "label": "a", "reward": 1.0}
  ]
}
"""
BARE = """{
  "pdrm": 1,
  "name": "bare",
  "events": [],
  "start": "u",
  "final": [],
  "otherwise": {"do": "error"},
  "rules": [
  ]
}
"""


def test_each_kind_is_written_and_read_in_full():
    for form, text in [
        (
            PUSHDOWN,
            "name m\nevents é b\nexclusive é b\nstack # A\nstates u dead\nstart u\nfinal f\notherwise go f -0.5\n"
            "u -> dead : é & !b, z / A z, 1\nu -> f : {b}, # / eps, 0\n",
        ),
        (
            COUNTING,
            "name c\nevents a\ncounters 2\nstart u\notherwise error\nu -> u : a, [0, -] / [+1, -2], 0\n",
        ),
        (REWARD, "name r\nevents a\nstart u\nfinal f\notherwise stay 0\nu -> f : a, 1\n"),
        (BARE, "name bare\nstart u\notherwise error\n"),
    ]:
        machine = parse(text)
        assert json.loads(to_json(machine)) == json.loads(form)
        assert parse(form) == machine
        assert parse(to_text(machine)) == machine
        jsonschema.validate(json.loads(form), SCHEMA)


def test_places_in_json():
    rule = parse(PUSHDOWN, "m.json").transitions[1]
    assert str(rule.where) == "m.json: rules[1]"
    assert parse(REWARD.replace('"name": "r",', ""), "folder/walk.json").name == "walk"
    assert parse('{"$schema": "x", ' + REWARD[1:]) == parse(REWARD)


def test_long_lines_and_odd_names_are_read():
    """Long lines; brackets within strings do not count as depth; event names can be keys."""
    names = ["X" * 60, "input_symbols", *(f"event{i}" for i in range(1_500))]
    head = {
        "$schema": '"' + "[{" * 50,
        "pdrm": 1,
        "start": "u",
        "otherwise": {"do": "error"},
        "rules": [],
    }
    assert parse(json.dumps(head | {"events": names})).events == tuple(names)


def test_what_nests_too_deep_is_refused_with_its_place():
    for deep in ('{"a": ' * 60_000 + "1" + "}" * 60_000, "[" * 60_000 + "]" * 60_000):
        with pytest.raises(TooDeep) as caught:
            parse(deep, "m.json")
        assert str(caught.value.where) == "m.json"
