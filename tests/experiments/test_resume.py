"""A small dose of the proof that runs survive anything; `make prove` kills hundreds of times, and fills disks."""

from proofs import resume


def test_killed_runs_go_on_to_the_same_bytes(monkeypatch):
    monkeypatch.setattr(resume, "LONGEST_WAIT", 3.0)
    counts = resume.check(seed=1, kills=1)
    assert counts["parents killed"] + counts["workers killed"] == counts["cases"] == 1
