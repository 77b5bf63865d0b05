"""Claims that no run shows: the sizes of Section 5, and the translations of Appendices A and B.

The sizes take some seconds to count, so they are kept beside the runs, with the hash of the code they were counted by.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from pdrm.analysis.size_claims import size_claims
from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence
from pdrm.experiments.kept_facts import kept_facts
from pdrm.machines.catalogue import catalogue
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.translation import counting_to_pushdown

SIZES = "sizes.json"
LONGEST_WORD = 6


def _facts(folder: Path) -> dict[str, Any]:
    """The facts about sizes by id, counted where they are not known for this code."""
    return kept_facts(folder / SIZES, {}, lambda: {fact["id"]: fact for fact in size_claims()})


def _size(name: str, evidence: Evidence) -> list[Part]:
    fact = _facts(evidence.folder)[name]
    return [Part(fact["claim"], fact["holds"], fact["numbers"])]


def _translate(_evidence: Evidence) -> list[Part]:
    """Appendix A's pair on every word of up to six labels: its automaton, our translation of it, and the printed machine."""
    automaton, printed = catalogue("letter-counting"), catalogue("letter-pushdown")
    if not isinstance(automaton, CountingRewardAutomaton) or not isinstance(printed, PushdownRewardMachine):
        raise TypeError("Appendix A has one machine of each kind")
    translated = counting_to_pushdown(automaton)
    labels = [frozenset(), *(frozenset((event,)) for event in automaton.events)]
    words = [word for length in range(LONGEST_WORD + 1) for word in product(labels, repeat=length)]
    parts = []
    for name, machine in (("Appendix B's translation", translated), ("Appendix A's machine", printed)):
        differing = sum(automaton.run(word).reward != machine.run(word).reward for word in words)
        text = f"{name} pays what the automaton pays"
        parts.append(Part(text, not differing, {"words": len(words), "differing": differing}))
    return parts


CLAIMS = (
    Claim("size-full", "Theorem 1: rows of full policies against the bound", "", partial(_size, "size-full")),
    Claim("size-k", "Theorem 2: rows of k-policies against the bound", "", partial(_size, "size-k")),
    Claim(
        "size-cra",
        "Theorems 3 and 4: the marked palindrome needs at least 2ⁿ counter configurations",
        "",
        partial(_size, "size-cra"),
    ),
    Claim("translate", "Appendices A and B: the translated machine pays the same on every word", "", _translate),
)
