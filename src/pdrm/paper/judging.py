"""A claim of the paper as a rule over recorded runs: it holds, does not hold, or was not run, with the numbers."""

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
    """The recorded curves of the paper's figures by panel and line, each read once."""

    folder: Path
    """The output folder of a reproduction."""
    seeds: int | None = None
    """Only the first n seeds of the runs in the folder (default: all)."""
    studies: Sequence[Study] = ()
    """Other readings of the paper: they replace the default studies with the same panels."""
    used: list[tuple[Study, Curves]] = field(default_factory=list)
    """The curves that were asked for."""
    _read: dict[tuple[str, str], Curves | None] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The runs in the folder."""
        return Store.below(self.folder)

    def curves(self, panel: str, line: str) -> Curves:
        """The record of a line; `NotRecorded` if there is none."""
        of, shown = self._panel(panel)
        if (panel, line) not in self._read:
            found = known_curves(of.seeded(self.seeds), shown, shown.line(line), self.store)
            self._read[panel, line] = found
        curves = self._read[panel, line]
        if curves is None:
            raise NotRecorded(f"{panel}, {line}: no run is recorded", fix=f"pdrm reproduce {panel}")
        self.used.append((of, curves))
        return curves

    @property
    def anything(self) -> bool:
        """True if a run of the paper's figures is in the folder."""
        runs = (run for one in self._studies() for run in one.seeded(self.seeds).runs())
        return any(self.store.run(spec).done for _, _, spec in runs)

    def medians(self, panel: str, line: str) -> list[float]:
        """The median return over the seeds, at each evaluation."""
        medians: list[float] = self.curves(panel, line).median.tolist()
        return medians

    def paper_lines(self, panel: str) -> list[str]:
        """The paper's own agents in a panel; all agents if the panel is ours."""
        lines = self._panel(panel)[1].lines
        return [line.name for line in lines if not line.ours] or [line.name for line in lines]

    def training(self, panel: str, line: str) -> int | None:
        """The training (episodes, timesteps) that an agent needed to learn the panel's task, or None."""
        curves = self.curves(panel, line)
        threshold = learnt_at([self.curves(panel, name) for name in self.paper_lines(panel)])
        return training_to_learn(curves, threshold)

    def _studies(self) -> list[Study]:
        return [*self.studies, *map(study, EVERY)]

    def _panel(self, name: str) -> tuple[Study, Panel]:
        shown = ((of, panel) for of in self._studies() for panel in of.panels)
        return next(one for one in shown if one[1].name == name)


# --- A claim: a sentence of the paper, and a rule that splits it into parts that hold or do not.
#
# "Achieves" means: in the median over the seeds, all episodes of the final evaluation solve the task. "Before" means: no more
# training episodes until the median return is 90 % of the way from the lowest return there is to the best final median of the
# paper's agents in that panel.

HOLDS, DOES_NOT_HOLD, NOT_RUN = "holds", "does not hold", "not run"


class ClaimPart(NamedTuple):
    """One part of a claim, and the numbers that it holds or fails by."""

    text: str
    holds: bool
    numbers: Mapping[str, Any]
    close: bool = False
    """True if a single seed decides it."""


Rule = Callable[[Evidence], Iterable[ClaimPart]]
"""The parts of a claim that one rule judges; it raises `NotRecorded` if a run is missing."""
About = ParamSpec("About")


def rule(
    judge: Callable[Concatenate[Evidence, About], Iterable[ClaimPart]],
) -> Callable[About, Rule]:
    """Make a rule of a function that judges evidence by panels and agents: given these, it is a rule."""

    def about(*given: About.args, **named: About.kwargs) -> Rule:
        return lambda evidence: judge(evidence, *given, **named)

    return about


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    id: str
    text: str
    study: str
    """The study whose figure shows it; empty if none does."""
    rules: tuple[Rule, ...]
    afterwards: str = ""
    """A choice made after seeing results, without which the verdict would be another."""


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its verdict, and the curves that the verdict rests on."""

    claim: Claim
    verdict: str
    parts: tuple[ClaimPart, ...] = ()
    why: str = ""
    """The reason why it was not run."""
    used: tuple[tuple[Study, Curves], ...] = ()

    @property
    def seeds(self) -> tuple[int, int] | None:
        """The seeds of the line with the fewest, and those of the paper's figure."""
        counts = [(len(curves.seeds), len(of.seed_numbers)) for of, curves in self.used]
        return min(counts, key=lambda count: (count[0] >= count[1], count), default=None)

    @property
    def recorded_on(self) -> str:
        """The devices of the packaged runs behind the verdict."""
        devices = {curves.recorded_on for _, curves in self.used}
        return ", ".join(sorted(devices - {""}))

    @property
    def knife_edge(self) -> str:
        """The parts that one seed decides, if the verdict rests on them alone."""
        holds = self.verdict == HOLDS
        deciding = [part for part in self.parts if part.close and part.holds == holds]
        others = [part for part in self.parts if not part.holds and not part.close]
        if others and not holds:
            return ""
        return "; ".join(f"{part.text}: {_seeds_text(part.numbers)}" for part in deciding)

    def record(self) -> dict[str, Any]:
        """The verdict as JSON values."""
        seeds, of_seeds = self.seeds or (None, None)
        lines = {f"{one.panel.name}, {one.line.name}": list(one.seeds) for _, one in self.used}
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
            "chosen_after_results": self.claim.afterwards,
            "knife_edge": self.knife_edge,
        }


def judge(claim: Claim, evidence: Evidence) -> JudgedClaim:
    """Judge a claim: it holds if all of its parts do."""
    asked = replace(evidence, used=[])
    try:
        parts = tuple(part for rule in claim.rules for part in rule(asked))
    except NotRecorded as error:
        return JudgedClaim(claim, NOT_RUN, why=error.message)
    verdict = HOLDS if all(part.holds for part in parts) else DOES_NOT_HOLD
    return JudgedClaim(claim, verdict, parts, used=tuple(asked.used))


def write_claims(judged: Sequence[JudgedClaim], folder: Path) -> None:
    """Write the verdicts as JSON."""
    text = json.dumps([one.record() for one in judged], indent=1, ensure_ascii=False)
    write_atomically(folder / CLAIMS_FILE, f"{text}\n".encode())


# --- The rules: agents solve a task or do not, end below others, learn before others.

AS_FAST = 1.5
"""The factor within which two numbers of episodes count as about the same; so do neighbouring evaluations."""


def success(evidence: Evidence, panel: str, line: str) -> dict[str, float]:
    """The success of an agent's final evaluations, with Wilson's 95 % interval of the share of seeds that solve the task."""
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
    """For each agent: in the median over the seeds, all episodes of the final evaluation solve the task; or, if that is expected, not."""
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
    """For each of the lower agents: the median return of its final evaluations is below those of the higher ones.

    named: say on which panel."""
    on = f" on {panel}" if named else ""
    for line in lower:
        finals = {name: evidence.medians(panel, name)[-1] for name in (line, *higher)}
        holds = finals[line] < min(finals[name] for name in higher)
        yield ClaimPart(f"{line} ends below {', '.join(higher)}{on}", holds, finals)


@rule
def learn_before(
    evidence: Evidence, panel: str, first: Sequence[str], later: Sequence[str]
) -> Iterator[ClaimPart]:
    """None of the later agents needs fewer episodes than one of the first."""
    needed = {line: evidence.training(panel, line) for line in (*first, *later)}
    latest = max(or_never(needed[line]) for line in first)
    soonest = min(or_never(needed[line]) for line in later)
    text = f"{', '.join(first)} before {', '.join(later)} on {panel}"
    yield ClaimPart(text, latest <= soonest and latest < inf, needed)


@rule
def learn_as_fast(evidence: Evidence, panel: str, one: str, other: str) -> Iterator[ClaimPart]:
    """Two agents need about the same number of episodes."""
    needed = {line: evidence.training(panel, line) for line in (one, other)}
    low, high = sorted(map(or_never, needed.values()))
    between_tests = float(np.diff(evidence.curves(panel, one).at).max())
    close = high <= max(AS_FAST * low, low + between_tests)
    yield ClaimPart(f"{one} about as fast as {other}", close and high < inf, needed)


def or_never(episodes: int | None) -> float:
    """The episodes, or infinity."""
    return inf if episodes is None else episodes
