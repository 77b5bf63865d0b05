"""The Numba step: a machine's table on hash-consed stacks, one label at a time.

A configuration is two integers, a state and a node. Arguments are not checked: states, nodes and
labels must be in range. Without capacity for a new stack, a kernel returns OVERFLOW and the given
configuration. Call it again after `stacks.reserve()`. It reuses the nodes that it has created, so
the result and the numbers of nodes are the same.
"""

from __future__ import annotations

from numba import njit

from pdrm.machines.stacks import EMPTY, FINISHED, OK, OVERFLOW, UNDEFINED, Stacks
from pdrm.machines.tables import Table

NumberedStep = tuple[int, int, float, int]
"""The state and the node after a step, its reward, and its status (see `pdrm.machines.stacks`)."""


# Numba's cache depends on the modification time of this file only. After changing constants or the
# field order of Table or Stacks, touch this file (the property tests recompile for every source).
#
# There is one loop with one exit, and the push is inlined. If `stacks` is passed to a function
# inside the loop, Numba counts references to every array at every move, which is ten times slower
# (measured with Numba 0.68).
@njit(cache=True)
def follow(table: Table, stacks: Stacks, state: int, node: int, move: int) -> NumberedStep:
    """Make a move, then silent moves until none applies. The status is OK or OVERFLOW."""
    next_state = int(state)
    next_node = int(node)
    reward = 0.0
    status = OK
    while move >= 0 and status == OK:
        if table.pops[move]:
            next_node = int(stacks.parent[next_node])
        for position in range(table.pushes[move]):
            symbol = table.push[move, position]
            child = int(stacks.child[next_node, symbol])
            if child == EMPTY:
                child = int(stacks.made[0])
                if child == len(stacks.symbol):
                    status = OVERFLOW
                    break
                stacks.symbol[child] = symbol
                stacks.parent[child] = next_node
                stacks.height[child] = stacks.height[next_node] + 1
                stacks.child[next_node, symbol] = child
                stacks.made[0] = child + 1
            next_node = child
        next_state = int(table.target[move])
        reward += table.reward[move]
        move = table.silent[next_state, stacks.symbol[next_node]]
    if status == OVERFLOW:
        return int(state), int(node), 0.0, status
    return next_state, next_node, reward, status


@njit(cache=True)
def step(table: Table, stacks: Stacks, state: int, node: int, label: int) -> NumberedStep:
    """Read a label, then make silent moves until none applies."""
    move = table.move[state, label, stacks.symbol[node]]
    if move >= 0:
        result = follow(table, stacks, state, node, move)
    else:
        status = FINISHED if state >= table.first_final else UNDEFINED
        result = int(state), int(node), 0.0, status
    return result
