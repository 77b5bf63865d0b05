"""The runner: what holds, what is wrong, what dies, what is interrupted; what it records, says and returns."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from proofs.__main__ import main
from proofs.lane import Lane
from proofs.pool import outcomes
from proofs.record import load
from proofs.shares import Shares
from proofs.source import Sources
from tests.proofs.checks import proof

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path, capsys):
    def run(proofs, *words):
        code = main(["--workers=1", *words], proofs, tmp_path / "kept", tmp_path / "promises.md")
        return code, capsys.readouterr().out

    return run


def recorded(one, tmp_path):
    return load(one, Sources().digest(one), tmp_path / "kept")


def test_proofs_run_to_their_target_and_go_on_from_there(run, tmp_path):
    proofs = [proof("holds"), proof("slow", target=20)]
    code, said = run(proofs, "--budget=20s")
    assert code == 0
    assert re.search(r"holds   holds +50 tries, 0 wrong", said)
    assert recorded(proofs[0], tmp_path).done == [0, 1, 2, 3, 4]
    assert "wrote" in said
    larger = [proof("holds", target=70), proof("slow", target=20)]
    code, said = run(larger, "--budget=20s")
    assert "70 cases of earlier sessions count" in said
    assert recorded(larger[0], tmp_path).done == [0, 1, 2, 3, 4, 5, 6]
    assert len(recorded(larger[0], tmp_path).sessions) == 2
    assert "| 70 tries | 0 |" in (tmp_path / "promises.md").read_text()
    _, said = run(larger, "--fresh", "--budget=20s")
    assert "0 cases of earlier sessions count" in said


def test_a_wrong_proof_is_reported_with_its_seed_and_how_to_repeat_it(run, tmp_path):
    proofs = [proof("holds"), proof("wrong")]
    code, said = run(proofs, "--budget=20s")
    assert code == 1
    assert "wrong   wrong, seed 1:\ntwice 1 is not 1\n" in said
    command = ".venv/bin/python -m proofs wrong --seed 1"
    assert f"to see it again: {command}" in said
    assert f"wrong: to see it again, {command}" in said
    assert "holds   holds" in said
    page = (tmp_path / "promises.md").read_text()
    assert f"**1**: `{command}`" in page
    assert "1 wrong**" in page
    code, said = run(proofs, "--budget=20s")
    assert code == 1, "it is still wrong the next time"
    code, said = run(proofs, "wrong", "--seed=1")
    assert (code, said) == (1, "wrong, seed 1: wrong\ntwice 1 is not 1\n")
    assert run(proofs, "wrong", "--seed=2") == (0, "wrong, seed 2: 10 tries, 0 wrong\n")


def test_what_is_always_wrong_is_given_up_soon(run, tmp_path):
    code, said = run([proof("always-wrong")], "--budget=20s")
    assert code == 1
    assert "ZeroDivisionError: seed 0" in said
    assert sorted(recorded(proof("always-wrong"), tmp_path).wrong) == ["0", "1", "2"]
    assert "3 wrong (stopped)" in said


def test_a_check_that_kills_its_process_is_wrong(run, tmp_path):
    code, said = run([proof("dies")], "--budget=20s")
    assert code == 1
    last_words = "its process ended with 3, twice:\nsomething is rotten"
    assert recorded(proof("dies"), tmp_path).wrong["0"] == last_words
    assert said.count(last_words) == 3, "once a seed, and nowhere else"


def test_a_process_that_dies_once_is_forgiven(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PDRM_TEST_MARK", str(tmp_path / "mark"))
    code, _ = run([proof("dies-once")], "--budget=20s")
    assert code == 0
    assert (tmp_path / "mark").exists()
    assert recorded(proof("dies-once"), tmp_path).done == [0, 1, 2, 3, 4]


def test_a_check_that_never_ends_is_wrong(monkeypatch):
    monkeypatch.setattr("proofs.lane.LONGEST", 0.0)
    monkeypatch.setattr("proofs.shares.MOST_WRONG", 1)
    one = proof("slow")
    shares = Shares({"slow": one}, {"slow": load(one, "none", Path("nowhere"))})
    outcome = next(outcomes(shares, 1, time.monotonic() + 5, {}))
    assert "it had not ended after" in outcome.message


def test_names_choose_and_then_no_page_is_written(run, tmp_path):
    code, said = run([proof("holds"), proof("slow")], "holds", "--budget=20s")
    assert code == 0
    assert "slow" not in said
    assert not (tmp_path / "promises.md").exists()
    assert run([proof("holds")], "--page") == (0, f"wrote {os.path.relpath(tmp_path / 'promises.md')}\n")


def test_a_proof_without_its_package_is_left_out(run):
    code, said = run([proof("holds", oracles=("no-such-package",))], "--budget=20s")
    assert code == 0
    assert "left out holds: no-such-package is not installed" in said


def test_two_sessions_do_not_share_a_folder(run, tmp_path):
    import fcntl

    (tmp_path / "kept").mkdir()
    with (tmp_path / "kept" / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, said = run([proof("holds")], "--budget=20s")
    assert code == 2
    assert "another session is recording" in said
    assert "wait for it to end" in said


INTERRUPTED = """
import sys
from pathlib import Path
from proofs.__main__ import main
from tests.proofs.checks import proof

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.exit(main(["--budget=60s", "--workers=2"], [proof("slow", target=10**6)], folder / "kept", folder / "page.md"))
"""


def test_an_interrupted_session_keeps_what_was_done(tmp_path):
    (tmp_path / "program.py").write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until = time.monotonic() + 60
    while recorded(proof("slow"), tmp_path).cases < 40 and time.monotonic() < until:
        time.sleep(0.1)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    kept = recorded(proof("slow", target=10**6), tmp_path)
    assert kept.cases == 10 * len(kept.done) >= 40
    assert f"{kept.cases:,} of 1,000,000 tries" in (tmp_path / "page.md").read_text()
    assert len(children) >= 2
    assert not [one for one in children if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def test_a_process_that_was_killed_while_it_waited_is_replaced():
    lane = Lane({})
    lane.process.kill()
    lane.process.join()
    lane.give(proof("holds"), 7)
    assert lane.answer()[:3] == ("holds", 7, 10)
    lane.stop()


def test_a_process_that_waits_ends_quietly(capfd):
    lane = Lane({})
    lane.stop()
    assert lane.process.exitcode == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "no proof is called nothing; there are holds"),
        (["--workers=0"], "--workers takes 1 or more"),
        (["--seed=3"], "--seed takes one proof"),
    ],
)
def test_the_runner_refuses_what_it_does_not_know(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words, [proof("holds")])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_list_shows_digests(run):
    code, said = run([proof("holds")], "--list")
    assert code == 0
    assert re.match(r"holds +[0-9a-f]{12}  It holds\.\n", said)
