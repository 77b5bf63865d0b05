"""Runs: the same spec gives the same files in every process, stopped runs resume, and damage is
noticed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from pdrm.domains.water import WaterWorld
from pdrm.errors import (
    BadPolicyFile,
    BadRunFolder,
    BadSetting,
    CannotWrite,
    Diverged,
    NeverSucceeded,
    PdrmError,
    WrongPolicy,
)
from pdrm.learning.agents import PPO, CountingCQL, CpRM, QLearning, Summary
from pdrm.learning.protocol import agent_for
from pdrm.learning.run import Run, advise, train
from pdrm.learning.run_folder import RunSpec, is_done, read_spec, write_checkpoint
from pdrm.learning.run_loop import train_batch
from pdrm.learning.saved_policy import load_table
from pdrm.learning.tabular.learner import QLearner
from pdrm.task import Task

SPEC = RunSpec(Task("maze-5x5"), CpRM(k=1, episodes=300, test_every=50, test_episodes=4), seed=7)
DEEP = RunSpec(
    Task("echo"),
    PPO(
        total_timesteps=192,
        n_envs=2,
        n_steps=16,
        batch_size=16,
        net_arch=(8,),
        test_every=32,
        shaping="none",
    ),
    seed=1,
)


def do(spec, folder, watch=None):
    train_batch([spec], [folder], watch)
    return Run(spec, folder)


def fingerprint(folder):
    """SHA-256 of the policy and of the curve."""
    return [
        hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("policy.npz", "curve.csv")
    ]


def stop_after(tests):
    """A watch that presses Ctrl-C after this number of evaluations."""
    told = []

    def stop(status):
        told.append(status)
        if len(told) == tests:
            raise KeyboardInterrupt

    return stop


def test_a_run_leaves_small_files_and_is_not_repeated(tmp_path):
    run = do(SPEC, tmp_path)
    names = ["curve.csv", "policy.json", "policy.npz", "result.json", "spec.json", "timing.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert run.curve.at.tolist() == [50, 100, 150, 200, 250, 300]
    assert run.result["rows"] == len(run.policy)
    times = [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())]
    do(SPEC, tmp_path)
    assert times == [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())]
    assert Run.load(tmp_path).spec == SPEC


@pytest.mark.parametrize(
    ("name", "agent", "given"),
    [
        ("maze-5x5", "cprm", {"k": 1}),
        ("deliver-8", "hrm", {"k": 1}),
        ("letter", "cra-cql", {}),
        ("letter", "q", {"k": "full"}),
        ("maze-10x10", "cprm", {"k": "full", "updates_per_step": 7}),
        ("maze-5x5", "cra-cql", {"operations_per_episode": 2_000}),
    ],
)
def test_every_tabular_agent_resumes_to_the_same_bytes(name, agent, given, tmp_path):
    task = Task(name)
    chosen = agent_for(agent, {"episodes": 60, "test_every": 20, "test_episodes": 2, **given})
    check_resuming(RunSpec(task, chosen, seed=1), tmp_path)


def check_resuming(spec, folder):
    do(spec, folder / "whole")
    with pytest.raises(KeyboardInterrupt):
        do(spec, folder / "parts", stop_after(2))
    assert not is_done(folder / "parts")
    assert Run(spec, folder / "parts").policy is not None  # what was learnt by then can be used
    do(spec, folder / "parts")
    assert is_done(folder / "parts")
    assert fingerprint(folder / "parts") == fingerprint(folder / "whole")


def test_networks_of_the_same_shape_are_trained_side_by_side():
    """tests/learning/deep/test_parts.py tests stopping and resuming."""
    assert (
        DEEP.batch
        == replace(DEEP, seed=3).batch
        != replace(DEEP, agent=replace(DEEP.agent, n_steps=32)).batch
    )
    worlds = (
        WaterWorld(),
        WaterWorld(side=20.0, radius=0.5, top_speed=3.0),
        WaterWorld(interval=0.2),
    )
    one, other, third = (RunSpec(Task(world, "water"), DEEP.agent, 0) for world in worlds)
    assert one.batch == other.batch != third.batch
    assert (
        one.batch
        == replace(other, agent=replace(DEEP.agent, reward_scale=1e-3, learning_rate=1.0)).batch
    )


def test_the_same_in_another_process(tmp_path):
    do(SPEC, tmp_path / "here")
    command = [
        sys.executable,
        "-m",
        "pdrm",
        "train",
        "maze-5x5",
        "--agent",
        "cprm",
        "--seeds",
        "8",
        "--workers",
        "2",
    ]
    settings = ["--episodes", "300", "--set", "test_every=50", "--set", "test_episodes=4"]
    # The paper's settings for this maze are the defaults.
    environment = {**os.environ, "PYTHONHASHSEED": "1234"}
    done = subprocess.run(
        [*command, *settings, "-o", str(tmp_path / "there"), "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    folder = next(tmp_path.glob("there/*seed7*"))
    assert fingerprint(folder) == fingerprint(tmp_path / "here")
    assert folder.name.endswith(SPEC.id)
    assert [record["seed"] for record in json.loads(done.stdout)] == list(range(8))


def test_a_damaged_policy_is_noticed(tmp_path):
    do(SPEC, tmp_path)
    file = tmp_path / "policy.npz"
    whole = file.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (
        whole[:200],
        whole[:-1000],
        b"",
        b"not a policy",
        whole.replace(b"value", b"velue"),
        flipped,
    ):
        file.write_bytes(damaged)
        with pytest.raises(BadPolicyFile):
            load_table(file)
    file.write_bytes(whole)
    description = json.loads(file.with_suffix(".json").read_text())
    file.with_suffix(".json").write_text(json.dumps({**description, "view": "many"}))
    with pytest.raises(PdrmError):
        load_table(file)


def test_damaged_records_are_noticed_and_kept(tmp_path):
    write_checkpoint(tmp_path, {"done": np.int64(50)})
    changed = bytearray((tmp_path / "checkpoint.npz").read_bytes())
    changed[100] ^= 1
    for damaged in (b"half a checkpoint", bytes(changed)):
        (tmp_path / "checkpoint.npz").write_bytes(damaged)
        with pytest.raises(BadRunFolder):
            do(SPEC, tmp_path)
        assert (tmp_path / "checkpoint.npz").read_bytes() == damaged
    (tmp_path / "checkpoint.npz").unlink()
    run = do(SPEC, tmp_path)
    curve = (tmp_path / "curve.csv").read_text()
    for damaged in ("", "a,b\n1,2\n", curve.replace("home", "lost"), curve[:-20]):
        (tmp_path / "curve.csv").write_text(damaged)
        with pytest.raises(BadRunFolder):
            run.curve
    for damaged in ("", "{}", '{"task": 3}', "[]"):
        (tmp_path / "spec.json").write_text(damaged)
        with pytest.raises(BadRunFolder):
            read_spec(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    do(SPEC, tmp_path)
    before = fingerprint(tmp_path)
    (tmp_path / "result.json").unlink()
    (tmp_path / "curve.csv").rename(tmp_path / "kept.csv")

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="no space left"):
        do(SPEC, tmp_path)
    monkeypatch.undo()
    (tmp_path / "kept.csv").rename(tmp_path / "curve.csv")
    assert fingerprint(tmp_path) == before


def test_a_policy_accepts_only_its_own_machine(tmp_path):
    policy = do(SPEC, tmp_path).policy
    assert policy.act(0, "search", ["#"]) == policy.act(0, "search", ("#",))
    for state, stack in (("nowhere", ("#",)), ("search", ("X",)), ("search", "#")):
        with pytest.raises(WrongPolicy):
            policy.act(0, state, stack)


def test_a_second_ctrl_c_keeps_the_last_whole_checkpoint(tmp_path, monkeypatch):
    """It acts at once: here between training and evaluation, where no uninterrupted run stops."""
    spec = RunSpec(Task("maze-5x5"), QLearning(episodes=60, test_every=20, test_episodes=2), seed=1)
    do(spec, tmp_path / "whole")
    monkeypatch.setenv("PDRM_CHECKPOINT_SECONDS", "0")
    tested = QLearner.test

    def interrupted(training, episodes, seed):
        if training.episodes == 40:
            raise KeyboardInterrupt
        return tested(training, episodes, seed)

    monkeypatch.setattr(QLearner, "test", interrupted)
    with pytest.raises(KeyboardInterrupt):
        do(spec, tmp_path / "parts")
    assert (tmp_path / "parts" / "checkpoint.npz").exists()
    monkeypatch.undo()
    do(spec, tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")


def test_a_stopped_run_without_its_checkpoint_begins_again(tmp_path):
    """The advice of the message about a damaged checkpoint works."""
    do(SPEC, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        do(SPEC, tmp_path / "parts", stop_after(2))
    (tmp_path / "parts" / "checkpoint.npz").unlink()
    assert not is_done(tmp_path / "parts")
    do(SPEC, tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")


def test_ctrl_c_at_any_moment_loses_nothing(tmp_path):
    """A command is interrupted, and another process (this one) resumes."""
    command = [
        sys.executable,
        "-m",
        "pdrm",
        "train",
        "maze-10x10",
        "--k",
        "full",
        "--episodes",
        "3000",
        "-o",
    ]
    train("maze-10x10", "q", k="full", episodes=3_000, folder=tmp_path / "whole")
    process = subprocess.Popen(
        [*command, str(tmp_path / "parts")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(400):
        if list(tmp_path.glob("parts/*/spec.json")):  # training has begun
            break
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) in (0, 130)
    train("maze-10x10", "q", k="full", episodes=3_000, folder=tmp_path / "parts")
    whole, parts = (next(tmp_path.glob(f"{name}/*")) for name in ("whole", "parts"))
    assert fingerprint(parts) == fingerprint(whole)


def test_train_in_one_call(tmp_path):
    kept = train(
        "maze-5x5",
        "cprm",
        k=1,
        episodes=300,
        test_every=50,
        test_episodes=4,
        seed=7,
        folder=tmp_path,
    )
    assert kept.spec == SPEC
    assert kept.folder == tmp_path / SPEC.name
    passing = train(Task("maze-5x5"), SPEC.agent, seed=7)
    assert fingerprint(passing.folder) == fingerprint(kept.folder)
    place = passing.folder
    del passing
    assert not place.exists()
    for wrong in ({"seed": -1}, {"seed": True}, {"lr": 3}, {"seed": 1.5}):
        with pytest.raises(BadSetting):
            train("maze-5x5", "q", **wrong)
    with pytest.raises(BadSetting, match="continuous"):
        train("water-17", "q")


def test_other_runs_finish_if_one_diverges(tmp_path):
    steep = replace(DEEP, agent=replace(DEEP.agent, learning_rate=1e38))
    folders = [tmp_path / "steep", tmp_path / "sound"]
    with pytest.raises(Diverged, match="seed 1") as caught:
        train_batch([steep, replace(DEEP, seed=2)], folders)
    assert caught.value.runs == (0,)
    assert [is_done(folder) for folder in folders] == [False, True]


def test_a_table_that_diverges_says_what_to_change(tmp_path, monkeypatch):
    """It names no runs of its batch, so none of them is tried again."""
    test = QLearner.test

    def diverging(learner, *given):
        learner.tables.table.value[0] = np.inf
        return test(learner, *given)

    monkeypatch.setattr(QLearner, "test", diverging)
    with pytest.raises(Diverged) as caught:
        train_batch([SPEC], [tmp_path])
    assert "learning_rate" in caught.value.fix
    assert "rewards" in caught.value.fix
    assert not is_done(tmp_path)


def test_a_table_that_never_succeeds_says_what_to_try():
    """The warning needs 300 episodes."""
    letter = Task("letter")
    with pytest.warns(NeverSucceeded, match=r"ended in `home`.*\(agent `q`, seed 0\)"):
        runs = train("maze-10x10", "q", k=0, episodes=300, seeds=2)
    assert "cprm" in runs[0].warning.fix
    assert "check_k" in runs[0].warning.fix
    assert train("maze-10x10", "q", k=0, episodes=200).warning is None
    assert train(letter, CpRM(k=1, episodes=2_000)).warning is None
    for agent in (CpRM(k="full"), Summary(), CountingCQL()):
        assert advise(letter, agent.resolved(letter)).startswith("more training")
    never = "events u d l r t x never\nstack #\nstart s\nfinal f\notherwise stay 0\ns -> f : never, z / z, 1"
    unreachable = Task("maze-5x5", never)
    assert not advise(unreachable, CpRM().resolved(unreachable)), "nothing helps"
