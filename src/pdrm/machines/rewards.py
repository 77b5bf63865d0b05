"""Rewards are floats, written in the shortest form that is read back as the same float."""

from __future__ import annotations

from contextlib import suppress
from typing import SupportsFloat

from pdrm.errors import BadReward


def reward_of(value: SupportsFloat) -> float:
    """Return a reward as a float, of whatever kind the number is.

    >>> import numpy as np
    >>> reward_of(np.float32(-0.5)), reward_of(1)
    (-0.5, 1.0)
    """
    if not isinstance(value, str | bytes):  # float("1") is 1, but a text is not a reward
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise BadReward(
        f"the reward {str(value)[:40]!r} is not a number",
        fix="use a finite number such as 1 or -0.01",
    )


def number_text(value: float) -> str:
    """Return the shortest text that is read back as the same number.

    >>> [number_text(x) for x in (1.0, -0.01, 1e5, 1000.0, 1e-7, 0.1 + 0.2)]
    ['1', '-0.01', '1e5', '1000', '1e-7', '0.30000000000000004']
    """
    if float(value).is_integer() and abs(value) < 1e16:
        digits = str(int(value))
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"{digits[:-zeros]}e{zeros}" if zeros > 4 else digits
    mantissa, e, exponent = repr(float(value)).partition("e")
    return f"{mantissa}{e}{int(exponent)}" if e else mantissa
