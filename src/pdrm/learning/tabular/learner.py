"""Tabular learners: the tables of a run, trained by a kernel up to any episode, tested, saved and resumed.

`QLearner` is Q-learning and CpRM, `HierarchicalLearner` the hierarchical method. Both hand their arrays
to a kernel (`q_kernel`, `options_kernel`), which comes back when it is done or when it needs something:
room in a table, or a look at the clock. It gets that and continues.

A snapshot is taken between two episodes: the arrays as they are. Its file has a checksum.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, EndlessSilentMoves
from pdrm.files import Arrays
from pdrm.language.writer import to_text
from pdrm.learning.agents import Counterfactuals, CountingQ, Hierarchical, QLearning, Tabular
from pdrm.learning.protocol import BuiltInLearner, EvaluationResult, Until
from pdrm.learning.randomness import seed_streams
from pdrm.learning.tabular import options_kernel, q_kernel
from pdrm.learning.tabular import rows_kernel as at
from pdrm.learning.tabular.hierarchical import (
    TOP,
    acting_heads,
    options_by_state,
    tabulate_options,
)
from pdrm.learning.tabular.policy import (
    HierarchicalPolicy,
    MemoryTree,
    PolicyTable,
    QPolicy,
)
from pdrm.learning.tabular.q_learning import (
    AnyMemory,
    class_depth,
    find_potential,
    first_vectors,
    no_rule,
)
from pdrm.learning.tabular.rows_kernel import (
    ObservedStacks,
    QTable,
    Rates,
    Tables,
    begin_progress,
    list_arrays,
    put_arrays,
)
from pdrm.machines.counting import MAX_SILENT_MOVES, CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.explore_kernel import (
    BEYOND,
    ENDLESS,
    NO_ROOM,
    UNDEFINED_LABEL,
    ConfigurationGraph,
    Potentials,
    add_vector,
    begin_exploring,
)
from pdrm.product.observation import FullStack, View
from pdrm.task import Task

EVERY = 10_000
"""Updates between two looks at the clock: a fraction of a millisecond."""


class TabularLearner(BuiltInLearner):
    """The part that both learners share. Each makes its tables and names its two kernels."""

    learn: ClassVar[Callable[..., int]]
    """The learning kernel."""

    def __init__(
        self,
        domain: FiniteDomain,
        machine: AnyMemory,
        view: View,
        settings: QLearning | Hierarchical,
        seed: int,
    ) -> None:
        self.domain, self.machine, self.view = domain, machine, view
        self.settings = settings = settings.resolved()
        self.seed, self._now = seed, time.perf_counter
        self.rates = find_rates(settings, domain, machine, view)
        self.rng_state = seed_streams(seed, 2)  # the generator of training, and that of evaluations
        self.progress = begin_progress(settings.epsilon)
        explored = begin_exploring(machine, domain.labels, view, self.rates.operations)
        self.tables = self._begin(explored)

    @abstractmethod
    def _begin(self, explored: ConfigurationGraph) -> Tables:
        """The tables before the first episode."""

    def _new_table(self, choices: int) -> QTable:
        hashed = isinstance(self.view, FullStack) and not self.rates.budget
        views = at.ANY_VIEW if hashed else 1
        nothing = np.zeros((0, choices))
        return QTable.of(np.zeros(0, np.int64), nothing, self.domain.states, views=views)

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return int(self.progress["episode"][0])

    @property
    def steps(self) -> int:
        """Steps of all training episodes so far."""
        return int(self.progress["all_steps"][0])

    @property
    def updates(self) -> int:
        """Updates of all training episodes so far."""
        return int(self.progress["all_updates"][0])

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.tables.table.used[0])

    def advance(self, until: Until, /) -> None:
        """Train until then, in whole episodes, but never past the settings' `episodes`."""
        most, seconds = self.settings.episodes, self.settings.extras.seconds_per_episode
        if seconds is not None:
            self._learn(self.episodes)  # compile everything before a clock runs
        while not until.reached(self) and self.episodes < most:
            after = self.episodes + 1
            if seconds is None:
                self._learn(min(max(until.episodes or 0, after), most))
                continue
            self.progress["late"], self.progress["updates"] = 0, 0
            self.progress["pause"] = EVERY
            began = self._now()
            while self._learn(after) == at.PAUSE:
                self.progress["late"] = late = self._now() - began > seconds
                self.progress["pause"] = 0 if late else self.progress["updates"] + EVERY

    def _learn(self, until: int) -> int:
        return self._run(self.learn, self.domain, self.progress, until)

    def test(self, episodes: int, _seed: int = 0, /) -> EvaluationResult:
        """Greedy episodes in each of the evaluation domains, with the run's own generator."""
        parts = []
        for where in self.domain.tested_on:
            returns, steps, ends = (np.zeros(episodes, kind) for kind in (float, int, int))
            limit = self.settings.step_limit or where.step_limit
            self._run(at.test, where, limit, returns, steps, ends)
            parts.append((returns, steps, ends))
        returns, steps, ends = map(np.concatenate, zip(*parts, strict=True))
        names = np.array((*self.machine.states, *self.machine.final))
        return EvaluationResult(returns, steps, names[ends])

    def _decode(self) -> PolicyTable:
        """The table by what is seen. A key is (number of the view) * environment states +
        environment state; the view's number is (stack or counter vector, or number of the top
        symbols) * machine states + machine state."""
        machine, explored = self.machine, self.tables.explored
        table, rows = self.tables.table, self.rows
        key, value = table.key[:rows], table.value[:rows]
        if not np.isfinite(value).all():
            raise BadSetting("the values diverged (NaN or inf)", fix="smaller rewards")
        view, environment_state = np.divmod(key, self.domain.states)
        number, machine_state = np.divmod(view, explored.states)
        numbers, place = np.unique(number, return_inverse=True)
        if isinstance(machine, CountingRewardAutomaton):
            tree, nodes = MemoryTree.of(machine.counters, explored.counters[numbers].tolist())
        elif isinstance(self.view, FullStack):
            made, nodes = int(explored.stacks.made[0]), explored.index.key[numbers]
            parts = (part[:made].copy() for part in explored.stacks[:2])
            tree = MemoryTree(machine.stack, *parts)
        else:
            base, codes = len(machine.stack) + 1, explored.index.key[numbers]
            digits = codes[:, None] // base ** np.arange(self.view.k)[::-1] % base
            tops = ([symbol for symbol in top if symbol] for top in digits.tolist())
            tree, nodes = MemoryTree.of(machine.stack, tops)
        states = (*machine.states, *machine.final)
        seen = environment_state, machine_state, nodes[place]
        return PolicyTable.of(self.view, states, tree, seen, value)

    def facts(self) -> dict[str, float]:
        """The state of the run in numbers."""
        epsilon = float(self.progress["epsilon"][0])
        return {"epsilon": epsilon, "steps": float(self.steps), "rows": float(self.rows)}

    def _run(self, kernel: Callable[..., int], where: FiniteDomain, *given: Any) -> int:
        """Call a kernel until it is done or pauses, and make room in between."""
        while True:
            status = kernel(where.arrays, self.tables, self.rng_state, self.rates, *given)
            if status in (at.DONE, at.PAUSE):
                return status
            tables = self.tables
            if status == NO_ROOM:
                self.tables = tables._replace(explored=tables.explored.grow())
            elif status == at.FULL:
                self.tables = tables._replace(table=tables.table.grow(self._count_views()))
            elif status == at.NO_ENTRIES:
                self.tables = tables._replace(observed=tables.observed.grow())
            elif status == at.NO_VALUES:
                self.tables = tables._replace(potentials=tables.potentials.grow())
            else:
                self._refuse(status)

    def _refuse(self, status: int) -> None:
        name = self.machine.name
        if status == UNDEFINED_LABEL:
            raise no_rule(self.domain, name)
        if status == ENDLESS:
            fault = f"machine `{name}` makes more than {MAX_SILENT_MOVES:,} silent moves after one label"
            fix = "set operations_per_episode: an episode ends before such a step"
            raise EndlessSilentMoves(fault, fix=fix)
        assert status == BEYOND
        fault = f"the counters of `{name}` may grow beyond 64 bits"
        raise BadSetting(fault, fix="use a smaller operations_per_episode")

    def save(self) -> Arrays:
        """The state of the run between two episodes, as arrays."""
        own = {"progress": self.progress.view(np.int64), "rng_state": self.rng_state}
        arrays = list_arrays(self.tables)
        del arrays["table.slot"]  # large, and found again
        return {**arrays, **own}

    def load(self, arrays: Arrays, /) -> None:
        """Put a new run into a saved state."""
        self.progress[:] = arrays["progress"].view(at.PROGRESS)
        self.rng_state[:] = arrays["rng_state"]
        slot = {"table.slot": self.tables.table.slot}
        self.tables = put_arrays(self.tables, {**arrays, **slot})
        self.tables = self.tables._replace(table=self.tables.table.grow(self._count_views()))

    def _count_views(self) -> int:
        """The number of different views that a policy sees."""
        explored = self.tables.explored
        numbered = explored.stacks.made if explored.counts else explored.index.used
        return int(numbered[0]) * explored.states


class QLearner(TabularLearner):
    """One run of Q-learning or CpRM.

    >>> import pdrm
    >>> from pdrm.learning import CpRM, Until
    >>> maze = pdrm.domain("maze-5x5")
    >>> learner = QLearner(maze, pdrm.catalogue(maze.machine), pdrm.product.TopK(1), CpRM(), seed=0)
    >>> learner.advance(Until(episodes=1_000))
    >>> learner.episodes, float(learner.test(10).returns.mean())
    (1000, 100005.0)
    """

    settings: QLearning
    learn = staticmethod(q_kernel.learn)

    def _begin(self, explored: ConfigurationGraph) -> Tables:
        potential = find_potential(self.settings, self.domain, self.machine)
        nodes = []
        for vector in first_vectors(self.machine, self.settings.extras.counter_values):
            explored, node = add_vector(explored, vector)
            nodes.append(node)
        keys = np.array(nodes, np.int64)
        first, labels = (keys * explored.states).astype(np.int32), len(self.domain.labels)
        observed = ObservedStacks.of(keys, first, labels, explored.first_final)
        potentials = Potentials.none() if potential is None else potential.tables()
        return Tables(explored, self._new_table(len(self.domain.actions)), observed, potentials)

    def policy(self, about: dict[str, Any] | None = None) -> QPolicy:
        return QPolicy(about or {}, to_text(self.machine), self.domain.actions, self._decode())


class HierarchicalLearner(TabularLearner):
    """One run of the hierarchical method.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.observation import TopK
    >>> learner = HierarchicalLearner(domain("deliver-8"), catalogue("deliver"), TopK(1), Hierarchical(), seed=0)
    >>> learner.advance(Until(episodes=3))
    >>> learner.episodes, learner.test(10).returns.shape
    (3, (10,))
    """

    settings: Hierarchical
    machine: PushdownRewardMachine
    learn = staticmethod(options_kernel.learn)

    def _begin(self, explored: ConfigurationGraph) -> Tables:
        self.heads = heads = acting_heads(self.machine, self.domain)
        options = tabulate_options(self.machine, self.domain.labels, heads)
        most, states = options.achieved.shape[2], self.domain.states
        within = np.zeros((states, len(heads), most * len(self.domain.actions)))
        met = np.zeros(states, np.bool_)
        return Tables(explored, self._new_table(most), options=options, met=met, within=within)

    def policy(self, about: dict[str, Any] | None = None) -> HierarchicalPolicy:
        machine, table, place = self.machine, self._decode(), np.flatnonzero(self.tables.met)
        heads = self.heads
        tops = ([] if head.top is None else [machine.stack.index(head.top) + 1] for head in heads)
        tree, nodes = MemoryTree.of(machine.stack, tops)
        seen = (
            np.repeat(place, len(nodes)),
            np.tile(self.tables.options.head_state, len(place)),
            np.tile(nodes, len(place)),
        )
        value = self.tables.within[place].reshape(-1, self.tables.within.shape[2])
        within = PolicyTable.of(TOP, table.states, tree, seen, value)
        options = options_by_state(machine, heads)
        texts = {
            state: tuple("" if rule is None else str(rule) for rule in each)
            for state, each in options.items()
        }
        return HierarchicalPolicy(
            about or {}, to_text(machine), self.domain.actions, table, texts, within
        )


def find_rates(settings: Tabular, domain: FiniteDomain, machine: AnyMemory, view: View) -> Rates:
    """The settings as numbers."""
    extras = settings.extras
    imagines = extras.counterfactuals is not Counterfactuals.NONE
    return Rates(
        float(settings.learning_rate),
        float(settings.discount),
        float(settings.epsilon_decay),
        float(settings.epsilon_least),
        settings.step_limit or domain.step_limit,
        (extras.updates_per_step or at.ALL) if imagines else 0,
        class_depth(machine, view, extras.counterfactuals),
        extras.updates_per_episode or 0,
        extras.operations_per_episode or 0,
        extras.ties == "first",
        extras.limit_ends,
        float(extras.option_pay),
        float(extras.r_plus),
        float(extras.r_minus),
    )


def make_learner(task: Task, agent: Tabular, seed: int) -> QLearner | HierarchicalLearner:
    """A run of a tabular agent, before its first episode."""
    agent = agent.resolved(task)
    view = agent.view
    assert view is not None
    if isinstance(agent, Hierarchical):
        return HierarchicalLearner(task.finite, task.pushdown, view, agent, seed)
    assert isinstance(agent, QLearning)
    machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
    return QLearner(task.finite, machine, view, agent, seed)
