"""Everything recorded, as tidy tables: `curves.csv` has a row per evaluation of a run, `summary.csv` a row per evaluation of a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from pdrm.experiments.curves import Curves, TitledStudy
from pdrm.experiments.statistics import interquartile_mean
from pdrm.files import write_atomically

CURVES, SUMMARY = "curves.csv", "summary.csv"


class ResultRow(NamedTuple):
    """The results of one line: over its seeds, and the episodes of their final evaluations."""

    study: str
    panel: str
    line: str
    seeds: int
    training: int
    """Before the final evaluation."""
    unit: str
    """Of training: episodes or timesteps."""
    return_25: float
    return_50: float
    return_75: float
    """Quartiles over the seeds of the final evaluation's mean return."""
    success: float
    """The share of these episodes that solved the task."""

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return self._asdict()


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
SUMMARY_COLUMNS = (
    *CurveRow._fields[:6],
    *("seeds", "unit", "at", "return_25", "return_50", "return_75"),
    *("normalised_25", "normalised_50", "normalised_75", "normalised_iqm", "success"),
)


def result_row(study: TitledStudy, curves: Curves) -> ResultRow:
    """The results of the final evaluations of a line."""
    return ResultRow(
        study.name,
        curves.panel.name,
        curves.line.name,
        len(curves.seeds),
        int(curves.at[-1]),
        curves.unit,
        *curves.final_quartiles,
        float(curves.final_success.mean()),
    )


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


def _summary_rows(study: TitledStudy, curves: Curves) -> Iterator[list[Any]]:
    about = _describe_line(study, curves)
    raw, normalised = curves.quartiles(curves.returns), curves.quartiles(curves.normalised)
    scores = interquartile_mean(curves.normalised.mean(axis=2).T)
    parts = (*raw, *normalised, scores, curves.success.mean(axis=(0, 2)))
    for at, *values in zip(curves.at.tolist(), *(part.tolist() for part in parts), strict=True):
        yield [*about, len(curves.seeds), curves.unit, at, *values]


def _describe_line(study: TitledStudy, curves: Curves) -> tuple[str, str, str, str, int | str, str]:
    """The columns that both tables begin with."""
    panel, line = curves.panel, curves.line
    ours = "yes" if line.ours else "no"
    return study.name, panel.name, line.name, line.agent_name, panel.agent(line).k, ours


def write_tables(lines: Sequence[tuple[TitledStudy, Curves]], folder: Path) -> None:
    """Write both tables."""
    tests = [row for study, curves in lines for row in curve_rows(study, curves)]
    summary = [row for study, curves in lines for row in _summary_rows(study, curves)]
    _write(folder / CURVES, CURVE_COLUMNS, tests)
    _write(folder / SUMMARY, SUMMARY_COLUMNS, summary)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for row in rows:
        table.writerow(f"{one:.9g}" if isinstance(one, float) else one for one in row)
    write_atomically(path, text.getvalue().encode())
