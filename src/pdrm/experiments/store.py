"""Where runs are kept: a folder each, named after what it is and the hash of its spec, with small files written whole.

`result.json` is written last: a run with one is done and never repeated, one without goes on from its checkpoint. Two
processes that want the same run take turns at its folder, so nothing is done twice. Tables too large to keep are dropped
when the result is in; their hash stays. `timing.json` is the only file that differs between two equal runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from pdrm import __version__
from pdrm.errors import BadRunFolder, CannotWrite
from pdrm.files import ensure_folder, write_atomically
from pdrm.learning.tabular.run import CURVE, POLICY, RunSpec, execute

LOCKS: ModuleType | None = import_module("fcntl") if find_spec("fcntl") is not None else None
"""Windows has none: run one command at a time there."""

RESULT, TIMING, FAILURE = "result.json", "timing.json", "failure.txt"
LARGEST_POLICY = 5_000_000
"""Bytes of a policy that is kept."""


@dataclass(frozen=True, slots=True)
class Store:
    """The runs in a folder.

    >>> from pdrm.learning.tabular.settings import QLearning
    >>> spec = RunSpec("letter", "q", "1", QLearning(episodes=10), seed=3)
    >>> Store(Path("runs")).folder(spec).name == f"letter-q-1-seed3-{spec.id}", Store(Path("runs")).done(spec)
    (True, False)
    """

    root: Path

    def folder(self, spec: RunSpec) -> Path:
        """Where a run is or will be."""
        called = re.sub(r"[^\w.-]+", "-", spec.domain)
        return self.root / f"{called}-{spec.agent}-{spec.k}-seed{spec.seed}-{spec.id}"

    def done(self, spec: RunSpec) -> bool:
        """Whether a run has its result."""
        return (self.folder(spec) / RESULT).exists()

    def begun_since(self, spec: RunSpec, moment: float) -> bool:
        """Whether a run was begun or gone on with after a moment (of `time.time()`), and is not done."""
        try:
            return self.folder(spec).stat().st_mtime >= moment and not self.done(spec)
        except OSError:
            return False

    def failure(self, spec: RunSpec) -> str:
        """Why a run's last attempt failed, or nothing."""
        try:
            return (self.folder(spec) / FAILURE).read_text(encoding="utf-8")
        except OSError:
            return ""

    def result(self, spec: RunSpec) -> dict[str, Any]:
        """What `result.json` says: id, rows of the table, the policy's hash and size, the curve's hash."""
        return _read(self.folder(spec) / RESULT)

    def timing(self, spec: RunSpec) -> dict[str, Any]:
        """What `timing.json` says: seconds, and those of the processor (of the last sitting), version, machine."""
        return _read(self.folder(spec) / TIMING)


def perform(spec: RunSpec, folder: Path) -> None:
    """Run to the end, from where it was left, unless it is done."""
    with _alone(ensure_folder(folder)):
        if not (folder / RESULT).exists():
            _sweep(folder)
            began = time.perf_counter(), time.process_time()
            result = execute(spec, folder)
            write_atomically(
                folder / TIMING, _json(_timing(time.perf_counter() - began[0], time.process_time() - began[1]))
            )
            write_atomically(
                folder / RESULT, _json({"id": spec.id, "rows": result.rows, **_policy(folder, result.sha256)})
            )
        if not _read(folder / RESULT)["policy_kept"]:
            (folder / POLICY).unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder: whoever else wants it waits. A process that dies lets go."""
    if LOCKS is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        LOCKS.flock(handle, LOCKS.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sweep(folder: Path) -> None:
    """Remove what a killed process or an earlier failure left: files that were never finished, and its message. The folder's
    time is now that of this attempt (`begun_since`)."""
    try:
        for left in (*folder.glob(".*"), folder / FAILURE):
            left.unlink(missing_ok=True)
        os.utime(folder)
    except OSError as error:
        fix = "check its permissions, or choose another with -o"
        raise CannotWrite(f"{folder} cannot be written to: {str(error.strerror).lower()}", fix=fix) from error


def _policy(folder: Path, sha256: str) -> dict[str, Any]:
    size = (folder / POLICY).stat().st_size
    curve = hashlib.sha256((folder / CURVE).read_bytes()).hexdigest()
    return {"policy_sha256": sha256, "policy_bytes": size, "policy_kept": size <= LARGEST_POLICY, "curve_sha256": curve}


def _timing(seconds: float, processor: float) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 3),
        "processor_seconds": round(processor, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "pdrm": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _read(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadRunFolder(f"{path} cannot be read: {error}", fix=f"remove {path.parent} and run again") from error
    return record
