"""Interval iteration in Numba: bounds of values on a product with open states, component by component, sinks first.

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
