"""What was recorded: the tests of a line, all its seeds, as arrays; when a task counts as learnt; tidy tables."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadRunFolder
from pdrm.experiments.statistics import Numbers, Quartiles, episodes_to, interquartile_mean, quartiles
from pdrm.experiments.store import RESULT, Store
from pdrm.experiments.study import Line, Panel, Study
from pdrm.files import write_atomically
from pdrm.learning.tabular.run import CURVE

# --- What was recorded: the tests of a line, all its seeds, as arrays over seeds, tests and test episodes.


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


# --- When an agent counts as having learnt a task: the return it has to reach, and the training episodes it took to.

SHARE = 0.9
"""Of the way from the lowest return there is to the best final median."""


def learnt_at(lines: Sequence[Curves]) -> float:
    """The return at which the task of a panel counts as learnt, by the agents that set the measure."""
    lowest = lines[0].lowest
    return lowest + SHARE * (max(curves.final_median for curves in lines) - lowest)


def episodes_to_learn(curves: Curves, threshold: float) -> int | None:
    """The training episodes until an agent's median return is at the threshold; None: it never is."""
    return episodes_to(curves.episode, curves.quartiles(curves.returns).median, threshold)


# --- Everything recorded, as tidy tables: `curves.csv` has a row a test of a run, `summary.csv` a row a test of a line.

CURVES, SUMMARY = "curves.csv", "summary.csv"
LINE = ("study", "panel", "line", "agent", "k", "ours")
CURVE_COLUMNS = (*LINE, "seed", "episode", "return", "normalised", "steps", "success")
SUMMARY_COLUMNS = (
    *LINE,
    *("seeds", "episode", "return_25", "return_50", "return_75"),
    *("normalised_25", "normalised_50", "normalised_75", "normalised_iqm", "success"),
)


def recorded(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies that have runs, in order."""
    found = []
    for study in studies:
        for panel in study.panels:
            for line in panel.lines:
                curves = curves_of(panel, line, study.seeds, store)
                if curves is not None:
                    found.append((study, curves))
    return found


def write_tables(lines: list[tuple[Study, Curves]], folder: Path) -> None:
    """Write both tables."""
    for name, columns, rows in ((CURVES, CURVE_COLUMNS, _curves), (SUMMARY, SUMMARY_COLUMNS, _summary)):
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(columns)
        for study, curves in lines:
            table.writerows([*_line(study, curves), *row] for row in rows(curves))
        write_atomically(folder / name, text.getvalue().encode())


def _line(study: Study, curves: Curves) -> list[Any]:
    line = curves.line
    return [study.name, curves.panel.name, line.name, line.agent, line.k, "yes" if line.ours else "no"]


def _curves(curves: Curves) -> Iterator[list[Any]]:
    """Means over the episodes of a test."""
    means = [values.mean(axis=2) for values in (curves.returns, curves.normalised, curves.steps, curves.success)]
    for s, seed in enumerate(curves.seeds):
        for t, episode in enumerate(curves.episode.tolist()):
            yield [seed, episode, *(_short(float(values[s, t])) for values in means)]


def _summary(curves: Curves) -> Iterator[list[Any]]:
    raw, mapped = curves.quartiles(curves.returns), curves.quartiles(curves.normalised)
    scores, success = curves.normalised.mean(axis=2), curves.success.mean(axis=(0, 2))
    for t, episode in enumerate(curves.episode.tolist()):
        found = [part[t] for part in (*raw, *mapped)]
        values = [*found, interquartile_mean(scores[:, t]), success[t]]
        yield [len(curves.seeds), episode, *(_short(float(value)) for value in values)]


def _short(value: float) -> str:
    return f"{value:.9g}"
