"""What a claim is: a sentence of the paper, and a rule that splits it into parts and says of each whether it holds.

"Achieves" means: in the median over the seeds, all episodes of the final test achieve the task. "Faster" means: fewer
training episodes until the median return is 90 % of the way from the lowest return there is to the best final median of the
paper's agents in that panel. What a verdict owes to a reading chosen after seeing results, its claim says (`afterwards`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pdrm.experiments.claims.evidence import Evidence

HOLDS, DOES_NOT_HOLD, NOT_RUN = "holds", "does not hold", "not run"


class Part(NamedTuple):
    """One thing that a claim says, whether it is so, and by which numbers."""

    text: str
    holds: bool
    numbers: Mapping[str, Any]


Rule = Callable[[Evidence], list[Part]]
"""Raises `NotRecorded` where a run is missing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    id: str
    text: str
    figure: str
    """The study whose figure shows it; nothing: none does."""
    rule: Rule
    afterwards: str = ""
    """What was chosen after seeing results, where the verdict would be another without it; nothing: the rule and all it rests
    on were fixed before."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: str
    parts: tuple[Part, ...] = ()
    why: str = ""
    """Why it was not run."""
    seeds: int | None = None
    """How many seeds the verdict rests on: those of the line that has the fewest; None: on no recorded run."""
    of_seeds: int | None = None
    """How many the paper's figure has."""

    @property
    def too_few(self) -> str:
        """What is to be said of a verdict by fewer seeds than the paper's; nothing: it has them all."""
        if self.seeds is None or self.of_seeds is None or self.seeds >= self.of_seeds:
            return ""
        return f"{self.seeds} of {self.of_seeds} seeds"

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        parts = [{"text": part.text, "holds": part.holds, "numbers": dict(part.numbers)} for part in self.parts]
        own = {"id": self.claim.id, "verdict": self.verdict, "claim": self.claim.text, "figure": self.claim.figure}
        rests = {"seeds": self.seeds, "of_seeds": self.of_seeds}
        return {**own, **rests, "parts": parts, "why": self.why, "chosen_after_results": self.claim.afterwards}
