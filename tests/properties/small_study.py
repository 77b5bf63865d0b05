"""A small study for properties of runs: every kind of agent in a few seconds, and a comparison
of results."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pdrm.experiments.curves import CURVES, RUNS, SUMMARY
from pdrm.experiments.study import Study, run_study
from pdrm.experiments.study_file import load_study
from pdrm.learning.run_folder import PROGRESS, TIMING

STUDY_FILE = "study.toml"
STUDY_TEXT = """\
name = "small"
seeds = 2
settings = { test_every = 20, test_episodes = 4 }

[[panels]]
domain = "maze-10x10"
agents = [
    { name = "pdRM", agent = "q", k = "full", settings = { episodes = 3000 } },
    { name = "1-CpRM", agent = "cprm", k = 1, settings = { episodes = 6000 } },
]

[[panels]]
domain = "maze-5x5"
agents = [{ name = "CQL-CRA", agent = "cra-cql", settings = { episodes = 600 } }]

[[panels]]
domain = "deliver-8"
agents = [{ name = "hierarchical", agent = "hrm", k = 2, settings = { episodes = 2000 } }]
"""


@cache
def undisturbed() -> dict[str, bytes]:
    """The files of the undisturbed study."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        assert not run_study(small_study(folder), folder).failures
        return files(folder)


def small_study(folder: Path) -> Study:
    """Write the study to a folder, and read it."""
    (folder / STUDY_FILE).write_text(STUDY_TEXT)
    return load_study(folder / STUDY_FILE)


def files(folder: Path) -> dict[str, bytes]:
    """All files of the runs, and the tables without times."""
    found = [
        path
        for path in (folder / RUNS).rglob("*")
        if path.is_file() and path.name not in (TIMING, PROGRESS)
    ]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in (*found, folder / CURVES, folder / SUMMARY)
    }


def check_same(folder: Path, what: str) -> None:
    """Raise unless a folder has the same files, byte for byte, as an undisturbed run."""
    expected, found = undisturbed(), files(folder)
    lost, extra = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    assert not lost, f"{what}: lost {lost}"
    assert not extra, f"{what}: too much {extra}"
    differing = [name for name in expected if expected[name] != found[name]]
    assert not differing, f"{what}: other bytes in {differing}"
    rows = list(csv.reader((folder / CURVES).read_text().splitlines()))
    assert len({tuple(row[:8]) for row in rows}) == len(rows), f"{what}: a test is there twice"
