"""The options of a machine as arrays, the settings as numbers, and where a hierarchical run stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.hierarchical_settings import Hierarchical
from pdrm.learning.tabular.options.rules import is_achieved, options_of, reward_for_achieving
from pdrm.learning.tabular.progress import Progress
from pdrm.machines.guard import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.table import Integers

# Positions in `Progress.whole` and `Progress.real` beyond those that every tabular run has.
OPTION, META_ROW = (len(Progress.new(0.0).whole) + place for place in range(2))
COLLECTED, WEIGHT = (len(Progress.new(0.0).real) + place for place in range(2))

NO_OPTION = -1
"""No option is running: the meta-policy chooses next."""


class Options(NamedTuple):
    """The options of each machine state, and which of them each label achieves.

    >>> from pdrm.machines.catalogue import catalogue
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
    whole[OPTION], real[at.EPSILON] = NO_OPTION, epsilon
    return Progress(whole, real)
