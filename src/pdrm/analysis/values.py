"""Bounds of the optimal values of a finite product: every value lies in the interval that is reported.

Rounding is part of the guarantee: every update of a bound moves outwards by more than its arithmetic can be wrong. The
problem is the discounted one without a step limit; the rule at the product's bound is part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdrm.analysis.graph_kernel import find_components
from pdrm.analysis.time_limit import time_left
from pdrm.analysis.top_abstraction import abstract_steps
from pdrm.analysis.value_kernel import find_extremes, solve, tighten, tighten_by_top
from pdrm.errors import BadSetting, NoDiscount
from pdrm.product.finite_kernel import Floats
from pdrm.product.finite_product import FiniteProduct
from pdrm.product.rationals import read_number

MOST_SWEEPS = 100_000
FEW = 200_000_000
"""Outcomes that a kernel looks at in one call, about: between two calls the time is looked at."""
EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
"""Below this a float rounds by more than its share."""
TOP_SWEEPS = 2_000
GROWTH = 4
"""How many times as many sweeps are tried where some were not enough."""
LARGEST = 1e280
"""The largest value: bounds of it, and of its rounding, must be floats."""


class Known(NamedTuple):
    """What is known of every product state by its top symbol alone, however high its stack."""

    lower: Floats
    """[environment state, machine state, top]"""
    upper: Floats
    """[environment state, machine state, top]"""
    worst: float
    """No policy whatever gets less than this, from any state."""
    slack: float


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Lower and upper bounds of the optimal values, and how they were found."""

    discount: float
    gap: float
    """1 less the discount, read exactly."""
    lower: Floats
    """[x]: V*(x) is at least this."""
    upper: Floats
    """[x]: V*(x) is at most this."""
    slack: float
    """How far one update's arithmetic may be wrong; each was widened by it."""
    sweeps: int
    components: int
    """Strongly connected components of the product: as many as it has states where no step leads back."""
    known: Known | None
    """What the bounds of frontier states rest on; None where there is no frontier."""

    @property
    def width(self) -> float:
        """The widest interval."""
        return float((self.upper - self.lower).max(initial=0.0))

    def at_start(self, product: FiniteProduct) -> tuple[float, float]:
        """The interval of the value from the start: over its outcomes, with what is paid before the first action."""
        low, high = product.average_over_starts(self.lower), product.average_over_starts(self.upper)
        largest = float(np.abs(product.start_paid).max()) + max(abs(low), abs(high))
        slack = self.slack + 4 * (len(product.starts) + 3) * EPSILON * largest
        return low - slack, high + slack


def bound_values(
    product: FiniteProduct, discount: float, precision: float = 1e-9, known: Known | None = None
) -> Values:
    """Bound the optimal values of a product; `known` may be handed in if it was found before."""
    check_discount(discount)
    count, gap, rounding = len(product), measure_gap_to_1(discount), product.exact.rounding
    order, first = find_components(
        product.next.reshape(count, int(np.prod(product.next.shape[1:])))
    )
    closed, steps = bool(product.expanded.all()), product.steps
    known = None if closed else known or bound_by_top(product, discount)
    extent = _bound_all(find_extremes(steps), gap)
    slack = rounding + (
        _bound_rounding(product, extent, extent.reward) if known is None else known.slack
    )
    settings = order, first, steps, discount, gap, max(precision, 8 * slack / gap), slack
    most, sweeps, settled = limit_sweeps(steps.next.size), 0, False
    if known is None:
        value = np.zeros(0)
        while not settled:  # with fewer sweeps the errors are larger, and true
            begun = time_left()
            value, error, more, settled = solve(*settings, most, value)
            sweeps += more
            settled = settled or most >= MOST_SWEEPS or GROWTH * (begun - time_left()) > time_left()
            most *= GROWTH
        error *= (
            1 + 4 * EPSILON / gap
        )  # an error is rounded too, and far larger than a step can make up for next to 1
        lower = np.maximum(value - error, extent.lowest - slack / gap)
        upper = np.minimum(value + error, extent.highest + slack / gap)
    else:
        at = (
            product.place,
            product.states.state[:count],
            product.stacks.symbol[product.states.node[:count]],
        )
        lower, upper, tried = known.lower[at], known.upper[at], 0
        while not settled:
            more, settled = tighten(*settings, most, product.expanded, lower, upper)
            sweeps, tried = sweeps + more, tried + most
            settled = settled or tried >= MOST_SWEEPS or time_left() <= 0
    return Values(discount, gap, lower, upper, slack, int(sweeps), len(first) - 1, known)


def limit_sweeps(size: int) -> int:
    """How many sweeps over so many outcomes take about a second at most."""
    return max(1, min(MOST_SWEEPS, FEW // max(1, size)))


def check_discount(discount: float) -> None:
    """Refuse a discount with which values have no bounds."""
    if not 0 <= discount < 1:
        raise NoDiscount(
            f"the discount is {discount:g}, and values that are not discounted may be infinite",
            fix="use a number from 0 to below 1, such as 0.99",
        )


def measure_gap_to_1(discount: float) -> float:
    """What the discount, read exactly, is below 1: next to 1 the float's own is up to twice as wide.

    >>> measure_gap_to_1(0.99), 1 - 0.99, measure_gap_to_1(0.9999999999999999)
    (0.01, 0.010000000000000009, 1e-16)
    """
    return float(1 - read_number(discount))


def bound_by_top(product: FiniteProduct, discount: float, sweeps: int = TOP_SWEEPS) -> Known:
    """Bound the values of all product states, by environment state, machine state and top symbol. With no sweeps, all alike, at once.

    This depends on the machine and the domain alone, not on how much of the product has been built. Where the bound of the
    stack changes the problem, a step may end, or be repeated, in any state: then only the range of all rewards is known.
    """
    steps, table = abstract_steps(product.table, product.exact.of_move), product.table
    arrays = product.domain.arrays._replace(probability=product.probability)
    final = steps.state >= table.first_final
    own = arrays.reward[arrays.probability > 0]
    ends = bool(arrays.terminal[arrays.next[arrays.probability > 0]].any())
    on = np.add.outer(own, np.unique(steps.paid[~final])).ravel()
    off = np.add.outer(own, np.unique(steps.paid if ends else steps.paid[final])).ravel()
    capped = product.bound.rule != "open"
    if capped:
        on = off = np.concatenate([on, off])
    gap = measure_gap_to_1(discount)
    extent = _bound_all((*_span(on), *_span(off)), gap)
    largest = float(np.abs(own).max(initial=0.0)) + float(np.abs(steps.paid).max(initial=0.0))
    slack = _bound_rounding(product, extent, largest)
    tables = []
    for sign, value in ((-1.0, extent.lowest), (1.0, extent.highest)):
        found = np.full(
            (len(arrays.terminal), table.move.shape[0], table.move.shape[2]), value + sign * slack
        )
        precision = 1e-9 * (1 + extent.highest - extent.lowest)
        few = limit_sweeps(
            8 * found.size * arrays.next[0].size
        )  # a step may uncover any of several symbols
        for _ in range(0, 0 if capped else sweeps, few):
            some = min(few, sweeps)
            done = tighten_by_top(
                steps, arrays, table.first_final, discount, precision, slack, some, sign, found
            )
            if done or time_left() <= 0:
                break
        tables.append(found)
    return Known(tables[0], tables[1], extent.lowest - slack, slack)


class _Extent(NamedTuple):
    """Bounds of all values, and the largest reward."""

    lowest: float
    highest: float
    reward: float


def _span(rewards: Floats) -> tuple[float, float]:
    return float(rewards.min(initial=np.inf)), float(rewards.max(initial=-np.inf))


def _bound_all(extremes: tuple[float, float, float, float], gap: float) -> _Extent:
    """Bound all values by the extremes of rewards paid again and again, and of those paid at most once, at the end."""
    low, high, last_low, last_high = extremes
    lowest, highest = min(low / gap, last_low), max(high / gap, last_high)
    largest = max((abs(reward) for reward in extremes if np.isfinite(reward)), default=0.0)
    if lowest > highest:
        return _Extent(0.0, 0.0, 0.0)
    if not max(abs(lowest), abs(highest)) < LARGEST:
        fault = f"rewards of {largest:g} add up to more than a float can hold"
        raise BadSetting(fault, fix="use smaller rewards, or a discount further below 1")
    return _Extent(lowest, highest, largest)


def _bound_rounding(product: FiniteProduct, extent: _Extent, largest: float) -> float:
    """More than the arithmetic of one update can be wrong, with rewards that are added up from parts as large as this."""
    size = extent.reward + largest + max(abs(extent.lowest), abs(extent.highest))
    return float(4 * (product.next.shape[2] + 3) * (EPSILON * size + TINY))
