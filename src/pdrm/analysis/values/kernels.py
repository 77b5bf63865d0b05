"""Value iteration in Numba: the graph's components, sinks first, and sweeps over each of them.

A component is finished before any that leads to it is begun, so that phases that only pop, or only push, are one sweep.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.analysis.values.glimpse import Glimpses
from pdrm.domains.labelled_mdp import DomainArrays
from pdrm.product.finite.arrays import END

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@njit(cache=True)
def components(following: Integers) -> tuple[Integers, Integers]:
    """Tarjan's strongly connected components of the graph [x, edge] -> x or END.

    Returns the states in an order in which each component is a run of neighbours and comes after all it leads to, and
    where each run begins (with the end of the last).
    """
    count, edges = following.shape
    index, low = np.zeros(count, np.int32), np.zeros(count, np.int32)
    waiting, path, at = np.empty(count, np.int32), np.empty(count, np.int32), np.zeros(count, np.int32)
    order, first = np.empty(count, np.int32), np.empty(count + 1, np.int32)
    waits, done, found, number = 0, 0, 0, 0
    first[0] = 0
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
    return order, first[: found + 1].copy()


@njit(cache=True)
def solve(
    order: Integers,
    first: Integers,
    following: Integers,
    reward: Floats,
    place: Integers,
    probability: Floats,
    looked: Flags,
    discount: float,
    precision: float,
    slack: float,
    value: Floats,
    error: Floats,
    sweeps_most: int,
) -> int:
    """Values of a product, and for each how far it can be from the truth: |V*(x) - value[x]| <= error[x].

    Values and errors of states that were not looked beyond are given and stay. Within a component with residual ρ, whose
    states lead to others with errors up to w, |V* - v| <= γ max(|V* - v|, w) + ρ, hence <= max(ρ/(1-γ), γw + ρ).
    Returns the sweeps made in all. Sweeps that keep the actions chosen last come between those that choose.
    """
    count, actions, outcomes = following.shape
    choice = np.zeros(count, np.int32)
    total = 0
    for number in range(len(first) - 1):
        begin, end = first[number], first[number + 1]
        largest, change, worst, sweeps = 0.0, 0.0, 0.0, 0
        single = end - begin == 1
        while True:
            change, worst = 0.0, 0.0
            choosing = single or sweeps % 6 == 0
            for position in range(begin, end):
                x = order[position]
                if not looked[x]:
                    worst = max(worst, error[x])
                    continue
                s = place[x]
                best = -np.inf
                for a in range(actions):
                    if not choosing and a != choice[x]:
                        continue
                    q = 0.0
                    for o in range(outcomes):
                        p = probability[s, a, o]
                        if p > 0.0:
                            y = following[x, a, o]
                            after = 0.0
                            if y != END:
                                after = value[y]
                                if choosing:
                                    worst = max(worst, error[y])
                            q += p * (reward[x, a, o] + discount * after)
                    if q > best:
                        best = q
                        choice[x] = a
                change = max(change, abs(best - value[x]))
                value[x] = best
            sweeps += 1
            if choosing and change <= precision * (1.0 - discount):
                break
            if sweeps >= sweeps_most:
                break
        total += sweeps
        # The residual of the final values, with all actions; errors of its own states do not count as neighbours'.
        residual, outside = 0.0, 0.0
        for position in range(begin, end):
            x = order[position]
            if not looked[x]:
                continue
            s = place[x]
            best = -np.inf
            for a in range(actions):
                q = 0.0
                for o in range(outcomes):
                    p = probability[s, a, o]
                    if p > 0.0:
                        y = following[x, a, o]
                        after = 0.0
                        if y != END:
                            after = value[y]
                            outside = max(outside, error[y])
                        q += p * (reward[x, a, o] + discount * after)
                best = max(best, q)
            residual = max(residual, abs(best - value[x]))
        residual += slack
        largest = max(residual / (1.0 - discount), discount * outside + residual)
        if single and following_itself(following, order[begin]) == 0:
            largest = discount * outside + residual
        for position in range(begin, end):
            if looked[order[position]]:
                error[order[position]] = largest
    return total


@njit(cache=True, inline="always")
def following_itself(following: Integers, x: int) -> int:
    """How many steps lead from a state to itself."""
    found = 0
    for a in range(following.shape[1]):
        for o in range(following.shape[2]):
            found += following[x, a, o] == x
    return found


@njit(cache=True)
def tighten(
    order: Integers,
    first: Integers,
    following: Integers,
    reward: Floats,
    place: Integers,
    probability: Floats,
    looked: Flags,
    discount: float,
    precision: float,
    slack: float,
    lower: Floats,
    upper: Floats,
    sweeps_most: int,
) -> int:
    """Interval iteration: lower and upper bounds, sound at the beginning and after every update; returns the sweeps."""
    actions, outcomes = following.shape[1], following.shape[2]
    total = 0
    for number in range(len(first) - 1):
        begin, end = first[number], first[number + 1]
        sweeps = 0
        while True:
            change = 0.0
            for position in range(begin, end):
                x = order[position]
                if not looked[x]:
                    continue
                s = place[x]
                low, high = -np.inf, -np.inf
                for a in range(actions):
                    down, up = 0.0, 0.0
                    for o in range(outcomes):
                        p = probability[s, a, o]
                        if p > 0.0:
                            y = following[x, a, o]
                            r = reward[x, a, o]
                            if y == END:
                                down += p * r
                                up += p * r
                            else:
                                down += p * (r + discount * lower[y])
                                up += p * (r + discount * upper[y])
                    low, high = max(low, down), max(high, up)
                low, high = low - slack, high + slack
                if low > lower[x]:
                    change = max(change, low - lower[x])
                    lower[x] = low
                if high < upper[x]:
                    change = max(change, upper[x] - high)
                    upper[x] = high
            sweeps += 1
            if change <= precision * (1.0 - discount) or sweeps >= sweeps_most:
                break
        total += sweeps
    return total


@njit(cache=True)
def glimpse_values(
    seen: Glimpses,
    world: DomainArrays,
    first_final: int,
    discount: float,
    slack: float,
    sign: float,
    values: Floats,
    sweeps_most: int,
    precision: float,
) -> int:
    """Bounds over [environment state, machine state, top]: upper (sign 1) or lower (sign -1), sound after every update."""
    places, actions, outcomes = world.next.shape
    for sweep in range(sweeps_most):
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
                            begin, end = seen.first[u, label, top], seen.first[u, label, top + 1]
                            extreme = -np.inf
                            for outcome in range(begin, end):
                                v = seen.paid[outcome]
                                if seen.state[outcome] < first_final and not world.terminal[s2]:
                                    v += discount * values[s2, seen.state[outcome], seen.top[outcome]]
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
            return sweep + 1
    return sweeps_most


@njit(cache=True)
def worth(
    following: Integers, reward: Floats, place: Integers, probability: Floats, discount: float, value: Floats
) -> Floats:
    """[x, action]: the expected reward and discounted value of each action."""
    count, actions, outcomes = following.shape
    found = np.zeros((count, actions))
    for x in range(count):
        s = place[x]
        for a in range(actions):
            q = 0.0
            for o in range(outcomes):
                p = probability[s, a, o]
                if p > 0.0:
                    y = following[x, a, o]
                    q += p * (reward[x, a, o] + (discount * value[y] if y != END else 0.0))
            found[x, a] = q
    return found


@njit(cache=True)
def reached(following: Integers, possible: Flags, looked: Flags, begin: npt.NDArray[np.int64]) -> Flags:
    """[x]: whether possible actions lead from some states to it."""
    count, actions, outcomes = following.shape
    found = np.zeros(count, np.bool_)
    todo = np.empty(count, np.int64)
    waiting = 0
    for x in begin:
        if not found[x]:
            found[x] = True
            todo[waiting] = x
            waiting += 1
    while waiting > 0:
        waiting -= 1
        x = todo[waiting]
        if not looked[x]:
            continue
        for a in range(actions):
            if possible[x, a]:
                for o in range(outcomes):
                    y = following[x, a, o]
                    if y != END and not found[y]:
                        found[y] = True
                        todo[waiting] = y
                        waiting += 1
    return found


@njit(cache=True)
def unsure(following: Integers, possible: Flags, looked: Flags, region: Flags) -> Flags:
    """[x]: whether possible actions lead from a state of the region to an open one."""
    count, actions, outcomes = following.shape
    found = region & ~looked
    changed = True
    while changed:
        changed = False
        for back in range(count):
            x = count - 1 - back
            if region[x] and not found[x]:
                for a in range(actions):
                    if possible[x, a] and not found[x]:
                        for o in range(outcomes):
                            y = following[x, a, o]
                            if y != END and found[y]:
                                found[x] = True
                                changed = True
                                break
    return found


@njit(cache=True)
def evaluate(
    following: Integers,
    reward: Floats,
    place: Integers,
    probability: Floats,
    looked: Flags,
    discount: float,
    action: npt.NDArray[np.int64],
    value: Floats,
    sweeps_most: int,
) -> float:
    """Values of one policy, in place; open states keep theirs. Returns the last residual."""
    count, _, outcomes = following.shape
    change = 0.0
    for _ in range(sweeps_most):
        change = 0.0
        for position in range(count):
            # Later states are mostly led to: backwards, so that most of what a state rests on is new.
            x = count - 1 - position
            if not looked[x]:
                continue
            a, s, q = action[x], place[x], 0.0
            for o in range(outcomes):
                p = probability[s, a, o]
                if p > 0.0:
                    y = following[x, a, o]
                    q += p * (reward[x, a, o] + (discount * value[y] if y != END else 0.0))
            change = max(change, abs(q - value[x]))
            value[x] = q
        if change < 1e-10:
            break
    return change


@njit(cache=True)
def met(
    following: Integers,
    place: Integers,
    probability: Floats,
    discount: float,
    action: npt.NDArray[np.int64],
    begin: Floats,
    sweeps_most: int,
) -> Floats:
    """[x]: the discounted number of times that a policy meets each state."""
    count, _, outcomes = following.shape
    now, total = begin.copy(), begin.copy()
    for _ in range(sweeps_most):
        after = np.zeros(count)
        moved = 0.0
        for x in range(count):
            if now[x] > 0.0:
                a, s = action[x], place[x]
                for o in range(outcomes):
                    p = probability[s, a, o]
                    y = following[x, a, o]
                    if p > 0.0 and y != END:
                        after[y] += discount * p * now[x]
                        moved += discount * p * now[x]
        now = after
        total += now
        if moved < 1e-9:
            break
    return total
