"""Facts that take long to find, cached in a file: found again when the code they come from, or the question, has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pdrm
from pdrm.files import parse_record, write_atomically

CHAPTERS = ("analysis", "domains", "machines", "product")


def hash_source() -> str:
    """A hash of the code that proofs and counts depend on."""
    digest, root = hashlib.sha256(), Path(str(pdrm.__file__)).parent
    for path in sorted(path for folder in CHAPTERS for path in (root / folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def read_or_find(
    path: Path, asked: Mapping[str, Any], find: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Read the facts from a file, if this code found them for the same question (JSON values); else find them, and write them
    if the folder exists.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "facts.json"
    ...     first = read_or_find(file, {"discount": 0.9}, lambda: {"k": 1})
    ...     again = read_or_find(file, {"discount": 0.9}, lambda: {"k": 2})
    ...     other = read_or_find(file, {"discount": 0.8}, lambda: {"k": 3})
    >>> first, again, other
    ({'k': 1}, {'k': 1}, {'k': 3})
    """
    about = {"source": hash_source(), "asked": dict(asked)}
    known = _read(path)
    if known is not None and {name: known.get(name) for name in about} == about:
        return dict(known["facts"])
    facts: dict[str, Any] = json.loads(json.dumps(find()))  # as they will be read
    if path.parent.is_dir():
        record = {**about, "sha256": hash_facts(facts), "facts": facts}
        write_atomically(path, (json.dumps(record, indent=1) + "\n").encode())
    return facts


def hash_facts(facts: dict[str, Any]) -> str:
    """A hash of the facts: those that do not have the one written with them are not what was found."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    """What is in the file; None where it is not there or is damaged."""
    try:
        known = parse_record(path.read_bytes())
    except (OSError, ValueError):
        return None
    facts = known.get("facts")
    return known if isinstance(facts, dict) and known.get("sha256") == hash_facts(facts) else None
