"""Golden error messages. `PDRM_GOLDEN=write pytest tests/machines/text` writes them anew: then read the difference."""

import os
from pathlib import Path

import pytest

from tests.machines.text.faulty import FAULTY, GOOD
from tests.machines.text.rarer_faults import RARER

GOLDEN = Path(__file__).parent / "golden"
FILES = FAULTY | {f"rarer/{name}": text for name, text in RARER.items()}


@pytest.mark.parametrize("name", FILES)
def test_message_is_as_agreed_and_nothing_is_written(name, pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, kind = FILES[name], name.removeprefix("rarer/")
    file = Path("task.json" if kind.startswith("json") else "task.txt" if kind.startswith("reward-m") else "task.pdrm")
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = pdrm("check", file)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    expected = GOLDEN / f"{name}.txt"
    if os.environ.get("PDRM_GOLDEN") == "write":
        expected.write_text(outcome.err)
    assert outcome.err == expected.read_text()


def test_every_golden_message_has_its_file():
    assert {str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.txt")} == set(FILES)


def test_the_file_they_start_from_is_good(pdrm, tmp_path):
    file = tmp_path / "task.pdrm"
    file.write_text(GOOD)
    assert pdrm("check", file).code == 0


@pytest.mark.parametrize("text", ["x" * 50_000_000, '{"a": "' + "x" * 50_000_000, "0\n[1]\n" + "(" * 50_000_000])
def test_a_line_of_50_megabytes_is_refused_quickly(text, pdrm, tmp_path):
    file = tmp_path / "long.pdrm"
    file.write_text(text)
    outcome = pdrm("check", file)
    assert outcome.code == 2
    assert "E0106" in outcome.err
    assert ":1:" in outcome.err or ":3:" in outcome.err
    assert len(outcome.err) < 2_000
