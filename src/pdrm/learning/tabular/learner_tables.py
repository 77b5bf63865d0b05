"""Where a training run stands, as arrays that a kernel leaves at any point and takes up again; options as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.learning.tabular.hierarchical import is_achieved, options_of, reward_for_achieving
from pdrm.learning.tabular.settings import Hierarchical
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards

# --- Where a training run stands, as arrays that a kernel leaves at any point and takes up again at the very same one.

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
"""No room for a configuration (`pdrm.product.explore_kernel.NO_ROOM`)."""

# How a kernel ends: DONE, CLOCK, or the negative of what `pdrm.product.explore_kernel.explore` answers.
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


# --- The options of a machine as arrays, the settings as numbers, and where a hierarchical run stands.

# Positions in `Progress.whole` and `Progress.real` beyond those that every tabular run has.
OPTION, META_ROW = (len(Progress.new(0.0).whole) + place for place in range(2))
COLLECTED, WEIGHT = (len(Progress.new(0.0).real) + place for place in range(2))

NO_OPTION = -1
"""No option is running: the meta-policy chooses next."""


class Options(NamedTuple):
    """The options of each machine state, and which of them each label achieves.

    >>> from pdrm.language.loading import catalogue
    >>> options = tabulate_options(catalogue("letter"), [frozenset("B"), frozenset("C")])
    >>> options.counts.tolist(), options.ruled.tolist(), options.achieved[1, 1, 1].tolist()
    ([2, 2, 0], [True, True, False], [False, True])
    """

    counts: Integers
    """[state]: how many options leave it; 0 for final states."""
    ruled: npt.NDArray[np.bool_]
    """[state]: whether they have rules; False where one option without a rule stands in."""
    achieved: npt.NDArray[np.bool_]
    """[state, label, top, option]: whether the label achieves the option; tops as in `Table`, 0 for the empty stack."""


class HierarchicalRates(NamedTuple):
    """The settings as numbers."""

    alpha: float
    gamma: float
    decay: float
    least: float
    limit: int
    r_plus: float
    r_minus: float


def tabulate_options(machine: PushdownRewardMachine, labels: Sequence[Label]) -> Options:
    """The options of a machine for these labels; states, labels and symbols are numbered as by `tabulate`."""
    leaving = [options_of(machine, state) for state in machine.states]
    counts = np.array([len(options) for options in leaving] + [0] * len(machine.final), np.int32)
    ruled = np.array([options[0] is not None for options in leaving] + [False] * len(machine.final), np.bool_)
    tops = (None, *machine.stack)
    achieved = np.zeros((len(counts), len(labels), len(tops), int(counts.max())), np.bool_)
    for state, options in enumerate(leaving):
        for column, label in enumerate(labels):
            for position, top in enumerate(tops):
                achieved[state, column, position, : len(options)] = [
                    is_achieved(machine, option, label, top) for option in options
                ]
    return Options(counts, ruled, achieved)


def rates_of(settings: Hierarchical, domain: FiniteDomain, machine: PushdownRewardMachine) -> HierarchicalRates:
    """The settings as numbers for the kernel."""
    return HierarchicalRates(
        float(settings.learning_rate),
        float(settings.discount),
        float(settings.epsilon_decay),
        float(settings.epsilon_least),
        settings.step_limit or domain.step_limit,
        reward_for_achieving(settings, domain, machine),
        float(settings.r_minus),
    )


def new_progress(epsilon: float) -> Progress:
    """Before the first episode, no option running."""
    whole, real = np.zeros(META_ROW + 1, np.int64), np.zeros(WEIGHT + 1)
    whole[OPTION], real[EPSILON] = NO_OPTION, epsilon
    return Progress(whole, real)
