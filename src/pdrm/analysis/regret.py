"""The greatest loss of a k-policy in one step (regret), and how much values differ among states that look alike (spread).

Both are greatest over the classes of states with equal environment state, machine state and top k symbols, so that the states
explored give lower bounds. Upper bounds are known if everything was explored.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from pdrm.analysis.best_policy import Classes
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.value_iteration import find_action_values
from pdrm.analysis.values import Interval, SolvedValues, ValuedProduct
from pdrm.product.finite_kernel import END, Floats, Numbers

PAIRS = 200
"""Pairs of states that are followed at once."""
MAX_LOOP_LENGTH = 4


class Regret(NamedTuple):
    """Regret and spread of one k, with the states that prove the regret's lower bound."""

    regret: Interval
    spread: Interval
    members: tuple[int, ...] = ()
    """States that look alike and have no best action in common, up to one for each action."""
    different: tuple[int, ...] = ()
    """Two states that look alike and differ in their values."""


def measure_gaps(values: ValuedProduct) -> tuple[Floats, Floats]:
    """[x, action]: by how much an action is worth less than the best one, at least and at most; 0 and infinity if not explored."""
    lower, upper = values.lower, values.upper
    product, discount = values.product, values.discount
    least = lower[:, np.newaxis] - find_action_values(product, discount, upper)
    most = upper[:, np.newaxis] - find_action_values(product, discount, lower)
    return np.maximum(0.0, least), np.where(product.expanded[:, np.newaxis], most, np.inf)


def measure_regret(values: ValuedProduct, k: int, gaps: tuple[Floats, Floats]) -> Regret:
    """Bound regret and spread by the gaps of the states found so far."""
    classes = Classes(values.product, k)
    klass = classes.update()[: len(values.product)]
    if not len(classes):
        return Regret((0.0, 0.0), (0.0, 0.0))
    (least, most), tolerance = gaps, values.step_tolerance
    order = np.argsort(klass, kind="stable")
    first = np.searchsorted(klass[order], np.arange(len(classes)))

    def bound(gap: Floats, nearest: Floats, high: Floats, low: Floats) -> tuple[Floats, Floats]:
        """Regret and spread of each class."""
        worst = np.maximum.reduceat(gap[order], first)
        optimal = np.minimum.reduceat(nearest[order], first) <= tolerance
        width = np.maximum.reduceat(high[order], first) - np.minimum.reduceat(low[order], first)
        return worst.min(axis=1), np.maximum(width, np.where(optimal, worst, 0.0).max(axis=1))

    regret, spread = bound(least, most, values.lower, values.upper)
    highs = [inf, inf]
    if values.closed:
        highs = [float(each.max()) for each in bound(most, least, values.upper, values.lower)]
    return Regret(
        (float(regret.max()), highs[0]),
        (float(spread.max()), highs[1]),
        _find_members(np.flatnonzero(klass == regret.argmax()), least, tolerance),
        _find_different(np.flatnonzero(klass == spread.argmax()), values),
    )


def _find_members(states: Numbers, least: Floats, tolerance: float) -> tuple[int, ...]:
    """A small set of states in which every action is worse than the best by more than the tolerance somewhere."""
    bad = least[states] > tolerance
    if not bad.any(axis=0).all():
        return ()
    patterns, first = np.unique(bad, axis=0, return_index=True)
    left, chosen = np.ones(bad.shape[1], np.bool_), list[int]()
    while left.any():
        best = int((patterns & left).sum(axis=1).argmax())
        chosen.append(int(states[first[best]]))
        left &= ~patterns[best]
    return tuple(sorted(chosen))


def _find_different(states: Numbers, values: ValuedProduct) -> tuple[int, ...]:
    """Two states whose values are certainly different, if there are such."""
    lower, upper = values.lower, values.upper
    high, low = int(states[lower[states].argmax()]), int(states[upper[states].argmin()])
    return (high, low) if lower[high] - upper[low] > values.step_tolerance else ()


def explore(values: ValuedProduct, most: int, depth: int | None, deadline: Deadline) -> None:
    """Expand the nearest states, layer by layer, to a depth or up to a number of states."""
    product = values.product
    while len(product) < min(most, product.max_states) and not deadline.over:
        edge = product.expandable(product.frontier)
        depths = product.states.depth[edge]
        if not edge.size or (depth is not None and depths.min() >= depth):
            break
        values.expand(edge[depths == depths.min()][:most])
    values.settle()


def search_witnesses(values: SolvedValues, ks: list[int], most: int, deadline: Deadline) -> None:
    """Follow pairs of states that differ in the stack alone on one random way, which may make their top k symbols equal.

    It ends with the time, and once every k is known to fail somewhere.
    """
    generator, left, product = np.random.default_rng(0), list(ks), values.product
    while left and not deadline.over and len(product) < min(most, product.max_states):
        for k in (left[-1], left[0]):
            one = generator.choice(np.flatnonzero(product.expanded), PAIRS)
            seen = Classes(product, 0).update()[: len(product)]
            order = np.argsort(seen, kind="stable")
            begin = np.searchsorted(seen[order], seen[one], "left")
            end = np.searchsorted(seen[order], seen[one], "right")
            pairs = np.stack([one, order[generator.integers(begin, end)]])
            _walk(values, pairs, int(generator.integers(k + 1, 2 * k + 8)), generator)
        gaps = measure_gaps(values)
        found = {k: measure_regret(values, k, gaps).regret[0] for k in left}
        left = [k for k, regret in found.items() if regret <= values.step_tolerance]


def _walk(
    values: ValuedProduct, here: Numbers, length: int, generator: np.random.Generator
) -> None:
    """Expand what random ways lead to, [i, way] going together for all i, half of them in loops; moves must have no chance."""
    product, ways = values.product, np.arange(here.shape[1])
    actions = product.next.shape[1]
    loop = generator.integers(0, actions, (MAX_LOOP_LENGTH, len(ways)))
    period = generator.integers(1, MAX_LOOP_LENGTH + 1, len(ways))
    repeats = generator.random(len(ways)) < 0.5
    for step in range(length):
        todo = np.unique(here)
        values.expand(product.expandable(todo[~product.expanded[todo]]))
        free = generator.integers(0, actions, len(ways))
        action = np.where(repeats, loop[step % period, ways], free)
        after = product.next[here, action, 0]
        going = (product.expanded[here] & (after != END)).all(axis=0)
        here = np.where(going, after, here)
