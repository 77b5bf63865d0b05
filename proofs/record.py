"""What a proof has shown so far: kept in one small file, replaced in one go after every check, so that stopping loses nothing.

A record counts only for the source it was made with: a changed file of what the proof is about, or of proofs/, starts it
afresh.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".prove"


@dataclass(slots=True)
class Record:
    """The checks done: their seeds, cases and seconds of one core, and each wrong seed with its message."""

    source: str
    cases: int = 0
    seconds: float = 0.0
    done: list[int] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, seed: int, cases: int, seconds: float, message: str, counts: Mapping[str, int] | None = None) -> None:
        """Count one check; a message is a failure."""
        self.done.append(seed)
        self.cases += cases
        self.seconds += seconds
        if message:
            self.wrong[str(seed)] = message
        for name, count in (counts or {}).items():
            self.counts[name] = self.counts.get(name, 0) + count


def source_hash(about: tuple[str, ...], root: Path = ROOT) -> str:
    """A hash of every file that a result about these folders of the package depends on."""
    digest = hashlib.sha256()
    folders = [root / "proofs", *(root / "src" / "pdrm" / folder for folder in about)]
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    for path in sorted(path for path in files if "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def load(name: str, source: str, folder: Path = FOLDER) -> Record:
    """The record of a proof for this source, or a fresh one."""
    path = folder / f"{name}.json"
    if path.exists():
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        if record.source == source:
            return record
    return Record(source)


def save(name: str, record: Record, folder: Path = FOLDER) -> None:
    """Replace the record of a proof, atomically."""
    folder.mkdir(exist_ok=True)
    written = folder / f"{name}.json.new"
    written.write_text(json.dumps(asdict(record)), encoding="utf-8")
    written.replace(folder / f"{name}.json")
