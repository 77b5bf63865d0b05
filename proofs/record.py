"""What a proof has shown so far: one small file, replaced as a whole after every check, so that stopping loses nothing.

A record counts for the source and the versions it was made with: with others a proof starts afresh.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import distributions, version
from pathlib import Path

from pdrm.files import write_atomically
from proofs.proof import CheckResult, Proof
from proofs.source import ROOT, Sources

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

    def add(self, result: CheckResult, session: str) -> None:
        """Count one check."""
        if session not in self.sessions:
            self.sessions.append(session)
        self.done.append(result.seed)
        self.cases += result.cases
        self.seconds += result.seconds
        if result.message:
            self.wrong[str(result.seed)] = result.message
        for name, count in result.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count


def load(proof: Proof, sources: Sources, folder: Path = FOLDER) -> Record:
    """The record of a proof for this source and what is installed, or a fresh one."""
    python = f"{platform.python_version()} ({platform.system()}, {platform.machine()})"
    versions = {
        package: version(package)
        for package in (*ALWAYS, *proof.oracles)
        if package not in missing(proof)
    }
    fresh = Record(sources.digest(proof.parts), {"Python": python, **versions})
    try:
        record = Record(
            **json.loads(_file(proof, fresh.source, folder).read_text(encoding="utf-8"))
        )
    except (OSError, ValueError, TypeError):  # none yet, or one of another form
        return fresh
    return record if (record.source, record.versions) == (fresh.source, fresh.versions) else fresh


def missing(proof: Proof) -> list[str]:
    """The packages that it compares with and that are not installed."""
    return [package for package in proof.oracles if not list(distributions(name=package))]


def save(proof: Proof, record: Record, folder: Path = FOLDER) -> None:
    """Replace the record of a proof, whole or not at all."""
    folder.mkdir(exist_ok=True)
    write_atomically(_file(proof, record.source, folder), json.dumps(asdict(record)).encode())


def _file(proof: Proof, source: str, folder: Path) -> Path:
    """One per source, so that going back to an earlier one finds what it had shown."""
    return folder / f"{proof.name}-{source}.json"
