"""Trying a saved policy: readable episodes with the readable machine, for reports and for looking at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.catalogue import domain
from pdrm.domains.labelled_mdp import FiniteDomain, pick
from pdrm.errors import BadRunFolder
from pdrm.learning.tabular.checkpoint import load_checkpoint
from pdrm.learning.tabular.policy import Policy, load_policy
from pdrm.learning.tabular.randomness import streams
from pdrm.learning.tabular.run import POLICY, TABLES, spec_of
from pdrm.machines.configuration import Configuration
from pdrm.machines.guard import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.text.files import parse


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of an episode: where the environment and the machine are, and what led there."""

    state: int
    configuration: Configuration
    action: int | None
    label: Label | None
    reward: float


@dataclass(frozen=True, slots=True)
class Trained:
    """A saved run: its domain, machine and policy."""

    domain: FiniteDomain
    machine: PushdownRewardMachine
    policy: Policy
    step_limit: int

    @classmethod
    def load(cls, folder: Path) -> Trained:
        """The run in a folder."""
        try:
            policy = load_policy(folder / POLICY)
            machine = parse(policy.machine_text)
            spec = spec_of(folder)
            where = domain(spec.domain)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadRunFolder(f"{folder} holds no trained run: {error}", fix="train one: pdrm train letter") from error
        if not isinstance(machine, PushdownRewardMachine):
            raise BadRunFolder(f"{folder} was trained with a machine without a stack", fix="train again")
        where = where.tested_on[0] if len(where.tested_on) == 1 else where
        return cls(where, machine, policy, spec.settings.step_limit or where.step_limit)

    def episode(self, chance: np.random.Generator) -> Iterator[Moment]:
        """A greedy episode, moment by moment."""
        arrays = self.domain.arrays
        k = pick(arrays.start_probability, float(chance.random()))
        step = self.machine.begin()
        paid, label = step.reward, None
        if arrays.start_label[k] >= 0:
            label = self.domain.labels[arrays.start_label[k]]
            step = self.machine.step(step.after, label)
            paid += step.reward
        s, here = int(arrays.start_state[k]), step.after
        yield Moment(s, here, None, label, paid)
        for _ in range(self.step_limit):
            if here.state in self.machine.final or arrays.terminal[s]:
                return
            a = self._greedy(s, here, chance)
            o = pick(arrays.probability[s, a], float(chance.random()))
            label = self.domain.labels[arrays.label[s, a, o]]
            step = self.machine.step(here, label)
            paid = float(arrays.reward[s, a, o]) + step.reward
            s, here = int(arrays.next[s, a, o]), step.after
            yield Moment(s, here, a, label, paid)

    def _greedy(self, s: int, here: Configuration, chance: np.random.Generator) -> int:
        """An action of highest value, at random among several."""
        values = self.policy.values(s, here.state, here.stack)
        return int(chance.choice(np.flatnonzero(values == values.max())))


def evaluated(folder: Path, episodes: int, seed: int) -> dict[str, Any]:
    """Greedy episodes of a saved run, summed up."""
    if (folder / TABLES).exists():
        return _evaluated_tables(folder, episodes, seed)
    if not (folder / POLICY).exists():
        raise BadRunFolder(f"{folder} holds no trained run", fix="train one: pdrm train letter")
    trained = Trained.load(folder)
    chance = np.random.default_rng(seed)
    runs = [list(trained.episode(chance)) for _ in range(episodes)]
    returns = [sum(moment.reward for moment in moments) for moments in runs]
    steps = [len(moments) - 1 for moments in runs]
    return _summed_up(trained.domain.name, returns, steps, [moments[-1].configuration.state for moments in runs])


def _evaluated_tables(folder: Path, episodes: int, seed: int) -> dict[str, Any]:
    """The same for agents that leave tables: played by the learner's own test."""
    training = spec_of(folder).training()
    load_checkpoint(folder / TABLES, training)
    training.settings = replace(training.settings, test_episodes=episodes)
    training.chances[1:] = streams(seed, 1)
    where = training.domain.tested_on[0]
    test = training.test(where)
    states = (*training.machine.states, *training.machine.final)
    return _summed_up(where.name, test.returns.tolist(), test.steps.tolist(), [states[end] for end in test.ends])


def _summed_up(name: str, returns: list[float], steps: list[int], ends: list[str]) -> dict[str, Any]:
    return {
        "domain": name,
        "episodes": len(returns),
        "mean_return": float(np.mean(returns)),
        "returns": returns,
        "mean_steps": float(np.mean(steps)),
        "ends": dict(Counter(ends).most_common()),
    }
