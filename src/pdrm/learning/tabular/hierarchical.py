"""The hierarchical method, readable (Section 7.4, after Toro Icarte's HRM): a meta-policy over options, learnt with them.

The options of a machine are its reading rules that change the configuration, each the goal of having the machine take its rule.
In machine state u the options that leave u may be chosen, whatever the stack. Where there is none, one option without a rule
stands in, so that the agent can act there too: it has nothing to complete. An option's policy sees the environment state, the
machine state and the top symbol, and every option learns from every step, in every machine state and with every top symbol, as
if the machine had been there. The differences from HRM are in `docs/learning.md`.
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
from pdrm.learning.tabular.q_learning import ReadableLearner, Seen
from pdrm.machines.guards import Label
from pdrm.machines.heads import Head, waiting_heads
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import NONE, Configuration, Stack, Transition
from pdrm.product.observation import TopK, View

Option = Transition | None
"""The rule of an option, or None for the one that stands in where no rule changes anything."""

TOP = TopK(1)
"""An option's policy sees this view of the stack, whatever the meta-policy sees."""


def _view(head: Head) -> Stack:
    return () if head.top is None else (head.top,)


def changes(rule: Transition) -> bool:
    """Return True if a rule leads elsewhere or does more to the stack than putting the same top back."""
    return rule.target != rule.source or rule.push != (() if rule.top == NONE else (rule.top,))


def options_of(machine: PushdownRewardMachine, state: str) -> tuple[Option, ...]:
    """The options that leave a state, numbered in the machine's order.

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
    """Return True if a label completes an option with a top symbol: the machine takes its rule."""
    return option is not None and machine.rule(option.source, label, top) is option


def acting_heads(machine: PushdownRewardMachine, domain: FiniteDomain) -> tuple[Head, ...]:
    """The machine states and top symbols with which the agent can be asked to act there or in the evaluation domains, in the
    machine's order. Options learn for these alone: no other is ever asked.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> [str(head.top) for head in acting_heads(catalogue("deliver"), domain("deliver-8"))]
    ['#', 'mall', 'store', 'cafe', 'post']
    """
    begin, starts = machine.begin().after, list[Configuration]()
    for where in (domain, *domain.tested_on):
        for first in dict.fromkeys(where.arrays.start_label.tolist()):
            if first < 0 or begin.state in machine.final:
                starts.append(begin)
                continue
            with suppress(UndefinedMove):  # an episode says so
                starts.append(machine.step(begin, where.labels[first]).after)
    heads = waiting_heads(machine, starts, domain.labels)
    ordered = (Head(state, top) for state in machine.states for top in (None, *machine.stack))
    return tuple(head for head in ordered if head in heads)


def options_by_state(
    machine: PushdownRewardMachine, heads: Iterable[Head]
) -> dict[str, tuple[Option, ...]]:
    """The options of each machine state; where the agent is never asked to act, one without a rule stands in."""
    acting = {head.state for head in heads}
    return {
        state: options_of(machine, state) if state in acting else (None,)
        for state in machine.states
    }


def shortest_with(machine: PushdownRewardMachine, head: Head) -> Configuration:
    """The counterfactual configuration of a head: its top symbol on the bottom one, and nothing between."""
    bottom = machine.stack[0]
    stack = () if head.top is None else (bottom,) if head.top == bottom else (head.top, bottom)
    return Configuration(head.state, stack)


class ReadableHierarchical(ReadableLearner):
    """Learns episode by episode; `meta` maps what is seen to one value per option of the machine state, `policies` maps the
    environment state, machine state and top symbol to one value per action for each of these options.

    This is the specification of `options_kernel.py`: on the same random numbers the two fill the same tables, entry by entry.
    The order of the draws: the start of an episode, if there are several; then at every step, if no option is running, whether
    the option is a random one, and which (or which of the best, if several); whether the action is a random one, and which (or
    which of the best, if several); and the outcome, if there are several."""

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
        self.meta: dict[Seen, list[float]] = {}
        self.policies: dict[Seen, list[list[float]]] = {}

    def copy(self) -> Self:
        new = super().copy()
        new.meta, new.policies = self.meta.copy(), self.policies.copy()
        return new

    def meta_values(self, s: int, here: Configuration) -> list[float]:
        """The value of each option of the machine state, zeros if this is new to the meta-policy."""
        new = [0.0] * len(self.options[here.state])
        return self.meta.setdefault((s, here.state, self.view.of(here.stack)), new)

    def policy_values(self, s: int, head: Head) -> list[list[float]]:
        """The value of each action for each option of a head, zeros where the environment state is new to the options: it then
        gets a row for every head."""
        for one in self.heads if (s, head.state, _view(head)) not in self.policies else ():
            new = [[0.0] * len(self.domain.actions) for _ in self.options[one.state]]
            self.policies[s, one.state, _view(one)] = new
        return self.policies[s, head.state, _view(head)]

    def choose_option(self, s: int, here: Configuration, /) -> int:
        """The option that the meta-policy chooses, ε-greedily among those of the machine state."""
        return self.choose(self.meta_values(s, here))

    def choose_action(self, s: int, here: Configuration, option: int, /) -> int:
        return self.choose(self.policy_values(s, Head(here.state, here.top))[option])

    def achieved(self, here: Configuration, option: int, label: Label, /) -> bool:
        return is_achieved(self.machine, self.options[here.state][option], label, here.top)

    def episode(self) -> float:
        """One episode; returns what it paid."""
        self.began = self.now()
        s, here, gained = self.begin()
        values: list[float] | None = None  # of the options, when one was chosen
        collected, weight = 0.0, 1.0  # what it was paid since, discounted; of the next reward
        for step, taken in enumerate(self.play(s, here), start=1):
            if values is None:
                values = self.meta_values(taken.s, taken.here)
                collected, weight = 0.0, 1.0
            last = step == self.step_limit or self.late
            self.learn(taken.s, taken.here, taken.a, taken.o)
            collected += weight * taken.paid
            weight *= self.settings.discount
            over = self.over(taken.after, taken.there)
            if taken.ends or last or over:
                if not over:
                    collected += weight * max(self.meta_values(taken.after, taken.there))
                self.learn_meta(values, taken.option, collected)
                values = None
            gained += taken.paid
            if last:
                break
        self.lower_epsilon()
        return gained

    def learn(self, s: int, here: Configuration, a: int, o: int) -> None:
        """Every option learns from the step, at every head: at that of the present configuration from what happened, at the
        others from what the machine would have done there. It is paid what the environment and the machine pay, and r⁺ if it is
        completed, or r⁻ if it ends otherwise, because the machine moves elsewhere or the environment ends."""
        arrays, own = self.domain.arrays, Head(here.state, here.top)
        after, label = int(arrays.next[s, a, o]), self.domain.labels[arrays.label[s, a, o]]
        over = bool(arrays.terminal[after])
        self.policy_values(s, own)
        if not over:
            self.policy_values(after, own)
        for head in self.heads:
            before = here if head == own else shortest_with(self.machine, head)
            try:
                _, there, paid = self.outcome(s, before, a, o)
            except UndefinedMove:  # has no counterfactual
                continue
            ends = there != before or over
            for number, (option, row) in enumerate(
                zip(self.options[head.state], self.policy_values(s, head), strict=True)
            ):
                achieved = is_achieved(self.machine, option, label, head.top)
                target = self.extras.option_pay * paid
                if achieved:
                    target += self.settings.r_plus
                elif ends and option is not None:
                    target += self.settings.r_minus
                if not (achieved or ends):
                    target += self.settings.discount * max(self.policy_values(after, head)[number])
                row[a] += self.settings.learning_rate * (target - row[a])

    def learn_meta(self, values: list[float], option: int, target: float) -> None:
        """q(z, option) moves by α towards Σ γ^i r_i + γ^τ max q(z', ·), without the future where the task is over."""
        values[option] += self.settings.learning_rate * (target - values[option])


# --- For the kernels

Flags = npt.NDArray[np.bool_]
STAYS, MOVES, NOT_DEFINED = 0, 1, -1
"""The machine's response to a label (`Options.moved`)."""


class Options(NamedTuple):
    """The options of each machine state, the heads at which they learn, and what each label does there.

    >>> from pdrm.language.loading import catalogue
    >>> heads = [Head("u0", "#"), Head("u1", "#"), Head("u1", "A")]
    >>> options = tabulate_options(catalogue("letter"), [frozenset("B"), frozenset("C")], heads)
    >>> options.counts.tolist(), options.ruled.tolist(), options.achieved[1, 1].tolist()
    ([2, 2, 0], [True, True, False], [False, True])
    >>> options.moved[1].tolist(), options.paid[1].tolist()
    ([0, 1, 1], [-0.01, 1.0, -0.01])
    """

    counts: Integers
    """[state]: how many options leave it; 0 for final states."""
    ruled: Flags
    """[state]: True if they have rules; False if one option without a rule stands in."""
    head: Integers
    """[state, top]: the number of a head, or -1; tops as in `Table`, 0 for the empty stack."""
    head_state: Integers
    """[head]: its machine state."""
    achieved: Flags
    """[label, head, option]: True if the label completes the option."""
    moved: Integers
    """[label, head]: STAYS, MOVES or NOT_DEFINED, from the shortest stack with that top."""
    paid: Rewards
    """[label, head]: what the machine pays for it."""


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
    """The options of a machine for these labels and heads; states, labels and symbols are numbered as by `tabulate`."""
    leaving = options_by_state(machine, heads)
    states, tops = (*machine.states, *machine.final), (None, *machine.stack)
    counts = [len(leaving.get(state, ())) for state in states]
    ruled = [leaving.get(state, (None,))[0] is not None for state in states]
    number = np.full((len(states), len(tops)), -1, np.int32)
    moved = np.full((len(labels), len(heads)), NOT_DEFINED, np.int32)
    achieved = np.zeros((*moved.shape, max(counts)), np.bool_)
    paid = np.zeros(moved.shape)
    for place, head in enumerate(heads):
        number[states.index(head.state), tops.index(head.top)] = place
        before = shortest_with(machine, head)
        for column, label in enumerate(labels):
            for choice, option in enumerate(leaving[head.state]):
                achieved[column, place, choice] = is_achieved(machine, option, label, head.top)
            with suppress(UndefinedMove):
                step = machine.step(before, label)
                moved[column, place] = MOVES if step.after != before else STAYS
                paid[column, place] = step.reward
    head_state = np.array([states.index(head.state) for head in heads], np.int32)
    return Options(
        np.array(counts, np.int32), np.array(ruled), number, head_state, achieved, moved, paid
    )
