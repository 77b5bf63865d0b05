"""Q-learning with and without counterfactual experiences, readable: Algorithm 1 (policies) and Algorithm 2 (k-policies).

This is the specification of `q_kernel.py`: on the same random numbers the two fill the same table, entry by entry. Over a
counting automaton it is Q-learning and CQL: the counters stand for the stack (see `memory.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pdrm.domains.finite_domain import FiniteDomain, pick
from pdrm.errors import UndefinedMove
from pdrm.learning.agents import EMITTED, Counterfactuals, QLearning, shaping_of
from pdrm.learning.randomness import Rng
from pdrm.learning.tabular.memory import (
    EVERY_STACK,
    AnyMemory,
    MemoryStep,
    begin,
    class_depth,
    first_vectors,
    read_label,
)
from pdrm.machines.configurations import Configuration
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.product.views import View

if TYPE_CHECKING:
    from pdrm.product.shaping import Potential

Seen = tuple[int, str, Stack]
"""The input of a policy: the environment state, the machine state and the view of the stack."""


def greedy(values: Sequence[float], rng: Rng, ties: str = "random") -> int:
    """A choice of highest value; among several a random one, or the first, unless all are 0."""
    highest = max(values)
    best = [choice for choice, value in enumerate(values) if value == highest]
    at_random = ties == "random" or not any(values)
    return best[rng.below(len(best))] if len(best) > 1 and at_random else best[0]


def draw_outcome(domain: FiniteDomain, s: int, a: int, rng: Rng) -> int:
    """The outcome of an action that nature chooses."""
    probability = domain.arrays.probability[s, a]
    return pick(probability, rng.uniform()) if len(probability) > 1 else 0


def find_potential(
    settings: QLearning, domain: FiniteDomain, machine: AnyMemory
) -> Potential | None:
    """The potential that shapes the steps (None if rewards are not shaped)."""
    shaping = shaping_of(settings)
    if shaping is None or not isinstance(machine, PushdownRewardMachine):
        return None
    return shaping.of(machine, domain.find_labels() if settings.shaping == EMITTED else None)


class ReadableQLearning:
    """Learns episode by episode; `q` maps what is seen to one value per action."""

    def __init__(
        self, domain: FiniteDomain, machine: AnyMemory, view: View, settings: QLearning, rng: Rng
    ) -> None:
        self.domain, self.machine, self.view = domain, machine, view
        self.settings = settings = settings.settled()
        self.rng = rng
        self.potential = find_potential(settings, domain, machine)
        self.q: dict[Seen, list[float]] = {}
        self.epsilon = settings.epsilon
        self.depth = class_depth(machine, view, settings.counterfactuals)
        self.observed: dict[Stack, Stack] = {}
        """One stack of each class, in the order in which they were first observed."""
        for vector in first_vectors(machine, self.settings.counter_values):
            self.observe(tuple(map(str, vector)))
        self.turn = (0, 0)
        self.operations = 0
        self.now: Callable[[], float] = time.perf_counter
        self.began = 0.0
        self.last = False  # whether the step is learnt as one after which nothing comes

    def class_of(self, stack: Stack) -> Stack:
        """The symbols that stacks of one class have in common."""
        return stack if self.depth == EVERY_STACK else stack[: self.depth]

    def observe(self, stack: Stack) -> None:
        """Note a stack, unless one of its class is there."""
        self.observed.setdefault(self.class_of(stack), stack)

    def values(self, s: int, here: Configuration) -> list[float]:
        """The row of the table for a state and a configuration, zeros if it is new."""
        return self.q.setdefault(
            (s, here.state, self.view.of(here.stack)), [0.0] * len(self.domain.actions)
        )

    def episode(self) -> float:
        """One episode; returns what it paid."""
        self.began = self.now()
        s, here, gained = self.begin()
        updates, limit = 0, self.settings.step_limit or self.domain.step_limit
        for step in range(limit):
            if self.over(s, here) or self.spent or self.late:
                break
            if step and 0 < (self.settings.updates_per_episode or 0) <= updates:
                break
            a, o = self.choose(s, here)
            if not self.affords(s, here, a, o):
                break
            after, there, paid = self.outcome(s, here, a, o)
            if not self.over(after, there):
                self.values(after, there)
            self.last = self.settings.limit_ends and step + 1 == limit
            updates += self.learn(s, here, a, o)
            gained += paid
            s, here = after, there
        self.epsilon = max(self.epsilon * self.settings.epsilon_decay, self.settings.epsilon_least)
        return gained

    def begin(self) -> tuple[int, Configuration, float]:
        """A start of the domain, the machine's silent moves, and the label at reset."""
        arrays = self.domain.arrays
        k = pick(arrays.start_probability, self.rng.uniform()) if len(arrays.start_state) > 1 else 0
        here, gained, _ = begin(self.machine)
        self.operations = 0
        if arrays.start_label[k] >= 0 and here.state not in self.machine.final:
            step = self.read(here, int(arrays.start_label[k]))
            self.operations = step.moves
            if not self.spent:
                here, gained = step.after, gained + step.reward
        return int(arrays.start_state[k]), here, gained

    def over(self, s: int, here: Configuration) -> bool:
        """True if the environment or the machine has ended (a limit is not an end)."""
        return here.state in self.machine.final or bool(self.domain.arrays.terminal[s])

    def choose(self, s: int, here: Configuration) -> tuple[int, int]:
        """An ε-greedy action, and the outcome nature chooses; the stack is observed first."""
        if self.settings.counterfactuals is not Counterfactuals.NONE:
            self.observe(here.stack)
        row = self.values(s, here)
        a = (
            self.rng.below(len(row))
            if self.rng.uniform() < self.epsilon
            else greedy(row, self.rng, self.settings.ties)
        )
        return a, draw_outcome(self.domain, s, a, self.rng)

    def outcome(
        self, s: int, here: Configuration, a: int, o: int
    ) -> tuple[int, Configuration, float]:
        """The next state and configuration, and what the environment and the machine pay."""
        arrays = self.domain.arrays
        step = self.read(here, arrays.label[s, a, o])
        return int(arrays.next[s, a, o]), step.after, float(arrays.reward[s, a, o]) + step.reward

    def read(self, here: Configuration, label: int) -> MemoryStep:
        """The machine's step on a label."""
        return read_label(
            self.machine, here, self.domain.labels[label], self.settings.operations_per_episode
        )

    def affords(self, s: int, here: Configuration, a: int, o: int) -> bool:
        """Count the operations of a step, real or counterfactual; return True if the episode still has them."""
        self.operations += self.read(here, self.domain.arrays.label[s, a, o]).moves
        return not self.spent

    @property
    def spent(self) -> bool:
        """True if the episode has used up its operations."""
        return 0 < (self.settings.operations_per_episode or 0) < self.operations

    @property
    def late(self) -> bool:
        """True if the episode has used up its time."""
        seconds = self.settings.seconds_per_episode
        return seconds is not None and self.now() - self.began > seconds

    def learn(self, s: int, here: Configuration, a: int, o: int) -> int:
        """Update from the real step and from the counterfactual ones; returns the number of updates. Without a budget per step the real
        step is one of the counterfactual ones."""
        plain = self.settings.counterfactuals is Counterfactuals.NONE
        real = plain or self.settings.updates_per_step is not None
        updates = int(real)
        if real:
            self.update(s, here, a, o)
        for imagined in [] if plain else self.imagined():
            with suppress(UndefinedMove):  # what the machine does not define has no counterfactual
                if not self.affords(s, imagined, a, o):
                    break
                self.update(s, imagined, a, o)
                updates += 1
                same = self.class_of(imagined.stack) == self.class_of(here.stack)
                real = real or (imagined.state == here.state and same)
        if not real:
            self.update(s, here, a, o)
        return updates + (not real)

    def imagined(self) -> Iterator[Configuration]:
        """Every machine state with every observed stack; with a budget that many of them, from where the last step stopped."""
        stacks, states = list(self.observed.values()), self.machine.states
        budget = self.settings.updates_per_step
        if budget is None:
            yield from (Configuration(state, stack) for state in states for stack in stacks)
            return
        for _ in range(min(budget, len(states) * len(stacks))):
            machine, entry = self.turn
            yield Configuration(states[machine], stacks[entry])
            entry = (entry + 1) % len(stacks)
            self.turn = (machine + (entry == 0)) % len(states), entry

    def update(self, s: int, here: Configuration, a: int, o: int) -> None:
        """q(s, u, ζ, a) moves by α towards r + γ max q(s', u', ζ', a'), without the future where the task is over."""
        after, there, target = self.outcome(s, here, a, o)
        over = self.last or self.over(after, there)
        target += self.shape(here, there, over=over)
        if not over:
            future = self.q.get((after, there.state, self.view.of(there.stack)), [0.0])
            target += self.settings.discount * max(future)
        row = self.values(s, here)
        row[a] += self.settings.learning_rate * (target - row[a])

    def shape(self, here: Configuration, there: Configuration, *, over: bool) -> float:
        """The shaping reward of a step: γΦ(there) - Φ(here), or 0 without shaping."""
        if self.potential is None:
            return 0.0
        return self.potential.reward(
            (here.state, here.stack), (there.state, there.stack), over=over
        )

    def test(self, domain: FiniteDomain, rng: Rng) -> float:
        """One greedy episode, without learning; returns what it paid."""
        tester = ReadableQLearning(domain, self.machine, self.view, self.settings, rng)
        s, here, gained = tester.begin()
        for _ in range(self.settings.step_limit or domain.step_limit):
            if tester.over(s, here) or tester.spent:
                break
            row = self.q.get((s, here.state, self.view.of(here.stack)), [0.0] * len(domain.actions))
            a = greedy(row, rng, self.settings.ties)
            o = draw_outcome(domain, s, a, rng)
            if not tester.affords(s, here, a, o):
                break
            s, here, paid = tester.outcome(s, here, a, o)
            gained += paid
        return gained
