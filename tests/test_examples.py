"""Every example runs as a user would run it, and says something."""

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
"""What is given to examples that take minutes."""
SHORTER = {"three_agents.py": ("16_384", "2_048"), "double_q.py": ("20_000", "600")}
"""Numbers of steps that take long; tests/experiments/test_studies_page.py trains the same PPO to the end."""


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
        printed = capsys.readouterr()
        assert (bool(printed.out.strip()), printed.err) == (True, ""), path.name


def test_a_record_of_counterfactual_dqn_is_gone_on_with(tmp_path, monkeypatch, capsys):
    (path,) = (path for path in EXAMPLES if path.name == "counterfactual_dqn.py")
    file = tmp_path / "new" / "counterfactual-dqn.json"
    records = []
    for seeds in ("1", "2"):
        given = ["--steps", "1000", "--seeds", seeds, "--output", str(file.parent)]
        monkeypatch.setattr(sys, "argv", [str(path), *given])
        runpy.run_path(str(path), run_name="__main__")
        records.append(json.loads(file.read_text()))
    first, both = (record["lines"]["DQN"]["runs"] for record in records)
    assert both[:1] == first, "with the seconds that it took: it was not run again"
    assert [run["seed"] for run in both] == [0, 1]
    assert (file.parent / "images" / "counterfactual-dqn.svg").exists()
    assert "2 seeds" in capsys.readouterr().out
