"""Parallel runs: equal files for all workers, no repeated work, and failures are reported."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pdrm.errors import (
    BadRunFolder,
    BadSetting,
    NotRecorded,
    UnknownAgent,
    UnknownChoice,
    WorkersLost,
)
from pdrm.experiments.curves import Store, curves_of
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study, plan, run_study
from pdrm.learning import execution
from pdrm.learning.agents import DQN, PPO, CpRM, QLearning
from pdrm.learning.execution import (
    MAX_DEATHS,
    Display,
    PlannedRun,
    Workers,
    in_batches,
    train_all,
)
from pdrm.learning.run_folder import RunSpec, start_run, write_progress
from pdrm.learning.run_loop import train_batch
from pdrm.progress import COMPILING, duration
from pdrm.task import Task
from tests.experiments.small import files, small_study


def run_all(runs, store, workers, **options):
    return train_all(runs, store.root, workers, **options).failures


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The files of the small study, run sequentially."""
    folder = tmp_path_factory.mktemp("alone")
    assert not run_study(small_study(), folder).failures
    return files(folder)


def test_loky_writes_the_same_files(alone, tmp_path):
    assert not run_study(small_study(), tmp_path, 2).failures
    assert files(tmp_path) == alone


def test_a_dask_cluster_writes_the_same_files_although_a_worker_is_killed(alone, tmp_path):
    distributed = pytest.importorskip("distributed")
    limits = {
        "threads_per_worker": 1,
        "memory_limit": 0,
        "dashboard_address": None,
        "silence_logs": 50,
    }
    with distributed.LocalCluster(n_workers=2, **limits) as cluster:
        victim = psutil.Process(next(iter(cluster.workers.values())).pid)
        watch = threading.Thread(target=kill_when_begun, args=(tmp_path, victim))
        watch.start()
        workers = Workers(count=2, backend="dask", address=cluster.scheduler_address)
        outcome = run_study(small_study(), tmp_path, workers)
        watch.join()
    assert not outcome.failures
    assert files(tmp_path) == alone


def kill_when_begun(folder, victim):
    """Kill a process as soon as a run has started."""
    while not list(folder.glob("runs/*/spec.json")):
        time.sleep(0.01)
    victim.send_signal(signal.SIGKILL)


def test_a_second_call_changes_nothing(tmp_path):
    run_study(small_study(), tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    more = small_study(seeds=(0, 1, 2))
    run_study(more, tmp_path)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    assert len(before) < len(after)
    assert {path: after[path] for path in before if path.is_file()} == {
        path: moment for path, moment in before.items() if path.is_file()
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_run_is_reported_and_the_others_finish(workers, tmp_path):
    runs, store = plan([small_study()]), Store.below(tmp_path)
    bad = store.run(runs[2].spec).folder
    bad.mkdir(parents=True)
    (bad / "checkpoint.npz").write_bytes(b"half a checkpoint")
    failures = run_all(runs, store, Workers(count=workers))
    assert [(failure.run.title, "checkpoint" in failure.sentence) for failure in failures] == [
        (runs[2].title, True)
    ]
    assert [store.run(run.spec).done for run in runs] == [True, True, False, True, True, True]
    (bad / "checkpoint.npz").unlink()
    assert not run_all(runs, store, Workers(count=workers))


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    spec = plan([small_study()])[0].spec
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".policy.npz.x8f3").write_bytes(b"half a policy")
    train_batch([spec], [folder])
    assert sorted(path.name for path in folder.iterdir()) == [
        "curve.csv", "policy.json", "policy.npz", "result.json", "spec.json", "timing.json",
    ]  # fmt: skip


def test_a_policy_too_large_to_keep_is_dropped_but_its_run_is_done(tmp_path):
    run, store, keeping = plan([small_study()])[0], Store.below(tmp_path), {"largest_policy": 100}
    assert not run_all([run], store, Workers(), **keeping)
    assert not (store.run(run.spec).folder / "policy.npz").exists()
    assert store.run(run.spec).result["policy_bytes"] > 100
    assert not run_all([run], store, Workers(), **keeping)
    assert store.run(run.spec).timing["seconds"] > 0


def test_a_damaged_curve_is_detected(tmp_path):
    study = small_study(seeds=(0,))
    run_study(study, tmp_path)
    panel = study.panels[0]
    spec = panel.specs(panel.lines[0], (0,))[0]
    curve = Store.below(tmp_path).run(spec).folder / "curve.csv"
    curve.write_text(curve.read_text().replace(",300,", ",299,", 1))
    with pytest.raises(BadRunFolder, match="result"):
        curves_of(panel, panel.lines[0], (0,), Store.below(tmp_path))


def test_two_concurrent_commands_share_the_work(alone, tmp_path):
    code = (
        "import sys; from tests.experiments.small import small_study; from pdrm.experiments.study import run_study;"
        "sys.exit(bool(run_study(small_study(), sys.argv[1]).failures))"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    assert files(tmp_path) == alone


@dataclass(frozen=True)
class Deadly:
    """An agent that kills its worker once for each file to remove."""

    marks: str
    name: str = "deadly"
    episodes: int = 20

    def learner(self, task, seed):
        for mark in Path(self.marks).glob("*"):
            if multiprocessing.parent_process() is not None:
                mark.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return start_run(CpRM(episodes=20), task, seed)


@pytest.mark.parametrize("times", [1, MAX_DEATHS])
def test_a_dead_worker_is_replaced_a_limited_number_of_times(times, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    for number in range(times):
        (marks / str(number)).touch()
    runs, store = plan([small_study(seeds=(0,))]), Store(tmp_path / "runs")
    deadly = PlannedRun(RunSpec(Task("letter"), Deadly(str(marks)), 0), "deadly")
    failures = run_all([*runs, deadly], store, Workers(count=2))
    hopeless = times == MAX_DEATHS
    assert [failure.run.title for failure in failures] == ["deadly"] * hopeless
    assert all(store.run(run.spec).done for run in runs)
    assert store.run(deadly.spec).done == (not hopeless)


def test_workers_exit_with_their_parent(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        "seeds = 2\nsettings = { episodes = 100000, test_every = 20 }\n"
        "[[panels]]\ndomain = 'maze-5x5'\nagents = [{ agent = 'cprm' }]\n"
    )
    command = [
        sys.executable,
        "-m",
        "pdrm",
        "run",
        str(study),
        "--workers",
        "2",
        "-o",
        str(tmp_path / "out"),
    ]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("out/runs/*/spec.json")):
        time.sleep(0.02)
    workers = psutil.Process(parent.pid).children(recursive=True)
    assert len(workers) >= 2
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


def test_no_more_workers_are_started_than_there_are_runs(tmp_path, monkeypatch):
    started, loky = [], execution._loky
    monkeypatch.setattr(
        execution, "_loky", lambda workers: started.append(workers.count) or loky(workers)
    )
    run_study(small_study(seeds=(0,)), tmp_path, 64)
    assert started == [3]


def test_errors_are_raised_before_anything_runs(tmp_path):
    line = AgentLine(name="a", agent="q", settings={"episodes": 200})
    for panel, error in (
        (
            Panel(name="p", domain="letter", lines=(line, AgentLine(name="b", agent="qq"))),
            UnknownAgent,
        ),
        (Panel(name="p", domain="letter", lines=(line,), success=("home",)), UnknownChoice),
    ):
        with pytest.raises(error):
            run_study(Study(name="s", panels=(panel,)), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_study_whose_runs_all_fail_raises(tmp_path):
    study, store = small_study(seeds=(0,)), Store.below(tmp_path)
    runs = plan([study])
    for run in runs:
        store.run(run.spec).folder.mkdir(parents=True)
        (store.run(run.spec).folder / "checkpoint.npz").write_bytes(b"half a checkpoint")
    with pytest.raises(
        NotRecorded, match=r"all 3 runs failed.*letter 1-pdRM seed 0: error\[E0805\]"
    ):
        run_study(study, tmp_path)
    (store.run(runs[0].spec).folder / "checkpoint.npz").unlink()
    outcome = run_study(study, tmp_path)
    assert (len(outcome.lines), len(outcome.failures)) == (1, 2)


@pytest.mark.parametrize("wrong", [{"count": 0}, {"backend": "spark"}, {"address": "here:1"}])
def test_invalid_workers_are_refused(wrong):
    with pytest.raises(BadSetting):
        Workers(**wrong)


def test_an_unreachable_scheduler_is_an_error(tmp_path):
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(WorkersLost, match="dask"),
    ):
        run_study(small_study(), tmp_path, Workers(backend="dask", address="tcp://127.0.0.1:9"))
    assert distributed


def test_tables_run_before_networks_each_in_the_order_of_the_study():
    study = Study(
        ["letter"],
        [DQN(total_timesteps=512), CpRM(episodes=200), PPO(total_timesteps=512), "q"],
        seeds=2,
    )
    assert [run.spec.agent.name for run in plan([study])] == [
        "dqn",
        "dqn",
        "cprm",
        "cprm",
        "ppo",
        "ppo",
        "q",
        "q",
    ]
    assert [[run.spec.agent.name for run in batch] for batch in in_batches(plan([study]))] == [
        *([name] for name in ("cprm", "cprm", "q", "q")),
        *([name, name] for name in ("dqn", "ppo")),
    ]


def test_a_study_runs_in_the_current_folder(tmp_path, monkeypatch):
    """Workers are reused for the next study, and keep the folder in which they were started."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert not run_study(small_study(seeds=(0,)), "out", 2).failures
        assert (tmp_path / name / "out" / "summary.csv").exists()


def test_waiting_for_the_compiler_is_explained(tmp_path):
    """A message is printed after some seconds without progress."""
    planned = PlannedRun(RunSpec(Task("maze-5x5"), QLearning(episodes=10), 0), "one")
    display = Display([planned], tmp_path)
    assert COMPILING not in display.look()[1]
    display.start_time -= 60
    assert COMPILING in display.look()[1]
    (tmp_path / planned.spec.name).mkdir()
    write_progress(tmp_path / planned.spec.name, 0.1, 0.5)
    assert COMPILING not in display.look()[1]
    assert "one: return 0.5" in display.look()[1]


def test_the_remaining_time_is_estimated_from_finished_and_partial_runs(tmp_path):
    """Work done before the display started does not count."""
    runs = [
        PlannedRun(RunSpec(Task("maze-5x5"), QLearning(episodes=10), seed), "") for seed in range(4)
    ]
    folders = [tmp_path / run.spec.name for run in runs]
    for folder in folders[:2]:
        folder.mkdir()
        write_progress(folder, 1, 0.5)
    display = Display(runs, tmp_path)
    display.start_time -= 60
    assert "left" not in display.look()[1]
    folders[2].mkdir()
    write_progress(folders[2], 0.5, 0.5)
    done, note = display.look()
    assert done == 2.5
    assert f"about {duration(180)} left" in note
