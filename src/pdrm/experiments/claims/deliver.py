"""Claims about DeliverWorld (Section 7.4)."""

from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence
from pdrm.experiments.claims.parts import achieves, does_not_achieve, ends_below, learns_before, success

EIGHT, FOUR_EIGHT = "deliver-8", "deliver-4-8"
BOTTOM = -0.9
"""The normalised return below which an agent counts as at the bottom."""


def _eight(evidence: Evidence) -> list[Part]:
    achieving = ("1-CpRM", "2-CpRM", "CpRM", "1-pdRM", "hierarchical 1-pdRM", "hierarchical 2-pdRM")
    others = [line for line in evidence.paper_lines(EIGHT) if line != "pdRM"]
    return [
        *(achieves(evidence, EIGHT, line) for line in achieving),
        _less_consistent(evidence),
        *(does_not_achieve(evidence, EIGHT, line) for line in ("2-pdRM", "pdRM")),
        ends_below(evidence, EIGHT, "pdRM", others),
        _at_the_bottom(evidence),
    ]


def _less_consistent(evidence: Evidence) -> Part:
    names = ("hierarchical pdRM", "hierarchical 1-pdRM", "hierarchical 2-pdRM")
    shares = {line: success(evidence, EIGHT, line)["mean_success"] for line in names}
    holds = 0.5 <= shares[names[0]] < min(shares[name] for name in names[1:])
    return Part("hierarchical pdRM achieves it, but less consistently than 1 and 2", holds, shares)


def _at_the_bottom(evidence: Evidence) -> Part:
    curves = evidence.curves(EIGHT, "pdRM")
    highest = float(curves.quartiles(curves.normalised).median.max())
    return Part("pdRM stays at the bottom", highest <= BOTTOM, {"highest normalised median": highest})


def _order(evidence: Evidence) -> list[Part]:
    parts = []
    for panel in (EIGHT, FOUR_EIGHT):
        groups: dict[str, list[str]] = {"cprm": [], "hrm": [], "q": []}
        for line in evidence.paper_lines(panel):
            groups[evidence.curves(panel, line).line.agent].append(line)
        parts += [learns_before(evidence, panel, groups["cprm"], groups["hrm"] + groups["q"])]
        parts += [learns_before(evidence, panel, groups["hrm"], groups["q"])]
    return [*parts, learns_before(evidence, EIGHT, ["hierarchical 2-pdRM"], ["hierarchical 1-pdRM"])]


def _four_eight(evidence: Evidence) -> list[Part]:
    plain = ("1-pdRM", "2-pdRM")
    achieving = [line for line in evidence.paper_lines(FOUR_EIGHT) if line not in plain]
    return [
        *(achieves(evidence, FOUR_EIGHT, line) for line in achieving),
        *(does_not_achieve(evidence, FOUR_EIGHT, line) for line in plain),
        *(_rises(evidence, line) for line in plain),
    ]


def _rises(evidence: Evidence, line: str) -> Part:
    curves = evidence.curves(FOUR_EIGHT, line)
    median = curves.quartiles(curves.returns).median
    numbers = {"first": float(median[0]), "final": float(median[-1])}
    return Part(f"{line} rises", numbers["final"] > numbers["first"], numbers)


CLAIMS = (
    Claim(
        "deliver-8",
        "CpRM (1, 2, full), Q 1-pdRM and hierarchical 1, 2 achieve; hierarchical full less consistently; Q 2 and full do not, "
        "full stays at the bottom",
        "deliver",
        _eight,
    ),
    Claim(
        "deliver-order",
        "CpRM converges first, then hierarchical, then Q; hierarchical 2 before hierarchical 1",
        "deliver",
        _order,
    ),
    Claim(
        "deliver-4-8",
        "CpRM and hierarchical achieve 8 deliveries after training on 4; Q rises without achieving",
        "deliver",
        _four_eight,
    ),
)
