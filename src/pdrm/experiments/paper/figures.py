"""The paper's tabular figures by name, and what is run when nothing is named."""

from __future__ import annotations

from dataclasses import replace

from pdrm.errors import UnknownStudy, did_you_mean
from pdrm.experiments.paper.deliver import DELIVER
from pdrm.experiments.paper.letter import LETTER
from pdrm.experiments.paper.maze import MAZE, MAZE_WALL_CLOCK
from pdrm.experiments.paper.multi import MULTI
from pdrm.experiments.paper.paint import PAINT
from pdrm.experiments.paper.water import FIGURES as WATER
from pdrm.experiments.study import Study

STUDIES = (LETTER, MAZE, MULTI, DELIVER, PAINT)
"""In the paper's order."""

ON_REQUEST = (MAZE_WALL_CLOCK,)
"""Run only when named: hours long by their own limits, and different on every machine."""


def figures(names: list[str], seeds: int | None = None) -> list[Study]:
    """The studies of these names (`maze`), or single panels of them (`maze-5x5`); without names, all in the paper.

    >>> [study.name for study in figures([])]
    ['letter', 'maze', 'multi', 'deliver', 'paint']
    >>> [panel.name for study in figures(["maze-5x5", "paint"]) for panel in study.panels]
    ['maze-5x5', 'paint']
    """
    return [study.seeded(seeds) for study in (_once([_figure(name) for name in names]) if names else STUDIES)]


def _once(studies: list[Study]) -> list[Study]:
    """The studies without panels that an earlier one has."""
    found: list[Study] = []
    for study in studies:
        earlier = {panel.name for one in found for panel in one.panels}
        panels = tuple(panel for panel in study.panels if panel.name not in earlier)
        found += [replace(study, panels=panels)] if panels else []
    return found


def _figure(name: str) -> Study:
    every = (*STUDIES, *ON_REQUEST)
    for study in every:
        if study.name == name:
            return study
    for study in every:
        for panel in study.panels:
            if panel.name == name:
                return replace(study, panels=(panel,))
    known = [*WATER, *(study.name for study in every)] + [panel.name for study in every for panel in study.panels]
    raise UnknownStudy(f"the paper has no figure `{name}`", fix=did_you_mean(name, known))
