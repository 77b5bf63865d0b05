"""What claims are judged by: the recorded curves of the paper's figures, read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves, curves_of
from pdrm.experiments.paper.figures import STUDIES
from pdrm.experiments.store import Store
from pdrm.experiments.study import Panel, Study
from pdrm.experiments.threshold import episodes_to_learn, learnt_at
from pdrm.experiments.water_records import OWN


@dataclass(slots=True)
class Evidence:
    """Curves by panel and line. `folder` is where facts that take long are kept."""

    store: Store
    folder: Path
    seeds: int | None = None
    """Only the first so many seeds; None: all that are recorded."""
    fewest: tuple[int, int] | None = None
    """Of the curves asked for since it was None: the fewest seeds recorded, and how many the paper's figure has."""
    _read: dict[tuple[str, str], Curves | None] = field(default_factory=dict)

    def curves(self, panel: str, line: str) -> Curves:
        """What is recorded of a line; `NotRecorded` where nothing is."""
        study, where = _panel(panel)
        key = panel, line
        if key not in self._read:
            self._read[key] = curves_of(where, where.line(line), study.seeded(self.seeds).seeds, self.store)
        found = self._read[key]
        if found is None:
            raise NotRecorded(f"{panel}, {line}: no run is recorded", fix=f"pdrm reproduce {panel}")
        self.fewest = min(self.fewest or (len(found.seeds), len(study.seeds)), (len(found.seeds), len(study.seeds)))
        return found

    @property
    def anything(self) -> bool:
        """Whether anything of the paper's figures is recorded in the folder, WaterWorld's included."""
        runs = (spec for study in STUDIES for _, _, spec in study.seeded(self.seeds).runs())
        return (self.folder / OWN).is_dir() or any(self.store.done(spec) for spec in runs)

    def paper_lines(self, panel: str) -> list[str]:
        """The paper's own agents in a panel."""
        return [line.name for line in _panel(panel)[1].lines if not line.ours]

    def threshold(self, panel: str) -> float:
        """The return at which an agent counts as having learnt the panel's task."""
        return learnt_at([self.curves(panel, line) for line in self.paper_lines(panel)])

    def episodes(self, panel: str, line: str) -> int | None:
        """The training episodes an agent needed to learn the panel's task; None: it never did."""
        return episodes_to_learn(self.curves(panel, line), self.threshold(panel))


def _panel(name: str) -> tuple[Study, Panel]:
    return next((study, panel) for study in STUDIES for panel in study.panels if panel.name == name)
