"""The greatest loss of a k-policy in one step (regret), and how much values differ among states that look alike (spread).

Both are greatest over the classes of states with equal environment state, machine state and top k symbols, so that the states
explored give lower bounds. Upper bounds are known if everything was explored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdrm.analysis.best_policy import Classes
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.values import SolvedValues, ValuedProduct
from pdrm.analysis.values_kernel import q_bounds
from pdrm.product.finite_kernel import END, Floats, Numbers

PAIRS = 200
"""Pairs of states that are followed at once."""
LONGEST_LOOP, LONGEST_WAY = 4, 6


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret and spread of one k, with the states that prove the regret's lower bound."""

    low: float
    high: float | None
    """None if it is not known."""
    spread_low: float
    spread_high: float | None
    members: tuple[int, ...] = ()
    """States that look alike and have no best action in common, up to one for each action."""
    different: tuple[int, ...] = ()
    """States that look alike, and differ in their values or best actions."""


def measure_gaps(values: ValuedProduct) -> tuple[Floats, Floats]:
    """[x, action]: by how much an action is worth less than the best one, at least and at most; 0 and infinity if not explored."""
    product, count = values.product, len(values.product)
    lower, upper = values.lower, values.upper
    low = np.zeros((count, product.next.shape[1]))
    high = np.zeros_like(low)
    q_bounds(product.steps, values.discount, lower, upper, low, high)
    expanded = product.expanded[:, np.newaxis]
    least = np.where(expanded, np.maximum(0.0, lower[:, np.newaxis] - high), 0.0)
    most = np.where(expanded, upper[:, np.newaxis] - low, np.inf)
    return least, most


def measure_regret(
    values: ValuedProduct, k: int, tolerance: float, gaps: tuple[Floats, Floats] | None = None
) -> Regret:
    """Bound regret and spread over the states found so far; gaps of up to `tolerance` count as none."""
    least, most = measure_gaps(values) if gaps is None else gaps
    count = len(values.product)
    classes = Classes(values.product, k)
    klass = classes.update()[:count].astype(np.int64)
    number, actions = len(classes), least.shape[1]
    if not number:
        return Regret(0.0, 0.0, 0.0, 0.0)
    lower, upper = values.lower, values.upper
    worst = np.zeros((number, actions))
    np.maximum.at(worst, klass, least)
    regret = worst.min(axis=1)
    chosen = int(regret.argmax())
    members = _find_members(np.flatnonzero(klass == chosen), least, tolerance)

    range_of_values = _reduce(np.maximum, klass, lower, number) - _reduce(
        np.minimum, klass, upper, number
    )
    nearest = np.full((number, actions), np.inf)
    np.minimum.at(nearest, klass, most)
    range_of_gaps = np.where(nearest <= tolerance, worst, 0.0).max(axis=1)
    spread = np.maximum(np.maximum(range_of_values, range_of_gaps), 0.0)
    differs = int(spread.argmax())
    different = _find_different(
        np.flatnonzero(klass == differs), least, most, lower, upper, tolerance
    )
    if not values.closed:
        return Regret(float(regret.max()), None, float(spread.max()), None, members, different)

    worst_high = np.zeros((number, actions))
    np.maximum.at(worst_high, klass, most)
    possible = np.full((number, actions), np.inf)
    np.minimum.at(possible, klass, least)
    widest = _reduce(np.maximum, klass, upper, number) - _reduce(np.minimum, klass, lower, number)
    gaps_high = np.where(possible <= tolerance, worst_high, 0.0).max(axis=1)
    return Regret(
        float(regret.max()),
        float(worst_high.min(axis=1).max()),
        float(spread.max()),
        float(np.maximum(widest, gaps_high).max()),
        members,
        different,
    )


def _reduce(function: np.ufunc, klass: Numbers, value: Floats, number: int) -> Floats:
    """The greatest or least value of each class."""
    found = np.full(number, -np.inf if function is np.maximum else np.inf)
    function.at(found, klass, value)
    return found


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


def _find_different(
    states: Numbers, least: Floats, most: Floats, lower: Floats, upper: Floats, tolerance: float
) -> tuple[int, ...]:
    """Two states whose values are certainly different, or one with a best action that is not among the other's."""
    high, low = int(states[lower[states].argmax()]), int(states[upper[states].argmin()])
    if lower[high] - upper[low] > tolerance:
        return high, low
    for action in range(least.shape[1]):
        best, bad = (
            int(states[most[states, action].argmin()]),
            int(states[least[states, action].argmax()]),
        )
        if most[best, action] <= tolerance < least[bad, action]:
            return best, bad
    return ()


def explore(values: ValuedProduct, most: int, depth: int | None, deadline: Deadline) -> None:
    """Expand the nearest states, layer by layer, to a depth or up to a number of states."""
    product = values.product
    while len(product) < min(most, product.most_states) and not deadline.over:
        edge = product.expandable(product.frontier)
        depths = product.states.depth[edge]
        if not edge.size or (depth is not None and int(depths.min()) >= depth):
            break
        values.expand(edge[depths == depths.min()][:most])
    values.settle()


def count_steps(values: ValuedProduct) -> int | None:
    """The states within this many steps were explored (None if all were)."""
    frontier = values.product.frontier
    return int(values.product.states.depth[frontier].min()) if frontier.size else None


def wander(values: ValuedProduct, generator: np.random.Generator) -> None:
    """Expand what short random ways from states at all depths lead to: other ways to the same places make other stacks."""
    product = values.product
    here = _choose_states(values, generator)
    for _ in range(LONGEST_WAY):
        _expand(values, here)
        action = generator.integers(0, product.next.shape[1], len(here))
        outcome = generator.integers(0, product.next.shape[2])
        after = product.next[here, action, outcome]
        here = after[after != END]


def _choose_states(values: ValuedProduct, generator: np.random.Generator) -> Numbers:
    """States that were expanded: those at a few depths, or those found last."""
    product = values.product
    expanded = np.flatnonzero(product.expanded)
    if generator.random() < 0.3:
        return generator.choice(expanded[-(len(expanded) // 4 + 1) :], PAIRS)
    depth = product.states.depth[expanded]
    pool = expanded[np.isin(depth, generator.choice(np.unique(depth), 5))]
    return generator.choice(pool, PAIRS)


def _expand(values: ValuedProduct, states: Numbers) -> None:
    todo = np.unique(states)
    values.expand(values.product.expandable(todo[~values.product.expanded[todo]]))


def follow_pairs(values: ValuedProduct, k: int, generator: np.random.Generator) -> None:
    """Expand what follows when two states that differ in the stack alone go the same way, so that their top k symbols may become equal."""
    product = values.product
    one = _choose_states(values, generator)
    node = product.states.node[: len(product)]
    seen = Classes(product, 0).update()[: len(product)]
    order = np.argsort(seen, kind="stable")
    begin = np.searchsorted(seen[order], seen[one])
    end = np.searchsorted(seen[order], seen[one], side="right")
    other = order[generator.integers(begin, end)]
    differ = node[one] != node[other]
    here: Numbers = np.stack([one[differ], other[differ]])
    length = int(generator.integers(k + 1, 2 * k + 8))
    actions = product.next.shape[1]
    loop = generator.integers(0, actions, (LONGEST_LOOP, here.shape[1]))
    period = np.asarray(generator.integers(1, LONGEST_LOOP + 1, here.shape[1]))
    repeats = np.asarray(generator.random(here.shape[1]) < 0.5)
    for step in range(length):
        if not here.size:
            return
        _expand(values, here.ravel())
        free = generator.integers(0, actions, here.shape[1])
        action = np.where(repeats, loop[step % period, np.arange(here.shape[1])], free)
        outcome = generator.integers(0, product.next.shape[2])
        after: Numbers = product.next[here, action, outcome].astype(np.int64)
        after[~product.expanded[here]] = END
        here = after
        one, other = here[0], here[1]
        going = (one != END) & (other != END) & (one != other)
        here, loop, period, repeats = here[:, going], loop[:, going], period[going], repeats[going]


def search_witnesses(
    values: SolvedValues, ks: list[int], tolerance: float, most: int, deadline: Deadline
) -> None:
    """Follow pairs as long as there is time and some k is not known to fail everywhere."""
    generator, left = np.random.default_rng(0), list(ks)
    while (
        left and not deadline.over and len(values.product) < min(most, values.product.most_states)
    ):
        wander(values, generator)
        for k in (*left[-1:], *left[:1]):
            follow_pairs(values, k, generator)
        gaps = measure_gaps(values)
        left = [k for k in left if measure_regret(values, k, tolerance, gaps).low <= tolerance]
