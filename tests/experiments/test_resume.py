"""A short version of the resume property; `make prove` kills hundreds of times, and fills disks."""

from tests.properties import resume, small_study

STUDY = """\
name = "small"
seeds = 2
settings = { test_every = 20, test_episodes = 4, episodes = 6000 }
[[panels]]
domain = "maze-10x10"
agents = [{ name = "1-CpRM", agent = "cprm", k = 1 }]
"""


def test_killed_runs_resume_to_the_same_bytes(monkeypatch):
    monkeypatch.setattr(resume, "MAX_WAIT", 3.0)
    monkeypatch.setattr(small_study, "STUDY_TEXT", STUDY)
    small_study.undisturbed.cache_clear()
    counts = resume.check(seed=1, kills=1)
    small_study.undisturbed.cache_clear()
    assert counts["parents killed"] + counts["workers killed"] == counts["cases"] == 1
