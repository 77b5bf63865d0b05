"""Claims about LetterEnv (Section 7.1)."""

from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence
from pdrm.experiments.claims.parts import achieves, as_fast, ends_below, learns_before

BEST = ("1-pdRM", "1-CpRM", "CpRM", "CQL-CRA")
LATE = ("Q-CRA", "pdRM")
COUNTERFACTUAL = ("1-CpRM", "CpRM")
BY_MEANS = (
    "that a test counts by the mean of its ten episodes; counted by single episodes, pdRM and Q-CRA end above 1-pdRM and "
    "1-CpRM, and the claim does not hold"
)


def _best(evidence: Evidence) -> list[Part]:
    best = [achieves(evidence, "letter", line) for line in BEST]
    below = [ends_below(evidence, "letter", line, BEST) for line in LATE]
    return [*best, *below, learns_before(evidence, "letter", BEST, LATE)]


def _speed(evidence: Evidence) -> list[Part]:
    others = [line for line in evidence.paper_lines("letter") if line not in COUNTERFACTUAL]
    first = learns_before(evidence, "letter", COUNTERFACTUAL, others)
    return [first, as_fast(evidence, "letter", "1-pdRM", "CQL-CRA")]


CLAIMS = (
    Claim(
        "letter-best",
        "1-pdRM, 1-CpRM, CpRM and CQL-CRA end best; Q-CRA and full pdRM rise late and end below",
        "letter",
        _best,
        BY_MEANS,
    ),
    Claim("letter-speed", "both CpRM agents converge first; 1-pdRM about as fast as CQL-CRA", "letter", _speed),
)
