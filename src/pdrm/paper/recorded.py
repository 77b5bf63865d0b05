"""Runs that come with the package, used for lines without runs in a folder: WaterWorld's runs,
which need a GPU, and the runs of study `ours`.

`recorded/` contains a table for each recording (a row per evaluation, with means over its episodes)
and a JSON file with the study, command, device, seconds and settings. The readings of WaterWorld's
physics are one recording, whose table has a column for the study.
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
"""The units of training. Each table has a column of one of these names."""


class Recording(NamedTuple):
    """The recording of a line."""

    evaluations: dict[tuple[int, int], list[float]]
    """(training, seed) -> the values of an evaluation."""
    unit: str
    device: str


def known_curves(study: Study, panel: Panel, line: AgentLine, store: Store) -> Curves | None:
    """The curves of a line from its runs in the store, otherwise as recorded with the package."""
    return curves_of(panel, line, study.seed_numbers, store) or recorded_curves(study, panel, line)


def known_lines(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies that have curves, in order."""
    return [
        (study, curves)
        for study in studies
        for panel, line in study.lines()
        if (curves := known_curves(study, panel, line, store)) is not None
    ]


def recorded_curves(study: Study, panel: Panel, line: AgentLine) -> Curves | None:
    """The curves of a line that came with the package, or None. An evaluation is its mean.

    >>> from pdrm.paper import figures
    >>> water = figures.study("water")
    >>> curves = recorded_curves(water, water.panels[0], water.panels[0].lines[0])
    >>> curves.returns.shape, curves.unit, curves.recorded_on
    ((10, 31, 1), 'timesteps', 'NVIDIA H200, JAX 0.11.2')
    """
    recording = _recordings(FOLDER).get((study.name, panel.task.name, line.name))
    if recording is None:
        return None
    evaluations = recording.evaluations
    times, seeds = (sorted(set(values)) for values in zip(*evaluations, strict=True))
    values = np.array([[evaluations[at, seed] for at in times] for seed in seeds])
    returns, steps, success = (values[:, :, [column]] for column in range(len(VALUES)))
    return Curves(
        panel,
        line,
        tuple(seeds),
        recording.unit,
        np.array(times),
        returns,
        steps,
        success,
        *return_range(panel.task),
        recorded_on=recording.device,
    )


@cache
def _recordings(folder: Path) -> dict[tuple[str, str, str], Recording]:
    """The recordings in a folder, by study, domain and line."""
    recordings: dict[tuple[str, str, str], Recording] = {}
    for path in sorted(folder.glob("*.csv")):
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        unit = next(name for name in UNITS if name in rows[0])
        for row in rows:
            key = row.get("study", about["study"]), row["domain"], row["line"]
            recording = recordings.setdefault(key, Recording({}, unit, about["device"]))
            values = [float(row[name]) for name in VALUES]
            recording.evaluations[int(row[unit]), int(row["seed"])] = values
    return recordings
