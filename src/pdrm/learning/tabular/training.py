"""Training runs: a learner's tables, generators and progress, kept so that a run can stop and go on at any episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadSetting, UndefinedMove
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.observed_stacks import class_depth
from pdrm.learning.tabular.progress import Progress, Rates
from pdrm.learning.tabular.randomness import State, streams
from pdrm.learning.tabular.reading import AnyMemory
from pdrm.learning.tabular.settings import Counterfactuals, QLearning
from pdrm.learning.tabular.tables import Observed, Values
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.table import Integers, Rewards, tabulate
from pdrm.product.configurations import Explored
from pdrm.product.counters import Counters
from pdrm.product.view import FullStack, View

LISTS = {
    Counterfactuals.NONE: at.PLAIN,
    Counterfactuals.EXHAUSTIVE: at.ONE_LIST,
    Counterfactuals.DEDUPLICATED: at.ONE_LIST,
    Counterfactuals.CO_OBSERVED: at.CO_OBSERVED,
}


@dataclass(frozen=True, slots=True)
class Test:
    """What the greedy episodes of one test paid, how long they were, and in which machine state they ended."""

    episode: int
    """Training episodes before it."""
    returns: Rewards
    steps: Integers
    ends: Integers

    @classmethod
    def joined(cls, parts: Sequence[Test]) -> Test:
        """Tests in several domains as one."""
        columns = ([getattr(part, name) for part in parts] for name in ("returns", "steps", "ends"))
        return cls(parts[0].episode, *(np.concatenate(column) for column in columns))


@dataclass(slots=True)
class Training:
    """One run of Q-learning or CpRM, advanced by `advance` and judged by `test`."""

    domain: FiniteDomain
    machine: AnyMemory
    view: View
    settings: QLearning
    seed: int
    explored: Explored = field(init=False, repr=False)
    counters: Counters | None = field(init=False, repr=False, default=None)
    """Makes the steps of a counting automaton, which sees all of its counters: the view is FullStack()."""
    values: Values = field(init=False, repr=False)
    observed: Observed = field(init=False, repr=False)
    progress: Progress = field(init=False, repr=False)
    chances: State = field(init=False, repr=False)
    rates: Rates = field(init=False, repr=False)

    def __post_init__(self) -> None:
        states = self.domain.states
        mode = LISTS[self.settings.counterfactuals]
        if isinstance(self.machine, CountingRewardAutomaton):
            if not isinstance(self.view, FullStack):
                raise BadSetting("a policy over counters sees all of them", fix="use FullStack()")
            self.counters = Counters(self.machine, self.domain.labels, self.settings.operations_per_episode)
            self.explored = self.counters.explored()
        else:
            self.explored = Explored.new(tabulate(self.machine, self.domain.labels), self.view, states)
        self.values = Values.room(len(self.domain.actions))
        self.observed = Observed.room(states if mode == at.CO_OBSERVED else 1)
        self.progress = Progress.new(self.settings.epsilon)
        self.chances = streams(self.seed, 2)
        self.rates = _rates(self, mode)

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return int(self.progress.whole[at.EPISODE])

    def advance(self, until: int) -> None:
        """Train up to so many episodes in all."""
        from pdrm.learning.tabular.kernels import learn  # noqa: PLC0415 - Numba is loaded when something is learnt

        status = at.NO_ROOM
        while status != at.DONE:
            status = learn(
                self.domain.arrays,
                self.explored,
                self.values,
                self.observed,
                self.chances[:1],
                self.rates,
                self.progress,
                until,
            )
            self._after(status)

    def test(self, domain: FiniteDomain | None = None) -> Test:
        """Greedy episodes in this domain, or in another that shares its states, actions and labels."""
        from pdrm.learning.tabular.testing.kernels import test  # noqa: PLC0415

        count = self.settings.test_episodes
        returns, (steps, ends) = np.zeros(count), np.zeros((2, count), np.int32)
        where = self.domain if domain is None else domain
        status = at.NO_ROOM
        while status != at.DONE:
            limit = self.settings.step_limit or where.step_limit
            status = test(
                where.arrays,
                self.explored,
                self.values,
                self.chances[1:],
                limit,
                self.rates.operations,
                returns,
                steps,
                ends,
            )
            self._after(status)
        return Test(self.episodes, returns, steps, ends)

    def _after(self, status: int) -> None:
        """Make room where there is none, a counting automaton's step where one is wanted; complain where there is no rule."""
        if status == at.NO_ROOM:
            self.explored, self.values, self.observed = (
                self.explored.grown(),
                self.values.grown(),
                self.observed.grown(),
            )
        elif status == at.UNEXPLORED and self.counters is not None:
            self.explored = self.counters.find(self.explored)
        elif status == at.UNDEFINED:
            raise label_without_rule(self.domain.name, self.machine.name)


def label_without_rule(domain: str, machine: str) -> UndefinedMove:
    """The error of a machine that says `otherwise error` in a domain that it does not cover."""
    return UndefinedMove(
        f"domain `{domain}` emits a label that machine `{machine}` has no rule for",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases",
    )


def _rates(training: Training, mode: int) -> Rates:
    """The settings as numbers for the kernel."""
    settings = training.settings
    return Rates(
        float(settings.learning_rate),
        float(settings.discount),
        float(settings.epsilon_decay),
        float(settings.epsilon_least),
        settings.step_limit or training.domain.step_limit,
        mode,
        class_depth(training.machine, training.view, settings.counterfactuals),
        settings.updates_per_step or 0,
        settings.updates_per_episode or 0,
        settings.operations_per_episode or 0,
    )
