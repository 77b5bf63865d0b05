"""Provable facts about the paper's tasks: table sizes and sufficient k, cached next to the runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pdrm import __version__
from pdrm.analysis.k_search import check_k
from pdrm.analysis.sizes import sizes
from pdrm.files import parse_record, write_atomically
from pdrm.learning.settings import PAPER_SETTINGS
from pdrm.paper.size_claims import DOMAINS, size_claims

FACTS = "facts.json"
CHECKED_DOMAINS = (
    "letter",
    "maze-5x5",
    "maze-10x10",
    "multi-10x10",
    "deliver-8",
    "deliver-4-8",
    "paint",
    "echo",
)
KS = range(6)
SECONDS = 10.0
"""Time limit of `check_k` for each domain. Answers that need more time are undecided."""


def theory_facts(folder: Path) -> dict[str, Any]:
    """Sufficient k and policy sizes by domain, and the verdicts on the claims about sizes by id.

    They are cached in the folder, if it exists, for this version of pdrm.
    """
    path = folder / FACTS
    if path.exists():
        cached = parse_record(path.read_bytes())
        if cached.get("version") == __version__:
            return dict(cached["facts"])
    answers = {}
    for name in CHECKED_DOMAINS:
        discount = float(PAPER_SETTINGS[name]["discount"])
        answers[name] = check_k(name, k=KS, discount=discount, seconds=SECONDS).record()["k"]
    sizes_of = {name: sizes(name) for name in DOMAINS}
    claims = {fact["id"]: fact for fact in size_claims([*sizes_of.values()])}
    facts = {"k": answers, "sizes": sizes_of, "claims": claims}
    record = json.dumps({"version": __version__, "facts": facts}, indent=1) + "\n"
    if folder.is_dir():
        write_atomically(path, record.encode())
    return dict(json.loads(record)["facts"])
