"""Value iteration in Numba: over product states, and over heads (control state and top symbol).

Product states are swept by strongly connected components, sinks first. A component is solved
before those that lead to it, so phases that only pop, or only push, take one sweep. The properties
compare the values with Storm's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.machines.tables import Integers, Rewards, Table
from pdrm.product.finite_kernel import END, Flags, Floats, Numbers, Steps

Positions = npt.NDArray[np.uint32]

COMPLETE = 2**31 - 1
SWEEPS_PER_CHOICE = 20
"""Sweeps that keep the chosen actions after each sweep that chooses them."""
PARALLEL = 0.999
"""Successive changes with at least this squared cosine count as a geometric series."""


class OrderedProduct(NamedTuple):
    """A product whose states are ordered so that each component comes after its successors."""

    order: Numbers
    """[i]: the number of the state in the product."""
    position: Positions
    """[x]: the position i of a state."""
    first: Numbers
    """[component]: its first state; the next component's first state ends it."""
    successor: Positions
    """[i, action, outcome]: the next state, or the number of states if the episode is over."""
    reward: Floats
    """[i, action]: the expected reward, or -∞ if the action is not allowed."""
    weight_row: Positions
    """[i]: the row of its first action in `weight`."""
    weight: Floats
    """[environment state * actions + action, outcome]: the discounted probability."""
    expanded: Flags
    """[i]"""


@njit(cache=True)
def find_components(following: Integers) -> Integers:
    """[x]: the strongly connected component of each state; edges lead to equal or smaller numbers.

    This is Tarjan's algorithm without recursion. `following`: [x, edge]: the next state, or END.
    """
    count, edges = following.shape
    visited, components = 0, 0
    entered = np.zeros(count, np.int32)
    """[x]: the number of its visit, or 0."""
    low = np.zeros(count, np.int32)
    """[x]: the earliest visit it leads back to, or COMPLETE."""
    component = np.zeros(count, np.int32)
    edge = np.zeros(count, np.int32)
    """[x]: the edge to follow next."""
    path = np.empty(count, np.int32)
    """The states on the current path of the search."""
    left = np.empty(count, np.int32)
    """The states that the search has left and whose component is incomplete."""
    depth, waiting = 0, 0
    for root in range(count):
        if entered[root] == 0:
            path[0], depth = root, 1
        while depth > 0:
            x = path[depth - 1]
            if entered[x] == 0:
                visited += 1
                entered[x] = low[x] = visited
            while edge[x] < edges:
                y = following[x, edge[x]]
                if y != END:
                    if entered[y] == 0:
                        break
                    low[x] = min(low[x], low[y])
                edge[x] += 1
            if edge[x] < edges:  # visit y, then look at this edge again
                path[depth] = y
                depth += 1
                continue
            depth -= 1
            left[waiting] = x
            waiting += 1
            if low[x] == entered[x]:
                while waiting > 0 and entered[left[waiting - 1]] >= entered[x]:
                    waiting -= 1
                    low[left[waiting]] = COMPLETE
                    component[left[waiting]] = components
                components += 1
    return component


@njit(cache=True)
def renumber(steps: Steps, order: Numbers, position: Positions) -> tuple[Positions, Floats]:
    """`successor` and `reward` of an `OrderedProduct`; `position`: [x]: its number in the order."""
    following, reward, env_state, probability = steps
    count, actions, outcomes = following.shape
    successor = np.full(following.shape, count, np.uint32)
    expected = np.zeros((count, actions))
    for i in range(count):
        x = order[i]
        for a in range(actions):
            for o in range(outcomes):
                expected[i, a] += probability[env_state[x], a, o] * reward[x, a, o]
                if following[x, a, o] != END:
                    successor[i, a, o] = position[following[x, a, o]]
    return successor, expected


@njit(cache=True)
def improve(
    product: OrderedProduct, discount: float, close: float, slack: float, rounds: int, value: Floats
) -> tuple[Floats, float]:
    """Value iteration in place. Unexpanded states keep their values.

    A round is one sweep that chooses the best actions and `SWEEPS_PER_CHOICE` sweeps that keep
    them. A component is done once a choosing sweep changes no value by more than `close`, or after
    a number of rounds.

    Returns the proved error of each value, and the largest change d of the last choosing sweeps.
    The error of a component whose successors have errors up to w is γw if no step leads back into
    it, else the larger of γw and γd / (1 - γ), plus rounding.

    Args:
        product: The product.
        discount: γ.
        close: The change at which to stop.
        slack: The rounding error of one update.
        rounds: The maximum number of rounds.
        value: [i]: the values, and a last 0 for episodes that are over.
    """
    _, _, first, successor, reward, weight_row, weight, expanded = product
    count, actions, outcomes = successor.shape
    kept_successor = np.empty((count, outcomes), np.uint32)
    kept_row = np.empty(count, np.uint32)
    kept_reward = np.empty(count)
    before, last = np.empty(count), np.empty(count)
    error, largest = np.zeros(count + 1), 0.0
    for component in range(len(first) - 1):
        begin, end = first[component], first[component + 1]
        if not expanded[begin]:
            continue
        outside, returns, least = 0.0, end > begin + 1, np.inf
        for i in range(begin, end):
            for y in successor[i].flat:
                outside = max(outside, error[y])
                returns |= y == i
        for turn in range(rounds):
            change = 0.0
            for i in range(begin, end):
                best, chosen, row = -np.inf, 0, weight_row[i]
                for a in range(actions):
                    q = reward[i, a]
                    for o in range(outcomes):
                        q += weight[row + np.uint32(a), o] * value[successor[i, a, o]]
                    if q > best:
                        best, chosen = q, a
                change = max(change, abs(best - value[i]))
                value[i] = best
                kept_reward[i], kept_row[i] = reward[i, chosen], row + np.uint32(chosen)
                for o in range(outcomes):
                    kept_successor[i, o] = successor[i, chosen, o]
            if change <= close or turn == rounds - 1:
                break
            for sweep in range(SWEEPS_PER_CHOICE):
                if sweep >= SWEEPS_PER_CHOICE - 2:
                    before[begin:end] = last[begin:end]
                    last[begin:end] = value[begin:end]
                for number in range(begin, end):
                    x = np.uint32(number)  # faster: Numba omits the check for negative indices
                    q, row = kept_reward[x], kept_row[x]
                    for o in range(outcomes):
                        q += weight[row, o] * value[kept_successor[x, o]]
                    value[x] = q
            if change < least:  # otherwise two choices could alternate forever
                extrapolate(before[begin:end], last[begin:end], value[begin:end], discount)
                least = change
        largest = max(largest, change)
        error[begin:end] = discount * outside + slack
        if returns:
            error[begin:end] = max(error[begin], (discount * change + slack) / (1.0 - discount))
    return error, largest


@njit(cache=True)
def extrapolate(before: Floats, last: Floats, value: Floats, max_ratio: float) -> None:
    """Extrapolate three vectors as a geometric series if their changes are parallel."""
    old, new = last - before, value - last
    both, square = (old * new).sum(), (old * old).sum()
    if both > 0.0 and both * both > PARALLEL * square * (new * new).sum():
        ratio = min(both / square, max_ratio)
        value += ratio / (1.0 - ratio) * new


class EnvMoves(NamedTuple):
    """The moves of an environment."""

    next: Integers
    """[s, action, outcome]: the next state, or -1 if the move is unknown."""
    label: Integers
    """[s, action, outcome]"""
    reward: Rewards
    """[s, action, outcome]"""
    probability: Floats
    """[s, action, outcome]"""
    terminal: Flags
    """[s]"""


@njit(cache=True)
def narrow_by_top(
    moves: EnvMoves,
    table: Table,
    discount: float,
    sign: float,
    unknown: float,
    growth: float,
    close: float,
    sweeps: int,
    value: Floats,
) -> bool:
    """Tighten bounds of continuation values that depend on the top symbol only, in place.

    The bound with a stack of height h is `value + growth * h`. A pop can reveal any symbol.

    Args:
        moves: The environment.
        table: The machine.
        discount: γ.
        sign: 1 for upper bounds, -1 for lower bounds.
        unknown: The bound after an unknown move.
        growth: The growth of the bounds with the height.
        close: The change at which to stop.
        sweeps: The maximum number of sweeps.
        value: [environment state, machine state, top symbol]: the bounds, 0 in final states.

    Returns True if the last sweep changed no bound by more than `close`.
    """
    following, label, reward, probability, terminal = moves
    env_states, actions, outcomes = following.shape
    states, symbols = table.silent.shape
    top, rise = find_tops(table)
    target, machine_reward = table.target, table.reward
    bound = np.empty((env_states, states, symbols + 1))
    """`value`, and in the last column the bound for any top symbol."""
    bound[:, :, :symbols] = value
    done = False
    for _ in range(sweeps):
        for s in range(env_states):
            for u in range(states):
                tops = bound[s, u, :symbols]
                bound[s, u, symbols] = tops.max() if sign > 0.0 else tops.min()
        change = 0.0
        for s in range(env_states):
            for u in range(table.first_final):
                for symbol in range(symbols):
                    best = -np.inf
                    silent = table.silent[u, symbol]
                    if silent >= 0:
                        later = bound[s, target[silent], top[silent, symbol]]
                        later += growth * rise[silent]
                        best = machine_reward[silent] + later
                    elif terminal[s]:
                        best = 0.0
                    else:
                        for a in range(actions):
                            q = 0.0
                            for o in range(outcomes):
                                p, after = probability[s, a, o], following[s, a, o]
                                if p <= 0.0:
                                    continue
                                if after < 0:
                                    q += p * unknown
                                    continue
                                move = table.move[u, label[s, a, o], symbol]
                                if move < 0:  # no rule applies: the action is an error
                                    q = -np.inf
                                    break
                                later = bound[after, target[move], top[move, symbol]]
                                later += growth * rise[move]
                                step_reward = reward[s, a, o] + machine_reward[move]
                                q += p * (discount * step_reward + discount * later)
                            best = max(best, q)
                    old = bound[s, u, symbol]
                    if best > -np.inf and sign * best < sign * old:
                        change = max(change, abs(best - old))
                        bound[s, u, symbol] = best
        done = change <= close
        if done:
            break
    value[:] = bound[:, :, :symbols]
    return done


@njit(cache=True)
def find_tops(table: Table) -> tuple[Integers, Integers]:
    """[move, symbol]: the top symbol after a move, and [move]: the rise of the stack.

    The number of symbols stands for an unknown top, revealed by a pop. The rise of moves that end
    the episode is 0.
    """
    symbols = table.silent.shape[1]
    rise = table.pushes - table.pops
    top = np.empty((len(rise), symbols), np.int32)
    for move in range(len(rise)):
        top[move] = np.arange(symbols)
        if rise[move] < 0:
            top[move] = symbols
        elif table.pushes[move] > 0:
            top[move] = table.push[move, table.pushes[move] - 1]
        if table.target[move] >= table.first_final:
            rise[move] = 0
    return top, rise


@njit(cache=True)
def measure_occupancy(
    steps: Steps, discount: float, action: Integers, initial: Floats, sweeps: int
) -> Floats:
    """[x]: the discounted number of visits to each state.

    Args:
        steps: The product.
        discount: γ.
        action: [x]: the action of the policy, or -1 if it stops there.
        initial: [x]: the probability to start there.
        sweeps: The maximum number of steps.
    """
    following, _, env_state, probability = steps
    now, total = initial.copy(), initial.copy()
    for _ in range(sweeps):
        after, moved = np.zeros(len(initial)), 0.0
        for x in range(len(initial)):
            if now[x] > 0.0 and action[x] >= 0:
                a, s = action[x], env_state[x]
                for o in range(following.shape[2]):
                    p, y = probability[s, a, o], following[x, a, o]
                    if p > 0.0 and y != END:
                        after[y] += discount * p * now[x]
                        moved += discount * p * now[x]
        now = after
        total += now
        if moved < 1e-12:
            break
    return total
