"""Every example runs as a script and prints something."""

import json
import runpy
import sys
from pathlib import Path

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


SMALLER = {
    "counterfactual_dqn.py": ["--steps", "600", "--output", "new/folder"],
    "minigrid_sb3.py": ["--steps", "600"],
    "own_jax_world.py": ["--steps", "98_304"],
    "shaped_sb3.py": ["--agent", "dqn", "--steps", "600"],
}
"""Arguments for examples that take minutes."""
SHORTER = {"three_agents.py": ("16_384", "2_048"), "double_q.py": ("20_000", "600")}
"""Smaller numbers of steps. tests/experiments/test_studies_page.py trains the same PPO fully."""


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    assert EXAMPLES
    monkeypatch.chdir(tmp_path)
    for path in EXAMPLES:
        monkeypatch.setattr(sys, "argv", [str(path), *SMALLER.get(path.name, [])])
        long, short = SHORTER.get(path.name, ("", ""))
        code = path.read_text()
        assert long in code
        example = tmp_path / path.name
        example.write_text(code.replace(long, short) if long else code)
        runpy.run_path(str(example), run_name="__main__")
        output = capsys.readouterr()
        assert output.out.strip(), path.name
        assert output.err == "", path.name


def test_counterfactual_dqn_continues_its_record(tmp_path, monkeypatch, capsys):
    (path,) = (path for path in EXAMPLES if path.name == "counterfactual_dqn.py")
    file = tmp_path / "new" / "counterfactual-dqn.json"
    records = []
    for seeds in ("1", "2"):
        arguments = ["--steps", "1000", "--seeds", seeds, "--output", str(file.parent)]
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        runpy.run_path(str(path), run_name="__main__")
        records.append(json.loads(file.read_text()))
    first, both = (record["lines"]["DQN"]["runs"] for record in records)
    assert both[:1] == first, "the first run, including its seconds, was not repeated"
    assert [run["seed"] for run in both] == [0, 1]
    assert (file.parent / "images" / "counterfactual-dqn.svg").exists()
    assert "2 seeds" in capsys.readouterr().out
