"""A tabular run as the loop in `run` sees it: it advances, is tested, and goes on from a snapshot as if it had never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pdrm.errors import CannotTranslate, DoesNotApply
from pdrm.files import Arrays
from pdrm.learning.agents import Agent, CountingQ, Hierarchical, QLearning
from pdrm.learning.curve import Test
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.policy import policy_of
from pdrm.learning.tabular.snapshots import restore, take_snapshot
from pdrm.learning.tabular.training import HierarchicalTraining, Training
from pdrm.product.views import View
from pdrm.task import Task


class TabularLearner:
    """One run of a tabular agent."""

    def __init__(self, task: Task, agent: Agent, seed: int) -> None:
        self.training = begin_training(task, agent, seed)
        self.total = agent.total
        self.between_tests = self.training.settings.test_every
        self.ends = (*self.training.machine.states, *self.training.machine.final)

    @property
    def done(self) -> int:
        """Training episodes so far."""
        return self.training.episodes

    def advance(self, episodes: int) -> None:
        """Train for so many episodes more."""
        self.training.advance(min(episodes, self.total - self.done))

    def test(self) -> list[Test]:
        """Greedy episodes in each of the domains that test this one, as one test."""
        parts = [self.training.test(where) for where in self.training.domain.tested_on]
        columns = ([getattr(part, name) for part in parts] for name in ("returns", "steps", "ends"))
        return [Test(self.done, *(np.concatenate(column) for column in columns))]

    def snapshot(self, _run: int) -> Arrays:
        """Where the run stands, between two episodes."""
        return take_snapshot(self.training)

    def restore(self, snapshots: list[Arrays]) -> None:
        """Put the run where its snapshot left it; `ValueError` where that is damaged."""
        (arrays,) = snapshots
        restore(self.training, arrays)

    def save_policy(self, _run: int, path: Path, about: dict[str, Any]) -> None:
        """Write what was learnt so far."""
        policy_of(self.training, about).save(path)

    def facts(self, _run: int) -> dict[str, float]:
        """Where the run stands, in numbers."""
        return {
            "epsilon": float(self.training.progress.floats[at.EPSILON]),
            "steps": float(self.training.progress.ints[at.ALL_STEPS]),
            "rows": float(self.training.values.index.used[0]),
        }


def begin_training(task: Task, agent: Agent, seed: int) -> Training | HierarchicalTraining:
    """A run of a tabular agent, before its first episode."""
    if task.continuous:
        raise DoesNotApply(f"agent `{agent.name}` learns a table, and {task.name} is continuous", fix="--agent ppo")
    view: View | None = agent.view
    assert view is not None  # noqa: S101 - tabular agents see the machine
    if isinstance(agent, Hierarchical):
        return HierarchicalTraining(task.finite, task.pushdown, view, agent, seed)
    if isinstance(agent, QLearning):
        machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
        return Training(task.finite, machine, view, agent, seed)
    raise CannotTranslate(f"agent `{agent.name}` is not tabular", fix="use q, cprm, hrm, cra-q or cra-cql")
