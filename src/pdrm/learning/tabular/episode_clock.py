"""The paper's wall-clock limit of an episode. Results under it depend on the machine; without it nothing here is looked at.

The kernels have no clock: they come back every so many updates (and whenever they need room), and the clock is read then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.progress import Progress

EVERY = 10_000
"""Updates between two looks at the clock: a fraction of a millisecond."""


class EpisodeClock:
    """Says when an episode is late. Without a limit it never is.

    >>> times = iter([0.0, 0.02, 0.04])
    >>> clock, progress = EpisodeClock(0.03, lambda: next(times)), Progress.new(0.1)
    >>> for _ in clock.goals(progress, until=1):
    ...     for _ in range(2):
    ...         clock.look(progress)
    ...         print(bool(progress.whole[at.LATE]))
    False
    True
    """

    def __init__(self, seconds: float | None, now: Callable[[], float] = time.perf_counter, every: int = EVERY) -> None:
        self.seconds, self._now, self._every = seconds, now, every
        self._began = 0.0

    def goals(self, progress: Progress, until: int) -> Iterator[int]:
        """The episodes to train up to, one after the other where each is timed, else all at once."""
        if self.seconds is None:
            yield until
            return
        for episode in range(int(progress.whole[at.EPISODE]), until):
            progress.whole[[at.UPDATES, at.LATE, at.LOOK]] = 0, 0, self._every
            self._began = self._now()
            yield episode + 1

    def look(self, progress: Progress) -> None:
        """Note whether the episode is late, and when to look again."""
        if self.seconds is not None:
            late = self._now() - self._began > self.seconds
            progress.whole[at.LATE] = late
            progress.whole[at.LOOK] = 0 if late else progress.whole[at.UPDATES] + self._every
