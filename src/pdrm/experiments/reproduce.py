"""A study from start to end in one call: its runs, then the tables of what they recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdrm.experiments.backends import Workers
from pdrm.experiments.curves import Curves
from pdrm.experiments.execute import Failure, run_all
from pdrm.experiments.plan import planned
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.experiments.tables import recorded, write_tables
from pdrm.files.folder import made

RUNS = "runs"


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came of some studies: their recorded lines, and the runs that failed."""

    folder: Path
    lines: list[tuple[Study, Curves]]
    failures: list[Failure]


def store_in(folder: Path) -> Store:
    """The store of an output folder."""
    return Store(folder / RUNS)


def run_study(study: Study | Sequence[Study], folder: str | os.PathLike[str], workers: Workers | int = 1) -> Outcome:
    """Run what is not done yet, in `folder`/runs, and write `folder`/curves.csv and summary.csv.

    >>> from pdrm.experiments.study import Line, Panel
    >>> import tempfile
    >>> line = Line(name="1-pdRM", agent="q", settings={"episodes": 200})
    >>> study = Study(name="mine", panels=(Panel(name="letter", domain="letter", lines=(line,)),), seeds=(0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_study(study, folder)
    >>> outcome.failures, [curves.returns.shape for _, curves in outcome.lines]
    ([], [(2, 2, 10)])
    """
    studies = [study] if isinstance(study, Study) else list(study)
    place = made(Path(folder))
    chosen = Workers(count=workers) if isinstance(workers, int) else workers
    failures = run_all(planned(studies), store_in(place), chosen)
    return recorded_outcome(studies, place, failures)


def recorded_outcome(studies: Sequence[Study], folder: Path, failures: list[Failure]) -> Outcome:
    """Read what is recorded and write the tables."""
    lines = recorded(studies, store_in(folder))
    write_tables(lines, folder)
    return Outcome(folder, lines, failures)
