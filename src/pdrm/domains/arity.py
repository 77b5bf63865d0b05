"""Whether a function can be called with so many arguments: labelling functions come in two kinds that are easily confused."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether so many arguments, by position, suit a function; what does not say (some of C) is taken to suit.

    >>> takes(lambda s, a, t: set(), 3), takes(lambda s, a, t: set(), 4), takes(lambda *_: set(), 4)
    (True, False, True)
    """
    try:
        parameters = signature(function)
    except (ValueError, TypeError):
        return True
    try:
        parameters.bind(*range(count))
    except TypeError:
        return False
    return True
