"""Evaluations: the curve of those in training and its file, and episodes with a trained policy, moment by moment.

An evaluation is a number of episodes without exploration. `curve.csv` has one line per evaluation episode: the training episodes and environment
steps before it, the number of the episode, its return and length, and the machine state in which it ended. Every policy is played on
`task.env(k=…)`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.lazy import load_package
from pdrm.learning.protocol import EvaluationResult, Policy, StatefulPolicy
from pdrm.learning.settings import check_choice
from pdrm.learning.tabular.policy import TabularPolicy
from pdrm.machines.guards import Label
from pdrm.machines.transitions import Configuration
from pdrm.task import Task

COLUMNS = "episodes,timesteps,test,return,steps,end\n"
"""The first line of a curve's file."""
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
    text: str
    """The curve's file."""

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        return f"<Curve of {len(self)} tests, final mean return {format_return(self.final_return)}>"

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
        return load_package("pandas", "pandas").read_csv(io.StringIO(self.text))

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
            text,
        )


def format_evaluation(test: EvaluationResult, episodes: int, timesteps: int) -> str:
    """The lines of an evaluation in the curve's file, one for each of its episodes.

    episodes, timesteps: of training before it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    each = zip(test.returns.tolist(), test.steps.tolist(), test.ends.tolist(), strict=True)
    for number, values in enumerate(each):
        table.writerow([episodes, timesteps, number, *values])
    return text.getvalue()


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
    """The result of `Run.evaluate`: a dictionary.

    >>> Evaluation(domain="hall", episodes=2, mean_return=0.5, mean_steps=9.0, success=0.5, ends={"done": 1, "truncated in up": 1})
    <Evaluation in hall: 2 episodes, mean return 0.5, mean length 9, success 50%; ended in done: 1, truncated in up: 1>
    """

    @classmethod
    def of(cls, task: Task, tests: Sequence[EvaluationResult], **about: Any) -> Evaluation:
        """Sum up the episodes of some runs of a task."""
        returns = round_sums(np.concatenate([one.returns for one in tests]))
        ends = np.concatenate([one.ends for one in tests])
        truncated = np.concatenate([one.truncated for one in tests])
        discounted: Any = [one.discounted for one in tests]
        full = [int(one.stack_full.sum()) for one in tests if one.stack_full is not None]
        if full:
            about["truncated_by_stack"] = sum(full)
        said = np.where(truncated, np.char.add(TRUNCATED, ends), ends)
        return cls(
            domain=task.name,
            episodes=len(returns),
            mean_return=float(returns.mean()),
            mean_discounted_return=float(np.concatenate(discounted).mean()),
            discount=task.discount,
            returns=returns.tolist(),
            mean_steps=float(np.concatenate([one.steps for one in tests]).mean()),
            success=float(find_successes(ends, task.success).mean()),
            ends=dict(Counter(said.tolist()).most_common()),
            truncated=int(truncated.sum()),
            **about,
        )

    def lines(self) -> list[str]:
        """The ways the episodes ended, each with its count."""
        return [
            f"{end if end.startswith(TRUNCATED) else ENDED + end}: {count}"
            for end, count in self["ends"].items()
        ]

    def __repr__(self) -> str:
        count = f"{self['episodes']} episode{'s' * (self['episodes'] != 1)}"
        ends = ", ".join(self.lines())
        said = f"{self.format_means()}, success {self['success']:.0%}; {ends}"
        return f"<Evaluation in {self['domain']}: {count}, {said}>"

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
    """The machine's; an agent that counts has the values of its counters, as text, instead of a stack."""
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
        if isinstance(policy, StatefulPolicy):
            policy.reset()
        moments: list[Moment] = []
        action, terminated, truncated, over = None, False, False, False
        while True:
            if watch is not None:
                watch(len(moments), over)
            moments.append(_moment(policy, observation, action, info))
            if over:
                break
            action = policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        yield Episode(moments, bool(truncated) and not terminated)
    env.close()


def _moment(policy: Policy, observation: Any, action: Any, info: Any) -> Moment:
    record = info["machine"]
    seen = observation.get("observation") if isinstance(observation, Mapping) else observation
    here, option = Configuration(record["state"], record["stack"]), None
    if isinstance(policy, TabularPolicy):
        here, option = policy.show(here)
    return Moment(
        int(seen) if isinstance(seen, Integral) else observation,
        here,
        int(action) if action is not None and np.ndim(action) == 0 else action,
        record["label"],
        record["reward"],
        record["environment_reward"],
        option,
    )


def evaluate_policy(
    task: Task, policy: Policy, k: int | str, episodes: int, seed: int
) -> EvaluationResult:
    """An evaluation: episodes in each of the task's evaluation domains."""
    each = (play_policy(where.env(k), policy, episodes, seed) for where in task.tested_on)
    return sum_up(chain.from_iterable(each), task.discount)


def sum_up(episodes: Iterable[Episode], discount: float) -> EvaluationResult:
    """The numbers of some episodes."""
    each = list(episodes)
    return EvaluationResult(
        np.array([one.reward for one in each]),
        np.array([one.steps for one in each], np.int64),
        np.array([one.end for one in each]),
        discounted=np.array([one.discounted(discount) for one in each]),
        truncated=np.array([one.truncated for one in each]),
    )
