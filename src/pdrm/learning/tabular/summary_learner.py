"""The agent `summary`: it learns a deterministic environment, and acts optimally by what it knows.

Each move that it experiences is recorded once, and backed up for every machine state and top symbol
(`WholeStack.note`), so one step teaches about all heights of the stack. In training it is
optimistic: it walks over known moves to an action that it has never tried (`seek_kernel`). In every
fourth episode that is the nearest one, in the others the one with the highest return on the way,
with and without discount in turn. Actions that would end the episode, judged by what they emit
elsewhere, come last. If no new action can be reached it acts greedily, as in evaluations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdrm.analysis.whole_stack import WholeStack, check_deterministic
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, pick
from pdrm.errors import BadSetting, StochasticMoves, UndefinedMove
from pdrm.files import Arrays
from pdrm.language.writer import to_text
from pdrm.learning.agents import Summary
from pdrm.learning.curve import Test
from pdrm.learning.tabular.seek_kernel import NEAREST, RICHEST, find_way, guess_end, guess_labels
from pdrm.learning.tabular.summary_policy import (
    SummaryPolicy,
    find_values,
    nothing_known,
    read_world,
    world_arrays,
)
from pdrm.machines.tables import Symbols, begin_table, step_table, tabulate
from pdrm.task import Task

TRAINING, TESTING = range(2)
"""Streams of random numbers; every episode has a generator of its own."""
ANOTHER = "train another agent, such as cprm"


class SummaryLearner:
    """One run of the agent.

    >>> learner = SummaryLearner(Task("maze-5x5"), Summary(episodes=10), seed=0)
    >>> learner.advance(until=10)
    >>> learner.episodes, float(learner.test().returns.mean())
    (10, 100005.0)
    """

    solver: WholeStack
    """The operators of what is known."""

    def __init__(self, task: Task, agent: Summary, seed: int) -> None:
        if task.continuous:
            raise BadSetting(
                f"agent `{agent.name}` learns a table, and {task.name} is continuous",
                fix="train a network, such as ppo",
            )
        agent = agent.settled(task)
        try:
            check_deterministic(task.finite)
        except StochasticMoves as error:
            raise StochasticMoves(error.message, fix=ANOTHER) from None
        self.domain = task.finite
        self.machine = task.pushdown
        self.agent = agent
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

    def advance(self, until: int) -> None:
        """Train until this many episodes are done in all, but never past the agent's `episodes`."""
        if self._stale:  # the values have narrower bounds by now
            self._begin()
        while self.episodes < min(until, self.agent.episodes):
            rng = np.random.default_rng((self.seed, TRAINING, self.episodes))
            self.play(self.domain, rng, train=True)
            self.episodes += 1

    def test(self) -> Test:
        """Greedy episodes in each of the evaluation domains, as one evaluation."""
        found = []
        for number, where in enumerate(self.domain.tested_on):
            self.domain.check_shares(where)
            rng = np.random.default_rng((self.seed, TESTING, self.episodes, number))
            found += [self.play(where, rng, train=False) for _ in range(self.agent.test_episodes)]
        returns, steps, ends = zip(*found, strict=True)
        names = np.array((*self.machine.states, *self.machine.final))
        return Test(np.array(returns), np.array(steps, np.int64), names[list(ends)])

    def save(self) -> Arrays:
        """The state of the run, between two episodes."""
        counts = np.array([self.episodes, self.steps], np.int64)
        return {"counts": counts, **world_arrays(self.world)}

    def load(self, arrays: Arrays) -> None:
        """Put a new run into a saved state."""
        self.episodes, self.steps = arrays["counts"].tolist()
        self.world = read_world(arrays)
        self._begin()

    def facts(self) -> dict[str, float]:
        """Counts of steps, of the lines of the operators, and of all numbers that are kept."""
        size = self.solver.size
        numbers = size.numbers + sum(part.size for part in self.world)
        return {"steps": float(self.steps), "rows": float(size.lines), "numbers": float(numbers)}

    def policy(self, about: dict[str, Any] | None = None) -> SummaryPolicy:
        """The policy so far."""
        return SummaryPolicy(
            about or {},
            to_text(self.machine),
            self.domain.actions,
            self.domain.labels,
            float(self.agent.discount),
            read_world(world_arrays(self.world)),
        )

    # --- Episodes

    def play(
        self, where: FiniteDomain, rng: np.random.Generator, *, train: bool
    ) -> tuple[float, int, int]:
        """Play an episode; return its return, its steps, and the machine state that it ends in."""
        arrays = where.arrays
        limit = self.agent.step_limit or where.step_limit
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
            raise UndefinedMove(
                f"domain `{self.domain.name}` emits a label that machine `{self.machine.name}`"
                " has no rule for",
                fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the"
                " machine; `pdrm check` lists the cases",
            ) from None

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
            if (world.next[s, a], world.label[s, a], world.reward[s, a]) != (after, label, r):
                raise StochasticMoves(
                    f"the moves of `{self.domain.name}` are not deterministic:"
                    f" `{self.domain.actions[a]}` in state {s} had two outcomes",
                    fix=ANOTHER,
                )
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
            self.agent.discount,
            precision=self.agent.precision,
            largest_unknown=self._largest,
        )
