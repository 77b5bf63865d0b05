"""`pdrm sizes`: bounds, reachable rows and rows seen in training, as text and JSON."""

import json
from pathlib import Path

import pytest

import pdrm as library
from pdrm.cli.analysis_commands import print_sizes


def sizes_of(outcome):
    record = json.loads(outcome.out)
    return record, {size["what"]: size for size in record["sizes"]}


def test_json(pdrm):
    record, sizes = sizes_of(pdrm("sizes", "maze-5x5", "--k", "1,3", "--json"))
    assert (record["steps"], record["symbols"], record["silent_pushes"]) == (15, 5, 0)
    assert list(sizes) == [
        "stack strings",
        "full policy",
        "1-policy",
        "3-policy",
        "counter configurations",
        "CRA policy",
    ]
    assert sizes["1-policy"]["reachable"] == 59
    assert sizes["1-policy"]["bound"]["exact"] == 8 * 2 * 6
    assert sizes["full policy"]["within"] == 9
    assert record["holds"] is True


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Short runs of three agents, and a run of another task."""
    import sys

    from pdrm.cli.main import main

    folder = tmp_path_factory.mktemp("runs")
    for arguments in (
        ("letter", "--agent", "q", "--k", "full", "--seeds", 2),
        ("letter", "--agent", "q", "--k", 1),
        ("letter", "--agent", "cra-q"),
        ("maze-5x5",),
    ):
        command = [
            "pdrm",
            "train",
            *map(str, arguments),
            "--episodes",
            "30",
            "-o",
            str(folder),
            "--json",
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", command)
            with pytest.raises(SystemExit):
                main()
    return folder


def test_rows_seen_in_training_are_at_most_the_reachable_rows(pdrm, runs):
    outcome = pdrm("sizes", "letter", "--runs", runs, "--json")
    _, sizes = sizes_of(outcome)
    met = {
        what: [(one["agent"], one["runs"]) for one in size["seen"]] for what, size in sizes.items()
    }
    assert met == {
        "stack strings": [("q", 2)],
        "full policy": [("q", 2)],
        "0-policy": [],
        "1-policy": [("q", 1)],
        "2-policy": [],
        "counter configurations": [("cra-q", 1)],
        "CRA policy": [("cra-q", 1)],
    }
    for size in sizes.values():
        assert all(0 < one["most"] <= size["reachable"] for one in size["seen"])
    shown = pdrm("sizes", "letter", "--runs", runs)
    assert "q-full: " in shown.out
    assert "(2 runs)" in shown.out
    assert shown.err.splitlines()[-1] == "next: pdrm check-k letter"


def test_a_machine_alone_and_the_blow_up(pdrm, capsys):
    record, sizes = sizes_of(pdrm("sizes", "marked-palindrome", "--steps", 8, "--json"))
    assert record["domain"] == "all words"
    assert sizes["1-policy"]["reachable"] == 5
    assert [row["counters_within"] for row in record["blowup"]][10] == 1024
    print_sizes(record)
    shown = capsys.readouterr().out
    assert "Theorem 4" in shown
    assert "13,653" in shown
    assert json.loads(pdrm("sizes", "dyck", "--steps", 5, "--json").out)["blowup"] is None


def test_your_own_domain(pdrm, tmp_path):
    file = tmp_path / "line.npz"
    line = library.domains.from_arrays(
        "line", [[0, 1], [0, 1]], [[1, 2], [1, 0]], [(), ("a",), ("b",)], step_limit=6
    )
    library.domains.save_domain(line, file)
    _, sizes = sizes_of(pdrm("sizes", file, "--machine", "anbn", "--json"))
    assert 0 < sizes["1-policy"]["reachable"] <= sizes["full policy"]["reachable"]
    outcome = pdrm("sizes", file)
    assert (outcome.code, outcome.err[:12]) == (2, "error[E0811]")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("lettr", "E0701"),
        ("letter --k one", "E0801"),
        ("letter --k=", "E0801"),
        ("letter --k 1,90", "E0801"),
        ("letter --steps -1", "E0801"),
        ("letter --steps 100000000000000000000000", "E0801"),
        ("letter --machine nothing.pdrm", "E0501"),
        ("letter --runs nowhere", "E0805"),
        ("nothing.pdrm", "E0501"),
    ],
)
def test_errors_exit_with_2(arguments, code, pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm("sizes", *arguments.split())
    assert (outcome.code, outcome.err[:12]) == (2, f"error[{code}]")
    assert "fix:" in outcome.err
    assert not list(Path().iterdir())
