"""A learnt table by what the agent sees: one row per (environment state, machine state, view of the stack or counters).

What a row remembers of the machine's memory is a number in a `StackTree` or in `CounterVectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UnknownConfiguration, WrongArguments, WrongPolicy, did_you_mean
from pdrm.files import Arrays, need, within
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import Stack
from pdrm.product.observation import read_seen
from pdrm.product.views import FullStack, View

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

Numbers = npt.NDArray[np.int64]
Memory = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""
UNSEEN = -1


class SortedKeys:
    """Different numbers, to be found by bisection.

    >>> keys = SortedKeys(np.array([7, 3]))
    >>> keys.find(3), keys.find(4)
    (1, -1)
    """

    def __init__(self, keys: Numbers) -> None:
        self._order = np.argsort(keys)
        self._sorted = keys[self._order]

    def find(self, key: int) -> int:
        """The place of a number, or UNSEEN."""
        place = int(np.searchsorted(self._sorted, key))
        found = place < len(self._sorted) and self._sorted[place] == key
        return int(self._order[place]) if found else UNSEEN


@dataclass(frozen=True, eq=False)
class StackTree:
    """Stacks as nodes: node 0 is the empty one, every other a symbol on top of its parent.

    >>> tree = StackTree(("#", "A"), np.array([0, 1, 2], np.int32), np.array([0, 0, 1], np.int32))
    >>> tree.of(2), tree.number(("A", "#")), tree.number(("#", "#"))
    (('A', '#'), 2, -1)
    """

    stack: tuple[str, ...]  # the stack symbols, numbered from 1 in `symbol`
    symbol: Integers  # [nodes]: the top symbol, 0 for the empty stack
    parent: Integers  # [nodes]: what is below it

    @cached_property
    def _nodes(self) -> SortedKeys:
        base = len(self.stack) + 1
        return SortedKeys(self.parent.astype(np.int64) * base + self.symbol)

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
            if node != UNSEEN:
                key = node * (len(self.stack) + 1) + self.stack.index(str(symbol)) + 1
                node = self._nodes.find(key)
        return node

    def check(self, memory: Any) -> None:
        """Raise unless this is a stack of these symbols."""
        several = isinstance(memory, Sequence) and not isinstance(memory, str)
        if not several or any(symbol not in self.stack for symbol in memory):
            fault = f"{memory!r} is not a stack of the machine this was learnt with"
            fix = f"give a tuple of stack symbols, the top first: {', '.join(self.stack)}"
            raise WrongPolicy(fault, fix=fix)

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

    counters: Numbers  # [vectors, counters]: the values

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
        several = isinstance(memory, Sequence) and not isinstance(memory, str)
        fits = several and len(memory) == count
        if not fits or not all(isinstance(one, int) and one >= 0 for one in memory):
            fault = f"{memory!r} are not values of the {count} counters of the machine this was learnt with"
            raise WrongPolicy(fault, fix=f"give a tuple of {count} non-negative integers")

    def arrays(self) -> Arrays:
        """The arrays that are saved."""
        return {"counters": self.counters}


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Rows of values; what was never seen has zeros."""

    view: View
    states: tuple[str, ...]  # the machine states, final ones last, as `machine_state` numbers them
    memory: StackTree | CounterVectors
    environment_state: Integers
    machine_state: Integers
    node: Integers  # [rows]: the view of the memory, by its number in `memory`
    value: Rewards  # [rows, choices]

    @cached_property
    def _rows(self) -> SortedKeys:
        place = self.environment_state.astype(np.int64)
        return SortedKeys(self._key(place, self.machine_state, self.node))

    def _key(self, environment_state: Any, machine_state: Any, node: Any) -> Any:
        seen = environment_state * len(self.states) + machine_state
        return seen * len(self.memory) + node

    def __len__(self) -> int:
        return len(self.value)

    def values(
        self, environment_state: int, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The row for a state and a configuration."""
        if machine_state not in self.states:
            fault = f"`{machine_state}` is not a state of the machine this was learnt with"
            raise WrongPolicy(fault, fix=did_you_mean(str(machine_state), self.states))
        self.memory.check(memory)
        seen: Any = tuple(memory)
        node, row = self.memory.number(self.view.of(seen)), UNSEEN
        if node != UNSEEN:
            state = self.states.index(machine_state)
            row = self._rows.find(self._key(environment_state, state, node))
        if row == UNSEEN:
            return np.zeros(self.value.shape[1])
        found: npt.NDArray[np.float64] = self.value[row]
        return found

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """The environment state, machine state and memory of a row."""
        memory = self.memory.of(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str) -> Arrays:
        """The arrays that are saved, under names that begin so; `table_from` reads them."""
        found: Arrays = {
            "environment_state": self.environment_state,
            "machine_state": self.machine_state,
            "node": self.node,
            **self.memory.arrays(),
            "value": self.value,
        }
        return {prefix + name: array for name, array in found.items()}


KINDS = {
    "environment_state": (np.int32, 1),
    "machine_state": (np.int32, 1),
    "node": (np.int32, 1),
    "value": (np.float64, 2),
    "symbol": (np.int32, 1),
    "parent": (np.int32, 1),
    "counters": (np.int64, 2),
}
"""The type and the number of axes of each array of a table."""


def table_from(
    arrays: Arrays,
    prefix: str,
    view: View,
    states: tuple[str, ...],
    memory: tuple[str, ...] | int,
    width: int,
) -> PolicyTable:
    """The table that `PolicyTable.arrays` saved under a prefix; `ValueError` says what is wrong with it.

    memory: the stack symbols, or the number of counters. width: the values of a row."""
    counts = isinstance(memory, int)
    own = ("counters",) if counts else ("symbol", "parent")
    found = {name: arrays[prefix + name] for name in (*list(KINDS)[:4], *own)}
    for name, array in found.items():
        kind, axes = KINDS[name]
        need((array.dtype == kind and array.ndim == axes, f"`{name}` is of another kind"))
    value, nodes = found["value"], len(found[own[0]])
    need((nodes > 0, "it has no stack"))
    rows = [found[name] for name in ("environment_state", "machine_state", "node")]
    for column, most in zip(rows, (2**31 - 1, len(states) - 1, nodes - 1), strict=True):
        need((len(column) == len(value) and within(column, 0, most), "an index is out of bounds"))
    need((value.shape[1] == width, f"its rows have {value.shape[1]} values, not {width}"))
    tree: StackTree | CounterVectors
    if isinstance(memory, int):
        counters = found["counters"]
        need((counters.shape[1] == memory, "its counters are not those of its machine"))
        tree = CounterVectors(counters)
    else:
        symbol, parent = found["symbol"], found["parent"]
        below = parent[1:] < np.arange(1, nodes)
        need(
            (len(parent) == nodes and within(symbol[1:], 1, len(memory)), "a symbol is unknown"),
            (within(parent, 0, nodes - 1) and bool(below.all()), "its stacks are not a tree"),
        )
        tree = StackTree(memory, symbol, parent)
    return PolicyTable(view, states, tree, rows[0], rows[1], rows[2], value)


# --- What policies are asked with


def locate(
    shown: object, view: View, states: Sequence[str], symbols: Sequence[str], size: int | None
) -> tuple[int, str, Stack]:
    """The environment state, the machine state and the stack that an observation of `Task.env` shows to a policy with a view.

    size: how many states the environment has, if that is known: a vector cannot be read without.
    """
    k = 'k="full", depth=32' if isinstance(view, FullStack) else f"k={view.k}"
    seen = read_seen(shown, states, symbols, size)
    if seen is None or np.ndim(seen.observation):
        fault = f"{str(shown)[:60]} is not an observation of the environment and the machine that this policy was learnt with"
        fix = f"hand it what task.env({k}) shows, or policy.act(0, {states[0]!r}, ({symbols[0]!r},)): state, machine state, stack"
        raise WrongPolicy(fault, fix=fix)
    if not seen.whole and (isinstance(view, FullStack) or len(seen.stack) < view.k):
        fault = f"the observation shows {len(seen.stack)} symbols of the stack, and this policy sees more"
        raise WrongPolicy(fault, fix=f"env = task.env({k})")
    return int(seen.observation), seen.state, seen.stack


def number_state(state: Any, domain: FiniteDomain | None) -> int:
    """The number of an environment state, given as such, or as its domain calls it, if that is known (`FiniteDomain.find_state`)."""
    if domain is not None:
        try:
            return domain.find_state(state)
        except UnknownConfiguration as error:
            raise WrongPolicy(error.message, fix=error.fix) from None
    if isinstance(state, bool) or not isinstance(state, int | np.integer) or state < 0:
        fault = f"{str(state)[:60]} is not the number of a state, and this policy does not know what its domain calls them"
        raise WrongPolicy(
            fault, fix="give a number, or the domain: pdrm.learning.load_policy(path, domain)"
        )
    return int(state)


def refuse_exploring(deterministic: bool) -> None:
    """Raise if a policy is asked to explore. Stable-Baselines3's policies can, and are told with this argument."""
    if not deterministic:
        fault = "policies of pdrm act without exploration, as if `deterministic=True`"
        raise WrongArguments(
            fault, fix="leave `deterministic` out; env.action_space.sample() is a random action"
        )


# --- The table for people


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

    def record(self) -> dict[str, Any]:
        """The row for a frame: a column for the value of each action."""
        columns = {name: value for name, value in self._asdict().items() if name != "values"}
        return columns | {f"value_{name}": value for name, value in self.values.items()}


def tabulate_policy(
    learnt: PolicyTable, choices: Callable[[str], tuple[str, ...]], domain: FiniteDomain | None
) -> Rows[PolicyRow]:
    """The rows of a table; `choices`: what the values are about in a machine state."""
    from pdrm.drawing.rows import Rows

    order = np.lexsort((learnt.environment_state, learnt.node, learnt.machine_state))

    def make(number: int) -> PolicyRow:
        row = int(order[number])
        place, state, seen = learnt.seen(row)
        where = "" if domain is None else domain.describe(place)
        values = dict(zip(choices(state), learnt.value[row].tolist(), strict=False))
        best = max(values, key=values.__getitem__, default="")
        return PolicyRow(place, where, state, seen, best, values)

    return Rows(len(learnt), make)
