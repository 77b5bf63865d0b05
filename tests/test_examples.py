"""Every example runs as a user would run it, and says something."""

import runpy
import sys
from pathlib import Path

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


SMALLER = {"counterfactual_dqn.py": ["--steps", "600"], "minigrid_sb3.py": ["--steps", "600"]}
"""What is given to examples that take minutes."""
SHORTER = {"three_agents.py": ("16_384", "2_048")}
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
