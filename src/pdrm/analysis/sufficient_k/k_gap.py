"""What a k-policy costs: the optimal value from the start against that of the best k-policy found.

The policy is found by improving, class by class, on the action that is best for its members, weighted by how often they are
visited. It need not be the best there is: the gap is an upper bound of the loss, as an interval.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pdrm.analysis.optimal import Optimal
from pdrm.analysis.sufficient_k.questions import Classes
from pdrm.analysis.time_limit import time_left
from pdrm.analysis.value_kernel import LAST_CHANGE, LAST_STEP, evaluate, measure_occupancy, q_values
from pdrm.analysis.values import limit_sweeps
from pdrm.product.finite_kernel import END, Floats, Numbers

SWEEPS = 2_000
ROUNDS = 30


@dataclass(frozen=True, slots=True)
class Gap:
    """The loss of the best k-policy found, and how much states that look alike disagree.

    >>> from pdrm.analysis.sufficient_k.check_k import check_k
    >>> [round(gap.gap[1], 3) for gap in check_k("paint", k=(0, 1, 5)).gaps.values()]
    [0.123, 0.123, 0.0]
    """

    optimal: tuple[float, float]
    """The interval of V* from the start."""
    found: tuple[float, float]
    """The interval of the policy's value."""
    disagreeing: float
    """The share of classes with several members in which no action is possibly optimal for all."""
    spread: float
    """The largest difference of values that is certain within a class."""
    action: Numbers | None = field(default=None, repr=False, compare=False)
    """[x]: what the policy does in each product state; None where none was looked for."""

    @property
    def gap(self) -> tuple[float, float]:
        """The loss lies in this interval (it is never negative); `KReport.loss` may know it better."""
        return max(0.0, self.optimal[0] - self.found[1]), max(0.0, self.optimal[1] - self.found[0])


def measure_gap(
    optimal: Optimal,
    k: int,
    choice: dict[int, int] | None = None,
    *,
    chosen_at: int | None = None,
    proved: bool = False,
) -> Gap:
    """Measure the gap at k; `choice` is a policy to begin with (class by a member -> action; the classes may be those of fewer symbols,
    `chosen_at`), `proved` says that it is optimal. The less time there is, the wider the interval; when time is up, nothing is known of disagreement."""
    product, best_value = optimal.product, optimal.values.at_start(optimal.product)
    if time_left() <= 0:
        worst = product.average_over_starts(np.full(len(product), find_worst(optimal)))
        return Gap(best_value, best_value if proved else (worst, best_value[1]), 0.0, 0.0)
    share, spread = _measure_disagreement(optimal, Classes(product, optimal.asked).at(k))
    if proved:
        return Gap(best_value, best_value, share, spread)
    number = Classes(product, np.arange(len(product))).at(k)
    action = _vote(optimal, number)
    if choice:
        known = (
            number
            if chosen_at in (None, k)
            else Classes(product, np.arange(len(product))).at(chosen_at or 0)
        )
        chosen = np.full(int(known.max(initial=0)) + 1, -1)
        chosen[known[list(choice)]] = list(choice.values())
        action = np.where(chosen[known] >= 0, chosen[known], action)
    best, value = _evaluate_hopefully(optimal, action)
    for _ in range(ROUNDS):
        if time_left() <= 0:
            break
        better = _improve(optimal, number, action, value)
        hoped, following = _evaluate_hopefully(optimal, better)
        if hoped <= best + 1e-12 * abs(best):
            break
        action, best, value = better, hoped, following
    return Gap(best_value, _bound_policy(optimal, action), share, spread, action)


def _vote(optimal: Optimal, number: Numbers) -> Numbers:
    """For each class the action that is possibly optimal for most of its members, nearer ones counting for more."""
    product = optimal.product
    weight = 0.5 ** product.states.depth[: len(product)].astype(np.float64)
    actions = product.next.shape[1]
    votes = np.zeros((int(number.max(initial=0)) + 1, actions))
    for a in range(actions):
        np.add.at(votes[:, a], number, weight * (optimal.possibly >> a & 1))
    return np.asarray(votes.argmax(axis=1)[number])


def _evaluate_hopefully(optimal: Optimal, action: Numbers) -> tuple[float, Floats]:
    """A policy's value from the start and everywhere, if it went on optimally from frontier states."""
    value, _ = _evaluate(optimal, action, optimal.values.lower)
    return optimal.product.average_over_starts(value), value


def _bound_policy(optimal: Optimal, action: Numbers) -> tuple[float, float]:
    """The interval of a policy's value from the start, whatever it does in frontier states."""
    product = optimal.product
    low, below = _evaluate(optimal, action, np.full(len(product), find_worst(optimal)))
    high, above = _evaluate(optimal, action, optimal.values.upper)
    return product.average_over_starts(low) - below, product.average_over_starts(high) + above


def find_worst(optimal: Optimal) -> float:
    """No policy gets less than this, from any state."""
    known = optimal.values.known
    lowest = min(0.0, float(optimal.product.reward.min(initial=0.0))) / optimal.values.gap
    return lowest if known is None else min(lowest, known.worst)


def _evaluate(optimal: Optimal, action: Numbers, beyond: Floats) -> tuple[Floats, float]:
    """A policy's values, with those of frontier states given, and how far they may be wrong."""
    product, values = optimal.product, optimal.values
    value = np.where(product.expanded, 0.0, beyond)
    few, error = limit_sweeps(product.next.size), np.inf
    for _ in range(0, SWEEPS, few):
        error = evaluate(
            product.steps, product.expanded, values.discount, action, value, min(few, SWEEPS)
        )
        if error < LAST_CHANGE or time_left() <= 0:
            break
    return value, (error + values.slack) / values.gap


def _improve(optimal: Optimal, number: Numbers, action: Numbers, value: Floats) -> Numbers:
    """For each class the action of highest value, averaged over its members as often as they are visited."""
    product = optimal.product
    begin = np.zeros(len(product))
    there = product.starts != END
    np.add.at(begin, product.starts[there], product.start_probability[there])
    discount = optimal.values.discount
    few, now, often = limit_sweeps(product.next.size), begin, begin.copy()
    for _ in range(0, SWEEPS, few):
        now, moved = measure_occupancy(
            product.steps, discount, action, now, often, min(few, SWEEPS)
        )
        if moved < LAST_STEP or time_left() <= 0:
            break
    q = q_values(product.steps, discount, value) * often[:, None]
    total = np.zeros((int(number.max(initial=0)) + 1, q.shape[1]))
    np.add.at(total, number, q)
    best = total.argmax(axis=1)
    current = np.zeros(len(total), np.int64)
    current[number] = action
    gain = total[np.arange(len(total)), best] - total[np.arange(len(total)), current]
    size = np.abs(total).max(axis=1, initial=0.0)
    return np.where(gain > 1e-12 * size, best, current)[number]


def _measure_disagreement(optimal: Optimal, number: Numbers) -> tuple[float, float]:
    """The share of classes whose members clash, and the largest certain spread of values, among states asked about."""
    asked = optimal.asked
    groups, counts = np.unique(number, return_inverse=True, return_counts=True)[1:]
    several = counts > 1
    if not several.any():
        return 0.0, 0.0
    common = np.full(len(counts), -1, np.int64)
    np.bitwise_and.at(common, groups, optimal.possibly[asked])
    highest, lowest = np.full(len(counts), -np.inf), np.full(len(counts), np.inf)
    np.maximum.at(highest, groups, optimal.values.lower[asked])
    np.minimum.at(lowest, groups, optimal.values.upper[asked])
    return float((common[several] == 0).mean()), float(max(0.0, (highest - lowest)[several].max()))
