"""Product states met so far, numbered as they are met, and found again by an open-addressing hash of one 64-bit key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.machines.table import Integers

FREE = -1
"""An empty slot."""


class Met(NamedTuple):
    """Keys of product states: (number of the configuration) * environment states + environment state.

    >>> met = Met.room(100)
    >>> len(met.slot), len(met.key)
    (256, 100)
    """

    slot: Integers
    """[slots]: the row whose key hashes here, or FREE; a power of two, at most half full."""
    key: npt.NDArray[np.int64]
    """[rows]: the key of each product state, in the order they were met."""
    used: npt.NDArray[np.int64]
    """[1]: how many there are."""

    @classmethod
    def room(cls, rows: int) -> Met:
        """None met yet, and room for `rows`."""
        slots = np.full(1 << (2 * rows - 1).bit_length(), FREE, np.int32)
        return cls(slots, np.zeros(rows, np.int64), np.zeros(1, np.int64))

    def grown(self, more: int) -> Met:
        """The same, with room for so many more."""
        from pdrm.analysis.reach.kernels import place_all  # noqa: PLC0415 - Numba is loaded when it is needed

        used = int(self.used[0])
        if used + more <= len(self.key):
            return self
        larger = Met.room(max(used + more, 2 * len(self.key)))
        larger.key[:used] = self.key[:used]
        larger.used[0] = used
        place_all(larger)
        return larger
