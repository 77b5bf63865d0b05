"""Many words run by the Numba step in one call: every configuration and reward of every word, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.machines.stacks import EMPTY, OK, OVERFLOW, Stacks
from pdrm.machines.step_kernel import NumberedStep, follow, step
from pdrm.machines.tables import BEGIN, Integers, Rewards, Table


class Words(NamedTuple):
    """Many words, one after the other.

    >>> Words.of([[0, 1], []])
    Words(labels=array([0, 1], dtype=int32), offsets=array([0, 2, 2]))
    """

    labels: Integers
    """[total]: the labels of all words."""
    offsets: npt.NDArray[np.int64]
    """[words + 1]: where each word starts in `labels`, and the end."""

    @classmethod
    def of(cls, words: Iterable[Sequence[int]]) -> Words:
        """The words packed."""
        words = list(words)
        labels = np.array([label for word in words for label in word], np.int32)
        return cls(labels, np.cumsum([0, *map(len, words)], dtype=np.int64))


class Runs(NamedTuple):
    """What each word did. Entry `words.offsets[w] + w + i` is word w after i labels (i = 0: after the silent moves before
    the first label); entries past the `read[w]` labels that word w got to read are 0."""

    state: Integers
    """[total + words]"""
    node: Integers
    """[total + words]"""
    reward: Rewards
    """[total + words]: what each step paid."""
    read: Integers
    """[words]: the labels read before the word, the machine or its rules came to an end."""
    status: Integers
    """[words]: OK (all read), FINISHED (labels left over at a final state) or UNDEFINED."""

    @classmethod
    def with_capacity(cls, words: Words) -> Runs:
        """Space for the runs of these words."""
        count = len(words.offsets) - 1
        entries = len(words.labels) + count
        state, node = np.zeros(entries, np.int32), np.zeros(entries, np.int32)
        return cls(
            state, node, np.zeros(entries), np.zeros(count, np.int32), np.zeros(count, np.int32)
        )


@njit(cache=True)
def begin(table: Table, stacks: Stacks) -> NumberedStep:
    """The start of an episode, after the silent moves before the first label. The status is OK or OVERFLOW."""
    return follow(table, stacks, table.start, EMPTY, BEGIN)


@njit(cache=True)
def run_words(table: Table, stacks: Stacks, words: Words, first: int, runs: Runs) -> int:
    """Run the words from number `first` on, each from the start to its end, a final state or an undefined move. Returns
    the number of the word that needs room (`first` of the next call), or the number of words once all are done."""
    word, count, status = first, len(words.offsets) - 1, OK
    while word < count and status != OVERFLOW:
        entry, end = words.offsets[word] + word, words.offsets[word + 1] + word
        last = entry
        state, node, paid, status = begin(table, stacks)
        while status == OK:
            runs.state[last] = state
            runs.node[last] = node
            runs.reward[last] = paid
            if last == end:
                break
            state, node, paid, status = step(table, stacks, state, node, words.labels[last - word])
            last += status == OK
        if status != OVERFLOW:
            runs.read[word] = last - entry
            runs.status[word] = status
            word += 1
    return word


def run(table: Table, stacks: Stacks, words: Words) -> tuple[Stacks, Runs]:
    """Run all words, making room for stacks as needed; the nodes in the runs are those of the stacks returned."""
    runs = Runs.with_capacity(words)
    first = run_words(table, stacks, words, 0, runs)
    while first < len(words.offsets) - 1:
        stacks = stacks.reserve(stacks.capacity)
        first = run_words(table, stacks, words, first, runs)
    return stacks, runs
