"""The paper's figures, your own studies and claims from the command line."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pdrm.experiments.study import run_study
from pdrm.experiments.study_file import load_study
from pdrm.language.loading import catalogue_names
from tests.experiments.small import keep_small_facts

STUDY = """\
name = "mine"
seeds = 2
settings = { episodes = 300, test_every = 100 }
[[panels]]
domain = "maze-5x5"
success = "home"
agents = [{ name = "1-CpRM", agent = "cprm" }, { name = "0-pdRM", agent = "q", k = 0 }]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_reproduce_a_figure_and_again(pdrm, tmp_path):
    out = tmp_path / "report"
    outcome = pdrm("reproduce", "paint", "--seeds", 2, "--workers", 1, "-o", out)
    assert outcome.code == 0
    assert "paint" in outcome.out
    assert "12 of 12 runs done" in outcome.err
    assert {path.name for path in out.iterdir()} >= {
        "runs",
        "curves.csv",
        "summary.csv",
        "claims.json",
        "index.html",
    }
    page = (out / "index.html").read_text()
    assert all(f'alt="{name}"' in page for name in catalogue_names()), "every machine is drawn"
    assert "http" not in page.replace("http://www.w3.org/", "")
    rows = table(out / "curves.csv")
    assert len(rows) == 12 * 100
    assert {row["line"] for row in rows if row["ours"] == "yes"} == {"0-pdRM (ours)"}
    assert all(-1 <= float(row["normalised"]) <= 1 for row in rows)
    last = [row for row in table(out / "summary.csv") if row["at"] == "500"]
    assert {row["line"]: round(float(row["return_50"]), 2) for row in last}["pdRM"] == -0.71
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*")}
    again = pdrm("reproduce", "paint", "--seeds", 2, "--workers", 1, "-o", out)
    assert "12 of 12 runs done" in again.err
    assert before == {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*")}
    keep_small_facts(out)
    record = {one["id"]: one for one in json.loads(pdrm("claims", out, "--json").out)}
    assert record["paint"]["verdict"] in {"holds", "does not hold"}
    assert record["letter-best"]["verdict"] == "not run"
    assert record["paint"]["parts"][1]["numbers"]["optimum"] == pytest.approx(-0.71)
    assert (record["paint"]["seeds"], record["paint"]["of_seeds"]) == (2, 10)
    assert record["translate"]["seeds"] is None
    shown = pdrm("claims", out, "--details").out
    assert "optimum" in shown
    assert shown.count("judged by only 2 of 10 seeds") == 1
    judged = [one for one in record.values() if one["verdict"] != "not run"]
    chosen = [one for one in judged if one["chosen_after_results"]]
    assert shown.count("chosen after seeing results: that ") == len(chosen)


def test_run_a_study(pdrm, study, tmp_path):
    out = tmp_path / "out"
    rows = json.loads(pdrm("run", study, "--workers", 1, "-o", out, "--json").out)
    assert [(row["line"], row["seeds"], row["success"]) for row in rows] == [
        ("1-CpRM", 2, 1.0),
        ("0-pdRM", 2, 0.0),
    ]
    again = pdrm("run", study, "--workers", 1, "-o", out, "--seeds", 1)
    assert "1-CpRM" in again.out
    assert f"wrote {out / 'index.html'}" in again.out
    for name in ("curves.csv", "summary.csv", "curves.svg", "index.html"):
        assert (out / name).exists()


def test_the_report_of_a_study_can_be_rewritten_from_its_folder(pdrm, study, tmp_path):
    out = tmp_path / "out"
    pdrm("run", study, "--workers", 1, "-o", out)
    drawn = {name: (out / name).read_bytes() for name in ("curves.svg", "index.html")}
    for name in drawn:
        (out / name).unlink()
    study.unlink()
    outcome = pdrm("report", out)
    assert outcome.code == 0
    assert f"wrote {out / 'index.html'}\n" in outcome.out
    assert {name: (out / name).read_bytes() for name in drawn} == drawn
    for named in ((out,), (out, "-o", tmp_path / "other")):
        assert "| maze-5x5 | 1-CpRM |" in pdrm("report", *named, "--markdown").out
    assert (
        pdrm("report", out / "runs", "-o", tmp_path / "plain").code == 0
    )  # a folder of runs that keeps no study
    assert (tmp_path / "plain/index.html").exists()


def test_a_failed_run_exits_with_1_after_the_others(pdrm, study, tmp_path):
    out = tmp_path / "out"
    assert pdrm("run", study, "--workers", 1, "-o", out).code == 0
    bad = next((out / "runs").glob("*cprm*seed1*"))
    for path in bad.iterdir():
        path.unlink()
    (bad / "checkpoint.npz").write_bytes(b"half")
    outcome = pdrm("run", study, "--workers", 1, "-o", out)
    assert outcome.code == 1
    assert "failed runs: 1" in outcome.err
    assert "maze-5x5 1-CpRM seed 1: error[E0805]" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("reproduce figure-9", "E1102"),
        ("reproduce letter --seeds 0", "E1101"),
        ("reproduce letter --workers 0", "E0801"),
        ("reproduce letter --backend spark", "E0801"),
        ("reproduce letter --address x:1", "E0801"),
        ("reproduce letter -o /proc/nowhere", "E0502"),
        ("run nothing.toml", "E0501"),
        ("run study.json", "E1101"),
        ("reproduce letter --seeds 99999999999", "E1101"),
        ("reproduce water --seeds 99999999999", "E1101"),
        ("claims nowhere", "E1104"),
        ("report", "E1104"),
    ],
)
def test_errors_exit_with_2(arguments, code, pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm(*arguments.split())
    assert (outcome.code, outcome.err[:12]) == (2, f"error[{code}]")
    assert "Traceback" not in outcome.err
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_everything_to_resume(study, tmp_path):
    study.write_text(
        STUDY.replace("episodes = 300", "episodes = 20000").replace("seeds = 2", "seeds = 1")
    )
    whole = tmp_path / "whole"
    run_study(load_study(study), whole)
    for workers in (1, 2):
        out = tmp_path / str(workers)
        command = [
            sys.executable,
            "-m",
            "pdrm",
            "run",
            str(study),
            "--workers",
            str(workers),
            "-o",
            str(out),
        ]
        environment = {**os.environ, "PDRM_CHECKPOINT_SECONDS": "0.05"}
        process = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        while not list(out.glob("runs/*/checkpoint.npz")):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the command and its workers
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "the same command resumes" in said
        assert said.count("stopping after the next evaluation") == (1 if workers == 1 else 0)
        assert "Traceback" not in said
        assert list(out.glob("runs/*/checkpoint.npz"))
        run_study(load_study(study), out)
        for path in whole.glob("runs/*/*"):
            if path.name != "timing.json":
                assert (out / path.relative_to(whole)).read_bytes() == path.read_bytes()
        assert not list(out.glob("runs/*/checkpoint.npz"))
