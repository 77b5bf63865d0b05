"""Claims about 1-TreasureMaze and MultipleTreasureMaze (Sections 7.2 and 7.3)."""

from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence
from pdrm.experiments.claims.parts import achieves, does_not_achieve

SMALL, LARGE = "maze-5x5", ("maze-10x10", "maze-20x20")
MULTI = ("multi-10x10", "multi-20x20")


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
    Claim("maze-large", "on 10×10 and 20×20 only 1-pdRM does", "maze", _large),
    Claim(
        "maze-cprm",
        "exhaustive CpRM, as printed, achieves 5×5 and runs out of its budget beyond",
        "maze",
        _counterfactual,
    ),
    Claim("maze-cql", "CQL-CRA never achieves a maze", "maze", _cql),
    Claim("multi", "1-pdRM achieves both MultipleTreasureMazes, full pdRM neither", "multi", _multi),
)
