"""The learner of every agent: `begin` makes it, from the agent's class. Ours are one table, or networks trained side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.files import Arrays, Fingerprint
from pdrm.learning.agents import Deep, Summary, Tabular
from pdrm.learning.protocol import AnyAgent, GuestAgent, Learner, Test, Until
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy
    from pdrm.learning.deep.deep_training import DeepTraining
    from pdrm.learning.tabular.learner import TabularLearner
    from pdrm.learning.tabular.summary import SummaryLearner


def begin(agent: AnyAgent, task: Task, seed: int) -> Learner:
    """Begin a run.

    >>> from pdrm.learning.agents import CpRM
    >>> learner = begin(CpRM(k=1), Task("maze-5x5"), seed=0)
    >>> learner.advance(Until(episodes=3))
    >>> learner.episodes
    3
    """
    if isinstance(agent, GuestAgent):
        return agent.agent.learner(task, seed)
    if isinstance(agent, Deep):
        return begin_all([agent], [task], [seed])[0]
    if isinstance(agent, Tabular):
        from pdrm.learning.tabular.learner import make_learner

        return TableLearner(make_learner(task, agent, seed))
    from pdrm.learning.tabular.summary import SummaryLearner

    assert isinstance(agent, Summary)
    return TableLearner(SummaryLearner(task, agent, seed))


def begin_all(
    agents: Sequence[AnyAgent], tasks: Sequence[Task], seeds: Sequence[int]
) -> Sequence[Learner]:
    """Begin the runs of a batch: those of networks are trained side by side."""
    deep = [
        agent.settled(task)
        for agent, task in zip(agents, tasks, strict=True)
        if isinstance(agent, Deep)
    ]
    if not deep:
        return [begin(*run) for run in zip(agents, tasks, seeds, strict=True)]
    from pdrm.learning.deep.deep_training import train_together

    training = train_together(tasks, deep, seeds)
    return [
        NetworkLearner(training, run, task, agent)
        for run, (task, agent) in enumerate(zip(tasks, deep, strict=True))
    ]


class TableLearner:
    """A run of an agent that learns a table, episode by episode."""

    def __init__(self, own: TabularLearner | SummaryLearner) -> None:
        self.own, self.total = own, own.settings.total
        self.policy, self.facts = own.policy, own.facts
        self.save, self.load = own.save, own.load

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
        while not until.reached(self) and self.episodes < self.total:
            self.own.advance(max(until.episodes or 0, self.episodes + 1))

    def test(self, _episodes: int, _seed: int, /) -> Test:
        """Greedy episodes, with the run's own generator."""
        return self.own.test()

    def save_policy(self, path: Path, about: dict[str, Any]) -> Fingerprint:
        """Write the policy."""
        return self.policy(about).save(path)


class NetworkLearner:
    """One of several runs that are trained side by side: the first that is asked advances, or evaluates, them all."""

    def __init__(self, training: DeepTraining, run: int, task: Task, agent: Deep) -> None:
        self.training, self.run, self.task = training, run, task
        self.per_iteration = training.algorithm.steps_per_iteration
        iterations = -(-agent.total // self.per_iteration)
        self.total = iterations * self.per_iteration
        """The steps of training, in whole iterations."""
        self.between_tests = max(1, agent.between_tests // self.per_iteration) * self.per_iteration
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
            self.training.iterate(-(-left // self.per_iteration))
        while not until.reached(self) and self.steps < self.total:
            self.training.iterate(1)

    def policy(self, about: dict[str, Any] | None = None) -> DeepPolicy:
        """The network as it stands. about: JSON values that are saved with it."""
        from pdrm.learning.deep.deep_policy import policy_of

        return policy_of(self.training, self.run, self.task, about or {})

    def test(self, episodes: int, _seed: int, /) -> Test:
        """Episodes without exploration; the same starts for all runs."""
        played = self.training.test(episodes, self.training.iterations)
        return played.of_run(self.run).read(self.task.pushdown)

    def save(self) -> Arrays:
        """The state of the run."""
        return self.training.snapshot(self.run)

    def load(self, arrays: Arrays, /) -> None:
        """Continue from there; the runs side by side must all be loaded."""
        self.training.restore(self.run, arrays)

    def save_policy(self, path: Path, about: dict[str, Any]) -> Fingerprint:
        """Write the network."""
        self.policy({**about, **self.facts()}).save(path, with_domain=False)
        return Fingerprint.of(path.read_bytes())

    def facts(self) -> dict[str, float]:
        """The share of training episodes that a full stack truncated."""
        share = self.training.cut_off[self.run] / max(1, self.episodes)
        return {"truncated_by_stack": float(share)}
