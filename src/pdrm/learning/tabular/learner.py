"""Tabular learners: the tables of a run, trained by a kernel, evaluated, saved and resumed.

`QLearner` is Q-learning and CpRM, `HierarchicalLearner` the hierarchical method. Both call a kernel
(`q_kernel`, `options_kernel`), which returns when it is done, when a table is full, or when it is
time to check the clock. They enlarge the table or check the clock, and call it again.

A run is saved between two episodes.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, Diverged, EndlessSilentMoves, PdrmError
from pdrm.files import Arrays
from pdrm.language.writer import to_text
from pdrm.learning.agents import Counterfactuals, CountingQ, Hierarchical, QLearning, Tabular
from pdrm.learning.protocol import BuiltInLearner, EvaluationResult, Until
from pdrm.learning.randomness import seed_streams
from pdrm.learning.settings import JsonObject
from pdrm.learning.tabular import options_kernel, q_kernel, rows_kernel as rows
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
    class_depth,
    find_potential,
    first_vectors,
    no_rule_error,
)
from pdrm.learning.tabular.rows_kernel import (
    ObservedStacks,
    QTable,
    Rates,
    Tables,
    initial_progress,
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

if TYPE_CHECKING:
    from pdrm.language.document import AnyMachine

UPDATES_PER_CLOCK_CHECK = 10_000
"""Updates between two checks of the clock: a fraction of a millisecond."""


class TabularLearner(BuiltInLearner):
    """Base class of both learners.

    A subclass makes the tables and names the kernel that trains them.
    """

    learn: ClassVar[Callable[..., int]]
    """The kernel of training."""

    def __init__(
        self,
        domain: FiniteDomain,
        machine: AnyMachine,
        view: View,
        settings: QLearning | Hierarchical,
        seed: int,
    ) -> None:
        self.domain = domain
        self.machine = machine
        self.view = view
        self.settings = settings = settings.resolved()
        self.seed = seed
        self._now = time.perf_counter
        self.rates = rates_of(settings, domain, machine, view)
        self.rng_state = seed_streams(seed, 2)  # of training, and of evaluations
        self.progress = initial_progress(settings.epsilon)
        explored = begin_exploring(machine, domain.labels, view, self.rates.max_operations)
        self.tables = self._initial_tables(explored)

    @abstractmethod
    def _initial_tables(self, explored: ConfigurationGraph) -> Tables:
        """The tables before the first episode."""

    def _new_table(self, choices: int) -> QTable:
        hashed = isinstance(self.view, FullStack) and not self.rates.updates_per_step
        views = rows.ANY_VIEW if hashed else 1
        no_values = np.zeros((0, choices))
        return QTable.of(np.zeros(0, np.int64), no_values, self.domain.states, views=views)

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
        """Train in whole episodes, but not beyond the settings' `episodes`."""
        total = self.settings.episodes
        seconds = self.settings.variant.seconds_per_episode
        if seconds is not None:
            self._learn(self.episodes)  # compile before the clock runs
        while not until.reached(self) and self.episodes < total:
            if seconds is None:
                self._learn(min(max(until.episodes or 0, self.episodes + 1), total))
            else:
                self._learn_timed_episode(seconds)

    def _learn_timed_episode(self, seconds: float) -> None:
        """Train for one episode of at most this many seconds."""
        progress = self.progress
        progress["late"] = 0
        progress["updates"] = 0
        progress["pause"] = UPDATES_PER_CLOCK_CHECK
        until = self.episodes + 1
        start = self._now()
        while self._learn(until) == rows.PAUSE:
            late = self._now() - start > seconds
            progress["late"] = late
            progress["pause"] = 0 if late else progress["updates"] + UPDATES_PER_CLOCK_CHECK

    def _learn(self, until: int) -> int:
        return self._run(self.learn, self.domain, self.progress, until)

    def test(self, episodes: int, _seed: int = 0, /) -> EvaluationResult:
        """Greedy episodes in each of the evaluation domains, with the run's generator."""
        parts = []
        for domain in self.domain.tested_on:
            returns, steps, ends = (np.zeros(episodes, kind) for kind in (float, int, int))
            limit = self.settings.step_limit or domain.step_limit
            self._run(rows.test, domain, limit, returns, steps, ends)
            parts.append((returns, steps, ends))
        returns, steps, ends = map(np.concatenate, zip(*parts, strict=True))
        names = np.array((*self.machine.states, *self.machine.final))
        return EvaluationResult(returns, steps, names[ends])

    def _decode(self) -> PolicyTable:
        """The table by what the agent sees.

        A key is (number of the view) * environment states + environment state. The number of a view
        is (number of the stack, counter vector or top symbols) * machine states + machine state.
        """
        machine = self.machine
        explored = self.tables.explored
        table = self.tables.table
        count = self.rows
        key = table.key[:count]
        value = table.value[:count]
        if not np.isfinite(value).all():
            fix = "a smaller learning_rate, or smaller rewards"
            raise Diverged("the values of the table diverged (NaN or inf)", fix=fix)
        view, env_state = np.divmod(key, self.domain.states)
        memory_number, machine_state = np.divmod(view, explored.states)
        numbers, index = np.unique(memory_number, return_inverse=True)
        if isinstance(machine, CountingRewardAutomaton):
            tree, nodes = MemoryTree.of(machine.counters, explored.counters[numbers].tolist())
        elif isinstance(self.view, FullStack):
            nodes = explored.index.key[numbers]
            made = int(explored.stacks.made[0])
            parts = (part[:made].copy() for part in explored.stacks[:2])
            tree = MemoryTree(machine.stack, *parts)
        else:
            base = len(machine.stack) + 1
            codes = explored.index.key[numbers]
            digits = codes[:, None] // base ** np.arange(self.view.k)[::-1] % base
            tops = ([symbol for symbol in top if symbol] for top in digits.tolist())
            tree, nodes = MemoryTree.of(machine.stack, tops)
        states = (*machine.states, *machine.final)
        return PolicyTable.of(
            self.view, states, tree, (env_state, machine_state, nodes[index]), value
        )

    def facts(self) -> dict[str, float]:
        """Statistics of the run."""
        epsilon = float(self.progress["epsilon"][0])
        return {"epsilon": epsilon, "steps": float(self.steps), "rows": float(self.rows)}

    def _run(self, kernel: Callable[..., int], domain: FiniteDomain, *arguments: Any) -> int:
        """Call a kernel until it is done or pauses, and enlarge tables in between."""
        while True:
            status = kernel(domain.arrays, self.tables, self.rng_state, self.rates, *arguments)
            if status in (rows.DONE, rows.PAUSE):
                return status
            tables = self.tables
            if status == NO_ROOM:
                self.tables = tables._replace(explored=tables.explored.grow())
            elif status == rows.FULL:
                self.tables = tables._replace(table=tables.table.grow(self._count_views()))
            elif status == rows.NO_ENTRIES:
                self.tables = tables._replace(observed=tables.observed.grow())
            elif status == rows.NO_VALUES:
                self.tables = tables._replace(potentials=tables.potentials.grow())
            else:
                raise self._error(status)

    def _error(self, status: int) -> PdrmError:
        """The error for the status of a kernel that cannot continue."""
        name = self.machine.name
        if status == UNDEFINED_LABEL:
            return no_rule_error(self.domain, name)
        if status == ENDLESS:
            fault = f"machine `{name}` makes more than {MAX_SILENT_MOVES:,} silent moves after one label"
            fix = "set operations_per_episode: an episode ends before such a step"
            return EndlessSilentMoves(fault, fix=fix)
        assert status == BEYOND
        fault = f"the counters of `{name}` may grow beyond 64 bits"
        return BadSetting(fault, fix="use a smaller operations_per_episode")

    def save(self) -> Arrays:
        """The state of the run between two episodes, as arrays."""
        arrays = list_arrays(self.tables)
        del arrays["table.slot"]  # large, and follows from the keys
        progress = self.progress.view(np.int64)
        return {**arrays, "progress": progress, "rng_state": self.rng_state}

    def load(self, arrays: Arrays, /) -> None:
        """Restore a saved state in a new run."""
        self.progress[:] = arrays["progress"].view(rows.PROGRESS)
        self.rng_state[:] = arrays["rng_state"]
        slot = {"table.slot": self.tables.table.slot}
        self.tables = put_arrays(self.tables, {**arrays, **slot})
        self.tables = self.tables._replace(table=self.tables.table.grow(self._count_views()))

    def _count_views(self) -> int:
        """The number of views so far."""
        explored = self.tables.explored
        count = explored.stacks.made if explored.counts else explored.index.used
        return int(count[0]) * explored.states


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

    def _initial_tables(self, explored: ConfigurationGraph) -> Tables:
        potential = find_potential(self.settings, self.domain, self.machine)
        nodes = []
        for vector in first_vectors(self.machine, self.settings.variant.counter_values):
            explored, node = add_vector(explored, vector)
            nodes.append(node)
        keys = np.array(nodes, np.int64)
        first = (keys * explored.states).astype(np.int32)
        labels = len(self.domain.labels)
        observed = ObservedStacks.of(keys, first, labels, explored.first_final)
        potentials = Potentials.none() if potential is None else potential.tables()
        return Tables(explored, self._new_table(len(self.domain.actions)), observed, potentials)

    def policy(self, about: JsonObject | None = None) -> QPolicy:
        return QPolicy(about or {}, to_text(self.machine), self.domain.actions, self._decode())


class HierarchicalLearner(TabularLearner):
    """One run of the hierarchical method.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.observation import TopK
    >>> deliver, machine = domain("deliver-8"), catalogue("deliver")
    >>> learner = HierarchicalLearner(deliver, machine, TopK(1), Hierarchical(), seed=0)
    >>> learner.advance(Until(episodes=3))
    >>> learner.episodes, learner.test(10).returns.shape
    (3, (10,))
    """

    settings: Hierarchical
    machine: PushdownRewardMachine
    learn = staticmethod(options_kernel.learn)

    def _initial_tables(self, explored: ConfigurationGraph) -> Tables:
        self.heads = heads = acting_heads(self.machine, self.domain)
        options = tabulate_options(self.machine, self.domain.labels, heads)
        max_options = options.achieved.shape[2]
        states = self.domain.states
        values = np.zeros((states, len(heads), max_options * len(self.domain.actions)))
        seen = np.zeros(states, np.bool_)
        table = self._new_table(max_options)
        return Tables(explored, table, options=options, met=seen, within=values)

    def policy(self, about: JsonObject | None = None) -> HierarchicalPolicy:
        machine = self.machine
        heads = self.heads
        q_table = self._decode()
        env_states = np.flatnonzero(self.tables.met)
        tops = ([] if head.top is None else [machine.stack.index(head.top) + 1] for head in heads)
        tree, nodes = MemoryTree.of(machine.stack, tops)
        seen = (
            np.repeat(env_states, len(nodes)),
            np.tile(self.tables.options.head_state, len(env_states)),
            np.tile(nodes, len(env_states)),
        )
        values = self.tables.within[env_states].reshape(-1, self.tables.within.shape[2])
        option_values = PolicyTable.of(TOP, q_table.states, tree, seen, values)
        texts = {
            state: tuple("" if rule is None else str(rule) for rule in options)
            for state, options in options_by_state(machine, heads).items()
        }
        return HierarchicalPolicy(
            about or {}, to_text(machine), self.domain.actions, q_table, texts, option_values
        )


def rates_of(settings: Tabular, domain: FiniteDomain, machine: AnyMachine, view: View) -> Rates:
    """The settings as numbers for the kernels."""
    variant = settings.variant
    updates_per_step = variant.updates_per_step or rows.ALL
    if variant.counterfactuals is Counterfactuals.NONE:
        updates_per_step = 0
    depth = class_depth(machine, view, variant.counterfactuals)
    return Rates(
        alpha=float(settings.learning_rate),
        gamma=float(settings.discount),
        epsilon_decay=float(settings.epsilon_decay),
        epsilon_min=float(settings.epsilon_least),
        step_limit=settings.step_limit or domain.step_limit,
        updates_per_step=updates_per_step,
        class_depth=-1 if depth is None else depth,
        updates_per_episode=variant.updates_per_episode or 0,
        max_operations=variant.operations_per_episode or 0,
        first_tie=variant.ties == "first",
        limit_ends=variant.limit_ends,
        option_pay=float(variant.option_pay),
        r_plus=float(variant.r_plus),
        r_minus=float(variant.r_minus),
    )


def make_learner(task: Task, agent: Tabular, seed: int) -> QLearner | HierarchicalLearner:
    """The learner of a tabular agent before its first episode."""
    agent = agent.resolved(task)
    view = agent.view
    assert view is not None
    if isinstance(agent, Hierarchical):
        return HierarchicalLearner(task.finite, task.pushdown, view, agent, seed)
    assert isinstance(agent, QLearning)
    machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
    return QLearner(task.finite, machine, view, agent, seed)
