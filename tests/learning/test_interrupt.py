"""The first Ctrl-C is said to be heard at once, and acts when it may; a second one acts at once."""

import os
import signal

import pytest

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
