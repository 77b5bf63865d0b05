"""Everything recorded, as tidy tables: `curves.csv` has a row a test of a run, `summary.csv` a row a test of a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pdrm.experiments.curves import Curves, curves_of
from pdrm.experiments.statistics import interquartile_mean
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files.whole_file import write

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
        write(folder / name, text.getvalue().encode())


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
