"""*Start here*: every command of the page runs, in an empty folder and an environment of its own, and says what it should."""

import os
import re
import sysconfig

import pytest

from pages.trial import PAGE, sections, tried, with_timings

TEXT = PAGE.read_text()


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """What the page's commands print. The package is built and installed from here; what it needs is taken from the
    environment of the tests, not fetched again."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment |= {"NO_COLOR": "1", "PYTHONPATH": sysconfig.get_path("purelib")}
    # pip reads PIP_NO_BUILD_ISOLATION as whether to isolate.
    environment |= {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_QUIET": "1"}
    return tried(sections(TEXT), tmp_path_factory.mktemp("empty"), environment)


def test_the_sections_are_those_that_are_timed(trial):
    seconds, _ = trial
    titles = [part.title for part in sections(TEXT)]
    assert len(seconds) == len(titles)
    assert re.findall(r"^\| (\d\. .+?) \| [\d.]+ s \|$", TEXT, re.MULTILINE) == titles
    assert sum(seconds) < 600


def test_it_says_what_a_new_user_should_see(trial):
    _, said = trial
    assert "core: ok" in said
    assert "retrace: ok" in said
    assert "ended in home, # (final); reward 14" in said
    assert re.search(r"100 episodes of garden: .*\n  ended in home: \d+", said)
    assert re.search(r"its top, counterfactual\s+.*success 100% of 3 seeds", said)
    assert "100 episodes of van: mean return 9" in said
    assert "from the start: k = 1 is enough" in said


def test_the_timings_can_be_written_anew():
    parts = sections(TEXT)
    again = with_timings(TEXT, parts, [1.0] * len(parts))
    assert f"| all | {len(parts)} s |" in again
    assert sections(again) == parts
