"""A learnt table by what the agent sees: one row per (environment state, machine state, view of the stack or counters).

What a row remembers of the machine's memory is a number in a `StackTree` or in `CounterVectors`. The rows are in order: by
machine state, then by the number of the memory, then by environment state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UnknownConfiguration, WrongArguments, WrongPolicy, did_you_mean
from pdrm.files import Arrays, need, within
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import Stack
from pdrm.product.views import View

Memory = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""
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
class StackTree:
    """Stacks as nodes: node 0 is the empty one, every other a symbol on top of its parent.

    >>> tree = StackTree(("#", "A"), np.array([0, 1, 2], np.int32), np.array([0, 0, 1], np.int32))
    >>> tree.of(2), tree.number(("A", "#")), tree.number(("#", "#"))
    (('A', '#'), 2, -1)
    """

    stack: Stack  # the stack symbols, numbered from 1 in `symbol`
    symbol: Integers  # [nodes]: the top symbol, 0 for the empty stack
    parent: Integers  # [nodes]: what is below it

    @cached_property
    def _child(self) -> Integers:
        """[node, symbol]: the node with the symbol on top, 0 if there is none."""
        child = np.zeros((len(self), len(self.stack) + 1), np.int32)
        child[self.parent[1:], self.symbol[1:]] = np.arange(1, len(self))
        return child

    def __len__(self) -> int:
        return len(self.symbol)

    def of(self, number: int) -> Stack:
        """The stack of a node, top first."""
        symbols = []
        while number:
            symbols.append(self.stack[int(self.symbol[number]) - 1])
            number = int(self.parent[number])
        return tuple(symbols)

    def number(self, memory: Memory) -> int:
        """The node of a stack, or UNSEEN."""
        node = 0
        for symbol in reversed(memory):
            node = int(self._child[node, self.stack.index(str(symbol)) + 1])
            if node == 0:
                return UNSEEN
        return node

    def check(self, memory: Any) -> None:
        """Raise unless this is a stack of these symbols."""
        check_stack(memory, self.stack)

    def arrays(self) -> Arrays:
        """The arrays that are saved."""
        return {"symbol": self.symbol, "parent": self.parent}


@dataclass(frozen=True, eq=False)
class CounterVectors:
    """Vectors of counter values, numbered.

    >>> vectors = CounterVectors(np.array([[0, 0], [1, 7]]))
    >>> vectors.of(1), vectors.number((1, 7)), vectors.number((7, 1))
    ((1, 7), 1, -1)
    """

    counters: npt.NDArray[np.int64]  # [vectors, counters]: the values

    @cached_property
    def _numbers(self) -> dict[tuple[int, ...], int]:
        vectors = map(tuple, self.counters.tolist())
        return {vector: number for number, vector in enumerate(vectors)}

    def __len__(self) -> int:
        return len(self.counters)

    def of(self, number: int) -> tuple[int, ...]:
        """The values of a vector."""
        return tuple(self.counters[number].tolist())

    def number(self, memory: Memory) -> int:
        """The number of a vector, or UNSEEN."""
        return self._numbers.get(tuple(map(int, memory)), UNSEEN)

    def check(self, memory: Any) -> None:
        """Raise unless these are values of the counters."""
        count = self.counters.shape[1]
        several = isinstance(memory, Sequence) and len(memory) == count
        if not several or not all(isinstance(one, int) and one >= 0 for one in memory):
            fault = f"{memory!r} are not values of the {count} counters of the machine this was learnt with"
            raise WrongPolicy(fault, fix=f"give a tuple of {count} non-negative integers")

    def arrays(self) -> Arrays:
        """The arrays that are saved."""
        return {"counters": self.counters}


# --- The rows


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Rows of values, in order; what was never seen has zeros."""

    view: View
    states: tuple[str, ...]  # the machine states, final ones last, as `machine_state` numbers them
    memory: StackTree | CounterVectors
    environment_state: Integers
    machine_state: Integers
    node: Integers  # [rows]: the view of the memory, by its number in `memory`
    value: Rewards  # [rows, choices]

    @classmethod
    def of(
        cls,
        view: View,
        states: tuple[str, ...],
        memory: StackTree | CounterVectors,
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
    def _places(self) -> int:
        """Environment states have smaller numbers than this."""
        return int(self.environment_state.max(initial=0)) + 1

    @cached_property
    def _keys(self) -> npt.NDArray[np.int64]:
        """[rows]: what a row is about as a number, in rising order."""
        memory = self.machine_state.astype(np.int64) * len(self.memory) + self.node
        return memory * self._places + self.environment_state

    def values(
        self, environment_state: int, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The row for a state and a configuration."""
        check_state(machine_state, self.states)
        self.memory.check(memory)
        seen: Any = tuple(memory)
        node = self.memory.number(self.view.of(seen))
        if node != UNSEEN and environment_state < self._places:
            state = self.states.index(machine_state)
            key = (state * len(self.memory) + node) * self._places + environment_state
            row = int(np.searchsorted(self._keys, key))
            if row < len(self) and self._keys[row] == key:
                found: npt.NDArray[np.float64] = self.value[row]
                return found
        return np.zeros(self.value.shape[1])

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """The environment state, machine state and memory of a row."""
        memory = self.memory.of(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str) -> Arrays:
        """The arrays that are saved, under names that begin so; `read_rows` reads them."""
        found: Arrays = {
            "environment_state": self.environment_state,
            "machine_state": self.machine_state,
            "node": self.node,
            **self.memory.arrays(),
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
        seen: tuple[int, str, tuple[Any, ...]],
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
    arrays: Arrays,
    prefix: str,
    view: View,
    states: tuple[str, ...],
    memory: Stack | int,
    width: int,
) -> PolicyTable:
    """The table that `PolicyTable.arrays` saved under a prefix; `ValueError` says what is wrong with it.

    memory: the stack symbols, or the number of counters. width: the values of a row."""
    tree: StackTree | CounterVectors
    if isinstance(memory, int):
        counters = arrays[prefix + "counters"]
        fits = counters.dtype == np.int64 and counters.shape[1:] == (memory,)
        need((fits, "its counters are not those of its machine"))
        tree = CounterVectors(counters)
    else:
        symbol = _read_numbers(arrays, prefix + "symbol", len(memory))
        parent = _read_numbers(arrays, prefix + "parent", len(symbol) - 1)
        below = parent[1:] < np.arange(1, len(symbol))
        is_tree = len(parent) == len(symbol) > 0 and below.all() and symbol[1:].all()
        need((is_tree, "its stacks are not a tree"))
        tree = StackTree(memory, symbol, parent)
    most = {"environment_state": LARGEST, "machine_state": len(states) - 1, "node": len(tree) - 1}
    seen = [_read_numbers(arrays, prefix + name, last) for name, last in most.items()]
    value = arrays[prefix + "value"]
    alike = all(value.shape == (len(one), width) for one in seen)
    need((alike and value.dtype == np.float64, f"its rows are not of {width} values"))
    return PolicyTable.of(view, states, tree, seen, value)


def _read_numbers(arrays: Arrays, name: str, most: int) -> Integers:
    """A list of integers from 0 to `most`."""
    found = arrays[name]
    fits = found.dtype == np.int32 and found.ndim == 1 and within(found, 0, most)
    need((fits, f"`{name}` is out of bounds"))
    return found
