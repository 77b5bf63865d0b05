"""A learnt table by what the agent sees: one row per (environment state, machine state, view of the stack or counters)."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadPolicyFile, UnknownFormat, WrongPolicy, did_you_mean
from pdrm.files import read_arrays, write_atomically
from pdrm.language.source import decode, read_bytes
from pdrm.learning.run_folder import in_words
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import Stack
from pdrm.product.views import View

# --- The files of a policy: arrays in a `.npz`, and beside them a description in JSON that holds their fingerprint.
#
# Both are written whole or not at all, and nothing in them is run when they are read.

VERSION = 1
ARRAYS = ".npz"
Arrays = dict[str, npt.NDArray[Any]]
FAULTS = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)
"""What goes wrong inside a file that is damaged or is something else."""


def arrays_bytes(arrays: Arrays) -> bytes:
    """The arrays as one file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def fingerprint(arrays: Arrays) -> str:
    """SHA-256 of the arrays' file."""
    return hashlib.sha256(arrays_bytes(arrays)).hexdigest()


def write_policy(path: str | Path, arrays: Arrays, description: dict[str, Any]) -> None:
    """Write `path` (.npz) and the description beside it (.json)."""
    file, data = Path(path), arrays_bytes(arrays)
    if file.suffix != ARRAYS:
        fault = f"a policy is saved as {ARRAYS}, and `{file.name}` ends otherwise"
        raise UnknownFormat(fault, fix=f"call it {file.with_suffix(ARRAYS).name}")
    about = description["about"]
    described = {"pdrm_policy": VERSION, **description, "sha256": hashlib.sha256(data).hexdigest(), "about": about}
    write_atomically(file, data)
    write_atomically(file.with_suffix(".json"), (json.dumps(described, indent=1, ensure_ascii=False) + "\n").encode())


def read_policy(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the description in a policy's files."""
    file = Path(path)
    beside = file.with_suffix(".json")
    try:
        description = json.loads(decode(read_bytes(beside), str(beside)))
        _check_tabular(file, description)
        sha256 = str(description["sha256"])
    except FAULTS as error:
        raise no_policy(file, in_words(error, beside.name)) from error
    try:
        data = file.read_bytes()
        arrays = read_arrays(data)
    except FAULTS as error:
        raise no_policy(file, in_words(error)) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise no_policy(file, f"it does not match the fingerprint in {beside.name}")
    if description.get("pdrm_policy") != VERSION:
        raise no_policy(file, f"it is of version {description.get('pdrm_policy')}, and this program reads {VERSION}")
    return arrays, description


def _check_tabular(file: Path, description: dict[str, Any]) -> None:
    """Raise where the policy is a deep agent's: networks need the domain that they were learnt in."""
    if "pdrm_deep_policy" in description:
        fix = f'pdrm.load_deep_policy("{file}", domain), with the domain that it was learnt in'
        raise BadPolicyFile(f"{file} is the policy of a deep agent, not a table", fix=fix)


def no_policy(file: Path, why: str) -> BadPolicyFile:
    """The error that a file holds no policy."""
    fix = "restore a copy of it, or remove the run's folder and train again"
    return BadPolicyFile(f"{file} is no policy, or is damaged: {why}", fix=fix)


# --- What the rows of a policy remember of a machine: stacks that share their symbols in a tree, or vectors of counters.
#
# Both number what they hold: `of(number)` is the stack or the vector, `number(memory)` its number, or -1 where it was never
# met. The tree lets millions of whole stacks take no more room than the stacks themselves.

Numbers = npt.NDArray[np.int64]
UNMET = -1


@dataclass(frozen=True, slots=True, eq=False)
class StackTree:
    """Stacks as nodes: node 0 is the empty one, every other a symbol on top of its parent.

    >>> tree = StackTree(("#", "A"), np.array([0, 1, 2], np.int32), np.array([0, 0, 1], np.int32))
    >>> tree.of(2), tree.number(("A", "#")), tree.number(("#", "#"))
    (('A', '#'), 2, -1)
    """

    stack: tuple[str, ...]
    """The stack symbols, numbered from 1 in `symbol`."""
    symbol: Integers
    """[nodes]: the top symbol, 0 for the empty stack."""
    parent: Integers
    """[nodes]: what is below it."""
    _children: Numbers = field(init=False, repr=False)
    """[nodes]: parent * symbols + symbol of each node, sorted; node 0 comes first."""
    _order: Numbers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        below = np.all(self.parent[1:] < np.arange(1, len(self.parent))) and np.all(self.parent >= 0)
        if len(self.symbol) != len(self.parent) or not below or not np.all(self.symbol <= len(self.stack)):
            raise ValueError("its stacks are no tree of its symbols")
        children = self.parent.astype(np.int64) * (len(self.stack) + 1) + self.symbol
        object.__setattr__(self, "_order", np.argsort(children, kind="stable"))
        object.__setattr__(self, "_children", children[self._order])

    def __len__(self) -> int:
        return len(self.symbol)

    def of(self, number: int) -> Stack:
        """The stack of a node, top first."""
        symbols = []
        while number:
            symbols.append(self.stack[int(self.symbol[number]) - 1])
            number = int(self.parent[number])
        return tuple(symbols)

    def number(self, memory: Sequence[str]) -> int:
        """The node of a stack."""
        if isinstance(memory, str) or any(symbol not in self.stack for symbol in memory):
            fault = f"{memory!r} is no stack of the machine this was learnt with"
            raise WrongPolicy(fault, fix="give a tuple of stack symbols, top first")
        node = 0
        for symbol in reversed(memory):
            child = node * (len(self.stack) + 1) + self.stack.index(symbol) + 1
            place = int(np.searchsorted(self._children, child))
            if place == len(self._children) or self._children[place] != child:
                return UNMET
            node = int(self._order[place])
        return node

    def arrays(self) -> dict[str, Integers]:
        """What is saved."""
        return {"symbol": self.symbol, "parent": self.parent}


@dataclass(frozen=True, slots=True, eq=False)
class CounterVectors:
    """Vectors of counter values, numbered.

    >>> met = CounterVectors(np.array([[0, 0], [1, 7]]))
    >>> met.of(1), met.number((1, 7)), met.number((7, 1))
    ((1, 7), 1, -1)
    """

    counters: Numbers
    """[vectors, counters]: the values."""
    _numbers: dict[tuple[int, ...], int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {tuple(vector): number for number, vector in enumerate(self.counters.tolist())}
        object.__setattr__(self, "_numbers", numbers)

    def __len__(self) -> int:
        return len(self.counters)

    def of(self, number: int) -> tuple[int, ...]:
        """The values of a vector."""
        return tuple(self.counters[number].tolist())

    def number(self, memory: Sequence[int]) -> int:
        """The number of a vector."""
        count = self.counters.shape[1]
        if len(memory) != count or not all(isinstance(value, int) and value >= 0 for value in memory):
            fault = f"{memory!r} are no values of the {count} counters of the machine this was learnt with"
            raise WrongPolicy(fault, fix=f"give a tuple of {count} whole numbers from 0 on")
        return self._numbers.get(tuple(memory), UNMET)

    def arrays(self) -> dict[str, Numbers]:
        """What is saved."""
        return {"counters": self.counters}


# --- A learnt table by what is seen: one row for each (environment state, machine state, view of the memory) that was met.

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
