"""The hash table of the engines: maps 64-bit keys to rows, numbered in the order of insertion.

Open addressing with linear probing; the slots are a power of two, at most half of them used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.machines.stacks import lengthen
from pdrm.machines.tables import Integers

FREE = -1
"""An empty slot, or no row."""
INITIAL_CAPACITY = 1024
"""Initial number of rows of a table."""

Keys = npt.NDArray[np.int64]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's fraction of 2^64 (Knuth's multiplicative hashing)."""
_HALF = np.uint64(32)

# Unsigned, because Numba tests whether a signed index counts from the end, which made the loops of
# the learners a third slower.
ix = np.uint64


class Index(NamedTuple):
    """A map from keys to rows.

    >>> index = Index.with_capacity(100)
    >>> len(index.slot), len(index.key)
    (256, 100)
    """

    slot: Integers
    """[slots]: the row whose key hashes here, or FREE."""
    key: Keys
    """[rows]: the key of each row."""
    used: Keys
    """[1]: the number of rows."""

    @classmethod
    def with_capacity(cls, rows: int) -> Index:
        """Make an empty table with space for `rows`."""
        return cls.from_keys(np.zeros(0, np.int64), rows)

    @classmethod
    def from_keys(cls, keys: Keys, rows: int) -> Index:
        """Make a table whose first rows have these distinct keys, with space for `rows` in all."""
        slot = free_slots(rows)
        place_rows(slot, keys, len(keys))
        return cls(slot, lengthen(keys, rows), np.array([len(keys)]))

    def grow(self) -> Index:
        """Double the capacity if at least half of it is used."""
        used, capacity = int(self.used[0]), len(self.key)
        return self if 2 * used < capacity else Index.from_keys(self.key[:used], 2 * capacity)


def free_slots(rows: int) -> Integers:
    """Make free slots for this many rows."""
    return np.full(1 << (2 * rows - 1).bit_length(), FREE, np.int32)


@njit(cache=True, inline="always")
def hash_key(key: int) -> int:
    """The slot at which the search for a key starts (before the mask)."""
    return int((np.uint64(key) * MULTIPLIER) >> _HALF)


@njit(cache=True)
def place_rows(slot: Integers, keys: Keys, rows: int) -> None:
    """Insert the first rows, in order, into free slots."""
    mask = len(slot) - 1
    for row in range(rows):
        probe = hash_key(keys[row]) & mask
        while slot[probe] >= 0:
            probe = (probe + 1) & mask
        slot[probe] = row


@njit(cache=True)
def find_key(slot: Integers, keys: Keys, key: int) -> tuple[int, int]:
    """Return the row of a key, or FREE, and its slot."""
    mask = len(slot) - 1
    probe = hash_key(key) & mask
    row = slot[ix(probe)]
    while row >= 0 and keys[ix(row)] != key:
        probe = (probe + 1) & mask
        row = slot[ix(probe)]
    return row, probe
