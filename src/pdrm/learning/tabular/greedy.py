"""Acting greedily with a trained policy, ties broken at random: with a plain one step by step, with a hierarchical one
option by option."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdrm.learning.tabular.hierarchical_policy import HierarchicalPolicy
from pdrm.learning.tabular.options.rules import is_achieved, options_of
from pdrm.learning.tabular.policies import AnyPolicy
from pdrm.learning.tabular.policy import Policy
from pdrm.learning.tabular.reading import AnyMemory
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guard import Label
from pdrm.machines.pushdown import PushdownRewardMachine


def best(values: npt.NDArray[np.float64], chance: np.random.Generator) -> int:
    """A choice of highest value, at random among several.

    >>> best(np.array([0.0, 2.0, 1.0]), np.random.default_rng(0))
    1
    """
    return int(chance.choice(np.flatnonzero(values == values.max())))


class Greedy:
    """Acts with a plain policy."""

    option: str | None = None
    """It follows none."""

    def __init__(self, policy: Policy, machine: AnyMemory) -> None:
        self._policy, self._counts = policy, isinstance(machine, CountingRewardAutomaton)

    def choose(self, s: int, here: Configuration, chance: np.random.Generator) -> int:
        """The action there."""
        memory = tuple(map(int, here.stack)) if self._counts else here.stack
        return best(self._policy.values(s, here.state, memory), chance)

    def moved(self, here: Configuration, label: Label, there: Configuration) -> None:
        """Nothing is kept from step to step."""


class GreedyWithOptions:
    """Acts with a hierarchical policy: follows an option until it is achieved or the machine moves."""

    def __init__(self, policy: HierarchicalPolicy, machine: PushdownRewardMachine) -> None:
        self._policy, self._machine = policy, machine
        self._option: int | None = None
        self.option: str | None = None
        """The rule that the option of the last action brings about, as text."""

    def choose(self, s: int, here: Configuration, chance: np.random.Generator) -> int:
        """The action there, for the option under way or a new one."""
        if self._option is None:
            self._option = best(self._policy.option_values(s, here.state, here.stack), chance)
            self.option = self._policy.options[here.state][self._option]
        return best(self._policy.values(s, here.state, here.stack, self._option), chance)

    def moved(self, here: Configuration, label: Label, there: Configuration) -> None:
        """Note a step: it may end the option."""
        if self._option is not None:
            rule = options_of(self._machine, here.state)[self._option]
            if there != here or is_achieved(self._machine, rule, label, here.top):
                self._option = None


def player(policy: AnyPolicy, machine: AnyMemory) -> Greedy | GreedyWithOptions:
    """What acts with a policy, at the start of an episode."""
    if isinstance(policy, Policy):
        return Greedy(policy, machine)
    if not isinstance(machine, PushdownRewardMachine):
        raise TypeError("options are the rules of a pushdown machine")
    return GreedyWithOptions(policy, machine)
