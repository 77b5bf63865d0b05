"""A study from start to end in one call: its runs, then the tables of what they recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves, recorded, write_tables
from pdrm.experiments.execution import Failure, Workers, planned, run_all
from pdrm.experiments.store import FAILURE, Store
from pdrm.experiments.study import Study, keep_studies
from pdrm.files import ensure_folder

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

    What is wrong with a panel or a line is raised before anything runs. A run that fails is among the `failures`, and the
    others go on; `NotRecorded` if all of them fail and nothing is recorded.

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
    chosen = Workers(count=workers) if isinstance(workers, int) else workers
    runs, store = planned(studies), store_in(Path(folder))
    if not all(store.done(run.spec) for run in runs):
        for one in studies:
            one.check()
    place = ensure_folder(Path(folder))
    outcome = recorded_outcome(studies, place, run_all(runs, store, chosen))
    if outcome.failures and not outcome.lines:
        first = outcome.failures[0]
        fault = f"all {len(runs)} runs failed, so nothing is recorded. {first.run.title}: {first.sentence}"
        raise NotRecorded(fault, fix=f"see {store.folder(first.run.spec) / FAILURE}, then run it again")
    return outcome


def recorded_outcome(studies: Sequence[Study], folder: Path, failures: list[Failure]) -> Outcome:
    """Read what is recorded, write the tables, and keep what the studies are."""
    store = store_in(folder)
    lines = recorded(studies, store)
    write_tables(lines, folder)
    keep_studies(studies, folder, store)
    return Outcome(folder, lines, failures)
