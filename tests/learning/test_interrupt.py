"""The first Ctrl-C is acknowledged at once and acts at the next safe point.

A second one acts at once.
"""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import pdrm
from pdrm.learning.run_loop import defer_interrupt


def test_the_first_is_said_and_waits_and_the_second_acts(capfd):
    with defer_interrupt() as raise_if_asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert (
            capfd.readouterr().err
            == "\nstopping after the next evaluation (Ctrl-C again: at once) ...\n"
        )
        with pytest.raises(KeyboardInterrupt):
            raise_if_asked()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert not capfd.readouterr().err


def test_a_script_without_a_folder_leaves_what_was_learnt(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import pdrm\ndef stop(_):\n    raise KeyboardInterrupt\n"
        'pdrm.train("letter", "q", k=1, episodes=300, test_every=100, watch=stop)\n'
    )
    ended = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    run = pdrm.Run.load(re.search(r"saved in (.*?);", ended.stderr)[1])
    assert run.curve.at.tolist() == [100]
    shutil.rmtree(run.folder.parent)
    with pytest.raises(pdrm.PdrmError):
        _ = run.curve
