"""Rewards as numbers: a float, which engines add up, and the exact number that was written, which analysis adds up.

A decimal of at most 15 digits is found again in its float: 0.3 is read as the float nearest to 3/10, and the shortest decimal
of that float is 0.3. Only a number that this does not give back carries itself along, as `Written`.
"""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import SupportsFloat

from pdrm.errors import BadReward

SAFE_DIGITS = 15
"""Digits that a float keeps of every decimal."""
MOST_DIGITS = 1_000
"""Characters that a number may be written with."""


class Written(float):
    """A float that knows the exact number it was written as. It is compared, added and shown as the float it is.

    >>> third = Written(Fraction(1, 3))
    >>> third == 1 / 3, third.exact, third + 0
    (True, Fraction(1, 3), 0.3333333333333333)
    """

    __slots__ = ("exact",)
    exact: Fraction

    def __new__(cls, exact: Fraction) -> Written:
        number = super().__new__(cls, exact)
        number.exact = exact
        return number

    @property
    def digits(self) -> str:
        """The decimal it was written as; nothing where the float's own says it, or where there is none."""
        return "" if self.exact == Fraction(repr(self)) else _expand(self.exact)

    def __reduce__(self) -> tuple[type[Written], tuple[Fraction]]:
        return Written, (self.exact,)


def count_digits(text: str) -> int:
    """The significant digits of a decimal.

    >>> [count_digits(text) for text in ("-0.01", "1e+22", "100000.0", "0.30000000000000004")]
    [1, 1, 1, 17]
    """
    return len(text.lower().partition("e")[0].replace(".", "").lstrip("+-0").rstrip("0"))


def read_decimal(text: str) -> float:
    """The number that a decimal stands for (infinite where it is too large for a float).

    >>> read_decimal("0.1"), read_decimal("0.30000000000000001").exact
    (0.1, Fraction(30000000000000001, 100000000000000000))
    """
    number, exponent = float(text), text.lower().partition("e")[2]
    if not math.isfinite(number) or not count_digits(text):
        return number
    if len(text) > MOST_DIGITS or abs(int(exponent or 0)) > 2 * MOST_DIGITS:
        fix = f"use at most {MOST_DIGITS:,} digits, and 0 for a number that is as good as 0"
        raise BadReward(f"the number `{text[:40]}` is too long or too small", fix=fix)
    return _keep(number, Fraction(text))


def reward_of(value: SupportsFloat) -> float:
    """A reward as a float, whatever kind of number it was: so that it is written, read and compared as one. What a float
    cannot hold of an integer or a fraction is kept beside it.

    >>> import numpy as np
    >>> reward_of(np.float32(-0.5)), reward_of(1), reward_of(Fraction(1, 3)).exact
    (-0.5, 1.0, Fraction(1, 3))
    """
    if isinstance(value, Written):
        return value
    with suppress(TypeError, ValueError, OverflowError):
        if isinstance(value, Decimal):
            return read_decimal(str(value))
        if isinstance(value, Rational):
            return _keep(float(value), Fraction(int(value.numerator), int(value.denominator)))
        if not isinstance(value, str | bytes):  # float("1") is 1, but a text is not a reward
            return float(value)
    raise BadReward(
        f"the reward {str(value)[:40]!r} is not a number",
        fix="use a finite number such as 1 or -0.01",
    )


def _keep(number: float, exact: Fraction) -> float:
    """The float, alone where its shortest decimal is safely the exact number."""
    shortest = repr(number)
    safe = count_digits(shortest) <= SAFE_DIGITS and Fraction(shortest) == exact
    return number if safe else Written(exact)


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> [number_text(x) for x in (1.0, -0.01, 1e5, 1000.0, 1e-7, 0.1 + 0.2, read_decimal("0.30000000000000001"))]
    ['1', '-0.01', '1e5', '1000', '1e-7', '0.30000000000000004', '0.30000000000000001']
    """
    if isinstance(value, Written) and value.digits:
        return value.digits
    if float(value).is_integer() and abs(value) < 1e16:
        digits = str(int(value))
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"{digits[:-zeros]}e{zeros}" if zeros > 4 else digits
    mantissa, e, exponent = repr(float(value)).partition("e")
    return f"{mantissa}{e}{int(exponent)}" if e else mantissa


def _expand(exact: Fraction) -> str:
    """A fraction as a decimal; nothing where it has none that could be read again."""
    places, rest = 0, exact.denominator
    while (common := math.gcd(rest, 10)) > 1:
        places, rest = places + 1, rest // common
    if rest > 1 or places > MOST_DIGITS:
        return ""
    digits = tuple(map(int, str(abs(int(exact * 10**places)))))
    text = str(Decimal((int(exact < 0), digits, -places))).lower().replace("e+", "e")
    return text if len(text) <= MOST_DIGITS else ""
