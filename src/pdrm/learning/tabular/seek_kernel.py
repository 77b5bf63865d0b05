"""Looking for what is not known yet, in Numba: the way, over moves that are known, to an action that was never tried.

What such an action will do is not known; it is guessed to emit the label that it emitted most often elsewhere. The guess only decides what is tried
first: an action that the machine would then end the episode for comes after all others that can be reached.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.analysis.whole_stack_kernel import World
from pdrm.machines.stacks import OK, Stacks
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import Integers, Symbols, Table

NEAREST, RICHEST = range(2)
"""The action that is looked for: the one in the fewest steps, or the one with which most has been paid."""
SILENT = 1024
"""Silent moves, more than one for each step, that there is room for."""


def guess_labels(world: World, labels: int) -> Integers:
    """[action]: the label that it emitted in most states, the first of several; -1 if it was never tried."""
    count = np.zeros((world.next.shape[1], labels), np.int64)
    s, a = np.nonzero(world.next >= 0)
    np.add.at(count, (a, world.label[s, a]), 1)
    return np.where(count.any(axis=1), count.argmax(axis=1), -1).astype(np.int32)


def find_path(
    world: World,
    table: Table,
    guess: Integers,
    s: int,
    u: int,
    stack: Symbols,
    left: int,
    goal: int,
    turn: int,
    discount: float,
) -> list[int]:
    """The actions that lead to one never tried, itself the last, in at most `left` steps; none if there are none.

    The search goes breadth first over environment state, machine state and top symbol, with the stack that each is first
    reached with. `guess` are the labels that actions are expected to emit, `stack` is top first; `turn` says which of several
    untried actions comes first, `discount` how much later payments count.
    """
    symbols = table.silent.shape[1]
    moves = world.next.size * table.first_final * symbols + SILENT
    stacks = Stacks.empty(symbols - 1, len(stack) + 1 + moves * table.push.shape[1])
    begin = s, u, stacks.node_of(stack)
    found: list[int] = seek(world, table, stacks, guess, begin, left, goal, turn, discount).tolist()
    return found


@njit(cache=True)
def guess_end(table: Table, u: int, label: int, z: int) -> tuple[bool, float]:
    """True if the machine ends the episode on a guessed label; and the reward it pays."""
    if label < 0:
        return False, 0.0
    move = table.move[u, label, z]
    return (
        (True, 0.0) if move < 0 else (table.target[move] >= table.first_final, table.reward[move])
    )


@njit(cache=True)
def seek(
    world: World,
    table: Table,
    stacks: Stacks,
    guess: Integers,
    begin: tuple[int, int, int],
    left: int,
    goal: int,
    turn: int,
    discount: float,
) -> Integers:
    """The search of `find_path` from an environment state, a machine state and a node of `stacks`."""
    places, actions = world.next.shape
    states, symbols = table.first_final, table.silent.shape[1]  # the episode goes on in these
    room = places * states * symbols
    reached = np.empty((room, 3), np.int32)  # environment state, machine state, stack
    origin, did, depth = (
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.zeros(room, np.int32),
    )
    gain = np.zeros(room)
    met = np.zeros((places, states, symbols), np.bool_)
    reached[0, 0], reached[0, 1], reached[0, 2] = begin
    origin[0] = -1
    met[begin[0], begin[1], stacks.symbol[begin[2]]] = True
    count, node, best, best_action, best_ends, best_gain = 1, 0, -1, -1, True, 0.0
    while node < count and depth[node] < left:
        s, u, stack = reached[node, 0], reached[node, 1], reached[node, 2]
        weight = discount ** depth[node]
        for offset in range(actions):
            a = (offset + turn) % actions
            after = world.next[s, a]
            if after < 0:
                ends, paid = guess_end(table, u, guess[a], stacks.symbol[stack])
                paid = gain[node] + weight * paid
                richer = goal == RICHEST and ends == best_ends and paid > best_gain
                if best < 0 or (best_ends and not ends) or richer:
                    best, best_action, best_ends, best_gain = node, a, ends, paid
                continue
            if goal == NEAREST and not best_ends:
                continue
            now, at, paid, status = step(table, stacks, u, stack, world.label[s, a])
            if status != OK or now >= states or world.terminal[after]:
                continue
            if not met[after, now, stacks.symbol[at]]:
                met[after, now, stacks.symbol[at]] = True
                reached[count, 0], reached[count, 1], reached[count, 2] = after, now, at
                origin[count], did[count], depth[count] = node, a, depth[node] + 1
                gain[count] = gain[node] + weight * (world.reward[s, a] + paid)
                count += 1
        if goal == NEAREST and not best_ends:
            break
        node += 1
    if best < 0:
        return np.zeros(0, np.int32)
    way = np.empty(depth[best] + 1, np.int32)
    way[depth[best]] = best_action
    while origin[best] >= 0:
        way[depth[best] - 1] = did[best]
        best = origin[best]
    return way
