"""The agent `summary`: it learns the moves of a deterministic environment and acts optimally by what it knows, with any stack.

Every move that it experiences is noted once, and every pair of machine state and top symbol at that environment state is backed up
(`Summaries.note`), whatever the machine was doing: so one step teaches about all heights of the stack. While it trains it is
optimistic: it goes, over moves that it knows, to an action that it never tried (`seek_kernel`). In every fourth episode that is the nearest
such action; in the others it is the one with the highest return on the way, counted with and without discount in turn. Actions that would
end the episode, judged by what they emit elsewhere, come last. Where no new action can be reached it acts greedily, as it does in tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, pick
from pdrm.errors import BadSetting, StochasticMoves, UndefinedMove
from pdrm.files import Arrays, Fingerprint, need
from pdrm.language.writer import to_text
from pdrm.learning.agents import Summary
from pdrm.learning.curve import Test
from pdrm.learning.tabular.seek_kernel import (
    NEAREST,
    RICHEST,
    count_room,
    guess_end,
    guess_labels,
    seek,
)
from pdrm.learning.tabular.summary_policy import (
    SummaryPolicy,
    check_world,
    copy_world,
    find_values,
    nothing_known,
    world_arrays,
)
from pdrm.machines.tables import Symbols, begin_table, step_table, tabulate
from pdrm.product.summaries.operators import Summaries, check_deterministic, count_numbers
from pdrm.task import Task

TRAINING, TESTING = range(2)
"""Streams of random numbers; every episode has a generator of its own, so a run that goes on needs no state of one."""
DEPTHS = (1, 8, 64, 512)
"""Symbols of the stack by which best actions are kept. Actions that depend on more are found anew every time."""
ANOTHER = 'train another agent: "cprm" (--agent cprm)'
"""What to do where moves are left to chance."""


class SummaryLearner:
    """One run of the agent.

    >>> learner = SummaryLearner(Task("maze-5x5"), Summary(episodes=10), seed=0)
    >>> learner.advance(10)
    >>> learner.done, float(learner.test()[0].returns.mean())
    (10, 100005.0)
    """

    def __init__(self, task: Task, agent: Summary, seed: int) -> None:
        if task.continuous:
            raise BadSetting(
                f"agent `{agent.name}` learns a table, and {task.name} is continuous",
                fix='train a network: agent="ppo" (--agent ppo)',
            )
        agent = agent.settled(task)
        try:
            check_deterministic(task.finite)
        except StochasticMoves as error:
            raise StochasticMoves(error.message, fix=ANOTHER) from None
        self.domain, self.machine, self.agent, self.seed = task.finite, task.pushdown, agent, seed
        self.total, self.between_tests = agent.total, agent.test_every
        self.goals = (
            (NEAREST, 1.0),
            (RICHEST, agent.discount),
            (RICHEST, 1.0),
            (RICHEST, agent.discount),
        )
        self.ends = (*self.machine.states, *self.machine.final)
        self.table = tabulate(self.machine, self.domain.labels)
        self.world = nothing_known(self.domain.states, len(self.domain.actions))
        self.episodes = self.steps = self.most = 0
        self.summaries = self._begin()
        self._guess = guess_labels(self.world, len(self.domain.labels))
        self._stale = False
        self._best: dict[tuple[int, int, int, Symbols], list[int]] = {}

    # --- What the loop in `run` asks

    @property
    def done(self) -> int:
        """Training episodes so far."""
        return self.episodes

    def advance(self, episodes: int) -> None:
        """Train for so many episodes more."""
        if self._stale:  # what is known by now bounds the values more narrowly
            self.summaries, self._stale = self._begin(), False
            self._best.clear()
        for _ in range(min(episodes, self.total - self.done)):
            rng = np.random.default_rng((self.seed, TRAINING, self.episodes))
            self.play(self.domain, rng, train=True)
            self.episodes += 1

    def test(self) -> list[Test]:
        """Greedy episodes in each of the domains that test this one, as one test."""
        found = []
        for number, where in enumerate(self.domain.tested_on):
            self.domain.check_shares(where)
            rng = np.random.default_rng((self.seed, TESTING, self.episodes, number))
            found += [self.play(where, rng, train=False) for _ in range(self.agent.test_episodes)]
        self.most = max(self.most, self.numbers)
        returns, steps, ends = zip(*found, strict=True)
        names = np.array(self.ends)
        return [Test(np.array(returns), np.array(steps, np.int64), names[list(ends)])]

    def snapshot(self, _run: int) -> Arrays:
        """Where the run stands, between two episodes."""
        counts = np.array([self.episodes, self.steps, self.most], np.int64)
        return {"counts": counts, **world_arrays(self.world)}

    def restore(self, snapshots: Iterable[Arrays]) -> None:
        """Put the run where its snapshot left it; `ValueError` where that is damaged."""
        (arrays,) = snapshots
        counts = arrays.get("counts")
        need(
            (
                counts is not None and counts.dtype == np.int64 and counts.shape == (3,),
                "its counts are none",
            ),
            (
                counts is not None and bool((counts >= 0).all()) and counts[0] <= self.total,
                "its counts are out of range",
            ),
        )
        world = check_world(
            arrays, self.domain.states, len(self.domain.actions), len(self.domain.labels)
        )
        self.world = world
        assert counts is not None
        self.episodes, self.steps, self.most = (int(count) for count in counts)
        self.summaries, self._stale = self._begin(), False
        self._best.clear()

    def save_policy(
        self, _run: int, path: Path, about: dict[str, Any], _largest: int | None = None
    ) -> Fingerprint:
        """Write what was learnt so far."""
        self.policy(about).save(path)
        return Fingerprint.of(path.read_bytes())

    def facts(self, _run: int) -> dict[str, float]:
        """Where the run stands, in numbers; `rows` are the lines of its operators, `numbers` the most that it ever had in memory."""
        return {
            "steps": float(self.steps),
            "rows": float(self.summaries.size.lines),
            "numbers": float(self.most),
        }

    def policy(self, about: dict[str, Any] | None = None) -> SummaryPolicy:
        """What was learnt so far."""
        world = copy_world(self.world)
        shared = (
            to_text(self.machine),
            self.domain.actions,
            self.domain.labels,
            float(self.agent.discount),
        )
        return SummaryPolicy({} if about is None else about, *shared, world)

    @property
    def numbers(self) -> int:
        """Numbers in memory at most since the operators were begun: every array of theirs, those in reserve included and those that are copied
        while room is made, of the experienced moves, of the machine, and of the search for what was never tried."""
        kept = (*self.summaries.scale, *self.world, *self.table, *self.summaries.heads)
        return self.summaries.most + count_numbers(kept) + count_room(self.world, self.table)

    # --- Episodes

    def play(
        self, where: FiniteDomain, rng: np.random.Generator, *, train: bool
    ) -> tuple[float, int, int]:
        """One episode: its return, its steps, and the number of the machine state that it ends in."""
        arrays, limit = where.arrays, self.agent.step_limit or where.step_limit
        k = pick(arrays.start_probability, float(rng.random()))
        s, label = int(arrays.start_state[k]), int(arrays.start_label[k])
        u, stack, gained = begin_table(self.table)
        if label != NO_LABEL and u < self.table.first_final:
            u, stack, paid = self._read(u, stack, label)
            gained += paid
        plan: list[int] = []
        if train:
            self._guess = guess_labels(self.world, len(self.domain.labels))
        seeking, (goal, discount) = train, self.goals[self.episodes % len(self.goals)]
        for step in range(limit):
            if u >= self.table.first_final or arrays.terminal[s]:
                return gained, step, u
            if seeking and not plan:
                plan = self._seek(
                    s, u, stack, limit - step, goal, int(rng.integers(len(where.actions))), discount
                )
                seeking = bool(plan)
            a = plan.pop(0) if plan else int(rng.choice(self._greedy(s, u, stack)))
            o = pick(arrays.probability[s, a], float(rng.random()))
            after, label, r = (
                int(arrays.next[s, a, o]),
                int(arrays.label[s, a, o]),
                float(arrays.reward[s, a, o]),
            )
            if train:
                self._experience(s, a, after, label, r, ends=bool(arrays.terminal[after]))
                self.steps += 1
            u, stack, paid = self._read(u, stack, label)
            s, gained = after, gained + paid + r
        return gained, limit, u

    def _read(self, u: int, stack: Symbols, label: int) -> tuple[int, Symbols, float]:
        try:
            return step_table(self.table, u, stack, label)
        except UndefinedMove:
            fault = f"domain `{self.domain.name}` emits a label that machine `{self.machine.name}` has no rule for"
            fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases"
            raise UndefinedMove(fault, fix=fix) from None

    def _seek(
        self, s: int, u: int, stack: Symbols, left: int, goal: int, turn: int, discount: float
    ) -> list[int]:
        if goal == NEAREST:
            top, untried = stack[0] if stack else 0, np.flatnonzero(self.world.next[s] < 0).tolist()
            if here := [a for a in untried if not guess_end(self.table, u, self._guess[a], top)[0]]:
                return [here[turn % len(here)]]
        below = np.array(stack, np.int32)
        found: list[int] = seek(
            self.world, self.table, self._guess, s, u, below, left, goal, turn, discount
        ).tolist()
        return found

    def _greedy(self, s: int, u: int, stack: Symbols) -> list[int]:
        """The best actions by what is known; all of them where nothing is. They are kept by the part of the stack that they depend on."""
        for depth in DEPTHS:
            if (key := (s, u, depth, stack[:depth])) in self._best:
                return self._best[key]
        values, depth = find_values(self.summaries, s, u, stack)
        best: list[int] = np.flatnonzero(values == values.max()).tolist()
        if (part := next((enough for enough in DEPTHS if enough >= depth), None)) is not None:
            self._best[s, u, part, stack[:part]] = best
        return best

    def _experience(self, s: int, a: int, after: int, label: int, r: float, *, ends: bool) -> None:
        """Note a move; a new one is backed up for every machine state and top symbol."""
        world = self.world
        if world.next[s, a] >= 0:
            if (world.next[s, a], world.label[s, a], world.reward[s, a]) != (after, label, r):
                fault = f"the moves of `{self.domain.name}` are not deterministic: `{self.domain.actions[a]}` in state {s} had two outcomes"
                raise StochasticMoves(fault, fix=ANOTHER)
            return
        world.next[s, a], world.label[s, a], world.reward[s, a] = after, label, r
        world.terminal[after] |= ends
        self._stale = True
        self._best.clear()
        if abs(r) > self._largest:
            self.summaries = self._begin()
        else:
            self.summaries.note(s)
            self.summaries.note(after)

    def _begin(self) -> Summaries:
        """The operators of what is known, to be found anew, with room for what may still be experienced."""
        if self.steps:
            self.most = max(self.most, self.numbers)
        self._largest = float(np.abs(self.world.reward).max(initial=0.0))
        precision = self.agent.precision
        return Summaries(
            self.world,
            self.table,
            self.agent.discount,
            precision=precision,
            largest_unknown=self._largest,
        )
