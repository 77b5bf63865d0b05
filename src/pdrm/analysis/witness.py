"""Witnesses in words: states that look alike and have no best action in common, and how to get to each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pdrm.analysis.best_policy import name_state, walk_optimal
from pdrm.analysis.solving import Solution
from pdrm.analysis.values import Interval, SolvedValues, ValuedProduct, certain_product
from pdrm.analysis.whole_stack import WholeStack
from pdrm.machines.transitions import Stack
from pdrm.product.finite_kernel import END, Floats

LONGEST = 20
"""Words of a way that are printed."""
MAX_FOLLOWED = 5_000
"""States on optimal ways that are looked at to find how long optimal play takes."""


class Member(NamedTuple):
    """One state of a class: what it is, how to get there, and what is best."""

    env_state: int
    """The number of the environment state."""
    where: str
    state: str
    """The machine state."""
    stack: Stack
    """Top first."""
    seen: Stack
    """The part of it that a k-policy sees."""
    word: str
    """The labels on a way there, as `pdrm step` reads them."""
    way: tuple[str, ...]
    """The actions on it."""
    start: str
    """The start of the way, if there are several."""
    actions: tuple[str, ...]
    """The best actions."""
    value: Interval

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


def describe_state(values: ValuedProduct, x: int, k: int, gaps: Floats) -> Member:
    """A state of a product in words; `gaps`: by how much each action can be worth less than the best one."""
    product, domain = values.product, values.product.domain
    env_state, state, stack = name_state(product, x)
    close = max(values.step_tolerance, 2 * float(gaps.min()))
    start, way = "", product.path_to(x)
    if (product.starts != END).sum() > 1:
        start = domain.describe(int(domain.arrays.start_state[way.start]))
    return Member(
        env_state=env_state,
        where=domain.describe(env_state),
        state=state,
        stack=stack,
        seen=stack[:k],
        word=way.word,
        way=way.actions,
        start=start,
        actions=tuple(domain.actions[action] for action in np.flatnonzero(gaps <= close)),
        value=(float(values.lower[x]), float(values.upper[x])),
    )


def _shorten(words: Sequence[str]) -> str:
    """Words in a line, of many the first and the last."""
    if len(words) <= LONGEST:
        return " ".join(words)
    half = LONGEST // 2
    return f"{' '.join(words[:half])} … {len(words) - 2 * half} more … {' '.join(words[-half:])}"


class Followed(NamedTuple):
    """The length of optimal play from the start."""

    steps: int
    """From the start from which it takes longest."""
    ends: bool | None
    """False if it never ends; None if unknown: it was followed for `steps` steps."""

    @property
    def total(self) -> int | None:
        """The steps until it ends; None if it does not, or that is not known."""
        return self.steps if self.ends else None

    def exceeds(self, limit: int) -> bool | None:
        """Return True if it takes more steps than this, None if that is not known.

        >>> Followed(103, ends=True).exceeds(60), Followed(50, ends=None).exceeds(60), Followed(8, ends=False).exceeds(60)
        (True, None, True)
        """
        if self.ends is False or self.steps > limit:
            return True
        return False if self.ends else None


def follow_optimal(values: SolvedValues) -> Followed:
    """Follow optimal actions from each start until the episode ends, on a shortest way; moves must have no chance."""
    starts, longest = values.product.starts, 0
    for start in starts[starts != END]:
        states, steps, ends = 0, 0, False
        for steps, reached in enumerate(walk_optimal(values, np.array([start]))):
            states += len(reached)
            ends = END in reached
            if ends:
                break
            if states > MAX_FOLLOWED:
                return Followed(max(longest, steps), ends=None)
        if not ends:
            return Followed(steps, ends=False)
        longest = max(longest, steps)
    return Followed(longest, ends=True)


def follow_solution(solution: Solution) -> Followed | None:
    """Follow optimal actions of a solved task; None if moves have chance."""
    solver = solution.solver
    if not isinstance(solver, WholeStack):
        return None
    return follow_optimal(SolvedValues(solver, certain_product(solution.task, solver)))
