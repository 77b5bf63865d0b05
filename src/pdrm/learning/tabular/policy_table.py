"""A learnt table by what the agent sees: one row per (environment state, machine state, view of the stack or counters).

What a row remembers of the machine's memory is a node of a `MemoryTree`. The rows are in order: by
machine state, then by the number of the memory, then by environment state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UnknownConfiguration, WrongArguments, WrongPolicy, did_you_mean
from pdrm.files import Arrays, need, within
from pdrm.machines.tables import LARGEST_VALUE, Integers, Rewards
from pdrm.machines.transitions import Stack
from pdrm.product.observation import View

Memory = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""
SeenThere = tuple[int, str, tuple[Any, ...]]
"""What a row is about: an environment state, a machine state, and what is seen of the memory."""
UNSEEN = -1
LARGEST = 2**31 - 1


# --- What policies are asked with


def number_state(state: Any, domain: FiniteDomain | None) -> int:
    """The number of an environment state, given as such, or as its domain calls it, if that is known (`FiniteDomain.find_state`)."""
    if domain is not None:
        try:
            return domain.find_state(state)
        except UnknownConfiguration as error:
            raise WrongPolicy(error.message, fix=error.fix) from None
    if isinstance(state, bool) or not isinstance(state, int | np.integer) or state < 0:
        fault = f"{str(state)[:60]} is not the number of a state, and this policy does not know what its domain calls them"
        fix = "give a number, or the domain: pdrm.learning.load_policy(path, domain)"
        raise WrongPolicy(fault, fix=fix)
    return int(state)


def check_state(state: object, states: Sequence[str]) -> None:
    """Raise unless this is a state of the machine."""
    if state not in states:
        fault = f"`{state}` is not a state of the machine this was learnt with"
        raise WrongPolicy(fault, fix=did_you_mean(str(state), states))


def check_stack(memory: Any, symbols: Stack) -> None:
    """Raise unless this is a stack of these symbols."""
    several = isinstance(memory, Sequence) and not isinstance(memory, str)
    if not several or any(symbol not in symbols for symbol in memory):
        fault = f"{memory!r} is not a stack of the machine this was learnt with"
        fix = f"give a tuple of stack symbols, the top first: {', '.join(symbols)}"
        raise WrongPolicy(fault, fix=fix)


def refuse_exploring(deterministic: bool) -> None:
    """Raise if a policy is asked to explore. Stable-Baselines3's policies can, and are told with this argument."""
    if not deterministic:
        fault = "policies of pdrm act without exploration, as if `deterministic=True`"
        fix = "leave `deterministic` out; env.action_space.sample() is a random action"
        raise WrongArguments(fault, fix=fix)


# --- The memory of the machine


@dataclass(frozen=True, eq=False)
class MemoryTree:
    """Stacks, or vectors of counters, as nodes: node 0 is the empty one, every other a symbol on top of its parent.

    >>> tree, nodes = MemoryTree.of(("#", "A"), [(2, 1), (1,)])
    >>> nodes.tolist(), tree.memory(2), tree.number(("A", "#")), tree.number(("#", "#"))
    ([2, 1], ('A', '#'), 2, -1)
    >>> vectors, _ = MemoryTree.of(2, [(0, 0), (1, 7)])
    >>> vectors.memory(4), vectors.number((0, 0)), vectors.number((7, 1))
    ((1, 7), 2, -1)
    """

    kind: Stack | int  # the stack symbols, numbered from 1 in `symbol`; or the number of counters
    symbol: npt.NDArray[
        Any
    ]  # [nodes]: the top symbol, 0 for the empty stack; or the value of a counter
    parent: npt.NDArray[Any]  # [nodes]: what is below it

    @classmethod
    def of(
        cls, kind: Stack | int, memories: Iterable[Sequence[int]]
    ) -> tuple[MemoryTree, npt.NDArray[np.int64]]:
        """The tree of some memories, as numbers, top first; and the node of each."""
        symbol, parent, nodes = [0], [0], list[int]()
        child: dict[tuple[int, int], int] = {}
        for memory in memories:
            node = 0
            for one in reversed(memory):
                if (node, one) not in child:
                    child[node, one] = len(symbol)
                    symbol.append(one)
                    parent.append(node)
                node = child[node, one]
            nodes.append(node)
        return cls(kind, np.array(symbol), np.array(parent)), np.array(nodes, np.int64)

    @property
    def counts(self) -> bool:
        """True if these are counters."""
        return isinstance(self.kind, int)

    @cached_property
    def _child(self) -> dict[tuple[int, int], int]:
        """By the node below and the symbol."""
        pairs = zip(self.parent.tolist(), self.symbol.tolist(), strict=True)
        return {pair: node for node, pair in enumerate(pairs) if node}

    def __len__(self) -> int:
        return len(self.symbol)

    def memory(self, node: int) -> tuple[Any, ...]:
        """The stack of a node, top first, or its counters."""
        found = []
        while node:
            symbol = int(self.symbol[node])
            found.append(symbol if isinstance(self.kind, int) else self.kind[symbol - 1])
            node = int(self.parent[node])
        return tuple(found)

    def number(self, memory: Memory) -> int:
        """The node of a stack or of counters, or UNSEEN."""
        node = 0
        one: Any
        for one in reversed(memory):
            symbol = int(one) if isinstance(self.kind, int) else self.kind.index(str(one)) + 1
            node = self._child.get((node, symbol), UNSEEN)
        return node

    def check(self, memory: Any) -> None:
        """Raise unless this is a stack of these symbols, or there is a value for each counter."""
        if not isinstance(self.kind, int):
            check_stack(memory, self.kind)
            return
        several = isinstance(memory, Sequence) and len(memory) == self.kind
        if not several or not all(isinstance(one, int) and one >= 0 for one in memory):
            fault = f"{memory!r} are not values of the {self.kind} counters of the machine this was learnt with"
            raise WrongPolicy(fault, fix=f"give a tuple of {self.kind} non-negative integers")


# --- The rows


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Rows of values, in order; what was never seen has zeros."""

    view: View
    states: tuple[str, ...]  # the machine states, final ones last, as `machine_state` numbers them
    memory: MemoryTree
    environment_state: Integers
    machine_state: Integers
    node: Integers  # [rows]: the view of the memory, by its number in `memory`
    value: Rewards  # [rows, choices]

    @classmethod
    def of(
        cls,
        view: View,
        states: tuple[str, ...],
        memory: MemoryTree,
        seen: Sequence[npt.NDArray[Any]],
        value: Rewards,
    ) -> PolicyTable:
        """The table of rows in any order. seen: their environment states, machine states and nodes."""
        place, state, node = (column.astype(np.int32) for column in seen)
        order = np.lexsort((place, node, state))
        return cls(view, states, memory, place[order], state[order], node[order], value[order])

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def _rows(self) -> dict[tuple[int, int, int], int]:
        """The row of each environment state, machine state and node."""
        columns = self.environment_state, self.machine_state, self.node
        seen = zip(*(column.tolist() for column in columns), strict=True)
        return {one: row for row, one in enumerate(seen)}

    def values(
        self, environment_state: int, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The row for a state and a configuration."""
        check_state(machine_state, self.states)
        self.memory.check(memory)
        seen: Any = tuple(memory)
        node = self.memory.number(self.view.of(seen))
        row = self._rows.get((environment_state, self.states.index(machine_state), node))
        found: Rewards = np.zeros(self.value.shape[1]) if row is None else self.value[row]
        return found

    def seen(self, row: int) -> SeenThere:
        """The environment state, machine state and memory of a row."""
        memory = self.memory.memory(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str) -> Arrays:
        """The arrays that are saved, under names that begin so; `read_rows` reads them."""
        found: Arrays = {
            "environment_state": self.environment_state,
            "machine_state": self.machine_state,
            "node": self.node,
            "symbol": self.memory.symbol,
            "parent": self.memory.parent,
            "value": self.value,
        }
        return {prefix + name: array for name, array in found.items()}


class PolicyRow(NamedTuple):
    """The learnt values of one row of the table.

    >>> PolicyRow(3, "", "u0", ("A",), "u", {"u": 1.0, "d": 0.5}).record()["value_d"]
    0.5
    """

    environment_state: int
    where: str
    """The environment's state in words, if the domain is known."""
    machine_state: str
    stack: tuple[Any, ...]
    """The part of it that is seen, top first; or the values of the counters."""
    best: str
    """The action (or option) of highest value, the first of several."""
    values: Mapping[str, float]
    """Of each action (or option)."""

    @classmethod
    def of(
        cls,
        domain: FiniteDomain | None,
        seen: SeenThere,
        values: Mapping[str, float],
    ) -> PolicyRow:
        """The row of what is seen: environment state, machine state and stack."""
        place, state, stack = seen
        where = "" if domain is None else domain.describe(place)
        best = max(values, key=values.__getitem__, default="")
        return cls(place, where, state, stack, best, values)

    def record(self) -> dict[str, Any]:
        """The row for a frame: a column for the value of each action."""
        columns = {name: value for name, value in self._asdict().items() if name != "values"}
        return columns | {f"value_{name}": value for name, value in self.values.items()}


# --- Reading


def read_rows(
    arrays: Arrays, prefix: str, view: View, states: tuple[str, ...], kind: Stack | int, width: int
) -> PolicyTable:
    """The table that `PolicyTable.arrays` saved under a prefix; `ValueError` says what is wrong with it.

    kind: the stack symbols, or the number of counters. width: the values of a row."""

    def read(name: str, most: int) -> npt.NDArray[Any]:
        found = arrays[prefix + name]
        fits = found.dtype.kind == "i" and found.ndim == 1 and within(found, 0, most)
        need((fits, f"`{prefix}{name}` is out of bounds"))
        return found

    symbol = read("symbol", LARGEST_VALUE if isinstance(kind, int) else len(kind))
    parent = read("parent", len(symbol) - 1)
    below = parent[1:] < np.arange(1, len(symbol))
    need((len(parent) == len(symbol) > 0 and below.all(), "its memories are not a tree"))
    most = {"environment_state": LARGEST, "machine_state": len(states) - 1, "node": len(symbol) - 1}
    seen = [read(name, last) for name, last in most.items()]
    value = arrays[prefix + "value"]
    alike = all(value.shape == (len(one), width) for one in seen)
    need((alike and value.dtype == np.float64, f"its rows are not of {width} values"))
    return PolicyTable.of(view, states, MemoryTree(kind, symbol, parent), seen, value)
