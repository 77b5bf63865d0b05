"""Ctrl-C where nothing can be raised, in a callback of the compiler say, comes again."""

import sys
import time

import pytest

from pdrm.cli.main import interrupt_again


class Callback:
    """What is raised when it goes is printed and forgotten."""

    def __init__(self, fault):
        self.fault = fault

    def __del__(self):
        raise self.fault


def wait_after(_fault):
    time.sleep(5)


def test_an_interrupt_that_cannot_be_raised_comes_again(monkeypatch, capsys):
    monkeypatch.setattr(sys, "unraisablehook", interrupt_again)
    with pytest.raises(KeyboardInterrupt):
        wait_after(Callback(KeyboardInterrupt()).fault)
    assert "Traceback" not in capsys.readouterr().err
    Callback(ValueError("something else"))
    assert "something else" in capsys.readouterr().err


def test_a_command_that_is_stopped_says_so(pdrm, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdrm.analysis.solving.find_solution", stop)
    outcome = pdrm("solve", "maze-5x5")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "stopped\n")
