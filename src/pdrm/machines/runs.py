"""Words in and runs out: the arrays a kernel reads many words from and writes every configuration and reward to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.machines.table import Integers, Rewards

OK = 0
"""The step was made."""
UNDEFINED = 1
"""No rule applies and the machine says `otherwise error`: the configuration is as before."""
FULL = 2
"""A new stack needs room: the configuration is as before."""
FINISHED = 3
"""The state is final: no label can be read, the configuration is as before."""


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
    def room(cls, words: Words) -> Runs:
        """Space for the runs of these words."""
        count = len(words.offsets) - 1
        entries = len(words.labels) + count
        state, node = np.zeros(entries, np.int32), np.zeros(entries, np.int32)
        return cls(state, node, np.zeros(entries), np.zeros(count, np.int32), np.zeros(count, np.int32))
