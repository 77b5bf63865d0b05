"""Time limits of searches."""

from __future__ import annotations

from math import inf
from time import monotonic


class Deadline:
    """A time after which a search returns its best result.

    >>> Deadline(None).left, Deadline(0.0).over
    (inf, True)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._until = inf if seconds is None else monotonic() + seconds

    @property
    def left(self) -> float:
        """The remaining seconds, at least 0."""
        return max(0.0, self._until - monotonic())

    @property
    def over(self) -> bool:
        """True if no time is left."""
        return self.left <= 0.0

    def share(self, part: float) -> Deadline:
        """A deadline after a share of the remaining time."""
        return Deadline(part * self.left)

    def within(self, seconds: float) -> Deadline:
        """A deadline after `seconds`, but not later than this one."""
        return Deadline(min(seconds, self.left))
