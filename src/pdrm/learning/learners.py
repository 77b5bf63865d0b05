"""The learners of a batch of runs: tables one by one, networks side by side, and those of everybody's agents."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.domains.own_worlds import OwnEnvironment
from pdrm.errors import DoesNotApply
from pdrm.files import Arrays, Fingerprint
from pdrm.learning.agents import Deep, Summary, Tabular
from pdrm.learning.protocol import AnyAgent, GuestAgent, Learner, OwnLearner, Test, Until
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy
    from pdrm.learning.deep.deep_training import DeepTraining


def begin(agent: AnyAgent, task: Task, seed: int) -> Learner:
    """Begin a run.

    >>> from pdrm.learning.agents import CpRM
    >>> learner = begin(CpRM(k=1), Task("maze-5x5"), seed=0)
    >>> learner.advance(Until(episodes=3))
    >>> learner.episodes
    3
    """
    return begin_all([agent], [task], [seed])[0]


def begin_all(
    agents: Sequence[AnyAgent], tasks: Sequence[Task], seeds: Sequence[int]
) -> Sequence[Learner]:
    """Begin the runs of a batch."""
    deep = [agent for agent in agents if isinstance(agent, Deep)]
    if not deep:
        return [_begin_alone(*run) for run in zip(agents, tasks, seeds, strict=True)]
    from pdrm.learning.deep.deep_training import train_together

    training = train_together(tasks, deep, seeds)
    return [NetworkLearner(training, run, task) for run, task in enumerate(tasks)]


def _begin_alone(agent: AnyAgent, task: Task, seed: int) -> Learner:
    if isinstance(agent, GuestAgent):
        return agent.agent.learner(task, seed)
    if isinstance(agent, Tabular):
        from pdrm.learning.tabular.learner import make_learner

        return make_learner(task, agent, seed)
    from pdrm.learning.tabular.summary import SummaryLearner

    assert isinstance(agent, Summary)
    return SummaryLearner(task, agent, seed)


def find_batch(agent: AnyAgent, task: Task) -> Hashable:
    """Runs with an equal value are trained side by side (None: a run is trained by itself)."""
    if not isinstance(agent, Deep):
        return None
    from pdrm.learning.deep.deep_training import batch_key

    return batch_key(task, agent)


def check_fits(agent: AnyAgent, task: Task) -> None:
    """Raise if an agent of ours cannot learn the task."""
    if isinstance(agent, GuestAgent):
        return
    if not isinstance(agent, Deep):
        begin(agent, task, 0)
        return
    if isinstance(task.domain, OwnEnvironment):
        fault = (
            f"agent `{agent.name}` needs a domain of arrays, and `{task.name}` is an environment"
        )
        raise DoesNotApply(fault, fix='pdrm.SB3("PPO"), or an agent of your own')
    import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
    from pdrm.learning.deep import deep_training

    deep_training.check_fits(task, agent)


class NetworkLearner(OwnLearner):
    """One of several runs that are trained side by side: the first that is asked advances, or evaluates, them all."""

    def __init__(self, training: DeepTraining, run: int, task: Task) -> None:
        self.training, self.run, self.task = training, run, task

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return self.training.timesteps

    @property
    def episodes(self) -> int:
        """Training episodes that have ended so far."""
        return int(self.training.ended[self.run])

    def advance(self, until: Until, /) -> None:
        """Train all until then, in whole iterations, but never past the agent's `total_timesteps`."""
        algorithm = self.training.algorithm
        total = algorithm.settings.total
        left = min(until.steps or total, total) - self.steps
        if left > 0:
            self.training.iterate(-(-left // algorithm.steps_per_iteration))

    def policy(self, about: dict[str, Any] | None = None) -> DeepPolicy:
        """The network as it stands. about: JSON values that are saved with it."""
        from pdrm.learning.deep.deep_policy import DeepPolicy

        return DeepPolicy(*self.training.trained(self.run), about or {}, self.task.domain)

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
        return self.policy(about).save(path, with_domain=False)

    def facts(self) -> dict[str, float]:
        """The share of training episodes that a full stack truncated."""
        share = self.training.cut_off[self.run] / max(1, self.episodes)
        return {"truncated_by_stack": float(share)}
