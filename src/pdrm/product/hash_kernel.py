"""The one hash table of the engines: 64-bit keys to rows, numbered in the order in which the keys first come.

Open addressing with linear probing in a power of two of slots, at most half of them taken. Learners and searches write the
probe loop into their own flat loops (a function called with arrays costs more than the probe); it is always

    probe = hash_key(key) & mask
    while slot[probe] >= 0 and keys[slot[probe]] != key:
        probe = (probe + 1) & mask
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.arrays import lengthen
from pdrm.machines.tables import Integers

FREE = -1
"""An empty slot, or no entry."""

FIRST_ROOM = 1024
"""Rows that a table has room for at first."""

AT_ONCE = 64
"""Rows whose slots are read at once."""

Keys = npt.NDArray[np.int64]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's fraction of 2^64 (Knuth's multiplicative hashing)."""
_HALF = np.uint64(32)


class Index(NamedTuple):
    """Keys to rows.

    >>> index = Index.room(100)
    >>> len(index.slot), len(index.key)
    (256, 100)
    """

    slot: Integers
    """[slots]: the row whose key hashes here, or FREE."""
    key: Keys
    """[rows]: the key of each row."""
    used: Keys
    """[1]: how many rows there are."""

    @classmethod
    def room(cls, rows: int) -> Index:
        """No key yet, and room for `rows`."""
        return cls(_slots(rows), np.zeros(rows, np.int64), np.zeros(1, np.int64))

    @classmethod
    def of(cls, keys: Keys, rows: int | None = None) -> Index:
        """These keys, all different, as the first rows, and room for `rows` in all (twice as many unless given)."""
        index = cls.room(max(2 * len(keys), FIRST_ROOM) if rows is None else rows)
        index.key[: len(keys)], index.used[0] = keys, len(keys)
        place_rows(index.slot, index.key, len(keys))
        return index

    def grow(self) -> Index:
        """The same rows; in twice the room if they fill half of theirs."""
        used, rows = int(self.used[0]), 2 * len(self.key)
        if 4 * used < rows:
            return self
        larger = Index(_slots(rows), lengthen(self.key, rows), self.used.copy())
        place_rows(larger.slot, larger.key, used)
        return larger


def _slots(rows: int) -> Integers:
    return lengthen(np.empty(0, np.int32), 1 << (2 * rows - 1).bit_length(), FREE)


@njit(cache=True, inline="always")
def hash_key(key: int) -> int:
    """Where a key is looked for first (before the mask)."""
    return int((np.uint64(key) * MULTIPLIER) >> _HALF)


@njit(cache=True)
def place_rows(slot: Integers, keys: Keys, rows: int) -> None:
    """Put that many rows, in their order, into empty slots; all slots must be free."""
    # The slots of some rows are read first, all at once, so that the processor waits for all of that memory together.
    mask, held = len(slot) - 1, np.empty(AT_ONCE, np.int32)
    for first in range(0, rows, AT_ONCE):
        last = min(rows, first + AT_ONCE)
        for row in range(first, last):
            held[row - first] = slot[hash_key(keys[row]) & mask]
        for row in range(first, last):
            probe = hash_key(keys[row]) & mask
            while slot[probe] >= 0:
                probe = (probe + 1) & mask
            slot[probe] = row
