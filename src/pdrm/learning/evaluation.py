"""Playing a trained policy: readable greedy episodes with the readable machine, for reports and for looking at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, pick
from pdrm.errors import NotHere, did_you_mean
from pdrm.learning.curve import format_return
from pdrm.learning.tabular.hierarchical import is_achieved, options_of
from pdrm.learning.tabular.memory import AnyMemory, MemoryStep, begin, read_label
from pdrm.learning.tabular.policy import AnyPolicy, HierarchicalPolicy
from pdrm.machines.configurations import Configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine

if TYPE_CHECKING:
    from pdrm.learning.tabular.summary_policy import SummaryPolicy


ENDED, CUT_OFF = "ended in ", "cut off in "
"""How an episode ends: by the machine or the environment; or by a limit, of steps most often."""


class Evaluation(dict[str, Any]):
    """What `Run.evaluate` found: a dictionary, whose entries are attributes, too, and which a notebook shows in a few lines.

    >>> found = Evaluation(domain="hall", episodes=2, mean_return=0.5, mean_steps=9.0, success=0.5, ends={"done": 1, "cut off in up": 1})
    >>> found
    <Evaluation in hall: 2 episodes, mean return 0.5, mean length 9, success 50%; ended in done: 1, cut off in up: 1>
    >>> found["success"], found.success
    (0.5, 0.5)
    """

    def __missing__(self, name: str) -> Any:
        fix = "run.optimal_value()" if "optimal" in str(name) else did_you_mean(str(name), self)
        if name in ("return", "reward", "mean_reward", "score"):
            fix = "did you mean `mean_return`?"
        raise NotHere(f"an evaluation has no `{name}`", fix=fix)

    if not TYPE_CHECKING:  # type checkers take an entry for what it may be

        def __getattr__(self, name: str) -> Any:
            """An entry; names with underscores are what programs ask for."""
            if name.startswith("_"):
                raise AttributeError(name)
            return self[name]

    def lines(self) -> list[str]:
        """How the episodes ended, each way with its number."""
        return [
            f"{end if end.startswith(CUT_OFF) else ENDED + end}: {count}"
            for end, count in self["ends"].items()
        ]

    def __repr__(self) -> str:
        said = f"{self.format_means()}, success {self['success']:.0%}"
        return f"<Evaluation in {self['domain']}: {self['episodes']} episode{'s' * (self['episodes'] != 1)}, {said}; {', '.join(self.lines())}>"

    def format_means(self) -> str:
        """The mean return, what it is discounted (as an optimal value is), where that is known, and the mean length."""
        worth = self.get("mean_discounted_return")
        discounted = "" if worth is None else f" (discounted by {self['discount']:g}: {worth:.6g})"
        return f"mean return {format_return(self['mean_return'])}{discounted}, mean length {self['mean_steps']:g}"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import table

        heads, row = (
            ["episodes", "mean return"],
            [str(self["episodes"]), format_return(self["mean_return"])],
        )
        if "mean_discounted_return" in self:
            heads, row = (
                [*heads, f"discounted by {self['discount']:g}"],
                [*row, f"{self['mean_discounted_return']:.6g}"],
            )
        heads += ["mean length", "success", "how they ended"]
        row += [f"{self['mean_steps']:g}", f"{self['success']:.0%}", ", ".join(self.lines())]
        return table(heads, [row], range(len(heads) - 1))


def discount_rewards(moments: Sequence[Moment], discount: float) -> float:
    """The discounted return of an episode. What is paid before the first action, and for it, counts in full, as in an optimal value.

    >>> here = Configuration("u0", ("#",))
    >>> discount_rewards([Moment(0, here, action, None, 1.0) for action in (None, 0, 0)], 0.5)
    2.5
    """
    return sum(moment.reward * discount ** max(0, step - 1) for step, moment in enumerate(moments))


class Player:
    """Acts greedily through one episode, ties broken as in training: with a plain policy step by step, with a hierarchical one
    option by option, each followed until it is achieved or the machine moves."""

    def __init__(
        self,
        policy: AnyPolicy | SummaryPolicy,
        machine: AnyMemory,
        rng: np.random.Generator,
        ties: str = "random",
    ) -> None:
        self._policy, self._machine, self._rng, self._ties = policy, machine, rng, ties
        self._option: int | None = None
        self.option: str | None = None
        """The rule that the option of the last action brings about, as text; None: there are no options."""

    def choose(self, s: int, here: Configuration) -> int:
        """The action there, for the option under way or a new one."""
        if not isinstance(self._policy, HierarchicalPolicy):
            counts = isinstance(self._machine, CountingRewardAutomaton)
            memory = tuple(map(int, here.stack)) if counts else here.stack
            return self._best(self._policy.values(s, here.state, memory))
        if self._option is None:
            self._option = self._best(self._policy.option_values(s, here.state, here.stack))
            self.option = self._policy.options[here.state][self._option]
        return self._best(self._policy.values(s, here.state, here.stack, self._option))

    def note(self, here: Configuration, label: Label, there: Configuration) -> None:
        """Note a step: it may end the option."""
        if self._option is not None and isinstance(self._machine, PushdownRewardMachine):
            known = options_of(self._machine, here.state) if self.option else (None,)
            if there != here or is_achieved(self._machine, known[self._option], label, here.top):
                self._option = None

    def _best(self, values: npt.NDArray[np.float64]) -> int:
        if self._ties == "first" and values.any():
            return int(values.argmax())
        return int(self._rng.choice(np.flatnonzero(values == values.max())))


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of an episode: where the environment and the machine are, and what led there.

    >>> Moment(3, Configuration("u0", ("#",)), 1, frozenset(), machine_reward=1.0, environment_reward=-0.1).reward
    0.9
    """

    state: int
    """The environment's state."""
    configuration: Configuration
    """The machine's; the values of counters stand, as text, where a stack does."""
    action: int | None
    """What was done; None: the episode began."""
    label: Label | None
    """What the machine read; None: nothing."""
    machine_reward: float
    """What the machine paid."""
    environment_reward: float = 0.0
    """What the environment itself paid."""
    option: str | None = None
    """The rule that the option followed brings about; None: there was no option."""

    @property
    def reward(self) -> float:
        """What was paid in all."""
        return self.environment_reward + self.machine_reward


@dataclass(frozen=True, slots=True)
class Trained:
    """A domain, a machine and a policy that was learnt there, to play episodes with.

    >>> from pdrm.learning.run import train
    >>> moments = train("maze-5x5", "q", k=1).episode()
    >>> moments[-1].configuration.state, sum(moment.reward for moment in moments)
    ('home', 100005.0)
    """

    policy: AnyPolicy | SummaryPolicy
    domain: FiniteDomain
    machine: AnyMemory
    step_limit: int | None = (
        None  # steps after which an episode is truncated; None: the domain's own limit
    )
    operations: int | None = (
        None  # moves of a counting automaton that an episode may take; None: any number
    )
    ties: str = "random"  # which of several best actions is taken: as the agent's setting says
    _steps: dict[tuple[Configuration, int], MemoryStep] = field(
        init=False, repr=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self.policy.check_machine(self.machine)
        self.policy.check_domain(self.domain)

    def episode(self, seed: int | np.random.Generator) -> Iterator[Moment]:
        """A greedy episode, moment by moment. seed: or a generator, to play several episodes in a row."""
        rng, arrays, operations = np.random.default_rng(seed), self.domain.arrays, 0
        player = Player(self.policy, self.machine, rng, self.ties)
        k = pick(arrays.start_probability, float(rng.random()))
        here, paid, _ = begin(self.machine)
        label = int(arrays.start_label[k])
        if label >= 0 and here.state not in self.machine.final:
            step = self._read(here, label)
            operations = step.moves
            if self._affords(operations):
                here, paid = step.after, paid + step.reward
        s = int(arrays.start_state[k])
        yield Moment(s, here, None, self.domain.labels[label] if label >= 0 else None, paid)
        for _ in range(self.step_limit or self.domain.step_limit):
            if (
                here.state in self.machine.final
                or arrays.terminal[s]
                or not self._affords(operations)
            ):
                return
            a = player.choose(s, here)
            o = pick(arrays.probability[s, a], float(rng.random()))
            label = int(arrays.label[s, a, o])
            step = self._read(here, label)
            operations += step.moves
            if not self._affords(operations):
                return
            player.note(here, self.domain.labels[label], step.after)
            own = float(arrays.reward[s, a, o])
            s, here = int(arrays.next[s, a, o]), step.after
            yield Moment(s, here, a, self.domain.labels[label], step.reward, own, player.option)

    def was_cut_off(self, last: Moment) -> bool:
        """Whether a limit ended the episode, and neither the machine nor the environment did."""
        return last.configuration.state not in self.machine.final and not bool(
            self.domain.arrays.terminal[last.state]
        )

    def _read(self, here: Configuration, label: int) -> MemoryStep:
        """One label read; kept, because a counting automaton may take many moves for it."""
        if (here, label) not in self._steps:
            self._steps[here, label] = read_label(
                self.machine, here, self.domain.labels[label], self.operations
            )
        return self._steps[here, label]

    def _affords(self, operations: int) -> bool:
        return self.operations is None or operations <= self.operations
