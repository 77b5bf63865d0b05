"""What is said about the time that is left: nothing before something is known, then what the runs done so far took."""

import time

import pytest
from pdrm.cli.display import Watched
from pdrm.experiments.run_study import store_in

from pdrm.experiments.execution import planned
from pdrm.experiments.store import perform
from tests.experiments.small import small_study


@pytest.fixture
def runs():
    return planned([small_study()])


def test_nothing_is_said_before_a_run_is_done(runs, tmp_path):
    watched = Watched(runs, store_in(tmp_path), 1)
    assert watched.seconds_left() is None
    assert "left" not in watched.words()


def test_what_is_left_goes_by_what_is_done(runs, tmp_path, monkeypatch):
    store = store_in(tmp_path)
    watched = Watched(runs, store, 1)
    perform(runs[0].spec, store.folder(runs[0].spec))
    watched.look()
    monkeypatch.setattr(time, "time", lambda: watched.began + 100)
    assert watched.seconds_left() == pytest.approx(500)  # one of six runs of as many episodes each took a hundred
    assert "about 8 min left" in watched.words()
    store.folder(runs[1].spec).mkdir()
    watched.look()
    assert watched.seconds_left() == pytest.approx(300)  # one and a half of six


def test_the_lines_own_guesses_count_before(runs, tmp_path):
    guessed = [run._replace(seconds=30.0) for run in runs]
    assert Watched(guessed, store_in(tmp_path), 2).seconds_left() == pytest.approx(90)
