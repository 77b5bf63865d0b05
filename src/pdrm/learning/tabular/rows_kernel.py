"""Tables that grow, their rows found by hash in Numba: the values q(s, u, view, a), and the stacks observed for CpRM.

Rows are numbered as they are first seen, so a table can be compared, saved and resumed row by row.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from pdrm.learning.tabular.randomness import FIRST, SECOND
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.hash_kernel import FREE, Index, hashed

__all__ = ["FREE", "Index", "Observed", "Values", "compile_growth", "hashed", "mixed", "note"]

A = TypeVar("A", Integers, Rewards)


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
    Index.of(np.zeros(1, np.int64), rows=1).grown()


def _longer(array: A, length: int, filled: int = 0) -> A:
    if len(array) == length:
        return array
    longer = np.full((length, *array.shape[1:]), filled, array.dtype)
    longer[: len(array)] = array
    return longer


_FIRST, _SECOND = np.uint64(FIRST), np.uint64(SECOND)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))


@njit(cache=True, inline="always")
def mixed(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state, as `Rng.number` makes it."""
    word = (random ^ (random >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return float((word ^ (word >> _31)) >> _11) * 2.0**-53


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
