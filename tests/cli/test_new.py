"""`pdrm new`: projects that work immediately, and never overwrite files."""

import csv
import subprocess
import sys

import pytest

from pdrm.cli.setup_commands import make_project

FILES = {
    "grid": {"README.md", "map.txt", "study.toml", "task.pdrm", "test_task.py"},
    "gym": {"README.md", "environment.py", "task.pdrm", "test_task.py", "train.py"},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder, *command):
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("kind", FILES)
def test_a_project_has_its_files_and_its_tests_pass(kind, pdrm, here):
    made = pdrm("new", "garden", *(["--gym"] if kind == "gym" else []))
    assert made.code == 0
    assert {path.name for path in here.iterdir()} == {"garden"}
    assert {path.name for path in (here / "garden").iterdir()} == FILES[kind]
    for path in (here / "garden").iterdir():
        assert "@NAME@" not in path.read_text()
    checked = pdrm("check", "garden/task.pdrm")
    assert checked.code == 0
    assert "warning[" not in checked.out
    ended = run(here / "garden", "-m", "unittest")
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (0, "OK")


def test_the_grid_trains_and_its_study_shows_that_the_stack_is_needed(pdrm, here, monkeypatch):
    pdrm("new", "garden")
    monkeypatch.chdir(here / "garden")
    assert pdrm("train", "map.txt", "--machine", "task.pdrm", "--episodes", 1000).code == 0
    assert pdrm("run", "study.toml", "--workers", 1).code == 0
    with (here / "garden/runs/views/summary.csv").open(newline="") as file:
        success = {
            row["line"]: float(row["success"]) for row in csv.DictReader(file)
        }  # of the last test
    assert success["no stack"] < 0.6
    assert success["its top, counterfactual"] == 1


def test_the_environment_trains_and_shows_that_the_stack_is_needed(pdrm, here):
    pdrm("new", "hall", "--gym")
    ended = run(here / "hall", "train.py")
    assert (ended.returncode, ended.stderr) == (0, "")
    first, second = ended.stdout.splitlines()
    assert second == "k = 1: median final return 4.00 of 4"
    assert float(first.split()[-3]) < 2
    assert len((here / "hall/curves.csv").read_text().splitlines()) == 1 + 2 * 3 * 10


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "1st", "x/..", "-x", "é"])
def test_a_bad_name_is_refused(name, pdrm, here):
    outcome = pdrm("new", "--", name)
    assert outcome.code == 2
    assert "E0801" in outcome.err
    assert not list(here.iterdir())


def test_nothing_is_overwritten(pdrm, here):
    (here / "garden").mkdir()
    (here / "plot").write_text("mine")
    (here / "link").symlink_to(here / "nowhere")
    for name in ("garden", "plot", "link"):
        outcome = pdrm("new", name)
        assert (outcome.code, outcome.err[:12]) == (2, "error[E0502]")
    assert (here / "plot").read_text() == "mine"
    assert not list((here / "garden").iterdir())


def test_a_project_in_a_folder(pdrm, here):
    outcome = pdrm("new", "deep/er/garden")
    assert outcome.code == 0
    assert "name        garden" in (here / "deep/er/garden/map.txt").read_text()
    assert sorted(make_project(here / "other", "gym")) == sorted(FILES["gym"])
