"""Value iteration in Numba, component by component, sinks first, and bounds that see the top symbol only.

A component is finished before any that leads to it is begun, so phases that only pop, or only push, take one sweep. The
readable twin is policy iteration in fractions, in the properties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.finite_kernel import END, Flags, Floats, Steps

Positions = npt.NDArray[np.uint32]

CHOOSING = 10
"""Sweeps over a component that choose actions before any that keep them."""
KEEPING = 20
"""Then so many sweeps keep them after each that chooses."""
STRAIGHT = 0.999
"""The squared cosine of two changes in a row from which on they count as parallel: they add up to a geometric series."""
MOST_LEAPS = 100
"""Times that the sum of such a series is guessed."""


class TopSteps(NamedTuple):
    """The outcomes of reading a label in a state with a top symbol, from `first[...]` up to the next one's."""

    first: Integers
    """[state, label, top]: where its outcomes begin; they end where those of the next column (top + 1) begin."""
    state: Integers
    """[outcome]: the machine state."""
    top: Integers
    """[outcome]: the top symbol, 0 for the empty stack."""
    paid: Rewards
    """[outcome]: what the machine pays."""


class Swept(NamedTuple):
    """A product whose states are numbered so that each component comes after all it leads to."""

    order: Integers
    """[i]: the number of the state in the product."""
    first: Integers
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
def find_components(successors: Integers) -> tuple[Integers, Integers]:
    """Tarjan's strongly connected components of the graph [x, action, outcome] -> x or END.

    Returns the states in an order in which each component is a run of neighbours, by their numbers, and comes after all it
    leads to, and where each run begins (with the end of the last).
    """
    count = len(successors)
    edges = successors.shape[1] * successors.shape[2]
    following = successors.reshape(count, edges)
    index, low = np.zeros(count, np.int32), np.zeros(count, np.int32)
    """[x]: when it was first visited (0: not yet, -1: its component is complete), and the earliest state it leads back to."""
    waiting, path, at = (
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.zeros(count, np.int32),
    )
    """Visited states whose component is not complete; the path of the search; [x]: the edge to follow next."""
    order, first = np.empty(count, np.int32), np.empty(count + 1, np.int32)
    waits, done, found, number = 0, 0, 0, 0
    first[0] = 0
    # Phase 1: a depth-first search, written as a loop; components are complete in the order sinks first.
    for root in range(count):
        if index[root] != 0:
            continue
        depth = 0
        path[0] = root
        number += 1
        index[root] = low[root] = number
        waiting[waits] = root
        waits += 1
        while depth >= 0:
            x = path[depth]
            if at[x] < edges:
                y = following[x, at[x]]
                at[x] += 1
                if y == END:
                    continue
                if index[y] == 0:
                    number += 1
                    index[y] = low[y] = number
                    waiting[waits] = y
                    waits += 1
                    depth += 1
                    path[depth] = y
                elif index[y] > 0:
                    low[x] = min(low[x], index[y])
            else:
                if low[x] == index[x]:
                    while True:
                        waits -= 1
                        y = waiting[waits]
                        index[y] = -1
                        order[done] = y
                        done += 1
                        if y == x:
                            break
                    found += 1
                    first[found] = done
                depth -= 1
                if depth >= 0:
                    low[path[depth]] = min(low[path[depth]], low[x])
    # Phase 2: within each component, states in the order of their numbers.
    for number in range(found):
        for position in range(first[number], first[number + 1]):
            index[order[position]] = number
    at[:found] = first[:found]
    for x in range(count):
        number = index[x]
        order[at[number]] = x
        at[number] += 1
    return order, first[: found + 1].copy()


@njit(cache=True)
def sort_states(steps: Steps, discount: float, expanded: Flags) -> Swept:
    """The product as value iteration sweeps it."""
    following, reward, place, probability = steps
    order, first = find_components(following)
    count, actions, outcomes = following.shape
    position = np.empty(count, np.uint32)
    for i in range(count):
        position[order[i]] = i
    lead, paid = np.full(following.shape, count, np.uint32), np.zeros((count, actions))
    for i in range(count):
        x = order[i]
        for a in range(actions):
            for o in range(outcomes):
                paid[i, a] += probability[place[x], a, o] * reward[x, a, o]
                if following[x, a, o] != END:
                    lead[i, a, o] = position[following[x, a, o]]
    cell = (actions * place[order]).astype(np.uint32)
    weight = discount * probability.reshape(-1, outcomes)
    return Swept(order, first, lead, paid, cell, weight, expanded[order])


@njit(cache=True)
def improve(
    product: Swept, discount: float, close: float, slack: float, most: int, value: Floats
) -> tuple[Floats, float, int]:  # fmt: skip
    """Value iteration in place; states that are not expanded keep their values. The last value is 0, for episodes that are over.

    A component is left after a sweep that chose actions and changed no value by more than `close`, or after about `most` sweeps.
    Returns, for each state, how far its value can be from the truth, the largest change of the last sweeps, and how many there
    were.

    If no step leads back, and the component leads to states whose errors are up to w, its error is at most γw and rounding.
    Otherwise, if the last sweep changed values by up to d, it is at most the larger of γw and γd/(1-γ), and rounding.
    """
    _, first, lead, paid, cell, weight, expanded = product
    count, actions, outcomes = lead.shape
    kept_lead = np.empty((count, outcomes), np.uint32)
    kept_paid, kept_cell = np.empty(count), np.empty(count, np.uint32)
    before, last = np.empty(count), np.empty(count)
    error = np.zeros(count + 1)
    gap = 1.0 - discount
    largest = 0.0
    total = 0
    for component in range(len(first) - 1):
        begin, end = first[component], first[component + 1]
        if not expanded[begin]:
            continue
        outside = 0.0
        returns = end > begin + 1
        for i in range(begin, end):
            for a in range(actions):
                for o in range(outcomes):
                    y = lead[i, a, o]
                    returns |= y == i
                    outside = max(outside, error[y])
        sweeps = 0
        while True:
            change = 0.0
            for i in range(begin, end):
                best, chosen, here = -np.inf, 0, cell[i]
                for a in range(actions):
                    q = paid[i, a]
                    for o in range(outcomes):
                        q += weight[here + np.uint32(a), o] * value[lead[i, a, o]]
                    if q > best:
                        best, chosen = q, a
                kept_cell[i] = here + np.uint32(chosen)
                change = max(change, abs(best - value[i]))
                value[i] = best
            sweeps += 1
            if not returns:
                change = 0.0
            if change <= close or sweeps >= most:
                break
            if sweeps <= CHOOSING:
                continue
            for i in range(begin, end):
                a = kept_cell[i] - cell[i]
                kept_paid[i] = paid[i, a]
                for o in range(outcomes):
                    kept_lead[i, o] = lead[i, a, o]
            for turn in range(KEEPING):
                if turn >= KEEPING - 2:
                    before[begin:end] = last[begin:end]
                    last[begin:end] = value[begin:end]
                for number in range(begin, end):
                    at = np.uint32(number)  # faster: it is not tested for being negative
                    q, row = kept_paid[at], kept_cell[at]
                    for o in range(outcomes):
                        q += weight[row, o] * value[kept_lead[at, o]]
                    value[at] = q
            old = last[begin:end] - before[begin:end]
            new = value[begin:end] - last[begin:end]
            both, old_square = (old * new).sum(), (old * old).sum()
            sweeps += KEEPING
            straight = both > 0.0 and both * both > STRAIGHT * old_square * (new * new).sum()
            if straight and sweeps <= MOST_LEAPS * KEEPING:
                rate = min(both / old_square, discount)
                value[begin:end] += rate / (1.0 - rate) * new
        total += sweeps
        largest = max(largest, change)
        off = discount * outside + slack
        if returns:
            off = max(off, (discount * change + slack) / gap)
        error[begin:end] = off
    return error, largest, total


@njit(cache=True)
def tighten_by_top(
    steps: TopSteps, world: DomainArrays, first_final: int, discount: float, precision: float, slack: float,
    sweeps_most: int, sign: float, values: Floats,
) -> bool:  # fmt: skip
    """Bounds over [environment state, machine state, top]: upper (sign 1) or lower (sign -1), sound after every update.
    Returns whether the sweeps were enough."""
    places, actions, outcomes = world.next.shape
    for _ in range(sweeps_most):
        change = 0.0
        for s in range(places):
            if world.terminal[s]:
                continue
            for u in range(first_final):
                for top in range(values.shape[2]):
                    best, defined = -np.inf, True
                    for a in range(actions):
                        q = 0.0
                        for o in range(outcomes):
                            p = world.probability[s, a, o]
                            if p <= 0.0:
                                continue
                            s2, label = world.next[s, a, o], world.label[s, a, o]
                            begin, end = steps.first[u, label, top], steps.first[u, label, top + 1]
                            extreme = -np.inf
                            for outcome in range(begin, end):
                                v = steps.paid[outcome]
                                if steps.state[outcome] < first_final and not world.terminal[s2]:
                                    v += (
                                        discount
                                        * values[s2, steps.state[outcome], steps.top[outcome]]
                                    )
                                extreme = max(extreme, sign * v)
                            defined = defined and begin < end
                            q += p * (world.reward[s, a, o] + sign * extreme)
                        best = max(best, q)
                    if not defined:
                        continue  # a label without a move: such a state is never reached without an error
                    best += sign * slack
                    if sign * best < sign * values[s, u, top]:
                        change = max(change, abs(best - values[s, u, top]))
                        values[s, u, top] = best
        if change <= precision:
            return True
    return False


@njit(cache=True)
def q_bounds(
    steps: Steps, discount: float, lower: Floats, upper: Floats, low: Floats, high: Floats
) -> None:
    """Set [x, action]: the expected reward and discounted value of each action, between bounds."""
    following, reward, place, probability = steps
    for x in range(len(low)):
        s = place[x]
        for a in range(following.shape[1]):
            down, up = 0.0, 0.0
            for o in range(following.shape[2]):
                p = probability[s, a, o]
                if p > 0.0:
                    y = following[x, a, o]
                    down += p * (reward[x, a, o] + (discount * lower[y] if y != END else 0.0))
                    up += p * (reward[x, a, o] + (discount * upper[y] if y != END else 0.0))
            low[x, a], high[x, a] = down, up


@njit(cache=True)
def measure_occupancy(
    steps: Steps, discount: float, action: Integers, begin: Floats, sweeps: int
) -> Floats:
    """[x]: the discounted number of times that a policy visits each state, within a number of steps; `begin`: the starts' chances."""
    following, _, place, probability = steps
    now, total = begin.copy(), begin.copy()
    for _ in range(sweeps):
        after, moved = np.zeros(len(begin)), 0.0
        for x in range(len(begin)):
            if now[x] > 0.0 and action[x] >= 0:
                a, s = action[x], place[x]
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
