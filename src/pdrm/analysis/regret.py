"""Regret, the loss of a k-policy in one step, and spread, the difference of values in a class.

Both are maxima over the classes of states with equal environment state, machine state and top k
symbols. The explored states give lower bounds. Upper bounds are known if everything was explored.
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
    """Regret and spread of one k, with the states that prove the lower bounds."""

    regret: Interval
    spread: Interval
    conflicting: tuple[int, ...] = ()
    """States of a class without a common best action, up to one for each action."""
    different_values: tuple[int, ...] = ()
    """Two states of a class with different values."""


def measure_gaps(values: ValuedProduct) -> tuple[Floats, Floats]:
    """[x, action]: lower and upper bounds of the value minus the action's value.

    They are 0 and infinity in unexpanded states.
    """
    lower, upper = values.lower, values.upper
    product, discount = values.product, values.discount
    low = lower[:, np.newaxis] - find_action_values(product, discount, upper)
    high = upper[:, np.newaxis] - find_action_values(product, discount, lower)
    return np.maximum(0.0, low), np.where(product.expanded[:, np.newaxis], high, np.inf)


def measure_regret(values: ValuedProduct, k: int, gaps: tuple[Floats, Floats]) -> Regret:
    """Bound regret and spread by the gaps of the states found so far."""
    classes = Classes(values.product, k)
    klass = classes.update()[: len(values.product)]
    if not len(classes):
        return Regret((0.0, 0.0), (0.0, 0.0))
    low_gap, high_gap = gaps
    tolerance = values.step_tolerance
    order = np.argsort(klass, kind="stable")
    first = np.searchsorted(klass[order], np.arange(len(classes)))

    def bound(gap: Floats, other_gap: Floats, high: Floats, low: Floats) -> tuple[Floats, Floats]:
        """[class]: regret and spread, lower bounds if `gap` is the low gap, else upper bounds.

        The spread includes the gaps of actions that are optimal somewhere in the class.
        """
        max_gap = np.maximum.reduceat(gap[order], first)
        optimal = np.minimum.reduceat(other_gap[order], first) <= tolerance
        width = np.maximum.reduceat(high[order], first) - np.minimum.reduceat(low[order], first)
        spread = np.maximum(width, np.where(optimal, max_gap, 0.0).max(axis=1))
        return max_gap.min(axis=1), spread

    regret, spread = bound(low_gap, high_gap, values.lower, values.upper)
    max_regret, max_spread = inf, inf
    if values.closed:
        regret_bound, spread_bound = bound(high_gap, low_gap, values.upper, values.lower)
        max_regret, max_spread = float(regret_bound.max()), float(spread_bound.max())
    return Regret(
        (float(regret.max()), max_regret),
        (float(spread.max()), max_spread),
        _find_conflicting(np.flatnonzero(klass == regret.argmax()), low_gap, tolerance),
        _find_different_values(np.flatnonzero(klass == spread.argmax()), values),
    )


def _find_conflicting(states: Numbers, low_gap: Floats, tolerance: float) -> tuple[int, ...]:
    """A small subset of states in which every action is suboptimal somewhere; empty if none exists.

    States are chosen greedily, like sets of a set cover.
    """
    bad = low_gap[states] > tolerance
    if not bad.any(axis=0).all():
        return ()
    patterns, first = np.unique(bad, axis=0, return_index=True)
    uncovered = np.ones(bad.shape[1], np.bool_)
    chosen = list[int]()
    while uncovered.any():
        best = int((patterns & uncovered).sum(axis=1).argmax())
        chosen.append(int(states[first[best]]))
        uncovered &= ~patterns[best]
    return tuple(sorted(chosen))


def _find_different_values(states: Numbers, values: ValuedProduct) -> tuple[int, ...]:
    """Two states whose values are proved to differ; empty if there are none."""
    lower, upper = values.lower, values.upper
    high, low = int(states[lower[states].argmax()]), int(states[upper[states].argmin()])
    return (high, low) if lower[high] - upper[low] > values.step_tolerance else ()


def explore(values: ValuedProduct, max_states: int, depth: int | None, deadline: Deadline) -> None:
    """Expand the nearest states, layer by layer, up to a depth or a number of states."""
    product = values.product
    while len(product) < min(max_states, product.max_states) and not deadline.over:
        frontier = product.expandable(product.frontier)
        depths = product.states.depth[frontier]
        if not frontier.size or (depth is not None and depths.min() >= depth):
            break
        values.expand(frontier[depths == depths.min()][:max_states])
    values.refine()


def search_witnesses(
    values: SolvedValues, ks: list[int], max_states: int, deadline: Deadline
) -> None:
    """Expand random paths from pairs of states that differ in the stack alone.

    A pair takes the same actions, which may make its top k symbols equal. The search ends after the
    deadline, or once every k is refuted.
    """
    generator, product = np.random.default_rng(0), values.product
    remaining = list(ks)
    while remaining and not deadline.over and len(product) < min(max_states, product.max_states):
        for k in (remaining[-1], remaining[0]):
            chosen = generator.choice(np.flatnonzero(product.expanded), PAIRS)
            klass = Classes(product, 0).update()[: len(product)]
            order = np.argsort(klass, kind="stable")
            begin = np.searchsorted(klass[order], klass[chosen], "left")
            end = np.searchsorted(klass[order], klass[chosen], "right")
            pairs = np.stack([chosen, order[generator.integers(begin, end)]])
            length = int(generator.integers(k + 1, 2 * k + 8))
            _expand_paths(values, pairs, length, generator)
        gaps = measure_gaps(values)
        regrets = {k: measure_regret(values, k, gaps).regret[0] for k in remaining}
        remaining = [k for k, regret in regrets.items() if regret <= values.step_tolerance]


def _expand_paths(
    values: SolvedValues, states: Numbers, length: int, generator: np.random.Generator
) -> None:
    """Expand the states on random paths; half of the paths repeat a short loop of actions.

    Args:
        values: The product, with deterministic moves.
        states: [i, path]: the first states. All states of a path take the same actions.
        length: The number of steps.
        generator: The source of randomness.
    """
    product = values.product
    paths = np.arange(states.shape[1])
    actions = product.next.shape[1]
    loop = generator.integers(0, actions, (MAX_LOOP_LENGTH, len(paths)))
    period = generator.integers(1, MAX_LOOP_LENGTH + 1, len(paths))
    repeats = generator.random(len(paths)) < 0.5
    for step in range(length):
        distinct = np.unique(states)
        values.expand(product.expandable(distinct[~product.expanded[distinct]]))
        random_action = generator.integers(0, actions, len(paths))
        action = np.where(repeats, loop[step % period, paths], random_action)
        after = product.next[states, action, 0]
        going = (product.expanded[states] & (after != END)).all(axis=0)
        states = np.where(going, after, states)
