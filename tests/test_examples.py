"""Every example runs as a user would run it, and says something."""

import runpy
import sys
from pathlib import Path

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


SMALLER = {"counterfactual_dqn.py": ["--steps", "600"]}
"""What is given to examples that take minutes."""


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    assert EXAMPLES
    monkeypatch.chdir(tmp_path)
    for path in EXAMPLES:
        monkeypatch.setattr(sys, "argv", [str(path), *SMALLER.get(path.name, [])])
        runpy.run_path(str(path), run_name="__main__")
        printed = capsys.readouterr()
        assert (bool(printed.out.strip()), printed.err) == (True, ""), path.name
