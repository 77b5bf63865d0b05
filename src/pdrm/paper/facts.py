"""What can be proved about the paper's tasks, kept next to the runs because it takes a minute: sizes, and which k is enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pdrm import __version__
from pdrm.analysis.k_search import check_k
from pdrm.analysis.size_claims import DOMAINS, size_claims
from pdrm.analysis.sizes import sizes
from pdrm.files import parse_record, write_atomically
from pdrm.learning.settings import PAPER_SETTINGS

FACTS = "facts.json"
"""The file next to the runs."""
CHECKED = (
    *("letter", "maze-5x5", "maze-10x10", "multi-10x10"),
    *("deliver-8", "deliver-4-8", "paint", "echo"),
)
KS = range(6)
SECONDS = 10.0
"""The time for each domain; some answers need more and stay undecided here."""


def theory_facts(folder: Path) -> dict[str, Any]:
    """Which k is enough and the sizes of policies, by domain; and what that says of the claims about sizes, by id.

    What this version has found before is read; what is found is written if the folder exists.
    """
    path = folder / FACTS
    if path.exists():
        known = parse_record(path.read_bytes())
        if known.get("version") == __version__:
            return dict(known["facts"])
    answers = {}
    for name in CHECKED:
        discount = float(PAPER_SETTINGS[name]["discount"])
        answers[name] = check_k(name, k=KS, discount=discount, seconds=SECONDS).record()["k"]
    counted = {name: sizes(name) for name in DOMAINS}
    claims = {fact["id"]: fact for fact in size_claims([*counted.values()])}
    facts = {"k": answers, "sizes": counted, "claims": claims}
    record = json.dumps({"version": __version__, "facts": facts}, indent=1) + "\n"
    if folder.is_dir():
        write_atomically(path, record.encode())
    return dict(json.loads(record)["facts"])
