"""Arrays that grow."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

A = TypeVar("A", bound=np.generic)


def lengthen(array: npt.NDArray[A], rows: int, value: int = 0) -> npt.NDArray[A]:
    """The rows of an array, followed by rows of a value.

    >>> lengthen(np.array([7, 8]), 4, -1).tolist()
    [7, 8, -1, -1]
    """
    longer = np.zeros((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    if value:
        longer[len(array) :] = value
    return longer
