"""The codes and places that `pdrm check` names in faulty files: `messages.txt` and, for rarer faults, `rarer_messages.txt`."""

from pathlib import Path

from tests.golden import check_golden, places_of
from tests.machines.text.faulty import FAULTY, GOOD
from tests.machines.text.rarer_faults import RARER

HERE = Path(__file__).parent


def check_message(name, content, pdrm, folder):
    """The codes and places; exit code 2, no traceback, nothing else printed or written."""
    file = Path(
        "task.json"
        if name.startswith("json")
        else "task.txt"
        if name.startswith("reward-m")
        else "task.pdrm"
    )
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = pdrm("check", file)
    assert (outcome.code, outcome.out) == (2, ""), name
    assert "Traceback" not in outcome.err, name
    assert [path.name for path in folder.iterdir()] == [file.name], name
    file.unlink()
    return places_of(outcome.err)


def test_messages_are_as_agreed_and_nothing_is_written(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, faulty in (("messages.txt", FAULTY), ("rarer_messages.txt", RARER)):
        found = {
            name: check_message(name, content, pdrm, tmp_path) for name, content in faulty.items()
        }
        check_golden(HERE / file, found)


def test_the_file_they_start_from_is_good(pdrm, tmp_path):
    file = tmp_path / "task.pdrm"
    file.write_text(GOOD)
    assert pdrm("check", file).code == 0


def test_a_line_of_50_megabytes_is_refused_quickly(pdrm, tmp_path):
    file = tmp_path / "long.pdrm"
    for text in ("x" * 50_000_000, '{"a": "' + "x" * 50_000_000, "0\n[1]\n" + "(" * 50_000_000):
        file.write_text(text)
        outcome = pdrm("check", file)
        assert outcome.code == 2
        assert "E0106" in outcome.err
        assert len(outcome.err) < 2_000
