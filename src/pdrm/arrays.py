"""Arrays that grow.

A full policy grows to gigabytes, and what a copy to twice the room costs is not the copying but the new pages, which the system clears
first: it was 40 % of such a run. So a large array is put where much more address space is reserved than it needs. Pages are given when
they are first written to, and from then on the array grows in place. When it is gone, the next array is put there: its pages need not
be given anew, and until then the system may take them for something else. Where the system reserves none, arrays are copied.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
import weakref
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
UNCOUNTED = 0
"""The flag of address space that Linux does not count as memory: else a process that has much of it cannot be forked. -1: not known."""
if sys.platform == "linux":
    UNCOUNTED = getattr(
        mmap, "MAP_NORESERVE", {"x86_64": 0x4000, "aarch64": 0x4000}.get(platform.machine(), -1)
    )
MOST_SPARE = 32
"""Spaces without an array that are kept for the next ones: a run has about a dozen."""


class _Space(mmap.mmap):
    """Address space; `written`: bytes in front that an array had, which need not be zero any more; `row`: bytes of a row of the last."""

    written: int
    row: int


class _Lease(ctypes.Array[ctypes.c_char]):
    """A space while an array is in it; `rows`: how long the longest array in it is."""

    _type_, _length_ = ctypes.c_char, RESERVE
    space: _Space
    rows: int


_spare: list[_Space] = []


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
    lease, row = _find_lease(array), array.dtype.itemsize * prod(shape[1:])
    fresh = lease is None or rows * row > RESERVE
    if fresh:
        lease = _reserve(rows, row)
    if lease is None:
        longer = np.full(shape, value, array.dtype)
    else:
        longer = np.ndarray(shape, array.dtype, buffer=lease)  # type: ignore[arg-type] # it is a buffer
        until = (
            rows if value else min(rows, -(-lease.space.written // row))
        )  # what was never written to is 0
        longer[before:until] = value
        lease.rows, lease.space.written = rows, max(lease.space.written, rows * row)
    if fresh:
        longer[:before] = array
    return longer


def _find_lease(array: npt.NDArray[A]) -> _Lease | None:
    """The space that an array grows into; none where it is not the longest that is there."""
    below: object = array.base
    if isinstance(below, _Lease) and below.rows == len(array) and array.flags.c_contiguous:
        return below
    return None


def _reserve(rows: int, row: int) -> _Lease | None:
    """Space for so many rows of so many bytes and what they may grow to; None where they are few or too many, or where the system gives
    none. Arrays with rows of one size tend to grow as long as the ones before."""
    if (
        not RESERVED_FROM <= rows * row <= RESERVE
        or UNCOUNTED < 0
        or not hasattr(mmap, "MAP_ANONYMOUS")
    ):
        return None
    try:
        if _spare:
            space = max(_spare, key=lambda spare: (spare.row == row, spare.written))
            _spare.remove(space)
        else:
            space = _new_space()
    except (OSError, ValueError, OverflowError):  # the system gives none, or another thread took it
        return None
    lease = _Lease.from_buffer(space)
    lease.space, space.row = space, row
    weakref.finalize(lease, _give_back, space).atexit = False
    return lease


def _new_space() -> _Space:
    space = _Space(-1, RESERVE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | UNCOUNTED)
    space.written = 0
    _advise(space, "MADV_HUGEPAGE", RESERVE)  # large pages are a matter of speed alone
    return space


def _give_back(space: _Space) -> None:
    """Keep a space for the next array; the system may take its pages until then."""
    if len(_spare) < MOST_SPARE:
        _advise(space, "MADV_FREE", space.written)
        _spare.append(space)


def _advise(space: _Space, advice: str, size: int) -> None:
    if hasattr(mmap, advice):
        with suppress(OSError):
            space.madvise(getattr(mmap, advice), 0, size)
