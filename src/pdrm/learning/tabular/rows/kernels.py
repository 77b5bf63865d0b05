"""The small kernels that learners share: random numbers, rows found by hash, and the lists of observed stacks."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.learning.tabular.randomness import FIRST, SECOND
from pdrm.learning.tabular.tables import MULTIPLIER, Index, Observed

_FIRST, _SECOND = np.uint64(FIRST), np.uint64(SECOND)
_11, _27, _30, _31, _32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))


@njit(cache=True, inline="always")
def mixed(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state, as `Chance.number` makes it."""
    word = (random ^ (random >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return float((word ^ (word >> _31)) >> _11) * 2.0**-53


@njit(cache=True, inline="always")
def hashed(key: int) -> int:
    """Where a key is looked for first (before the mask)."""
    return int((np.uint64(key) * MULTIPLIER) >> _32)


@njit(cache=True)
def place_rows(index: Index) -> None:
    """Put the rows of an index, in their order, into its empty slots."""
    slot, keys, used = index
    mask = len(slot) - 1
    for row in range(used[0]):
        probe = hashed(keys[row]) & mask
        while slot[probe] >= 0:
            probe = (probe + 1) & mask
        slot[probe] = row


@njit(cache=True)
def note(observed: Observed, key: int, probe: int, place: int, node: int) -> bool:
    """Put a stack that is new to a list at its end; False where there is no room."""
    slot, keys, used = observed.index
    entry = used[0]
    if entry == len(keys):
        return False
    slot[probe], keys[entry], used[0] = entry, key, entry + 1
    observed.node[entry] = node
    if observed.last[place] >= 0:
        observed.following[observed.last[place]] = entry
    else:
        observed.first[place] = entry
    observed.last[place] = entry
    observed.length[place] += 1
    return True
