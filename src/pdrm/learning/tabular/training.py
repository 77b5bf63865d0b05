"""Tabular training runs: tables, generators and progress, kept so that a run can stop and go on at any episode."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UndefinedMove
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.learner_tables import (
    HierarchicalRates,
    Options,
    Progress,
    Rates,
    new_progress,
    rates_of,
    tabulate_options,
)
from pdrm.learning.tabular.memory import AnyMemory, class_depth
from pdrm.learning.tabular.randomness import State, streams
from pdrm.learning.tabular.rows_kernel import Observed, Values, compile_growth
from pdrm.learning.tabular.settings import MOST, Counterfactuals, Hierarchical, QLearning
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.machines.tables import Integers, Rewards, tabulate
from pdrm.product.counters import Counters
from pdrm.product.exploration import Explored
from pdrm.product.views import FullStack, TopK, View

# --- The paper's wall-clock limit of an episode. Results under it depend on the machine; without it nothing here is looked at.
#
# The kernels have no clock: they come back every so many updates (and whenever they need room), and the clock is read then.

EVERY = 10_000
"""Updates between two looks at the clock: a fraction of a millisecond."""


class EpisodeClock:
    """Says when an episode is late. Without a limit it never is.

    >>> times = iter([0.0, 0.02, 0.04])
    >>> clock, progress = EpisodeClock(0.03, lambda: next(times)), Progress.new(0.1)
    >>> for _ in clock.goals(progress, until=1):
    ...     for _ in range(2):
    ...         clock.look(progress)
    ...         print(bool(progress.whole[at.LATE]))
    False
    True
    """

    def __init__(self, seconds: float | None, now: Callable[[], float] = time.perf_counter, every: int = EVERY) -> None:
        self.seconds, self._now, self._every = seconds, now, every
        self._began = 0.0

    def goals(self, progress: Progress, until: int) -> Iterator[int]:
        """The episodes to train up to, one after the other where each is timed, else all at once."""
        if self.seconds is None:
            yield until
            return
        for episode in range(int(progress.whole[at.EPISODE]), until):
            progress.whole[[at.UPDATES, at.LATE, at.LOOK]] = 0, 0, self._every
            self._began = self._now()
            yield episode + 1

    def look(self, progress: Progress) -> None:
        """Note whether the episode is late, and when to look again."""
        if self.seconds is not None:
            late = self._now() - self._began > self.seconds
            progress.whole[at.LATE] = late
            progress.whole[at.LOOK] = 0 if late else progress.whole[at.UPDATES] + self._every


# --- Calling a kernel until it is done: whenever it comes back for want of something, it gets that and goes on.

TABLES = ("explored", "values", "observed", "policies")
"""The attributes of a run that grow, as far as it has them."""


class Growing(Protocol):
    """A run whose tables grow."""

    domain: Any
    machine: Any
    explored: Any
    progress: Progress
    clock: EpisodeClock


def until_done(run: Growing, kernel: Callable[[], int]) -> None:
    """Call the kernel until it is done; in between make room where there is none and a counting automaton's step where one
    is wanted, look at the clock, and complain where the machine has no rule."""
    while (status := kernel()) != at.DONE:
        if status == at.NO_ROOM:
            for name in TABLES:
                if hasattr(run, name):
                    setattr(run, name, getattr(run, name).grown())
        elif status == at.UNEXPLORED:
            run.explored = run.counters.find(run.explored)  # type: ignore[attr-defined] # only counting automata ask
        elif status == at.UNDEFINED:
            raise _label_without_rule(run.domain.name, run.machine.name)
        run.clock.look(run.progress)


def _label_without_rule(domain: str, machine: str) -> UndefinedMove:
    """The error of a machine that says `otherwise error` in a domain that it does not cover."""
    return UndefinedMove(
        f"domain `{domain}` emits a label that machine `{machine}` has no rule for",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases",
    )


# --- What a training run is made of, checked: a domain, a machine, a view and settings, each of its kind.


def check_domain(domain: object) -> None:
    """Raise unless it is a finite domain.

    >>> check_domain("letter")
    Traceback (most recent call last):
    ...
    pdrm.errors.BadSetting: error[E0801]: domain is 'letter', but must be a finite domain
      fix: pdrm.find_domain('letter')
    """
    if isinstance(domain, FiniteDomain):
        return
    fix = "pdrm.domain('letter'), pdrm.load_domain('my_map.txt'), or pdrm.from_arrays"
    if isinstance(domain, str | os.PathLike):
        fix = f"pdrm.find_domain({os.fspath(domain)!r})"
    elif hasattr(domain, "step") and hasattr(domain, "reset"):
        fix = "pdrm.from_gymnasium(env, labels), with the bare environment, makes a domain of its transition table"
    raise BadSetting(f"domain is {_shown(domain)}, but must be a finite domain", fix=fix)


def check_machine(machine: object, *kinds: type) -> None:
    """Raise unless it is a machine of one of these kinds."""
    if isinstance(machine, kinds):
        return
    fix = "pdrm.catalogue('letter'), pdrm.load('task.pdrm') or pdrm.parse(text)"
    if isinstance(machine, RewardMachine):
        fix = "pdrm.reward_machine_to_pushdown(machine)"
    elif isinstance(machine, str | os.PathLike):
        word = str(machine)
        fix = f"pdrm.load({word!r})" if Path(word).suffix else f"pdrm.catalogue({word!r})"
        fix = "pdrm.parse(text)" if "\n" in word else fix
    named = " or ".join(kind.__name__ for kind in kinds)
    raise BadSetting(f"machine is {_shown(machine)}, but must be a {named}", fix=fix)


def check_view(view: object) -> None:
    """Raise unless it is a view of the stack."""
    if not isinstance(view, FullStack | TopK):
        fix = f"pdrm.TopK({view})" if isinstance(view, int) and view >= 0 else "pdrm.TopK(1), or pdrm.FullStack()"
        raise BadSetting(f"view is {_shown(view)}, but must be a view of the stack", fix=fix)


def check_settings(settings: object, kind: type) -> None:
    """Raise unless the settings are of this kind."""
    if not isinstance(settings, kind):
        fault = f"settings are {_shown(settings)}, but must be a {kind.__name__}"
        raise BadSetting(fault, fix=f"pdrm.{kind.__name__}(episodes=10_000)")


def check_episodes(until: object) -> None:
    """Raise unless a run can be trained up to so many episodes."""
    if isinstance(until, bool) or not isinstance(until, int | np.integer) or not 0 <= until <= MOST:
        fault = f"a run is trained up to a whole number of episodes from 0 to {MOST:,}, not {until!r}"
        raise BadSetting(fault, fix="training.advance(1_000)")


def _shown(value: object) -> str:
    """The value, if it is short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- Training runs: a learner's tables, generators and progress, kept so that a run can stop and go on at any episode.

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
        from pdrm.learning.tabular.q_kernel import learn  # noqa: PLC0415 - Numba is loaded when something is learnt

        tables = (self.domain.arrays, self.explored, self.values, self.observed)
        return learn(*tables, self.chances[:1], self.rates, self.progress, until)

    def _test(self, where: FiniteDomain, test: Test) -> int:
        """Call the testing kernel once."""
        from pdrm.learning.tabular.q_kernel import test as play  # noqa: PLC0415

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


# --- Training runs of the hierarchical agent, with the surface of `Training`: they stop and go on at any episode.


@dataclass(slots=True)
class HierarchicalTraining:
    """One run of the hierarchical method, advanced by `advance` and judged by `test`.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.views import TopK
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
        from pdrm.learning.tabular.options_kernel import learn  # noqa: PLC0415 - Numba is loaded when something is learnt

        tables = (self.domain.arrays, self.explored, self.options, self.values, self.policies)
        return learn(*tables, self.chances[:1], self.rates, self.progress, until)

    def _test(self, where: FiniteDomain, test: Test) -> int:
        """Call the testing kernel once."""
        from pdrm.learning.tabular.options_kernel import test as play  # noqa: PLC0415 - the same

        limit, results = self.settings.step_limit or where.step_limit, (test.returns, test.steps, test.ends)
        tables = (where.arrays, self.explored, self.options, self.values, self.policies)
        return play(*tables, self.chances[1:], limit, *results)
