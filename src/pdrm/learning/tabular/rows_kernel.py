"""Tables that grow, their rows found by hash in Numba: the values q(s, u, view, a), and the stacks observed for CpRM.

Rows are numbered as they are first seen, so a table can be compared, saved and resumed row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pdrm.arrays import lengthen
from pdrm.learning.randomness import FIRST, GOLDEN, SECOND
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.hash_kernel import FREE, Index, Keys, hash_key


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

    def grow(self) -> Values:
        """The same rows, with more room where it is short."""
        index = self.index.grow()
        return Values(index, lengthen(self.value, len(index.key)))

    def for_blocks(self, rows: int) -> Values:
        """The same rows, with room for at least two blocks of `rows`: a table without room for one more block is then at least half full."""
        used, room = int(self.index.used[0]), 2 * rows
        if len(self.index.key) >= room:
            return self
        return Values(Index.of(self.index.key[:used], room), lengthen(self.value, room))


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
        return cls(
            Index.room(entries),
            none,
            none.copy(),
            ends,
            ends.copy(),
            np.zeros(lists, np.int32),
            turn,
        )

    def grow(self) -> Observed:
        """The same entries, with more room where it is short."""
        index = self.index.grow()
        entries = len(index.key)
        return Observed(
            index, lengthen(self.node, entries), lengthen(self.following, entries, FREE), *self[3:]
        )


def compile_growth() -> None:
    """Have the growth of an index compiled, before a clock runs."""
    Index.of(np.zeros(1, np.int64), rows=1).grow()


# --- The pieces that the four loops of the learners share.
#
# What may be factored out of the training loops, in nanoseconds of processor time per update: Q-learning on `letter`, CpRM on
# `deliver-8`, both k = 1 (Numba 0.68, two cores shared with other work; best of 60 bursts of `QTraining.advance`, two rounds):
#
#   everything written out                                              18      10.5   (other rounds: up to 16.8)
#   `find_row` and `highest` as plain `njit` functions               18 to 19   10.3 to 10.5
#   `draw`, too                                                      22 to 23   10.3 to 10.5
#   `draw` and the ε-greedy choice with `forceinline=True`           25 to 26   10.1 to 10.3
#   `draw` and the ε-greedy choice as plain functions                   50      11.9   (one round of 25 bursts)
#   these and the making of a new row                                   51      25     (one round of 25 bursts)
#
# So small functions that only read are free, and training writes out the rest, with the same text in both learners. Once per
# episode, and in tests, functions do. Whether `inline="always"` costs anything for functions of arrays is not settled.

_FIRST, _SECOND, GOLDEN_64 = np.uint64(FIRST), np.uint64(SECOND), np.uint64(GOLDEN)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))

# An index that is unsigned: at a signed one Numba looks whether it counts from the end, which made the loops a third slower.
ix = np.uint64


@njit(cache=True)
def find_row(slot: Integers, keys: Keys, key: int) -> tuple[int, int]:
    """The row of a key, or FREE, and the slot where it is or belongs."""
    mask = len(slot) - 1
    probe = hash_key(key) & mask
    row = slot[ix(probe)]
    while row >= 0 and keys[ix(row)] != key:
        probe = (probe + 1) & mask
        row = slot[ix(probe)]
    return row, probe


@njit(cache=True, inline="always")
def uniform(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state (`Rng.uniform`). The state moves on by `random += GOLDEN_64` before it."""
    word = (random ^ (random >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return float((word ^ (word >> _31)) >> _11) * 2.0**-53


@njit(cache=True)
def draw(probability: Rewards, s: int, a: int, random: np.uint64) -> tuple[int, np.uint64]:
    """An outcome of `probability[s, a]` (`draw_outcome`), and the generator's state after it."""
    drawn, total = 0, 0.0
    if probability.shape[2] > 1:
        random += GOLDEN_64
        number = uniform(random)
        for outcome in range(probability.shape[2]):
            if probability[ix(s), ix(a), ix(outcome)] > 0.0:
                drawn = outcome
                total += probability[ix(s), ix(a), ix(outcome)]
                if number < total:
                    break
    return drawn, random


@njit(cache=True)
def highest(q: Rewards, row: int, first: int, count: int) -> float:
    """The highest of `count` values of a row, from column `first` on."""
    best: float = q[ix(row), ix(first)]
    for choice in range(1, count):
        best = max(best, q[ix(row), ix(first + choice)])
    return best


@njit(cache=True)
def choose_greedily(
    q: Rewards, row: int, first: int, count: int, random: np.uint64, first_tie: bool
) -> tuple[int, np.uint64]:
    """A choice of highest value, among several a random or the first one (`greedy`), and the generator's state after it. Without a
    row (FREE) all are worth nothing."""
    best, ties, chosen = 0.0, count, 0
    if row >= 0:
        best, ties = q[ix(row), ix(first)], 1
        for choice in range(1, count):
            if q[ix(row), ix(first + choice)] > best:
                best, ties, chosen = q[ix(row), ix(first + choice)], 1, choice
            elif q[ix(row), ix(first + choice)] == best:
                ties += 1
    if ties > 1 and not (first_tie and (best != 0.0 or ties < count)):
        random += GOLDEN_64
        skip = int(uniform(random) * ties)
        while skip > 0:
            chosen += 1
            skip -= row < 0 or q[ix(row), ix(first + chosen)] == best
    return chosen, random


@njit(cache=True)
def note(observed: Observed, key: int, probe: int, place: int, node: int) -> int:
    """Put a stack that is new to a list at its end (`ObservedStacks.add`); its entry, or FREE where there is no room."""
    slot, keys, used = observed.index
    entry = int(used[0])
    if entry == len(keys):
        return FREE
    slot[probe], keys[entry], used[0] = entry, key, entry + 1
    observed.node[entry] = node
    if observed.last[place] >= 0:
        observed.following[observed.last[place]] = entry
    else:
        observed.first[place] = entry
    observed.last[place] = entry
    observed.length[place] += 1
    return entry
