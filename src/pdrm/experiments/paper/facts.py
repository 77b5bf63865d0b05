"""Facts that take a minute to find, kept next to the runs as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pdrm import __version__
from pdrm.files import parse_record, write_atomically


def read_or_find(
    path: Path, asked: Mapping[str, Any], find: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Read the facts from a file if this version found them for the same question, else find them and write them."""
    about = json.loads(json.dumps({"pdrm": __version__, "asked": dict(asked)}))
    try:
        known = parse_record(path.read_bytes())
        if {name: known.get(name) for name in about} == about:
            return dict(known["facts"])
    except (OSError, ValueError, LookupError, TypeError):
        pass
    facts: dict[str, Any] = json.loads(json.dumps(find()))
    if path.parent.is_dir():
        text = json.dumps({**about, "facts": facts}, indent=1) + "\n"
        write_atomically(path, text.encode())
    return facts
