"""The runner: what holds, what is wrong, what dies, what is interrupted; what it records, says, returns and writes."""

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from proofs.__main__ import PAGE, main, parse_time
from proofs.page import BESIDE, make_page
from proofs.promises import GROUPS, PROOFS, TESTED
from proofs.proof import CheckResult
from proofs.record import Record, load, save
from proofs.session import MOST_WRONG, Progress, choose
from proofs.source import COMPILED, ROOT, Sources
from tests.proofs.checks import proof


@pytest.fixture
def run(tmp_path, capsys):
    def run(proofs, *words):
        code = main(
            ["--workers=1", "--budget=60s", *words],
            proofs,
            tmp_path / "kept",
            tmp_path / "promises.md",
        )
        return code, capsys.readouterr().out

    return run


def recorded(one, folder):
    return load(one, Sources(), folder / "kept")


def test_proofs_run_to_their_target_go_on_from_there_and_leave_a_page(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PDRM_TEST_MARK", str(tmp_path / "mark"))
    proofs = [
        proof("holds"),
        proof("slow", target=20),
        proof("dies-once", target=10),
        proof("left", oracles=("no-such",)),
    ]
    code, said = run(proofs)
    assert code == 0
    assert "left out left: no-such is not installed" in said
    assert re.search(r"holds +holds +50 +0 +", said)
    assert recorded(proofs[0], tmp_path).done == [0, 1, 2, 3, 4]
    assert (tmp_path / "mark").exists(), "a process that dies once is forgiven"
    assert recorded(proofs[2], tmp_path).done == [0]
    larger = [proof("holds", target=70), proof("slow", target=20)]
    code, said = run(larger)
    assert "70 cases of earlier sessions count" in said
    assert recorded(larger[0], tmp_path).done == [0, 1, 2, 3, 4, 5, 6]
    assert "| 70 tries | 0 |" in (tmp_path / "promises.md").read_text()


def test_what_is_wrong_is_reported_with_its_seed_and_how_to_repeat_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr("proofs.session.MOST_WRONG", 1)
    proofs = [
        proof("holds"),
        proof("wrong"),
        proof("always-wrong"),
        proof("dies"),
        proof("slow", longest=0.1),
    ]
    code, said = run(proofs)
    assert code == 1
    command = ".venv/bin/python -m proofs wrong --seed 1"
    assert "wrong   wrong, seed 1:\ntwice 1 is not 1\n" in said
    assert f"wrong: to see it again, {command}" in said
    assert re.search(r"holds +holds +50 +0 +", said)
    assert "ZeroDivisionError: seed 0" in said
    assert re.search(r"always-wrong +wrong, stopped", said)
    assert recorded(proofs[2], tmp_path).done == [0], "what is wrong too often is given up"
    assert (
        recorded(proofs[3], tmp_path).wrong["0"] == "its process died, twice:\nsomething is rotten"
    )
    assert "Timeout" in recorded(proofs[4], tmp_path).wrong["0"], "a check that never ends is wrong"
    assert f"**1**: `{command}`" in (tmp_path / "promises.md").read_text()
    assert run(proofs[:2])[0] == 1, "it is still wrong the next time"
    assert run(proofs, "wrong", "--seed=1") == (1, "wrong, seed 1: wrong\ntwice 1 is not 1\n")
    assert run(proofs, "wrong", "--seed=2") == (0, "wrong, seed 2: 10 tries, 0 wrong\n")


def test_names_choose_and_two_sessions_do_not_share_a_folder(run, tmp_path, capsys):
    code, said = run([proof("holds"), proof("slow")], "--list", "holds")
    assert re.fullmatch(r"holds +[0-9a-f]{12}  It holds\.\n", said)
    (tmp_path / "kept").mkdir()
    with (tmp_path / "kept" / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, said = run([proof("holds")], "holds")
    assert code == 2
    assert "another session is recording" in said
    assert not (tmp_path / "promises.md").exists(), "it is a page about all of them"
    for words in (["nothing"], ["--workers=0"], ["--seed=3"], ["--budget=5"]):
        with pytest.raises(SystemExit, match="2"):
            main(words, [proof("holds")])
    assert "no proof is called nothing; there are holds" in capsys.readouterr().err


def test_times():
    assert [parse_time(text) for text in ("30s", "5m", "8h", "1.5m")] == [30, 300, 28800, 90]
    for text in ("", "5", "m", "5 m", "0m", "-5m", "5d", "1e3s", "nan", "infs", "５m ", "five"):
        with pytest.raises(argparse.ArgumentTypeError):
            parse_time(text)


INTERRUPTED = """
import sys
from pathlib import Path
from proofs.__main__ import main
from tests.proofs.checks import proof

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.exit(main(["--budget=60s", "--workers=2"], [proof("slow", target=10**6)], folder / "kept", folder / "page.md"))
"""


def test_an_interrupted_session_keeps_what_was_done_and_leaves_no_process(tmp_path):
    (tmp_path / "program.py").write_text(INTERRUPTED)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", tmp_path],
        env=environment,
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
    kept = recorded(proof("slow"), tmp_path)
    assert kept.cases == 10 * len(kept.done) >= 40
    assert f"{kept.cases:,} of 1,000,000 tries" in (tmp_path / "page.md").read_text()
    assert len(children) >= 2
    assert not psutil.wait_procs(children, timeout=10)[1]


SECONDS = {"quick": 1.0, "slow": 10.0, "short": 2.0}


def simulated(budget, workers=1, before=(), *, wrong=()):
    """What each proof gets if its checks take just these times and try ten cases each."""
    everyone = before or [
        Progress(proof(name, target=30 if name == "short" else 10**6), Record(""))
        for name in SECONDS
    ]
    now, running, order = 0.0, [], []
    while True:
        while len(running) < workers and (one := choose(everyone, budget - now)) is not None:
            name, seed = one.proof.name, one.begin()[1]
            running.append((now + SECONDS[name], name, seed, one))
            order.append(name)
        if not running:
            return {one.proof.name: one for one in everyone}, order, now
        running.sort(key=lambda entry: entry[0], reverse=True)
        now, name, seed, one = running.pop()
        one.end(
            CheckResult(name, seed, 10, SECONDS[name], "wrong" if name in wrong else "", {}),
            "today",
        )


def test_everyone_is_served_first_then_fairly_and_what_one_leaves_goes_to_the_others():
    assert simulated(budget=13)[1][:3] == list(SECONDS)
    found, _, now = simulated(budget=1_000)
    assert (found["short"].record.cases, found["short"].seconds) == (30, 6)
    assert abs(found["quick"].seconds - found["slow"].seconds) <= 10
    assert 985 < sum(one.seconds for one in found.values()) <= 1_000
    found, _, now = simulated(budget=100, workers=2)
    assert sum(one.seconds for one in found.values()) > 185
    assert now <= 100
    heavy = [
        Progress(replace(proof(name, target=10**6), share=share), Record(""))
        for name, share in (("quick", 1), ("slow", 4))
    ]
    found, _, _ = simulated(budget=1_000, before=heavy)
    assert abs(4 * found["quick"].seconds - found["slow"].seconds) <= 40
    found, _, _ = simulated(budget=200, wrong=("quick",))
    assert len(found["quick"].record.done) == MOST_WRONG


def test_a_check_that_would_end_too_late_is_not_begun_and_going_on_takes_new_seeds():
    found, _, now = simulated(budget=19.5)
    assert now <= 19.5
    assert len(found["slow"].record.done) == 1
    again, _, _ = simulated(
        budget=30, before=[Progress(one.proof, one.record) for one in found.values()]
    )
    for one in again.values():
        assert one.record.done == list(range(len(one.record.done)))
    assert len(again["slow"].record.done) > 1


FILES = {
    "proofs/first.py": "from pdrm.machines.step import step\nfrom proofs import shared, unknown\n",
    "proofs/shared.py": "x = 1\n",
    "src/pdrm/machines/step.py": "    from pdrm.errors import Fault\n",
    "src/pdrm/machines/catalogue/letter.pdrm": "name letter\n",
    "src/pdrm/errors.py": 'x = import_module("pdrm.drawing.pixels")\n',
    "src/pdrm/drawing/pixels.py": "x = 1\n",
    "src/pdrm/cli/main.py": "x = 1\n",
    "proofs/session.py": "x = 1\n",
    "src/pdrm/learning/agent.py": "from pdrm.machines.step import step\n",
}


def test_the_digest_sees_what_the_proof_depends_on_and_nothing_else(tmp_path):
    def digests():
        return [
            Sources(tmp_path).digest(parts)
            for parts in (["proofs.first"], ["proofs.first", "pdrm.cli"])
        ]

    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, text in FILES.items():
        before = digests()
        (tmp_path / name).write_text(text + "\n# changed\n")
        place = list(FILES).index(name)
        assert [one != other for one, other in zip(before, digests(), strict=True)] == [
            place < 6,
            place < 7,
        ], name
    before = digests()
    (tmp_path / "src/pdrm/machines/__pycache__").mkdir()
    (tmp_path / "src/pdrm/machines/__pycache__/step.pyc").write_bytes(b"\0")
    assert digests() == before
    (tmp_path / "src/pdrm/machines/new.py").write_text("")
    assert digests() != before


def test_every_proof_depends_on_the_package_but_not_on_the_runner():
    sources = Sources()
    for one in PROOFS:
        parts = set(sources.reach(one.parts))
        assert parts & {"pdrm.machines", "pdrm.domains"}, one.name
        assert "pdrm.errors" in parts, one.name
        assert not parts & {
            f"proofs.{name}" for name in ("page", "promises", "session", "workers")
        }, one.name
    kernels = {
        f"pdrm.{path.relative_to(ROOT / 'src' / 'pdrm').parts[0]}"
        for path in ROOT.glob("src/**/*_kernel.py")
    }
    assert kernels <= set(COMPILED)


def test_a_record_counts_for_its_source_and_versions_only(tmp_path):
    one = proof("holds", oracles=("automata-lib",))
    record = load(one, Sources(), tmp_path)
    assert set(record.versions) == {"Python", "numpy", "numba", "automata-lib"}
    record.add(CheckResult("holds", 3, 100, 0.5, "", {"large": 2}), "monday")
    record.add(CheckResult("holds", 4, 100, 0.5, "it went wrong", {"large": 1}), "tuesday")
    save(one, record, tmp_path)
    assert load(one, Sources(), tmp_path) == record
    assert (record.cases, record.done, record.sessions) == (200, [3, 4], ["monday", "tuesday"])
    assert (record.counts, record.wrong) == ({"large": 3}, {"4": "it went wrong"})
    (file,) = tmp_path.iterdir()
    other = {**json.loads(file.read_text()), "versions": {"numba": "0.1"}}
    for text in (
        "",
        "{",
        "[]",
        '{"cases": 3}',
        '{"source": "digest", "unknown": 1}',
        json.dumps(other),
    ):
        file.write_text(text)
        assert load(one, Sources(), tmp_path).cases == 0, text


def structure(text):
    """A page without what is recorded."""
    text = re.sub(r"^\*\*.* cases in all.*$|^(Python|nothing yet).*$", "", text, flags=re.MULTILINE)
    text = re.sub(rf" {BESIDE}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^(\|.*?\(`[\w-]+`\)) \|.*$", r"\1", text, flags=re.MULTILINE)


def test_the_page_is_what_would_be_made_now_but_for_its_numbers_and_nothing_is_wrong(tmp_path):
    text = PAGE.read_text()
    assert structure(text) == structure(make_page(PROOFS, tmp_path)), (
        "write it anew: python -m proofs --page"
    )
    assert re.search(r"^\*\*[\d,]+ cases in all, 0 wrong\*\*", text, re.MULTILINE)
    assert {one.group for one in PROOFS} == set(GROUPS)
    for one in PROOFS:
        assert f"| {one.promise} (`{one.name}`) |" in text
        assert one.promise.endswith(".")
        assert "|" not in one.promise + one.compared
    for path in TESTED.values():
        assert "def test_" in (ROOT / path).read_text(), path


def test_numbers_on_the_page_are_the_records(tmp_path):
    one, other = proof("holds", target=1_000, oracles=("automata-lib",)), proof("slow")
    record = load(one, Sources(), tmp_path)
    for session in ("2026-11-14T10:00:00+00:00", "2026-11-15T10:00:00+00:00"):
        record.add(CheckResult("holds", 0, 321, 60.0, "", {"large": 3}), session)
    save(one, record, tmp_path)
    text = make_page([one, other], tmp_path)
    row = f"| It holds. (`holds`) | 642 of 1,000 tries | 0 | `{record.source}` | 15 November 2026, 2 sessions |"
    assert row in text
    assert (
        f"It slow. (`slow`) | not yet on this source | | `{Sources().digest(other.parts)}` | |"
        in text
    )
    assert "**642 cases in all, 0 wrong**, in 2m00s of one process" in text
    assert "- `holds`: nothing with nothing. Counted beside: 6 large." in text
    assert f"automata-lib {record.versions['automata-lib']}" in text
