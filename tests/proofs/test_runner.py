"""The tests of the proof runner, `runner_cases.py`, in a process of their own: they start, kill and replace processes."""

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("runner_cases.py")


def test_the_runner():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        str(CASES),
    ]
    ended = subprocess.run(
        command,
        cwd=CASES.parents[2],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout[-6_000:] + ended.stderr[-2_000:]
    assert " passed" in ended.stdout or "[100%]" in ended.stdout
