"""`pdrm train` with deep agents, `pdrm evaluate` and `pdrm film` of what they leave, and wrong turns on the way."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

from pdrm.domains.water import water_world
from pdrm.errors import NeverSucceeded, NotHere, WrongPolicy
from pdrm.learning.agents import PPO
from pdrm.learning.run import Run, train
from pdrm.learning.settings import parse_setting

DEEP_PAGE = Path(__file__).parents[2] / "docs" / "deep.md"
SMALL = [
    word
    for one in ("n_envs=16", "n_steps=16", "batch_size=64", "net_arch=16")
    for word in ("--set", one)
]
MAP = "place k key\nstep_limit 20\n#####\n#@.k#\n#####\n"
KEY = "name key\nevents key\nstack # A\nstart u\nfinal done\notherwise stay 0\nu -> done : key, # / #, 1\n"


def test_train_evaluate_and_again(pdrm, tmp_path):
    """The command of the page, for fewer steps and with two seeds."""
    runs = tmp_path / "runs"
    shown = re.search(
        r"^pdrm (train echo --agent ppo --steps) 20000 (.*)$", DEEP_PAGE.read_text(), re.MULTILINE
    )
    command = (
        *shown[1].split(),
        2048,
        *shown[2].split(),
        "--seeds",
        2,
        "--log",
        "tensorboard",
        "-o",
        runs,
    )
    outcome = pdrm(*command)
    assert outcome.code == 0
    folders = sorted(runs.iterdir())
    assert len(folders) == 2
    log = EventAccumulator(str(folders[1]))
    log.Reload()
    returns = [float(make_ndarray(event.tensor_proto)) for event in log.Tensors("test/return")]
    assert returns == pytest.approx(
        Run.load(folders[1]).curve.returns.mean(axis=1).tolist(), abs=1e-6
    )
    again = json.loads(pdrm(*command, "--json").out)
    assert [one["folder"] for one in again] == [str(folder) for folder in folders]
    record = json.loads(pdrm("evaluate", folders[1], "--episodes", 4, "--json").out)
    assert (record["seed"], sum(record["ends"].values())) == (1, 4)
    film = tmp_path / "echo.gif"
    assert f"-> {film}" in pdrm("film", folders[0], "-o", film).out
    assert film.read_bytes().startswith(b"GIF")
    assert "stack" in pdrm("replay", folders[0]).out


def test_a_domain_of_ones_own_needs_only_the_runs_folder_and_may_be_called_as_water_is(
    pdrm, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    own, machine = Path("water-tank.txt"), Path("key.pdrm")
    own.write_text(MAP)
    command = ("train", own, "--machine", machine, "--json")
    machine.write_text(KEY.replace(": key", ": kay"))
    deep = (*command, "--agent", "ppo", "--steps", 256, *SMALL)
    assert f"  --> {machine}:7:" in pdrm(*deep).err
    machine.write_text(
        KEY.replace("events key", "events key exit") + "u -> done : {exit}, # / #, 2\n"
    )
    assert pdrm(*command, "--episodes", 5, "--set", "test_every=5").code == 0
    outcome = pdrm(*deep)
    assert outcome.code == 0
    assert (
        "warning[W0609]: machine `key` reads event `exit`, which `water-tank` never emits\n"
        in outcome.err
    )
    folder = json.loads(outcome.out)[0]["folder"]
    own.unlink()
    record = json.loads(pdrm("evaluate", folder, "--episodes", 3, "--json").out)
    assert (record["domain"], record["episodes"]) == ("water-tank", 3)
    assert pdrm("film", folder, "-o", tmp_path / "tank.png").code == 0


def test_water_is_filmed_though_nothing_of_the_machine_is_seen(pdrm, tmp_path, monkeypatch):
    runs, film = tmp_path / "runs", tmp_path / "water.png"
    assert (
        pdrm(
            "train",
            "water-17",
            "--steps",
            256,
            *SMALL,
            "--set",
            "n_epochs=1",
            "--k",
            "none",
            "-o",
            runs,
        ).code
        == 0
    )
    (folder,) = runs.iterdir()
    monkeypatch.setattr(
        "pdrm.task.water_world", lambda name: replace(water_world(name), step_limit=300)
    )  # not 10,000
    outcome = pdrm("film", folder, "-o", film, "--every", 20_000)
    assert outcome.code == 0
    assert "300 steps, return" in outcome.out
    assert film.read_bytes().startswith(b"\x89PNG")
    assert "neither a .gif nor a .png" in pdrm("film", folder, "-o", tmp_path / "water.mov").err
    assert "there is no folder" in pdrm("film", tmp_path / "nowhere").err
    assert "fix: --seed 0\n" in pdrm("film", folder, "--seed", -1).err


WRONG = [
    (("echo", "--agent", "ppo", "--episodes", 5), "agent `ppo` does not use --episodes"),
    (("echo", "--agent", "ppo", "--log", "tensorbord"), "did you mean `tensorboard`?"),
    (("letter", "--steps", 5), "agent `q` does not use --steps"),
    (("letter", "--set", "n_envs=5"), "agent `q` has no setting `n_envs`"),
    (("water-17", "--agent", "q"), "learns a table"),
    (("water-18",), "no domain `water-18`, and no such file\n  fix: did you mean `water-17`?"),
    (("echo", "--agent", "ppo", "--set", "n_env=3"), "did you mean `n_envs`?"),
    (("echo", "--agent", "ppo", "--set", "n_envs"), "--set n_envs=VALUE"),
    (("echo", "--agent", "ppo", "--set", "n_envs=many"), "`many` is not a value for `n_envs`"),
    (("echo", "--agent", "ppo", "--set", "n_envs=2.5"), "n_envs is 2.5, but must be an integer"),
    (
        ("echo", "--agent", "ppo", "--set", "learning_rate=nan"),
        "learning_rate is nan, but must be a number above 0",
    ),
    (("echo", "--agent", "ppo", "--set", "depth=0"), "depth is 0"),
    (("echo", "--agent", "sac"), "chooses continuous actions, and those of `echo` are numbered"),
    (("echo", "--agent", "ppo", "--k", "-1"), "k is `-1`"),
    (("nowhere", "--agent", "ppo"), "nowhere"),
]


def test_wrong_turns(pdrm, tmp_path):
    for words, said in WRONG:
        outcome = pdrm("train", *words, "-o", tmp_path / "runs")
        assert outcome.code == 2, words
        assert said in outcome.err, words
        assert not (tmp_path / "runs").exists(), words


def test_whole_numbers_may_have_an_exponent():
    assert parse_setting(PPO, "n_steps=1.6e1") == ("n_steps", 16)


def check_python(folder):
    """What is said of the same run in Python, which finds it done; and of what users of other libraries ask its policy."""
    run = Run.load(folder)
    with pytest.warns(
        NeverSucceeded,
        match=r"seed 0\)\n  fix: train longer \(total_timesteps=",
    ):
        again = train(run.spec.task, run.spec.agent, folder=folder.parent)
    assert again.folder == folder
    assert "success 0%" in repr(run)
    assert "train longer" in run._repr_html_()
    policy = run.policy
    with pytest.raises(
        WrongPolicy, match=r"shape \(3,\), but this policy sees vectors of \d+ numbers"
    ):
        policy.act([1, 2, 3])
    with pytest.raises(WrongPolicy, match="is not an observation"):
        policy.act({"observation": 3})
    with pytest.raises(NotHere, match="have no `predict`"):
        policy.predict([1, 2, 3])
    assert not hasattr(policy, "predict")


def test_what_needs_a_finite_domain_says_so(pdrm):
    for command in ("check-k", "sizes"):
        outcome = pdrm(command, "water-17")
        assert outcome.code == 2, command
        assert "`water-17` is continuous" in outcome.err, command
