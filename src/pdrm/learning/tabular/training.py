"""Training runs: a learner's tables, generators and progress, kept so that a run can stop and go on at any episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadSetting
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.arguments import check_domain, check_episodes, check_machine, check_settings, check_view
from pdrm.learning.tabular.episode_clock import EpisodeClock
from pdrm.learning.tabular.observed_stacks import class_depth
from pdrm.learning.tabular.progress import Progress, Rates
from pdrm.learning.tabular.randomness import State, streams
from pdrm.learning.tabular.reading import AnyMemory
from pdrm.learning.tabular.settings import Counterfactuals, QLearning
from pdrm.learning.tabular.tables import Observed, Values, compile_growth
from pdrm.learning.tabular.until_done import until_done
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
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
    def room(cls, episode: int, count: int) -> Test:
        """Room for so many episodes."""
        return cls(episode, np.zeros(count), np.zeros(count, np.int32), np.zeros(count, np.int32))

    @classmethod
    def joined(cls, parts: Sequence[Test]) -> Test:
        """Tests in several domains as one."""
        columns = ([getattr(part, name) for part in parts] for name in ("returns", "steps", "ends"))
        return cls(parts[0].episode, *(np.concatenate(column) for column in columns))


@dataclass(slots=True)
class Training:
    """One run of Q-learning or CpRM, advanced by `advance` and judged by `test`.

    >>> import pdrm
    >>> maze = pdrm.domain("maze-5x5")
    >>> training = Training(maze, pdrm.catalogue(maze.machine), pdrm.TopK(1), QLearning(counterfactuals="deduplicated"), seed=0)
    >>> training.advance(1_000)
    >>> training.episodes, float(training.test().returns.mean())
    (1000, 100005.0)
    """

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
    clock: EpisodeClock = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_domain(self.domain)
        check_machine(self.machine, PushdownRewardMachine, CountingRewardAutomaton)
        check_view(self.view)
        check_settings(self.settings, QLearning)
        states = self.domain.states
        mode = LISTS[self.settings.counterfactuals]
        if isinstance(self.machine, CountingRewardAutomaton):
            if not isinstance(self.view, FullStack):
                raise BadSetting("a policy over counters sees all of them", fix="use FullStack() (--k full)")
            self.counters = Counters(self.machine, self.domain.labels, self.settings.operations_per_episode)
            self.explored = self.counters.explored()
        else:
            self.explored = Explored.new(tabulate(self.machine, self.domain.labels), self.view, states)
        self.values = Values.room(len(self.domain.actions))
        self.observed = Observed.room(states if mode == at.CO_OBSERVED else 1)
        self.progress = Progress.new(self.settings.epsilon)
        self.chances = streams(self.seed, 2)
        self.rates = _rates(self, mode)
        self.clock = EpisodeClock(self.settings.seconds_per_episode)

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return int(self.progress.whole[at.EPISODE])

    def advance(self, until: int) -> None:
        """Train up to so many episodes in all."""
        check_episodes(until)
        if self.clock.seconds is not None:
            self._compile()
        for goal in self.clock.goals(self.progress, until):
            until_done(self, partial(self._learn, goal))

    def test(self, domain: FiniteDomain | None = None) -> Test:
        """Greedy episodes in this domain, or in another that shares its states, actions and labels."""
        where, test = self.domain if domain is None else domain, Test.room(self.episodes, self.settings.test_episodes)
        self.domain.check_shares(where)
        until_done(self, partial(self._test, where, test))
        return test

    def _learn(self, until: int) -> int:
        """Call the learning kernel once."""
        from pdrm.learning.tabular.kernels import learn  # noqa: PLC0415 - Numba is loaded when something is learnt

        tables = (self.domain.arrays, self.explored, self.values, self.observed)
        return learn(*tables, self.chances[:1], self.rates, self.progress, until)

    def _test(self, where: FiniteDomain, test: Test) -> int:
        """Call the testing kernel once."""
        from pdrm.learning.tabular.testing.kernels import test as play  # noqa: PLC0415

        limit, tables = self.settings.step_limit or where.step_limit, (where.arrays, self.explored, self.values)
        results = (test.returns, test.steps, test.ends)
        return play(*tables, self.chances[1:], limit, self.rates.operations, *results)

    def _compile(self) -> None:
        """Have everything compiled before a clock runs."""
        compile_growth()
        self._learn(self.episodes)
        if isinstance(self.machine, CountingRewardAutomaton):
            counters = Counters(self.machine, self.domain.labels, self.settings.operations_per_episode)
            counters.find(counters.explored())


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
