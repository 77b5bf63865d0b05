"""What was recorded: the tests of a line, all its seeds, as arrays over seeds, tests and test episodes."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadRunFolder
from pdrm.experiments.statistics import Numbers, Quartiles, quartiles
from pdrm.experiments.store import RESULT, Store
from pdrm.experiments.study import Line, Panel
from pdrm.learning.tabular.run import CURVE


class Recorded(NamedTuple):
    """The tests of one run."""

    episode: npt.NDArray[np.int64]
    """[T]: training episodes before each test."""
    returns: Numbers
    """[T, E]: what each test episode paid."""
    steps: npt.NDArray[np.int64]
    """[T, E]: how long it was."""
    ends: npt.NDArray[np.str_]
    """[T, E]: the machine state in which it ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """A line's tests: S seeds, T tests, E episodes a test."""

    panel: Panel
    line: Line
    seeds: tuple[int, ...]
    episode: npt.NDArray[np.int64]
    """[T]"""
    returns: Numbers
    """[S, T, E], raw."""
    steps: npt.NDArray[np.int64]
    """[S, T, E]"""
    success: npt.NDArray[np.bool_]
    """[S, T, E]: whether the task was achieved."""
    lowest: float
    highest: float
    """The range of returns that the domain allows; nan where it is not known."""

    @property
    def normalised(self) -> Numbers:
        """[S, T, E]: returns mapped linearly so that the lowest is -1 and the highest 1."""
        return 2 * (self.returns - self.lowest) / (self.highest - self.lowest) - 1

    def quartiles(self, values: Numbers) -> Quartiles:
        """[T] each: over the seeds; a test counts by the mean of its episodes."""
        return quartiles(values.mean(axis=2))

    @property
    def final_median(self) -> float:
        """The median over the seeds of the final test's return."""
        return float(self.quartiles(self.returns).median[-1])

    @property
    def final_success(self) -> Numbers:
        """[S]: for each seed, the share of its final test's episodes that achieved the task."""
        shares: Numbers = self.success[:, -1].mean(axis=1)
        return shares

    @property
    def final_scores(self) -> Numbers:
        """[S]: for each seed, the mean normalised return of its final test."""
        scores: Numbers = self.normalised[:, -1].mean(axis=1)
        return scores


def curves_of(panel: Panel, line: Line, seeds: Sequence[int], store: Store) -> Curves | None:
    """What is recorded of a line; None: no run is done. Seeds that are not done are left out."""
    done = [spec for spec in panel.specs(line, seeds) if store.done(spec)]
    if not done:
        return None
    runs = [_recorded(store.folder(spec), str(store.result(spec)["curve_sha256"])) for spec in done]
    world = panel.world().tested_on[0]
    unknown = float("nan")
    return Curves(
        panel,
        line,
        tuple(spec.seed for spec in done),
        runs[0].episode,
        np.array([run.returns for run in runs]),
        np.array([run.steps for run in runs]),
        np.array([_achieved(run.ends, panel.achieved()) for run in runs]),
        unknown if world.lowest is None else world.lowest,
        unknown if world.highest is None else world.highest,
    )


def _achieved(ends: npt.NDArray[np.str_], states: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which ends are one of the states. An automaton that simulates a stack keeps the top symbol in its state: `home@d`.

    >>> _achieved(np.array(["home", "home@d", "lost@d"]), ["home"]).tolist()
    [True, True, False]
    """
    names = np.unique(ends)
    return np.isin(ends, [name for name in names if name in states or name.rpartition("@")[0] in states])


def _recorded(folder: Path, sha256: str) -> Recorded:
    """The curve's file of a run, if it is the one its result speaks of."""
    path = folder / CURVE
    fix = f"remove {folder} and run again"
    try:
        data = path.read_bytes()
        episode, _, returns, steps, ends = zip(*list(csv.reader(data.decode().splitlines()))[1:], strict=True)
        episodes = np.unique(np.array(episode, np.int64))
        shape = len(episodes), -1
        recorded = Recorded(
            episodes,
            np.array(returns, np.float64).reshape(shape),
            np.array(steps, np.int64).reshape(shape),
            np.array(ends).reshape(shape),
        )
    except (OSError, ValueError) as error:
        raise BadRunFolder(f"{path} is damaged: {error}", fix=fix) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BadRunFolder(f"{path} is not the curve that {RESULT} speaks of", fix=fix)
    return recorded
