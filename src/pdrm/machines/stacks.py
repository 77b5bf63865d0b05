"""Hash-consed stacks: a stack is an integer, and equal stacks are the same integer.

Stacks form a tree rooted at the empty stack, node 0. Each node has a child per symbol, the stack
with that symbol pushed. A push is a look-up in `child`, a pop in `parent`, at any height. A node is
created by the first push that reaches it. Nodes are numbered in order of creation, are never freed,
and keep their numbers when the arrays grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdrm.errors import StackFull
from pdrm.machines.tables import Integers, Symbols

EMPTY = 0
"""The node of the empty stack."""

A = TypeVar("A", bound=np.generic)

MAX_NODES = 2**31 - 1
"""The maximum number of nodes, which are 32-bit integers."""


class Stacks(NamedTuple):
    """The tree of stacks, as arrays that kernels read and extend in place.

    >>> stacks = Stacks.empty(symbols=2, capacity=8)
    >>> node = stacks.node_of((2, 1))
    >>> stacks.stack_of(node), int(stacks.symbol[node]), stacks.stack_of(stacks.parent[node])
    ((2, 1), 2, (1,))
    >>> stacks.reserve(100).node_of((2, 1)) == node
    True
    """

    symbol: Integers
    """[node]: the top symbol (0 for the empty stack)."""
    parent: Integers
    """[node]: the stack with the top symbol popped (itself for the empty stack)."""
    height: Integers
    """[node]: the number of symbols."""
    child: Integers
    """[node, symbol]: the stack with the symbol pushed, or 0 if not created. Column 0 is unused."""
    made: npt.NDArray[np.int64]
    """[1]: the number of created nodes. The rest of the arrays is free."""

    @classmethod
    def empty(cls, symbols: int, capacity: int = 1024) -> Stacks:
        """The tree of the empty stack, over `symbols` stack symbols, with `capacity` nodes."""
        return cls(
            symbol=np.zeros(capacity, np.int32),
            parent=np.zeros(capacity, np.int32),
            height=np.zeros(capacity, np.int32),
            child=np.zeros((capacity, symbols + 1), np.int32),
            made=np.ones(1, np.int64),
        )

    @property
    def capacity(self) -> int:
        return len(self.symbol)

    def reserve(self, more: int = 1) -> Stacks:
        """The tree with capacity for `more` nodes: itself, or a copy at least twice as large."""
        made = int(self.made[0])
        if made + more <= self.capacity:
            return self
        if made + more > MAX_NODES:
            raise StackFull(
                f"more than {MAX_NODES:,} distinct stacks", fix="cap the height of the stack"
            )
        capacity = min(max(made + more, 2 * self.capacity), MAX_NODES)
        symbol, parent, height, child = (lengthen(array, capacity) for array in self[:4])
        return Stacks(symbol, parent, height, child, self.made.copy())

    def node_of(self, stack: Iterable[int]) -> int:
        """The node of a stack, given top first. Creates missing nodes; raises `StackFull`."""
        node = EMPTY
        for symbol in reversed(tuple(stack)):
            node = int(self.child[node, symbol]) or self._add(node, symbol)
        return node

    def stack_of(self, node: int) -> Symbols:
        """The symbols of a node, top first."""
        symbols = []
        while node != EMPTY:
            symbols.append(int(self.symbol[node]))
            node = int(self.parent[node])
        return tuple(symbols)

    def _add(self, parent: int, symbol: int) -> int:
        node = int(self.made[0])
        if node == self.capacity:
            raise StackFull(
                f"there is capacity for {node:,} stacks only",
                fix="increase it first: `stacks.reserve(more)`",
            )
        self.symbol[node] = symbol
        self.parent[node] = parent
        self.height[node] = self.height[parent] + 1
        self.child[parent, symbol] = node
        self.made[0] = node + 1
        return node


# --- Arrays that grow


def lengthen(array: npt.NDArray[A], rows: int, value: int = 0) -> npt.NDArray[A]:
    """Copy an array and append rows of a value, up to `rows` rows.

    >>> lengthen(np.array([7, 8]), 4, -1).tolist()
    [7, 8, -1, -1]
    """
    longer = np.zeros((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    if value:
        longer[len(array) :] = value
    return longer


# --- The status of a step. In the kernels, the configuration is unchanged unless it is OK.

OK = 0
"""The step was made."""
UNDEFINED = 1
"""No rule applies, and `otherwise` is an error."""
OVERFLOW = 2
"""The arrays are full. In JAX, the push is dropped."""
FINISHED = 3
"""The state is final."""
