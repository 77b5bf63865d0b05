"""Checkpoints that were tampered with: each is refused before a kernel sees it."""

import numpy as np
import pytest

from pdrm.errors import BadRunFolder, BadSetting
from pdrm.files import encode_arrays, read_arrays
from pdrm.learning import run_loop
from pdrm.learning.agents import PPO, agent_for
from pdrm.learning.run_loop import CHECKPOINT, RunSpec, make_learner
from pdrm.task import Task


def stopped(name, domain, folder, **settings):
    """A run that was stopped half way: its spec, and the arrays of its checkpoint."""
    task = Task(domain)
    few = {"episodes": 40, "test_every": 10, "test_episodes": 2, "step_limit": 20}
    spec = RunSpec(task, agent_for(task, name, {**few, **settings}), 0)
    learner = make_learner([spec])
    learner.advance(10)
    run_loop._save_checkpoints([(spec, folder)], learner, [learner.test()])
    return spec, read_arrays((folder / CHECKPOINT).read_bytes())


def changed(arrays, name, place, value):
    """The arrays with one number changed."""
    new = np.array(arrays[name])
    new[place] = value
    return {**arrays, name: new}


def resume(spec, folder, arrays):
    (folder / CHECKPOINT).write_bytes(encode_arrays(arrays))
    learner = make_learner([spec])
    run_loop._resume(learner, [folder])
    return learner


EDITS = {
    "cprm": [
        ("symbol", 1, 99),
        ("parent", 1, 10**6),
        ("parent", 2, 5),
        ("height", -1, 0),
        ("values.key", 0, -1),
        ("values.key", 1, 2**62),
        ("values.value", (0, 0), np.nan),
        ("observed.node", 0, 10**6),
        ("observed.following", 0, 0),
        ("observed.first", 0, 3),
        ("observed.length", 0, 2**30),
        ("observed.turn", (0, 1), 10**6),
        ("ints", 5, 3),
        ("ints", 0, -1),
        ("floats", 0, 7.0),
        ("tests.steps", (0, 0), -1),
        ("tests.ends", (0, 0), "nowhere"),
    ],
    "cra-cql": [("after", (0, 0), 10**6), ("state", 0, 99), ("node", 0, -5), ("counters", (0, 0), -1)],
    "hrm": [("policies.key", 0, 2**50), ("values.key", 0, -7)],
}


@pytest.mark.parametrize("name", EDITS)
def test_a_number_out_of_its_range(name, tmp_path):
    spec, arrays = stopped(name, "deliver-8" if name == "hrm" else "letter", tmp_path)
    assert resume(spec, tmp_path, arrays).done == 10
    for array, place, value in EDITS[name]:
        with pytest.raises(BadRunFolder, match="damaged"):
            resume(spec, tmp_path, changed(arrays, array, place, value))
    for array in arrays:
        for wrong in (
            arrays[array].astype(np.complex128) if arrays[array].dtype.kind != "U" else np.zeros(1),
            arrays[array][None],
        ):
            with pytest.raises(BadRunFolder):
                resume(spec, tmp_path, {**arrays, array: wrong})
        with pytest.raises(BadRunFolder, match="has no"):
            resume(spec, tmp_path, {other: arrays[other] for other in arrays if other != array})


def test_seconds_between_checkpoints_that_are_none(monkeypatch):
    for word in ("abc", "nan", "-1", "inf", ""):
        monkeypatch.setenv("PDRM_CHECKPOINT_SECONDS", word)
        with pytest.raises(BadSetting, match="PDRM_CHECKPOINT_SECONDS"):
            run_loop.seconds_between_checkpoints()


def test_settings_of_another_kind():
    for given in ({"learning_rate": [0.1]}, {"net_arch": 64}, {"linear_decay": "yes"}, {"discount": {}}):
        with pytest.raises(BadSetting, match="must be"):
            PPO(**given)
