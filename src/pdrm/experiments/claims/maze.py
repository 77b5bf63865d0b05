"""Claims about 1-TreasureMaze and MultipleTreasureMaze (Sections 7.2 and 7.3)."""

from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence
from pdrm.experiments.claims.parts import achieves, does_not_achieve

SMALL, LARGE = "maze-5x5", ("maze-10x10", "maze-20x20")
MULTI = ("multi-10x10", "multi-20x20")
STAY = "that with nothing left to retrace the machine stays and pays 0, where the paper says nothing; as a failure (−1e5), "
NOTHING_LEFT = (
    f"{STAY}1-pdRM achieves 10×10 on 2 of 10 seeds, and the claim does not hold. And where the treasure of our 20×20 map lies: 39 "
    "steps away, no agent learnt anything, so it was moved to 24"
)
NOTHING_LEFT_MULTI = f"{STAY}1-pdRM achieves 10×10 on 3 of 10 seeds, and the claim does not hold"
A_MICROSECOND = (
    "that an episode of exhaustive CpRM ends after one update a microsecond of the paper's limit; at 45,000 updates a second "
    "CpRM does not achieve 5×5, and the claim does not hold"
)


def _small(evidence: Evidence) -> list[Part]:
    return [achieves(evidence, SMALL, line) for line in ("pdRM", "1-pdRM", "Q-CRA")]


def _large(evidence: Evidence) -> list[Part]:
    others = [line for line in evidence.paper_lines(SMALL) if line != "1-pdRM"]
    return [achieves(evidence, panel, "1-pdRM") for panel in LARGE] + [
        does_not_achieve(evidence, panel, line) for panel in LARGE for line in others
    ]


def _counterfactual(evidence: Evidence) -> list[Part]:
    agents = ("CpRM", "1-CpRM")
    return [achieves(evidence, SMALL, line) for line in agents] + [
        does_not_achieve(evidence, panel, line) for panel in LARGE for line in agents
    ]


def _cql(evidence: Evidence) -> list[Part]:
    return [does_not_achieve(evidence, panel, "CQL-CRA") for panel in (SMALL, *LARGE)]


def _multi(evidence: Evidence) -> list[Part]:
    return [achieves(evidence, panel, "1-pdRM") for panel in MULTI] + [
        does_not_achieve(evidence, panel, "pdRM") for panel in MULTI
    ]


CLAIMS = (
    Claim("maze-5", "all -pdRM agents and Q-CRA achieve 5×5", "maze", _small),
    Claim("maze-large", "on 10×10 and 20×20 only 1-pdRM does", "maze", _large, NOTHING_LEFT),
    Claim(
        "maze-cprm",
        "exhaustive CpRM, as printed, achieves 5×5 and runs out of its budget beyond",
        "maze",
        _counterfactual,
        A_MICROSECOND,
    ),
    Claim("maze-cql", "CQL-CRA never achieves a maze", "maze", _cql),
    Claim(
        "multi", "1-pdRM achieves both MultipleTreasureMazes, full pdRM neither", "multi", _multi, NOTHING_LEFT_MULTI
    ),
)
