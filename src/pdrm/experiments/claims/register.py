"""Every claim, in the paper's order, and their judgement. A new kind of claim is one more tuple here."""

from __future__ import annotations

from collections.abc import Collection

from pdrm.errors import NotRecorded
from pdrm.experiments.claims import deliver, letter, maze, paint, theory, water
from pdrm.experiments.claims.claim import DOES_NOT_HOLD, HOLDS, NOT_RUN, Claim, Judged
from pdrm.experiments.claims.evidence import Evidence

CLAIMS: tuple[Claim, ...] = (
    *letter.CLAIMS,
    *maze.CLAIMS,
    *deliver.CLAIMS,
    *water.CLAIMS,
    *paint.CLAIMS,
    *theory.CLAIMS,
)


def judged(evidence: Evidence, figures: Collection[str] | None = None) -> list[Judged]:
    """Every claim, or those about some studies, with its verdict: it holds if all of its parts do."""
    return [_judge(claim, evidence) for claim in CLAIMS if figures is None or claim.figure in figures]


def _judge(claim: Claim, evidence: Evidence) -> Judged:
    evidence.fewest = None
    try:
        parts = tuple(claim.rule(evidence))
    except NotRecorded as error:
        return Judged(claim, NOT_RUN, why=error.message)
    seeds, of_seeds = evidence.fewest or (None, None)
    verdict = HOLDS if all(part.holds for part in parts) else DOES_NOT_HOLD
    return Judged(claim, verdict, parts, seeds=seeds, of_seeds=of_seeds)
