"""WaterWorld's full runs, which need a GPU, as they came with the package, for where a line has no runs of its own.

`recorded/` has a table for each program that was run (a row per test: the means over its episodes) and beside it a JSON file
that says how it was made: command, device, seconds, settings. The readings of WaterWorld's physics ran as one, and their table
says which study a row is of.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from pdrm.experiments.curves import Curves, Origin, curves_of, return_range
from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study

FOLDER = Path(__file__).parent / "recorded"
PREFIX = {"water": "water-printed"}
"""How the files of a study begin, where not with its name."""
READINGS = "water-readings.csv"
"""Rows of several studies."""
VALUES = ("return", "steps", "achieved")
Tests = dict[tuple[int, int], list[float]]
"""(timesteps, seed) -> the values of a test."""


def known_curves(study: Study, panel: Panel, line: Line, store: Store) -> Curves | None:
    """What is known of a line: its runs in the store, or else those that came with the package; None: nothing."""
    return curves_of(panel, line, study.seed_numbers, store) or recorded_curves(study, panel, line)


def known_lines(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies of which something is known, in order."""
    found = ((study, known_curves(study, panel, line, store)) for study in studies for panel, line in study.lines())
    return [(study, curves) for study, curves in found if curves is not None]


def recorded_curves(study: Study, panel: Panel, line: Line) -> Curves | None:
    """The runs of a line that came with the package, all their seeds; a test is its mean. None: there are none.

    >>> from pdrm.experiments.paper.paper_figures import WATER
    >>> curves = recorded_curves(WATER, WATER.panels[0], WATER.panels[0].lines[0])
    >>> curves.returns.shape, curves.unit, curves.origin.device
    ((10, 31, 1), 'timesteps', 'NVIDIA H200, JAX 0.11.2')
    """
    tests, origin = _recorded(study.name).get((panel.task.name, line.name), ({}, None))
    if origin is None:
        return None
    times, seeds = (sorted(set(values)) for values in zip(*tests, strict=True))
    values = np.array([[tests[at, seed] for at in times] for seed in seeds])
    returns, steps, success = (values[:, :, [place]] for place in range(len(VALUES)))
    lowest, highest = return_range(panel.task)
    at = np.array(times)
    return Curves(panel, line, tuple(seeds), "timesteps", at, returns, steps, success, lowest, highest, origin)


@cache
def _recorded(study: str) -> dict[tuple[str, str], tuple[Tests, Origin | None]]:
    """What came with the package of a study, by domain and line."""
    found: dict[tuple[str, str], tuple[Tests, Origin | None]] = {}
    for path in sorted([*FOLDER.glob(f"{PREFIX.get(study, study)}-*.csv"), FOLDER / READINGS]):
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        origin = Origin(*(about[name] for name in Origin._fields))
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row.get("study", study) != study:
                    continue
                tests, _ = found.setdefault((row["domain"], row["line"]), ({}, origin))
                tests[int(row["timesteps"]), int(row["seed"])] = [float(row[name]) for name in VALUES]
    return found
