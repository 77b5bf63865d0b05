"""Where a training run stands, as arrays that a kernel leaves at any point and takes up again at the very same one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.machines.table import Rewards

# Positions in `Progress.whole`.
EPISODE, STEP, STATE, CONFIGURATION, ROW, PHASE, ACTION, OUTCOME, START = range(9)
LEFT, MACHINE, ENTRY, UPDATES, ALL_STEPS, ALL_UPDATES, OPERATIONS, ALL_OPERATIONS = range(9, 17)
OWN_ENTRY, LOOK, LATE = range(17, 20)
# Positions in `Progress.real`.
EPSILON, GAINED, LAST_RETURN = range(3)

# Phases of a step: what is to be done next.
BEGIN, ENTER, CHOOSE, ACT, IMAGINE = range(5)

# Lists of observed stacks (`Rates.mode`).
PLAIN, ONE_LIST, CO_OBSERVED = range(3)

NO_CONFIGURATION = -1
"""No room for a configuration (`pdrm.product.kernels.NO_ROOM`)."""

# How a kernel ends: DONE, CLOCK, or the negative of what `pdrm.product.kernels.explore` answers.
DONE = 0
NO_ROOM = 1
"""A table is full: make room and call again."""
UNDEFINED = 2
"""The machine has no rule for a label, and says `otherwise error`."""
UNEXPLORED = 3
"""A counting automaton's step is to be made: call `Counters.find` and call again."""
CLOCK = 4
"""So many updates were made that it is time to look at the clock (see `episode_clock.py`); then call again."""

NEVER = 2**62
"""More updates than there will ever be."""


class Progress(NamedTuple):
    """The whole and the real numbers of a run's state.

    >>> Progress.new(epsilon=0.5).real.tolist()
    [0.5, 0.0, 0.0]
    """

    whole: npt.NDArray[np.int64]
    """[20]: the episode, the step in it, the environment state, the configuration, ... (see the positions above). OWN_ENTRY is
    the list's entry that stands for the present stack; LOOK the updates after which to look at the clock (0: never), LATE
    whether the episode's time is over."""
    real: Rewards
    """[3]: ε, the return of the episode so far, and that of the last whole episode."""

    @classmethod
    def new(cls, epsilon: float) -> Progress:
        """Before the first episode."""
        real = np.zeros(3)
        real[EPSILON] = epsilon
        return cls(np.zeros(LATE + 1, np.int64), real)


class Rates(NamedTuple):
    """The settings as numbers."""

    alpha: float
    gamma: float
    decay: float
    least: float
    limit: int
    mode: int
    """PLAIN: no counterfactuals; ONE_LIST of stacks; CO_OBSERVED: one for each environment state."""
    depth: int
    """Symbols by which stacks are classed, or -1: every stack is its own class."""
    budget: int
    """Counterfactual updates a step, or 0: all."""
    episode_budget: int
    """Updates an episode, or 0: no limit."""
    operations: int
    """Moves of a counting automaton an episode, or 0: no limit."""
