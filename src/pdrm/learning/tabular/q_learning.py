"""Q-learning with and without counterfactual experiences, readable: Algorithm 1 (policies) and
Algorithm 2 (k-policies).

This is the specification of `q_kernel.py`: on the same random numbers both fill the same table,
entry by entry. Over a counting automaton it is Q-learning and CQL: the values of the counters,
written as symbols, take the place of the stack.

Names, as in the paper: s is an environment state, u a machine state, a an action and o the number
of an outcome of (s, a). A configuration is a machine state with its stack.
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
    from pdrm.language.document import AnyMachine
    from pdrm.product.shaping import Potential


def no_rule_error(domain: FiniteDomain, machine: str) -> UndefinedMove:
    """The error for a label of the domain for which the machine has no rule."""
    fault = f"domain `{domain.name}` emits a label that machine `{machine}` has no rule for"
    fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases"
    return UndefinedMove(fault, fix=fix)


class ReadResult(NamedTuple):
    """The result of reading a label."""

    after: Configuration
    reward: float
    moves: int
    """Moves of a counting automaton. Those of a pushdown machine are not counted."""


def _result_of(step: Step | CountingStep) -> ReadResult:
    if isinstance(step, CountingStep):
        after = Configuration(step.after.state, tuple(map(str, step.after.counters)))
        return ReadResult(after, step.reward, step.moves)
    return ReadResult(step.after, step.reward, 0)


class EpisodeTransition(NamedTuple):
    """A step of an episode."""

    s: int
    configuration: Configuration
    option: int
    """The option that is followed (0 for an agent without options)."""
    a: int
    o: int
    next_s: int
    next_configuration: Configuration
    reward: float
    """The sum of the environment's and the machine's reward."""
    ends_option: bool


def class_depth(machine: AnyMachine, view: View, choice: Counterfactuals) -> int | None:
    """The number of top symbols that tell two stacks apart, or None if every stack is different.

    A k-policy's experience depends on the symbols that a step can pop, and below them on the k that
    it sees (or the one at which the machine looks).

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.observation import TopK
    >>> class_depth(catalogue("treasure-maze"), TopK(1), Counterfactuals.DEDUPLICATED)
    2
    """
    if choice is not Counterfactuals.DEDUPLICATED or isinstance(view, FullStack):
        return None
    if not isinstance(machine, PushdownRewardMachine):
        return None  # all counter values are seen
    depth = relevant_depth(machine, view.k)
    if depth is None or (len(machine.stack) + 1) ** depth > MAX_KEY:
        return None  # unbounded, or too many classes to number
    return depth


def first_vectors(machine: AnyMachine, values: int | None) -> list[tuple[int, ...]]:
    """The counter vectors that are counterfactuals before they are observed: all below `values`.

    >>> from pdrm.language.loading import catalogue
    >>> first_vectors(catalogue("letter-cra"), 3)
    [(0,), (1,), (2,)]
    """
    if values is None or not isinstance(machine, CountingRewardAutomaton):
        return []
    return list(product(range(values), repeat=machine.counters))


# --- Learners

PolicyInput = tuple[int, str, Stack]
"""The input of a policy: the environment state, the machine state and the view of the stack."""


def greedy(values: Sequence[float], rng: Rng, ties: str = "random") -> int:
    """A choice of highest value. A tie is broken at random, or by the first unless all are 0."""
    highest = max(values)
    best = [choice for choice, value in enumerate(values) if value == highest]
    at_random = ties == "random" or not any(values)
    return best[rng.below(len(best))] if len(best) > 1 and at_random else best[0]


def find_potential(
    settings: QLearning, domain: FiniteDomain, machine: AnyMachine
) -> Potential | None:
    """The potential that shapes rewards, or None if they are not shaped."""
    shaping = shaping_of(settings)
    if shaping is None or not isinstance(machine, PushdownRewardMachine):
        return None
    return shaping.of(machine, domain.find_labels() if settings.shaping == EMITTED else None)


class ReadableLearner(ABC):
    """Base class of the readable learners: episodes of a domain with a machine, step by step.

    A learner chooses actions, or options and actions for them, ε-greedily. The limits of its
    settings hold for each episode.
    """

    def __init__(
        self, domain: FiniteDomain, machine: AnyMachine, view: View, settings: Tabular, rng: Rng
    ) -> None:
        self.settings = settings = settings.resolved()
        self.variant = settings.variant
        self.domain = domain
        self.machine = machine
        self.view = view
        self.rng = rng
        self.step_limit = settings.step_limit or domain.step_limit
        self.epsilon = settings.epsilon
        self.explores = True
        self.now: Callable[[], float] = time.perf_counter
        self.start_time = 0.0
        self.max_operations = self.variant.operations_per_episode
        self.operations = 0
        """Moves of a counting automaton in the episode so far."""
        self._results: dict[tuple[Configuration, int], ReadResult] = {}
        self._reader = machine
        if isinstance(machine, CountingRewardAutomaton) and self.max_operations is not None:
            self._reader = replace(machine, most_silent=self.max_operations)

    # --- Episodes

    def draw(self, probability: Rewards, /) -> int:
        """The number of a random outcome."""
        return pick(probability, self.rng.uniform()) if len(probability) > 1 else 0

    def start_episode(self) -> tuple[int, Configuration, float]:
        """Draw a start; returns the environment state, the configuration and the reward so far.

        The machine makes its first silent moves, and reads the label at reset if there is one.
        """
        arrays = self.domain.arrays
        start = self.draw(arrays.start_probability)
        label = int(arrays.start_label[start])
        initial = _result_of(self.machine.begin())
        configuration = initial.after
        reward = initial.reward
        self.operations = 0
        if label >= 0 and configuration.state not in self.machine.final:
            result = self.read(configuration, label)
            self.operations = result.moves
            if not self.out_of_operations:
                configuration = result.after
                reward += result.reward
        return int(arrays.start_state[start]), configuration, reward

    def is_over(self, s: int, configuration: Configuration) -> bool:
        """True if the environment or the machine has ended (a limit is not an end)."""
        return configuration.state in self.machine.final or bool(self.domain.arrays.terminal[s])

    def read(self, configuration: Configuration, label: int) -> ReadResult:
        """The machine's step on a label, cached: a counting automaton may take many moves."""
        if (configuration, label) not in self._results:
            result = self._read(configuration, self.domain.labels[label])
            self._results[configuration, label] = result
        return self._results[configuration, label]

    def _read(self, configuration: Configuration, label: Label) -> ReadResult:
        """A step beyond the episode's move budget is not taken, and reports budget + 1 moves."""
        if isinstance(self._reader, PushdownRewardMachine):
            return _result_of(self._reader.step(configuration, label))
        counters = tuple(map(int, configuration.stack))
        try:
            step = self._reader.step(CountingConfiguration(configuration.state, counters), label)
        except EndlessSilentMoves:
            if self.max_operations is None:
                raise
            return ReadResult(configuration, 0.0, self.max_operations + 1)
        return _result_of(step)

    def outcome(
        self, s: int, configuration: Configuration, a: int, o: int
    ) -> tuple[int, Configuration, float]:
        """The next environment state, the next configuration, and the sum of both rewards."""
        arrays = self.domain.arrays
        result = self.read(configuration, int(arrays.label[s, a, o]))
        reward = float(arrays.reward[s, a, o]) + result.reward
        return int(arrays.next[s, a, o]), result.after, reward

    def spend_operations(self, s: int, configuration: Configuration, a: int, o: int) -> bool:
        """Count the operations of a step, real or counterfactual; returns False if they ran out."""
        self.operations += self.read(configuration, int(self.domain.arrays.label[s, a, o])).moves
        return not self.out_of_operations

    @property
    def out_of_operations(self) -> bool:
        """True if the episode has used more operations than it has."""
        return self.max_operations is not None and self.operations > self.max_operations

    def choose_option(self, _s: int, _configuration: Configuration, /) -> int:
        """The option to follow."""
        return 0

    @abstractmethod
    def choose_action(self, s: int, configuration: Configuration, option: int, /) -> int:
        """The action to take."""

    def completes_option(self, _before: Configuration, _option: int, _label: Label, /) -> bool:
        """True if a label completes the option."""
        return False

    def play(self, s: int, configuration: Configuration) -> Iterator[EpisodeTransition]:
        """The steps of an episode from its start.

        An option is followed until it is completed or the configuration changes.
        """
        arrays = self.domain.arrays
        option = None
        for _ in range(self.step_limit):
            if self.is_over(s, configuration) or self.out_of_operations:
                return
            if option is None:
                option = self.choose_option(s, configuration)
            a = self.choose_action(s, configuration, option)
            o = self.draw(arrays.probability[s, a])
            if not self.spend_operations(s, configuration, a, o):
                return
            next_s, following, reward = self.outcome(s, configuration, a, o)
            label = self.domain.labels[arrays.label[s, a, o]]
            moved = following != configuration
            ends_option = moved or self.completes_option(configuration, option, label)
            yield EpisodeTransition(
                s, configuration, option, a, o, next_s, following, reward, ends_option
            )
            s = next_s
            configuration = following
            if ends_option:
                option = None

    # --- Learning

    @property
    def out_of_time(self) -> bool:
        """True if the episode has used up its time."""
        seconds = self.variant.seconds_per_episode
        return seconds is not None and self.now() - self.start_time > seconds

    def choose(self, values: Sequence[float]) -> int:
        """An ε-greedy choice."""
        if self.explores and self.rng.uniform() < self.epsilon:
            return self.rng.below(len(values))
        return greedy(values, self.rng, self.variant.ties)

    def lower_epsilon(self) -> None:
        """Decay ε at the end of an episode."""
        self.epsilon = max(self.epsilon * self.settings.epsilon_decay, self.settings.epsilon_least)

    def copy(self) -> Self:
        """The learner with a copy of its tables."""
        return copy(self)

    def test(self, domain: FiniteDomain, rng: Rng) -> float:
        """Play one greedy episode without learning; returns its return."""
        player = self.copy()
        player.domain = domain
        player.rng = rng
        player.explores = False
        player.step_limit = self.settings.step_limit or domain.step_limit
        s, configuration, episode_return = player.start_episode()
        for step in player.play(s, configuration):
            episode_return += step.reward
        return episode_return


class ReadableQLearning(ReadableLearner):
    """Learns episode by episode; `q` maps the policy's input to one value per action."""

    settings: QLearning

    def __init__(
        self, domain: FiniteDomain, machine: AnyMachine, view: View, settings: QLearning, rng: Rng
    ) -> None:
        super().__init__(domain, machine, view, settings, rng)
        self.potential = find_potential(self.settings, domain, machine)
        self.q: dict[PolicyInput, list[float]] = {}
        self.depth = class_depth(machine, view, self.variant.counterfactuals)
        self.observed: dict[Stack, Stack] = {}
        """One stack of each class, in the order in which they were first observed."""
        for vector in first_vectors(machine, self.variant.counter_values):
            self.observe(tuple(map(str, vector)))
        self.next_pair = (0, 0)
        """Machine state and entry of `observed` with which a budget of updates continues."""
        self.is_last = False
        """True if the present step is learnt as the last of its episode."""

    def copy(self) -> Self:
        new = super().copy()
        new.q = self.q.copy()
        new.observed = self.observed.copy()
        return new

    def class_of(self, stack: Stack) -> Stack:
        """The symbols that all stacks of a class share (if `depth` is None, the whole stack)."""
        return stack[: self.depth]

    def observe(self, stack: Stack) -> None:
        """Note a stack unless one of its class was observed."""
        self.observed.setdefault(self.class_of(stack), stack)

    def values(self, s: int, configuration: Configuration) -> list[float]:
        """The row of the table for a state and a configuration, zeros if it is new."""
        seen = s, configuration.state, self.view.of(configuration.stack)
        return self.q.setdefault(seen, [0.0] * len(self.domain.actions))

    def episode(self) -> float:
        """Train for one episode; returns its return."""
        self.start_time = self.now()
        s, configuration, episode_return = self.start_episode()
        updates = 0
        max_updates = self.variant.updates_per_episode or inf
        for number, step in enumerate(self.play(s, configuration), start=1):
            if not self.is_over(step.next_s, step.next_configuration):
                self.values(step.next_s, step.next_configuration)  # makes its row
            self.is_last = self.variant.limit_ends and number == self.step_limit
            updates += self.learn(step.s, step.configuration, step.a, step.o)
            episode_return += step.reward
            if updates >= max_updates or self.out_of_time:
                break
        self.lower_epsilon()
        return episode_return

    def choose_action(self, s: int, configuration: Configuration, _option: int, /) -> int:
        """Observe the stack (Algorithm 1, lines 6 and 7); returns an ε-greedy action."""
        if self.variant.counterfactuals is not Counterfactuals.NONE:
            self.observe(configuration.stack)
        return self.choose(self.values(s, configuration))

    def learn(self, s: int, configuration: Configuration, a: int, o: int) -> int:
        """Update from the real and the counterfactual steps; returns the number of updates.

        Without a budget per step, the real step is one of the counterfactual steps.
        """
        without_counterfactuals = self.variant.counterfactuals is Counterfactuals.NONE
        real_first = without_counterfactuals or self.variant.updates_per_step is not None
        updates = 0
        if real_first:
            self.update(s, configuration, a, o)
            updates += 1
        learnt_real = real_first
        real_class = self.class_of(configuration.stack)
        for counterfactual in self.counterfactual_configurations():
            with suppress(UndefinedMove):  # no rule applies: no counterfactual step
                if not self.spend_operations(s, counterfactual, a, o):
                    break
                self.update(s, counterfactual, a, o)
                updates += 1
                same_state = counterfactual.state == configuration.state
                same_class = real_class == self.class_of(counterfactual.stack)
                learnt_real = learnt_real or (same_state and same_class)
        if not learnt_real:
            self.update(s, configuration, a, o)
            updates += 1
        return updates

    def counterfactual_configurations(self) -> Iterator[Configuration]:
        """Every machine state with every observed stack.

        With a budget of n updates per step the next n, from where the last step stopped.
        """
        states = self.machine.states
        stacks = list(self.observed.values())
        count = len(states) * len(stacks)
        if self.variant.updates_per_step is None:
            self.next_pair = (0, 0)
        else:
            count = min(count, self.variant.updates_per_step)
        for _ in range(count):
            u, entry = self.next_pair
            yield Configuration(states[u], stacks[entry])
            entry = (entry + 1) % len(stacks)
            if entry == 0:
                u = (u + 1) % len(states)
            self.next_pair = u, entry

    def update(self, s: int, configuration: Configuration, a: int, o: int) -> None:
        """Move q(s, u, ζ, a) by α towards r + γ max q(s', u', ζ', a'), or r if the task is over."""
        next_s, following, target = self.outcome(s, configuration, a, o)
        over = self.is_last or self.is_over(next_s, following)
        if self.potential is not None:
            before = configuration.state, configuration.stack
            after = following.state, following.stack
            target += self.potential.reward(before, after, over=over)
        if not over:
            seen = next_s, following.state, self.view.of(following.stack)
            target += self.settings.discount * max(self.q.get(seen, [0.0]))
        row = self.values(s, configuration)
        row[a] += self.settings.learning_rate * (target - row[a])
