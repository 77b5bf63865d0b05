"""What the rows of a policy remember of a machine: stacks that share their symbols in a tree, or vectors of counters.

Both number what they hold: `of(number)` is the stack or the vector, `number(memory)` its number, or -1 where it was never
met. The tree lets millions of whole stacks take no more room than the stacks themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pdrm.errors import WrongPolicy
from pdrm.machines.table import Integers
from pdrm.machines.transition import Stack

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
