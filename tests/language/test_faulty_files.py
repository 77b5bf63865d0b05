"""The codes and positions that `pdrm check` reports for faulty files."""

import re
from pathlib import Path

import pytest

from tests.language.faulty import FAULTY, GOOD

PLACES = dict(
    line.split(": ", 1) for line in Path(__file__).with_name("places.txt").read_text().splitlines()
)


@pytest.fixture(autouse=True)
def _in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def places_of(message, file):
    """The codes and positions of the errors in a message: `E0301 12:1, E0101 rules[0].label`."""
    found = re.findall(r"^error\[(E\d{4})\].*?(?:^ +--> (.+?)$|\Z)", message, re.M | re.S)
    return ", ".join(
        f"{code} {place.removeprefix(file).lstrip(': ')}".strip() for code, place in found
    )


def test_faults_have_their_code_and_place(pdrm, tmp_path):
    assert set(PLACES) == set(FAULTY)
    for name, content in FAULTY.items():
        kind = "txt" if name.startswith("reward-machine") else "pdrm"
        file = Path("task.json" if name.startswith("json") else f"task.{kind}")
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        outcome = pdrm("check", file)
        assert (outcome.code, outcome.out) == (2, ""), name
        assert "Traceback" not in outcome.err, name
        assert places_of(outcome.err, file.name) == PLACES[name], name
        assert list(tmp_path.iterdir()) == [tmp_path / file], "nothing else is written"
        file.unlink()


def test_the_file_they_start_from_is_good(pdrm):
    Path("task.pdrm").write_text(GOOD)
    assert pdrm("check", "task.pdrm").code == 0


def test_a_line_of_50_megabytes_is_refused_quickly(pdrm):
    for text in ("x" * 50_000_000, '{"a": "' + "x" * 50_000_000, "0\n[1]\n" + "(" * 50_000_000):
        Path("long.pdrm").write_text(text)
        outcome = pdrm("check", "long.pdrm")
        assert outcome.code == 2
        assert "E0106" in outcome.err
        assert len(outcome.err) < 2_000
