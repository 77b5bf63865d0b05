"""Looking for what is not known yet, in Numba: the way, over moves that are known, to an action that was never tried.

What such an action will do is not known; it is guessed to emit the label that it emitted most often elsewhere. The guess only decides what is tried
first: an action that the machine would then end the episode for comes after all others that can be reached.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.analysis.whole_stack_kernel import World
from pdrm.machines.tables import Integers, Table

NEAREST, RICHEST = range(2)
"""The action that is looked for: the one in the fewest steps, or the one with which most has been paid."""
SILENT = 1024
"""Silent moves, more than one for each step, that there is room for."""


@njit(cache=True)
def guess_labels(world: World, labels: int) -> Integers:
    """[action]: the label that it emitted in most states, the first of several; -1 if it was never tried."""
    places, actions = world.next.shape
    found = np.full(actions, -1, np.int32)
    for a in range(actions):
        count = np.zeros(labels, np.int64)
        for s in range(places):
            if world.next[s, a] >= 0:
                count[world.label[s, a]] += 1
        most = count.argmax()
        if count[most]:
            found[a] = most
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
    guess: Integers,
    s: int,
    u: int,
    stack: Integers,
    left: int,
    goal: int,
    turn: int,
    discount: float,
) -> Integers:
    """The actions that lead to one never tried, itself the last, in at most `left` steps; none if there are none.

    The search goes breadth first over environment state, machine state and top symbol, with the stack that each is first reached with. `guess` are
    the labels that actions are expected to emit, `stack` is top first; `turn` says which of several untried actions comes first, `discount` how much
    later payments count.
    """
    places, actions = world.next.shape
    states, symbols = table.first_final, table.silent.shape[1]  # the episode goes on in these
    room = places * states * symbols
    place, state, top = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    origin, did, depth, gain = (
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room),
    )
    met = np.zeros((places, states, symbols), np.bool_)
    # Stacks as cells: a symbol, and the cell below; cell 0 is the empty stack.
    cells = table.push.shape[1] * (room + SILENT) + len(stack) + 1
    symbol, below = np.zeros(cells, np.int32), np.zeros(cells, np.int32)
    made = 1
    here = 0
    for i in range(len(stack) - 1, -1, -1):
        symbol[made], below[made] = stack[i], here
        here = made
        made += 1
    place[0], state[0], top[0], origin[0], did[0], depth[0], gain[0] = s, u, here, -1, -1, 0, 0.0
    met[s, u, symbol[here]] = True
    count, first, best, best_action, best_ends, best_gain = 1, 0, -1, -1, True, 0.0
    while first < count:
        node = first
        first += 1
        if depth[node] >= left:
            break
        for offset in range(actions):
            a = (offset + turn) % actions
            after = world.next[place[node], a]
            if after < 0:
                ends, paid = guess_end(table, state[node], guess[a], symbol[top[node]])
                paid = gain[node] + discount ** depth[node] * paid
                if (
                    best < 0
                    or (best_ends and not ends)
                    or (goal == RICHEST and ends == best_ends and paid > best_gain)
                ):
                    best, best_action, best_ends, best_gain = node, a, ends, paid
                continue
            if goal == NEAREST and not best_ends:
                continue
            # The machine reads the label, and takes its silent moves.
            at, now, paid = top[node], state[node], world.reward[place[node], a]
            move = table.move[now, world.label[place[node], a], symbol[at]]
            if move < 0:
                continue
            full, begun = False, made
            while move >= 0:
                if table.pops[move]:
                    at = below[at]
                if made + table.pushes[move] >= cells:
                    full = True
                    break
                for i in range(table.pushes[move]):
                    symbol[made], below[made] = table.push[move, i], at
                    at = made
                    made += 1
                now = table.target[move]
                paid += table.reward[move]
                move = table.silent[now, symbol[at]]
            if (
                full
                or now >= table.first_final
                or world.terminal[after]
                or met[after, now, symbol[at]]
            ):
                made = begun
                continue
            met[after, now, symbol[at]] = True
            place[count], state[count], top[count], origin[count], did[count] = (
                after,
                now,
                at,
                node,
                a,
            )
            depth[count], gain[count] = depth[node] + 1, gain[node] + discount ** depth[node] * paid
            count += 1
        if goal == NEAREST and not best_ends:
            break
    if best < 0:
        return np.zeros(0, np.int32)
    way = np.empty(depth[best] + 1, np.int32)
    way[depth[best]] = best_action
    while origin[best] >= 0:
        way[depth[best] - 1] = did[best]
        best = origin[best]
    return way
