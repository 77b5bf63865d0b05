"""Where a study's runs are kept: a folder each, named after what it is and the hash of its spec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.learning.run_loop import CHECKPOINT, FAILURE, RunSpec, is_done, read_progress

if TYPE_CHECKING:
    from pdrm.learning.run import Run

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
    """Other folders that runs are read from, where they are not in the first."""

    @classmethod
    def below(cls, folder: Path) -> Store:
        """The store of a study's output folder."""
        return cls(folder / RUNS)

    def folder(self, spec: RunSpec) -> Path:
        """Where a run is or will be."""
        kept = (root / spec.name for root in self.more if not (self.root / spec.name).exists())
        return next((folder for folder in kept if folder.exists()), self.root / spec.name)

    def run(self, spec: RunSpec) -> Run:
        """The run of a spec."""
        from pdrm.learning.run import Run

        return Run(spec, self.folder(spec))

    def done(self, spec: RunSpec) -> bool:
        """Whether a run has its result."""
        return is_done(self.folder(spec))

    def kept(self, spec: RunSpec) -> bool:
        """Whether anything of a run is there to go on from: a checkpoint, or its result."""
        return self.done(spec) or (self.folder(spec) / CHECKPOINT).exists()

    def begun_since(self, spec: RunSpec, moment: float) -> bool:
        """Whether a run was begun or gone on with after a moment (of `time.time()`), and is not done."""
        try:
            return self.folder(spec).stat().st_mtime >= moment and not self.done(spec)
        except OSError:
            return False

    def failure(self, spec: RunSpec) -> str:
        """Why a run's last attempt failed, or nothing."""
        try:
            return (self.folder(spec) / FAILURE).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def progress(self, spec: RunSpec) -> dict[str, Any]:
        """How far a run under way is: `done` and `total`, and the `return` of its last test; nothing before the first."""
        return read_progress(self.folder(spec))
