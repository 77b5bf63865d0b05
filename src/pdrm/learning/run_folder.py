"""The folder of a run: small files, each written whole or not at all.

`result.json` is written last: a run with one is done and never repeated. `timing.json` is the only file that differs between two
equal runs, `.progress` the only one that is a message: the share done of a run under way. A checkpoint carries a checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pdrm.errors import BadRunFolder, name_alike
from pdrm.files import (
    MALFORMED,
    RUN_RECORD,
    Arrays,
    describe_fault,
    encode_arrays,
    need,
    parse_record,
    read_arrays,
    write_atomically,
)

SPEC, DOMAIN, CHECKPOINT = RUN_RECORD, "domain.npz", "checkpoint.npz"
POLICY, CURVE, RESULT, TIMING = "policy.npz", "curve.csv", "result.json", "timing.json"
PROGRESS = ".progress"
CHECKPOINT_DONE, CHECKPOINT_CURVE = "run.done", "run.curve"
"""In a checkpoint, next to the arrays of the learner: the training so far, and the text of the curve."""
LOCKS: ModuleType | None = import_module("fcntl") if find_spec("fcntl") is not None else None
"""Windows has none: run one command at a time there."""


class RunProgress(NamedTuple):
    """The progress of a run."""

    done: int
    total: int
    last_return: float | None = None

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self.done / max(1, self.total))


def write_progress(folder: Path, done: int, total: int, last_return: float | None = None) -> None:
    """Leave the message for displays in other processes."""
    (folder / PROGRESS).write_text(json.dumps([done, total, last_return]))


def read_progress(folder: Path) -> RunProgress | None:
    """The progress of a run that has begun and is not done (None if unknown)."""
    try:
        return RunProgress(*json.loads((folder / PROGRESS).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def is_done(folder: Path) -> bool:
    """Return True if a folder holds a run's final result."""
    return (folder / RESULT).exists()


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock the run's folder (released when the process exits)."""
    if LOCKS is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        LOCKS.flock(handle, LOCKS.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove files that a killed process never finished."""
    with suppress(OSError):  # then nothing can be written either, which is an error of its own
        for left in folder.glob(".*"):
            left.unlink()


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write a record of a run."""
    write_atomically(path, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """A record of a run."""
    try:
        return parse_record(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = f"{path} cannot be read: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path.parent} and run again") from error


def write_checkpoint(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write where a run stands: a checksum, then the arrays."""
    data = encode_arrays(arrays)
    write_atomically(folder / CHECKPOINT, hashlib.sha256(data).digest() + data)


def read_checkpoint(folder: Path) -> Arrays | None:
    """The arrays of the checkpoint, if there is one."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        data = path.read_bytes()
        size = hashlib.sha256().digest_size
        fits = hashlib.sha256(data[size:]).digest() == data[:size]
        need((fits, "its checksum does not fit"))
        return read_arrays(data[size:])
    except MALFORMED as error:
        fault = f"{path} is not a checkpoint, or is damaged: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path} to start that run again") from error


PLACES = ("", "*/", "*/*/", "*/runs/*/", "runs/*/*/", "runs/*/runs/*/")
"""The places of runs in a folder: itself, what `pdrm train -o` was given, a study's folder, one that holds some of these, or one where
commands were run."""


def list_runs(folder: Path) -> list[Path]:
    """The folders of all runs that a folder holds, or itself if it is a run."""
    found = {
        file.parent: None for place in PLACES for file in sorted(folder.glob(f"{place}{SPEC}"))
    }
    return [folder] if folder in found else list(found)


def find_run(folder: Path) -> Path:
    """The folder of a run: this one, or the only one that it holds."""
    found = list_runs(folder)
    return found[0] if len(found) == 1 else folder


def no_run(folder: Path, why: str = "") -> BadRunFolder:
    """The error that a folder is not a run. If it holds runs, or has some next to it, the fix names one of them."""
    near = list_runs(folder if folder.is_dir() else folder.parent)
    others = {run.name: run for run in near if run != folder}
    fix = 'train one: run = pdrm.train("letter", folder="runs")'
    if others:
        latest = max(others, key=lambda name: others[name].stat().st_mtime)
        fix = f"did you mean {others[name_alike(folder.name, others) or latest]}?"
    if not folder.is_dir():
        return BadRunFolder(f"there is no folder {folder}", fix=fix)
    return BadRunFolder(f"{folder} is not a trained run{f': {why}' if why else ''}", fix=fix)
