"""What a learner's kernel is handed beside its tables: where the run stands, its settings as numbers, its options as arrays.

A kernel leaves `Progress` at any point of an episode and takes it up again at the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UndefinedMove
from pdrm.learning.agents import Counterfactuals, Hierarchical, QLearning
from pdrm.learning.tabular.hierarchical import is_achieved, options_in_play, shortest_with
from pdrm.learning.tabular.memory import AnyMemory, class_depth
from pdrm.machines.guards import Label
from pdrm.machines.heads import Head
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.views import View

# Positions in `Progress.ints`; the last two are the hierarchical agent's.
EPISODE, STEP, STATE, CONFIGURATION, ROW, PHASE, ACTION, OUTCOME, START = range(9)
LEFT, MACHINE, ENTRY, UPDATES, ALL_STEPS, ALL_UPDATES, OPERATIONS, ALL_OPERATIONS = range(9, 17)
OWN_ENTRY, LOOK, LATE, OPTION, META_ROW = range(17, 22)
# Positions in `Progress.floats`; the last two are the hierarchical agent's.
EPSILON, GAINED, LAST_RETURN, COLLECTED, WEIGHT = range(5)

# Phases of a step: what is to be done next.
BEGIN, ENTER, CHOOSE, ACT, IMAGINE = range(5)

# Lists of observed stacks (`Rates.mode`).
PLAIN, ONE_LIST, CO_OBSERVED = range(3)

# How a kernel ends: DONE, CLOCK, or the negative of what `pdrm.product.explore_kernel.explore` answers.
DONE = 0
NO_ROOM = 1
"""A table is full: make room and call again."""
UNDEFINED = 2
"""The machine has no rule for a label, and says `otherwise error`."""
UNEXPLORED = 3
"""A counting automaton's step is to be made: call `Counters.find` and call again."""
CLOCK = 4
"""So many updates were made that it is time to look at the clock (`EpisodeClock`); then call again."""

NO_CONFIGURATION = -1
"""No room for a configuration (`pdrm.product.explore_kernel.NO_ROOM`)."""
NO_OPTION = -1
"""No option is running: the meta-policy chooses next."""
NEVER = 2**62
"""More updates than there will ever be."""


class Progress(NamedTuple):
    """The integers and floats of a run's state.

    >>> Progress.new(epsilon=0.5).floats.tolist()
    [0.5, 0.0, 0.0]
    """

    ints: npt.NDArray[np.int64]
    """[20 or 22]: the episode, the step in it, the environment state, the configuration, ... (see the positions above).
    OWN_ENTRY is the list's entry that stands for the present stack; LOOK the updates after which to look at the clock
    (0: never), LATE whether the episode's time is over."""
    floats: Rewards
    """[3 or 5]: ε, the return of the episode so far, that of the last finished episode; then what the running option has been
    paid, discounted, and the weight of its next reward."""

    @classmethod
    def new(cls, epsilon: float, *, options: bool = False) -> Progress:
        """Before the first episode, no option running. options: for the hierarchical agent."""
        ints, floats = np.zeros(LATE + 1, np.int64), np.zeros(LAST_RETURN + 1)
        floats[EPSILON] = epsilon
        if options:
            ints, floats = np.append(ints, [NO_OPTION, 0]), np.append(floats, [0.0, 0.0])
        return cls(ints, floats)


class Rates(NamedTuple):
    """The settings of Q-learning and CpRM as numbers."""

    alpha: float
    gamma: float
    decay: float
    least: float
    limit: int
    mode: int  # PLAIN: no counterfactuals; ONE_LIST of stacks; CO_OBSERVED: one for each environment state
    depth: int  # symbols by which stacks are classed, or -1: every stack is its own class
    budget: int  # counterfactual updates per step, or 0: all
    episode_budget: int  # updates per episode, or 0: no limit
    operations: int  # moves of a counting automaton per episode, or 0: no limit
    first_tie: (
        bool  # of several best actions the first is taken, not a random one, unless all are worth 0
    )
    limit_ends: bool  # an episode that the limit cuts off is learnt as one that has ended


class HierarchicalRates(NamedTuple):
    """The settings of the hierarchical agent as numbers."""

    alpha: float
    gamma: float
    decay: float
    least: float
    limit: int
    r_plus: float
    r_minus: float


MODES = {Counterfactuals.NONE: PLAIN}


def q_rates(settings: QLearning, domain: FiniteDomain, machine: AnyMemory, view: View) -> Rates:
    """The settings as numbers for `q_kernel`."""
    return Rates(
        *_shared_rates(settings, domain),
        MODES.get(settings.counterfactuals, ONE_LIST),
        class_depth(machine, view, settings.counterfactuals),
        settings.updates_per_step or 0,
        settings.updates_per_episode or 0,
        settings.operations_per_episode or 0,
        settings.ties == "first",
        settings.limit_ends,
    )


def hierarchical_rates(settings: Hierarchical, domain: FiniteDomain) -> HierarchicalRates:
    """The settings as numbers for `options_kernel`."""
    return HierarchicalRates(
        *_shared_rates(settings, domain), float(settings.r_plus), float(settings.r_minus)
    )


def _shared_rates(
    settings: QLearning | Hierarchical, domain: FiniteDomain
) -> tuple[float, float, float, float, int]:
    return (
        float(settings.learning_rate),
        float(settings.discount),
        float(settings.epsilon_decay),
        float(settings.epsilon_least),
        settings.step_limit or domain.step_limit,
    )


STAYS, MOVES, NOT_DEFINED = 0, 1, -1
"""What the machine does on a label (`Options.moved`)."""


class Options(NamedTuple):
    """The options of each machine state, the heads at which they learn, and what each label does there.

    >>> from pdrm.language.loading import catalogue
    >>> heads = [Head("u0", "#"), Head("u1", "#"), Head("u1", "A")]
    >>> options = tabulate_options(catalogue("letter"), [frozenset("B"), frozenset("C")], heads)
    >>> options.counts.tolist(), options.ruled.tolist(), options.achieved[1, 1, 1].tolist()
    ([2, 2, 0], [True, True, False], [False, True])
    >>> options.moved[1, 1].tolist(), options.paid[1, 1].tolist()
    ([-1, 1, 1], [0.0, 1.0, -0.01])
    """

    counts: Integers
    """[state]: how many options leave it; 0 for final states."""
    ruled: npt.NDArray[np.bool_]
    """[state]: whether they have rules; False where one option without a rule stands in."""
    achieved: npt.NDArray[np.bool_]
    """[state, label, top, option]: whether the label achieves the option; tops as in `Table`, 0 for the empty stack."""
    head_state: Integers
    """[head]: its machine state."""
    head_top: Integers
    """[head]: its top symbol."""
    head: Integers
    """[state, top]: the number of a head, or -1."""
    moved: Integers
    """[state, label, top]: STAYS or MOVES, from the shortest stack with that top; NOT_DEFINED, too, where there is no head."""
    paid: Rewards
    """[state, label, top]: what the machine pays for it."""


def tabulate_options(
    machine: PushdownRewardMachine, labels: Sequence[Label], heads: Sequence[Head]
) -> Options:
    """The options of a machine for these labels and heads; states, labels and symbols are numbered as by `tabulate`."""
    leaving = list(options_in_play(machine, heads).values())
    counts = np.array([len(options) for options in leaving] + [0] * len(machine.final), np.int32)
    ruled = np.array(
        [options[0] is not None for options in leaving] + [False] * len(machine.final), np.bool_
    )
    tops: dict[str | None, int] = {top: place for place, top in enumerate((None, *machine.stack))}
    achieved = np.zeros((len(counts), len(labels), len(tops), int(counts.max())), np.bool_)
    number, moved = (
        np.full((len(counts), len(tops)), -1, np.int32),
        np.full(achieved.shape[:3], NOT_DEFINED, np.int32),
    )
    paid = np.zeros(moved.shape)
    for place, head in enumerate(heads):
        state, top, before = (
            machine.states.index(head.state),
            tops[head.top],
            shortest_with(machine, head),
        )
        number[state, top] = place
        for column, label in enumerate(labels):
            achieved[state, column, top, : counts[state]] = [
                is_achieved(machine, option, label, head.top) for option in leaving[state]
            ]
            with suppress(UndefinedMove):
                step = machine.step(before, label)
                moved[state, column, top] = MOVES if step.after != before else STAYS
                paid[state, column, top] = step.reward
    states = np.array([machine.states.index(head.state) for head in heads], np.int32)
    symbols = np.array([tops[head.top] for head in heads], np.int32)
    return Options(counts, ruled, achieved, states, symbols, number, moved, paid)
