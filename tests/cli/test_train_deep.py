"""`pdrm train`, `pdrm evaluate` and `pdrm film` with deep agents, and errors."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

from pdrm.domains.water import water_world
from pdrm.learning.run import Run

DEEP_PAGE = Path(__file__).parents[2] / "docs" / "deep.md"
SMALL = [
    word
    for one in ("n_envs=16", "n_steps=16", "batch_size=64", "net_arch=16")
    for word in ("--set", one)
]
MAP = "place k key\nstep_limit 20\n#####\n#@.k#\n#####\n"
KEY = "name key\nevents key\nstack # A\nstart u\nfinal done\notherwise stay 0\nu -> done : key, # / #, 1\n"


def test_train_evaluate_and_again(pdrm, tmp_path):
    """The documented command, with fewer steps and two seeds."""
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
    assert f"wrote {film}: " in pdrm("film", folders[0], "-o", film).out
    assert film.read_bytes().startswith(b"GIF")
    assert "stack" in pdrm("replay", folders[0]).out


def test_your_own_domain_needs_only_the_run_folder_and_can_have_the_name_of_another(
    pdrm, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    own, machine = Path("water-tank.txt"), Path("key.pdrm")
    own.write_text(MAP)
    command = ("train", own, "--machine", machine, "--json")
    machine.write_text(KEY.replace(": key", ": kay"))
    deep = (*command, "--agent", "ppo", "--steps", 256, *SMALL)
    (error,) = json.loads(pdrm(*deep).out)["errors"]
    assert (error["file"], error["line"]) == (str(machine), 7)
    machine.write_text(
        KEY.replace("events key", "events key exit") + "u -> done : {exit}, # / #, 2\n"
    )
    assert pdrm(*command, "--episodes", 5, "--set", "test_every=5").code == 0
    outcome = pdrm(*deep)
    assert outcome.code == 0
    assert "warning[W0609]" in outcome.err
    folder = json.loads(outcome.out)[0]["folder"]
    own.unlink()
    record = json.loads(pdrm("evaluate", folder, "--episodes", 3, "--json").out)
    assert (record["domain"], record["episodes"]) == ("water-tank", 3)
    assert pdrm("film", folder, "-o", tmp_path / "tank.png").code == 0


def test_water_is_filmed_although_the_agent_does_not_see_the_machine(pdrm, tmp_path, monkeypatch):
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
    for words in (
        (folder, "-o", tmp_path / "water.mov"),
        (tmp_path / "nowhere",),
    ):
        refused = pdrm("film", *words)
        assert (refused.code, refused.err[:7]) == (2, "error[E")


WRONG = [
    ("echo --agent ppo --episodes 5", "E0807"),
    ("echo --agent ppo --log tensorbord", "E0801"),
    ("letter --steps 5", "E0807"),
    ("letter --set n_envs=5", "E0807"),
    ("water-17 --agent q", "E0810"),
    ("water-18", "E0701"),
    ("echo --agent ppo --set n_env=3", "E0807"),
    ("echo --agent ppo --set n_envs", "E0801"),
    ("echo --agent ppo --set n_envs=2.5", "E0801"),
    ("echo --agent ppo --set learning_rate=nan", "E0801"),
    ("echo --agent ppo --set depth=0", "E0801"),
    ("echo --agent sac", "E0810"),
    ("echo --agent ppo --k -1", "E0801"),
]


@pytest.mark.parametrize(("words", "code"), WRONG)
def test_errors_of_the_user(words, code, pdrm, tmp_path):
    outcome = pdrm("train", *words.split(), "-o", tmp_path / "runs")
    assert (outcome.code, outcome.err[:12]) == (2, f"error[{code}]")
    assert not (tmp_path / "runs").exists()


def test_commands_for_finite_domains_refuse_others(pdrm):
    for command in ("check-k", "sizes"):
        outcome = pdrm(command, "water-17")
        assert outcome.code == 2, command
        assert "`water-17` is continuous" in outcome.err, command
