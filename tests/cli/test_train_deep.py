"""`pdrm train` with deep agents, `pdrm evaluate` and `pdrm film` of what they leave, and wrong turns on the way."""

import csv
import json

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

SMALL = [word for one in ("n_envs=16", "n_steps=16", "batch_size=64", "net_arch=16") for word in ("--set", one)]
MAP = "place k key\nstep_limit 20\n#####\n#@.k#\n#####\n"
KEY = "name key\nevents key\nstack # A\nstart u\nfinal done\notherwise stay 0\nu -> done : key, # / #, 1\n"


def test_train_evaluate_and_again(pdrm, tmp_path):
    runs = tmp_path / "runs"
    command = (
        "train",
        "echo",
        "--agent",
        "ppo",
        "--steps",
        512,
        "--seeds",
        2,
        *SMALL,
        "--log",
        "tensorboard",
        "-o",
        runs,
    )
    outcome = pdrm(*command)
    assert outcome.code == 0
    assert "512 of 512 steps" in outcome.err
    (folder,) = runs.iterdir()
    assert {path.name for path in folder.iterdir()} >= {
        "spec.json",
        "curve.csv",
        "policy-seed0.npz",
        "policy-seed1.npz",
    }
    log = EventAccumulator(str(folder))
    log.Reload()
    returns = [float(make_ndarray(event.tensor_proto)) for event in log.Tensors("test/return_seed1")]
    rows = [row for row in csv.DictReader((folder / "curve.csv").read_text().splitlines()) if row["seed"] == "1"]
    first = [float(row["return"]) for row in rows if row["timesteps"] == rows[0]["timesteps"]]
    assert returns[0] == pytest.approx(sum(first) / len(first), abs=1e-6)
    again = pdrm(*command, "--json")
    assert json.loads(again.out)["folder"] == str(folder)
    assert "steps" not in again.err
    tried = pdrm("evaluate", folder, "--episodes", 4, "--json")
    records = json.loads(tried.out)
    assert [record["seed"] for record in records] == [0, 1]
    assert all(sum(record["ends"].values()) == 4 for record in records)
    assert "policy of seed 1" in pdrm("evaluate", folder, "--episodes", 2).out
    assert "films are of WaterWorld" in pdrm("film", folder).err
    assert f"pdrm evaluate {folder}" in pdrm("replay", folder).err


def test_a_domain_of_ones_own_needs_only_the_runs_folder(pdrm, tmp_path):
    own, machine, runs = tmp_path / "room.txt", tmp_path / "key.pdrm", tmp_path / "runs"
    own.write_text(MAP)
    machine.write_text(KEY)
    assert pdrm("train", own, "--machine", machine, "--agent", "ppo", "--steps", 256, *SMALL, "-o", runs).code == 0
    (folder,) = runs.iterdir()
    own.unlink()
    assert json.loads(pdrm("evaluate", folder, "--episodes", 3, "--json").out)[0]["episodes"] == 3


def test_water_is_filmed(pdrm, tmp_path):
    runs, film = tmp_path / "runs", tmp_path / "water.png"
    assert pdrm("train", "water-17", "--steps", 256, *SMALL, "--set", "n_epochs=1", "-o", runs).code == 0
    (folder,) = runs.iterdir()
    outcome = pdrm("film", folder, "-o", film, "--every", 2000)
    assert outcome.code == 0
    assert "steps, return" in outcome.out
    assert film.read_bytes().startswith(b"\x89PNG")
    assert "neither a .gif nor a .png" in pdrm("film", folder, "-o", tmp_path / "water.mov").err
    assert "there is no folder" in pdrm("film", tmp_path / "nowhere").err
    assert "seed 7 was not trained" in pdrm("film", folder, "--policy", 7).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("echo", "--agent", "ppo", "--episodes", 5), "--episodes says nothing to agent `ppo`"),
        (("echo", "--agent", "ppo", "--log", "tensorbord"), "did you mean `tensorboard`?"),
        (("letter", "--steps", 5), "--steps says nothing to agent `q`"),
        (("letter", "--set", "n_envs=5"), "--set says nothing to agent `q`"),
        (("water-17", "--agent", "q"), "learns a table"),
        (("water-18",), "no WaterWorld `water-18`"),
        (("echo", "--agent", "ppo", "--discount", 0.9), "fix: --set gamma"),
        (("echo", "--agent", "ppo", "--set", "n_env=3"), "did you mean `n_envs`?"),
        (("echo", "--agent", "ppo", "--set", "n_envs"), "--set n_envs=VALUE"),
        (("echo", "--agent", "ppo", "--set", "n_envs=many"), "`many` is no value for `n_envs`"),
        (("echo", "--agent", "sac"), "cannot choose the actions of `echo`"),
        (("echo", "--agent", "ppo", "--k", "-1"), "k is `-1`"),
        (("nowhere", "--agent", "ppo"), "nowhere"),
    ],
)
def test_wrong_turns(pdrm, tmp_path, words, said):
    outcome = pdrm("train", *words, "-o", tmp_path / "runs")
    assert outcome.code == 2
    assert said in outcome.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["check-k", "sizes"])
def test_what_needs_a_finite_domain_says_so(pdrm, command):
    outcome = pdrm(command, "water-17")
    assert outcome.code == 2
    assert "`water-17` is continuous" in outcome.err


def test_domains_name_water(pdrm):
    assert "water-20" in pdrm("domains").out
    listed = {one["name"]: one for one in json.loads(pdrm("domains", "--json").out)}
    assert listed["water-17"]["states"] is None
