"""The recorded curves of a line: the evaluations of all its seeds as arrays, and when its task counts as learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import NotHere, NotRecorded
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.statistics import Numbers, Quartiles, episodes_to, quartiles
from pdrm.experiments.store import Store
from pdrm.language.loading import catalogue
from pdrm.learning.evaluation import UNIT_OF, check_axes, find_successes
from pdrm.learning.run import Runs
from pdrm.learning.run_folder import RunSpec
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.drawing.curve_plots import CurveLine

WATER_MACHINES, WATER_RETURNS = ("water", "water-strict"), (0.0, 116_001.0)
"""Both pay 1,000 for each of eight balls collected and delivered, 1 for the last one collected and 100,000 for the end."""


class TitledStudy(Protocol):
    """The part of a study that its tables and its page need in addition to its lines."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...


class Origin(NamedTuple):
    """The origin of runs that came with the package."""

    device: str
    command: str
    seconds: float
    """For all runs of the command's program, side by side."""
    timesteps: int
    """In all of these runs."""
    version: str = "0.1"
    """Of pdrm."""


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
    origin: Origin | None = None
    """The origin of the runs, if they came with the package."""
    across: Numbers | None = None
    """[S, T]: training before each evaluation in the other unit (of episodes and timesteps)."""
    store: Store | None = None
    """The store of the runs."""

    def __repr__(self) -> str:
        return f"<Curves of {self.line.name} on {self.panel.name}: {len(self.seeds)} seeds, {len(self.at)} tests>"

    @property
    def specs(self) -> list[RunSpec]:
        """The runs, one per seed."""
        return self.panel.specs(self.line, self.seeds)

    @property
    def runs(self) -> Runs:
        """The runs, one per seed."""
        if self.store is None:
            raise NotRecorded("these runs came with the package", fix="pdrm reproduce")
        return Runs(self.store.run(spec) for spec in self.specs)

    def training(self, x: str | None = None) -> Numbers:
        """[T]: training before each evaluation, in "steps" or "episodes" (default: the agent's unit), the mean over the seeds."""
        if x is None or UNIT_OF[x] == self.unit:
            return self.at.astype(np.float64)
        if self.across is None:
            raise NotHere(f"the {x} of {self.line.name} were not recorded", fix="leave x out")
        mean: Numbers = self.across.mean(axis=0)
        return mean

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
        success."""
        from pdrm.drawing.curve_plots import CurveLine

        check_axes(x, y)
        values, optimum = self.returns, self.highest
        if y == "success":
            values, optimum = self.success, 1.0
        elif self.scaled:
            values, optimum = self.normalised, 1.0
        return CurveLine(
            self.line.name,
            self.panel.heading,
            self.unit if x is None else UNIT_OF[x],
            self.training(x).astype(np.int64),
            *self.quartiles(values),
            self.scaled and y == "return",
            self.line.key,
            dashed=self.line.ours,
            quantity=y,
            optimum=optimum if np.isfinite(optimum) else None,
        )

    def quartiles(self, values: Numbers) -> Quartiles:
        """[T] each: over the seeds; an evaluation counts by the mean of its episodes."""
        return quartiles(values.mean(axis=2))

    @property
    def final_quartiles(self) -> tuple[float, float, float]:
        """The quartiles over the seeds of the final evaluation's return."""
        low, middle, high = (float(part[-1]) for part in self.quartiles(self.returns))
        return low, middle, high

    @property
    def final_median(self) -> float:
        """The median over the seeds of the final evaluation's return."""
        return self.final_quartiles[1]

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

    @property
    def final_scores(self) -> Numbers:
        """[S]: for each seed, the mean normalised return of its final evaluation."""
        scores: Numbers = self.normalised[:, -1].mean(axis=1)
        return scores


def curves_of(panel: Panel, line: AgentLine, seeds: Sequence[int], store: Store) -> Curves | None:
    """The curves of a line's runs that are done; None if no run is."""
    done = [spec for spec in panel.specs(line, seeds) if store.done(spec)]
    if not done:
        return None
    runs = [store.run(spec).curve for spec in done]
    by_steps = runs[0].unit == "timesteps"
    across = [run.episodes if by_steps else run.timesteps for run in runs]
    return Curves(
        panel,
        line,
        tuple(spec.seed for spec in done),
        runs[0].unit,
        runs[0].at,
        np.array([run.returns for run in runs]),
        np.array([run.steps for run in runs]),
        np.array([find_successes(run.ends, panel.task.success) for run in runs]),
        *return_range(panel.task),
        across=np.array(across, np.float64),
        store=store,
    )


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
    return episodes_to(curves.at, curves.quartiles(curves.returns).median, threshold)
