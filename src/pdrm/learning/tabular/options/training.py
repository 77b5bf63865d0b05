"""Training runs of the hierarchical agent, with the surface of `Training`: they stop and go on at any episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.arguments import check_domain, check_episodes, check_machine, check_settings, check_view
from pdrm.learning.tabular.episode_clock import EpisodeClock
from pdrm.learning.tabular.hierarchical_settings import Hierarchical
from pdrm.learning.tabular.options.tables import HierarchicalRates, Options, new_progress, rates_of, tabulate_options
from pdrm.learning.tabular.progress import Progress
from pdrm.learning.tabular.randomness import State, streams
from pdrm.learning.tabular.tables import Values, compile_growth
from pdrm.learning.tabular.training import Test
from pdrm.learning.tabular.until_done import until_done
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.table import tabulate
from pdrm.product.configurations import Explored
from pdrm.product.view import View


@dataclass(slots=True)
class HierarchicalTraining:
    """One run of the hierarchical method, advanced by `advance` and judged by `test`.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> from pdrm.product.view import TopK
    >>> training = HierarchicalTraining(domain("deliver-8"), catalogue("deliver"), TopK(1), Hierarchical(), seed=0)
    >>> training.advance(3)
    >>> training.episodes, training.test().returns.shape
    (3, (10,))
    """

    domain: FiniteDomain
    machine: PushdownRewardMachine
    view: View
    settings: Hierarchical
    seed: int
    explored: Explored = field(init=False, repr=False)
    options: Options = field(init=False, repr=False)
    """The options of each machine state; fixed."""
    values: Values = field(init=False, repr=False)
    """The meta-policy's: a row for each (s, u, view), a column an option of u."""
    policies: Values = field(init=False, repr=False)
    """The options' policies': a row for each (s, u, top), one column an action for each option of u, option by option.
    The key of a row: ((top symbol) * machine states + machine state) * environment states + environment state."""
    progress: Progress = field(init=False, repr=False)
    chances: State = field(init=False, repr=False)
    rates: HierarchicalRates = field(init=False, repr=False)
    clock: EpisodeClock = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_domain(self.domain)
        check_machine(self.machine, PushdownRewardMachine)
        check_view(self.view)
        check_settings(self.settings, Hierarchical)
        self.explored = Explored.new(tabulate(self.machine, self.domain.labels), self.view, self.domain.states)
        self.options = tabulate_options(self.machine, self.domain.labels)
        most = self.options.achieved.shape[3]
        self.values, self.policies = Values.room(most), Values.room(most * len(self.domain.actions))
        self.progress = new_progress(self.settings.epsilon)
        self.chances = streams(self.seed, 2)
        self.rates = rates_of(self.settings, self.domain, self.machine)
        self.clock = EpisodeClock(self.settings.seconds_per_episode)

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return int(self.progress.whole[at.EPISODE])

    def advance(self, until: int) -> None:
        """Train up to so many episodes in all."""
        check_episodes(until)
        if self.clock.seconds is not None:  # everything is compiled before the clock runs
            compile_growth()
            self._learn(self.episodes)
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
        from pdrm.learning.tabular.options.kernels import learn  # noqa: PLC0415 - Numba is loaded when something is learnt

        tables = (self.domain.arrays, self.explored, self.options, self.values, self.policies)
        return learn(*tables, self.chances[:1], self.rates, self.progress, until)

    def _test(self, where: FiniteDomain, test: Test) -> int:
        """Call the testing kernel once."""
        from pdrm.learning.tabular.options.testing.kernels import test as play  # noqa: PLC0415 - the same

        limit, results = self.settings.step_limit or where.step_limit, (test.returns, test.steps, test.ends)
        tables = (where.arrays, self.explored, self.options, self.values, self.policies)
        return play(*tables, self.chances[1:], limit, *results)
