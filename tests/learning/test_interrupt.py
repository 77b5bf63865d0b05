"""The first Ctrl-C is said to be heard at once, and acts when it may; a second one acts at once."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import pdrm
from pdrm.learning.run_loop import DeferredInterrupt


def test_the_first_is_said_and_waits_and_the_second_acts(capfd):
    with DeferredInterrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert capfd.readouterr().err == "\nstopping after the next test ...\n"
        with pytest.raises(KeyboardInterrupt):
            interrupt.raise_if_asked()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert not capfd.readouterr().err


def test_a_script_that_is_stopped_ends_in_its_own_line_and_ours(tmp_path):
    """The lines of the package in between say nothing: what was kept is in the last line."""
    for call, kept in (
        ('pdrm.train("letter", "q", k=1, episodes=300, folder="runs", watch=stop)', "stopped"),
        ("study.run(progress=False)", "1 of 1 runs are done"),
    ):
        script = tmp_path / "script.py"
        script.write_text(
            "import pdrm\nimport pdrm.experiments.execution as execution\n"
            "def stop(*_, **__):\n    raise KeyboardInterrupt\n"
            'study = pdrm.Study("letter", pdrm.QLearning(k=1, episodes=100), seeds=1)\n'
            f"study.run(progress=False)\nexecution.run_all = stop\n{call}\n"
        )
        ended = subprocess.run(
            [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        said = ended.stderr.splitlines()
        assert said[-1].startswith("pdrm.errors.Interrupted: stopped")
        assert kept in said[-1]
        assert call in ended.stderr
        assert ended.stderr.count("  File ") == 1, ended.stderr


def test_a_script_without_a_folder_leaves_what_was_learnt(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import pdrm\ndef stop(_):\n    raise KeyboardInterrupt\n"
        'pdrm.train("letter", "q", k=1, episodes=300, test_every=100, watch=stop)\n'
    )
    ended = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    run = pdrm.Run.load(re.search(r'Run\.load\("(.*?)"\)', ended.stderr)[1])
    assert run.curve.at.tolist() == [100]
    shutil.rmtree(run.folder.parent)
    with pytest.raises(pdrm.PdrmError):
        _ = run.curve
