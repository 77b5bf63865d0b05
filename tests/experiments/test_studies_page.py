"""The studies of the documentation run, with the documented results."""

import json
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()


STUDIES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_study_of_the_page_runs(pdrm, tmp_path):
    (tmp_path / "views.toml").write_text(STUDIES[0])
    outcome = pdrm("run", tmp_path / "views.toml", "--workers", 1, "-o", tmp_path / "out", "--json")
    rows = json.loads(outcome.out)
    assert [(row["line"], row["seeds"]) for row in rows] == [("1-pdRM", 3), ("1-CpRM", 3)]
    assert rows[1]["success"] == 1.0
    for name in re.findall(r"^\| `([a-z.]+)` \|", PAGE, re.MULTILINE):
        assert (tmp_path / "out" / name).exists()
    run = next((tmp_path / "out" / "runs").iterdir())
    for name in ("spec.json", "curve.csv", "policy.npz", "result.json", "timing.json"):
        assert f"`{name}`" in PAGE
        assert (run / name).exists()


DQN = """agent = "dqn"
k     = 1

[panels.agents.settings]
total_timesteps        = 16384
"""


def test_tables_and_networks_in_one_study(pdrm, tmp_path):
    """The second study of the page and its script, with a shorter DQN run (other tests show that it learns)."""
    assert DQN in STUDIES[1]
    (tmp_path / "agents.toml").write_text(STUDIES[1].replace(DQN, DQN.replace("16384", "2048")))
    outcome = pdrm(
        "run",
        tmp_path / "agents.toml",
        "--seeds",
        1,
        "--workers",
        1,
        "-o",
        tmp_path / "out",
        "--json",
    )
    rows = {row["line"]: row for row in json.loads(outcome.out)}
    assert {name: row["seeds"] for name, row in rows.items()} == {
        "Q-learning": 1,
        "PPO": 1,
        "DQN": 1,
    }
    assert rows["Q-learning"]["success"] > 0.8
    assert rows["PPO"]["success"] > 0.8
    assert "PPO" in (tmp_path / "out" / "index.html").read_text()
    script = (Path(__file__).parents[2] / "examples" / "three_agents.py").read_text()
    assert all(
        f"pdrm.{name}(" in script for name in ("QLearning", "CpRM", "PPO", "DQN", "Task", "train")
    )
