"""Runs as they came with the package, for where a line has none of its own: WaterWorld's, which need a GPU, and those of study `ours`.

`recorded/` has a table for each program that was run (a row per test: the means over its episodes) and beside it a JSON file
that says how it was made: command, device, seconds, settings. The readings of WaterWorld's physics ran as one, and their table
says which study a row is of. `keep_record` writes the record of a study from its runs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pdrm import __version__
from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves, Origin, curves_of, return_range
from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files import write_atomically

FOLDER = Path(__file__).parent / "recorded"
PREFIX = {"water": "water-printed"}
"""How the files of a study begin, where not with its name."""
READINGS = "water-readings.csv"
"""Rows of several studies."""
VALUES = ("return", "steps", "achieved")
UNITS = ("timesteps", "episodes")
"""What training is counted in: a column of the table."""
Tests = dict[tuple[int, int], list[float]]
"""(training, seed) -> the values of a test."""


class Record(NamedTuple):
    """What is recorded of a line."""

    tests: Tests
    unit: str
    origin: Origin


def known_curves(study: Study, panel: Panel, line: Line, store: Store) -> Curves | None:
    """What is known of a line: its runs in the store, or else those that came with the package; None: nothing."""
    return curves_of(panel, line, study.seed_numbers, store) or recorded_curves(study, panel, line)


def known_lines(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies of which something is known, in order."""
    found = (
        (study, known_curves(study, panel, line, store))
        for study in studies
        for panel, line in study.lines()
    )
    return [(study, curves) for study, curves in found if curves is not None]


def recorded_curves(study: Study, panel: Panel, line: Line) -> Curves | None:
    """The runs of a line that came with the package, all their seeds; a test is its mean. None: there are none.

    >>> from pdrm.paper.figures import WATER
    >>> curves = recorded_curves(WATER, WATER.panels[0], WATER.panels[0].lines[0])
    >>> curves.returns.shape, curves.unit, curves.origin.device
    ((10, 31, 1), 'timesteps', 'NVIDIA H200, JAX 0.11.2')
    """
    found = _recorded(study.name).get((panel.task.name, line.name))
    if found is None:
        return None
    times, seeds = (sorted(set(values)) for values in zip(*found.tests, strict=True))
    values = np.array([[found.tests[at, seed] for at in times] for seed in seeds])
    returns, steps, success = (values[:, :, [place]] for place in range(len(VALUES)))
    lowest, highest = return_range(panel.task)
    at, unit = np.array(times), found.unit
    return Curves(
        panel, line, tuple(seeds), unit, at, returns, steps, success, lowest, highest, found.origin
    )


def keep_record(study: Study, store: Store, name: str, command: str, device: str) -> None:
    """Write the record of a study's runs, all of which must be done, into the package. name: of the files; device: where they ran."""
    lines = []
    for panel, line in study.lines():
        curves = curves_of(panel, line, study.seed_numbers, store)
        if curves is None or len(curves.seeds) < len(study.seed_numbers):
            raise NotRecorded(
                f"{panel.name}, {line.name}: not every seed is done",
                fix=f"pdrm reproduce {study.name}",
            )
        lines.append(curves)
    rows, runs = io.StringIO(), [store.run(spec) for _, _, spec in study.runs()]
    table = csv.writer(rows, lineterminator="\n")
    table.writerow(("domain", "line", "seed", lines[0].unit, *VALUES))
    for curves in lines:
        means = [values.mean(axis=2) for values in (curves.returns, curves.steps, curves.success)]
        for s, seed in enumerate(curves.seeds):
            for t, at in enumerate(curves.at.tolist()):
                found = (f"{values[s, t]:.9g}" for values in means)
                table.writerow((curves.panel.task.name, curves.line.name, seed, at, *found))
    about = {
        "study": study.name,
        "command": command,
        "device": device,
        "version": __version__,
        "seconds": round(sum(float(run.timing["seconds"]) for run in runs), 1),
        "runs": len(runs),
        "timesteps": sum(int(run.result["steps"]) for run in runs),
    }
    write_atomically(FOLDER / f"{study.name}-{name}.csv", rows.getvalue().encode())
    write_atomically(
        FOLDER / f"{study.name}-{name}.json", (json.dumps(about, indent=1) + "\n").encode()
    )
    _recorded.cache_clear()


@cache
def _recorded(study: str) -> dict[tuple[str, str], Record]:
    """What came with the package of a study, by domain and line."""
    found: dict[tuple[str, str], Record] = {}
    for path in sorted([*FOLDER.glob(f"{PREFIX.get(study, study)}-*.csv"), FOLDER / READINGS]):
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        origin = Origin(**{name: about[name] for name in Origin._fields if name in about})
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row.get("study", study) != study:
                    continue
                unit = next(name for name in UNITS if name in row)
                record = found.setdefault((row["domain"], row["line"]), Record({}, unit, origin))
                record.tests[int(row[unit]), int(row["seed"])] = [
                    float(row[name]) for name in VALUES
                ]
    return found
