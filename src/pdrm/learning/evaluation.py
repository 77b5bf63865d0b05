"""Evaluations: the curve of those in training and its file, and episodes with a trained policy, moment by moment.

An evaluation is a number of episodes without exploration. `curve.csv` has one line per evaluation episode: the training episodes and environment
steps before it, the number of the episode, its return and length, and the machine state in which it ended. Tables are played with the
readable machine, and break ties as in training; every other policy acts on `task.env(k=…)`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, pick
from pdrm.errors import NotHere, did_you_mean
from pdrm.lazy import make_frame
from pdrm.learning.protocol import Policy, Remembering, Test
from pdrm.learning.settings import check_choice
from pdrm.learning.tabular.policy import HierarchicalPolicy, TabularPolicy
from pdrm.learning.tabular.q_learning import AnyMemory, ReadableProduct
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Rewards
from pdrm.machines.transitions import Configuration
from pdrm.task import Task

COLUMNS = ("episodes", "timesteps", "test", "return", "steps", "end")
"""Of a curve's file."""
UNIT_OF = {"steps": "timesteps", "episodes": "episodes"}
"""The axes of curves, and the units of training."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The evaluations of a run: T evaluations of E episodes each."""

    unit: str
    """The unit of the agent's training: episodes or timesteps."""
    episodes: npt.NDArray[np.int64]
    """[T]: training episodes before each evaluation."""
    timesteps: npt.NDArray[np.int64]
    """[T]: environment steps of training before each evaluation."""
    returns: npt.NDArray[np.float64]
    """[T, E]"""
    steps: npt.NDArray[np.int64]
    """[T, E]: the lengths of the evaluation episodes."""
    ends: npt.NDArray[np.str_]
    """[T, E]: machine states."""

    @classmethod
    def of(cls, unit: str, tests: Sequence[Test]) -> Curve:
        """The curve of some evaluations."""
        return cls(
            unit,
            np.array([test.episodes for test in tests], np.int64),
            np.array([test.timesteps for test in tests], np.int64),
            np.array([test.returns for test in tests]),
            np.array([test.steps for test in tests]),
            np.array([test.ends for test in tests]),
        )

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        last = f", final mean return {format_return(self.final_return)}" if len(self) else ""
        return f"<Curve of {len(self)} tests{last}>"

    @property
    def at(self) -> npt.NDArray[np.int64]:
        """[T]: training before each evaluation, in the agent's unit."""
        return self.timesteps if self.unit == "timesteps" else self.episodes

    @property
    def final_return(self) -> float:
        """The mean return of the last evaluation."""
        return float(self.returns[-1].mean())

    def frame(self) -> Any:
        """The curve as a pandas `DataFrame`, with a row for each evaluation episode and the columns of `curve.csv`."""
        return make_frame([dict(zip(COLUMNS, row, strict=True)) for row in self.rows()])

    def rows(self) -> Iterator[tuple[int, int, int, float, int, str]]:
        """The rows of the curve's file, one for each evaluation episode."""
        for test in self.tests:
            each = zip(test.returns.tolist(), test.steps.tolist(), test.ends.tolist(), strict=True)
            for number, values in enumerate(each):
                yield test.episodes, test.timesteps, number, *values

    def text(self) -> str:
        """The curve's file."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(self.rows())
        return text.getvalue()

    @classmethod
    def parse(cls, text: str, unit: str = "episodes") -> Curve:
        r"""The curve in a file.

        >>> Curve.parse("episodes,timesteps,test,return,steps,end\n100,900,0,1.0,5,done\n100,900,1,0.5,9,u1\n").returns
        array([[1. , 0.5]])
        """
        _, *lines = csv.reader(text.splitlines())
        tests = sum(line[2] == "0" for line in lines)
        episodes, timesteps, _, returns, steps, ends = (
            np.array(column).reshape(tests, -1) for column in zip(*lines, strict=True)
        )
        return cls(
            unit,
            episodes[:, 0].astype(np.int64),
            timesteps[:, 0].astype(np.int64),
            returns.astype(np.float64),
            steps.astype(np.int64),
            ends,
        )

    @property
    def tests(self) -> list[Test]:
        """The evaluations, one by one."""
        training = self.episodes.tolist(), self.timesteps.tolist()
        return [
            Test(*one) for one in zip(self.returns, self.steps, self.ends, *training, strict=True)
        ]


SINGLE, DOUBLE = 7, 15
"""The decimal digits that a sum in single and in double precision has."""


def round_sums(sums: npt.ArrayLike, digits: int = DOUBLE) -> npt.NDArray[np.float64]:
    """Sums without the digits that are rounding errors only.

    >>> round_sums([0.1 + 0.2, 100005.0]).tolist(), round_sums(np.float32([0.91, 5.25]), SINGLE).tolist()
    ([0.3, 100005.0], [0.91, 5.25])
    """
    given = np.asarray(sums, np.float64)
    rounded = [float(f"{value:.{digits}g}") for value in given.ravel().tolist()]
    return np.array(rounded).reshape(given.shape)


def format_return(value: float) -> str:
    """A return for people.

    >>> [format_return(value) for value in (-8.0, 100005.0, 0.123456789, 0.0)]
    ['-8', '100005', '0.123457', '0']
    """
    return f"{value:.6g}"


def find_successes(ends: npt.NDArray[np.str_], states: Sequence[str]) -> npt.NDArray[np.float64]:
    """1.0 for each end in one of the states, else 0.0. An automaton that simulates a stack keeps its top in the state: `home@d`.

    >>> find_successes(np.array(["home", "home@d", "lost@d"]), ["home"]).tolist()
    [1.0, 1.0, 0.0]
    """
    solved = [
        name for name in np.unique(ends) if name in states or name.rpartition("@")[0] in states
    ]
    return np.isin(ends, solved).astype(np.float64)


def check_axes(x: str | None, y: str) -> None:
    """Raise unless curves have these axes."""
    check_choice("x", "steps" if x is None else x, list(UNIT_OF))
    check_choice("y", y, ["return", "success"])


# --- Episodes with a trained policy

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
    def of(cls, task: Task, tests: Sequence[Test], **about: Any) -> Evaluation:
        """Sum up the episodes of some runs of a task."""
        parts: Any = [
            (one.returns, one.steps, one.ends, one.discounted, one.truncated) for one in tests
        ]
        paid, steps, ends, discounted, truncated = map(np.concatenate, zip(*parts, strict=True))
        returns = round_sums(paid)
        said = np.where(truncated, np.char.add(TRUNCATED, ends), ends)
        full = [int(one.stack_full.sum()) for one in tests if one.stack_full is not None]
        if full:
            about["truncated_by_stack"] = sum(full)
        return cls(
            domain=task.name,
            episodes=len(returns),
            mean_return=float(returns.mean()),
            mean_discounted_return=float(discounted.mean()),
            discount=task.discount,
            returns=returns.tolist(),
            mean_steps=float(steps.mean()),
            success=float(find_successes(ends, task.success).mean()),
            ends=dict(Counter(said.tolist()).most_common()),
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

    def facts(self) -> dict[str, Any]:
        """The summary: return, steps and the machine's last state."""
        return {"return": self.reward, "steps": self.steps, "end": self.end}

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

Watcher = Callable[[int, bool], None]


def play_policy(
    env: Any, policy: Policy, episodes: int, seed: int, watch: Watcher | None = None
) -> Iterator[Episode]:
    """Episodes of a policy, one after the other with one generator, on an environment of `pdrm.wrap`.

    watch: Called at the beginning and after every step, with the number of steps and True if it was the last.
    """
    for number in range(episodes):
        observation, info = env.reset(seed=None if number else seed)
        if isinstance(policy, Remembering):
            policy.reset()
        moments: list[Moment] = []
        action, terminated, truncated, over = None, False, False, False
        while True:
            if watch is not None:
                watch(len(moments), over)
            moments.append(_moment(observation, action, info))
            if over:
                break
            action = policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        yield Episode(moments, bool(truncated) and not terminated)
    env.close()


def _moment(observation: Any, action: Any, info: Any) -> Moment:
    record = info["machine"]
    seen = observation.get("observation") if isinstance(observation, Mapping) else observation
    return Moment(
        int(seen) if isinstance(seen, Integral) else observation,
        Configuration(record["state"], record["stack"]),
        int(action) if action is not None and np.ndim(action) == 0 else action,
        record["label"],
        record["reward"],
        record["environment_reward"],
    )


def make_test(task: Task, policy: Policy, k: int | str, episodes: int, seed: int) -> Test:
    """An evaluation: episodes in each of the task's evaluation domains."""
    each = (play_policy(where.env(k), policy, episodes, seed) for where in task.tested_on)
    return sum_up(chain.from_iterable(each), task.discount)


def sum_up(episodes: Iterable[Episode], discount: float) -> Test:
    """The numbers of some episodes."""
    each = list(episodes)
    return Test(
        np.array([one.reward for one in each]),
        np.array([one.steps for one in each], np.int64),
        np.array([one.end for one in each]),
        discounted=np.array([one.discounted(discount) for one in each]),
        truncated=np.array([one.truncated for one in each]),
    )


# --- Tables, with the readable machine


class Trained(ReadableProduct):
    """A domain, a machine and a table that was learnt there, to play episodes with: with a plain policy step by step, with a
    hierarchical one option by option, each followed until it is completed or the machine moves.

    Args:
        policy: The table.
        domain: Where to play.
        machine: It was learnt with this one.
        step_limit: Steps after which an episode is truncated (default: the domain's own limit).
        operations: Moves of a counting automaton that an episode may take (default: any number).
        ties: Tie-breaking among several best actions, as in training.

    >>> from pdrm.learning.run import train
    >>> moments = train("maze-5x5", "q", k=1).episode()
    >>> moments[-1].configuration.state, sum(moment.reward for moment in moments)
    ('home', 100005.0)
    """

    def __init__(
        self,
        policy: TabularPolicy,
        domain: FiniteDomain,
        machine: AnyMemory,
        step_limit: int | None = None,
        operations: int | None = None,
        ties: str = "random",
    ) -> None:
        policy.check_machine(machine)
        policy.check_domain(domain)
        super().__init__(domain, machine, step_limit, operations)
        self.policy, self.ties, self.rng = policy, ties, np.random.default_rng()

    def draw(self, probability: Rewards, /) -> int:
        return pick(probability, float(self.rng.random()))

    def episode(self, seed: int | np.random.Generator) -> Episode:
        """A greedy episode. seed: or a generator, to play several episodes in a row."""
        self.rng = np.random.default_rng(seed)
        moments = list(self._moments())
        last = moments[-1]
        return Episode(moments, not self.over(last.state, last.configuration))

    def _moments(self) -> Iterator[Moment]:
        arrays, labels = self.domain.arrays, self.domain.labels
        s, number, (here, paid, _) = self.begin()
        yield Moment(s, here, None, labels[number] if number >= 0 else None, paid)
        for taken in self.play(s, here):
            number, own = (
                part[taken.s, taken.a, taken.o] for part in (arrays.label, arrays.reward)
            )
            earned = self.read(taken.here, int(number)).reward
            rule = self._find_goal(taken.here, taken.option)
            yield Moment(
                taken.after, taken.there, taken.a, labels[number], earned, float(own), rule
            )

    def _find_goal(self, here: Configuration, option: int) -> str | None:
        """The rule that an option brings about, if the policy has options."""
        if not isinstance(self.policy, HierarchicalPolicy):
            return None
        return self.policy.options[here.state][option]

    def choose_option(self, s: int, here: Configuration, /) -> int:
        if not isinstance(self.policy, HierarchicalPolicy):
            return 0
        return self._best(self.policy.option_values(s, here.state, here.stack))

    def choose_action(self, s: int, here: Configuration, option: int, /) -> int:
        counts = isinstance(self.machine, CountingRewardAutomaton)
        memory = tuple(map(int, here.stack)) if counts else here.stack
        return self._best(self.policy.values(s, here.state, memory, option))

    def achieved(self, here: Configuration, option: int, label: Label, /) -> bool:
        rule = self._find_goal(here, option)
        if rule is None or not isinstance(self.machine, PushdownRewardMachine):
            return False
        return rule == str(self.machine.rule(here.state, label, here.top))

    def _best(self, values: npt.NDArray[np.float64]) -> int:
        if self.ties == "first" and values.any():
            return int(values.argmax())
        return int(self.rng.choice(np.flatnonzero(values == values.max())))
