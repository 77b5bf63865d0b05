"""Tables that grow, their rows found by hash in Numba: the values q(s, u, view, a), and the stacks observed for CpRM.

Rows are numbered as they are first seen, so a table can be compared, saved and resumed row by row.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.learning.tabular.randomness import FIRST, SECOND
from pdrm.machines.tables import Integers, Rewards

# --- Tables that grow: the values q(s, u, view, a), and the stacks observed for counterfactual experiences.
#
# Both find their rows by an open-addressing hash of one 64-bit key. Rows are numbered as they are met, so a table can be
# compared, saved and resumed row by row.

FREE = -1
"""An empty slot of a hash, or no entry."""

A = TypeVar("A", Integers, Rewards)
Keys = npt.NDArray[np.int64]
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Index(NamedTuple):
    """Keys to rows: rows are numbered in the order their keys came.

    >>> index = Index.room(100)
    >>> len(index.slot), len(index.key)
    (256, 100)
    """

    slot: Integers
    """[slots]: the row whose key hashes here, or FREE; a power of two, at most half full."""
    key: Keys
    """[rows]: the key of each row."""
    used: Keys
    """[1]: how many rows there are."""

    @classmethod
    def room(cls, rows: int) -> Index:
        """No key yet, and room for `rows`."""
        slots = np.full(1 << (2 * rows - 1).bit_length(), FREE, np.int32)
        return cls(slots, np.zeros(rows, np.int64), np.zeros(1, np.int64))

    def grown(self) -> Index:
        """The same rows with room for as many more, if they fill half of theirs."""
        used = int(self.used[0])
        if 2 * used < len(self.key):
            return self
        larger = Index.room(2 * len(self.key))
        larger.key[:used] = self.key[:used]
        larger.used[0] = used
        place_rows(larger)
        return larger


class Values(NamedTuple):
    """q as a table: one row for each (s, u, view) that was met, one column an action."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """Row of a key: (number of what is seen) * environment states + environment state."""
    value: Rewards
    """[rows, actions]"""

    @classmethod
    def room(cls, actions: int, rows: int = 1024) -> Values:
        """No row yet."""
        return cls(Index.room(rows), np.zeros((rows, actions), np.float64))

    def grown(self) -> Values:
        """The same rows, with more room where it is short."""
        index = self.index.grown()
        return Values(index, _longer(self.value, len(index.key)))


class Observed(NamedTuple):
    """Stacks seen so far, in lists: one for all, or one for each environment state (co-observed)."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """Entry of a key: (class of the stack) * lists + list."""
    node: Integers
    """[entries]: the stack of each entry."""
    following: Integers
    """[entries]: the next entry of the same list, or FREE."""
    first: Integers
    """[lists]: the first entry, or FREE."""
    last: Integers
    """[lists]: the last entry, or FREE."""
    length: Integers
    """[lists]: how many entries."""
    turn: Integers
    """[lists, 2]: where a budget of updates goes on next time: a machine state and an entry (FREE: the first)."""

    @classmethod
    def room(cls, lists: int, entries: int = 1024) -> Observed:
        """Nothing observed."""
        ends, none = np.full(lists, FREE, np.int32), np.full(entries, FREE, np.int32)
        turn = np.zeros((lists, 2), np.int32)
        turn[:, 1] = FREE
        return cls(Index.room(entries), none, none.copy(), ends, ends.copy(), np.zeros(lists, np.int32), turn)

    def grown(self) -> Observed:
        """The same entries, with more room where it is short."""
        index = self.index.grown()
        entries = len(index.key)
        return Observed(index, _longer(self.node, entries), _longer(self.following, entries, FREE), *self[3:])


def compile_growth() -> None:
    """Have the growth of an index compiled, before a clock runs."""
    full = Index.room(1)
    full.used[0] = 1
    full.grown()


def _longer(array: A, length: int, filled: int = 0) -> A:
    if len(array) == length:
        return array
    longer = np.full((length, *array.shape[1:]), filled, array.dtype)
    longer[: len(array)] = array
    return longer


# --- The small kernels that learners share: random numbers, rows found by hash, and the lists of observed stacks.

_FIRST, _SECOND = np.uint64(FIRST), np.uint64(SECOND)
_11, _27, _30, _31, _32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))


@njit(cache=True, inline="always")
def mixed(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state, as `Rng.number` makes it."""
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
