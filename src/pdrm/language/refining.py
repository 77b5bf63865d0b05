"""Partition refinement (Moore 1956): classes of things that nothing tells apart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

One = TypeVar("One", bound=Hashable)


def refine(describe: Callable[[dict[One, int]], Mapping[One, Hashable]]) -> dict[One, int]:
    """Number the classes of things with equal descriptions, until the numbers change nothing.

    Args:
        describe: The descriptions of all things, given their classes so far (none at first).

    Example:
        >>> after = {1: 2, 2: 4, 3: 4, 4: None}
        >>> refine(lambda classes: {one: classes.get(then) for one, then in after.items()})
        {1: 0, 2: 1, 3: 1, 4: 2}
    """
    classes: dict[One, int] = {}
    count = 0
    while True:
        numbers: dict[Hashable, int] = {}
        found: dict[One, int] = {}
        for one, description in describe(classes).items():
            found[one] = numbers.setdefault((classes.get(one), description), len(numbers))
        if len(numbers) == count:
            return found
        count = len(numbers)
        classes = found
