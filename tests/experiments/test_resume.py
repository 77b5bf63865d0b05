"""A small dose of the proof that runs survive anything; `make prove` kills hundreds of times."""

import subprocess

import pytest

from proofs import resume


def own_mounts():
    """Whether a process here may mount things for itself."""
    try:
        asked = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_killed_runs_go_on_to_the_same_bytes(monkeypatch):
    monkeypatch.setattr(resume, "LONGEST_WAIT", 3.0)
    counts = resume.check(seed=1, kills=2)
    assert counts["parents killed"] + counts["workers killed"] == counts["cases"] == 2


@pytest.mark.skipif(not own_mounts(), reason="no mounts of one's own here")
def test_a_full_disk_is_told_and_survived():
    assert resume.check(seed=9) == {"cases": 1, "full disks": 1}
