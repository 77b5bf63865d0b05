"""Value iteration in Numba: over the states of a product, and over heads (environment state, machine state, top symbol).

The states of a product are swept component by component, sinks first: what a component leads to is settled before it is
begun, so that phases which only pop, or only push, take one sweep. The properties compare values with Storm's.
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
KEEPING = 20
"""Sweeps that keep the chosen actions after each sweep that chooses them."""
STRAIGHT = 0.999
"""The squared cosine of two changes in a row from which on they count as parallel: they add up to a geometric series."""


class OrderedProduct(NamedTuple):
    """A product whose states are numbered so that each component comes after all it leads to."""

    order: Numbers
    """[i]: the number of the state in the product."""
    first: Numbers
    """[component]: its first state; it ends where the next one begins."""
    lead: Positions
    """[i, action, outcome]: the state a step leads to, or as many as there are if the episode is over."""
    paid: Floats
    """[i, action]: the expected reward, -∞ if the action is not allowed."""
    cell: Positions
    """[i]: the row of its first action in `weight`."""
    weight: Floats
    """[environment state * actions + action, outcome]: the discounted probability."""
    expanded: Flags
    """[i]"""


@njit(cache=True)
def find_components(following: Integers) -> Integers:
    """[x]: the strongly connected component of each state, numbered so that steps lead to components with smaller numbers.

    `following`: [x, edge], the state that an edge leads to, or END. This is Tarjan's algorithm, its recursion written as a loop.
    """
    count, edges = following.shape
    visited, found = 0, 0
    entered, low = np.zeros(count, np.int32), np.zeros(count, np.int32)
    """[x]: when it was visited (0: not yet), and the earliest visit it leads back to, or COMPLETE."""
    component, edge = np.zeros(count, np.int32), np.zeros(count, np.int32)
    """[x]: its component, if it is complete, and the edge to follow next."""
    path, left = np.empty(count, np.int32), np.empty(count, np.int32)
    """The states that the search is in, and those it has left whose component is not complete."""
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
                    component[left[waiting]] = found
                found += 1
    return component


@njit(cache=True)
def renumber(steps: Steps, order: Numbers, position: Positions) -> tuple[Positions, Floats]:
    """Where steps lead and what they are expected to pay, for the states in this order (see `OrderedProduct`); `position`: [x]: the place in it."""
    following, reward, env_state, probability = steps
    count, actions, outcomes = following.shape
    lead, paid = np.full(following.shape, count, np.uint32), np.zeros((count, actions))
    for i in range(count):
        x = order[i]
        for a in range(actions):
            for o in range(outcomes):
                paid[i, a] += probability[env_state[x], a, o] * reward[x, a, o]
                if following[x, a, o] != END:
                    lead[i, a, o] = position[following[x, a, o]]
    return lead, paid


@njit(cache=True)
def improve(
    product: OrderedProduct, discount: float, close: float, slack: float, rounds: int, value: Floats
) -> tuple[Floats, float]:
    """Value iteration in place; states that are not expanded keep their values. The last value is 0, for episodes that are over.

    In each round one sweep chooses the best actions, and others keep them. A component is left once the former changes no value
    by more than `close`, or after a number of rounds.

    Returns how far each value can be from the truth, and the largest change d in the last sweeps that chose. If a component leads
    to states with errors up to w, its error is at most the larger of γw and γd/(1-γ), and rounding; or γw if no step leads back.
    """
    _, first, lead, paid, cell, weight, expanded = product
    count, actions, outcomes = lead.shape
    kept_lead, kept_cell = np.empty((count, outcomes), np.uint32), np.empty(count, np.uint32)
    kept_paid = np.empty(count)
    before, last = np.empty(count), np.empty(count)
    error, largest = np.zeros(count + 1), 0.0
    for component in range(len(first) - 1):
        begin, end = first[component], first[component + 1]
        if not expanded[begin]:
            continue
        outside, returns, least = 0.0, end > begin + 1, np.inf
        for i in range(begin, end):
            for y in lead[i].flat:
                outside = max(outside, error[y])
                returns |= y == i
        for turn in range(rounds):
            change = 0.0
            for i in range(begin, end):
                best, chosen, here = -np.inf, 0, cell[i]
                for a in range(actions):
                    q = paid[i, a]
                    for o in range(outcomes):
                        q += weight[here + np.uint32(a), o] * value[lead[i, a, o]]
                    if q > best:
                        best, chosen = q, a
                change = max(change, abs(best - value[i]))
                value[i] = best
                kept_paid[i], kept_cell[i] = paid[i, chosen], here + np.uint32(chosen)
                for o in range(outcomes):
                    kept_lead[i, o] = lead[i, chosen, o]
            if change <= close or turn == rounds - 1:
                break
            for sweep in range(KEEPING):
                if sweep >= KEEPING - 2:
                    before[begin:end] = last[begin:end]
                    last[begin:end] = value[begin:end]
                for number in range(begin, end):
                    at = np.uint32(number)  # faster: it is not tested for being negative
                    q, row = kept_paid[at], kept_cell[at]
                    for o in range(outcomes):
                        q += weight[row, o] * value[kept_lead[at, o]]
                    value[at] = q
            if change < least:  # or two choices could take turns for ever
                extrapolate(before[begin:end], last[begin:end], value[begin:end], discount)
                least = change
        largest = max(largest, change)
        error[begin:end] = discount * outside + slack
        if returns:
            error[begin:end] = max(error[begin], (discount * change + slack) / (1.0 - discount))
    return error, largest


@njit(cache=True)
def extrapolate(before: Floats, last: Floats, value: Floats, most: float) -> None:
    """Extrapolate three successive vectors if their changes are parallel: the sum of a geometric series, of ratio at most `most`."""
    old, new = last - before, value - last
    both, square = (old * new).sum(), (old * old).sum()
    if both > 0.0 and both * both > STRAIGHT * square * (new * new).sum():
        ratio = min(both / square, most)
        value += ratio / (1.0 - ratio) * new


@njit(cache=True)
def narrow_by_top(
    following: Integers, label: Integers, reward: Rewards, probability: Floats, terminal: Flags, table: Table,
    discount: float, sign: float, unknown: float, growth: float, close: float, sweeps: int, value: Floats,
) -> bool:  # fmt: skip
    """Narrow a bound [place, state, symbol] of all continuation values, the upper (sign 1) or the lower one (-1), in place.

    With a stack of height h it is `value + growth * h`. A pop may reveal any symbol. An action that is not known (it leads to -1)
    is worth `unknown`. Returns True once a sweep changes less than `close`, False if the sweeps were not enough.
    """
    env_states, states, symbols = value.shape
    revealed = np.empty((env_states, states))
    for _ in range(sweeps):
        for env_state in range(env_states):
            for state in range(states):
                own = value[env_state, state]
                revealed[env_state, state] = own.max() if sign > 0.0 else own.min()
        change = 0.0
        for env_state in range(env_states):
            for state in range(table.first_final):
                for symbol in range(symbols):
                    silent = table.silent[state, symbol]
                    ended = silent < 0 and terminal[env_state]
                    best = 0.0 if ended else -np.inf
                    actions = 1 if silent >= 0 else 0 if ended else following.shape[1]
                    outcomes = 1 if silent >= 0 else following.shape[2]
                    for a in range(actions):
                        q = 0.0
                        for o in range(outcomes):
                            after, move, p, factor, paid = env_state, silent, 1.0, 1.0, 0.0
                            if silent < 0:
                                p, after, factor = (
                                    probability[env_state, a, o],
                                    following[env_state, a, o],
                                    discount,
                                )
                                if p <= 0.0:
                                    continue
                                if after < 0:
                                    q += p * unknown
                                    continue
                                move = table.move[state, label[env_state, a, o], symbol]
                                paid = reward[env_state, a, o]
                            if move < 0:  # such a step is an error
                                q = -np.inf
                                break
                            target, pushes = table.target[move], table.pushes[move]
                            higher = pushes - table.pops[move]
                            later = 0.0
                            if target < table.first_final:
                                later = revealed[after, target]
                                if higher >= 0:
                                    top = table.push[move, pushes - 1] if pushes else symbol
                                    later = value[after, target, top]
                                later += growth * higher
                            q += p * (factor * (paid + table.reward[move]) + factor * later)
                        best = max(best, q)
                    old = value[env_state, state, symbol]
                    if best > -np.inf and sign * best < sign * old:
                        change = max(change, abs(best - old))
                        value[env_state, state, symbol] = best
        if change <= close:
            return True
    return False


@njit(cache=True)
def measure_occupancy(
    steps: Steps, discount: float, action: Integers, begin: Floats, sweeps: int
) -> Floats:
    """[x]: the discounted number of times that a policy visits each state, within a number of steps; `begin`: the starts' chances."""
    following, _, env_state, probability = steps
    now, total = begin.copy(), begin.copy()
    for _ in range(sweeps):
        after, moved = np.zeros(len(begin)), 0.0
        for x in range(len(begin)):
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
