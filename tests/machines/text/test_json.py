"""The JSON form and its schema agree with each other and with the text."""

import json
from importlib.resources import files

import jsonschema
import pytest

from pdrm.errors import PdrmError
from pdrm.machines.catalogue import catalogue, names
from pdrm.machines.text.files import parse
from pdrm.machines.text.json_form import to_json

SCHEMA = json.loads(files("pdrm.machines.text").joinpath("schema.json").read_text())


@pytest.mark.parametrize("name", names())
def test_every_machine_fits_the_schema_and_comes_back(name):
    machine = catalogue(name)
    text = to_json(machine)
    jsonschema.validate(json.loads(text), SCHEMA)
    assert parse(text) == machine
    assert parse(json.dumps(json.loads(text))) == machine  # on one line, as other programs write it


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
