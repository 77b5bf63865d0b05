"""Witnesses as text: states that look alike without a common best action, and a path to each."""

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

MAX_WORDS = 20
"""Words of a path that are printed."""
MAX_FOLLOWED = 5_000
"""States on optimal paths that are followed to find the length of optimal play."""


class WitnessState(NamedTuple):
    """A state of a class, with a path to it and its best actions."""

    env_state: int
    """The number of the environment state."""
    where: str
    state: str
    """The machine state."""
    stack: Stack
    """Top first."""
    seen: Stack
    """The top symbols that a k-policy sees."""
    word: str
    """The labels on a path to the state, in the format of `pdrm step`."""
    way: tuple[str, ...]
    """The actions on the path."""
    start: str
    """The start of the path, empty if there is only one start."""
    actions: tuple[str, ...]
    """The best actions."""
    value: Interval

    def __str__(self) -> str:
        stack = _shorten(self.stack) or "(empty)"
        best = " or ".join(self.actions)
        return (
            f"after {self.describe_way()}: {self.where}, {self.state}, stack {stack}; best: {best}"
        )

    def describe_way(self) -> str:
        """The path: its actions, or the labels read at the start."""
        if self.way:
            path = f"actions {_shorten(self.way)}"
        elif self.word:
            path = f"the labels {_shorten(self.word.split())}"
        else:
            path = "no action"
        return f"{path}, from {self.start}" if self.start else path


def describe_state(values: ValuedProduct, x: int, k: int, gaps: Floats) -> WitnessState:
    """Describe a product state; `gaps`: upper bounds of its value minus its action values."""
    product, domain = values.product, values.product.domain
    env_state, state, stack = name_state(product, x)
    close = max(values.step_tolerance, 2 * float(gaps.min()))
    way = product.path_to(x)
    start = ""
    if (product.starts != END).sum() > 1:
        start = domain.describe(int(domain.arrays.start_state[way.start]))
    return WitnessState(
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
    """Join words; the middle of a long list is left out."""
    if len(words) <= MAX_WORDS:
        return " ".join(words)
    half = MAX_WORDS // 2
    return f"{' '.join(words[:half])} … {len(words) - 2 * half} more … {' '.join(words[-half:])}"


class OptimalPlay(NamedTuple):
    """The length of optimal play from the start."""

    steps: int
    """The number of steps from the worst start."""
    ends: bool | None
    """True if optimal play ends; None if this is unknown after `steps` steps."""

    @property
    def total(self) -> int | None:
        """The steps until the end, or None if it does not end or this is unknown."""
        return self.steps if self.ends else None

    def exceeds(self, limit: int) -> bool | None:
        """Return True if it takes more than `limit` steps, None if this is unknown.

        >>> OptimalPlay(103, ends=True).exceeds(60), OptimalPlay(50, ends=None).exceeds(60)
        (True, None)
        """
        if self.ends is False or self.steps > limit:
            return True
        return False if self.ends else None


def follow_optimal(values: SolvedValues) -> OptimalPlay:
    """Follow optimal actions from each start to the nearest end. Moves must be deterministic."""
    starts = values.product.starts
    longest = 0
    for start in starts[starts != END]:
        states, steps, ends = 0, 0, False
        for steps, reached in enumerate(walk_optimal(values, np.array([start]))):
            states += len(reached)
            ends = END in reached
            if ends:
                break
            if states > MAX_FOLLOWED:
                return OptimalPlay(max(longest, steps), ends=None)
        if not ends:
            return OptimalPlay(steps, ends=False)
        longest = max(longest, steps)
    return OptimalPlay(longest, ends=True)


def follow_solution(solution: Solution) -> OptimalPlay | None:
    """Follow optimal actions of a solved task; None if its moves are stochastic."""
    solver = solution.solver
    if not isinstance(solver, WholeStack):
        return None
    return follow_optimal(SolvedValues(solver, certain_product(solution.task, solver)))
