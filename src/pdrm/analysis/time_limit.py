"""How long a search may take: a limit set for a block is obeyed by everything that is called inside it.

Loops whose result is worthless before their end call `check_time`, which raises `TimeoutError` when time is up. Loops that are
sound wherever they stop look at `time_left` instead. Without a limit neither does anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def limit_time(seconds: float | None) -> Iterator[None]:
    """Limit the time of a block; of two limits the earlier counts. None: no further limit.

    >>> with limit_time(60):
    ...     with limit_time(None):
    ...         59 < time_left() <= 60
    True
    """
    until = math.inf if seconds is None else monotonic() + seconds
    token = _deadline.set(min(_deadline.get(), until))
    try:
        yield
    finally:
        _deadline.reset(token)


def time_left() -> float:
    """The seconds left, below 0 when time is up; infinite without a limit."""
    return _deadline.get() - monotonic()


def check_time() -> None:
    """Raise TimeoutError if time is up."""
    if time_left() <= 0:
        raise TimeoutError("time is up")
