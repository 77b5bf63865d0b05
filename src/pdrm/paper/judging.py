"""Claims of the paper, the rules that judge them by recorded runs, and their verdicts.

`claims` lists the claims. `judge` applies the rules of a claim to the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np

from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves, Store, learnt_at, training_to_learn
from pdrm.experiments.panel import Panel
from pdrm.experiments.statistics import share_interval
from pdrm.experiments.study import Study
from pdrm.files import write_atomically
from pdrm.paper.figures import EVERY, study
from pdrm.paper.recorded import known_curves

CLAIMS_FILE = "claims.json"


@dataclass(slots=True)
class Evidence:
    """The recorded curves of the paper's figures, read on first use."""

    folder: Path
    """The output folder of a reproduction."""
    seeds: int | None = None
    """Use only the first n seeds of the runs in the folder (default: all)."""
    studies: Sequence[Study] = ()
    """Alternative readings, which replace the default studies with the same panels."""
    used: list[tuple[Study, Curves]] = field(default_factory=list)
    """The curves that the rules have used."""
    _read: dict[tuple[str, str], Curves | None] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The runs in the folder."""
        return Store.below(self.folder)

    def curves(self, panel: str, line: str) -> Curves:
        """The curves of a line; `NotRecorded` if it has no runs."""
        study, its_panel = self._find_panel(panel)
        key = (panel, line)
        if key not in self._read:
            seeded = study.seeded(self.seeds)
            self._read[key] = known_curves(seeded, its_panel, its_panel.line(line), self.store)
        curves = self._read[key]
        if curves is None:
            raise NotRecorded(f"{panel}, {line}: no run is recorded", fix=f"pdrm reproduce {panel}")
        self.used.append((study, curves))
        return curves

    @property
    def has_runs(self) -> bool:
        """True if the folder contains a run of the paper's figures."""
        runs = (run for study in self._studies() for run in study.seeded(self.seeds).runs())
        return any(self.store.run(spec).done for _, _, spec in runs)

    def medians(self, panel: str, line: str) -> list[float]:
        """The median return over the seeds at each evaluation."""
        medians: list[float] = self.curves(panel, line).median.tolist()
        return medians

    def paper_lines(self, panel: str) -> list[str]:
        """The paper's agents in a panel, or all agents if the paper has no such panel."""
        lines = self._find_panel(panel)[1].lines
        return [line.name for line in lines if not line.ours] or [line.name for line in lines]

    def training(self, panel: str, line: str) -> int | None:
        """The training (episodes or timesteps) after which the task counts as learnt, or None."""
        curves = self.curves(panel, line)
        threshold = learnt_at([self.curves(panel, name) for name in self.paper_lines(panel)])
        return training_to_learn(curves, threshold)

    def _studies(self) -> list[Study]:
        return [*self.studies, *map(study, EVERY)]

    def _find_panel(self, name: str) -> tuple[Study, Panel]:
        panels = ((study, panel) for study in self._studies() for panel in study.panels)
        return next((study, panel) for study, panel in panels if panel.name == name)


# --- A claim: a sentence of the paper, and rules that split it into parts
#
# "Achieves" means: in the median over the seeds, all episodes of the final evaluation solve the
# task. "Before" means: no more training until the median return has covered 90 % of the range from
# the lowest return to the best final median of the paper's agents in that panel.

HOLDS, DOES_NOT_HOLD, NOT_RUN = "holds", "does not hold", "not run"


class ClaimPart(NamedTuple):
    """A part of a claim, and the numbers that decide it."""

    text: str
    holds: bool
    numbers: Mapping[str, Any]
    close: bool = False
    """True if a single seed decides it."""


Rule = Callable[[Evidence], Iterable[ClaimPart]]
"""Judges some parts of a claim; raises `NotRecorded` if a run is missing."""
Arguments = ParamSpec("Arguments")


def rule(
    function: Callable[Concatenate[Evidence, Arguments], Iterable[ClaimPart]],
) -> Callable[Arguments, Rule]:
    """Decorator: calling the function without its evidence returns a `Rule`."""

    def make_rule(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Rule:
        return lambda evidence: function(evidence, *args, **kwargs)

    return make_rule


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    id: str
    text: str
    study: str
    """The study whose figure shows it ("" if none)."""
    rules: tuple[Rule, ...]
    late_choice: str = ""
    """A choice made after seeing results that affects the verdict."""


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its verdict and the curves used."""

    claim: Claim
    verdict: str
    parts: tuple[ClaimPart, ...] = ()
    why: str = ""
    """The reason if it was not run."""
    used: tuple[tuple[Study, Curves], ...] = ()

    @property
    def seeds(self) -> tuple[int, int] | None:
        """The number of seeds of the line with the fewest, and of its study."""
        counts = [(len(curves.seeds), len(study.seed_numbers)) for study, curves in self.used]
        return min(counts, key=lambda count: (count[0] >= count[1], count), default=None)

    @property
    def recorded_on(self) -> str:
        """The devices of the packaged runs used."""
        devices = {curves.recorded_on for _, curves in self.used}
        return ", ".join(sorted(devices - {""}))

    @property
    def knife_edge(self) -> str:
        """The parts that a single seed decides, if they alone decide the verdict."""
        holds = self.verdict == HOLDS
        deciding = [part for part in self.parts if part.close and part.holds == holds]
        others = [part for part in self.parts if not part.holds and not part.close]
        if others and not holds:
            return ""
        return "; ".join(f"{part.text}: {_seeds_text(part.numbers)}" for part in deciding)

    def record(self) -> dict[str, Any]:
        """The verdict as JSON values."""
        seeds, of_seeds = self.seeds or (None, None)
        lines = {
            f"{curves.panel.name}, {curves.line.name}": list(curves.seeds)
            for _, curves in self.used
        }
        return {
            "id": self.claim.id,
            "verdict": self.verdict,
            "claim": self.claim.text,
            "figure": self.claim.study,
            "seeds": seeds,
            "of_seeds": of_seeds,
            "recorded_on": self.recorded_on,
            "rests_on": lines,
            "parts": [part._asdict() for part in self.parts],
            "why": self.why,
            "chosen_after_results": self.claim.late_choice,
            "knife_edge": self.knife_edge,
        }


def judge(claim: Claim, evidence: Evidence) -> JudgedClaim:
    """Judge a claim: it holds if all of its parts do."""
    own_evidence = replace(evidence, used=[])
    try:
        parts = tuple(part for rule in claim.rules for part in rule(own_evidence))
    except NotRecorded as error:
        return JudgedClaim(claim, NOT_RUN, why=error.message)
    verdict = HOLDS if all(part.holds for part in parts) else DOES_NOT_HOLD
    return JudgedClaim(claim, verdict, parts, used=tuple(own_evidence.used))


def write_claims(judged: Sequence[JudgedClaim], folder: Path) -> None:
    """Write the verdicts as JSON."""
    text = json.dumps([claim.record() for claim in judged], indent=1, ensure_ascii=False)
    write_atomically(folder / CLAIMS_FILE, f"{text}\n".encode())


# --- The rules: agents achieve a task or fail, end below others, learn before others

AS_FAST = 1.5
"""Two numbers of episodes count as about the same within this factor, or if they are neighbouring
evaluations."""


def success(evidence: Evidence, panel: str, line: str) -> dict[str, float]:
    """The success of an agent's final evaluations.

    `share_from` and `share_to` are Wilson's 95 % interval of the share of seeds that solve the
    task.
    """
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


def _seeds_text(numbers: Mapping[str, Any]) -> str:
    share = f"{numbers['share_from']:.0%} to {numbers['share_to']:.0%}"
    achieving = f"{numbers['seeds_achieving']} of {numbers['seeds']} seeds achieve it"
    return f"{achieving} (95 % interval of the share: {share})"


@rule
def achieve(
    evidence: Evidence, panel: str, *lines: str, expected: bool = True
) -> Iterator[ClaimPart]:
    """Each agent achieves the panel's task, or fails if `expected` is False."""
    for line in lines:
        numbers = success(evidence, panel, line)
        needed = int(numbers["seeds"]) // 2 + 1
        yield ClaimPart(
            f"{line} {'achieves' if expected else 'does not achieve'} {panel}",
            (numbers["median_success"] == 1) == expected,
            numbers,
            close=numbers["seeds_achieving"] in (needed - 1, needed),
        )


def fail(panel: str, *lines: str) -> Rule:
    """The opposite of `achieve`."""
    return achieve(panel, *lines, expected=False)


@rule
def end_below(
    evidence: Evidence,
    panel: str,
    lower: Sequence[str],
    higher: Sequence[str],
    *,
    named: bool = False,
) -> Iterator[ClaimPart]:
    """The final median return of each lower agent is below that of every higher agent.

    If `named`, the text includes the panel.
    """
    on_panel = f" on {panel}" if named else ""
    for line in lower:
        finals = {name: evidence.medians(panel, name)[-1] for name in (line, *higher)}
        holds = finals[line] < min(finals[name] for name in higher)
        yield ClaimPart(f"{line} ends below {', '.join(higher)}{on_panel}", holds, finals)


@rule
def learn_before(
    evidence: Evidence, panel: str, first: Sequence[str], later: Sequence[str]
) -> Iterator[ClaimPart]:
    """Every one of the first agents learns with no more episodes than any of the later agents."""
    needed = {line: evidence.training(panel, line) for line in (*first, *later)}
    latest = max(or_never(needed[line]) for line in first)
    soonest = min(or_never(needed[line]) for line in later)
    text = f"{', '.join(first)} before {', '.join(later)} on {panel}"
    yield ClaimPart(text, latest <= soonest and latest < inf, needed)


@rule
def learn_as_fast(evidence: Evidence, panel: str, line: str, other: str) -> Iterator[ClaimPart]:
    """Two agents need about the same number of episodes."""
    needed = {name: evidence.training(panel, name) for name in (line, other)}
    low, high = sorted(map(or_never, needed.values()))
    interval = float(np.diff(evidence.curves(panel, line).at).max())
    close = high <= max(AS_FAST * low, low + interval)
    yield ClaimPart(f"{line} about as fast as {other}", close and high < inf, needed)


def or_never(episodes: int | None) -> float:
    """The number of episodes; None is infinity."""
    return inf if episodes is None else episodes
