"""The results of a line: the folders of its runs, their evaluations as arrays, when its task counts as learnt, and all of it as tidy tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UnknownName
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.statistics import (
    Numbers,
    Quartiles,
    episodes_to,
    interquartile_mean,
    quartiles,
)
from pdrm.files import write_atomically
from pdrm.language.loading import catalogue
from pdrm.learning.evaluation import UNIT_OF, check_axes, find_successes
from pdrm.learning.run import Run, Runs
from pdrm.learning.run_folder import RunSpec
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.drawing.plots import CurveLine


# --- The folders of a study's runs, each named after its run and the hash of its spec.

RUNS = "runs"
MAX_POLICY_BYTES = 5_000_000
"""Bytes of a policy that a study keeps; of a larger one the hash stays."""


@dataclass(frozen=True, slots=True)
class Store:
    """The runs in a folder.

    >>> from pdrm.learning.agents import QLearning
    >>> from pdrm.task import Task
    >>> spec = RunSpec(Task("letter"), QLearning(k=1, episodes=10), seed=3)
    >>> run = Store(Path("runs")).run(spec)
    >>> run.folder.name == spec.name, run.done
    (True, False)
    """

    root: Path

    @classmethod
    def below(cls, folder: Path) -> Store:
        """The store of a study's output folder."""
        return cls(folder / RUNS)

    def run(self, spec: RunSpec) -> Run:
        """The run of a spec, done or not."""
        return Run(spec, self.root / spec.name)


# --- The recorded curves of a line: the evaluations of all its seeds as arrays.

WATER_MACHINES, WATER_RETURNS = ("water", "water-strict"), (0.0, 116_001.0)
"""Both pay 1,000 for each of eight balls collected and delivered, 1 for the last one collected and 100,000 for the end."""


class TitledStudy(Protocol):
    """The part of a study that its tables and its page need in addition to its lines."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curves:
    """A line's evaluations: S seeds, T evaluations, E episodes per evaluation."""

    panel: Panel
    line: AgentLine
    seeds: tuple[int, ...]
    unit: str
    """The unit of training: episodes or timesteps."""
    at: npt.NDArray[np.int64]
    """[T]: training before each evaluation."""
    returns: Numbers
    """[S, T, E], raw."""
    steps: Numbers
    """[S, T, E]"""
    success: Numbers
    """[S, T, E]: 1 if the task was solved, else 0; or the share of episodes, if only means were kept (E is 1 then)."""
    lowest: float
    highest: float
    """The range of returns that the task allows; nan if it is not known."""
    recorded_on: str = ""
    """The device that the runs were made on, if they came with the package."""
    across: Numbers | None = None
    """[S, T]: training before each evaluation in the other unit (of episodes and timesteps)."""
    runs: Runs = field(default_factory=Runs)
    """The runs, one per seed; none if they came with the package."""

    def __repr__(self) -> str:
        return f"<Curves of {self.line.name} on {self.panel.name}: {len(self.seeds)} seeds, {len(self.at)} tests>"

    @property
    def scaled(self) -> bool:
        """True if the range of returns is known."""
        return bool(np.isfinite(self.lowest) and np.isfinite(self.highest))

    @property
    def achieving(self) -> int:
        """The number of seeds of which every episode of the final evaluation solved the task."""
        return int((self.final_success == 1).sum())

    @property
    def normalised(self) -> Numbers:
        """[S, T, E]: returns mapped linearly so that the lowest is -1 and the highest 1; nan if these are not known."""
        return 2 * (self.returns - self.lowest) / (self.highest - self.lowest) - 1

    def to_plot(self, x: str | None = None, y: str = "return") -> CurveLine:
        """The line of a plot: medians and quartiles over the seeds, of returns (normalised to [-1, 1] if their range is known) or of
        success, by training in "steps" or "episodes" (default: the agent's unit)."""
        from pdrm.drawing.plots import NORMALISED, CurveLine

        check_axes(x, y)
        unit, at = self.unit if x is None else UNIT_OF[x], self.at
        if unit != self.unit:
            if self.across is None:
                raise UnknownName(
                    f"the {x} of {self.line.name} were not recorded", fix="leave x out"
                )
            at = self.across.mean(axis=0).astype(np.int64)
        values, optimum, shown = self.returns, self.highest, y
        if y == "success":
            values, optimum = self.success, nan  # not known: a goal may be out of reach
        elif self.scaled:
            values, optimum, shown = self.normalised, 1.0, NORMALISED
        return CurveLine(
            self.line.name,
            self.panel.heading,
            unit,
            at,
            *self.quartiles(values),
            shown,
            self.line.key,
            dashed=self.line.ours,
            optimum=optimum if np.isfinite(optimum) else None,
        )

    def quartiles(self, values: Numbers) -> Quartiles:
        """[T] each: over the seeds; an evaluation counts by the mean of its episodes."""
        return quartiles(values.mean(axis=2))

    @property
    def median(self) -> Numbers:
        """[T]: the median return over the seeds."""
        return self.quartiles(self.returns).median

    @property
    def final_median(self) -> float:
        """The median over the seeds of the final evaluation's return."""
        return float(self.median[-1])

    @property
    def final_returns(self) -> Numbers:
        """[S]: for each seed, the mean return of its final evaluation."""
        returns: Numbers = self.returns[:, -1].mean(axis=1)
        return returns

    @property
    def final_success(self) -> Numbers:
        """[S]: for each seed, the share of its final evaluation's episodes that solved the task."""
        shares: Numbers = self.success[:, -1].mean(axis=1)
        return shares


def curves_of(panel: Panel, line: AgentLine, seeds: Sequence[int], store: Store) -> Curves | None:
    """The curves of a line's runs that are done; None if no run is."""
    return gather(panel, line, [store.run(spec) for spec in panel.specs(line, seeds)])


def gather(panel: Panel, line: AgentLine, runs: Sequence[Run]) -> Curves | None:
    """The curves of a line, of those of its runs that are done; None if no run is."""
    done = Runs(run for run in runs if run.done)
    if not done:
        return None
    found = [run.curve for run in done]
    by_steps = found[0].unit == "timesteps"
    across = [curve.episodes if by_steps else curve.timesteps for curve in found]
    return Curves(
        panel,
        line,
        tuple(run.spec.seed for run in done),
        found[0].unit,
        found[0].at,
        np.array([curve.returns for curve in found]),
        np.array([curve.steps for curve in found]),
        np.array([find_successes(curve.ends, panel.task.success) for curve in found]),
        *return_range(panel.task),
        across=np.array(across, np.float64),
        runs=done,
    )


def by_panel(curves: Iterable[Curves]) -> list[list[Curves]]:
    """The lines of each panel."""
    return [list(lines) for _, lines in groupby(curves, key=lambda one: id(one.panel))]


def return_range(task: Task) -> tuple[float, float]:
    """The lowest and the highest return that a task allows; nan if it is not known.

    >>> return_range(Task("water-20")), return_range(Task("letter"))
    ((0.0, 116001.0), (-3.0, 0.91))
    """
    if isinstance(task.domain, FiniteDomain):
        tested = task.domain.tested_on[0]
        lowest, highest = tested.lowest, tested.highest
        return nan if lowest is None else lowest, nan if highest is None else highest
    known = task.catalogued and any(task.machine == catalogue(name) for name in WATER_MACHINES)
    return WATER_RETURNS if known else (nan, nan)


SHARE = 0.9
"""Of the way from the lowest return there is to the best final median."""


def learnt_at(lines: Sequence[Curves]) -> float:
    """The return at which the task of a panel counts as learnt, by the agents that set the measure."""
    lowest = lines[0].lowest
    return lowest + SHARE * (max(curves.final_median for curves in lines) - lowest)


def training_to_learn(curves: Curves, threshold: float) -> int | None:
    """The training until an agent's median return is at the threshold; None if it never is."""
    return episodes_to(curves.at, curves.median, threshold)


# --- Tables: `curves.csv` has a row per evaluation of a run, `summary.csv` a row per evaluation of a line.

CURVES, SUMMARY = "curves.csv", "summary.csv"


class LineRow(NamedTuple):
    """An evaluation of a line, over its seeds."""

    study: str
    panel: str
    line: str
    agent: str
    k: int | str
    ours: str
    """`yes` if it is not in the paper."""
    seeds: int
    unit: str
    """Of training: episodes or timesteps."""
    at: int
    """Training before it."""
    return_25: float
    return_50: float
    return_75: float
    """Quartiles over the seeds of the mean return."""
    normalised_25: float
    normalised_50: float
    normalised_75: float
    normalised_iqm: float
    success: float
    """The share of its episodes that solved the task."""

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns, without those that only a file needs."""
        every = self._asdict().items()
        return {name: one for name, one in every if not name.startswith(("normalised", "ours"))}


class CurveRow(NamedTuple):
    """An evaluation of a run: means over its episodes."""

    study: str
    panel: str
    line: str
    agent: str
    k: int | str
    ours: str
    """`yes` if it is not in the paper."""
    seed: int
    episodes: float
    timesteps: float
    """Training before it, in both units; nan if one was not recorded."""
    mean_return: float
    """`return` in `curves.csv`, and in a frame."""
    normalised: float
    """From -1, the lowest return that the task allows, to 1, the highest; nan if the domain does not give them."""
    steps: float
    success: float

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return dict(zip(CURVE_COLUMNS, self, strict=True))


CURVE_COLUMNS = [name.replace("mean_", "") for name in CurveRow._fields]


def curve_rows(study: TitledStudy, curves: Curves) -> Iterator[CurveRow]:
    """A row for each evaluation of each run of a line."""
    about = _describe_line(study, curves)
    values = (curves.returns, curves.normalised, curves.steps, curves.success)
    means = [value.mean(axis=2) for value in values]
    for s, seed in enumerate(curves.seeds):
        for t, at in enumerate(curves.at.tolist()):
            other = nan if curves.across is None else float(curves.across[s, t])
            training = (other, at) if curves.unit == "timesteps" else (at, other)
            yield CurveRow(*about, seed, *training, *(float(value[s, t]) for value in means))


def line_rows(study: TitledStudy, curves: Curves) -> list[LineRow]:
    """A row for each evaluation of a line."""
    about = _describe_line(study, curves)
    raw, normalised = curves.quartiles(curves.returns), curves.quartiles(curves.normalised)
    scores = interquartile_mean(curves.normalised.mean(axis=2).T)
    parts = (*raw, *normalised, scores, curves.success.mean(axis=(0, 2)))
    return [
        LineRow(*about, len(curves.seeds), curves.unit, at, *values)
        for at, *values in zip(curves.at.tolist(), *(part.tolist() for part in parts), strict=True)
    ]


def _describe_line(study: TitledStudy, curves: Curves) -> tuple[str, str, str, str, int | str, str]:
    """The columns that both tables begin with."""
    panel, line = curves.panel, curves.line
    ours = "yes" if line.ours else "no"
    return study.name, panel.name, line.name, line.agent_name, panel.agent(line).k, ours


def write_tables(lines: Sequence[tuple[TitledStudy, Curves]], folder: Path) -> None:
    """Write both tables."""
    tests = [row for study, curves in lines for row in curve_rows(study, curves)]
    summary = [row for study, curves in lines for row in line_rows(study, curves)]
    _write(folder / CURVES, CURVE_COLUMNS, tests)
    _write(folder / SUMMARY, LineRow._fields, summary)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for row in rows:
        table.writerow(f"{one:.9g}" if isinstance(one, float) else one for one in row)
    write_atomically(path, text.getvalue().encode())
