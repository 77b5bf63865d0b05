"""The results of a line: its run folders, its evaluations as arrays, the training needed to learn
its task, and tables of all of these."""

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
from pdrm.domains.water import MACHINES as WATER_MACHINES
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


# --- The folders of a study's runs, named after the run and the hash of its spec

RUNS = "runs"
MAX_POLICY_BYTES = 5_000_000
"""Maximum size of the policies that a study keeps. Of larger policies only the hash is kept."""


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
        """The run of a spec, finished or not."""
        return Run(spec, self.root / spec.name)


# --- The recorded curves of a line: the evaluations of all its seeds as arrays

WATER_RETURNS = (0.0, 116_001.0)
"""The range of returns of both machines. The rewards are 1,000 for each of eight balls collected
and delivered, 1 for the last ball collected and 100,000 for the end."""


class TitledStudy(Protocol):
    """The attributes of a study that its tables and its page need."""

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
    """[S, T, E]: 1 if the task was solved, otherwise 0. If only means are known, E is 1 and this is
    the share of episodes."""
    lowest: float
    highest: float
    """The range of returns that the task allows; nan if unknown."""
    recorded_on: str = ""
    """The device of the runs, if they came with the package."""
    across: Numbers | None = None
    """[S, T]: training before each evaluation in the other unit (episodes or timesteps)."""
    runs: Runs = field(default_factory=Runs)
    """The runs, one per seed; empty if they came with the package."""

    def __repr__(self) -> str:
        counts = f"seeds {len(self.seeds)}, evaluations {len(self.at)}"
        return f"<Curves of {self.line.name} on {self.panel.name}: {counts}>"

    @property
    def scaled(self) -> bool:
        """True if the range of returns is known."""
        return bool(np.isfinite(self.lowest) and np.isfinite(self.highest))

    @property
    def achieving(self) -> int:
        """The number of seeds with success in every episode of the final evaluation."""
        return int((self.final_success == 1).sum())

    @property
    def normalised(self) -> Numbers:
        """[S, T, E]: returns scaled linearly to [-1, 1]; nan if their range is unknown."""
        return 2 * (self.returns - self.lowest) / (self.highest - self.lowest) - 1

    def to_plot(self, x: str | None = None, y: str = "return") -> CurveLine:
        """The line of a plot: medians and quartiles over the seeds.

        Args:
            x: "steps" or "episodes" of training (default: the agent's unit).
            y: "return" (normalised to [-1, 1] if its range is known) or "success".
        """
        from pdrm.drawing.plots import NORMALISED, CurveLine

        check_axes(x, y)
        unit = self.unit if x is None else UNIT_OF[x]
        at = self.at
        if unit != self.unit:
            if self.across is None:
                fault = f"the {x} of {self.line.name} were not recorded"
                raise UnknownName(fault, fix="leave x out")
            at = self.across.mean(axis=0).astype(np.int64)
        values = self.returns
        optimum = self.highest
        axis = y
        if y == "success":
            values = self.success
            optimum = nan  # unknown: a goal may be out of reach
        elif self.scaled:
            values = self.normalised
            optimum = 1.0
            axis = NORMALISED
        return CurveLine(
            self.line.name,
            self.panel.heading,
            unit,
            at,
            *self.quartiles(values),
            axis,
            self.line.key,
            dashed=self.line.ours,
            optimum=optimum if np.isfinite(optimum) else None,
        )

    def quartiles(self, values: Numbers) -> Quartiles:
        """[T] each: quartiles over the seeds of the means over an evaluation's episodes."""
        return quartiles(values.mean(axis=2))

    @property
    def median(self) -> Numbers:
        """[T]: the median return over the seeds."""
        return self.quartiles(self.returns).median

    @property
    def final_median(self) -> float:
        """The median return of the final evaluations."""
        return float(self.median[-1])

    @property
    def final_returns(self) -> Numbers:
        """[S]: the mean return of each seed's final evaluation."""
        returns: Numbers = self.returns[:, -1].mean(axis=1)
        return returns

    @property
    def final_success(self) -> Numbers:
        """[S]: the success rate of each seed's final evaluation."""
        shares: Numbers = self.success[:, -1].mean(axis=1)
        return shares


def curves_of(panel: Panel, line: AgentLine, seeds: Sequence[int], store: Store) -> Curves | None:
    """The curves of a line's finished runs, or None if no run is finished."""
    return gather(panel, line, [store.run(spec) for spec in panel.specs(line, seeds)])


def gather(panel: Panel, line: AgentLine, runs: Sequence[Run]) -> Curves | None:
    """The curves of the finished ones among a line's runs, or None if no run is finished."""
    finished = Runs(run for run in runs if run.done)
    if not finished:
        return None
    curves = [run.curve for run in finished]
    unit = curves[0].unit
    across = [curve.episodes if unit == "timesteps" else curve.timesteps for curve in curves]
    return Curves(
        panel,
        line,
        tuple(run.spec.seed for run in finished),
        unit,
        curves[0].at,
        np.array([curve.returns for curve in curves]),
        np.array([curve.steps for curve in curves]),
        np.array([find_successes(curve.ends, panel.task.success) for curve in curves]),
        *return_range(panel.task),
        across=np.array(across, np.float64),
        runs=finished,
    )


def by_panel(curves: Iterable[Curves]) -> list[list[Curves]]:
    """The lines of each panel."""
    return [list(lines) for _, lines in groupby(curves, key=lambda line: id(line.panel))]


def return_range(task: Task) -> tuple[float, float]:
    """The lowest and the highest return that a task allows; nan if unknown.

    >>> return_range(Task("water-20")), return_range(Task("letter"))
    ((0.0, 116001.0), (-3.0, 0.91))
    """
    if isinstance(task.domain, FiniteDomain):
        domain = task.domain.tested_on[0]
        lowest = nan if domain.lowest is None else domain.lowest
        highest = nan if domain.highest is None else domain.highest
        return lowest, highest
    known = task.catalogued and any(task.machine == catalogue(name) for name in WATER_MACHINES)
    return WATER_RETURNS if known else (nan, nan)


LEARNT_SHARE = 0.9
"""A task counts as learnt at this share of the range from the lowest return to the best final
median."""


def learnt_at(lines: Sequence[Curves]) -> float:
    """The return at which a panel's task counts as learnt, relative to the best of these lines."""
    lowest = lines[0].lowest
    return lowest + LEARNT_SHARE * (max(curves.final_median for curves in lines) - lowest)


def training_to_learn(curves: Curves, threshold: float) -> int | None:
    """The training until the median return reaches the threshold, or None."""
    return episodes_to(curves.at, curves.median, threshold)


# --- Tables: a row of `curves.csv` is an evaluation of a run, a row of `summary.csv` one of a line

CURVES = "curves.csv"
SUMMARY = "summary.csv"


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
    """The unit of training: episodes or timesteps."""
    at: int
    """Training before the evaluation."""
    return_25: float
    return_50: float
    return_75: float
    """Quartiles over the seeds of the mean return."""
    normalised_25: float
    normalised_50: float
    normalised_75: float
    normalised_iqm: float
    success: float
    """The share of the episodes that solved the task."""

    def record(self) -> dict[str, Any]:
        """The row by column, without the columns that only the file needs."""
        columns = self._asdict().items()
        return {name: x for name, x in columns if not name.startswith(("normalised", "ours"))}


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
    """Training before the evaluation in both units; nan if not recorded."""
    mean_return: float
    """Column `return` in `curves.csv` and in a frame."""
    normalised: float
    """The return scaled to [-1, 1]; nan if the task's range of returns is unknown."""
    steps: float
    success: float

    def record(self) -> dict[str, Any]:
        """The row by column."""
        return dict(zip(CURVE_COLUMNS, self, strict=True))


CURVE_COLUMNS = [name.replace("mean_", "") for name in CurveRow._fields]


def curve_rows(study: TitledStudy, curves: Curves) -> Iterator[CurveRow]:
    """A row for each evaluation of each run of a line."""
    line_columns = _line_columns(study, curves)
    values = (curves.returns, curves.normalised, curves.steps, curves.success)
    means = [array.mean(axis=2) for array in values]
    for s, seed in enumerate(curves.seeds):
        for t, at in enumerate(curves.at.tolist()):
            other = nan if curves.across is None else float(curves.across[s, t])
            training = (other, at) if curves.unit == "timesteps" else (at, other)
            results = (float(value[s, t]) for value in means)
            yield CurveRow(*line_columns, seed, *training, *results)


def line_rows(study: TitledStudy, curves: Curves) -> list[LineRow]:
    """A row for each evaluation of a line."""
    line_columns = _line_columns(study, curves)
    columns = (
        curves.at,
        *curves.quartiles(curves.returns),
        *curves.quartiles(curves.normalised),
        interquartile_mean(curves.normalised.mean(axis=2).T),
        curves.success.mean(axis=(0, 2)),
    )
    return [
        LineRow(*line_columns, len(curves.seeds), curves.unit, *values)
        for values in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _line_columns(study: TitledStudy, curves: Curves) -> tuple[str, str, str, str, int | str, str]:
    """The first columns of both tables."""
    panel = curves.panel
    line = curves.line
    ours = "yes" if line.ours else "no"
    return study.name, panel.name, line.name, line.agent_name, panel.agent(line).k, ours


def write_tables(lines: Sequence[tuple[TitledStudy, Curves]], folder: Path) -> None:
    """Write both tables."""
    evaluations = [row for study, curves in lines for row in curve_rows(study, curves)]
    summary = [row for study, curves in lines for row in line_rows(study, curves)]
    _write(folder / CURVES, CURVE_COLUMNS, evaluations)
    _write(folder / SUMMARY, LineRow._fields, summary)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for row in rows:
        table.writerow(f"{x:.9g}" if isinstance(x, float) else x for x in row)
    write_atomically(path, text.getvalue().encode())
