"""A learnt table by what is seen: one row for each (environment state, machine state, view of the memory) that was met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import WrongPolicy, did_you_mean
from pdrm.learning.tabular.policy_file import Arrays
from pdrm.learning.tabular.remembered import CounterVectors, Numbers, StackTree
from pdrm.machines.table import Integers, Rewards
from pdrm.product.view import View

Memory = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenTable:
    """Rows of values; what was never met has zeros."""

    view: View
    states: tuple[str, ...]
    """The machine states, final ones last, as `machine_state` numbers them."""
    memory: StackTree | CounterVectors
    environment_state: Integers
    machine_state: Integers
    node: Integers
    """[rows]: the view of the memory, by its number in `memory`."""
    value: Rewards
    """[rows, choices]"""
    _keys: Numbers = field(init=False, repr=False)
    """[rows]: one number for what each row stands for, sorted."""
    _order: Numbers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        limits = (len(self.states), len(self.memory))
        for column, limit in zip((self.machine_state, self.node), limits, strict=True):
            if len(column) != len(self.value) or (len(column) and not 0 <= column.min() <= column.max() < limit):
                raise ValueError("its columns do not fit together")
        if self.value.ndim != 2 or len(self.environment_state) != len(self.value):
            raise ValueError("its columns do not fit together")
        keys = self._key(self.environment_state, self.machine_state, self.node)
        object.__setattr__(self, "_order", np.argsort(keys, kind="stable"))
        object.__setattr__(self, "_keys", keys[self._order])

    def __len__(self) -> int:
        return len(self.value)

    def values(self, environment_state: int, machine_state: str, memory: Memory) -> npt.NDArray[np.float64]:
        """The row for a state and a configuration."""
        if machine_state not in self.states:
            fault = f"`{machine_state}` is no state of the machine this was learnt with"
            raise WrongPolicy(fault, fix=did_you_mean(str(machine_state), self.states))
        if not isinstance(environment_state, int | np.integer) or environment_state < 0:
            fault = f"{environment_state!r} is no state of an environment"
            raise WrongPolicy(fault, fix="give its number, a whole one from 0 on")
        seen: Any = self.view.of(tuple(memory)) if not isinstance(memory, str) else memory  # type: ignore[arg-type]
        node = self.memory.number(seen)
        known = node >= 0 and 0 <= environment_state < self._room
        key = self._key(environment_state, self.states.index(machine_state), node) if known else 0
        place = int(np.searchsorted(self._keys, key))
        if not known or place == len(self) or self._keys[place] != key:
            return np.zeros(self.value.shape[1])
        row: npt.NDArray[np.float64] = self.value[self._order[place]]
        return row

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """What a row stands for."""
        memory = self.memory.of(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str = "") -> Arrays:
        """What is saved."""
        found: Arrays = {name: getattr(self, name) for name in ("environment_state", "machine_state", "node")}
        found |= {**self.memory.arrays(), "value": self.value}
        return {prefix + name: array for name, array in found.items()}

    @property
    def _room(self) -> int:
        """Environment states that a key can tell apart."""
        return int(self.environment_state.max(initial=0)) + 1

    def _key(self, environment_state: Any, machine_state: Any, node: Any) -> Any:  # noqa: ANN401 - numbers or arrays of them
        return (np.int64(node) * len(self.states) + machine_state) * self._room + environment_state


def table_of(arrays: Arrays, prefix: str, view: View, description: dict[str, Any]) -> SeenTable:
    """The table whose arrays' names begin so, as `SeenTable.arrays` names them."""
    memory: StackTree | CounterVectors
    if prefix + "counters" in arrays:
        memory = CounterVectors(arrays[prefix + "counters"])
    else:
        memory = StackTree(tuple(description["stack"]), arrays[prefix + "symbol"], arrays[prefix + "parent"])
    columns: list[Any] = [arrays[prefix + name] for name in ("environment_state", "machine_state", "node", "value")]
    return SeenTable(view, tuple(description["states"]), memory, *columns)
