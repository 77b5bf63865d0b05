"""Witnesses in words: states that look alike and have no best action in common, and how to get to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pdrm.analysis.product_solution import ProductSolution
from pdrm.analysis.regret import measure_gaps
from pdrm.analysis.solving import Solution
from pdrm.analysis.values import Interval, SolvedValues, ValuedProduct, take_certain
from pdrm.machines.transitions import Stack
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import FiniteProduct, actions_to, word_to

LONGEST = 20
"""Words of a way that are printed."""
MOST_FOLLOWED = 5_000
"""States on optimal ways that are looked at to find how long optimal play takes."""


@dataclass(frozen=True, slots=True)
class Member:
    """One state of a class: what it is, how to get there, and what is best."""

    place: int
    """The number of the environment state."""
    where: str
    state: str
    """The machine state."""
    stack: Stack
    """Top first."""
    seen: Stack
    """The part of it that a k-policy sees."""
    word: str
    """The labels on a shortest way, as `pdrm step` reads them."""
    way: tuple[str, ...]
    """The actions on it."""
    start: str
    """The start of the way, if there are several."""
    actions: tuple[str, ...]
    """The best actions."""
    value: Interval

    def record(self) -> dict[str, Any]:
        """The state as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        stack, best = _shorten(self.stack) or "(empty)", " or ".join(self.actions)
        return (
            f"after {self.describe_way()}: {self.where}, {self.state}, stack {stack}; best: {best}"
        )

    def describe_way(self) -> str:
        """The way there: the actions, or the labels read at the start."""
        did = f"actions {_shorten(self.way)}" if self.way else "no action"
        if not self.way and self.word:
            did = f"the labels {_shorten(self.word.split())}"
        return f"{did}, from {self.start}" if self.start else did


def describe_states(
    values: ValuedProduct, states: Sequence[int], k: int, tolerance: float
) -> tuple[Member, ...]:
    """Some states of a product in words."""
    if not states:
        return ()
    product, most = values.product, measure_gaps(values)[1]
    found = []
    for x in states:
        start, _ = product.path(x)
        begins = product.starts != END
        place = int(product.domain.arrays.start_state[start])
        stack = product.stack(x)
        gaps = most[x]
        close = max(tolerance, 2 * float(gaps.min()))
        found.append(
            Member(
                int(product.place[x]),
                product.domain.describe(int(product.place[x])),
                product.machine_state(x),
                stack,
                stack[:k],
                word_to(product, x),
                actions_to(product, x),
                product.domain.describe(place) if begins.sum() > 1 else "",
                tuple(
                    name
                    for name, gap in zip(product.domain.actions, gaps, strict=True)
                    if gap <= close
                ),
                (float(values.lower[x]), float(values.upper[x])),
            )
        )
    return tuple(found)


def _shorten(words: Sequence[str]) -> str:
    """Words in a line, of many the first and the last."""
    if len(words) <= LONGEST:
        return " ".join(words)
    half = LONGEST // 2
    return f"{' '.join(words[:half])} … {len(words) - 2 * half} more … {' '.join(words[-half:])}"


@dataclass(frozen=True, slots=True)
class Followed:
    """The length of optimal play from the start."""

    steps: int
    """From the start from which it takes longest."""
    ends: bool | None
    """False if it never ends; None if unknown: it was followed for `steps` steps."""

    def exceeds(self, limit: int) -> bool | None:
        """Return True if it takes more steps than this, None if that is not known.

        >>> Followed(103, ends=True).exceeds(60), Followed(50, ends=None).exceeds(60), Followed(8, ends=False).exceeds(60)
        (True, None, True)
        """
        if self.ends is False or self.steps > limit:
            return True
        return False if self.ends else None


def follow_optimal(values: ValuedProduct) -> Followed:
    """Follow optimal actions from each start until the episode ends, on a shortest way; moves must have no chance."""
    product, longest = values.product, 0
    close = values.tolerance
    for start in np.unique(product.starts[product.starts != END]).tolist():
        seen, new, steps, ends = {start}, [start], 0, False
        while new and not ends:
            steps += 1
            if len(seen) > MOST_FOLLOWED:
                return Followed(max(longest, steps), ends=None)
            todo = np.array(new)
            values.expand(product.expandable(todo[~product.expanded[todo]]))
            todo = todo[product.expanded[todo]]
            after = product.next[todo, :, 0]
            worth = np.where(after != END, values.upper[after], 0.0) * values.discount
            worth += product.reward[todo, :, 0]
            best = worth >= worth.max(axis=1, keepdims=True) - close
            reached = np.unique(after[best])
            ends = bool((reached == END).any())
            new = [x for x in reached.tolist() if x not in seen]
            seen.update(new)
        if not ends:
            return Followed(steps, ends=False)
        longest = max(longest, steps)
    return Followed(longest, ends=True)


def follow_solution(solution: Solution | ProductSolution) -> Followed | None:
    """Follow optimal actions of a solved task; None if moves have chance."""
    if not isinstance(solution, Solution):
        return None
    return follow_optimal(
        SolvedValues(solution, FiniteProduct(take_certain(solution.domain), solution.machine))
    )
