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
