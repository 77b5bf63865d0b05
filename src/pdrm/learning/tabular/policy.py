"""A trained policy: greedy actions by what is seen, saved as arrays (`.npz`, never code) with a description beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.learning.tabular.policy_file import fingerprint, write_policy
from pdrm.learning.tabular.remembered import StackTree
from pdrm.learning.tabular.seen_table import Memory, SeenTable
from pdrm.product.view import View


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What Q-learning or CpRM learnt, over a stack or over counters: one value an action for each (environment state,
    machine state, view) that was met."""

    about: dict[str, Any]
    """How it was made: the run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    table: SeenTable

    def __len__(self) -> int:
        return len(self.table)

    @property
    def view(self) -> View:
        """What it sees of the stack."""
        return self.table.view

    def values(self, environment_state: int, machine_state: str, memory: Memory) -> npt.NDArray[np.float64]:
        """The values of the actions there; zeros where it was never met. `memory`: the stack, top first, or the counters."""
        return self.table.values(environment_state, machine_state, memory)

    def act(self, environment_state: int, machine_state: str, memory: Memory) -> int:
        """An action of highest value, the first of several (where nothing was ever met, the first action)."""
        return int(np.argmax(self.values(environment_state, machine_state, memory)))

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """What a row stands for."""
        return self.table.seen(row)

    def digest(self) -> str:
        """SHA-256 of everything that was learnt."""
        return fingerprint(self.table.arrays())

    def save(self, path: str | Path) -> None:
        """Write `path` (.npz) and the description beside it (.json), each whole or not at all."""
        memory = self.table.memory
        kind = {"kind": "stack", "stack": memory.stack} if isinstance(memory, StackTree) else {"kind": "counters"}
        words = {"actions": self.actions, "states": self.table.states, "machine": self.machine_text}
        description = {"view": str(self.view), **kind, **words, "about": self.about}
        write_policy(path, self.table.arrays(), description)
