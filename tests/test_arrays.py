"""Arrays that grow hold what copies would, wherever they are put."""

from __future__ import annotations

import random

import numpy as np

from pdrm import arrays


def test_arrays_that_grow_are_as_copies(monkeypatch):
    """Several at a time, of several kinds, which grow, are written to and go; none has what another left behind."""
    monkeypatch.setattr(arrays, "RESERVED_FROM", 64)
    choose = random.Random(3)
    held: list[tuple[np.ndarray, np.ndarray, int]] = []
    for _ in range(600):
        if held and choose.random() < 0.15:
            held.pop(choose.randrange(len(held)))
        if len(held) < 4:
            kind, width = (
                choose.choice([np.int32, np.int64, np.float64]),
                choose.choice([(), (3,), (2, 2)]),
            )
            value = choose.choice([0, -1])
            held.append(
                (np.full((2, *width), value, kind), np.full((2, *width), value, kind), value)
            )
        place = choose.randrange(len(held))
        array, copy, value = held[place]
        rows = len(array) + choose.randrange(3000)
        longer = arrays.lengthen(array, rows, value)
        right = np.concatenate(
            [copy, np.full((rows - len(copy), *copy.shape[1:]), value, copy.dtype)]
        )
        assert np.array_equal(longer, right)
        row, number = choose.randrange(rows), choose.randrange(1, 9)
        longer[row:], right[row:] = number, number
        held[place] = longer, right, value
        assert all(np.array_equal(found, kept) for found, kept, _ in held)


def test_an_array_that_was_lengthened_twice_is_copied(monkeypatch):
    """Only the longest array in a space grows there: two that come from one do not share what is new."""
    monkeypatch.setattr(arrays, "RESERVED_FROM", 64)
    short = arrays.lengthen(np.arange(10), 20)
    first, second = arrays.lengthen(short, 30), arrays.lengthen(short, 30)
    first[25] = 1
    assert second[25] == 0
    assert np.shares_memory(short, first)
    assert not np.shares_memory(short, second)
