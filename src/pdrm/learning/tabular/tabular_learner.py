"""A tabular run as the loop in `run` sees it: it advances, is tested, and goes on from a snapshot as if it had never stopped.

A snapshot has only what cannot be found again: stacks and rows by their numbers, not where each label leads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadSetting, CannotTranslate
from pdrm.learning.agents import Agent, CountingQ, Hierarchical, QLearning
from pdrm.learning.curve import Test
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.policy import policy_of
from pdrm.learning.tabular.rows_kernel import Observed, Values
from pdrm.learning.tabular.training import HierarchicalTraining, Training
from pdrm.machines.stacks import Stacks
from pdrm.product.exploration import Configurations, Explored
from pdrm.product.hash_kernel import Index
from pdrm.product.views import View
from pdrm.task import Task

Arrays = dict[str, npt.NDArray[Any]]
TABLES = ("values", "policies")
ENTRIES, LISTS = ("node", "following"), ("first", "last", "length", "turn")
NODES = ("symbol", "parent", "height")
STEPS = ("state", "node", "seen", "after", "paid", "moves")
"""What is known of configurations; kept for counting automata only, whose steps may take long."""


class TabularLearner:
    """One run of a tabular agent."""

    def __init__(self, task: Task, agent: Agent, seed: int) -> None:
        self.training = begin_training(task, agent, seed)
        self.total = agent.total
        self.between_tests = self.training.settings.test_every

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
        training = self.training
        progress, arrays = training.progress, _explored(training.explored)
        arrays = {"ints": progress.ints, "floats": progress.floats, "rng_state": training.rng_state, **arrays}
        for name in TABLES:
            if hasattr(training, name):
                values: Values = getattr(training, name)
                used = int(values.index.used[0])
                arrays |= {f"{name}.key": values.index.key[:used], f"{name}.value": values.value[:used]}
        if isinstance(training, Training):
            observed, used = training.observed, int(training.observed.index.used[0])
            arrays["observed.key"] = observed.index.key[:used]
            arrays |= {f"observed.{name}": getattr(observed, name)[:used] for name in ENTRIES}
            arrays |= {f"observed.{name}": getattr(observed, name) for name in LISTS}
        return arrays

    def restore(self, snapshots: list[Arrays]) -> None:
        """Put the run where its snapshot left it; `KeyError`, `ValueError` or `IndexError` where that is damaged."""
        training, (arrays,) = self.training, snapshots
        parts: dict[str, Any] = {"explored": _explored_again(arrays, training.explored)}
        parts |= {name: _values_again(arrays, name) for name in TABLES if hasattr(training, name)}
        if isinstance(training, Training):
            parts["observed"] = _observed_again(arrays)
        training.progress.ints[:], training.progress.floats[:] = arrays["ints"], arrays["floats"]
        training.rng_state[:] = arrays["rng_state"]
        for part, value in parts.items():
            setattr(training, part, value)

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
        raise BadSetting(f"agent `{agent.name}` learns a table, and {task.name} is continuous", fix="--agent ppo")
    view: View | None = agent.view
    assert view is not None  # noqa: S101 - tabular agents see the machine
    if isinstance(agent, Hierarchical):
        return HierarchicalTraining(task.finite, task.pushdown, view, agent, seed)
    if isinstance(agent, QLearning):
        machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
        return Training(task.finite, machine, view, agent, seed)
    raise CannotTranslate(f"agent `{agent.name}` is not tabular", fix="use q, cprm, hrm, cra-q or cra-cql")


def _explored(explored: Explored) -> Arrays:
    stacks, found, made = explored.stacks, explored.configurations, int(explored.stacks.made[0])
    kept: Arrays = {name: getattr(stacks, name)[:made] for name in NODES}
    if len(found.moves):
        kept |= {name: getattr(found, name)[: int(found.made[0])] for name in STEPS}
        kept["counters"] = found.counters[:made]
    return kept


def _explored_again(arrays: Arrays, new: Explored) -> Explored:
    """The stacks as they were, with room for as many more; configurations are numbered anew as they are met."""
    made, labels, states = len(arrays["symbol"]), new.table.move.shape[1], len(new.table.silent)
    stacks = Stacks.empty(new.stacks.child.shape[1] - 1, max(2 * made, new.stacks.capacity))
    for name in NODES:
        getattr(stacks, name)[:made] = arrays[name]
    stacks.child[arrays["parent"][1:], arrays["symbol"][1:]] = np.arange(1, made, dtype=np.int32)
    stacks.made[0] = made
    counters = new.configurations.counters.shape[1]
    count = len(arrays["state"]) if counters else 0
    found = Configurations.room(
        labels, states, stacks.capacity, max(2 * count, len(new.configurations.state)), counters
    )
    if counters:
        found.counters[:made] = arrays["counters"]
        for name in STEPS:
            getattr(found, name)[:count] = arrays[name]
        found.number[arrays["node"], arrays["state"]] = np.arange(count, dtype=np.int32)
        found.made[0] = count
    return new._replace(stacks=stacks, configurations=found)


def _values_again(arrays: Arrays, name: str) -> Values:
    index, rows = Index.of(arrays[f"{name}.key"]), arrays[f"{name}.value"]
    values = np.zeros((len(index.key), rows.shape[1]))
    values[: len(rows)] = rows
    return Values(index, values)


def _observed_again(arrays: Arrays) -> Observed:
    index = Index.of(arrays["observed.key"])
    used, room = len(arrays["observed.key"]), Observed.room(1, len(index.key))
    for name in ENTRIES:
        getattr(room, name)[:used] = arrays[f"observed.{name}"]
    return Observed(index, room.node, room.following, *(arrays[f"observed.{name}"] for name in LISTS))
