"""The folders of a study's runs, each named after its run and the hash of its spec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pdrm.learning.run import Run
from pdrm.learning.run_folder import RunSpec, is_done

RUNS = "runs"
LARGEST_POLICY = 5_000_000
"""Bytes of a policy that a study keeps; of a larger one the hash stays."""


@dataclass(frozen=True, slots=True)
class Store:
    """The runs in a folder, or in several.

    >>> from pdrm.learning.agents import QLearning
    >>> from pdrm.task import Task
    >>> spec = RunSpec(Task("letter"), QLearning(k=1, episodes=10), seed=3)
    >>> Store(Path("runs")).folder(spec).name == spec.name, Store(Path("runs")).done(spec)
    (True, False)
    """

    root: Path
    more: tuple[Path, ...] = ()
    """Other folders that runs are read from, if they are not in the first."""

    @classmethod
    def below(cls, folder: Path) -> Store:
        """The store of a study's output folder."""
        return cls(folder / RUNS)

    def folder(self, spec: RunSpec) -> Path:
        """The folder of a run, made or not."""
        places = [root / spec.name for root in (self.root, *self.more)]
        return next((place for place in places if place.exists()), places[0])

    def run(self, spec: RunSpec) -> Run:
        """The run of a spec."""
        return Run(spec, self.folder(spec))

    def done(self, spec: RunSpec) -> bool:
        """Return True if a run has its result."""
        return is_done(self.folder(spec))
