"""The claim about PaintWorld (Appendix C)."""

from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence

STAINS = range(1, 6)
OPTIMUM = -sum(i / (i + 1) for i in STAINS) / len(STAINS)
"""The mean return over 1 to 5 stains of asking for exactly as many units of soap."""
ROUNDING = 1e-9


def _paint(evidence: Evidence) -> list[Part]:
    names = evidence.paper_lines("paint")
    finals = {line: evidence.curves("paint", line).final_median for line in names}
    rising = [finals[line] for line in names]
    optimal = [line for line in names if finals[line] >= OPTIMUM - ROUNDING]
    return [
        Part("the more symbols are seen, the higher the return", rising == sorted(set(rising)), finals),
        Part("only k = 5 is optimal", optimal == names[-1:], {**finals, "optimum": OPTIMUM}),
    ]


CLAIMS = (Claim("paint", "the more symbols seen, the higher the return; only k = 5 is optimal", "paint", _paint),)
