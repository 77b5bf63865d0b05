"""Tables that grow: the values q(s, u, view, a), and the stacks observed for counterfactual experiences.

Both find their rows by an open-addressing hash of one 64-bit key. Rows are numbered as they are met, so a table can be
compared, saved and resumed row by row.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdrm.machines.table import Integers, Rewards

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
        from pdrm.learning.tabular.rows.kernels import place_rows  # noqa: PLC0415 - the kernels know these tables

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
