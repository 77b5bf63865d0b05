"""Training from the command line."""

import json
from pathlib import Path

import pytest

from pdrm.learning.agents import AGENTS

MAPS = Path(__file__).parent / "maps"


@pytest.fixture
def run(pdrm, tmp_path):
    """A short trained run."""
    outcome = pdrm(
        "train", "maze-5x5", "--agent", "cprm", "--episodes", 1000, "-o", tmp_path / "runs"
    )
    assert outcome.code == 0
    assert "seed 0: trained, return" in outcome.out
    return next((tmp_path / "runs").iterdir())


def test_train_evaluate_replay(pdrm, run):
    record = json.loads(pdrm("evaluate", run, "--json", "--episodes", 20).out)
    assert record["ends"] == {"home": 20}
    assert record["mean_return"] == 100005
    assert "ended in home: 100" in pdrm("evaluate", run).out
    shown = pdrm("replay", run).out
    assert shown.count("step ") == 11
    assert "@" in shown
    assert "| d |" in shown


def test_an_evaluation_is_compared_with_the_optimal_value(pdrm, run, tmp_path):
    """With the task's discount, not the agent's. If the value is unknown, with the reason."""
    assert (
        "optimal value: 91356.4, discounted by 0.99" in pdrm("evaluate", run, "--episodes", 5).out
    )
    command = ("--episodes", 20, "-o", tmp_path / "others", "--json")
    near = json.loads(pdrm("train", "maze-5x5", "--set", "discount=0.5", *command).out)[0]["folder"]
    record = json.loads(pdrm("evaluate", near, "--episodes", 1, "--json").out)
    solved = json.loads(pdrm("solve", "maze-5x5", "--json").out)
    assert record["optimal_value"] == pytest.approx(solved["value_from_start"])
    assert record["discount"] == 0.99
    for domain in ("letter", "deliver-4-8"):
        folder = json.loads(pdrm("train", domain, *command).out)[0]["folder"]
        found = json.loads(pdrm("evaluate", folder, "--episodes", 1, "--json").out)
        assert found["optimal_value"] is None
        assert "optimal value: unknown (" in pdrm("evaluate", folder, "--episodes", 1).out


def test_train_with_your_own_machine(pdrm, tmp_path):
    file = tmp_path / "mine.pdrm"
    file.write_text(
        "name mine\nevents u d l r t x\nstart go\nfinal end\notherwise stay 0\ngo -> end : t, 1\n"
    )
    outcome = pdrm(
        "train",
        "maze-5x5",
        "--machine",
        file,
        "--k",
        0,
        "--episodes",
        500,
        "-o",
        tmp_path / "runs",
        "--json",
    )
    assert json.loads(outcome.out)[0]["final_return"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("train lettr", "E0701"),
        ("train letter --agent qq", "E0802"),
        ("train letter --k -1", "E0801"),
        ("train letter --set learning_rate=7", "E0801"),
        ("train letter --set epsilon=nan", "E0801"),
        ("train letter --set epsilon=0.1 --set epsilon_least=0.9", "E0801"),
        ("train letter --seeds 0", "E1101"),
        ("train letter --seeds 1000000000000", "E1101"),
        ("train letter --seeds 2 --seed 1", "E0808"),
        ("train letter --episodes 99999999999999999999", "E0801"),
        ("train letter --k 99999999999", "E0801"),
        ("train nowhere.txt --machine letter", "E0501"),
        (f"train {MAPS}/no-machine.txt", "E0811"),
        (f"train {MAPS}/no-machine.txt --machine letter", "E0202"),
        (f"train {MAPS}/ragged.txt --machine letter", "E0704"),
        ("train letter --set counterfactuals=most", "E0807"),
        ("train letter --agent ppo --episodes 9", "E0807"),
        ("train letter --machine letter-counting.pdrm", "E0501"),
        ("train letter -o /proc/nowhere", "E0502"),
        ("evaluate nothing", "E0805"),
        ("replay nothing", "E0805"),
    ],
)
def test_errors_exit_with_2(arguments, code, pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm(*arguments.split())
    assert (outcome.code, outcome.err[:12]) == (2, f"error[{code}]")
    assert "Traceback" not in outcome.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("domain", "agent"),
    [("deliver-8", "hrm"), ("letter", "cra-q"), ("letter", "cra-cql"), ("maze-5x5", "cra-q")],
)
def test_the_other_agents_train_and_can_be_evaluated(domain, agent, pdrm, tmp_path):
    outcome = pdrm("train", domain, "--agent", agent, "--episodes", 20, "-o", tmp_path, "--json")
    (record,) = json.loads(outcome.out)
    assert record["rows"] > 0
    assert (
        json.loads(pdrm("evaluate", record["folder"], "--episodes", 3, "--json").out)["episodes"]
        == 3
    )
    again = json.loads(
        pdrm("train", domain, "--agent", agent, "--episodes", 20, "-o", tmp_path, "--json").out
    )
    assert again == [record]
    shown = pdrm("replay", record["folder"])
    assert shown.code == 0
    assert ("option " in shown.out, "counters" in shown.out, "stack" in shown.out) == (
        agent == "hrm",
        agent.startswith("cra-"),
        agent == "hrm",
    )


def test_a_domain_of_your_own_is_shown_with_its_states(pdrm, tmp_path):
    """`solve --state` takes their numbers."""
    (file := tmp_path / "rooms.txt").write_text("place k key\nstep_limit 7\n#####\n#@.k#\n#####\n")
    outcome = pdrm("domains", file)
    assert outcome.code == 0
    assert "#####\n#@.k#\n#####\n" in outcome.out
    assert outcome.out.splitlines()[-1].split() == ["2", "row", "1,", "column", "3", "key"]
    assert "next:" not in outcome.err  # there is no machine to name
    record = json.loads(pdrm("domains", file, "--json").out)
    assert record["starts"] == [{"state": 0, "chance": 1.0, "label": None}]
    assert [state["emits"] for state in record["state_list"]] == [[], [], ["key"]]
    assert (record["step_limit"], record["machine"]) == (7, None)
    large = pdrm("domains", "maze-20x20").out
    assert len(large.splitlines()) < 300
    assert "--json lists them all" in large


def test_evaluate_keeps_the_limit_of_the_run(pdrm, tmp_path):
    (record,) = json.loads(
        pdrm(
            "train", "maze-5x5", "--set", "step_limit=5", "--episodes", 50, "-o", tmp_path, "--json"
        ).out
    )
    assert json.loads(pdrm("evaluate", record["folder"], "--json").out)["mean_steps"] <= 5
    assert pdrm("evaluate", record["folder"], "--seed", -1).code == 2
    assert pdrm("replay", record["folder"], "--seed", -1).code == 2


ROOMS = "name     rooms/2\nstep_limit 40\nplace k key\nplace d door\n#####\n#@.k#\n#.#.#\n#d..#\n#####\n"
TASK = "events key door\nstack # K\nstart u\nfinal v\notherwise stay 0\nu -> u : key, # / K #, 1\nu -> v : door, K / eps, 9\n"


@pytest.mark.parametrize("agent", ["q", "cprm", "hrm", "cra-q"])
def test_your_own_domain(agent, pdrm, tmp_path, monkeypatch):
    """A map file and a machine file. Later commands need only the run folder."""
    monkeypatch.chdir(tmp_path)
    Path("rooms.txt").write_text(ROOMS)
    Path("task.pdrm").write_text(TASK)
    command = (
        "train",
        "rooms.txt",
        "--machine",
        "task.pdrm",
        "--agent",
        agent,
        "--episodes",
        400,
        "--json",
    )
    (record,) = json.loads(pdrm(*command).out)
    assert record["final_return"] == 10.0
    assert record["folder"].startswith(f"runs/rooms-2-{agent}-")
    Path("rooms.txt").unlink()
    Path("task.pdrm").unlink()
    found = json.loads(pdrm("evaluate", record["folder"], "--json").out)
    assert (found["domain"], found["mean_return"]) == ("rooms/2", 10.0)
    screens = pdrm("replay", record["folder"]).out.split("\n\n")
    assert "#@.k#" in screens[0]
    assert "#@..#" in screens[-1]


def test_an_unfinished_run_is_reported(pdrm, tmp_path):
    assert pdrm("train", "maze-5x5", "--episodes", 100, "-o", tmp_path).code == 0
    (folder,) = tmp_path.iterdir()
    assert "not finished" not in pdrm("evaluate", folder, "--episodes", 2).err
    (folder / "result.json").unlink()
    (folder / "checkpoint.npz").write_bytes(b"")
    assert "not finished" in pdrm("evaluate", folder, "--episodes", 2).err


def test_agents_and_their_settings_are_listed(pdrm):
    assert [line.split()[0] for line in pdrm("agents").out.splitlines()] == list(AGENTS)
    assert "counterfactuals = " in pdrm("agents", "cprm").out
    assert set(json.loads(pdrm("agents", "--json").out)) == set(AGENTS)
    assert pdrm("agents", "cprn").code == 2


def test_the_report_on_runs_is_written_next_to_them(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pdrm("train", "letter", "--episodes", 100).code == 0
    assert "wrote runs/index.html" in pdrm("report", "runs").out
    assert not Path("report").exists()
