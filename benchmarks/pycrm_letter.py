"""LetterEnv and its task for PyCRM (the package `pyrewardmachines`), for the comparison with pdrm.

The 3×7 grid, dynamics, machine and settings are those of `pdrm.domains.paper_domains` and the
catalogue's `letter`.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import gymnasium
import numpy as np

from pdrm.errors import MissingPackage

try:
    from pycrm.agents.tabular import cql, ql
    from pycrm.automaton import CountingRewardMachine
    from pycrm.crossproduct import CrossProduct
    from pycrm.label import LabellingFunction
except ImportError as error:
    raise MissingPackage(
        "PyCRM, needed for the comparison, is not installed",
        fix="pip install pyrewardmachines",
    ) from error

ROWS, COLUMNS, START, SHOWS_A, SHOWS_C = 3, 7, (1, 3), (1, 1), (1, 5)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
LISTED = 6
"""Number of counter values for PyCRM's counterfactuals, 0 to 5. With two machine states, 12 updates
per step."""
RULES: dict[int, dict[str, tuple[int, int, float]]] = {
    0: {"A / (-)": (0, 1, -0.01), "B / (-)": (1, 0, -0.01), "/ (-)": (0, 0, -0.01)},
    1: {"C / (NZ)": (1, -1, -0.01), "C / (Z)": (-1, 0, 1.0), "/ (-)": (1, 0, -0.01)},
}
"""Machine state -> PyCRM's guard -> the next state (-1 ends the episode), the change of the
counter, and the reward."""

Letter = Enum("Letter", ["A", "B", "C"])


def peer_agent(counterfactual: bool) -> Any:
    """PyCRM's agent on LetterEnv with the paper's settings, optionally with counterfactuals."""
    ql.tqdm = cql.tqdm = list  # no progress bar: it would print and slow PyCRM down
    agent = cql.CounterfactualQLearningAgent if counterfactual else ql.QLearningAgent
    return agent(peer_product(), epsilon=0.01, learning_rate=0.01, discount_factor=0.99)


def peer_product() -> LetterProduct:
    """The environment with PyCRM's labels and machine."""
    return LetterProduct(
        ground_env=LetterWorld(), machine=LetterMachine(Letter), lf=Letters(), max_steps=300
    )


class LetterWorld(gymnasium.Env[Any, int]):
    """The grid. Observations: whether A has turned into B (0 or 1), the row and the column.

    >>> world = LetterWorld()
    >>> world.reset(seed=0)[0].tolist(), world.step(2)[0].tolist()
    ([0, 1, 3], [0, 1, 2])
    """

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.MultiDiscrete([2, ROWS, COLUMNS])
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))  # type: ignore[assignment]
        self._turned, self._row, self._column = 0, *START

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._turned, self._row, self._column = 0, *START
        return np.array([0, *START]), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        down, right = MOVES[action]
        row, column = (
            min(max(self._row + down, 0), ROWS - 1),
            min(max(self._column + right, 0), COLUMNS - 1),
        )
        entered = (row, column) != (self._row, self._column)
        if entered and (row, column) == SHOWS_A and not self._turned:
            self._turned = int(self.np_random.random() < 0.5)
        self._row, self._column = row, column
        return np.array([self._turned, row, column]), 0.0, False, False, {}


class Letters(LabellingFunction):  # type: ignore[misc]
    """The letter on the entered cell, as shown before the step."""

    @LabellingFunction.event  # type: ignore[untyped-decorator]
    def letter_a(self, before: Any, _action: int, after: Any) -> Enum | None:
        return Letter.A if _entered(before, after, SHOWS_A) and before[0] == 0 else None

    @LabellingFunction.event  # type: ignore[untyped-decorator]
    def letter_b(self, before: Any, _action: int, after: Any) -> Enum | None:
        return Letter.B if _entered(before, after, SHOWS_A) and before[0] == 1 else None

    @LabellingFunction.event  # type: ignore[untyped-decorator]
    def letter_c(self, before: Any, _action: int, after: Any) -> Enum | None:
        return Letter.C if _entered(before, after, SHOWS_C) else None


def _entered(before: Any, after: Any, cell: tuple[int, int]) -> Any:
    return (
        after[1] == cell[0]
        and after[2] == cell[1]
        and (before[1] != after[1] or before[2] != after[2])
    )


class LetterMachine(CountingRewardMachine):  # type: ignore[misc]
    """Count the As. After B, C once more often."""

    u_0, c_0 = 0, (0,)

    def _get_state_transition_function(self) -> dict[int, dict[str, int]]:
        return {
            state: {when: rule[0] for when, rule in leaving.items()}
            for state, leaving in RULES.items()
        }

    def _get_counter_transition_function(self) -> dict[int, dict[str, tuple[int]]]:
        return {
            state: {when: (rule[1],) for when, rule in leaving.items()}
            for state, leaving in RULES.items()
        }

    def _get_reward_transition_function(self) -> dict[int, dict[str, float]]:
        return {
            state: {when: rule[2] for when, rule in leaving.items()}
            for state, leaving in RULES.items()
        }

    def sample_counter_configurations(self) -> list[tuple[int]]:
        return [(value,) for value in range(LISTED)]


class LetterProduct(CrossProduct):  # type: ignore[misc]
    """A flat observation, as in PyCRM's example: the grid's three numbers, the machine state and
    the counter."""

    observation_space = gymnasium.spaces.Box(0, 300, (5,), np.int32)
    action_space = gymnasium.spaces.Discrete(len(MOVES))

    def _get_obs(self, ground: Any, u: int, c: tuple[int, ...]) -> Any:
        return np.array([ground[0], ground[1], ground[2], u, c[0]], dtype=np.int32)

    def to_ground_obs(self, obs: Any) -> Any:
        return obs[:3]
