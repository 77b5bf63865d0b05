"""A trained hierarchical policy: a meta-policy chooses among the options of the machine state, an option among actions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import WrongPolicy
from pdrm.learning.tabular.policy_file import Arrays, fingerprint, write_policy
from pdrm.learning.tabular.remembered import StackTree
from pdrm.learning.tabular.seen_table import Memory, SeenTable
from pdrm.product.view import View


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalPolicy:
    """What the hierarchical agent learnt. An option, once chosen, is followed until it is achieved or the machine moves:
    ask `option` for the one to begin, and give it to `act` at every step until then."""

    about: dict[str, Any]
    """How it was made: the run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    """The options of each machine state: the rules they bring about, as text (nothing where one without a rule stands in)."""
    meta: SeenTable
    """[rows, options]: the meta-policy's values."""
    within: SeenTable
    """[rows, options * actions]: the options' values, by the top of the stack."""

    def __len__(self) -> int:
        return len(self.meta)

    @property
    def view(self) -> View:
        """What the meta-policy sees of the stack."""
        return self.meta.view

    def option_values(self, environment_state: int, machine_state: str, memory: Memory) -> npt.NDArray[np.float64]:
        """The meta-policy's value of each option of the machine state."""
        values = self.meta.values(environment_state, machine_state, memory)
        return values[: len(self.options.get(machine_state, ()))]

    def option(self, environment_state: int, machine_state: str, memory: Memory) -> int:
        """The option of highest value there, the first of several."""
        values = self.option_values(environment_state, machine_state, memory)
        if not len(values):
            raise WrongPolicy(f"`{machine_state}` is final and has no options", fix="ask before the machine has ended")
        return int(np.argmax(values))

    def values(
        self, environment_state: int, machine_state: str, memory: Memory, option: int
    ) -> npt.NDArray[np.float64]:
        """The values of the actions for an option of the machine state."""
        known = len(self.options.get(machine_state, ()))
        if not 0 <= option < known:
            fault = f"`{machine_state}` has no option {option}"
            raise WrongPolicy(fault, fix=f"it has {known}: 0 to {known - 1}" if known else "it is final")
        row = self.within.values(environment_state, machine_state, memory)
        return row[option * len(self.actions) : (option + 1) * len(self.actions)]

    def act(self, environment_state: int, machine_state: str, memory: Memory, option: int | None = None) -> int:
        """An action of highest value for an option, the first of several; without one, for the best option there."""
        followed = self.option(environment_state, machine_state, memory) if option is None else option
        return int(np.argmax(self.values(environment_state, machine_state, memory, followed)))

    def digest(self) -> str:
        """SHA-256 of everything that was learnt."""
        return fingerprint(self._arrays())

    def save(self, path: str | Path) -> None:
        """Write `path` (.npz) and the description beside it (.json), each whole or not at all."""
        memory = self.meta.memory
        stack = memory.stack if isinstance(memory, StackTree) else ()
        words = {"actions": self.actions, "states": self.meta.states, "stack": stack, "options": self.options}
        description = {"view": str(self.view), "kind": "options", **words, "machine": self.machine_text}
        write_policy(path, self._arrays(), {**description, "about": self.about})

    def _arrays(self) -> Arrays:
        return {**self.meta.arrays("meta."), **self.within.arrays("within.")}
