"""`pdrm solve`: the starts, any stack, JSON, and errors."""

import json

from typer.testing import CliRunner

from pdrm.cli.main import app

RUNNER = CliRunner()


def test_the_start_any_stack_and_json():
    shown = RUNNER.invoke(app, ["solve", "maze-5x5"])
    assert shown.exit_code == 0
    assert "91,356.433" in shown.output
    asked = ["solve", "maze-5x5", "--in", "return", "--state", "4", "--stack", "d r #"]
    shown = RUNNER.invoke(app, asked).output.splitlines()
    assert [line.split()[-1] for line in shown if line.startswith("4 (")] == ["u"]
    record = json.loads(RUNNER.invoke(app, [*asked, "--json"]).stdout)
    assert record["asked"]["actions"] == ["u"]
    assert record["asked"]["stack"] == ["d", "r", "#"]
    assert record["relative_error"] < 1e-6
    assert record["starts"][0]["state"] == "search"


def test_a_stopped_command_prints_it(pdrm, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdrm.analysis.solving.find_solution", stop)
    outcome = pdrm("solve", "maze-5x5")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "stopped\n")


def test_states_by_name():
    asked = ["solve", "maze-5x5", "--in", "return", "--state", "4", "--stack", "d r #", "--json"]
    found = json.loads(RUNNER.invoke(app, asked).stdout)["asked"]
    asked[5] = found["where"]
    assert json.loads(RUNNER.invoke(app, asked).stdout)["asked"] == found
    error = RUNNER.invoke(
        app, ["solve", "maze-5x5", "--state", found["where"].replace(",", "")]
    ).exception
    assert (error.code, found["where"] in error.fix) == ("E0404", True)


def test_errors_have_fixes():
    error = RUNNER.invoke(app, ["solve", "letter", "--discount", "0.5"]).exception
    assert error.code == "E1005"
    error = RUNNER.invoke(app, ["solve", "maze-20x20", "--seconds", "0.001"]).exception
    assert error.code == "E1006"


def test_several_starts_are_listed():
    shown = RUNNER.invoke(app, ["solve", "paint", "--discount", "0.9"]).output
    assert shown.count("  ask_") == 5
