"""Random numbers that are the same in Python and in Numba kernels: SplitMix64, with a state of one
64-bit integer.

Every run has its generators. No global state is used, and the numbers do not depend on the
platform or the process.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdrm.learning.settings import check_count

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
STEP = 2.0**-53

RngState = npt.NDArray[np.uint64]


def seed_streams(seed: int, count: int) -> RngState:
    """[count]: independent initial states for one seed."""
    check_count("seed", seed, 0)
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).astype(np.uint64)


class Rng:
    """The generator in plain Python. Kernels can share its state, an array of one element.

    >>> rng = Rng(seed_streams(7, 1))
    >>> 0 <= rng.uniform() < 1, rng.below(3) in range(3)
    (True, True)
    """

    __slots__ = ("state",)

    def __init__(self, state: RngState) -> None:
        self.state = state

    def uniform(self) -> float:
        """A number in [0, 1)."""
        word = (int(self.state[0]) + GOLDEN) & MASK
        self.state[0] = word
        word = ((word ^ (word >> 30)) * FIRST) & MASK
        word = ((word ^ (word >> 27)) * SECOND) & MASK
        return ((word ^ (word >> 31)) >> 11) * STEP

    def below(self, count: int) -> int:
        """An integer from 0 to count - 1."""
        return int(self.uniform() * count)
