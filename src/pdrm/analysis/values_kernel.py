"""Value iteration in Numba, component by component, sinks first, and bounds that see the top symbol only.

A component is finished before any that leads to it is begun, so phases that only pop, or only push, take one sweep. The
readable twin is policy iteration in fractions, in the properties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.finite_kernel import END, Flags, Floats, Steps

CHOOSING = 10
"""Sweeps over a component that choose actions before any that keep them."""
KEEPING = 20
"""Then one sweep in so many chooses."""
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


@njit(cache=True)
def improve(
    order: Integers, first: Integers, steps: Steps, discount: float, close: float, slack: float,
    most: int, expanded: Flags, only: Integers, value: Floats,
) -> tuple[Floats, float, int]:  # fmt: skip
    """Value iteration in place; states that are not expanded keep their values.

    `only[x]` is the one action that is allowed in a state, or -1. A component is left after a sweep that chose actions and
    changed no value by more than `close`, or after about `most` sweeps. A step back to its own state is solved for. Returns,
    for each state, how far its value can be from the truth, the largest change of the last sweeps, and how many there were.

    If these changed the values of a component by up to d, and it leads to others whose errors are up to w, then its error is
    at most γw or γd/(1-γ), whichever is larger, and rounding; if it is one state, γw.
    """
    following, reward, place, probability = steps
    count, actions, outcomes = following.shape
    gap = 1.0 - discount
    kept = np.zeros(count, np.int32)
    step = np.zeros(count)
    error = np.zeros(count)
    largest = 0.0
    total = 0
    for number in range(len(first) - 1):
        states = order[first[number] : first[number + 1]]
        sweeps = 0
        change = 0.0
        while True:
            choosing = sweeps < CHOOSING or sweeps % KEEPING == 0 or change <= close
            change = outside = loops = old_square = both = new_square = 0.0
            for x in states:
                if not expanded[x]:
                    continue
                s = place[x]
                allowed = only[x] if choosing else kept[x]
                choices = range(actions) if allowed < 0 else range(allowed, allowed + 1)
                best = -np.inf
                for a in choices:
                    q = 0.0
                    own = 0.0
                    for o in range(outcomes):
                        p = probability[s, a, o]
                        if p > 0.0:
                            y = following[x, a, o]
                            q += p * reward[x, a, o]
                            if y == x:
                                own += discount * p
                            elif y != END:
                                q += discount * p * value[y]
                                outside = max(outside, error[y])
                    q /= max(gap, 1.0 - own)
                    loops = max(loops, own)
                    if q > best:
                        best = q
                        kept[x] = a
                new = best - value[x] if best != value[x] else 0.0
                change = max(change, abs(new))
                if np.isinf(new):  # a bound that was infinite says nothing of the direction
                    new = 0.0
                old_square += step[x] * step[x]
                both += step[x] * new
                new_square += new * new
                step[x] = new
                value[x] = best
            sweeps += 1
            if choosing and (change <= close or sweeps >= most):
                break
            straight = both > 0.0 and both * both > STRAIGHT * old_square * new_square
            if sweeps % KEEPING == 0 and straight and sweeps <= MOST_LEAPS * KEEPING:
                rate = min(both / old_square, discount)
                for x in states:
                    value[x] += rate / (1.0 - rate) * step[x]
        total += sweeps
        largest = max(largest, change)
        off = discount * outside + slack / (1.0 - loops)
        if len(states) > 1:
            off = max(off, (discount * change + slack) / gap)
        for x in states:
            if expanded[x]:
                error[x] = off
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
