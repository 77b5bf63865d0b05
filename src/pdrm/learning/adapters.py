"""The learners of pdrm under the agent protocol: one table, or networks that are trained side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdrm.files import Arrays, Fingerprint
from pdrm.learning.agents import Deep, Summary, Tabular
from pdrm.learning.curve import Test, settle_returns
from pdrm.learning.protocol import Until
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy
    from pdrm.learning.deep.deep_training import DeepTraining
    from pdrm.learning.deep.many_envs import Episodes
    from pdrm.learning.tabular.learner import TabularLearner
    from pdrm.learning.tabular.summary_learner import SummaryLearner


class SeeingPolicy:
    """A policy of pdrm under the protocol: what it needs is in the observation."""

    def __init__(self, policy: Any) -> None:
        self.own = policy

    def reset(self) -> None:
        """Forget; an episode begins."""
        self.own.begin()

    def act(self, observation: Any, _info: Any, /) -> Any:
        """The action."""
        return self.own.act(observation)


class TableLearner:
    """A run of an agent that learns a table, episode by episode."""

    def __init__(self, task: Task, agent: Tabular | Summary, seed: int) -> None:
        self.own = _table_learner(task, agent, seed)
        self.total = agent.total

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return self.own.episodes

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return self.own.steps

    def advance(self, until: Until, /) -> None:
        """Train until then, in whole episodes."""
        if until.episodes is not None:
            self.own.advance(until.episodes)
        while not until.reached(self) and self.episodes < self.total:
            self.own.advance(self.episodes + 1)

    def policy(self) -> SeeingPolicy:
        """The policy so far."""
        return SeeingPolicy(self.own.policy())

    def test(self, _episodes: int, _seed: int, /) -> Test:
        """Greedy episodes, with the run's own generator."""
        return self.own.test()

    def save(self) -> Arrays:
        """The state of the run, as arrays."""
        return self.own.save()

    def load(self, arrays: Arrays, /) -> None:
        """Continue from there."""
        self.own.load(arrays)

    def save_policy(self, path: Path, about: dict[str, Any], largest: int | None) -> Fingerprint:
        """Write the policy, unless it has more bytes than `largest`."""
        return self.own.policy(about).save(path, largest)

    def facts(self) -> dict[str, float]:
        """The state of the run, in numbers."""
        return self.own.facts()


def _table_learner(
    task: Task, agent: Tabular | Summary, seed: int
) -> TabularLearner | SummaryLearner:
    if isinstance(agent, Summary):
        from pdrm.learning.tabular.summary_learner import SummaryLearner

        return SummaryLearner(task, agent, seed)
    from pdrm.learning.tabular.learner import make_learner

    return make_learner(task, agent, seed)


class NetworkLearner:
    """One of several runs that are trained side by side: the first that is asked advances, or evaluates, them all."""

    def __init__(self, training: DeepTraining, run: int, task: Task, agent: Deep) -> None:
        self.training, self.run, self.task = training, run, task
        per_iteration = training.steps_per_iteration
        self.total = -(-agent.total // per_iteration) * per_iteration
        """The steps of training, in whole iterations."""
        self.between_tests = max(1, agent.between_tests // per_iteration) * per_iteration
        """The steps between two evaluations, in whole iterations."""

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return self.training.timesteps

    @property
    def episodes(self) -> int:
        """Training episodes that have ended so far."""
        return int(self.training.ended[self.run])

    def advance(self, until: Until, /) -> None:
        """Train all until then, in whole iterations."""
        left = min(until.steps or 0, self.total) - self.steps
        if left > 0:
            self.training.iterate(-(-left // self.training.steps_per_iteration))
        while not until.reached(self) and self.steps < self.total:
            self.training.iterate(1)

    def policy(self) -> SeeingPolicy:
        """The network as it stands."""
        return SeeingPolicy(self._policy({}))

    def _policy(self, about: dict[str, Any]) -> DeepPolicy:
        from pdrm.learning.deep.deep_policy import policy_of

        return policy_of(self.training, self.run, self.task, about)

    def test(self, episodes: int, _seed: int, /) -> Test:
        """Episodes without exploration; the same starts for all runs."""
        return self.read_test(self.training.test(episodes, self.training.iterations))

    def read_test(self, played: Episodes) -> Test:
        """The episodes of this run."""
        ends = np.array((*self.task.pushdown.states, *self.task.pushdown.final))
        returns = np.asarray(played.returns[self.run], np.float64)
        steps = np.asarray(played.steps[self.run], np.int64)
        return Test(settle_returns(returns), steps, ends[np.asarray(played.ends[self.run])])

    def save(self) -> Arrays:
        """The state of the run."""
        return self.training.snapshot(self.run)

    def load(self, arrays: Arrays, /) -> None:
        """Continue from there; the runs side by side must all be loaded."""
        self.training.restore(self.run, arrays)

    def save_policy(self, path: Path, about: dict[str, Any], _largest: int | None) -> Fingerprint:
        """Write the network."""
        self._policy({**about, **self.facts()}).save(path, with_domain=False)
        return Fingerprint.of(path.read_bytes())

    def facts(self) -> dict[str, float]:
        """The share of training episodes that a full stack truncated."""
        cut_off = self.training.cut_off[self.run] / max(1, self.episodes)
        return {"cut_off": float(cut_off)}


def network_learners(
    tasks: Sequence[Task], agents: Sequence[Deep], seeds: Sequence[int]
) -> list[NetworkLearner]:
    """The learners of runs that are trained side by side."""
    import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
    from pdrm.learning.deep.deep_learner import train_together

    training = train_together(tasks, agents, seeds)
    runs = enumerate(zip(tasks, agents, strict=True))
    return [NetworkLearner(training, run, task, agent) for run, (task, agent) in runs]
