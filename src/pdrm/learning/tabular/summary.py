"""The agent `summary`: it learns a model of a deterministic environment and acts optimally with
respect to it.

Each transition is recorded once and backed up for every machine state and top symbol
(`WholeStack.note`), so one step teaches about stacks of all heights. Training is optimistic: the
agent follows known transitions to an untried action (`seek_kernel`). From episode to episode, the
action is in turn the nearest one, and the one with the highest discounted, undiscounted and again
discounted return on the way. Actions that probably end the episode, judging by their labels in
other states, are tried last. If no untried action can be reached, the agent acts greedily, as in
evaluations.

The transitions and the machine determine the operators (`analysis/whole_stack`), so only
transitions are saved. A loaded policy solves the operators when it first acts.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from pdrm.analysis.whole_stack import WholeStack, check_deterministic
from pdrm.analysis.whole_stack_kernel import NONE, World
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, StateLike, pick
from pdrm.errors import StochasticMoves, UndefinedMove, WrongPolicy
from pdrm.files import Arrays, check_all, within
from pdrm.language.writer import to_text
from pdrm.learning.agents import Summary
from pdrm.learning.protocol import BuiltInLearner, EvaluationResult, Until
from pdrm.learning.settings import JsonObject
from pdrm.learning.tabular.policy import (
    RowKey,
    StackOrCounters,
    TabularPolicy,
    check_configuration,
    number_state,
)
from pdrm.learning.tabular.q_learning import no_rule_error
from pdrm.learning.tabular.rows_kernel import list_arrays, put_arrays
from pdrm.learning.tabular.seek_kernel import NEAREST, RICHEST, find_path, guess_end, guess_labels
from pdrm.machines.guards import Label
from pdrm.machines.tables import Rewards, Symbols, begin_table, step_table, tabulate
from pdrm.product.observation import FullStack
from pdrm.task import Task

KIND = "summary"
WORLD = "world."
"""The prefix of the names of saved arrays."""
CLOSE = 1e-9
"""Values with a smaller difference, as a share of the largest, count as equal."""


def empty_world(states: int, actions: int) -> World:
    """A world without known transitions."""
    return World(
        np.full((states, actions), NONE, np.int32),
        np.zeros((states, actions), np.int32),
        np.zeros((states, actions)),
        np.zeros(states, np.bool_),
    )


@dataclass(frozen=True, eq=False, repr=False)
class SummaryPolicy(TabularPolicy):
    """Acts optimally with respect to the known transitions, with any stack."""

    labels: tuple[Label, ...]
    discount: float
    world: World
    """The known transitions."""

    def __len__(self) -> int:
        return int((self.world.next >= 0).sum())

    @property
    def view(self) -> FullStack:
        """The view of the stack: all symbols."""
        return FullStack()

    @cached_property
    def solver(self) -> WholeStack:
        """The operators, solved when they are first needed."""
        table = tabulate(self.pushdown, self.labels)
        return WholeStack(self.world, table, self.discount, precision=1e-9)

    def values(
        self, environment_state: StateLike, machine_state: str, memory: StackOrCounters
    ) -> Rewards:
        """The value of each action, or -inf if it was never tried.

        `memory` is the stack, top first.
        """
        machine = self.pushdown
        states = (*machine.states, *machine.final)
        stack = machine.stack
        check_configuration(machine_state, memory, states, stack)
        env_state = number_state(environment_state, self.domain)
        env_states = len(self.world.terminal)
        if env_state >= env_states:
            fault = f"{env_state} is not a state of the environment this was learnt in"
            raise WrongPolicy(fault, fix=f"states are 0 to {env_states - 1}")
        symbols = tuple(stack.index(str(symbol)) + 1 for symbol in memory)
        return find_values(self.solver, env_state, states.index(machine_state), symbols)

    @cached_property
    def _heads(self) -> list[tuple[str, str, int]]:
        env_states = np.flatnonzero((self.world.next >= 0).any(axis=1)).tolist()
        return list(product(self.pushdown.states, self.pushdown.stack, env_states))

    def _height(self) -> int:
        """Its table shows stacks of one symbol, in environment states with known transitions."""
        return len(self._heads)

    def _seen(self, row: int) -> RowKey:
        state, symbol, env_state = self._heads[row]
        return env_state, state, (symbol,)

    def _saved(self) -> tuple[JsonObject, Arrays]:
        labels = [sorted(label) for label in self.labels]
        description = {"kind": KIND, "labels": labels, "discount": self.discount}
        return description, list_arrays(self.world, WORLD)


def find_values(solver: WholeStack, env_state: int, state: int, symbols: Symbols) -> Rewards:
    """The values of the actions, or -inf for unknown ones. Almost equal values are made equal."""
    if state >= solver.table.first_final or solver.world.terminal[env_state]:
        return np.zeros(solver.world.next.shape[1])
    values = solver.action_values(env_state, state, symbols)
    values[np.isnan(values)] = -np.inf
    best = values.max()
    if np.isfinite(best):
        values[values >= best - CLOSE * max(1.0, abs(best))] = best
    return values


def read_summary_policy(arrays: Arrays, description: JsonObject) -> SummaryPolicy:
    """The policy in these arrays with this description. Raises `ValueError` if they are damaged."""
    text = str(description["machine"])
    actions = tuple(map(str, description["actions"]))
    labels = tuple(frozenset(map(str, label)) for label in description["labels"])
    discount = float(description["discount"])
    world: World = put_arrays(empty_world(0, 0), arrays, WORLD)
    states = len(world.terminal)
    shapes_agree = all(part.shape == (states, len(actions)) for part in world[:3])
    in_bounds = within(world.next, NONE, states - 1) and within(world.label, 0, len(labels) - 1)
    check_all(
        (0 <= discount < 1, "invalid discount"),
        (shapes_agree and in_bounds, "its moves are out of bounds"),
    )
    policy = SummaryPolicy(description["about"], text, actions, labels, discount, world)
    tabulate(policy.pushdown, labels)  # the machine must read the labels
    return policy


# --- Learning

TRAINING, EVALUATION = range(2)
"""Streams of random numbers. Every episode has its own generator."""
OTHER_AGENT = "train another agent, such as cprm"


class SummaryLearner(BuiltInLearner):
    """One run of the agent.

    >>> learner = SummaryLearner(Task("maze-5x5"), Summary(episodes=10), seed=0)
    >>> learner.advance(Until(episodes=10))
    >>> learner.episodes, float(learner.test(10).returns.mean())
    (10, 100005.0)
    """

    solver: WholeStack
    """The operators for the known transitions."""

    def __init__(self, task: Task, agent: Summary, seed: int) -> None:
        agent = agent.resolved(task)
        try:
            check_deterministic(task.finite)
        except StochasticMoves as error:
            raise StochasticMoves(error.message, fix=OTHER_AGENT) from None
        self.domain = task.finite
        self.machine = task.pushdown
        self.settings = agent
        self.seed = seed
        self.goals = (
            (NEAREST, 1.0),
            (RICHEST, agent.discount),
            (RICHEST, 1.0),
            (RICHEST, agent.discount),
        )
        self.table = tabulate(self.machine, self.domain.labels)
        self.world = empty_world(self.domain.states, len(self.domain.actions))
        self.episodes = 0
        self.steps = 0
        self._solve_again()

    # --- The interface of learners

    def advance(self, until: Until, /) -> None:
        """Train in whole episodes, but not beyond the agent's `episodes`."""
        if self._is_stale:  # its bounds can be made narrower
            self._solve_again()
        while not until.reached(self) and self.episodes < self.settings.episodes:
            rng = np.random.default_rng((self.seed, TRAINING, self.episodes))
            self.play(self.domain, rng, train=True)
            self.episodes += 1

    def test(self, episodes: int, _seed: int = 0, /) -> EvaluationResult:
        """Greedy episodes in each of the evaluation domains, with the run's generators."""
        results = []
        for number, domain in enumerate(self.domain.tested_on):
            rng = np.random.default_rng((self.seed, EVALUATION, self.episodes, number))
            results += [self.play(domain, rng, train=False) for _ in range(episodes)]
        returns, steps, ends = zip(*results, strict=True)
        names = np.array((*self.machine.states, *self.machine.final))
        return EvaluationResult(np.array(returns), np.array(steps, np.int64), names[list(ends)])

    def save(self) -> Arrays:
        """The state of the run between two episodes."""
        counts = np.array([self.episodes, self.steps], np.int64)
        return {"counts": counts, **list_arrays(self.world, WORLD)}

    def load(self, arrays: Arrays, /) -> None:
        """Restore a saved state in a new run."""
        self.episodes, self.steps = arrays["counts"].tolist()
        self.world = put_arrays(self.world, arrays, WORLD)
        self._solve_again()

    def facts(self) -> dict[str, float]:
        """The number of steps, of lines of the operators, and of all stored numbers."""
        size = self.solver.size
        numbers = size["numbers"] + sum(part.size for part in self.world)
        return {"steps": float(self.steps), "rows": float(size["lines"]), "numbers": float(numbers)}

    def policy(self, about: JsonObject | None = None) -> SummaryPolicy:
        """The present policy."""
        return SummaryPolicy(
            about or {},
            to_text(self.machine),
            self.domain.actions,
            self.domain.labels,
            float(self.settings.discount),
            deepcopy(self.world),
        )

    # --- Episodes

    def play(
        self, domain: FiniteDomain, rng: np.random.Generator, *, train: bool
    ) -> tuple[float, int, int]:
        """Play an episode; returns its return, its length and the last machine state."""
        arrays = domain.arrays
        step_limit = self.settings.step_limit or domain.step_limit
        start = pick(arrays.start_probability, float(rng.random()))
        s = int(arrays.start_state[start])
        label = int(arrays.start_label[start])
        u, stack, episode_return = begin_table(self.table)
        if label != NO_LABEL and u < self.table.first_final:
            u, stack, machine_reward = self._read(u, stack, label)
            episode_return += machine_reward
        if train:
            self._guess = guess_labels(self.world, len(self.domain.labels))
        goal, discount = self.goals[self.episodes % len(self.goals)]
        seeking = train
        plan: list[int] = []
        for step in range(step_limit):
            if u >= self.table.first_final or arrays.terminal[s]:
                return episode_return, step, u
            if seeking and not plan:
                turn = int(rng.integers(len(domain.actions)))
                plan = self._seek(s, u, stack, step_limit - step, goal, turn, discount)
                seeking = bool(plan)
            if plan:
                a = plan.pop(0)
            else:  # one of the best known actions
                values = find_values(self.solver, s, u, stack)
                a = int(rng.choice(np.flatnonzero(values == values.max())))
            outcome = s, a, pick(arrays.probability[s, a], float(rng.random()))
            next_s = int(arrays.next[outcome])
            label = int(arrays.label[outcome])
            env_reward = float(arrays.reward[outcome])
            if train:
                ends = bool(arrays.terminal[next_s])
                self._record(s, a, next_s, label, env_reward, ends=ends)
                self.steps += 1
            u, stack, machine_reward = self._read(u, stack, label)
            s = next_s
            episode_return += machine_reward + env_reward
        return episode_return, step_limit, u

    def _read(self, u: int, stack: Symbols, label: int) -> tuple[int, Symbols, float]:
        try:
            return step_table(self.table, u, stack, label)
        except UndefinedMove:
            raise no_rule_error(self.domain, self.machine.name) from None

    def _seek(
        self, s: int, u: int, stack: Symbols, left: int, goal: int, turn: int, discount: float
    ) -> list[int]:
        """The actions on a path to an untried action, or an empty list."""
        if goal == NEAREST:
            top = stack[0] if stack else 0
            untried = np.flatnonzero(self.world.next[s] < 0).tolist()
            going_on = [a for a in untried if not guess_end(self.table, u, self._guess[a], top)[0]]
            if going_on:
                return [going_on[turn % len(going_on)]]
        return find_path(
            self.world, self.table, self._guess, s, u, stack, left, goal, turn, discount
        )

    def _record(
        self, s: int, a: int, next_s: int, label: int, reward: float, *, ends: bool
    ) -> None:
        """Record a transition. A new one is backed up for every machine state and top symbol."""
        world = self.world
        if world.next[s, a] >= 0:
            return
        world.next[s, a] = next_s
        world.label[s, a] = label
        world.reward[s, a] = reward
        world.terminal[next_s] |= ends
        if abs(reward) > self._largest:
            self._solve_again()
        else:
            self.solver.note(s)
            self.solver.note(next_s)
        self._is_stale = True

    def _solve_again(self) -> None:
        """Solve the operators of all known transitions from scratch."""
        self._largest = float(np.abs(self.world.reward).max(initial=0.0))
        self._is_stale = False
        self.solver = WholeStack(
            self.world,
            self.table,
            self.settings.discount,
            precision=self.settings.precision,
            largest_unknown=self._largest,
        )
