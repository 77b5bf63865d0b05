"""Taking every step from product states, in Numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.labelled_mdp import DomainArrays
from pdrm.machines.kernels import step
from pdrm.machines.runs import FULL, OK
from pdrm.machines.stacks import Stacks
from pdrm.machines.table import Table
from pdrm.product.finite.arrays import BLOCK, END, FAIL, States

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_29, _32 = np.uint64(29), np.uint64(32)


@njit(cache=True)
def find(states: States, place: int, state: int, node: int) -> tuple[int, int]:
    """The product state, or -1, and the slot it has or would have."""
    slot, places, machine, nodes = states.slot, states.place, states.state, states.node
    mask = len(slot) - 1
    word = np.uint64(node) * _MULTIPLIER
    word = (word ^ (word >> _29) ^ np.uint64(place * 64 + state)) * _MULTIPLIER
    probe = int(word >> _32) & mask
    while slot[probe] >= 0:
        x = slot[probe]
        if places[x] == place and machine[x] == state and nodes[x] == node:
            return int(x), probe
        probe = (probe + 1) & mask
    return -1, probe


@njit(cache=True)
def add(states: States, place: int, state: int, node: int, probe: int) -> int:
    """A new product state in its slot; there must be room."""
    x = int(states.made[0])
    states.place[x], states.state[x], states.node[x] = place, state, node
    states.slot[probe] = x
    states.made[0] = x + 1
    return x


@njit(cache=True)
def place_all(states: States) -> None:
    """Put all states into empty slots."""
    for x in range(states.made[0]):
        _, probe = find(states, states.place[x], states.state[x], states.node[x])
        states.slot[probe] = x


@njit(cache=True)
def look(
    table: Table,
    stacks: Stacks,
    world: DomainArrays,
    states: States,
    chosen: npt.NDArray[np.int64],
    first: int,
    height: int,
    rule: int,
) -> tuple[int, int]:
    """Take every step from the chosen states, from number `first` on.

    Returns how far it came, and OK, UNDEFINED (a label the machine has no move for) or FULL (make room, then go on).
    """
    actions, outcomes = states.next.shape[1], states.next.shape[2]
    for number in range(first, len(chosen)):
        x = chosen[number]
        s, u, node = states.place[x], states.state[x], states.node[x]
        if states.made[0] + actions * outcomes > len(states.place):
            return number, FULL
        for a in range(actions):
            for o in range(outcomes):
                if world.probability[s, a, o] <= 0.0:
                    continue
                after, at, paid, status = step(table, stacks, u, node, world.label[s, a, o])
                if status != OK:
                    return number, status
                s2 = world.next[s, a, o]
                states.reward[x, a, o] = paid + world.reward[s, a, o]
                y = END
                if after < table.first_final and not world.terminal[s2]:
                    above = stacks.height[at] > height
                    if above and rule == BLOCK:
                        y = x
                    elif not (above and rule == FAIL):
                        y, probe = find(states, s2, after, at)
                        if y < 0:
                            y = add(states, s2, after, at, probe)
                            states.depth[y] = states.depth[x] + 1
                            states.origin[y] = x
                            states.via[y] = a * outcomes + o
                states.next[x, a, o] = y
        states.looked[x] = True
    return len(chosen), OK
