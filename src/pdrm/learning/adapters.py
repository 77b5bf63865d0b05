"""The learners of pdrm under the agent protocol: one table, or networks that are trained side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.files import Arrays, Fingerprint
from pdrm.learning.agents import Deep, Summary, Tabular
from pdrm.learning.curve import Test, settle_returns
from pdrm.learning.protocol import Until
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_learner import DeepLearner
    from pdrm.learning.tabular.summary_learner import SummaryLearner
    from pdrm.learning.tabular.tabular_learner import TabularLearner


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

    @property
    def episodes(self) -> int:
        """Training episodes so far."""
        return self.own.done

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return int(self.own.facts(0)["steps"])

    def advance(self, until: Until, /) -> None:
        """Train until then, in whole episodes."""
        if until.episodes is not None:
            self.own.advance(max(0, until.episodes - self.episodes))
        while not until.reached(self) and self.episodes < self.own.total:
            self.own.advance(1)

    def policy(self) -> SeeingPolicy:
        """What was learnt so far."""
        from pdrm.learning.tabular.policy import policy_of
        from pdrm.learning.tabular.summary_learner import SummaryLearner

        if isinstance(self.own, SummaryLearner):
            return SeeingPolicy(self.own.policy())
        return SeeingPolicy(policy_of(self.own.training))

    def test(self, _episodes: int, _seed: int, /) -> Test:
        """Greedy episodes, with the run's own generator."""
        (test,) = self.own.test()
        return test

    def save(self) -> Arrays:
        """Where the run stands."""
        return self.own.snapshot(0)

    def load(self, arrays: Arrays, /) -> None:
        """Continue from there."""
        self.own.restore([arrays])

    def save_policy(self, path: Path, about: dict[str, Any], largest: int | None) -> Fingerprint:
        """Write the policy, unless it has more bytes than `largest`."""
        return self.own.save_policy(0, path, about, largest)

    def facts(self) -> dict[str, float]:
        """Where the run stands, in numbers."""
        return self.own.facts(0)


def _table_learner(
    task: Task, agent: Tabular | Summary, seed: int
) -> TabularLearner | SummaryLearner:
    from pdrm.learning.tabular.summary_learner import SummaryLearner
    from pdrm.learning.tabular.tabular_learner import TabularLearner

    if isinstance(agent, Summary):
        return SummaryLearner(task, agent, seed)
    return TabularLearner(task, agent, seed)


class NetworkLearner:
    """One of several runs that are trained side by side: whoever is asked first advances, or tests, them all."""

    def __init__(
        self, own: DeepLearner, run: int, tests: dict[tuple[int, int], list[Test]]
    ) -> None:
        self.own, self.run, self.tests = own, run, tests

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return self.own.done

    @property
    def episodes(self) -> int:
        """Training episodes that have ended so far."""
        return int(self.own.training.ended[self.run])

    @property
    def total(self) -> int:
        """The steps of training, in whole iterations."""
        return self.own.total

    @property
    def between_tests(self) -> int:
        """The steps between two tests, in whole iterations."""
        return self.own.between_tests

    def advance(self, until: Until, /) -> None:
        """Train all until then, in whole iterations."""
        if until.steps is not None:
            self.own.advance(until.steps - self.steps)
        while not until.reached(self) and self.steps < self.total:
            self.own.advance(1)

    def policy(self) -> SeeingPolicy:
        """The network as it stands."""
        return SeeingPolicy(self.own.policy(self.run))

    def test(self, episodes: int, _seed: int, /) -> Test:
        """Episodes without exploration; the same starts for all runs."""
        key = self.steps, episodes
        if key not in self.tests:
            self.tests.clear()
            self.tests[key] = self.own.play(episodes, seed=self.own.training.iterations)
        test = self.tests[key][self.run]
        return Test(settle_returns(test.returns), test.steps, test.ends)

    def save(self) -> Arrays:
        """Where the run stands."""
        return self.own.snapshot(self.run)

    def load(self, arrays: Arrays, /) -> None:
        """Continue from there; the runs side by side must all be loaded."""
        self.own.restore_run(self.run, arrays)

    def save_policy(self, path: Path, about: dict[str, Any], _largest: int | None) -> Fingerprint:
        """Write the network."""
        return self.own.save_policy(self.run, path, about)

    def facts(self) -> dict[str, float]:
        """Where the run stands, in numbers."""
        return self.own.facts(self.run)


def network_learners(
    tasks: Sequence[Task], agents: Sequence[Deep], seeds: Sequence[int]
) -> list[NetworkLearner]:
    """The learners of runs that are trained side by side."""
    import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
    from pdrm.learning.deep.deep_learner import DeepLearner

    own = DeepLearner(tasks, agents, seeds)
    tests: dict[tuple[int, int], list[Test]] = {}
    return [NetworkLearner(own, run, tests) for run in range(len(seeds))]
