"""What a proof has shown so far: kept in one small file, replaced in one go after every check, so that stopping loses nothing.

A record counts for the source and the versions it was made with: with others a proof starts afresh.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from pdrm.files import write_atomically
from proofs.checked import Checked
from proofs.proof import Proof
from proofs.source import ROOT

FOLDER = ROOT / ".prove"
ALWAYS = ("numpy", "numba")


@dataclass(slots=True)
class Record:
    """The checks done: their seeds, cases and seconds of one process, and each wrong seed with its message."""

    source: str
    versions: dict[str, str] = field(default_factory=dict)
    cases: int = 0
    seconds: float = 0.0
    done: list[int] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    """When those that tried something began."""

    def add(self, outcome: Checked, session: str) -> None:
        """Count one check."""
        if session not in self.sessions:
            self.sessions.append(session)
        self.done.append(outcome.seed)
        self.cases += outcome.cases
        self.seconds += outcome.seconds
        if outcome.message:
            self.wrong[str(outcome.seed)] = outcome.message
        for name, count in outcome.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count


def versions(proof: Proof) -> dict[str, str]:
    """Of Python, of what computes, and of the packages that a proof compares with and that are there."""
    python = f"{platform.python_version()} ({platform.system()}, {platform.machine()})"
    found = {package: _version(package) for package in (*ALWAYS, *proof.oracles)}
    return {"Python": python, **{package: version for package, version in found.items() if version is not None}}


def missing(proof: Proof) -> list[str]:
    """The packages that it compares with and that are not installed."""
    return [package for package in proof.oracles if _version(package) is None]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def fresh_record(proof: Proof, source: str) -> Record:
    """Of a proof that has tried nothing yet."""
    return Record(source, versions(proof))


def load(proof: Proof, source: str, folder: Path = FOLDER) -> Record:
    """The record of a proof for this source and what is installed, or a fresh one."""
    fresh = fresh_record(proof, source)
    try:
        record = Record(**json.loads(_file(proof, source, folder).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # none yet, or one of another form
        return fresh
    return record if (record.source, record.versions) == (source, fresh.versions) else fresh


def save(proof: Proof, record: Record, folder: Path = FOLDER) -> None:
    """Replace the record of a proof, whole or not at all."""
    folder.mkdir(exist_ok=True)
    write_atomically(_file(proof, record.source, folder), json.dumps(asdict(record)).encode())


def _file(proof: Proof, source: str, folder: Path) -> Path:
    """One a source, so that going back to an earlier one finds what it had shown."""
    return folder / f"{proof.name}-{source}.json"
