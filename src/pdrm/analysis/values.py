"""Values of the finite product by value iteration, with a guarantee: every value lies in the interval that is reported."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.analysis.graph_kernel import components
from pdrm.analysis.top_abstraction import glimpses
from pdrm.analysis.value_kernel import extremes, glimpse_values, solve, tighten
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import NoDiscount
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import FiniteProduct

# --- The exact numbers that floats stand for: 0.99 is 99/100, 0.3333333333333333 is a third, and 0.1 + 0.2 is 3/10.

LARGEST_DENOMINATOR = 10**6
MOST_DIGITS = 12
"""Digits of a number that someone wrote down, at most."""
ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""How far a sum of floats may be from what it stands for, relative to its largest part."""
BY_CHANCE = 1e-3
"""How likely a number may be to lie so near to a fraction of that size by chance."""


@lru_cache(maxsize=100_000)
def simplest(number: float, scale: float = 0.0) -> Fraction:
    """The fraction of small denominator, or the short decimal, that rounds to this float; else one that a sum of parts up
    to `scale` may have missed by rounding; else the float itself.

    >>> simplest(0.99), simplest(-2 / 3), simplest(1e-7), simplest(2.0**-40).denominator == 2**40
    (Fraction(99, 100), Fraction(-2, 3), Fraction(1, 10000000), True)
    >>> simplest(0.1 + 0.2), simplest(0.1 + 0.2 - 0.3, scale=0.3)
    (Fraction(3, 10), Fraction(0, 1))
    """
    exact = Fraction(number)
    near = exact.limit_denominator(LARGEST_DENOMINATOR)
    if float(near) == number:
        return near
    if len(repr(number).partition("e")[0].strip("-0").replace(".", "")) <= MOST_DIGITS:
        return Fraction(repr(number))
    tolerance = ROUNDING * max(abs(number), scale)
    for denominator in (10, 100, 1_000, 10_000, 100_000):
        near = exact.limit_denominator(denominator)
        if abs(near - exact) <= tolerance and denominator**2 * tolerance < BY_CHANCE:
            return near
    return exact


@lru_cache(maxsize=10_000)
def chances(*probabilities: float) -> tuple[Fraction, ...]:
    """Probabilities as fractions that sum to 1.

    >>> chances(0.375, 0.375, 0.25), chances(1 / 3, 1 / 3, 1 / 3)[0]
    ((Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)), Fraction(1, 3))
    """
    each = [simplest(p) for p in probabilities]
    total = sum(each, Fraction(0))
    return tuple(p / total for p in each)


def largest_reward(domain: FiniteDomain, machine: PushdownRewardMachine) -> float:
    """The size of what a step's reward is added up from.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> largest_reward(domain("deliver-8"), catalogue("deliver"))
    1000.5
    """
    paid = [machine.otherwise.reward, *(rule.reward for rule in machine.transitions)]
    own = np.abs(domain.arrays.reward[domain.arrays.probability > 0])
    return max(map(abs, paid)) + float(own.max(initial=0.0))


# --- Value iteration on the finite product, with a guarantee: every value lies in the interval that is reported.
#
# Rounding is part of the guarantee: every update of a bound moves outwards by more than its arithmetic can be wrong. The
# problem is the discounted one without a step limit; the rule at the product's bound is part of it.

Floats = npt.NDArray[np.float64]
MOST_SWEEPS = 100_000
EPSILON = float(np.finfo(np.float64).eps)
GLIMPSE_SWEEPS = 2_000


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
    """Lower and upper bounds of the optimal values, and how they were come by."""

    discount: float
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
    """What the bounds of open states rest on; None where no state is open."""

    @property
    def width(self) -> float:
        """The widest interval."""
        return float((self.upper - self.lower).max(initial=0.0))

    def at_start(self, product: FiniteProduct) -> tuple[float, float]:
        """The interval of the value from the start: over its outcomes, with what is paid before the first action."""
        chance = product.start_probability
        ends = []
        for bounds in (self.lower, self.upper):
            after = np.where(product.starts == END, 0.0, bounds[product.starts] if len(bounds) else 0.0)
            ends.append(float((chance * (product.start_paid + after)).sum()))
        largest = float(np.abs(product.start_paid).max()) + max(map(abs, ends))
        slack = self.slack + 4 * (len(chance) + 3) * EPSILON * largest
        return ends[0] - slack, ends[1] + slack


def values(product: FiniteProduct, discount: float, precision: float = 1e-9, known: Known | None = None) -> Values:
    """Bounds of the optimal values of a product; `known` may be handed in where it was found before.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> product = FiniteProduct(domain("paint"), catalogue("paint"))
    >>> product.explore()
    >>> found = values(product, 0.99)
    >>> found.lower.round(6).tolist(), found.width < 1e-9
    ([-0.5, -0.666667, -0.75, -0.8, -0.833333], True)
    """
    check_discount(discount)
    count = len(product)
    order, first = components(product.next.reshape(count, int(np.prod(product.next.shape[1:]))))
    looked = product.states.looked[:count]
    shared = (order, first, product.next, product.reward, product.place, product.probability)
    if looked.all():
        known, slack = None, _slack(product, _range(extremes(*shared[2:]), discount))
        value, error = np.zeros(count), np.zeros(count)
        precise = max(precision, 8 * slack / (1 - discount))
        sweeps = solve(*shared, discount, precise, slack, value, error, MOST_SWEEPS)
        lower, upper = value - error, value + error
    else:
        known = known or known_by_top(product, discount)
        slack = known.slack
        at = (product.place, product.states.state[:count], product.stacks.symbol[product.states.node[:count]])
        lower, upper = known.lower[at], known.upper[at]
        precise = max(precision, 8 * slack / (1 - discount))
        sweeps = tighten(*shared, looked, discount, precise, slack, lower, upper, MOST_SWEEPS)
    return Values(discount, lower, upper, slack, int(sweeps), len(first) - 1, known)


def check_discount(discount: float) -> None:
    """Refuse a discount with which values have no bounds."""
    if not 0 <= discount < 1:
        raise NoDiscount(f"the discount is {discount}", fix="at least 0 and below 1, as 0.99")


def known_by_top(product: FiniteProduct, discount: float) -> Known:
    """Bounds of the values of all product states, by environment state, machine state and top symbol.

    Only the machine and the domain count, not how much of the product has been built. Where the bound of the stack
    changes the problem, a step may end, or be repeated, in any state: then only the range of all rewards is known.
    """
    seen, table = glimpses(product.table), product.table
    arrays = product.domain.arrays._replace(probability=product.probability)
    final = seen.state >= table.first_final
    own = arrays.reward[arrays.probability > 0]
    ends = bool(arrays.terminal[arrays.next[arrays.probability > 0]].any())
    on = np.add.outer(own, np.unique(seen.paid[~final])).ravel()
    off = np.add.outer(own, np.unique(seen.paid if ends else seen.paid[final])).ravel()
    capped = product.bound.rule != "open"
    if capped:
        on = off = np.concatenate([on, off])
    extent = _range((*_extremes(on), *_extremes(off)), discount)
    slack = _slack(product, extent)
    tables = []
    for sign, value in ((-1.0, extent.lowest), (1.0, extent.highest)):
        found = np.full((len(arrays.terminal), table.move.shape[0], table.move.shape[2]), value + sign * slack)
        precision = 1e-9 * (1 + extent.highest - extent.lowest)
        if not capped:
            glimpse_values(seen, arrays, table.first_final, discount, slack, sign, found, GLIMPSE_SWEEPS, precision)
        tables.append(found)
    return Known(tables[0], tables[1], extent.lowest - slack, slack)


class _Extent(NamedTuple):
    """Bounds of all values, and the largest reward."""

    lowest: float
    highest: float
    reward: float


def _extremes(rewards: Floats) -> tuple[float, float]:
    return float(rewards.min(initial=np.inf)), float(rewards.max(initial=-np.inf))


def _range(extremes: tuple[float, float, float, float], discount: float) -> _Extent:
    """From the extremes of rewards that are paid again and again, and of those that come at most once, at the end."""
    low, high, last_low, last_high = extremes
    lowest, highest = min(low / (1 - discount), last_low), max(high / (1 - discount), last_high)
    largest = max((abs(reward) for reward in extremes if np.isfinite(reward)), default=0.0)
    return _Extent(lowest, highest, largest) if lowest <= highest else _Extent(0.0, 0.0, 0.0)


def _slack(product: FiniteProduct, extent: _Extent) -> float:
    """More than the arithmetic of one update can be wrong, that of adding up its rewards included."""
    size = (
        extent.reward + largest_reward(product.domain, product.machine) + max(abs(extent.lowest), abs(extent.highest))
    )
    return float(4 * (product.next.shape[2] + 3) * EPSILON * size)
