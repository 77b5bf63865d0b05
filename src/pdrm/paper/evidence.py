"""A claim of the paper as a rule over recorded runs: it holds, does not hold, or was not run, with the numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves, learnt_at, training_to_learn
from pdrm.experiments.panel import Panel
from pdrm.experiments.statistics import share_interval
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files import write_atomically
from pdrm.paper.figures import EVERY
from pdrm.paper.recorded import known_curves

CLAIMS_FILE = "claims.json"


# --- What claims are judged by: the recorded curves of the paper's figures, read once.


@dataclass(slots=True)
class Evidence:
    """Curves by panel and line, from the output folder of a reproduction, in which facts that take long are cached, too."""

    folder: Path
    seeds: int | None = None
    """Only the first so many seeds of runs made here; None: all of them."""
    studies: Sequence[Study] = ()
    """Studies that stand in for the default ones with the same panels: other readings of the paper."""
    used: list[tuple[Study, Curves]] = field(default_factory=list)
    """The curves that were asked for."""
    _read: dict[tuple[str, str], Curves | None] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The runs in the folder."""
        return Store.below(self.folder)

    def curves(self, panel: str, line: str) -> Curves:
        """What is recorded of a line; `NotRecorded` where nothing is."""
        study, where = self._panel(panel)
        if (panel, line) not in self._read:
            self._read[panel, line] = known_curves(
                study.seeded(self.seeds), where, where.line(line), self.store
            )
        found = self._read[panel, line]
        if found is None:
            raise NotRecorded(f"{panel}, {line}: no run is recorded", fix=f"pdrm reproduce {panel}")
        self.used.append((study, found))
        return found

    @property
    def anything(self) -> bool:
        """Whether a run of the paper's figures was made in the folder."""
        return any(
            self.store.done(spec)
            for study in (*self.studies, *EVERY)
            for _, _, spec in study.seeded(self.seeds).runs()
        )

    def paper_lines(self, panel: str) -> list[str]:
        """The paper's own agents in a panel; all agents where the panel is ours."""
        lines = self._panel(panel)[1].lines
        return [line.name for line in lines if not line.ours] or [line.name for line in lines]

    def threshold(self, panel: str) -> float:
        """The return at which an agent counts as having learnt the panel's task."""
        return learnt_at([self.curves(panel, line) for line in self.paper_lines(panel)])

    def training(self, panel: str, line: str) -> int | None:
        """The training (episodes, timesteps) that an agent needed to learn the panel's task; None: it never did."""
        return training_to_learn(self.curves(panel, line), self.threshold(panel))

    def _panel(self, name: str) -> tuple[Study, Panel]:
        for study in (*self.studies, *EVERY):
            for panel in study.panels:
                if panel.name == name:
                    return study, panel
        raise NotRecorded(f"there is no panel {name}", fix="pdrm reproduce letter")


# --- What a claim is: a sentence of the paper, and a rule that splits it into parts and says of each whether it holds.
#
# "Achieves" means: in the median over the seeds, all episodes of the final test achieve the task. "Faster" means: fewer
# training episodes until the median return is 90 % of the way from the lowest return there is to the best final median of the
# paper's agents in that panel. What a verdict owes to a reading chosen after seeing results, its claim says (`afterwards`).

HOLDS, DOES_NOT_HOLD, NOT_RUN = "holds", "does not hold", "not run"


class Part(NamedTuple):
    """One thing that a claim says, whether it is so, and by which numbers."""

    text: str
    holds: bool
    numbers: Mapping[str, Any]
    close: bool = False
    """Whether it would be otherwise if a single seed had come out otherwise."""


Rule = Callable[[Evidence], list[Part]]
"""Raises `NotRecorded` where a run is missing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    id: str
    text: str
    study: str
    """The study whose figure shows it; empty if none does."""
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
    """How many seeds the verdict rests on: those of the line that has the fewest, of lines that lack some if there are any; None: on no
    recorded run."""
    of_seeds: int | None = None
    """How many the paper's figure has."""
    recorded_on: str = ""
    """The device of the packaged runs behind the verdict; empty if there are none."""
    rests_on: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The lines that it rests on, and the seeds of each: `maze-5x5, 1-pdRM` -> 0, 1, 2."""

    @property
    def knife_edge(self) -> str:
        """The parts that one seed decides, if the verdict rests on them; else nothing. A verdict that fails for other reasons
        as well does not."""
        deciding = [
            part for part in self.parts if part.close and part.holds == (self.verdict == HOLDS)
        ]
        others = [part for part in self.parts if not part.holds and not part.close]
        if not deciding or (self.verdict == DOES_NOT_HOLD and others):
            return ""
        return "; ".join(f"{part.text}: {_seeds_text(part.numbers)}" for part in deciding)

    @property
    def too_few(self) -> str:
        """How few seeds the verdict rests on, if fewer than the paper's; else nothing."""
        if self.seeds is None or self.of_seeds is None or self.seeds >= self.of_seeds:
            return ""
        return f"{self.seeds} of {self.of_seeds} seeds"

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        parts = [
            {
                "text": part.text,
                "holds": part.holds,
                "numbers": dict(part.numbers),
                "close": part.close,
            }
            for part in self.parts
        ]
        own = {
            "id": self.claim.id,
            "verdict": self.verdict,
            "claim": self.claim.text,
            "figure": self.claim.study,
        }
        lines = {name: list(seeds) for name, seeds in self.rests_on.items()}
        rests = {
            "seeds": self.seeds,
            "of_seeds": self.of_seeds,
            "recorded_on": self.recorded_on,
            "rests_on": lines,
        }
        more = {
            "why": self.why,
            "chosen_after_results": self.claim.afterwards,
            "knife_edge": self.knife_edge,
        }
        return {**own, **rests, "parts": parts, **more}


def judge(claim: Claim, evidence: Evidence) -> Judged:
    """A claim with its verdict: it holds if all of its parts do."""
    evidence = replace(evidence, used=[])  # what this rule asks for, and no other
    try:
        parts = tuple(claim.rule(evidence))
    except NotRecorded as error:
        return Judged(claim, NOT_RUN, why=error.message)
    verdict = HOLDS if all(part.holds for part in parts) else DOES_NOT_HOLD
    counts = ((len(curves.seeds), len(study.seed_numbers)) for study, curves in evidence.used)
    seeds, of_seeds = min(
        counts, key=lambda count: (count[0] >= count[1], count), default=(None, None)
    )
    devices = {curves.origin.device for _, curves in evidence.used if curves.origin is not None}
    rests_on = {
        f"{curves.panel.name}, {curves.line.name}": curves.seeds for _, curves in evidence.used
    }
    recorded_on = ", ".join(sorted(devices))
    return Judged(
        claim,
        verdict,
        parts,
        seeds=seeds,
        of_seeds=of_seeds,
        recorded_on=recorded_on,
        rests_on=rests_on,
    )


def write_claims(judged: Sequence[Judged], folder: Path) -> None:
    """Write the verdicts as JSON."""
    text = json.dumps([one.record() for one in judged], indent=1, ensure_ascii=False)
    write_atomically(folder / CLAIMS_FILE, f"{text}\n".encode())


# --- The parts that claims are made of: an agent achieves a task or does not, ends above another, learns before another.

AS_FAST = 1.5
"""The factor within which two numbers of episodes count as about the same."""


def success(evidence: Evidence, panel: str, line: str) -> dict[str, float]:
    """How the final tests of an agent went, and the interval in which the share of seeds that achieve the task lies (Wilson's,
    95 %)."""
    curves = evidence.curves(panel, line)
    shares = curves.final_success
    low, high = share_interval(curves.achieving, len(shares))
    return {
        "median_success": float(np.median(shares)),
        "mean_success": float(shares.mean()),
        "seeds_achieving": curves.achieving,
        "seeds": len(shares),
        "share_from": low,
        "share_to": high,
    }


def achieves(evidence: Evidence, panel: str, line: str) -> Part:
    """In the median over the seeds, all episodes of the final test achieve the task."""
    numbers = success(evidence, panel, line)
    return Part(
        f"{line} achieves {panel}",
        numbers["median_success"] == 1,
        numbers,
        _one_seed_decides(numbers),
    )


def does_not_achieve(evidence: Evidence, panel: str, line: str) -> Part:
    """The opposite."""
    numbers = success(evidence, panel, line)
    return Part(
        f"{line} does not achieve {panel}",
        numbers["median_success"] < 1,
        numbers,
        _one_seed_decides(numbers),
    )


def _one_seed_decides(numbers: Mapping[str, float]) -> bool:
    """Whether the median would be otherwise with one more or one fewer seed that achieves the task."""
    needed = int(numbers["seeds"]) // 2 + 1
    return numbers["seeds_achieving"] in (needed - 1, needed)


def _seeds_text(numbers: Mapping[str, Any]) -> str:
    low, high = (f"{numbers[name]:.0%}" for name in ("share_from", "share_to"))
    return f"{numbers['seeds_achieving']} of {numbers['seeds']} seeds achieve it (95 % interval of the share: {low} to {high})"


def rule_of_success(
    achieving: Iterable[tuple[str, str]] = (), failing: Iterable[tuple[str, str]] = ()
) -> Rule:
    """The rule that some agents achieve their tasks and others do not, each given as panel and line."""
    yes, no = tuple(achieving), tuple(failing)
    return lambda evidence: [
        *(achieves(evidence, panel, line) for panel, line in yes),
        *(does_not_achieve(evidence, panel, line) for panel, line in no),
    ]


def ends_below(
    evidence: Evidence, panel: str, lower: str, higher: Sequence[str], *, named: str = ""
) -> Part:
    """The median return of one agent's final tests is below those of the others."""
    finals = {line: evidence.curves(panel, line).final_median for line in (lower, *higher)}
    where = f" on {named}" if named else ""
    return Part(
        f"{lower} ends below {', '.join(higher)}{where}",
        finals[lower] < min(finals[line] for line in higher),
        finals,
    )


def learns_before(
    evidence: Evidence, panel: str, first: Sequence[str], later: Sequence[str]
) -> Part:
    """Each of the first agents needs fewer episodes than each of the later ones."""
    needed = {line: evidence.training(panel, line) for line in (*first, *later)}
    latest = max(_or_never(needed[line]) for line in first)
    soonest = min(_or_never(needed[line]) for line in later)
    return Part(
        f"{', '.join(first)} before {', '.join(later)} on {panel}", latest < soonest, needed
    )


def as_fast(evidence: Evidence, panel: str, one: str, other: str) -> Part:
    """Two agents need about the same number of episodes."""
    needed = {line: evidence.training(panel, line) for line in (one, other)}
    low, high = sorted(map(_or_never, needed.values()))
    return Part(f"{one} about as fast as {other}", high <= AS_FAST * low < inf, needed)


def _or_never(episodes: int | None) -> float:
    return inf if episodes is None else episodes
