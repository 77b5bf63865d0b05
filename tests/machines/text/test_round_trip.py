"""Text and JSON say everything about a machine: reading what was written gives the same machine."""

from hypothesis import given, settings

from pdrm.language.json_form import to_json
from pdrm.language.loading import parse
from pdrm.language.writer import lay_out, to_text
from tests.strategies import machines


@settings(max_examples=60, deadline=None)
@given(machines())
def test_written_and_read_again(machine):
    text = to_text(machine)
    assert parse(text) == machine
    assert lay_out(text, "again") == text
    assert parse(to_json(machine)) == machine
