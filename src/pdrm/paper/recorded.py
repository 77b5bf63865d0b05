"""Runs that come with the package, for lines without runs of their own: WaterWorld's, which need a GPU, and those of study `ours`.

`recorded/` has a table for each program that was run (a row per test: the means over its episodes) and a JSON file with the study,
command, device, seconds and settings. The readings of WaterWorld's physics ran as one, and their table has a column for the study.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pdrm.experiments.curves import Curves, Store, curves_of, return_range
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study

FOLDER = Path(__file__).parent / "recorded"
VALUES = ("return", "steps", "achieved")
UNITS = ("timesteps", "episodes")
"""The unit of training: a column of the table."""


class Recording(NamedTuple):
    """The record of a line."""

    tests: dict[tuple[int, int], list[float]]
    """(training, seed) -> the values of an evaluation."""
    unit: str
    device: str


def known_curves(study: Study, panel: Panel, line: AgentLine, store: Store) -> Curves | None:
    """The curves of a line: of its runs in the store, or else as they came with the package, if they did."""
    return curves_of(panel, line, study.seed_numbers, store) or recorded_curves(study, panel, line)


def known_lines(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies that have curves, in order."""
    found = []
    for study in studies:
        for panel, line in study.lines():
            curves = known_curves(study, panel, line, store)
            found += [] if curves is None else [(study, curves)]
    return found


def recorded_curves(study: Study, panel: Panel, line: AgentLine) -> Curves | None:
    """The runs of a line that came with the package, if any, with all their seeds; an evaluation is its mean.

    >>> from pdrm.paper import figures
    >>> water = figures.study("water")
    >>> curves = recorded_curves(water, water.panels[0], water.panels[0].lines[0])
    >>> curves.returns.shape, curves.unit, curves.recorded_on
    ((10, 31, 1), 'timesteps', 'NVIDIA H200, JAX 0.11.2')
    """
    found = _recordings(FOLDER).get((study.name, panel.task.name, line.name))
    if found is None:
        return None
    times, seeds = (sorted(set(values)) for values in zip(*found.tests, strict=True))
    values = np.array([[found.tests[at, seed] for at in times] for seed in seeds])
    returns, steps, success = (values[:, :, [place]] for place in range(len(VALUES)))
    lowest, highest = return_range(panel.task)
    return Curves(
        panel,
        line,
        tuple(seeds),
        found.unit,
        np.array(times),
        returns,
        steps,
        success,
        lowest,
        highest,
        found.device,
    )


@cache
def _recordings(folder: Path) -> dict[tuple[str, str, str], Recording]:
    """The recordings in a folder, by study, domain and line."""
    found: dict[tuple[str, str, str], Recording] = {}
    for path in sorted(folder.glob("*.csv")):
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        unit = next(name for name in UNITS if name in rows[0])
        for row in rows:
            key = row.get("study", about["study"]), row["domain"], row["line"]
            record = found.setdefault(key, Recording({}, unit, about["device"]))
            record.tests[int(row[unit]), int(row["seed"])] = [float(row[name]) for name in VALUES]
    return found
