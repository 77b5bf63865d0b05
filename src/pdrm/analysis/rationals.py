"""The exact numbers that floats stand for: 0.99 is 99/100, 0.3333333333333333 is a third, and 0.1 + 0.2 is 3/10.

The solver's exact values and the checker of certificates both read numbers this way.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.machines.pushdown import PushdownRewardMachine

LARGEST_DENOMINATOR = 10**6
MOST_DIGITS = 12
"""Digits of a number that someone wrote down, at most."""
ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""How far a sum of floats may be from what it stands for, relative to its largest part."""
BY_CHANCE = 1e-3
"""How likely a number may be to lie so near to a fraction of that size by chance."""


@lru_cache(maxsize=100_000)
def simplify(number: float, scale: float = 0.0) -> Fraction:
    """The fraction of small denominator, or the short decimal, that rounds to this float; else one that a sum of parts up
    to `scale` may have missed by rounding; else the float itself.

    >>> simplify(0.99), simplify(-2 / 3), simplify(1e-7), simplify(2.0**-40).denominator == 2**40
    (Fraction(99, 100), Fraction(-2, 3), Fraction(1, 10000000), True)
    >>> simplify(0.1 + 0.2), simplify(0.1 + 0.2 - 0.3, scale=0.3)
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
def exact_chances(*probabilities: float) -> tuple[Fraction, ...]:
    """Probabilities as fractions that sum to 1.

    >>> exact_chances(0.375, 0.375, 0.25), exact_chances(1 / 3, 1 / 3, 1 / 3)[0]
    ((Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)), Fraction(1, 3))
    """
    each = [simplify(p) for p in probabilities]
    total = sum(each, Fraction(0))
    return tuple(p / total for p in each)


def largest_reward(domain: FiniteDomain, machine: PushdownRewardMachine) -> float:
    """The size of what a step's reward is added up from."""
    paid = [machine.otherwise.reward, *(rule.reward for rule in machine.transitions)]
    own = np.abs(domain.arrays.reward[domain.arrays.probability > 0])
    return max(map(abs, paid)) + float(own.max(initial=0.0))
