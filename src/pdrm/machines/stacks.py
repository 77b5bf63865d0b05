"""Hash-consed stacks: a stack is an integer, and equal stacks are the same integer.

Stacks form a tree rooted at the empty stack, node 0: below each node hangs one child per symbol, the stack with that symbol
on top. A push is one look-up in `child`, a pop one in `parent`, whatever the height. Nodes are made when first pushed to
and numbered in that order; they never go away, and making room keeps their numbers.
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
"""Nodes are 32-bit integers."""


class Stacks(NamedTuple):
    """The tree of all stacks seen, as arrays that kernels read and extend in place.

    >>> stacks = Stacks.empty(symbols=2, capacity=8)
    >>> node = stacks.node_of((2, 1))
    >>> stacks.stack_of(node), int(stacks.symbol[node]), stacks.stack_of(stacks.parent[node])
    ((2, 1), 2, (1,))
    >>> stacks.reserve(100).node_of((2, 1)) == node
    True
    """

    symbol: Integers
    """[node]: the topmost symbol, 0 on the empty stack."""
    parent: Integers
    """[node]: the stack with the topmost symbol popped; the empty stack's is itself."""
    height: Integers
    """[node]: how many symbols the stack holds."""
    child: Integers
    """[node, symbol]: the stack with the symbol pushed; 0 if it has not been made yet (column 0 is unused)."""
    made: npt.NDArray[np.int64]
    """[1]: how many nodes have been made. The rest of the arrays is room."""

    @classmethod
    def empty(cls, symbols: int, capacity: int = 1024) -> Stacks:
        """The empty stack alone, over this many stack symbols, with room for `capacity` nodes in all."""
        symbol, parent, height = (np.zeros(capacity, np.int32) for _ in range(3))
        return cls(
            symbol,
            parent,
            height,
            np.zeros((capacity, symbols + 1), np.int32),
            np.ones(1, np.int64),
        )

    @property
    def capacity(self) -> int:
        return len(self.symbol)

    def reserve(self, more: int = 1) -> Stacks:
        """The same stacks, with room for `more` nodes: themselves, or in arrays at least twice as long."""
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
        """The node of a stack given top first, made if it is new; `StackFull` if that needs more room."""
        node = EMPTY
        for symbol in reversed(tuple(stack)):
            node = int(self.child[node, symbol]) or self._add(node, symbol)
        return node

    def stack_of(self, node: int) -> Symbols:
        """A node's symbols, top first."""
        symbols = []
        while node != EMPTY:
            symbols.append(int(self.symbol[node]))
            node = int(self.parent[node])
        return tuple(symbols)

    def _add(self, parent: int, symbol: int) -> int:
        node = int(self.made[0])
        if node == self.capacity:
            raise StackFull(
                f"there is room for {node:,} stacks only",
                fix="make room first: `stacks.reserve(more)`",
            )
        self.symbol[node] = symbol
        self.parent[node] = parent
        self.height[node] = self.height[parent] + 1
        self.child[parent, symbol] = node
        self.made[0] = node + 1
        return node


# --- Arrays that grow


def lengthen(array: npt.NDArray[A], rows: int, value: int = 0) -> npt.NDArray[A]:
    """The rows of an array, followed by rows of a value.

    >>> lengthen(np.array([7, 8]), 4, -1).tolist()
    [7, 8, -1, -1]
    """
    longer = np.zeros((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    if value:
        longer[len(array) :] = value
    return longer


# --- How a step went

OK = 0
"""The step was made."""
UNDEFINED = 1
"""No rule applies and the machine says `otherwise error`: the configuration is as before."""
OVERFLOW = 2
"""A push finds no room. The kernel leaves the configuration as before, JAX drops the push."""
FINISHED = 3
"""The state is final: no label can be read, the configuration is as before."""
