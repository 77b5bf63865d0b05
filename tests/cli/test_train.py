"""Training from the command line."""

import json

import pytest


@pytest.fixture
def run(pdrm, tmp_path):
    """A short trained run."""
    outcome = pdrm("train", "maze-5x5", "--agent", "cprm", "--episodes", 1000, "-o", tmp_path / "runs")
    assert outcome.code == 0
    assert "final test return" in outcome.out
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


def test_train_with_a_machine_of_ones_own(pdrm, tmp_path):
    file = tmp_path / "mine.pdrm"
    file.write_text("name mine\nevents u d l r t x\nstart go\nfinal end\notherwise stay 0\ngo -> end : t, 1\n")
    outcome = pdrm(
        "train", "maze-5x5", "--machine", file, "--k", 0, "--episodes", 500, "-o", tmp_path / "runs", "--json"
    )
    assert json.loads(outcome.out)[0]["final_return"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("train", "lettr"), "E0701"),
        (("train", "letter", "--agent", "qq"), "E0802"),
        (("train", "letter", "--k", "-1"), "E0801"),
        (("train", "letter", "--learning-rate", "7"), "E0801"),
        (("train", "letter", "--epsilon", "nan"), "E0801"),
        (("train", "letter", "--seeds", "0"), "E0801"),
        (("train", "letter", "--counterfactuals", "most"), "E0801"),
        (("train", "letter", "--machine", "letter-counting.pdrm"), "E0501"),
        (("train", "letter", "-o", "/proc/nowhere"), "E0502"),
        (("evaluate", "nothing"), "E0805"),
        (("replay", "nothing"), "E0805"),
    ],
)
def test_bad_input_gets_exit_code_2(arguments, code, pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm(*arguments)
    assert (outcome.code, outcome.err[:12]) == (2, f"error[{code}]")
    assert "Traceback" not in outcome.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("domain", "agent"), [("deliver-8", "hrm"), ("letter", "cra-q"), ("letter", "cra-cql"), ("maze-5x5", "cra-q")]
)
def test_the_other_agents_train_and_can_be_evaluated(domain, agent, pdrm, tmp_path):
    outcome = pdrm("train", domain, "--agent", agent, "--episodes", 20, "-o", tmp_path, "--json")
    (record,) = json.loads(outcome.out)
    assert record["rows"] > 0
    assert json.loads(pdrm("evaluate", record["folder"], "--episodes", 3, "--json").out)["episodes"] == 3
    again = json.loads(pdrm("train", domain, "--agent", agent, "--episodes", 20, "-o", tmp_path, "--json").out)
    assert again == [record]
    assert pdrm("replay", record["folder"]).code == 2


def test_domains_are_listed(pdrm):
    listed = json.loads(pdrm("domains", "--json").out)
    assert [row["name"] for row in listed][:2] == ["letter", "maze-5x5"]
    assert "maze-20x20" in pdrm("domains").out


def test_what_would_be_another_agent_is_refused(pdrm, tmp_path):
    for agent, choice in (("q", "exhaustive"), ("cprm", "none"), ("cra-q", "exhaustive")):
        outcome = pdrm("train", "letter", "--agent", agent, "--counterfactuals", choice, "-o", tmp_path)
        assert (outcome.code, outcome.err[:12]) == (2, "error[E0801]")


def test_evaluate_keeps_the_limit_of_the_run(pdrm, tmp_path):
    (record,) = json.loads(pdrm("train", "maze-5x5", "--step-limit", 5, "--episodes", 50, "-o", tmp_path, "--json").out)
    assert json.loads(pdrm("evaluate", record["folder"], "--json").out)["mean_steps"] <= 5
    assert pdrm("evaluate", record["folder"], "--seed", -1).code == 2
    assert pdrm("replay", record["folder"], "--seed", -1).code == 2


def test_a_machine_of_the_catalogue_can_be_named(pdrm, tmp_path):
    assert pdrm("train", "maze-5x5", "--machine", "figure-1", "--episodes", 20, "-o", tmp_path).code == 0
