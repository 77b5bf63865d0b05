"""Value iteration in Numba, component by component, sinks first: on closed products, on products with a frontier, for policies.

`solve` (no frontier): a state alone in its component is solved directly, a step back to itself included. A larger component is
copied out, with what its steps to finished ones bring added to its rewards, and swept until its residual is small enough.
Between sweeps that choose actions come some that keep them; from the last two of these their limit is guessed, and the
guess is taken back if it was a bad one. However values were found, their error is bounded by their residual.

`tighten` (with a frontier): lower and upper bounds. A component is finished before any that leads to it is begun, so that phases
that only pop, or only push, take one sweep. The readable twin of both is policy iteration in fractions, `exact.solve_exactly`.
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
"""Sweeps that keep the actions, in a row."""
STRAIGHT = 0.9
"""The squared cosine of two changes in a row from which on they are taken to point one way."""


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
def solve(
    order: Integers,
    first: Integers,
    steps: Steps,
    discount: float,
    gap: float,
    precision: float,
    slack: float,
    sweeps_most: int,
    guess: Floats,
) -> tuple[Floats, Floats, int, bool]:
    """Values, for each how far it can be from the truth, |V*(x) - value[x]| <= error[x], the sweeps made, and whether they
    were enough everywhere. guess: values to begin with, those of an earlier call; of no length: none.

    Within a component with residual ρ, whose states lead to others with errors up to w, |V* - v| <= γ max(|V* - v|, w) + ρ,
    hence <= max(ρ/(1-γ), γw + ρ); and <= γw + ρ where no step leads back.
    """
    following, reward, place, probability = steps
    count, actions, outcomes = following.shape
    value, error = np.zeros(count), np.zeros(count)
    widest = 0
    for number in range(len(first) - 1):
        widest = max(widest, first[number + 1] - first[number])
    room = widest if widest > 1 else 0  # the arrays of a component, used again for each
    weight = (discount * probability).reshape(len(probability) * actions, outcomes)
    where = np.full(count, -1, np.int32)
    """[x]: its number within the component that is being solved."""
    lead = np.empty((room, actions, outcomes), np.uint32)
    """[i, action, outcome]: the state it leads to, or `size` for one outside: its value is part of `paid`."""
    paid, cell = np.empty((room, actions)), np.empty(room, np.uint32)
    kept_lead, kept_paid, kept_cell = (
        np.empty((room, outcomes), np.uint32),
        np.empty(room),
        np.empty(room, np.uint32),
    )
    """The same for the action that was chosen."""
    v, change_of, earlier = np.empty(room + 1), np.empty(room), np.empty(room)
    stop, total, settled = precision * gap, 0, True
    for number in range(len(first) - 1):
        begin, size = first[number], first[number + 1] - first[number]
        # A state alone: its best action, a step back to itself solved for.
        if size == 1:
            x = order[begin]
            s = place[x]
            best, outside, loops = -np.inf, 0.0, 0.0
            for a in range(actions):
                q, own = 0.0, 0.0
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
                best = max(best, q / max(gap, 1.0 - own))
                loops = max(loops, own)
            value[x] = best
            total += 1
            # The quotient's rounding, seen from one step: as much again as the sum's.
            residual = slack if loops == 0.0 else 2.0 * slack
            error[x] = discount * outside + residual
            if loops > 0.0:
                error[x] = max(error[x], residual / gap)
            continue

        # Phase 1: copy the component out; what leads outside is finished, and becomes part of what is paid.
        for i in range(size):
            where[order[begin + i]] = i
        outside, lowest = 0.0, np.inf
        for i in range(size):
            x = order[begin + i]
            s = place[x]
            cell[i] = s * actions
            alone = -np.inf
            for a in range(actions):
                q, inside = 0.0, 0.0
                for o in range(outcomes):
                    p = probability[s, a, o]
                    to = size
                    if p > 0.0:
                        y = following[x, a, o]
                        q += p * reward[x, a, o]
                        if y != END:
                            if where[y] >= 0:
                                to = where[y]
                                inside += discount * p
                            else:
                                q += discount * p * value[y]
                                outside = max(outside, error[y])
                    lead[i, a, o] = to
                paid[i, a] = q
                alone = max(alone, q / max(gap, 1.0 - inside))
            lowest = min(lowest, alone)
        # Without a guess, the largest number that is a lower bound of all values here: values then rise as what is paid spreads.
        for i in range(size):
            v[i] = guess[order[begin + i]] if len(guess) else lowest
        v[size] = 0.0

        sweeps, leapt, before, bad = 0, False, np.inf, 0
        while True:
            # Phase 2: a sweep that chooses actions, forwards and backwards in turn at first.
            change = 0.0
            for k in range(size):
                at = np.uint32(k if sweeps % 2 == 0 or sweeps > CHOOSING else size - 1 - k)
                s = cell[at]
                best, chosen = -np.inf, np.uint32(0)
                for a in range(actions):
                    q = paid[at, a]
                    for o in range(outcomes):
                        q += weight[s + np.uint32(a), o] * v[lead[at, a, o]]
                    if q > best:
                        best, chosen = q, np.uint32(a)
                change = max(change, abs(best - v[at]))
                v[at] = best
                kept_cell[at] = chosen
            sweeps += 1
            if change <= stop or sweeps >= sweeps_most:
                settled = settled and change <= stop
                break
            if leapt and not change <= before:  # the guess was a bad one
                for i in range(size):
                    v[i] = earlier[i]
                bad += 1
                leapt = False
                continue
            before, leapt = change, False
            if sweeps <= CHOOSING:
                continue
            # Phase 3: sweeps that keep the chosen actions, and the last two changes compared.
            for i in range(size):
                a = kept_cell[i]
                kept_paid[i] = paid[i, a]
                kept_cell[i] = cell[i] + a
                for o in range(outcomes):
                    kept_lead[i, o] = lead[i, a, o]
            last, both, new = 0.0, 0.0, 0.0
            for turn in range(KEEPING):
                last, both, new, change = 0.0, 0.0, 0.0, 0.0
                for k in range(size):
                    at = np.uint32(k)
                    q, s = kept_paid[at], kept_cell[at]
                    for o in range(outcomes):
                        q += weight[s, o] * v[kept_lead[at, o]]
                    step = q - v[at]
                    v[at] = q
                    change = max(change, abs(step))
                    if turn >= KEEPING - 2:
                        last += change_of[at] * change_of[at]
                        both += change_of[at] * step
                        new += step * step
                        change_of[at] = step
                sweeps += 1
                if change <= stop:
                    both = 0.0
                    break
            # Phase 4: leap. Changes that shrink at one rate and point one way add up to a geometric series; a sweep's rate is
            # at most γ.
            if both > 0.0 and both * both > STRAIGHT * last * new and bad < KEEPING:
                rate = min(both / last, discount)
                leapt = True
                for i in range(size):
                    earlier[i] = v[i]
                    v[i] += rate / (1.0 - rate) * change_of[i]
        total += sweeps

        # Phase 5: the residual of one more sweep bounds the error, however the values were found.
        residual = 0.0
        for k in range(size):
            at = np.uint32(k)
            s = cell[at]
            best = -np.inf
            for a in range(actions):
                q = paid[at, a]
                for o in range(outcomes):
                    q += weight[s + np.uint32(a), o] * v[lead[at, a, o]]
                best = max(best, q)
            residual = max(residual, abs(best - v[at]))
        residual += slack
        largest = max(residual / gap, discount * outside + residual)
        for i in range(size):
            x = order[begin + i]
            where[x] = -1
            value[x] = v[i]
            error[x] = largest
    return value, error, total, settled


@njit(cache=True)
def tighten(
    order: Integers, first: Integers, steps: Steps, discount: float, gap: float, precision: float, slack: float, sweeps_most: int,
    expanded: Flags, only: Integers, lower: Floats, upper: Floats,
) -> tuple[int, bool]:  # fmt: skip
    """Interval iteration: lower and upper bounds, sound at the beginning and after every update. only[x]: the one action that is
    allowed there, or -1. Returns the sweeps, and whether they were enough everywhere."""
    following, reward, place, probability = steps
    actions, outcomes = following.shape[1], following.shape[2]
    total, settled = 0, True
    for number in range(len(first) - 1):
        begin, end = first[number], first[number + 1]
        sweeps = 0
        while True:
            change = 0.0
            for position in range(begin, end):
                x = order[position]
                if not expanded[x]:
                    continue
                s = place[x]
                low, high = -np.inf, -np.inf
                for a in range(actions):
                    if only[x] >= 0 and only[x] != a:
                        continue
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
            if change <= precision * gap or sweeps >= sweeps_most:
                settled = settled and change <= precision * gap
                break
        total += sweeps
    return total, settled


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
