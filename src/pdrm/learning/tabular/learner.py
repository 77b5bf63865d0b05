"""Tabular learners: the tables of a run, trained by a kernel up to any episode, tested, saved and resumed.

`QLearner` is Q-learning and CpRM, `HierarchicalLearner` the hierarchical method. Both hand their arrays
to a kernel (`q_kernel`, `options_kernel`), which comes back when it is done or when it needs something:
room in a table, or a look at the clock. It gets that and continues.

A snapshot is taken between two episodes. It has only what cannot be found again: stacks and rows by
their numbers, not where each label leads. It is our own, and its file has a checksum.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import (
    BadSetting,
    CannotTranslate,
    DoesNotApply,
    EndlessSilentMoves,
    UndefinedMove,
)
from pdrm.files import Arrays
from pdrm.language.writer import to_text
from pdrm.learning.agents import CountingQ, Hierarchical, QLearning
from pdrm.learning.curve import Test
from pdrm.learning.randomness import seed_streams
from pdrm.learning.settings import BuiltInAgent
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular import options_kernel, q_kernel
from pdrm.learning.tabular.hierarchical import TOP, acting_heads, options_in_play
from pdrm.learning.tabular.learner_tables import Observed, QTable, begin_progress, find_rates
from pdrm.learning.tabular.memory import AnyMemory, first_vectors
from pdrm.learning.tabular.policy import (
    HierarchicalPolicy,
    QPolicy,
    TabularPolicy,
    option_texts,
)
from pdrm.learning.tabular.policy_table import CounterVectors, PolicyTable, StackTree
from pdrm.learning.tabular.q_learning import find_potential
from pdrm.learning.tabular.rows_kernel import count_views
from pdrm.machines.counting import MOST_SILENT_MOVES, CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import Potentials
from pdrm.product.explore_kernel import (
    BEYOND,
    ENDLESS,
    NO_ROOM,
    UNDEFINED_LABEL,
    add_vector,
    begin_exploring,
    see,
)
from pdrm.product.hash_kernel import Index
from pdrm.product.views import FullStack, View
from pdrm.task import Task, largest_reward

EVERY = 10_000
"""Updates between two looks at the clock: a fraction of a millisecond."""
LARGEST_REWARD = 1e150
"""The largest reward that is learnt from: sums of as many as there will ever be are numbers."""
Results = tuple[Rewards, Integers, Integers]
"""Returns, steps and last machine states of evaluation episodes, for a kernel to fill."""


class TabularLearner(ABC):
    """The part that both learners share. Each makes its tables and calls its two kernels."""

    machines: ClassVar[tuple[type, ...]] = (PushdownRewardMachine,)

    def __init__(
        self,
        domain: FiniteDomain,
        machine: AnyMemory,
        view: View,
        settings: QLearning | Hierarchical,
        seed: int,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        if not isinstance(machine, self.machines):
            names = " or ".join(kind.__name__ for kind in self.machines)
            fault = (
                f"{type(self).__name__} learns with a {names}, not with a {type(machine).__name__}"
            )
            raise BadSetting(fault, fix="pdrm.catalogue('letter'), pdrm.load('task.pdrm')")
        if (largest := largest_reward(domain, machine)) > LARGEST_REWARD:
            fault = (
                f"a reward of ±{largest:g} is too large to learn from: sums of it would overflow"
            )
            raise BadSetting(fault, fix=f"rewards of up to {LARGEST_REWARD:g}")
        self.domain, self.machine, self.view = domain, machine, view
        self.settings = settings = settings.settled()
        self.seed, self._now = seed, now
        operations = settings.operations_per_episode if isinstance(settings, QLearning) else None
        self.explored = begin_exploring(machine, domain.labels, view, operations)
        self.rates = find_rates(settings, domain, machine, view)
        self.rng_state = seed_streams(seed, 2)  # the generator of training, and that of evaluations
        self.progress = begin_progress(settings.epsilon)
        self.table = self._new_table(1)

    def _new_table(self, choices: int) -> QTable:
        hashed = isinstance(self.view, FullStack) and not self.rates.imagines
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
        return int(self.table.used[0])

    def advance(self, until: int) -> None:
        """Train until this many episodes are done in all, but never past the settings' `episodes`."""
        until = min(until, self.settings.episodes)
        seconds = self.settings.seconds_per_episode
        if seconds is None:
            self._run(partial(self._learn, until))
            return
        self._learn(self.episodes)  # compile everything before a clock runs
        for episode in range(self.episodes, until):
            self.progress["late"], self.progress["updates"] = 0, 0
            self.progress["pause"] = EVERY
            began = self._now()
            while self._run(partial(self._learn, episode + 1)) == at.PAUSE:
                self.progress["late"] = late = self._now() - began > seconds
                self.progress["pause"] = 0 if late else self.progress["updates"] + EVERY

    def test(self, domain: FiniteDomain | None = None, episodes: int | None = None) -> Test:
        """Greedy episodes in a domain that shares states, actions and labels (default: all evaluation domains)."""
        domains = self.domain.tested_on if domain is None else (domain,)
        count = episodes or self.settings.test_episodes
        parts = [self._test_in(where, count) for where in domains]
        returns, steps, ends = zip(*parts, strict=True)
        return Test(np.concatenate(returns), np.concatenate(steps), np.concatenate(ends))

    def _test_in(self, where: FiniteDomain, count: int) -> tuple[Rewards, Integers, Any]:
        self.domain.check_shares(where)
        returns, steps, ends = np.zeros(count), np.zeros(count, np.int32), np.zeros(count, np.int32)
        limit = self.settings.step_limit or where.step_limit
        self._run(partial(self._test, where, limit, returns, steps, ends))
        names = np.array((*self.machine.states, *self.machine.final))
        return returns, steps.astype(np.int64), names[ends]

    @abstractmethod
    def policy(self, about: dict[str, Any] | None = None) -> TabularPolicy:
        """The policy so far. about: JSON values that are saved with it."""

    def _decode(self) -> PolicyTable:
        """The table by what is seen. A key is (number of the view) * environment states +
        environment state; the view's number is (stack or counter vector, or number of the top
        symbols) * machine states + machine state."""
        machine, explored = self.machine, self.explored
        view, environment_state = np.divmod(self.table.key[: self.rows], self.domain.states)
        node, machine_state = np.divmod(view, explored.states)
        memory: StackTree | CounterVectors
        if isinstance(machine, CountingRewardAutomaton):
            memory = CounterVectors(explored.counters[: explored.stacks.made[0]].copy())
        elif isinstance(self.view, FullStack):
            memory = tree_of(machine, explored.stacks)
            node = explored.index.key[node]
        else:
            numbers, place = np.unique(node, return_inverse=True)
            tops = Stacks.empty(len(machine.stack), self.view.k * len(numbers) + 2)
            codes = explored.index.key[numbers]
            nodes = [tops.node_of(self._symbols(code)) for code in codes.tolist()]
            memory = tree_of(machine, tops)
            node = np.array(nodes, np.int64)[place]
        value = self.table.value[: self.rows]
        if not np.isfinite(value).all():
            raise BadSetting("the values diverged (NaN or inf)", fix="smaller rewards")
        states, seen = (*machine.states, *machine.final), (environment_state, machine_state, node)
        return PolicyTable.of(self.view, states, memory, seen, value)

    def _symbols(self, code: int) -> list[int]:
        """The top symbols of a number that `stack_code` made."""
        base = self.explored.stacks.child.shape[1]
        symbols = []
        while code:
            code, digit = divmod(code, base)
            symbols.append(digit)
        return [symbol for symbol in reversed(symbols) if symbol]

    def facts(self) -> dict[str, float]:
        """The state of the run in numbers."""
        epsilon = float(self.progress["epsilon"][0])
        return {"epsilon": epsilon, "steps": float(self.steps), "rows": float(self.rows)}

    def _run(self, kernel: Callable[[], int]) -> int:
        """Call a kernel until it is done or pauses, and make room in between."""
        while (status := kernel()) not in (at.DONE, at.PAUSE):
            if status == NO_ROOM:
                self.explored = self.explored.grow()
            elif status == at.NO_ROWS:
                rows, views = int(self.progress["rows"][0]), int(count_views(self.explored))
                self.table = self.table.grow(rows, views)
            elif status in (at.NO_ENTRIES, at.NO_POTENTIALS):
                self._make_room()
            else:
                self._refuse(status)
        return status

    def _refuse(self, status: int) -> None:
        name = self.machine.name
        if status == UNDEFINED_LABEL:
            fault = (
                f"domain `{self.domain.name}` emits a label that machine `{name}` has no rule for"
            )
            fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases"
            raise UndefinedMove(fault, fix=fix)
        if status == ENDLESS:
            fault = f"machine `{name}` makes more than {MOST_SILENT_MOVES:,} silent moves after one label"
            fix = "set operations_per_episode: an episode ends before such a step"
            raise EndlessSilentMoves(fault, fix=fix)
        assert status == BEYOND
        fault = f"the counters of `{name}` may grow beyond 64 bits"
        raise BadSetting(fault, fix="use a smaller operations_per_episode")

    def save(self) -> Arrays:
        """The state of the run between two episodes, as arrays."""
        stacks, index, used = self.explored.stacks, self.explored.index, self.rows
        made = int(stacks.made[0])
        return {
            "progress": self.progress.view(np.int64),
            "rng_state": self.rng_state,
            "symbol": stacks.symbol[:made],
            "parent": stacks.parent[:made],
            "height": stacks.height[:made],
            "counters": self.explored.counters[:made],
            "index": index.key[: int(index.used[0])],
            "key": self.table.key[:used],
            "value": self.table.value[:used],
        }

    def load(self, arrays: Arrays) -> None:
        """Put a new run into a saved state."""
        self.progress[:] = arrays["progress"].view(at.PROGRESS)
        self.rng_state[:] = arrays["rng_state"]
        symbol, parent, nodes = arrays["symbol"], arrays["parent"], len(arrays["symbol"])
        explored = self.explored
        while explored.stacks.capacity < nodes:
            explored = explored.grow()
        parts = explored.stacks._asdict()
        for name in ("symbol", "parent", "height"):
            parts[name][:nodes] = arrays[name]
        if explored.counts:
            explored.counters[:nodes] = arrays["counters"]
        else:
            parts["child"][parent[1:], symbol[1:]] = np.arange(1, nodes, dtype=np.int32)
        parts["made"][0] = nodes
        index = Index.of(arrays["index"], explored.stacks.capacity)
        self.explored = explored._replace(stacks=Stacks(**parts), index=index)
        key, views = arrays["key"], max(self.table.views, int(count_views(self.explored)))
        states, room = self.domain.states, 2 * len(key) + 1
        self.table = QTable.of(key, arrays["value"], states, room, views)

    @abstractmethod
    def _learn(self, until: int) -> int:
        """Call the learning kernel once."""

    @abstractmethod
    def _test(self, where: FiniteDomain, limit: int, *results: *Results) -> int:
        """Call the testing kernel once."""

    @abstractmethod
    def _make_room(self) -> None:
        """Grow the tables that are full, other than those that all learners have."""


def tree_of(machine: PushdownRewardMachine, stacks: Stacks) -> StackTree:
    """These stacks as a policy keeps them."""
    made = int(stacks.made[0])
    return StackTree(machine.stack, stacks.symbol[:made].copy(), stacks.parent[:made].copy())


class QLearner(TabularLearner):
    """One run of Q-learning or CpRM.

    >>> import pdrm
    >>> from pdrm.learning.agents import CpRM
    >>> maze = pdrm.domain("maze-5x5")
    >>> learner = QLearner(maze, pdrm.catalogue(maze.machine), pdrm.product.TopK(1), CpRM(), seed=0)
    >>> learner.advance(until=1_000)
    >>> learner.episodes, float(learner.test().returns.mean())
    (1000, 100005.0)
    """

    settings: QLearning
    machines = (PushdownRewardMachine, CountingRewardAutomaton)

    def __init__(
        self,
        domain: FiniteDomain,
        machine: AnyMemory,
        view: View,
        settings: QLearning,
        seed: int,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(domain, machine, view, settings, seed, now)
        self.table = self._new_table(len(domain.actions))
        potential = find_potential(settings, domain, machine)
        self.potentials = Potentials.none() if potential is None else potential.tables()
        nodes = []
        for vector in first_vectors(machine, settings.counter_values):
            self.explored, node = add_vector(self.explored, vector)
            nodes.append(node)
        keys = np.array(nodes, np.int64)
        self._observe(keys, (keys * self.explored.states).astype(np.int32))

    def policy(self, about: dict[str, Any] | None = None) -> QPolicy:
        return QPolicy(about or {}, to_text(self.machine), self.domain.actions, self._decode())

    def _observe(self, keys: npt.NDArray[np.int64], first: Integers) -> None:
        """Set the stacks for counterfactuals."""
        for configuration in first.tolist():
            see(self.explored, configuration // self.explored.states)
        seen = self.explored.seen[first]
        labels, states = len(self.domain.labels), self.explored.first_final
        self.observed = Observed.of(keys, first, seen, labels, states)

    def _learn(self, until: int) -> int:
        status: int = q_kernel.learn(
            self.domain.arrays,
            self.explored,
            self.table,
            self.observed,
            self.potentials,
            self.rng_state[:1],
            self.rates,
            self.progress,
            until,
        )
        return status

    def _test(self, where: FiniteDomain, limit: int, *results: *Results) -> int:
        status: int = q_kernel.test(
            where.arrays,
            self.explored,
            self.table,
            self.rng_state[1:],
            self.rates,
            limit,
            *results,
        )
        return status

    def _make_room(self) -> None:
        self.observed = self.observed.grow()
        if 2 * self.potentials.filled[0] >= len(self.potentials.value) > 0:
            self.potentials = self.potentials.grow()

    def save(self) -> Arrays:
        entries = int(self.observed.index.used[0])
        return super().save() | {
            "observed.key": self.observed.index.key[:entries],
            "observed.first": self.observed.first[:entries],
            "observed.turn": self.observed.turn,
        }

    def load(self, arrays: Arrays) -> None:
        super().load(arrays)
        self._observe(arrays["observed.key"], arrays["observed.first"])
        self.observed.turn[:] = arrays["observed.turn"]
        self.potentials.filled[:] = np.minimum(self.potentials.filled, 1)


class HierarchicalLearner(TabularLearner):
    """One run of the hierarchical method.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.views import TopK
    >>> learner = HierarchicalLearner(domain("deliver-8"), catalogue("deliver"), TopK(1), Hierarchical(), seed=0)
    >>> learner.advance(until=3)
    >>> learner.episodes, learner.test().returns.shape
    (3, (10,))
    """

    settings: Hierarchical
    machine: PushdownRewardMachine

    def __init__(
        self,
        domain: FiniteDomain,
        machine: AnyMemory,
        view: View,
        settings: Hierarchical,
        seed: int,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(domain, machine, view, settings, seed, now)
        self.options = at.tabulate_options(
            self.machine, domain.labels, acting_heads(self.machine, domain)
        )
        most = self.options.achieved.shape[3]
        self.table = self._new_table(most)
        """The meta-policy's."""
        heads, columns = len(self.options.head_state), most * len(domain.actions)
        self.within = np.zeros((domain.states, heads, columns))
        """[environment state, head, option * actions + action]: the options' values."""
        self.met = np.zeros(domain.states, np.bool_)
        """[environment state]: True if the options know anything of it."""

    def policy(self, about: dict[str, Any] | None = None) -> HierarchicalPolicy:
        machine, own = self.machine, self.options
        table = self._decode()
        place = np.flatnonzero(self.met)
        heads = len(own.head_state)
        tops = Stacks.empty(len(machine.stack), len(machine.stack) + 1)
        nodes = [tops.node_of([top] if top else []) for top in own.head_top.tolist()]
        seen = (
            np.repeat(place, heads),
            np.tile(own.head_state, len(place)),
            np.tile(nodes, len(place)),
        )
        value = self.within[place].reshape(-1, self.within.shape[2])
        within = PolicyTable.of(TOP, table.states, tree_of(machine, tops), seen, value)
        options = options_in_play(machine, acting_heads(machine, self.domain))
        texts = {state: option_texts(each) for state, each in options.items()}
        return HierarchicalPolicy(
            about or {}, to_text(machine), self.domain.actions, table, texts, within
        )

    def _learn(self, until: int) -> int:
        status: int = options_kernel.learn(
            self.domain.arrays,
            self.explored,
            self.options,
            self.table,
            self.met,
            self.within,
            self.rng_state[:1],
            self.rates,
            self.progress,
            until,
        )
        return status

    def _test(self, where: FiniteDomain, limit: int, *results: *Results) -> int:
        status: int = options_kernel.test(
            where.arrays,
            self.explored,
            self.options,
            self.table,
            self.within,
            self.rng_state[1:],
            limit,
            *results,
        )
        return status

    def _make_room(self) -> None:
        """No other table grows."""

    def save(self) -> Arrays:
        return super().save() | {"met": self.met, "within": self.within[self.met]}

    def load(self, arrays: Arrays) -> None:
        super().load(arrays)
        self.met[:] = arrays["met"]
        self.within[self.met] = arrays["within"]


def make_learner(task: Task, agent: BuiltInAgent, seed: int) -> QLearner | HierarchicalLearner:
    """A run of a tabular agent, before its first episode."""
    if task.continuous:
        raise DoesNotApply(
            f"agent `{agent.name}` learns a table, and {task.name} is continuous",
            fix='train a network: agent="ppo" (--agent ppo)',
        )
    agent = agent.settled(task)
    view: View | None = agent.view
    assert view is not None
    if isinstance(agent, Hierarchical):
        return HierarchicalLearner(task.finite, task.pushdown, view, agent, seed)
    if isinstance(agent, QLearning):
        machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
        return QLearner(task.finite, machine, view, agent, seed)
    raise CannotTranslate(
        f"agent `{agent.name}` is not tabular", fix="use q, cprm, hrm, cra-q or cra-cql"
    )
