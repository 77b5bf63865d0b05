"""Tabular training runs: a learner's tables, random generators and progress, kept so that a run can stop and go on at any episode.

`QTraining` is Q-learning and CpRM, `HierarchicalTraining` the hierarchical method. Both hand their arrays to a kernel
(`q_kernel.py`, `options_kernel.py`), which comes back when it is done or when it needs something: room in a table, a counting
automaton's step, a look at the clock. It gets that and goes on where it stopped.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UndefinedMove
from pdrm.learning.agents import Hierarchical, QLearning
from pdrm.learning.curve import Test
from pdrm.learning.randomness import RngState, seed_streams
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular import options_kernel, q_kernel
from pdrm.learning.tabular.hierarchical import acting_heads
from pdrm.learning.tabular.learner_tables import (
    HierarchicalRates,
    Options,
    Progress,
    Rates,
    hierarchical_rates,
    q_rates,
    tabulate_options,
)
from pdrm.learning.tabular.memory import AnyMemory, first_vectors
from pdrm.learning.tabular.outlook_kernel import Outlook
from pdrm.learning.tabular.q_learning import find_potential
from pdrm.learning.tabular.rows_kernel import Observed, Values, compile_growth, find_row, note
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards, tabulate
from pdrm.product.counters import Counters, Vector
from pdrm.product.exploration import Explored, Potentials
from pdrm.product.hash_kernel import FREE
from pdrm.product.views import FullStack, TopK, View
from pdrm.task import largest_reward, suggest_domain

EVERY = 10_000
"""Updates between two looks at the clock: a fraction of a millisecond."""
LARGEST_REWARD = 1e150
"""The largest reward that is learnt from: sums of as many as there will ever be are numbers."""
Results = tuple[Rewards, Integers, Integers]
"""Returns, steps and last machine states of test episodes, for a kernel to fill."""


class EpisodeClock:
    """The paper's wall-clock limit: says when an episode is late. Without a limit it never is, and the clock is not read.

    Kernels have no clock: they come back every so many updates, and the clock is read then. Results under a limit depend on
    the computer.

    >>> times = iter([0.0, 0.02, 0.04])
    >>> clock, progress = EpisodeClock(0.03, lambda: next(times)), Progress.new(0.1)
    >>> for _ in clock.goals(progress, until=1):
    ...     for _ in range(2):
    ...         clock.look(progress)
    ...         print(bool(progress.ints[at.LATE]))
    False
    True
    """

    def __init__(
        self,
        seconds: float | None,
        now: Callable[[], float] = time.perf_counter,
        every: int = EVERY,
    ) -> None:
        self.seconds, self._now, self._every = seconds, now, every
        self._began = 0.0

    def goals(self, progress: Progress, until: int) -> Iterator[int]:
        """The episodes to train up to: one after the other where each is timed, else all at once."""
        if self.seconds is None:
            yield until
            return
        for episode in range(int(progress.ints[at.EPISODE]), until):
            progress.ints[[at.UPDATES, at.LATE, at.LOOK]] = 0, 0, self._every
            self._began = self._now()
            yield episode + 1

    def look(self, progress: Progress) -> None:
        """Note whether the episode is late, and when to look again."""
        if self.seconds is not None:
            late = self._now() - self._began > self.seconds
            progress.ints[at.LATE] = late
            progress.ints[at.LOOK] = 0 if late else progress.ints[at.UPDATES] + self._every


@dataclass(slots=True)
class TabularTraining(ABC):
    """What the two kinds of run share. Each makes the tables of its learner and calls the learner's two kernels."""

    domain: FiniteDomain
    machine: AnyMemory
    view: View
    settings: QLearning | Hierarchical
    seed: int
    explored: Explored = field(init=False, repr=False)
    """The stacks and configurations met so far."""
    counters: Counters | None = field(init=False, repr=False, default=None)
    """Makes the steps of a counting automaton, which sees all of its counters: the view is FullStack()."""
    values: Values = field(init=False, repr=False)
    """The table of q: a row per (s, u, view). Of the hierarchical agent, the meta-policy's."""
    progress: Progress = field(init=False, repr=False)
    rng_state: RngState = field(init=False, repr=False)
    """[2]: the generator of training, and that of tests."""
    clock: EpisodeClock = field(init=False, repr=False)

    tables: ClassVar[tuple[str, ...]]
    """The attributes that grow."""
    settings_class: ClassVar[type[QLearning | Hierarchical]]
    machine_classes: ClassVar[tuple[type, ...]]

    def __post_init__(self) -> None:
        check_parts(self)
        self.settings = self.settings.settled()
        if isinstance(self.machine, CountingRewardAutomaton):
            if not isinstance(self.view, FullStack):
                raise BadSetting(
                    "a policy over counters sees all of them", fix='use k="full" (--k full)'
                )
            self.counters = self._new_counters(self.machine)
            self.explored = self.counters.begin()
        else:
            self.explored = Explored.new(
                tabulate(self.machine, self.domain.labels), self.view, self.domain.states
            )
        self.rng_state = seed_streams(self.seed, 2)
        self.clock = EpisodeClock(self.settings.seconds_per_episode)
        self._make_tables()

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return int(self.progress.ints[at.EPISODE])

    def advance(self, episodes: int) -> None:
        """Train so many more episodes, but never past the settings' `episodes` in all."""
        if isinstance(episodes, bool) or not isinstance(episodes, int | np.integer) or episodes < 0:
            fault = f"a run advances by a non-negative integer of episodes, not by {episodes!r}"
            raise BadSetting(fault, fix="training.advance(1_000)")
        if self.clock.seconds is not None:
            self._compile()
        for goal in self.clock.goals(
            self.progress, min(self.episodes + int(episodes), self.settings.episodes)
        ):
            self._kernel_loop(partial(self._learn, goal))

    def test(self, domain: FiniteDomain | None = None) -> Test:
        """Greedy episodes in this domain, or in another that shares its states, actions and labels."""
        where, count = self.domain if domain is None else domain, self.settings.test_episodes
        self.domain.check_shares(where)
        returns, steps, ends = np.zeros(count), np.zeros(count, np.int32), np.zeros(count, np.int32)
        limit = self.settings.step_limit or where.step_limit
        self._kernel_loop(partial(self._test, where, limit, returns, steps, ends))
        names = np.array((*self.machine.states, *self.machine.final))
        return Test(returns, steps.astype(np.int64), names[ends])

    def _kernel_loop(self, kernel: Callable[[], int]) -> None:
        """Call a kernel until it is done, and in between give it what it came back for."""
        while (status := kernel()) != at.DONE:
            if status == at.NO_ROOM:
                for name in self.tables:
                    setattr(self, name, getattr(self, name).grow())
            elif status == at.UNEXPLORED and self.counters is not None:
                self.explored = self.counters.find(self.explored)
            elif status == at.UNDEFINED:
                fault = f"domain `{self.domain.name}` emits a label that machine `{self.machine.name}` has no rule for"
                fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases"
                raise UndefinedMove(fault, fix=fix)
            self.clock.look(self.progress)

    def _compile(self) -> None:
        """Compile everything before a clock runs."""
        compile_growth()
        self._learn(self.episodes)
        if isinstance(self.machine, CountingRewardAutomaton):
            counters = self._new_counters(self.machine)
            counters.find(counters.begin())

    def _new_counters(self, machine: CountingRewardAutomaton) -> Counters:
        return Counters(
            machine, self.domain.labels, getattr(self.settings, "operations_per_episode", None)
        )

    @abstractmethod
    def _make_tables(self) -> None:
        """The learner's own tables, rates and progress, before the first episode."""

    @abstractmethod
    def _learn(self, until: int) -> int:
        """Call the learning kernel once."""

    @abstractmethod
    def _test(self, where: FiniteDomain, limit: int, *results: *Results) -> int:
        """Call the testing kernel once."""


@dataclass(slots=True)
class QTraining(TabularTraining):
    """One run of Q-learning or CpRM, advanced by `advance` and judged by `test`.

    >>> import pdrm
    >>> from pdrm.learning.agents import CpRM
    >>> maze = pdrm.domain("maze-5x5")
    >>> training = QTraining(maze, pdrm.catalogue(maze.machine), pdrm.product.TopK(1), CpRM(), seed=0)
    >>> training.advance(1_000)
    >>> training.episodes, float(training.test().returns.mean())
    (1000, 100005.0)
    """

    settings: QLearning
    observed: Observed = field(init=False, repr=False)  # the stacks that CpRM imagines with
    outlook: Outlook = field(
        init=False, repr=False
    )  # and what each label does to them, where that is kept
    potentials: Potentials = field(
        init=False, repr=False
    )  # what the machine alone says of the stacks met so far
    rates: Rates = field(init=False, repr=False)

    tables = ("explored", "values", "observed", "outlook", "potentials")
    settings_class = QLearning
    machine_classes = (PushdownRewardMachine, CountingRewardAutomaton)

    def _make_tables(self) -> None:
        self.rates = q_rates(self.settings, self.domain, self.machine, self.view)
        self.values = Values.room(len(self.domain.actions))
        self.observed = Observed.room(1)
        for vector in first_vectors(self.machine, self.settings.counter_values):
            self._observe(vector)
        potential = find_potential(self.settings, self.domain, self.machine)
        self.potentials = Potentials.none() if potential is None else potential.tables()
        self.outlook = self.new_outlook()
        self.progress = Progress.new(self.settings.epsilon)

    def _observe(self, vector: Vector) -> None:
        """Put a counter vector on the list to imagine with, as if it had been observed."""
        assert self.counters is not None
        self.explored, node = self.counters.number_vector(self.explored, vector)
        _, probe = find_row(self.observed.index.slot, self.observed.index.key, node)
        if note(self.observed, node, probe, 0, node) == FREE:
            self.observed = self.observed.grow()
            self._observe(vector)

    def new_outlook(self) -> Outlook:
        """Of use where all of one list is imagined at every step, without counting, shaping or looking at a clock in between."""
        rates = self.rates
        whole = (
            rates.mode == at.ONE_LIST
            and rates.budget == 0
            and self.settings.seconds_per_episode is None
        )
        if not whole or self.counters is not None or len(self.potentials.value):
            return Outlook.none()
        return Outlook.room(
            self.domain.states, len(self.domain.labels), self.explored.table.first_final
        )

    def _learn(self, until: int) -> int:
        tables = (
            self.domain.arrays,
            self.explored,
            self.values,
            self.observed,
            self.outlook,
            self.potentials,
        )
        return q_kernel.learn(*tables, self.rng_state[:1], self.rates, self.progress, until)

    def _test(self, where: FiniteDomain, limit: int, *results: *Results) -> int:
        tables = (where.arrays, self.explored, self.values)
        return q_kernel.test(
            *tables,
            self.rng_state[1:],
            limit,
            self.rates.operations,
            self.rates.first_tie,
            *results,
        )


@dataclass(slots=True)
class HierarchicalTraining(TabularTraining):
    """One run of the hierarchical method, advanced by `advance` and judged by `test`.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> training = HierarchicalTraining(domain("deliver-8"), catalogue("deliver"), TopK(1), Hierarchical(), seed=0)
    >>> training.advance(3)
    >>> training.episodes, training.test().returns.shape
    (3, (10,))
    """

    machine: PushdownRewardMachine
    settings: Hierarchical
    options: Options = field(init=False, repr=False)
    """The options of each machine state; fixed."""
    policies: Values = field(init=False, repr=False)
    """The options' policies: a row per (s, u, top), those of one s together, a column per action for each option of u.
    The key of a row: ((top symbol) * machine states + machine state) * environment states + environment state."""
    rates: HierarchicalRates = field(init=False, repr=False)

    tables = ("explored", "values", "policies")
    settings_class = Hierarchical
    machine_classes = (PushdownRewardMachine,)

    def _make_tables(self) -> None:
        self.options = tabulate_options(
            self.machine, self.domain.labels, acting_heads(self.machine, self.domain)
        )
        most = self.options.achieved.shape[3]
        self.values, self.policies = Values.room(most), Values.room(most * len(self.domain.actions))
        self.progress = Progress.new(self.settings.epsilon, options=True)
        self.rates = hierarchical_rates(self.settings, self.domain)

    def _learn(self, until: int) -> int:
        self.policies = self.policies.for_blocks(len(self.options.head_state))
        tables = (self.domain.arrays, self.explored, self.options, self.values, self.policies)
        return options_kernel.learn(*tables, self.rng_state[:1], self.rates, self.progress, until)

    def _test(self, where: FiniteDomain, limit: int, *results: *Results) -> int:
        tables = (where.arrays, self.explored, self.options, self.values, self.policies)
        return options_kernel.test(*tables, self.rng_state[1:], limit, *results)


def check_parts(run: TabularTraining) -> None:
    """Raise unless domain, machine, view and settings are each of their kind; the error says how to get one."""
    domain, machine, view, settings = run.domain, run.machine, run.view, run.settings
    machines = " or ".join(kind.__name__ for kind in run.machine_classes)
    kind = run.settings_class.__name__
    checks: tuple[tuple[bool, str, object, str, str], ...] = (
        (isinstance(domain, FiniteDomain), "domain is", domain, "a finite domain", _domain_fix(domain)),
        (isinstance(machine, run.machine_classes), "machine is", machine, f"a {machines}", _machine_fix(machine)),
        (isinstance(view, FullStack | TopK), "view is", view, "a view of the stack", "pdrm.product.TopK(1), or pdrm.product.FullStack()"),
        (isinstance(settings, run.settings_class), "settings are", settings, f"a {kind}", f"pdrm.{kind}(episodes=10_000)"),
    )  # fmt: skip
    for right, what, value, wanted, fix in checks:
        if not right:
            text = repr(value)
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            raise BadSetting(f"{what} {shown}, but must be {wanted}", fix=fix)
    if (largest := largest_reward(domain, machine)) > LARGEST_REWARD:
        fault = f"a reward of ±{largest:g} is too large to learn from: what is added to it would be more than a number can be"
        raise BadSetting(fault, fix=f"rewards of up to {LARGEST_REWARD:g}")


def _domain_fix(domain: object) -> str:
    if isinstance(domain, str | os.PathLike):
        return f"pdrm.domains.find_domain({os.fspath(domain)!r})"
    return suggest_domain(domain)


def _machine_fix(machine: object) -> str:
    if isinstance(machine, str | os.PathLike):
        word = str(machine)
        if "\n" in word:
            return "pdrm.parse(text)"
        return f"pdrm.load({word!r})" if Path(word).suffix else f"pdrm.catalogue({word!r})"
    return "pdrm.catalogue('letter'), pdrm.load('task.pdrm') or pdrm.parse(text)"
