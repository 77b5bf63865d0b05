"""A learnt table by what the agent sees: one row per (environment state, machine state, view of the stack or counters).

A training run numbers rows and stacks as it meets them; `decode_table` turns its keys back into what they stand for. What a
row remembers of the machine's memory is a number in a `StackTree` or in `CounterVectors`: in both `of(number)` is the stack or
the vector, and `number(memory)` its number, or UNSEEN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UnknownConfiguration, WrongArguments, WrongPolicy, did_you_mean
from pdrm.files import Arrays, distinct, need, within
from pdrm.learning.tabular.rows_kernel import Values
from pdrm.learning.tabular.training import TabularTraining
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import LARGEST_VALUE, Integers, Rewards
from pdrm.machines.transitions import Stack
from pdrm.product.exploration import LARGEST_KEY
from pdrm.product.observation import read_seen
from pdrm.product.views import FullStack, TopK, View

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

Numbers = npt.NDArray[np.int64]
Memory = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""
UNSEEN = -1
AT_ONCE = 2**16
"""Rows that are decoded at once."""


class Places:
    """The place of a row of numbers among rows that are all different, found by bisection; they are put in order when the first is
    looked for.

    >>> places = Places((np.array([7, 3]), np.array([0, 1])), (2,))
    >>> places.find(3, 1), places.find(3, 0), places.distinct()
    (1, -1, True)
    """

    __slots__ = ("_columns", "_largest", "_order", "_sizes", "_sorted")

    def __init__(self, columns: tuple[Integers, ...], sizes: tuple[int, ...]) -> None:
        """sizes: of each column but the first, a number that is larger than all in it."""
        self._columns, self._sizes = columns, sizes
        self._order: Numbers | None = None
        self._sorted, self._largest = np.zeros(0, np.int64), UNSEEN

    def find(self, *row: int) -> int:
        """The place of the row, or UNSEEN."""
        if self._order is None:
            keys = self._keys(self._columns)
            self._order = np.argsort(keys, kind="stable")
            self._sorted, self._largest = (
                keys[self._order],
                int(self._columns[0].max(initial=UNSEEN)),
            )
        if row[0] > self._largest or any(
            number >= size for number, size in zip(row[1:], self._sizes, strict=True)
        ):
            return UNSEEN
        key = self._keys(row)
        place = int(np.searchsorted(self._sorted, key))
        found = place < len(self._sorted) and self._sorted[place] == key
        return int(self._order[place]) if found else UNSEEN

    def distinct(self) -> bool:
        """Whether the rows are all different."""
        return distinct(self._keys(self._columns))

    def _keys(self, columns: Sequence[Any]) -> Any:
        """One number for each row."""
        key = np.int64(columns[0])
        for column, size in zip(columns[1:], self._sizes, strict=True):
            key = key * size + column
        return key


@dataclass(frozen=True, slots=True, eq=False)
class StackTree:
    """Stacks as nodes: node 0 is the empty one, every other a symbol on top of its parent. So millions of whole stacks take no
    more room than one symbol each.

    >>> tree = StackTree(("#", "A"), np.array([0, 1, 2], np.int32), np.array([0, 0, 1], np.int32))
    >>> tree.of(2), tree.number(("A", "#")), tree.number(("#", "#"))
    (('A', '#'), 2, -1)
    """

    stack: tuple[str, ...]  # the stack symbols, numbered from 1 in `symbol`
    symbol: Integers  # [nodes]: the top symbol, 0 for the empty stack
    parent: Integers  # [nodes]: what is below it
    _places: Places = field(init=False, repr=False)  # of a parent and a symbol

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_places", Places((self.parent, self.symbol), (len(self.stack) + 1,))
        )

    def check(self) -> None:
        """Raise `ValueError` unless these are stacks, none of them twice."""
        symbol, parent, fault = self.symbol, self.parent, "its stacks are not a tree of its symbols"
        need(
            (symbol.dtype == parent.dtype == np.int32 and symbol.ndim == 1, fault),
            (
                symbol.shape == parent.shape and len(symbol) > 0 and symbol[0] == parent[0] == 0,
                fault,
            ),
            (within(symbol[1:], 1, len(self.stack)) and within(parent, 0, len(parent) - 1), fault),
            (bool(np.all(parent[1:] < np.arange(1, len(parent)))), fault),
        )
        need((self._places.distinct(), "a stack comes twice"))

    def __len__(self) -> int:
        return len(self.symbol)

    def of(self, number: int) -> Stack:
        """The stack of a node, top first."""
        symbols = []
        while number:
            symbols.append(self.stack[int(self.symbol[number]) - 1])
            number = int(self.parent[number])
        return tuple(symbols)

    def check_symbols(self, memory: Memory) -> None:
        """Raise unless these are symbols of the stack."""
        known = f"the top comes first: {', '.join(self.stack)}"
        if isinstance(memory, str) or not isinstance(memory, Sequence):
            fault = f"{memory!r} is not a stack of the machine this was learnt with"
            raise WrongPolicy(fault, fix=f"give a tuple of stack symbols, {known}")
        for symbol in memory:
            if symbol not in self.stack:
                fault = f"{symbol!r} is not a stack symbol of the machine this was learnt with"
                raise WrongPolicy(fault, fix=f"use its stack symbols, {known}")

    def number(self, memory: Sequence[str]) -> int:
        """The node of a stack."""
        self.check_symbols(memory)
        node = 0
        for symbol in reversed(memory):
            node = self._places.find(node, self.stack.index(symbol) + 1)
            if node == UNSEEN:
                break
        return node

    def arrays(self) -> Arrays:
        """What is saved."""
        return {"symbol": self.symbol, "parent": self.parent}


@dataclass(frozen=True, slots=True, eq=False)
class CounterVectors:
    """Vectors of counter values, numbered.

    >>> vectors = CounterVectors(np.array([[0, 0], [1, 7]]))
    >>> vectors.of(1), vectors.number((1, 7)), vectors.number((7, 1))
    ((1, 7), 1, -1)
    """

    counters: Numbers  # [vectors, counters]: the values
    _numbers: dict[tuple[int, ...], int] = field(init=False, repr=False, default_factory=dict)
    """The number of each vector, once the first was looked for."""

    def check(self) -> None:
        """Raise `ValueError` unless these are vectors of counters, none of them twice."""
        need(
            (
                self.counters.dtype == np.int64 and self.counters.ndim == 2,
                "its counters are no vectors",
            ),
            (within(self.counters, 0, LARGEST_VALUE), "a counter is out of its range"),
        )
        need((distinct(self.counters), "a vector of counters comes twice"))

    def __len__(self) -> int:
        return len(self.counters)

    def of(self, number: int) -> tuple[int, ...]:
        """The values of a vector."""
        return tuple(self.counters[number].tolist())

    def number(self, memory: Sequence[int]) -> int:
        """The number of a vector."""
        count = self.counters.shape[1]
        if len(memory) != count or not all(
            isinstance(value, int) and value >= 0 for value in memory
        ):
            fault = f"{memory!r} are not values of the {count} counters of the machine this was learnt with"
            raise WrongPolicy(fault, fix=f"give a tuple of {count} non-negative integers")
        if not self._numbers:
            self._numbers.update(
                (tuple(vector), place) for place, vector in enumerate(self.counters.tolist())
            )
        return self._numbers.get(tuple(memory), UNSEEN)

    def arrays(self) -> Arrays:
        """What is saved."""
        return {"counters": self.counters}


@dataclass(frozen=True, slots=True, eq=False)
class PolicyTable:
    """Rows of values; what was never seen has zeros."""

    view: View
    states: tuple[str, ...]  # the machine states, final ones last, as `machine_state` numbers them
    memory: StackTree | CounterVectors
    environment_state: Integers
    machine_state: Integers
    node: Integers  # [rows]: the view of the memory, by its number in `memory`
    value: Rewards  # [rows, choices]
    _places: Places = field(
        init=False, repr=False
    )  # of an environment state, a machine state and a node

    def __post_init__(self) -> None:
        columns = self.environment_state, self.machine_state, self.node
        object.__setattr__(self, "_places", Places(columns, (len(self.states), len(self.memory))))

    def check(self) -> None:
        """Raise `ValueError` unless the columns fit together and no two rows are about the same. What was just learnt is so; what a
        file holds may be anything."""
        self.memory.check()
        columns = self.environment_state, self.machine_state, self.node
        need(
            (
                self.value.dtype == np.float64 and self.value.ndim == 2,
                "its values are no table of numbers",
            ),
            (all(column.dtype == np.int32 for column in columns), "its columns are no numbers"),
            (
                all(column.shape == (len(self.value),) for column in columns),
                "its columns do not fit together",
            ),
        )
        keys = (
            (int(self.environment_state.max(initial=0)) + 1) * len(self.states) * len(self.memory)
        )
        need(
            (
                within(self.environment_state, 0, np.iinfo(np.int32).max),
                "a row is about a state below 0",
            ),
            (
                within(self.machine_state, 0, len(self.states) - 1),
                "a row is about no state of its machine",
            ),
            (
                within(self.node, 0, len(self.memory) - 1),
                "a row is about a stack that it does not have",
            ),
            (not np.isnan(self.value).any(), "it holds what is not a number"),
            (keys < LARGEST_KEY, "it is more than a table can hold"),
        )
        if isinstance(self.view, TopK) and isinstance(self.memory, StackTree):
            below = self.node
            for _ in range(min(self.view.k, len(self.memory))):
                below = self.memory.parent[below]
            need((not below.any(), f"a row is about more than the top {self.view.k} symbols"))
        need((self._places.distinct(), "two rows are about the same"))

    def __len__(self) -> int:
        return len(self.value)

    def values(
        self, environment_state: int, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The row for a state and a configuration."""
        if machine_state not in self.states:
            fault = f"`{machine_state}` is not a state of the machine this was learnt with"
            raise WrongPolicy(fault, fix=did_you_mean(str(machine_state), self.states))
        if not isinstance(environment_state, int | np.integer) or environment_state < 0:
            fault = f"{environment_state!r} is not a state of an environment"
            raise WrongPolicy(fault, fix="give its number, a non-negative integer")
        if isinstance(self.memory, StackTree):
            self.memory.check_symbols(memory)
        seen: Any = self.view.of(tuple(memory)) if not isinstance(memory, str) else memory  # type: ignore[arg-type]
        node, row = self.memory.number(seen), UNSEEN
        if node != UNSEEN:
            row = self._places.find(int(environment_state), self.states.index(machine_state), node)
        found: npt.NDArray[np.float64] = (
            self.value[row] if row != UNSEEN else np.zeros(self.value.shape[1])
        )
        return found

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """What a row stands for."""
        memory = self.memory.of(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str) -> Arrays:
        """What is saved, under names that begin so; `table_from` reads it."""
        found: Arrays = {
            name: getattr(self, name) for name in ("environment_state", "machine_state", "node")
        }
        found |= {**self.memory.arrays(), "value": self.value}
        return {prefix + name: array for name, array in found.items()}


def table_from(
    arrays: Arrays, prefix: str, view: View, description: dict[str, Any], width: int
) -> PolicyTable:
    """The table that `PolicyTable.arrays` saved under a prefix, checked; its rows must have so many values."""
    memory: StackTree | CounterVectors
    if prefix + "counters" in arrays:
        memory = CounterVectors(arrays[prefix + "counters"])
    else:
        memory = StackTree(
            tuple(description["stack"]), arrays[prefix + "symbol"], arrays[prefix + "parent"]
        )
    columns: list[Any] = [
        arrays[prefix + name] for name in ("environment_state", "machine_state", "node", "value")
    ]
    table = PolicyTable(view, tuple(description["states"]), memory, *columns)
    table.check()
    if table.value.shape[1] != width:
        raise ValueError(f"its rows have {table.value.shape[1]} values, not {width}")
    return table


def decode_table(
    training: TabularTraining, values: Values, view: View, *, copy: bool
) -> PolicyTable:
    """A run's table; without a copy it changes as the run goes on. Its keys are (code of the view * machine states + machine state) *
    environment states + environment state; the code is the number of a whole stack or counter vector, or the top k symbols as digits."""
    used, states, machine_states = (
        int(values.index.used[0]),
        training.domain.states,
        len(training.explored.table.silent),
    )
    environment_state, machine_state, code = (
        np.empty(used, np.int32),
        np.empty(used, np.int32),
        np.empty(used, np.int64),
    )
    for first in range(
        0, used, AT_ONCE
    ):  # few at a time: for millions, memory for what is in between would take longer
        rows = slice(first, min(used, first + AT_ONCE))
        seen, environment_state[rows] = np.divmod(values.index.key[rows], states)
        code[rows], machine_state[rows] = np.divmod(seen, machine_states)
    stacks, machine = training.explored.stacks, training.machine
    memory: StackTree | CounterVectors
    if isinstance(machine, CountingRewardAutomaton):
        made = int(stacks.made[0])
        memory = CounterVectors(
            np.array(training.explored.configurations.counters[:made], copy=copy or None)
        )
    else:
        if not isinstance(view, FullStack):
            stacks, code = _tree_of_tops(stacks.child.shape[1], view.k, code)
        made = int(stacks.made[0])
        memory = StackTree(
            machine.stack,
            *(np.array(part[:made], copy=copy or None) for part in (stacks.symbol, stacks.parent)),
        )
    value = np.array(values.value[:used], copy=copy or None)
    if np.isnan(value.max(initial=0.0)):  # which is no number where one of them is none
        fault = "what was learnt has grown beyond the largest number"
        raise BadSetting(fault, fix="smaller rewards, or a smaller shaping_scale")
    columns = environment_state, machine_state, code.astype(np.int32), value
    return PolicyTable(view, (*machine.states, *machine.final), memory, *columns)


def _tree_of_tops(base: int, k: int, code: Numbers) -> tuple[Stacks, Numbers]:
    """The top-k codes as nodes of a tree of their own."""
    distinct, place = np.unique(code, return_inverse=True)
    tops = Stacks.empty(base - 1, max(1, k) * len(distinct) + 1)
    nodes = []
    for number in distinct.tolist():
        digits = [number // base**power % base for power in reversed(range(k))]
        nodes.append(tops.node_of(digit for digit in digits if digit))
    return tops, np.array(nodes, np.int64)[place]


def locate(
    shown: object, view: View, states: Sequence[str], symbols: Sequence[str], size: int | None
) -> tuple[int, str, Stack]:
    """The environment state, the machine state and the stack that an observation of `Task.env` shows to a policy with a view.

    size: how many states the environment has, where that is known: a vector cannot be read without.
    """
    k = 'k="full", depth=32' if isinstance(view, FullStack) else f"k={view.k}"
    seen = read_seen(shown, states, symbols, size)
    if seen is None or np.ndim(seen.observation):
        fault = f"{str(shown)[:60]} is not an observation of the environment and the machine that this policy was learnt with"
        fix = f"hand it what task.env({k}) shows, or policy.act(0, {states[0]!r}, ({symbols[0]!r},)): state, machine state, stack"
        raise WrongPolicy(fault, fix=fix)
    if not seen.whole and (isinstance(view, FullStack) or len(seen.stack) < view.k):
        count = len(seen.stack)
        fault = f"the observation shows {count} symbol{'s' * (count != 1)} of the stack, and this policy sees more"
        raise WrongPolicy(fault, fix=f"env = task.env({k})")
    return int(seen.observation), seen.state, seen.stack


def number_state(state: Any, domain: FiniteDomain | None) -> int:
    """The number of an environment state, given as such, or as its domain calls it, where that is known (`FiniteDomain.find_state`)."""
    if domain is not None:
        try:
            return domain.find_state(state)
        except UnknownConfiguration as error:
            raise WrongPolicy(error.message, fix=error.fix) from None
    if isinstance(state, bool) or not isinstance(state, int | np.integer):
        fault = f"{str(state)[:60]} is not the number of a state, and this policy does not know what its domain calls them"
        raise WrongPolicy(
            fault, fix="give a number, or the domain: pdrm.learning.load_policy(path, domain)"
        )
    if state < 0:
        fault = f"{state} is not a state of an environment"
        raise WrongPolicy(fault, fix="give its number, a non-negative integer")
    return int(state)


def refuse_exploring(deterministic: bool) -> None:
    """Raise where a policy is asked to explore. Stable-Baselines3's policies can, and are told with this argument."""
    if not deterministic:
        fault = "policies of pdrm act without exploration, as if `deterministic=True`"
        raise WrongArguments(
            fault, fix="leave `deterministic` out; env.action_space.sample() is a random action"
        )


# --- The table for people


class PolicyRow(NamedTuple):
    """What was learnt about one thing that the agent sees.

    >>> PolicyRow(3, "", "u0", ("A",), "u", {"u": 1.0, "d": 0.5}).record()["value_d"]
    0.5
    """

    environment_state: int
    where: str
    """The environment's state in words, where the domain is known."""
    machine_state: str
    stack: tuple[Any, ...]
    """What is seen of it, top first; or the values of the counters."""
    best: str
    """The action (or option) of highest value, the first of several."""
    values: dict[str, float]
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
        names, where = choices(state), "" if domain is None else domain.describe(place)
        values = dict(zip(names, learnt.value[row].tolist(), strict=False))
        return PolicyRow(
            place, where, state, seen, max(values, key=values.__getitem__, default=""), values
        )

    return Rows(len(learnt), make)
