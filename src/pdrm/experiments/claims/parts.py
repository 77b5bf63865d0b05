"""The parts that claims are made of: an agent achieves a task or does not, ends above another, learns before another."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from pdrm.experiments.claims.claim import Part
from pdrm.experiments.claims.evidence import Evidence

AS_FAST = 1.5
"""The factor within which two numbers of episodes count as about the same."""


def success(evidence: Evidence, panel: str, line: str) -> dict[str, float]:
    """How the final tests of an agent went."""
    shares = evidence.curves(panel, line).final_success
    return {
        "median_success": float(np.median(shares)),
        "mean_success": float(shares.mean()),
        "seeds_achieving": int((shares == 1).sum()),
        "seeds": len(shares),
    }


def achieves(evidence: Evidence, panel: str, line: str) -> Part:
    """In the median over the seeds, all episodes of the final test achieve the task."""
    numbers = success(evidence, panel, line)
    return Part(f"{line} achieves {panel}", numbers["median_success"] == 1, numbers)


def does_not_achieve(evidence: Evidence, panel: str, line: str) -> Part:
    """The opposite."""
    numbers = success(evidence, panel, line)
    return Part(f"{line} does not achieve {panel}", numbers["median_success"] < 1, numbers)


def ends_below(evidence: Evidence, panel: str, lower: str, higher: Sequence[str]) -> Part:
    """The median return of one agent's final tests is below those of the others."""
    finals = {line: evidence.curves(panel, line).final_median for line in (lower, *higher)}
    return Part(f"{lower} ends below {', '.join(higher)}", finals[lower] < min(finals[line] for line in higher), finals)


def learns_before(evidence: Evidence, panel: str, first: Sequence[str], later: Sequence[str]) -> Part:
    """Each of the first agents needs fewer episodes than each of the later ones."""
    needed = {line: evidence.episodes(panel, line) for line in (*first, *later)}
    latest = max(_or_never(needed[line]) for line in first)
    soonest = min(_or_never(needed[line]) for line in later)
    return Part(f"{', '.join(first)} before {', '.join(later)} on {panel}", latest < soonest, needed)


def as_fast(evidence: Evidence, panel: str, one: str, other: str) -> Part:
    """Two agents need about the same number of episodes."""
    needed = {line: evidence.episodes(panel, line) for line in (one, other)}
    low, high = sorted(map(_or_never, needed.values()))
    return Part(f"{one} about as fast as {other}", high <= AS_FAST * low < inf, needed)


def _or_never(episodes: int | None) -> float:
    return inf if episodes is None else episodes
