"""The agent `summary`: it learns a deterministic environment, and acts optimally by what it knows.

Each move that it experiences is recorded once, and backed up for every machine state and top symbol
(`WholeStack.note`), so one step teaches about all heights of the stack. In training it is
optimistic: it walks over known moves to an action that it has never tried (`seek_kernel`). In every
fourth episode that is the nearest one, in the others the one with the highest return on the way,
with and without discount in turn. Actions that would end the episode, judged by what they emit
elsewhere, come last. If no new action can be reached it acts greedily, as in evaluations.

The operators (`analysis/whole_stack`) follow from the moves and the machine, so only the moves are
saved. The operators are found again when the policy is first asked.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.analysis.whole_stack import WholeStack, check_deterministic
from pdrm.analysis.whole_stack_kernel import NONE, World
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, StateLike, pick
from pdrm.errors import StochasticMoves, UndefinedMove, WrongPolicy
from pdrm.files import Arrays, check_all, within
from pdrm.language.writer import to_text
from pdrm.learning.agents import Summary
from pdrm.learning.protocol import BuiltInLearner, EvaluationResult, Until
from pdrm.learning.tabular.policy import (
    Memory,
    SeenThere,
    TabularPolicy,
    check_there,
    number_state,
)
from pdrm.learning.tabular.q_learning import no_rule
from pdrm.learning.tabular.rows_kernel import list_arrays, put_arrays
from pdrm.learning.tabular.seek_kernel import NEAREST, RICHEST, find_way, guess_end, guess_labels
from pdrm.machines.guards import Label
from pdrm.machines.tables import Symbols, begin_table, step_table, tabulate
from pdrm.product.observation import FullStack
from pdrm.task import Task

KIND = "summary"
WORLD = "world."
"""The names of the experienced moves begin so when they are saved."""
CLOSE = 1e-9
"""Values that differ by less than this share of the largest count as equal."""


def nothing_known(states: int, actions: int) -> World:
    """A world of which nothing has been experienced."""
    return World(
        np.full((states, actions), NONE, np.int32),
        np.zeros((states, actions), np.int32),
        np.zeros((states, actions)),
        np.zeros(states, np.bool_),
    )


@dataclass(frozen=True, eq=False, repr=False)
class SummaryPolicy(TabularPolicy):
    """Acts by the operators of what was experienced, with any stack."""

    labels: tuple[Label, ...]
    discount: float
    world: World
    """The experienced moves."""

    def __len__(self) -> int:
        return int((self.world.next >= 0).sum())

    @property
    def view(self) -> FullStack:
        """The view of the stack: all of it."""
        return FullStack()

    @cached_property
    def solver(self) -> WholeStack:
        """The operators, found when they are first needed."""
        table = tabulate(self.pushdown, self.labels)
        return WholeStack(self.world, table, self.discount, precision=1e-9)

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The value of each action, -inf if it was never experienced. `memory`: the stack, top first."""
        machine = self.pushdown
        states, stack = (*machine.states, *machine.final), machine.stack
        check_there(machine_state, memory, states, stack)
        env_state, env_states = (
            number_state(environment_state, self.domain),
            len(self.world.terminal),
        )
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
        """The actions with one symbol on the stack, in environment states whose moves were experienced."""
        return len(self._heads)

    def _seen(self, row: int) -> SeenThere:
        state, symbol, env_state = self._heads[row]
        return env_state, state, (symbol,)

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        labels = [sorted(label) for label in self.labels]
        own = {"kind": KIND, "labels": labels, "discount": self.discount}
        return own, list_arrays(self.world, WORLD)


def find_values(
    solver: WholeStack, env_state: int, state: int, symbols: Symbols
) -> npt.NDArray[np.float64]:
    """The values of the actions, -inf if they are not known; those that are close are made equal."""
    if state >= solver.table.first_final or solver.world.terminal[env_state]:
        return np.zeros(solver.world.next.shape[1])
    values = solver.action_values(env_state, state, symbols)
    values[np.isnan(values)] = -np.inf
    best = values.max()
    if np.isfinite(best):
        values[values >= best - CLOSE * max(1.0, abs(best))] = best
    return values


def read_summary_policy(arrays: Arrays, description: dict[str, Any]) -> SummaryPolicy:
    """The policy that the arrays and their description are; `ValueError` if they are damaged."""
    text, actions = str(description["machine"]), tuple(map(str, description["actions"]))
    labels = tuple(frozenset(map(str, label)) for label in description["labels"])
    discount = float(description["discount"])
    world: World = put_arrays(nothing_known(0, 0), arrays, WORLD)
    states = len(world.terminal)
    alike = all(part.shape == (states, len(actions)) for part in world[:3])
    moves = within(world.next, NONE, states - 1) and within(world.label, 0, len(labels) - 1)
    check_all(
        (0 <= discount < 1, "invalid discount"), (alike and moves, "its moves are out of bounds")
    )
    policy = SummaryPolicy(description["about"], text, actions, labels, discount, world)
    tabulate(policy.pushdown, labels)  # the machine must read the labels
    return policy


# --- Learning

TRAINING, TESTING = range(2)
"""Streams of random numbers; every episode has a generator of its own."""
ANOTHER = "train another agent, such as cprm"


class SummaryLearner(BuiltInLearner):
    """One run of the agent.

    >>> learner = SummaryLearner(Task("maze-5x5"), Summary(episodes=10), seed=0)
    >>> learner.advance(Until(episodes=10))
    >>> learner.episodes, float(learner.test(10).returns.mean())
    (10, 100005.0)
    """

    solver: WholeStack
    """The operators of what is known."""

    def __init__(self, task: Task, agent: Summary, seed: int) -> None:
        agent = agent.resolved(task)
        try:
            check_deterministic(task.finite)
        except StochasticMoves as error:
            raise StochasticMoves(error.message, fix=ANOTHER) from None
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
        self.world = nothing_known(self.domain.states, len(self.domain.actions))
        self.episodes = 0
        self.steps = 0
        self._begin()

    # --- What the training loop asks

    def advance(self, until: Until, /) -> None:
        """Train until then, in whole episodes, but never past the agent's `episodes`."""
        if self._stale:  # the values have narrower bounds by now
            self._begin()
        while not until.reached(self) and self.episodes < self.settings.episodes:
            rng = np.random.default_rng((self.seed, TRAINING, self.episodes))
            self.play(self.domain, rng, train=True)
            self.episodes += 1

    def test(self, episodes: int, _seed: int = 0, /) -> EvaluationResult:
        """Greedy episodes in each of the evaluation domains, as one evaluation, with the run's own generators."""
        found = []
        for number, where in enumerate(self.domain.tested_on):
            rng = np.random.default_rng((self.seed, TESTING, self.episodes, number))
            found += [self.play(where, rng, train=False) for _ in range(episodes)]
        returns, steps, ends = zip(*found, strict=True)
        names = np.array((*self.machine.states, *self.machine.final))
        return EvaluationResult(np.array(returns), np.array(steps, np.int64), names[list(ends)])

    def save(self) -> Arrays:
        """The state of the run, between two episodes."""
        counts = np.array([self.episodes, self.steps], np.int64)
        return {"counts": counts, **list_arrays(self.world, WORLD)}

    def load(self, arrays: Arrays, /) -> None:
        """Put a new run into a saved state."""
        self.episodes, self.steps = arrays["counts"].tolist()
        self.world = put_arrays(self.world, arrays, WORLD)
        self._begin()

    def facts(self) -> dict[str, float]:
        """Counts of steps, of the lines of the operators, and of all numbers that are kept."""
        size = self.solver.size
        numbers = size["numbers"] + sum(part.size for part in self.world)
        return {"steps": float(self.steps), "rows": float(size["lines"]), "numbers": float(numbers)}

    def policy(self, about: dict[str, Any] | None = None) -> SummaryPolicy:
        """The policy so far."""
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
        self, where: FiniteDomain, rng: np.random.Generator, *, train: bool
    ) -> tuple[float, int, int]:
        """Play an episode; return its return, its steps, and the machine state that it ends in."""
        arrays = where.arrays
        limit = self.settings.step_limit or where.step_limit
        start = pick(arrays.start_probability, float(rng.random()))
        s = int(arrays.start_state[start])
        label = int(arrays.start_label[start])
        u, stack, gained = begin_table(self.table)
        if label != NO_LABEL and u < self.table.first_final:
            u, stack, paid = self._read(u, stack, label)
            gained += paid
        if train:
            self._guess = guess_labels(self.world, len(self.domain.labels))
        goal, discount = self.goals[self.episodes % len(self.goals)]
        seeking = train
        plan: list[int] = []
        for step in range(limit):
            if u >= self.table.first_final or arrays.terminal[s]:
                return gained, step, u
            if seeking and not plan:
                turn = int(rng.integers(len(where.actions)))
                plan = self._seek(s, u, stack, limit - step, goal, turn, discount)
                seeking = bool(plan)
            if plan:
                a = plan.pop(0)
            else:  # one of the best by what is known
                values = find_values(self.solver, s, u, stack)
                a = int(rng.choice(np.flatnonzero(values == values.max())))
            outcome = s, a, pick(arrays.probability[s, a], float(rng.random()))
            after = int(arrays.next[outcome])
            label = int(arrays.label[outcome])
            r = float(arrays.reward[outcome])
            if train:
                self._experience(s, a, after, label, r, ends=bool(arrays.terminal[after]))
                self.steps += 1
            u, stack, paid = self._read(u, stack, label)
            s = after
            gained += paid + r
        return gained, limit, u

    def _read(self, u: int, stack: Symbols, label: int) -> tuple[int, Symbols, float]:
        try:
            return step_table(self.table, u, stack, label)
        except UndefinedMove:
            raise no_rule(self.domain, self.machine.name) from None

    def _seek(
        self, s: int, u: int, stack: Symbols, left: int, goal: int, turn: int, discount: float
    ) -> list[int]:
        """The actions to one that was never tried, or none."""
        if goal == NEAREST:
            top = stack[0] if stack else 0
            untried = np.flatnonzero(self.world.next[s] < 0).tolist()
            here = [a for a in untried if not guess_end(self.table, u, self._guess[a], top)[0]]
            if here:
                return [here[turn % len(here)]]
        return find_way(
            self.world, self.table, self._guess, s, u, stack, left, goal, turn, discount
        )

    def _experience(self, s: int, a: int, after: int, label: int, r: float, *, ends: bool) -> None:
        """Record a move; a new one is backed up for every machine state and top symbol."""
        world = self.world
        if world.next[s, a] >= 0:
            return
        world.next[s, a] = after
        world.label[s, a] = label
        world.reward[s, a] = r
        world.terminal[after] |= ends
        if abs(r) > self._largest:
            self._begin()
        else:
            self.solver.note(s)
            self.solver.note(after)
        self._stale = True

    def _begin(self) -> None:
        """Find the operators of what is known from scratch."""
        self._largest = float(np.abs(self.world.reward).max(initial=0.0))
        self._stale = False
        self.solver = WholeStack(
            self.world,
            self.table,
            self.settings.discount,
            precision=self.settings.precision,
            largest_unknown=self._largest,
        )
