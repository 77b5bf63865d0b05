"""The hierarchical method, readable (Section 7.4, after Toro Icarte's HRM): a meta-policy over
options, learnt together with the options' policies.

The options of a machine are its reading rules that change the configuration. The goal of an
option is that the machine takes its rule. In machine state u the agent can choose the options
that leave u, whatever the stack. If there are none, it has one option without a rule, which
cannot be completed. An option's policy sees the environment state, the machine state and the top
symbol. Every option learns from every step, for every machine state and top symbol, as if the
machine had been there. `docs/learning.md` lists the differences from HRM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UndefinedMove
from pdrm.learning.agents import Hierarchical
from pdrm.learning.randomness import Rng
from pdrm.learning.tabular.q_learning import PolicyInput, ReadableLearner
from pdrm.machines.guards import Label
from pdrm.machines.heads import Head, waiting_heads
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import NONE, Configuration, Stack, Transition
from pdrm.product.observation import TopK, View

Option = Transition | None
"""The rule of an option, or None for the option of a state in which no rule changes anything."""

TOP = TopK(1)
"""The view of an option's policy, whatever the meta-policy sees."""


def _view(head: Head) -> Stack:
    return () if head.top is None else (head.top,)


def changes(rule: Transition) -> bool:
    """Return True if a rule changes the state or the stack."""
    return rule.target != rule.source or rule.push != (() if rule.top == NONE else (rule.top,))


def options_of(machine: PushdownRewardMachine, state: str) -> tuple[Option, ...]:
    """The options that leave a state, in the machine's order.

    >>> from pdrm.language.loading import catalogue
    >>> [str(option.guard) for option in options_of(catalogue("letter"), "u1")]
    ['{C}', '{C}']
    """
    return tuple(
        rule for rule in machine.rules_from[state] if not rule.silent and changes(rule)
    ) or (None,)


def is_achieved(
    machine: PushdownRewardMachine, option: Option, label: Label, top: str | None
) -> bool:
    """Return True if a label completes an option: the machine, with this top, takes its rule."""
    return option is not None and machine.rule(option.source, label, top) is option


def acting_heads(machine: PushdownRewardMachine, domain: FiniteDomain) -> tuple[Head, ...]:
    """The heads in which the agent can act in training and evaluation, in the machine's order.

    Options learn for these heads only.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> [str(head.top) for head in acting_heads(catalogue("deliver"), domain("deliver-8"))]
    ['#', 'mall', 'store', 'cafe', 'post']
    """
    initial = machine.begin().after
    starts = list[Configuration]()
    for played in (domain, *domain.tested_on):
        for label in dict.fromkeys(played.arrays.start_label.tolist()):
            if label < 0 or initial.state in machine.final:
                starts.append(initial)
                continue
            with suppress(UndefinedMove):  # an episode raises it
                starts.append(machine.step(initial, played.labels[label]).after)
    heads = waiting_heads(machine, starts, domain.labels)
    ordered = (Head(state, top) for state in machine.states for top in (None, *machine.stack))
    return tuple(head for head in ordered if head in heads)


def options_by_state(
    machine: PushdownRewardMachine, heads: Iterable[Head]
) -> dict[str, tuple[Option, ...]]:
    """The options of each machine state: one without a rule if the agent never acts there."""
    acting = {head.state for head in heads}
    return {
        state: options_of(machine, state) if state in acting else (None,)
        for state in machine.states
    }


def shortest_with(machine: PushdownRewardMachine, head: Head) -> Configuration:
    """The counterfactual configuration of a head: its top symbol directly above the bottom."""
    bottom = machine.stack[0]
    stack = () if head.top is None else (bottom,) if head.top == bottom else (head.top, bottom)
    return Configuration(head.state, stack)


class ReadableHierarchical(ReadableLearner):
    """Learns episode by episode.

    `meta` maps what the agent sees to one value per option of the machine state. `policies` maps
    the environment state, machine state and top symbol to one value per action for each of these
    options.

    This is the specification of `options_kernel.py`: on the same random numbers both fill the same
    tables, entry by entry. Random numbers are drawn in this order: the start of an episode, if
    there are several. Then at every step, if no option is followed, whether the option is random,
    and which one (otherwise which of the best, if several). Whether the action is random, and which
    one (otherwise which of the best, if several). The outcome, if there are several.
    """

    machine: PushdownRewardMachine
    settings: Hierarchical

    def __init__(
        self,
        domain: FiniteDomain,
        machine: PushdownRewardMachine,
        view: View,
        settings: Hierarchical,
        rng: Rng,
    ) -> None:
        super().__init__(domain, machine, view, settings, rng)
        self.heads = acting_heads(machine, domain)
        self.options = options_by_state(machine, self.heads)
        self.meta: dict[PolicyInput, list[float]] = {}
        self.policies: dict[PolicyInput, list[list[float]]] = {}

    def copy(self) -> Self:
        new = super().copy()
        new.meta = self.meta.copy()
        new.policies = self.policies.copy()
        return new

    def meta_values(self, s: int, configuration: Configuration) -> list[float]:
        """The value of each option of the machine state, zeros if it is new."""
        seen = s, configuration.state, self.view.of(configuration.stack)
        return self.meta.setdefault(seen, [0.0] * len(self.options[configuration.state]))

    def policy_values(self, s: int, head: Head) -> list[list[float]]:
        """The value of each action for each option of a head.

        A new environment state gets a row of zeros for every head.
        """
        if (s, head.state, _view(head)) not in self.policies:
            for new in self.heads:
                zeros = [[0.0] * len(self.domain.actions) for _ in self.options[new.state]]
                self.policies[s, new.state, _view(new)] = zeros
        return self.policies[s, head.state, _view(head)]

    def choose_option(self, s: int, configuration: Configuration, /) -> int:
        """The meta-policy's ε-greedy choice among the options of the machine state."""
        return self.choose(self.meta_values(s, configuration))

    def choose_action(self, s: int, configuration: Configuration, option: int, /) -> int:
        head = Head(configuration.state, configuration.top)
        return self.choose(self.policy_values(s, head)[option])

    def completes_option(self, before: Configuration, option: int, label: Label, /) -> bool:
        return is_achieved(self.machine, self.options[before.state][option], label, before.top)

    def episode(self) -> float:
        """Train for one episode; returns its return."""
        self.start_time = self.now()
        s, configuration, episode_return = self.start_episode()
        option_values: list[float] | None = None  # among which the present option was chosen
        option_return = 0.0  # discounted, since the option was chosen
        weight = 1.0  # the discount of its next reward
        for number, step in enumerate(self.play(s, configuration), start=1):
            if option_values is None:
                option_values = self.meta_values(step.s, step.configuration)
                option_return = 0.0
                weight = 1.0
            is_last = number == self.step_limit or self.out_of_time
            self.learn(step.s, step.configuration, step.a, step.o)
            option_return += weight * step.reward
            weight *= self.settings.discount
            over = self.is_over(step.next_s, step.next_configuration)
            if step.ends_option or is_last or over:
                if not over:
                    future = max(self.meta_values(step.next_s, step.next_configuration))
                    option_return += weight * future
                self.learn_meta(option_values, step.option, option_return)
                option_values = None
            episode_return += step.reward
            if is_last:
                break
        self.lower_epsilon()
        return episode_return

    def learn(self, s: int, configuration: Configuration, a: int, o: int) -> None:
        """Every option learns from the step, at every head.

        At the present head it learns from the real step, at the others from the machine's
        counterfactual step. An option gets the environment's and the machine's reward, and r⁺ if
        it is completed, or r⁻ if it ends otherwise: the machine moves elsewhere or the
        environment ends.
        """
        arrays = self.domain.arrays
        current_head = Head(configuration.state, configuration.top)
        next_s = int(arrays.next[s, a, o])
        label = self.domain.labels[arrays.label[s, a, o]]
        env_over = bool(arrays.terminal[next_s])
        self.policy_values(s, current_head)  # makes its rows
        if not env_over:
            self.policy_values(next_s, current_head)
        for head in self.heads:
            before = configuration
            if head != current_head:
                before = shortest_with(self.machine, head)
            try:
                _, after, reward = self.outcome(s, before, a, o)
            except UndefinedMove:  # no rule applies: no counterfactual step
                continue
            ends = env_over or after != before
            rows = self.policy_values(s, head)
            for number, option in enumerate(self.options[head.state]):
                achieved = is_achieved(self.machine, option, label, head.top)
                target = self.variant.option_pay * reward
                if achieved:
                    target += self.settings.r_plus
                elif ends and option is not None:
                    target += self.settings.r_minus
                if not (achieved or ends):
                    future = max(self.policy_values(next_s, head)[number])
                    target += self.settings.discount * future
                rows[number][a] += self.settings.learning_rate * (target - rows[number][a])

    def learn_meta(self, values: list[float], option: int, target: float) -> None:
        """Move q(z, option) by α towards Σ γ^i r_i + γ^τ max q(z', ·), or Σ γ^i r_i at the end."""
        values[option] += self.settings.learning_rate * (target - values[option])


# --- For the kernels

Flags = npt.NDArray[np.bool_]
STAYS, MOVES, NOT_DEFINED = 0, 1, -1
"""The effect of a label on the configuration (`Options.moved`)."""


class Options(NamedTuple):
    """The options of each machine state, the heads at which they learn, and each label's effect
    there.

    >>> from pdrm.language.loading import catalogue
    >>> heads = [Head("u0", "#"), Head("u1", "#"), Head("u1", "A")]
    >>> options = tabulate_options(catalogue("letter"), [frozenset("B"), frozenset("C")], heads)
    >>> options.counts.tolist(), options.ruled.tolist(), options.achieved[1, 1].tolist()
    ([2, 2, 0], [True, True, False], [False, True])
    >>> options.moved[1].tolist(), options.paid[1].tolist()
    ([0, 1, 1], [-0.01, 1.0, -0.01])
    """

    counts: Integers
    """[state]: the number of options, 0 for final states."""
    ruled: Flags
    """[state]: True if they have rules, False for the one option without a rule."""
    head: Integers
    """[state, top]: the number of the head, or -1. Tops as in `Table`, 0 for the empty stack."""
    head_state: Integers
    """[head]: its machine state."""
    achieved: Flags
    """[label, head, option]: True if the label completes the option."""
    moved: Integers
    """[label, head]: STAYS, MOVES or NOT_DEFINED, for the shortest stack with that top."""
    paid: Rewards
    """[label, head]: the machine's reward."""


_NONE, _NO_FLAGS = np.zeros((0, 0), np.int32), np.zeros(0, np.bool_)
NO_OPTIONS = Options(
    _NONE[0:0].ravel(),
    _NO_FLAGS,
    _NONE,
    _NONE.ravel(),
    _NO_FLAGS.reshape(0, 0, 0),
    _NONE,
    np.zeros((0, 0)),
)


def tabulate_options(
    machine: PushdownRewardMachine, labels: Sequence[Label], heads: Sequence[Head]
) -> Options:
    """The options of a machine for these labels and heads, numbered as by `tabulate`."""
    leaving = options_by_state(machine, heads)
    states = (*machine.states, *machine.final)
    tops = (None, *machine.stack)
    counts = [len(leaving.get(state, ())) for state in states]
    ruled = [leaving.get(state, (None,))[0] is not None for state in states]
    head_number = np.full((len(states), len(tops)), -1, np.int32)
    moved = np.full((len(labels), len(heads)), NOT_DEFINED, np.int32)
    achieved = np.zeros((*moved.shape, max(counts)), np.bool_)
    rewards = np.zeros(moved.shape)
    for h, head in enumerate(heads):
        head_number[states.index(head.state), tops.index(head.top)] = h
        before = shortest_with(machine, head)
        for i, label in enumerate(labels):
            for choice, option in enumerate(leaving[head.state]):
                achieved[i, h, choice] = is_achieved(machine, option, label, head.top)
            with suppress(UndefinedMove):
                step = machine.step(before, label)
                moved[i, h] = MOVES if step.after != before else STAYS
                rewards[i, h] = step.reward
    head_state = np.array([states.index(head.state) for head in heads], np.int32)
    return Options(
        np.array(counts, np.int32),
        np.array(ruled),
        head_number,
        head_state,
        achieved,
        moved,
        rewards,
    )
