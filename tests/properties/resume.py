"""Runs survive SIGKILL to parent and workers at random moments, a full disk, and a read-only
folder.

After each disaster the same command runs again. In the end every file is, byte for byte, that
of an undisturbed run. Checkpoints are written twenty times a second, so most kills fall
between two of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil

from tests.properties.small_study import STUDY_FILE, check_same, small_study, undisturbed

KILLS = 4
"""Kills per check."""
MAX_WAIT = 9.0
"""Maximum number of seconds before a kill. By then all runs are done on an idle machine."""
ROOM = 600
"""Kilobytes of the small disk, less than the runs need."""
FULL_DISK_EVERY, READ_ONLY_EVERY = 10, 10


def check(seed: int, kills: int = KILLS) -> Counter[str]:
    """Check one study after disasters, mostly kills."""
    undisturbed()  # first, since it also compiles the kernels: a command killed while it compiles would start over
    with TemporaryDirectory() as name:
        folder = Path(name)
        small_study(folder)
        if seed % FULL_DISK_EVERY == FULL_DISK_EVERY - 1:
            return _full_disk(folder)
        if seed % READ_ONLY_EVERY == READ_ONLY_EVERY - 2:
            return _read_only(folder)
        return _killed(folder, Random(seed), kills)


def command(folder: Path, out: Path) -> list[str]:
    """The command that runs the study."""
    return [
        sys.executable,
        "-m",
        "pdrm",
        "run",
        str(folder / STUDY_FILE),
        "--workers",
        "2",
        "-o",
        str(out),
    ]


def _start(folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PDRM_CHECKPOINT_SECONDS": "0.05"}
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(
            command(folder, folder / "out"), env=environment, stdout=said, stderr=said
        )


def _finish(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end.

    If workers were killed too often, the same command runs again undisturbed.
    """
    if process.wait(timeout=300):
        code = _start(folder).wait(timeout=300)
        assert code == 0, (
            f"the last attempt ended with {code}:\n{(folder / 'said.txt').read_text()[-3000:]}"
        )


def _killed(folder: Path, random: Random, kills: int) -> Counter[str]:
    """Kill the parent or a worker at random moments, then let the command finish."""
    counts, process = Counter[str](), _start(folder)
    while counts["cases"] < kills:
        _wait(folder / "out", process, random)
        if process.poll() is None:
            victims = psutil.Process(process.pid).children(recursive=True)
            workers = [one for one in victims if _is_worker(one)]
            is_worker = bool(workers) and random.random() < 0.6
            _kill(random.choice(workers) if is_worker else psutil.Process(process.pid))
            counts["cases"] += 1
            counts["workers killed" if is_worker else "parents killed"] += 1
        else:
            _forget_some(folder / "out", random)
        if process.poll() is not None or not psutil.pid_exists(process.pid):
            process.wait()
            process = _start(folder)
    _finish(folder, process)
    check_same(folder / "out", f"{kills} kills")
    return counts


def _wait(out: Path, process: subprocess.Popen[bytes], random: Random) -> None:
    """Wait until a random moment, mostly shortly after the start of a run."""
    if random.random() < 0.3:
        time.sleep(random.uniform(0.0, MAX_WAIT))
        return
    began = time.time()
    while process.poll() is None and all(
        path.stat().st_mtime < began for path in out.glob("runs/*")
    ):
        time.sleep(0.01)
    time.sleep(random.uniform(0.0, MAX_WAIT / 4))


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any("LokyProcess" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _kill(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    except psutil.Error:
        return


def _forget_some(out: Path, random: Random) -> None:
    """After the end of the command, remove some results if kills are left."""
    runs = sorted(out.glob("runs/*"))
    for run in random.sample(runs, k=min(len(runs), 4)):
        shutil.rmtree(run)


def _full_disk(folder: Path) -> Counter[str]:
    """On a full disk the command ends with code 1. With more room it resumes and finishes."""
    out, kept = folder / "out", folder / "kept"
    out.mkdir()
    run = " ".join(command(folder, out))
    _in_own_mounts(
        f"mount -t tmpfs -o size={ROOM}k none {out} && {{ {run}; test $? -ne 0 || exit 9; }} && "
        f"mount -o remount,size=1g {out} && {run} && cp -a {out} {kept}"
    )
    check_same(kept, "a full disk")
    return Counter({"cases": 1, "full disks": 1})


def _read_only(folder: Path) -> Counter[str]:
    """In a read-only folder nothing is done and nothing is lost.

    Later the command resumes and finishes.
    """
    out = folder / "out"
    process = _start(folder)
    while len(list(out.glob("runs/*/result.json"))) < 2:
        assert process.poll() in (None, 0)
        time.sleep(0.05)
    _kill(psutil.Process(process.pid))
    run = " ".join(command(folder, out))
    _in_own_mounts(
        f"mount --bind {out} {out} && mount -o remount,ro,bind {out} && {{ {run}; test $? -ne 0 || exit 9; }}"
    )
    _finish(folder, _start(folder))
    check_same(out, "a read-only folder")
    return Counter({"cases": 1, "read-only folders": 1})


def _in_own_mounts(script: str) -> None:
    """Run a script in its own mount namespace."""
    tried = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
