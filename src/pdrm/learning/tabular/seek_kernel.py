"""Directed exploration in Numba: find a path over known transitions to an untried action.

The effect of an untried action is not known. It is assumed to emit the label that it emitted
most often in other states. This assumption only affects the order in which actions are tried: an
action for which the machine would then end the episode comes after all others that can be
reached.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.analysis.whole_stack_kernel import World
from pdrm.machines.stacks import OK, Stacks
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import Integers, Symbols, Table

NEAREST, RICHEST = range(2)
"""The goal of a search: the untried action in the fewest steps, or with the highest return."""
SILENT = 1024
"""Capacity for silent moves, in addition to one for each step."""


def guess_labels(world: World, labels: int) -> Integers:
    """[action]: the label that it emitted in most states, or -1 if it was never tried."""
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
    """The actions on a path to an untried action, which is the last; empty without such a
    path.

    The search is breadth-first over environment state, machine state and top symbol, each with
    the stack with which it is first reached.

    Args:
        world: The known transitions.
        table: The machine.
        guess: The label that each action is expected to emit.
        s: The environment state.
        u: The machine state.
        stack: The stack, top first.
        left: The maximum length of the path.
        goal: NEAREST or RICHEST.
        turn: The action that comes first among equal ones.
        discount: The discount of later rewards.
    """
    symbols = table.silent.shape[1]
    moves = world.next.size * table.first_final * symbols + SILENT
    stacks = Stacks.empty(symbols - 1, len(stack) + 1 + moves * table.push.shape[1])
    start = s, u, stacks.node_of(stack)
    path: list[int] = seek(world, table, stacks, guess, start, left, goal, turn, discount).tolist()
    return path


@njit(cache=True)
def guess_end(table: Table, u: int, label: int, z: int) -> tuple[bool, float]:
    """Return whether the machine ends the episode on the expected label, and its reward."""
    if label < 0:
        return False, 0.0
    move = table.move[u, label, z]
    if move < 0:
        return True, 0.0
    return table.target[move] >= table.first_final, table.reward[move]


@njit(cache=True)
def seek(
    world: World,
    table: Table,
    stacks: Stacks,
    guess: Integers,
    start: tuple[int, int, int],
    left: int,
    goal: int,
    turn: int,
    discount: float,
) -> Integers:
    """The search of `find_path`, with a node of `stacks` as the stack."""
    env_states, actions = world.next.shape
    states, symbols = table.first_final, table.silent.shape[1]  # machine states that are not final
    capacity = env_states * states * symbols
    reached = np.empty((capacity, 3), np.int32)  # environment state, machine state, stack
    origin = np.empty(capacity, np.int32)
    action_of = np.empty(capacity, np.int32)
    depth = np.zeros(capacity, np.int32)
    returns = np.zeros(capacity)
    visited = np.zeros((env_states, states, symbols), np.bool_)
    reached[0, 0], reached[0, 1], reached[0, 2] = start
    origin[0] = -1
    visited[start[0], start[1], stacks.symbol[start[2]]] = True
    count, node = 1, 0
    best, best_action, best_ends, best_return = -1, -1, True, 0.0
    while node < count and depth[node] < left:
        s, u, stack = reached[node, 0], reached[node, 1], reached[node, 2]
        weight = discount ** depth[node]
        for offset in range(actions):
            a = (offset + turn) % actions
            next_s = world.next[s, a]
            if next_s < 0:  # untried
                ends, reward = guess_end(table, u, guess[a], stacks.symbol[stack])
                total = returns[node] + weight * reward
                is_richer = goal == RICHEST and ends == best_ends and total > best_return
                if best < 0 or (best_ends and not ends) or is_richer:
                    best, best_action, best_ends, best_return = node, a, ends, total
                continue
            if goal == NEAREST and not best_ends:
                continue
            next_u, next_stack, reward, status = step(table, stacks, u, stack, world.label[s, a])
            if status != OK or next_u >= states or world.terminal[next_s]:
                continue
            if not visited[next_s, next_u, stacks.symbol[next_stack]]:
                visited[next_s, next_u, stacks.symbol[next_stack]] = True
                reached[count, 0], reached[count, 1] = next_s, next_u
                reached[count, 2] = next_stack
                origin[count], action_of[count] = node, a
                depth[count] = depth[node] + 1
                returns[count] = returns[node] + weight * (world.reward[s, a] + reward)
                count += 1
        if goal == NEAREST and not best_ends:
            break
        node += 1
    if best < 0:
        return np.zeros(0, np.int32)
    path = np.empty(depth[best] + 1, np.int32)
    path[depth[best]] = best_action
    while origin[best] >= 0:
        path[depth[best] - 1] = action_of[best]
        best = origin[best]
    return path
