"""Times as they are written: `30s`, `5m`, `8h`."""

from __future__ import annotations

import re

UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float:
    """A time in seconds.

    >>> seconds_of("5m"), seconds_of("1.5h")
    (300.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or not float(found[1]):
        raise ValueError(f"`{text}` is no time: write a number with s, m or h, such as 30s, 5m or 8h")
    return float(found[1]) * UNITS[found[2]]


def duration(seconds: float) -> str:
    """A time in words as short.

    >>> duration(72), duration(8 * 3600)
    ('1m12s', '8h00m')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
