"""Episodes with a trained policy, moment by moment: for evaluations, for reports and for looking at.

Tables are played with the readable machine, and break ties as in training; every other policy acts on `task.env(k=…)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, pick
from pdrm.errors import NotHere, did_you_mean
from pdrm.learning.curve import Test, find_successes, format_return, settle_returns
from pdrm.learning.protocol import Policy, Remembering
from pdrm.learning.tabular.hierarchical import is_achieved, options_of
from pdrm.learning.tabular.memory import AnyMemory, MemoryStep, begin, read_label
from pdrm.learning.tabular.policy import HierarchicalPolicy, TabularPolicy
from pdrm.machines.configurations import Configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.task import Task

ENDED, TRUNCATED = "ended in ", "truncated in "
"""The end of an episode: by the machine or the environment; or by a limit, usually of steps."""


class Evaluation(dict[str, Any]):
    """The result of `Run.evaluate`: a dictionary, whose entries are attributes, too.

    >>> found = Evaluation(domain="hall", episodes=2, mean_return=0.5, mean_steps=9.0, success=0.5, ends={"done": 1, "truncated in up": 1})
    >>> found
    <Evaluation in hall: 2 episodes, mean return 0.5, mean length 9, success 50%; ended in done: 1, truncated in up: 1>
    >>> found["success"], found.success
    (0.5, 0.5)
    """

    @classmethod
    def of(cls, task: Task, played: Sequence[Played], **about: Any) -> Evaluation:
        """Sum up the episodes of some runs of a task."""
        columns = zip(*(one[:5] for one in played), strict=True)
        returns, steps, ends, discounted, truncated = map(np.concatenate, columns)
        pairs = zip(ends.tolist(), truncated.tolist(), strict=True)
        counted = Counter(TRUNCATED * limit + end for end, limit in pairs)
        settled = settle_returns(returns)
        full = [int(one.stack_full.sum()) for one in played if one.stack_full is not None]
        if full:
            about["truncated_by_stack"] = sum(full)
        return cls(
            domain=task.name,
            episodes=len(settled),
            mean_return=float(settled.mean()),
            mean_discounted_return=float(discounted.mean()),
            discount=task.discount,
            returns=settled.tolist(),
            mean_steps=float(steps.mean()),
            success=float(find_successes(ends, task.success).mean()),
            ends=dict(counted.most_common()),
            truncated=int(truncated.sum()),
            **about,
        )

    def __missing__(self, name: str) -> Any:
        raise NotHere(f"an evaluation has no `{name}`", fix=did_you_mean(str(name), self))

    if not TYPE_CHECKING:  # type checkers take an entry for what it may be

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return self[name]

    def lines(self) -> list[str]:
        """The ways the episodes ended, each with its count."""
        return [
            f"{end if end.startswith(TRUNCATED) else ENDED + end}: {count}"
            for end, count in self["ends"].items()
        ]

    def __repr__(self) -> str:
        said = f"{self.format_means()}, success {self['success']:.0%}"
        return f"<Evaluation in {self['domain']}: {self['episodes']} episode{'s' * (self['episodes'] != 1)}, {said}; {', '.join(self.lines())}>"

    def format_means(self) -> str:
        """The mean return, the discounted one (as an optimal value is) if it is known, and the mean length."""
        paid = self.get("mean_discounted_return")
        discounted = "" if paid is None else f" (discounted by {self['discount']:g}: {paid:.6g})"
        return f"mean return {format_return(self['mean_return'])}{discounted}, mean length {self['mean_steps']:g}"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html

        return html("p", repr(self).strip("<>"))


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of an episode: where the environment and the machine are, and what led there.

    >>> Moment(3, Configuration("u0", ("#",)), 1, frozenset(), machine_reward=1.0, environment_reward=-0.1).reward
    0.9
    """

    state: Any
    """The environment's state in a finite domain, else the observation."""
    configuration: Configuration
    """The machine's; the values of counters, as text, are given instead of a stack."""
    action: Any
    """The action that led here; None if the episode began."""
    label: Label | None
    """The label that the machine read, if any."""
    machine_reward: float
    """The reward of the machine."""
    environment_reward: float = 0.0
    """The reward of the environment itself."""
    option: str | None = None
    """The rule that the option followed brings about; None if there was no option."""

    @property
    def reward(self) -> float:
        """Both rewards."""
        return self.environment_reward + self.machine_reward


class Episode(NamedTuple):
    """An episode without exploration."""

    moments: Sequence[Moment]
    truncated: bool

    @property
    def reward(self) -> float:
        """The return."""
        return float(sum(moment.reward for moment in self.moments))

    @property
    def steps(self) -> int:
        """The number of actions."""
        return len(self.moments) - 1

    @property
    def end(self) -> str:
        """The machine's last state."""
        return self.moments[-1].configuration.state

    def discounted(self, discount: float) -> float:
        """The discounted return. Rewards before the first action, and for it, count in full, as in an optimal value.

        >>> here = Configuration("u0", ("#",))
        >>> Episode([Moment(0, here, action, None, 1.0) for action in (None, 0, 0)], False).discounted(0.5)
        2.5
        """
        return sum(
            moment.reward * discount ** max(0, step - 1) for step, moment in enumerate(self.moments)
        )


# --- Any policy, on the task's environment


def play_policy(env: Any, policy: Policy, episodes: int, seed: int) -> Iterator[Episode]:
    """Episodes of a policy, one after the other with one generator, on an environment of `pdrm.wrap`."""
    for number in range(episodes):
        observation, info = env.reset(seed=None if number else seed)
        if isinstance(policy, Remembering):
            policy.reset()
        moments = [_moment(observation, None, info)]
        terminated = truncated = False
        while not (terminated or truncated):
            action = policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(action)
            moments.append(_moment(observation, action, info))
        yield Episode(moments, bool(truncated) and not terminated)
    env.close()


def _moment(observation: Any, action: Any, info: Any) -> Moment:
    record = info["machine"]
    seen = observation["observation"] if isinstance(observation, Mapping) else observation
    return Moment(
        int(seen) if np.ndim(seen) == 0 else observation,
        Configuration(record["state"], record["stack"]),
        int(action) if action is not None and np.ndim(action) == 0 else action,
        record["label"],
        record["reward"],
        record["environment_reward"],
    )


def make_test(task: Task, policy: Policy, k: int | str, episodes: int, seed: int) -> Test:
    """An evaluation: episodes in each of the task's evaluation domains."""
    each = [
        one for where in task.tested_on for one in play_policy(where.env(k), policy, episodes, seed)
    ]
    played = Played.of(each, task.discount)
    return Test(played.returns, played.steps, played.ends)


class Played(NamedTuple):
    """E episodes without exploration."""

    returns: npt.NDArray[np.float64]
    steps: npt.NDArray[np.int64]
    ends: npt.NDArray[np.str_]
    """[E] each: as in a `Test`."""
    discounted: npt.NDArray[np.float64]
    """[E]: the discounted returns."""
    truncated: npt.NDArray[np.bool_]
    """[E]: the episodes that a limit ended."""
    stack_full: npt.NDArray[np.bool_] | None = None
    """[E]: those of networks that a full stack ended."""

    @classmethod
    def of(cls, each: Sequence[Episode], discount: float) -> Played:
        """The numbers of some episodes."""
        return cls(
            np.array([one.reward for one in each]),
            np.array([one.steps for one in each], np.int64),
            np.array([one.end for one in each]),
            np.array([one.discounted(discount) for one in each]),
            np.array([one.truncated for one in each]),
        )


# --- Tables, with the readable machine


@dataclass(frozen=True, slots=True)
class Trained:
    """A domain, a machine and a table that was learnt there, to play episodes with: with a plain policy step by step, with a
    hierarchical one option by option, each followed until it is completed or the machine moves.

    >>> from pdrm.learning.run import train
    >>> moments = train("maze-5x5", "q", k=1).episode()
    >>> moments[-1].configuration.state, sum(moment.reward for moment in moments)
    ('home', 100005.0)
    """

    policy: TabularPolicy
    domain: FiniteDomain
    machine: AnyMemory
    step_limit: int | None = None
    """Steps after which an episode is truncated (default: the domain's own limit)."""
    operations: int | None = None
    """Moves of a counting automaton that an episode may take (default: any number)."""
    ties: str = "random"
    """Tie-breaking among several best actions, as in training."""
    _steps: dict[tuple[Configuration, int], MemoryStep] = field(
        init=False, repr=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self.policy.check_machine(self.machine)
        self.policy.check_domain(self.domain)

    def episode(self, seed: int | np.random.Generator) -> Episode:
        """A greedy episode. seed: or a generator, to play several episodes in a row."""
        moments = list(self._moments(np.random.default_rng(seed)))
        return Episode(moments, not self._is_over(moments[-1]))

    def _is_over(self, moment: Moment) -> bool:
        is_final = moment.configuration.state in self.machine.final
        return is_final or bool(self.domain.arrays.terminal[moment.state])

    def _moments(self, rng: np.random.Generator) -> Iterator[Moment]:
        arrays, labels, operations = self.domain.arrays, self.domain.labels, 0
        start = pick(arrays.start_probability, float(rng.random()))
        s, number = int(arrays.start_state[start]), int(arrays.start_label[start])
        here, paid, _ = begin(self.machine)
        if number >= 0 and here.state not in self.machine.final:
            step = self._read(here, number)
            operations = step.moves
            if self._affords(operations):
                here, paid = step.after, paid + step.reward
        moment = Moment(s, here, None, labels[number] if number >= 0 else None, paid)
        yield moment
        option: int | None = None
        rule: str | None = None
        for _ in range(self.step_limit or self.domain.step_limit):
            if self._is_over(moment) or not self._affords(operations):
                return
            if isinstance(self.policy, HierarchicalPolicy) and option is None:
                option = self._best(self.policy.option_values(s, here.state, here.stack), rng)
                rule = self.policy.options[here.state][option]
            a = self._best(self._values(s, here, option), rng)
            o = pick(arrays.probability[s, a], float(rng.random()))
            number = int(arrays.label[s, a, o])
            step = self._read(here, number)
            operations += step.moves
            if not self._affords(operations):
                return
            if step.after != here or (rule and self._achieves(option, here, labels[number])):
                option = None
            own, s, here = float(arrays.reward[s, a, o]), int(arrays.next[s, a, o]), step.after
            moment = Moment(s, here, a, labels[number], step.reward, own, rule)
            yield moment

    def _values(self, s: int, here: Configuration, option: int | None) -> npt.NDArray[np.float64]:
        if isinstance(self.policy, HierarchicalPolicy):
            return self.policy.values(s, here.state, here.stack, option)
        counts = isinstance(self.machine, CountingRewardAutomaton)
        memory = tuple(map(int, here.stack)) if counts else here.stack
        return self.policy.values(s, here.state, memory)

    def _best(self, values: npt.NDArray[np.float64], rng: np.random.Generator) -> int:
        if self.ties == "first" and values.any():
            return int(values.argmax())
        return int(rng.choice(np.flatnonzero(values == values.max())))

    def _achieves(self, option: int | None, here: Configuration, label: Label) -> bool:
        """Return True if the machine takes the rule of the option."""
        assert option is not None
        assert isinstance(self.machine, PushdownRewardMachine)
        known = options_of(self.machine, here.state)
        return is_achieved(self.machine, known[option], label, here.top)

    def _read(self, here: Configuration, label: int) -> MemoryStep:
        """One label read; kept, because a counting automaton may take many moves for it."""
        if (here, label) not in self._steps:
            self._steps[here, label] = read_label(
                self.machine, here, self.domain.labels[label], self.operations
            )
        return self._steps[here, label]

    def _affords(self, operations: int) -> bool:
        return self.operations is None or operations <= self.operations
