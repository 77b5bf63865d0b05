"""The hash table of the engines: 64-bit keys to rows, numbered in the order in which the keys first come.

Open addressing with linear probing in a power of two of slots, at most half of them taken.
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
"""Rows that a table has room for at first."""

Keys = npt.NDArray[np.int64]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's fraction of 2^64 (Knuth's multiplicative hashing)."""
_HALF = np.uint64(32)

# An unsigned index: at a signed one Numba tests whether it counts from the end, which made the
# loops of the learners a third slower.
ix = np.uint64


class Index(NamedTuple):
    """Keys to rows.

    >>> index = Index.with_capacity(100)
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
    def with_capacity(cls, rows: int) -> Index:
        """No key yet, and room for `rows`."""
        return cls.from_keys(np.zeros(0, np.int64), rows)

    @classmethod
    def from_keys(cls, keys: Keys, rows: int) -> Index:
        """These keys, all different, as the first rows, and room for `rows` in all."""
        slot = free_slots(rows)
        place_rows(slot, keys, len(keys))
        return cls(slot, lengthen(keys, rows), np.array([len(keys)]))

    def grow(self) -> Index:
        """The same rows; in twice the room if they fill half of theirs."""
        used, room = int(self.used[0]), len(self.key)
        return self if 2 * used < room else Index.from_keys(self.key[:used], 2 * room)


def free_slots(rows: int) -> Integers:
    """Slots for this many rows."""
    return np.full(1 << (2 * rows - 1).bit_length(), FREE, np.int32)


@njit(cache=True, inline="always")
def hash_key(key: int) -> int:
    """The slot at which the search for a key begins (before the mask)."""
    return int((np.uint64(key) * MULTIPLIER) >> _HALF)


@njit(cache=True)
def place_rows(slot: Integers, keys: Keys, rows: int) -> None:
    """Put the first rows, in their order, into free slots."""
    mask = len(slot) - 1
    for row in range(rows):
        probe = hash_key(keys[row]) & mask
        while slot[probe] >= 0:
            probe = (probe + 1) & mask
        slot[probe] = row


@njit(cache=True)
def find_key(slot: Integers, keys: Keys, key: int) -> tuple[int, int]:
    """The row of a key, or FREE, and its slot (used or free)."""
    mask = len(slot) - 1
    probe = hash_key(key) & mask
    row = slot[ix(probe)]
    while row >= 0 and keys[ix(row)] != key:
        probe = (probe + 1) & mask
        row = slot[ix(probe)]
    return row, probe
