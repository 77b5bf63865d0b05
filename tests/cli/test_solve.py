"""`pdrm solve`: the starts, any stack, JSON, and what is refused."""

import json

from typer.testing import CliRunner

from pdrm.cli.main import app

RUNNER = CliRunner()


def test_the_start_any_stack_and_json():
    shown = RUNNER.invoke(app, ["solve", "maze-5x5"])
    assert shown.exit_code == 0
    assert "91,356.433" in shown.output
    asked = ["solve", "maze-5x5", "--in", "return", "--state", "4", "--stack", "d r #"]
    assert "best: u" in RUNNER.invoke(app, asked).output
    record = json.loads(RUNNER.invoke(app, [*asked, "--json"]).stdout)
    assert record["asked"]["actions"] == ["u"]
    assert record["asked"]["stack"] == ["d", "r", "#"]
    assert record["relative_error"] < 1e-6
    assert record["starts"][0]["state"] == "search"


def test_several_starts_are_listed():
    shown = RUNNER.invoke(app, ["solve", "paint", "--discount", "0.9"]).output
    assert shown.count("best: ask_") == 5
