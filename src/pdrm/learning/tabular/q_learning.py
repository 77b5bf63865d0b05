"""Q-learning with and without counterfactual experiences, readable: Algorithm 1 (policies) and Algorithm 2 (k-policies).

This is the specification of `q_kernel.py`: on the same random numbers the two fill the same table, entry by entry. Over a
counting automaton it is Q-learning and CQL: the values of the counters, written as symbols, stand for the stack.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import product
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Self

from pdrm.domains.finite_domain import FiniteDomain, Label, pick
from pdrm.errors import EndlessSilentMoves, UndefinedMove
from pdrm.learning.agents import EMITTED, Counterfactuals, QLearning, Tabular, shaping_of
from pdrm.learning.randomness import Rng
from pdrm.machines.counting import (
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingStep,
)
from pdrm.machines.heads import relevant_depth
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Rewards
from pdrm.machines.transitions import Configuration, Stack, Step
from pdrm.product.explore_kernel import MAX_KEY
from pdrm.product.observation import FullStack, View

if TYPE_CHECKING:
    from pdrm.product.shaping import Potential

AnyMemory = PushdownRewardMachine | CountingRewardAutomaton


def no_rule(domain: FiniteDomain, machine: str) -> UndefinedMove:
    """The error that a machine cannot read what a domain emits."""
    fault = f"domain `{domain.name}` emits a label that machine `{machine}` has no rule for"
    fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases"
    return UndefinedMove(fault, fix=fix)


class MemoryStep(NamedTuple):
    """The result of a label: the configuration after it, the reward, and the moves of a counting automaton (0: not counted)."""

    after: Configuration
    reward: float
    moves: int


def _read_off(step: Step | CountingStep) -> MemoryStep:
    if isinstance(step, CountingStep):
        after = Configuration(step.after.state, tuple(map(str, step.after.counters)))
        return MemoryStep(after, step.reward, step.moves)
    return MemoryStep(step.after, step.reward, 0)


class Taken(NamedTuple):
    """A step that an episode took."""

    s: int
    here: Configuration
    option: int
    """That is followed; 0 where there are none."""
    a: int
    o: int
    after: int
    there: Configuration
    paid: float
    """By the environment and the machine."""
    ends: bool
    """True if the option ends with it."""


EVERY_STACK = -1
"""The depth by which every stack is a class of its own."""


def class_depth(machine: AnyMemory, view: View, choice: Counterfactuals) -> int:
    """The number of symbols that tell two stacks apart for this choice. A k-policy's experience with a stack depends on the symbols a
    step can pop, and on the k it sees (or the one the machine looks at) below them.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.observation import TopK
    >>> class_depth(catalogue("treasure-maze"), TopK(1), Counterfactuals.DEDUPLICATED)
    2
    """
    if choice is not Counterfactuals.DEDUPLICATED or isinstance(view, FullStack):
        return EVERY_STACK
    if not isinstance(machine, PushdownRewardMachine):
        return EVERY_STACK  # all counter values are seen
    symbols = relevant_depth(machine, view.k)
    if symbols is None or (len(machine.stack) + 1) ** symbols > MAX_KEY:
        return EVERY_STACK  # a class has no bound, or no number of its own
    return symbols


def first_vectors(machine: AnyMemory, values: int | None) -> list[tuple[int, ...]]:
    """The counter vectors used for counterfactuals before they were observed: those with every counter below `values`.

    >>> from pdrm.language.loading import catalogue
    >>> first_vectors(catalogue("letter-cra"), 3)
    [(0,), (1,), (2,)]
    """
    if values is None or not isinstance(machine, CountingRewardAutomaton):
        return []
    return list(product(range(values), repeat=machine.counters))


# --- Learners

Seen = tuple[int, str, Stack]
"""The input of a policy: the environment state, the machine state and the view of the stack."""


def greedy(values: Sequence[float], rng: Rng, ties: str = "random") -> int:
    """A choice of highest value; among several a random one, or the first, unless all are 0."""
    highest = max(values)
    best = [choice for choice, value in enumerate(values) if value == highest]
    at_random = ties == "random" or not any(values)
    return best[rng.below(len(best))] if len(best) > 1 and at_random else best[0]


def find_potential(
    settings: QLearning, domain: FiniteDomain, machine: AnyMemory
) -> Potential | None:
    """The potential that shapes the steps (None if rewards are not shaped)."""
    shaping = shaping_of(settings)
    if shaping is None or not isinstance(machine, PushdownRewardMachine):
        return None
    return shaping.of(machine, domain.find_labels() if settings.shaping == EMITTED else None)


class ReadableLearner(ABC):
    """The part that the readable learners share: a domain with a machine, step by step, ε-greedy choices, and a clock. They act with an
    action alone, or option by option. The settings' limits hold for each episode."""

    def __init__(
        self, domain: FiniteDomain, machine: AnyMemory, view: View, settings: Tabular, rng: Rng
    ) -> None:
        self.settings = settings = settings.resolved()
        self.extras = settings.extras
        self.domain, self.machine, self.view, self.rng = domain, machine, view, rng
        self.step_limit = settings.step_limit or domain.step_limit
        self.epsilon, self.explores = settings.epsilon, True
        self.now: Callable[[], float] = time.perf_counter
        self.began = 0.0
        self.most = self.extras.operations_per_episode
        self.operations = 0
        """The moves of a counting automaton in the episode so far."""
        self._steps: dict[tuple[Configuration, int], MemoryStep] = {}
        self._reader = machine
        if isinstance(machine, CountingRewardAutomaton) and self.most is not None:
            self._reader = replace(machine, most_silent=self.most)

    # --- Episodes

    def draw(self, probability: Rewards, /) -> int:
        """What nature chooses."""
        return pick(probability, self.rng.uniform()) if len(probability) > 1 else 0

    def begin(self) -> tuple[int, Configuration, float]:
        """A start of the domain, and where the machine is after its silent moves and the label at reset, and what it has paid."""
        arrays = self.domain.arrays
        start = self.draw(arrays.start_probability)
        label = int(arrays.start_label[start])
        first, self.operations = _read_off(self.machine.begin()), 0
        here, gained = first.after, first.reward
        if label >= 0 and here.state not in self.machine.final:
            step = self.read(here, label)
            self.operations = step.moves
            if not self.spent:
                here, gained = step.after, gained + step.reward
        return int(arrays.start_state[start]), here, gained

    def over(self, s: int, here: Configuration) -> bool:
        """True if the environment or the machine has ended (a limit is not an end)."""
        return here.state in self.machine.final or bool(self.domain.arrays.terminal[s])

    def read(self, here: Configuration, label: int) -> MemoryStep:
        """The machine's step on a label; kept, because a counting automaton may take many moves for it."""
        if (here, label) not in self._steps:
            self._steps[here, label] = self._take(here, self.domain.labels[label])
        return self._steps[here, label]

    def _take(self, here: Configuration, label: Label) -> MemoryStep:
        """A step that needs more moves than an episode may take is not taken; it has one more than that."""
        if isinstance(self._reader, PushdownRewardMachine):
            return _read_off(self._reader.step(here, label))
        before = CountingConfiguration(here.state, tuple(map(int, here.stack)))
        try:
            return _read_off(self._reader.step(before, label))
        except EndlessSilentMoves:
            if self.most is None:
                raise
            return MemoryStep(here, 0.0, self.most + 1)

    def outcome(
        self, s: int, here: Configuration, a: int, o: int
    ) -> tuple[int, Configuration, float]:
        """The next state and configuration, and what the environment and the machine pay."""
        arrays = self.domain.arrays
        step = self.read(here, int(arrays.label[s, a, o]))
        return int(arrays.next[s, a, o]), step.after, float(arrays.reward[s, a, o]) + step.reward

    def affords(self, s: int, here: Configuration, a: int, o: int) -> bool:
        """Count the operations of a step, real or counterfactual; return True if the episode still has them."""
        self.operations += self.read(here, int(self.domain.arrays.label[s, a, o])).moves
        return not self.spent

    @property
    def spent(self) -> bool:
        """True if the episode has used up its operations."""
        return self.most is not None and self.operations > self.most

    def choose_option(self, _s: int, _here: Configuration, /) -> int:
        """The option to follow."""
        return 0

    @abstractmethod
    def choose_action(self, s: int, here: Configuration, option: int, /) -> int:
        """The action to take."""

    def achieved(self, _here: Configuration, _option: int, _label: Label, /) -> bool:
        """True if a label completes the option."""
        return False

    def play(self, s: int, here: Configuration) -> Iterator[Taken]:
        """The steps of an episode that begins there. An option is followed until it is completed or the machine moves."""
        arrays, option = self.domain.arrays, None
        for _ in range(self.step_limit):
            if self.over(s, here) or self.spent:
                return
            if option is None:
                option = self.choose_option(s, here)
            a = self.choose_action(s, here, option)
            o = self.draw(arrays.probability[s, a])
            if not self.affords(s, here, a, o):
                return
            after, there, paid = self.outcome(s, here, a, o)
            label = self.domain.labels[arrays.label[s, a, o]]
            ends = there != here or self.achieved(here, option, label)
            yield Taken(s, here, option, a, o, after, there, paid, ends)
            s, here, option = after, there, None if ends else option

    # --- Learning

    @property
    def late(self) -> bool:
        """True if the episode has used up its time."""
        seconds = self.extras.seconds_per_episode
        return seconds is not None and self.now() - self.began > seconds

    def choose(self, values: Sequence[float]) -> int:
        """An ε-greedy choice."""
        if self.explores and self.rng.uniform() < self.epsilon:
            return self.rng.below(len(values))
        return greedy(values, self.rng, self.extras.ties)

    def lower_epsilon(self) -> None:
        """An episode has ended."""
        self.epsilon = max(self.epsilon * self.settings.epsilon_decay, self.settings.epsilon_least)

    def copy(self) -> Self:
        """The learner with tables of its own."""
        return copy(self)

    def test(self, domain: FiniteDomain, rng: Rng) -> float:
        """One greedy episode, without learning; returns what it paid."""
        tester = self.copy()
        tester.domain, tester.rng, tester.explores = domain, rng, False
        tester.step_limit = self.settings.step_limit or domain.step_limit
        s, here, gained = tester.begin()
        for taken in tester.play(s, here):
            gained += taken.paid
        return gained


class ReadableQLearning(ReadableLearner):
    """Learns episode by episode; `q` maps what is seen to one value per action."""

    settings: QLearning

    def __init__(
        self, domain: FiniteDomain, machine: AnyMemory, view: View, settings: QLearning, rng: Rng
    ) -> None:
        super().__init__(domain, machine, view, settings, rng)
        self.potential = find_potential(self.settings, domain, machine)
        self.q: dict[Seen, list[float]] = {}
        self.depth = class_depth(machine, view, self.extras.counterfactuals)
        self.observed: dict[Stack, Stack] = {}
        """One stack of each class, in the order in which they were first observed."""
        for vector in first_vectors(machine, self.extras.counter_values):
            self.observe(tuple(map(str, vector)))
        self.turn = (0, 0)
        self.last = False  # whether the step is learnt as one after which nothing comes

    def copy(self) -> Self:
        new = super().copy()
        new.q, new.observed = self.q.copy(), self.observed.copy()
        return new

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
        updates, most = 0, self.extras.updates_per_episode or inf
        for step, taken in enumerate(self.play(s, here), start=1):
            if not self.over(taken.after, taken.there):
                self.values(taken.after, taken.there)
            self.last = self.extras.limit_ends and step == self.step_limit
            updates += self.learn(taken.s, taken.here, taken.a, taken.o)
            gained += taken.paid
            if updates >= most or self.late:
                break
        self.lower_epsilon()
        return gained

    def choose_action(self, s: int, here: Configuration, _option: int, /) -> int:
        """An ε-greedy action; before it the stack joins those observed (Algorithm 1, lines 6 and 7)."""
        if self.extras.counterfactuals is not Counterfactuals.NONE:
            self.observe(here.stack)
        return self.choose(self.values(s, here))

    def learn(self, s: int, here: Configuration, a: int, o: int) -> int:
        """Update from the real step and from the counterfactual ones; returns the number of updates. Without a budget per step the real
        step is one of the counterfactual ones."""
        plain = self.extras.counterfactuals is Counterfactuals.NONE
        real = plain or self.extras.updates_per_step is not None
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
        budget, every = self.extras.updates_per_step, len(states) * len(stacks)
        if budget is None:
            self.turn, budget = (0, 0), every
        for _ in range(min(budget, every)):
            machine, entry = self.turn
            yield Configuration(states[machine], stacks[entry])
            entry = (entry + 1) % len(stacks)
            self.turn = (machine + (entry == 0)) % len(states), entry

    def update(self, s: int, here: Configuration, a: int, o: int) -> None:
        """q(s, u, ζ, a) moves by α towards r + γ max q(s', u', ζ', a'), without the future where the task is over."""
        after, there, target = self.outcome(s, here, a, o)
        over = self.last or self.over(after, there)
        if self.potential is not None:
            before, later = (here.state, here.stack), (there.state, there.stack)
            target += self.potential.reward(before, later, over=over)
        if not over:
            future = self.q.get((after, there.state, self.view.of(there.stack)), [0.0])
            target += self.settings.discount * max(future)
        row = self.values(s, here)
        row[a] += self.settings.learning_rate * (target - row[a])
