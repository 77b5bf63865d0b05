"""Training to the end, with tests on the way and a checkpoint to go on from.

A checkpoint is two files: the whole state of a training, and the curve so far as text, one line a test. Ctrl-C takes effect
after the next test, so that nothing is lost; a second one at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pdrm.files.whole_file import write
from pdrm.learning.deep.training import DeepTraining
from pdrm.learning.deep.trees import tree_bytes, tree_from
from pdrm.learning.interrupt import DeferredInterrupt

SECONDS_BETWEEN = 60.0
SECONDS_BETWEEN_LARGE = 600.0
LARGE = 2**28
"""Bytes from which on a state (a replay buffer in it, say) is large."""
COUNTS = ("iterations", "ended", "cut_off")
"""What a training counts."""


class Checkpoint:
    """The checkpoint of a training, at `path` and beside it; taken when asked and, if it is time, in between."""

    def __init__(self, path: Path) -> None:
        self.path, self.curve = path, path.with_suffix(".csv")
        self._saved, self._between = time.monotonic(), SECONDS_BETWEEN

    def exists(self) -> bool:
        """Whether there is something to go on from."""
        return self.path.exists() and self.curve.exists()

    def save(self, training: DeepTraining, curve: str) -> None:
        """Write both, each whole or not at all; the curve first, so that it is never behind the state."""
        counts = {name: np.int32(getattr(training, name)) for name in COUNTS}
        state = tree_bytes({"state": training.state, **counts})
        write(self.curve, curve.encode())
        write(self.path, state)
        self._saved = time.monotonic()
        self._between = SECONDS_BETWEEN_LARGE if len(state) > LARGE else SECONDS_BETWEEN

    def save_if_time(self, training: DeepTraining, curve: str) -> None:
        """Write both if the last time is long ago."""
        if time.monotonic() - self._saved > self._between:
            self.save(training, curve)

    def resume(self, training: DeepTraining, column: int = 0) -> str:
        """Put the runs where they were; returns the curve up to there. column: of the training steps in the curve."""
        found = tree_from(self.path, {"state": training.state, **dict.fromkeys(COUNTS, np.int32(0))})
        training.state = found["state"]
        training.iterations, training.ended, training.cut_off = (int(found[name]) for name in COUNTS)
        head, *lines = self.curve.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if int(line.split(",")[column]) <= training.timesteps]
        return "".join(f"{line}\n" for line in (head, *kept))

    def remove(self) -> None:
        """The runs are done."""
        for file in (self.path, self.curve):
            file.unlink(missing_ok=True)


def trained(
    training: DeepTraining, iterations: int, every: int, checkpoint: Checkpoint, test: Callable[[], str], curve: str
) -> str:
    """Train for so many iterations in all, from where the training stands; returns the curve, a test after every few.

    test: makes a test and returns its lines. curve: the lines so far.
    """
    whole = True
    with DeferredInterrupt() as interrupt:
        try:
            while training.iterations < iterations:
                whole = False
                training.advance(min(every, iterations - training.iterations))
                curve += test()
                whole = True
                interrupt.raise_if_asked()
                checkpoint.save_if_time(training, curve)
        except KeyboardInterrupt:
            if whole:  # a second Ctrl-C acts at once: then the checkpoint before is the one to go on from
                checkpoint.save(training, curve)
            raise
    return curve
