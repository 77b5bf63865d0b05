"""Every example runs as a user would run it, and says something."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
SECONDS = 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path):
    command = [sys.executable, "-W", "error", str(path)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip()


def test_there_are_examples():
    assert EXAMPLES
