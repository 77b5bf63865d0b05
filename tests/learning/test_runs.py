"""Runs: the same spec gives the same files, whatever the process; stopping loses nothing; damage is noticed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from pdrm.learning.tabular.agents import settings_for
from pdrm.learning.tabular.run import RunSpec, execute, is_done

from pdrm.errors import BadPolicyFile, BadRunFolder, BadSetting, CannotWrite, PdrmError, WrongPolicy
from pdrm.language.loading import text_of
from pdrm.learning.agents import QLearning
from pdrm.learning.tabular import run
from pdrm.learning.tabular.policy import check_same_machine, load_policy
from pdrm.learning.tabular.training import Training

SETTINGS = QLearning(episodes=300, test_every=50, test_episodes=4, counterfactuals="deduplicated")
SPEC = RunSpec("maze-5x5", "cprm", "1", SETTINGS, seed=7)


def fingerprint(folder):
    """SHA-256 of the policy and of the curve."""
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("policy.npz", "curve.csv")]


def test_a_run_leaves_small_files_and_is_not_repeated(tmp_path):
    result = execute(SPEC, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.csv", "policy.json", "policy.npz", "spec.json"]
    assert [test.episode for test in result.tests] == [50, 100, 150, 200, 250, 300]
    times = [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())]
    again = execute(SPEC, tmp_path)
    assert times == [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())]
    assert (again.rows, again.sha256) == (result.rows, result.sha256)
    assert np.array_equal(again.tests[-1].returns, result.tests[-1].returns)


@pytest.mark.parametrize("stop_after", [1, 3, 5])
def test_interrupted_and_resumed_is_byte_identical(stop_after, tmp_path):
    execute(SPEC, tmp_path / "whole")

    def stop(_training, tests):
        if len(tests) == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(SPEC, tmp_path / "parts", stop)
    assert not is_done(tmp_path / "parts")
    assert len(load_policy(tmp_path / "parts" / "policy.npz")) > 0  # what was learnt by then can be used
    execute(SPEC, tmp_path / "parts")
    assert is_done(tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")


@pytest.mark.parametrize("hash_seed", ["0", "1234"])
def test_the_same_in_another_process(hash_seed, tmp_path):
    execute(SPEC, tmp_path / "here")
    command = [sys.executable, "-m", "pdrm", "train", "maze-5x5", "--agent", "cprm", "--seeds", "8", "--workers", "2"]
    command += [
        "--episodes",
        "300",
        "--test-every",
        "50",
        "--test-episodes",
        "4",
        "-o",
        str(tmp_path / "there"),
        "--json",
    ]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    records = json.loads(done.stdout)
    folder = next(tmp_path.glob("there/*seed7*"))
    assert fingerprint(folder) == fingerprint(tmp_path / "here")
    assert folder.name.endswith(SPEC.id)
    assert [record["seed"] for record in records] == list(range(8))


def test_a_damaged_policy_is_noticed(tmp_path):
    execute(SPEC, tmp_path)
    file = tmp_path / "policy.npz"
    whole = file.read_bytes()
    for damaged in (whole[:200], whole[:-1000], b"", b"not a policy", whole.replace(b"value", b"velue")):
        file.write_bytes(damaged)
        with pytest.raises(BadPolicyFile):
            load_policy(file)
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    with pytest.raises(BadPolicyFile):
        load_policy(file)
    file.write_bytes(whole)
    description = json.loads(file.with_suffix(".json").read_text())
    file.with_suffix(".json").write_text(json.dumps({**description, "view": "many"}))
    with pytest.raises(PdrmError):
        load_policy(file)


def test_a_policy_of_another_machine_is_refused(tmp_path):
    execute(SPEC, tmp_path)
    policy = load_policy(tmp_path / "policy.npz")
    check_same_machine(policy, text_of("treasure-maze"))
    with pytest.raises(WrongPolicy):
        check_same_machine(policy, text_of("figure-1"))


def test_a_damaged_checkpoint_is_noticed_and_kept(tmp_path):
    (tmp_path / "checkpoint.npz").write_bytes(b"half a checkpoint")
    with pytest.raises(BadRunFolder, match="checkpoint"):
        execute(SPEC, tmp_path)
    assert (tmp_path / "checkpoint.npz").read_bytes() == b"half a checkpoint"


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    execute(SPEC, tmp_path)
    before = fingerprint(tmp_path)
    (tmp_path / "curve.csv").rename(tmp_path / "kept.csv")

    def full(handle, _mode):
        os.close(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(CannotWrite, match="no space left"):
        execute(SPEC, tmp_path)
    monkeypatch.undo()
    (tmp_path / "kept.csv").rename(tmp_path / "curve.csv")
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize(
    "wrong",
    [{"learning_rate": 1.5}, {"learning_rate": float("nan")}, {"epsilon": -0.1}, {"discount": "much"}, {"episodes": 0},
     {"test_every": True}, {"step_limit": 2.5}, {"counterfactuals": "some"}, {"updates_per_step": -1},
     {"episodes": 2**31}, {"step_limit": 2**31}, {"updates_per_step": 2**31}, {"test_episodes": 1_000_001}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(BadSetting):
        QLearning(**wrong)


def test_a_policy_is_asked_about_its_own_machine_only(tmp_path):
    execute(SPEC, tmp_path)
    policy = load_policy(tmp_path / "policy.npz")
    assert policy.act(0, "search", ["#"]) == policy.act(0, "search", ("#",))
    for state, stack in (("nowhere", ("#",)), ("search", ("X",)), ("search", "#")):
        with pytest.raises(WrongPolicy):
            policy.act(0, state, stack)


@pytest.mark.parametrize(
    ("name", "agent", "k", "given"),
    [
        ("deliver-8", "hrm", "1", {}),
        ("letter", "cra-cql", "full", {}),
        ("letter", "q", "full", {}),
        ("maze-10x10", "cprm", "full", {"counterfactuals": "co-observed", "updates_per_step": 7}),
        ("maze-5x5", "cra-cql", "full", {"operations_per_episode": 2_000}),
        ("maze-10x10", "cprm", "2", {}),
    ],
)
def test_every_agent_resumes_to_the_same_bytes(name, agent, k, given, tmp_path):
    settings = settings_for(name, agent, {"episodes": 60, "test_every": 20, "test_episodes": 2, **given})
    spec = RunSpec(name, agent, k, settings, seed=1)
    whole = execute(spec, tmp_path / "whole")

    def stop(_training, tests):
        if len(tests) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(spec, tmp_path / "parts", stop)
    parts = execute(spec, tmp_path / "parts")
    assert parts.sha256 == whole.sha256
    assert (tmp_path / "parts" / "curve.csv").read_bytes() == (tmp_path / "whole" / "curve.csv").read_bytes()


def test_a_second_ctrl_c_keeps_the_last_whole_checkpoint(tmp_path, monkeypatch):
    """It acts at once, here between training and its test, where no undisturbed run ever stops."""
    spec = RunSpec("maze-5x5", "q", "1", QLearning(episodes=60, test_every=20, test_episodes=2), seed=1)
    execute(spec, tmp_path / "whole")
    monkeypatch.setattr(run, "SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    tested = Training.test

    def interrupted(training, domain=None):
        if training.episodes == 40:
            raise KeyboardInterrupt
        return tested(training, domain)

    monkeypatch.setattr(Training, "test", interrupted)
    with pytest.raises(KeyboardInterrupt):
        execute(spec, tmp_path / "parts")
    assert (tmp_path / "parts" / "checkpoint.npz").exists()
    monkeypatch.undo()
    execute(spec, tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")


def test_a_stopped_run_without_its_checkpoint_begins_again(tmp_path):
    """As the message about a damaged one advises."""
    execute(SPEC, tmp_path / "whole")

    def stop(_training, tests):
        if len(tests) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(SPEC, tmp_path / "parts", stop)
    assert len(load_policy(tmp_path / "parts" / "policy.npz")) > 0
    (tmp_path / "parts" / "checkpoint.npz").unlink()
    assert not is_done(tmp_path / "parts")
    execute(SPEC, tmp_path / "parts")
    assert fingerprint(tmp_path / "parts") == fingerprint(tmp_path / "whole")


def test_ctrl_c_at_any_moment_loses_nothing(tmp_path):
    command = [sys.executable, "-m", "pdrm", "train", "maze-10x10", "--k", "full", "--episodes", "3000", "-o"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    process = subprocess.Popen(
        [*command, str(tmp_path / "parts")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(200):
        if list(tmp_path.glob("parts/*/spec.json")):  # training has begun
            break
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) in (0, 130)
    subprocess.run([*command, str(tmp_path / "parts")], check=True, capture_output=True)
    whole, parts = (next(tmp_path.glob(f"{name}/*")) for name in ("whole", "parts"))
    assert fingerprint(parts) == fingerprint(whole)
