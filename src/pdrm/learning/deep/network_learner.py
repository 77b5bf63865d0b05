"""The learner of a network, one of several runs that JAX trains side by side."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from pdrm.files import Arrays
from pdrm.learning.agents import Deep
from pdrm.learning.deep.deep_policy import DeepPolicy
from pdrm.learning.deep.deep_training import DeepTraining, train_together
from pdrm.learning.deep.networks import load_arrays, take, tree_arrays
from pdrm.learning.protocol import BuiltInLearner, EvaluationResult, Until
from pdrm.learning.settings import JsonObject
from pdrm.task import Task


def start_networks(
    tasks: Sequence[Task], agents: Sequence[Deep], seeds: Sequence[int]
) -> list[NetworkLearner]:
    """The learners of runs that have one `batch_key`, before their first step."""
    training = train_together(tasks, agents, seeds)
    return [NetworkLearner(training, run, task) for run, task in enumerate(tasks)]


class NetworkLearner(BuiltInLearner):
    """One of several runs that are trained side by side.

    The first call advances (or evaluates) all of them.
    """

    def __init__(self, training: DeepTraining, run: int, task: Task) -> None:
        self.training = training
        self.run = run
        self.task = task

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return self.training.timesteps

    @property
    def episodes(self) -> int:
        """Training episodes that have ended so far."""
        return int(self.training.ended[self.run])

    def advance(self, until: Until, /) -> None:
        """Train all runs in whole iterations, but not beyond the agent's `total_timesteps`."""
        settings = self.training.algorithm.settings
        steps = min(until.steps or settings.total, settings.total) - self.steps
        if steps > 0:
            self.training.iterate(-(-steps // settings.steps_per_iteration))

    def policy(self, about: JsonObject | None = None) -> DeepPolicy:
        """The present policy.

        Args:
            about: JSON values that are saved with it.
        """
        training = self.training
        run = self.run
        numbers = {name: float(values[run]) for name, values in training.numbers.items()}
        network = take(training.state.network, run)
        return DeepPolicy(training.algorithm_of(numbers), network, about or {}, self.task.domain)

    def test(self, episodes: int, _seed: int, /) -> EvaluationResult:
        """Episodes without exploration, with the same starts for all runs."""
        played = take(self.training.test(episodes), self.run)
        return played.read(self.task.pushdown)

    def save(self) -> Arrays:
        """The state of the run."""
        return tree_arrays(take(self.training.state, self.run))

    def load(self, arrays: Arrays, /) -> None:
        """Continue from a saved state. All runs side by side must be loaded."""
        training = self.training
        run = self.run
        loaded = load_arrays(arrays, take(training.state, run))
        training.state = jax.tree.map(
            lambda parts, part: parts.at[run].set(part), training.state, loaded
        )

    def facts(self) -> dict[str, float]:
        """The share of training episodes that a full stack truncated."""
        share = self.training.cut_off[self.run] / max(1, self.episodes)
        return {"truncated_by_stack": float(share)}
