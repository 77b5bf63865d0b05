"""Claims about WaterWorld (Section 7.5): judged by one's own records of its agents, or else by those that came with the package."""

from __future__ import annotations

from pdrm.experiments.claims.claim import Claim, Part
from pdrm.experiments.claims.evidence import Evidence
from pdrm.experiments.paper.water import RECURRENT, WITH, WITHOUT
from pdrm.experiments.threshold import SHARE
from pdrm.experiments.water_records import OWN, Ending, Record, endings, records

EARLY = 0.5
"""The share of training by which an agent that achieves early has learnt (SHARE of the way to the best final median)."""


def parts_17(found: list[Record]) -> list[Part]:
    """What the paper says of 17 × 17, by these records."""
    ends = _ends(found, "water-17")
    machine, recurrent, plain = ends[WITH], ends[RECURRENT], ends[WITHOUT]
    learnt = machine.reaches(SHARE * max(end.returned for end in ends.values()))
    early = machine.achieved == 1 and learnt is not None and learnt <= EARLY * machine.timesteps
    gain = recurrent.returned - recurrent.first_return
    improved = {"before": recurrent.first_return, "after": recurrent.returned, "spread": round(recurrent.spread, 1)}
    return [
        _achieves(machine),
        Part(f"{WITH} achieves early", early, {"steps": learnt, "of": machine.timesteps}),
        Part(f"{RECURRENT} improves by more than it varies", gain > recurrent.spread, improved),
        _below(recurrent, machine),
        Part(f"{RECURRENT} varies more", recurrent.spread > machine.spread, _spreads(recurrent, machine)),
        _below(plain, recurrent),
    ]


def parts_20(found: list[Record]) -> list[Part]:
    """What the paper says of 20 × 20, by these records."""
    ends = _ends(found, "water-20")
    return [_achieves(ends[WITH]), *(_does_not(ends[line]) for line in (RECURRENT, WITHOUT))]


def _ends(found: list[Record], domain: str) -> dict[str, Ending]:
    tests = [test for record in found for test in record.tests]
    return {end.line: end for end in endings(tests) if end.domain == domain}


def _shares(end: Ending) -> dict[str, float]:
    return {"median_success": end.achieved, "mean_success": end.mean_achieved, "seeds": end.seeds}


def _achieves(end: Ending) -> Part:
    return Part(f"{end.line} achieves {end.domain}", end.achieved == 1, _shares(end))


def _does_not(end: Ending) -> Part:
    return Part(f"{end.line} does not achieve {end.domain}", end.achieved < 1, _shares(end))


def _below(lower: Ending, higher: Ending) -> Part:
    finals = {lower.line: lower.returned, higher.line: higher.returned}
    return Part(f"{lower.line} ends below {higher.line}", lower.returned < higher.returned, finals)


def _spreads(one: Ending, other: Ending) -> dict[str, float]:
    return {one.line: round(one.spread, 1), other.line: round(other.spread, 1)}


def _printed(evidence: Evidence) -> list[Record]:
    return records("printed", evidence.folder / OWN)


CLAIMS = (
    Claim(
        "water-17",
        "PPO + 1-pdRM achieves early; recurrent PPO improves, below it and with high variance; plain PPO lower",
        "water",
        lambda evidence: parts_17(_printed(evidence)),
    ),
    Claim("water-20", "only PPO + 1-pdRM achieves", "water", lambda evidence: parts_20(_printed(evidence))),
)
