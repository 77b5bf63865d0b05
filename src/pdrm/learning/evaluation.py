"""Evaluations: the learning curve and its file, and episodes of a trained policy, moment by moment.

An evaluation is a number of episodes without exploration. `curve.csv` has one line per episode:
the training episodes and environment steps before the evaluation, the number of the episode, its
return and length, and the last machine state. Policies act in
`task.env`, networks also in parallel in JAX.
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

from pdrm.lazy import load_package
from pdrm.learning.protocol import EvaluationResult, Policy, StatefulPolicy
from pdrm.learning.settings import check_choice
from pdrm.learning.tabular.policy import TabularPolicy
from pdrm.machines.guards import Label
from pdrm.machines.transitions import Configuration
from pdrm.task import Task
from pdrm.wording import plural

if TYPE_CHECKING:
    from pdrm.learning.protocol import Floats, Ints, Texts

COLUMNS = "episodes,timesteps,test,return,steps,end\n"
"""The first line of a curve's file."""
UNIT_OF = {"steps": "timesteps", "episodes": "episodes"}
"""From axes of curves to units of training."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The evaluations of a run: T evaluations of E episodes each."""

    unit: str
    """The unit of the agent's training: episodes or timesteps."""
    episodes: Ints
    """[T]: training episodes before each evaluation."""
    timesteps: Ints
    """[T]: environment steps of training before each evaluation."""
    returns: Floats
    """[T, E]"""
    steps: Ints
    """[T, E]: the lengths of the evaluation episodes."""
    ends: Texts
    """[T, E]: machine states."""
    text: str
    """The content of `curve.csv`."""

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        return f"<Curve of {len(self)} evaluations, final mean return {format_return(self.final_return)}>"

    @property
    def at(self) -> Ints:
        """[T]: training before each evaluation, in the agent's unit."""
        return self.timesteps if self.unit == "timesteps" else self.episodes

    @property
    def final_return(self) -> float:
        """The mean return of the last evaluation."""
        return float(self.returns[-1].mean())

    def frame(self) -> Any:
        """The curve as a pandas `DataFrame` with the rows and columns of `curve.csv`."""
        return load_package("pandas", "pandas").read_csv(io.StringIO(self.text))

    @classmethod
    def parse(cls, text: str, unit: str = "episodes") -> Curve:
        r"""Parse the content of `curve.csv`.

        >>> lines = "100,900,0,1.0,5,done\n100,900,1,0.5,9,u1\n"
        >>> Curve.parse(f"episodes,timesteps,test,return,steps,end\n{lines}").returns
        array([[1. , 0.5]])
        """
        _, *lines = csv.reader(text.splitlines())
        evaluations = sum(line[2] == "0" for line in lines)
        episodes, timesteps, _, returns, steps, ends = (
            np.array(column).reshape(evaluations, -1) for column in zip(*lines, strict=True)
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


def format_evaluation(result: EvaluationResult, episodes: int, timesteps: int) -> str:
    """The lines of an evaluation in `curve.csv`, one for each of its episodes.

    Args:
        result: The evaluation.
        episodes: Training episodes before it.
        timesteps: Environment steps of training before it.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    columns = result.returns.tolist(), result.steps.tolist(), result.ends.tolist()
    for number, values in enumerate(zip(*columns, strict=True)):
        table.writerow([episodes, timesteps, number, *values])
    return text.getvalue()


SINGLE, DOUBLE = 7, 15
"""The decimal digits of a sum in single and in double precision."""


def round_sums(sums: npt.ArrayLike, digits: int = DOUBLE) -> Floats:
    """Sums without the digits that are only rounding errors.

    >>> round_sums([0.1 + 0.2, 100005.0]).tolist()
    [0.3, 100005.0]
    >>> round_sums(np.float32([0.91, 5.25]), SINGLE).tolist()
    [0.91, 5.25]
    """
    values = np.asarray(sums, np.float64)
    rounded = [float(f"{value:.{digits}g}") for value in values.ravel().tolist()]
    return np.array(rounded).reshape(values.shape)


def format_return(value: float) -> str:
    """A return with at most six digits.

    >>> [format_return(value) for value in (-8.0, 100005.0, 0.123456789, 0.0)]
    ['-8', '100005', '0.123457', '0']
    """
    return f"{value:.6g}"


def find_successes(ends: Texts, states: Sequence[str]) -> Floats:
    """1.0 for each end in one of the states, otherwise 0.0.

    An automaton that simulates a stack keeps its top in the state: `home@d`.

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
"""The end of an episode: by the machine or the environment, or by a limit, usually of steps."""


class Evaluation(dict[str, Any]):
    """The result of `Run.evaluate`: a dictionary.

    >>> result = {"episodes": 2, "mean_return": 0.5, "mean_steps": 9.0, "success": 0.5}
    >>> Evaluation(domain="hall", **result, ends={"done": 2})
    <Evaluation in hall: 2 episodes, mean return 0.5, mean length 9, success 50%; ended in done: 2>
    """

    @classmethod
    def of(cls, task: Task, results: Sequence[EvaluationResult], **about: Any) -> Evaluation:
        """Summarise the episodes of one or more runs of a task."""
        returns = round_sums(np.concatenate([result.returns for result in results]))
        steps = np.concatenate([result.steps for result in results])
        ends = np.concatenate([result.ends for result in results])
        truncated = np.concatenate([result.truncated for result in results])
        discounted: Any = [result.discounted for result in results]
        full = [int(result.stack_full.sum()) for result in results if result.stack_full is not None]
        if full:
            about["truncated_by_stack"] = sum(full)
        described = np.where(truncated, np.char.add(TRUNCATED, ends), ends)
        return cls(
            domain=task.name,
            episodes=len(returns),
            mean_return=float(returns.mean()),
            mean_discounted_return=float(np.concatenate(discounted).mean()),
            discount=task.discount,
            returns=returns.tolist(),
            mean_steps=float(steps.mean()),
            success=float(find_successes(ends, task.success).mean()),
            ends=dict(Counter(described.tolist()).most_common()),
            truncated=int(truncated.sum()),
            **about,
        )

    def lines(self) -> list[str]:
        """The ends of the episodes, each with its count."""
        return [
            f"{end if end.startswith(TRUNCATED) else ENDED + end}: {count}"
            for end, count in self["ends"].items()
        ]

    def __repr__(self) -> str:
        count = plural(self["episodes"], "episode")
        ends = ", ".join(self.lines())
        result = f"{self.format_means()}, success {self['success']:.0%}; {ends}"
        return f"<Evaluation in {self['domain']}: {count}, {result}>"

    def format_means(self) -> str:
        """The mean return, the mean discounted return if there is one, and the mean length."""
        value = self.get("mean_discounted_return")
        discounted = "" if value is None else f" (discounted by {self['discount']:g}: {value:.6g})"
        mean = format_return(self["mean_return"])
        return f"mean return {mean}{discounted}, mean length {self['mean_steps']:g}"


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of an episode: the state of the environment and the machine, and the step before
    it.

    >>> before = Configuration("u0", ("#",))
    >>> Moment(3, before, 1, frozenset(), machine_reward=1.0, environment_reward=-0.1).reward
    0.9
    """

    state: Any
    """The environment's state in a finite domain, otherwise the observation."""
    configuration: Configuration
    """The machine's configuration, or its state and counters for a counting agent."""
    action: Any
    """The action before it, or None at the start of the episode."""
    label: Label | None
    """The label that the machine read, or None."""
    machine_reward: float
    """The reward of the machine."""
    environment_reward: float = 0.0
    """The reward of the environment itself."""
    option: str | None = None
    """The rule of the option that is followed, or None."""

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
        """The discounted return.

        Rewards before and for the first action are not discounted, as in an optimal value.

        >>> start = Configuration("u0", ("#",))
        >>> moments = [Moment(0, start, action, None, 1.0) for action in (None, 0, 0)]
        >>> Episode(moments, False).discounted(0.5)
        2.5
        """
        return sum(
            moment.reward * discount ** max(0, step - 1) for step, moment in enumerate(self.moments)
        )


# --- Playing

Watcher = Callable[[int, bool], None]


def play_policy(
    env: Any, policy: Policy, episodes: int, seed: int, watch: Watcher | None = None
) -> Iterator[Episode]:
    """Play episodes of a policy in sequence, with one generator, in an environment of `pdrm.wrap`.

    Args:
        env: The environment.
        policy: The policy.
        episodes: Their number.
        seed: The seed of the environment.
        watch: Called at the start and after every step of an episode with the number of steps, and
            True after the last.
    """
    for number in range(episodes):
        observation, info = env.reset(seed=None if number else seed)
        if isinstance(policy, StatefulPolicy):
            policy.reset()
        moments: list[Moment] = []
        action = None
        terminated = False
        truncated = False
        over = False
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
    state = observation.get("observation") if isinstance(observation, Mapping) else observation
    configuration = Configuration(record["state"], record["stack"])
    option = None
    if isinstance(policy, TabularPolicy):
        configuration, option = policy.show(configuration)
    return Moment(
        int(state) if isinstance(state, Integral) else observation,
        configuration,
        int(action) if action is not None and np.ndim(action) == 0 else action,
        record["label"],
        record["reward"],
        record["environment_reward"],
        option,
    )


def evaluate_policy(
    task: Task, policy: Policy, k: int | str, episodes: int, seed: int
) -> EvaluationResult:
    """Evaluate a policy: play episodes in each of the task's evaluation domains."""
    played = (play_policy(other.env(k), policy, episodes, seed) for other in task.tested_on)
    return sum_up(chain.from_iterable(played), task.discount)


def sum_up(episodes: Iterable[Episode], discount: float) -> EvaluationResult:
    """The results of episodes as arrays."""
    listed = list(episodes)
    return EvaluationResult(
        np.array([episode.reward for episode in listed]),
        np.array([episode.steps for episode in listed], np.int64),
        np.array([episode.end for episode in listed]),
        discounted=np.array([episode.discounted(discount) for episode in listed]),
        truncated=np.array([episode.truncated for episode in listed]),
    )
