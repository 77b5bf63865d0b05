"""The Numba step: a machine's table run on hash-consed stacks, one label at a time.

A configuration is two integers, a state and a node. The kernels check nothing: states, nodes and labels must be in range.
A kernel that meets a new stack without room for it returns OVERFLOW with the configuration it was given; make room with
`stacks.reserve()` and call it again. Nodes it had made by then are found again, so the result and the numbers are the same.
"""

from __future__ import annotations

from numba import njit

from pdrm.machines.stacks import EMPTY, FINISHED, OK, OVERFLOW, UNDEFINED, Stacks
from pdrm.machines.tables import Table

NumberedStep = tuple[int, int, float, int]
"""The state and the node after a step, what it paid, and its status (of `pdrm.machines.stacks`)."""


# Numba's cache looks at the date of this file only: after a change to the constants or the order of fields of Table or
# Stacks, save this file too (the proofs compile afresh for every source).
#
# One loop with one exit, the push written out in it: split into functions that are handed the stacks inside the loop,
# Numba counts references to every array at every move and the whole is ten times slower (measured with Numba 0.68).
@njit(cache=True)
def follow(table: Table, stacks: Stacks, state: int, node: int, move: int) -> NumberedStep:
    """Take a move and then silent moves until none applies, their rewards added one by one. The status is OK or OVERFLOW."""
    here, at, paid, status = int(state), int(node), 0.0, OK
    while move >= 0 and status == OK:
        if table.pops[move]:
            at = int(stacks.parent[at])
        for position in range(table.pushes[move]):
            symbol = table.push[move, position]
            child = int(stacks.child[at, symbol])
            if child == EMPTY:
                child = int(stacks.made[0])
                if child == len(stacks.symbol):
                    status = OVERFLOW
                    break
                stacks.symbol[child] = symbol
                stacks.parent[child] = at
                stacks.height[child] = stacks.height[at] + 1
                stacks.child[at, symbol] = child
                stacks.made[0] = child + 1
            at = child
        here = int(table.target[move])
        paid += table.reward[move]
        move = table.silent[here, stacks.symbol[at]]
    if status == OVERFLOW:
        here, at, paid = int(state), int(node), 0.0
    return here, at, paid, status


@njit(cache=True)
def step(table: Table, stacks: Stacks, state: int, node: int, label: int) -> NumberedStep:
    """Read one label, then take silent moves until none applies. Where the status is not OK, nothing has changed."""
    move = table.move[state, label, stacks.symbol[node]]
    if move >= 0:
        done = follow(table, stacks, state, node, move)
    else:
        done = int(state), int(node), 0.0, (FINISHED if state >= table.first_final else UNDEFINED)
    return done
