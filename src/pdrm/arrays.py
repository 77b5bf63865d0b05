"""Arrays that grow.

A full policy grows to gigabytes, and what a copy to twice the room costs is not the copying but the new pages, which the system clears
first: it was 40 % of such a run. So a large array is put where much more address space is reserved than it needs. Pages are given when
they are first written to, and from then on the array grows in place. Where the system reserves none, arrays are copied.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

A = TypeVar("A", bound=np.generic)

RESERVED_FROM = 2**22
"""Bytes of an array from which on space is reserved for it."""
RESERVE = 2**33
"""Bytes of address space for each such array: more than most will ever need, and no more than a computer has, or the system refuses."""


class _Reserve(mmap.mmap):
    """Address space; `rows`: how long the longest array in it is."""

    rows: int


def lengthen(array: npt.NDArray[A], rows: int, value: int = 0) -> npt.NDArray[A]:
    """The rows of an array, and as many rows of a value as are missing; the old array is not to be written to any more.

    >>> lengthen(np.array([7, 8]), 4, -1).tolist()
    [7, 8, -1, -1]
    >>> large = lengthen(np.ones((2, 2**20)), 3)
    >>> larger = lengthen(large, 4)
    >>> np.shares_memory(large, larger), float(larger.sum()), np.shares_memory(lengthen(large, 4), larger)
    (True, 2097152.0, False)
    """
    if rows == len(array):
        return array
    shape, before = (rows, *array.shape[1:]), len(array)
    reserve, size = _find_reserve(array), array.dtype.itemsize * prod(shape)
    fresh = reserve is None or len(reserve) < size
    if fresh:
        reserve = _reserve(size)
    if reserve is None:
        longer = np.full(shape, value, array.dtype)
    else:
        longer = np.ndarray(shape, array.dtype, buffer=reserve)
        reserve.rows = rows
        if value:
            longer[before:] = value
    if fresh:
        longer[:before] = array
    return longer


def _find_reserve(array: npt.NDArray[A]) -> _Reserve | None:
    """The space that an array grows into; none where it is not the longest that is there."""
    below: object = array.base
    if isinstance(below, _Reserve) and below.rows == len(array) and array.flags.c_contiguous:
        return below
    return None


def _reserve(size: int) -> _Reserve | None:
    """Space for an array of so many bytes and what it may grow to; None where it is small or too large, or where the system gives none."""
    if not RESERVED_FROM <= size <= RESERVE or not hasattr(mmap, "MAP_ANONYMOUS"):
        return None
    try:
        reserve = _Reserve(-1, RESERVE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError):
        return None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # large pages are a matter of speed alone
            reserve.madvise(mmap.MADV_HUGEPAGE)
    return reserve
