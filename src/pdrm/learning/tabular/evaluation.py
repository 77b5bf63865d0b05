"""Trying a saved policy: readable episodes with the readable machine, for reports and for looking at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.labelled_mdp import FiniteDomain, pick
from pdrm.errors import BadRunFolder
from pdrm.learning.run_folder import no_run
from pdrm.learning.tabular.agents import machine_for
from pdrm.learning.tabular.greedy import player
from pdrm.learning.tabular.policies import AnyPolicy, check_same_machine, load_policy
from pdrm.learning.tabular.reading import AnyMemory, Reading, begun, read
from pdrm.learning.tabular.run import POLICY, spec_of
from pdrm.learning.tabular.settings import QLearning
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guard import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.text.files import parse
from pdrm.machines.text.writer import to_text


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of an episode: where the environment and the machine are, and what led there."""

    state: int
    configuration: Configuration
    """The values of counters stand, as text, where a stack does."""
    action: int | None
    label: Label | None
    reward: float
    option: str | None = None
    """The rule that the option followed brings about; None: there was no option."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A saved run, as `pdrm train` leaves it in a folder: its domain, machine and policy, to play episodes with.

    >>> import tempfile
    >>> from pdrm.learning.tabular.agents import settings_for
    >>> from pdrm.learning.tabular.run import RunSpec, execute
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = execute(RunSpec("maze-5x5", "q", "1", settings_for("maze-5x5", "q", {}), seed=0), Path(folder))
    ...     trained = Trained.load(folder)
    >>> moments = list(trained.episode(np.random.default_rng(0)))
    >>> moments[-1].configuration.state, sum(moment.reward for moment in moments)
    ('home', 100005.0)
    """

    domain: FiniteDomain
    machine: AnyMemory
    policy: AnyPolicy
    step_limit: int
    operations: int | None = None
    """Moves of a counting automaton that an episode may take."""
    _readings: dict[tuple[Configuration, int], Reading] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def load(cls, folder: str | Path) -> Trained:
        """The run in a folder; its policy must have been learnt with the machine that the run's spec names."""
        folder = Path(folder)
        if not (folder / POLICY).exists():
            raise no_run(folder)
        spec, policy = spec_of(folder), load_policy(folder / POLICY)
        machine = parse(policy.machine_text)
        if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
            raise BadRunFolder(f"{folder} was trained with a machine without a memory", fix="train again")
        where = spec.where()
        check_same_machine(policy, to_text(machine_for(where, spec.agent, spec.machine_text)))
        where = where.tested_on[0] if len(where.tested_on) == 1 else where
        operations = spec.settings.operations_per_episode if isinstance(spec.settings, QLearning) else None
        return cls(where, machine, policy, spec.settings.step_limit or where.step_limit, operations)

    @property
    def counts(self) -> bool:
        """Whether the machine has counters in place of a stack."""
        return isinstance(self.machine, CountingRewardAutomaton)

    def episode(self, chance: np.random.Generator) -> Iterator[Moment]:
        """A greedy episode, moment by moment."""
        arrays, operations = self.domain.arrays, 0
        k = pick(arrays.start_probability, float(chance.random()))
        here, paid, _ = begun(self.machine)
        label = int(arrays.start_label[k])
        if label >= 0 and here.state not in self.machine.final:
            reading = self._read(here, label)
            operations = reading.moves
            if self._affords(operations):
                here, paid = reading.after, paid + reading.reward
        s, acting = int(arrays.start_state[k]), player(self.policy, self.machine)
        yield Moment(s, here, None, self.domain.labels[label] if label >= 0 else None, paid)
        for _ in range(self.step_limit):
            if here.state in self.machine.final or arrays.terminal[s] or not self._affords(operations):
                return
            a = acting.choose(s, here, chance)
            o = pick(arrays.probability[s, a], float(chance.random()))
            label = int(arrays.label[s, a, o])
            reading = self._read(here, label)
            operations += reading.moves
            if not self._affords(operations):
                return
            acting.moved(here, self.domain.labels[label], reading.after)
            s, here, paid = int(arrays.next[s, a, o]), reading.after, float(arrays.reward[s, a, o]) + reading.reward
            yield Moment(s, here, a, self.domain.labels[label], paid, acting.option)

    def _read(self, here: Configuration, label: int) -> Reading:
        """One label read; kept, since a counting automaton may take many moves for it."""
        if (here, label) not in self._readings:
            self._readings[here, label] = read(self.machine, here, self.domain.labels[label], self.operations)
        return self._readings[here, label]

    def _affords(self, operations: int) -> bool:
        return self.operations is None or operations <= self.operations


def evaluated(folder: Path, episodes: int, seed: int) -> dict[str, Any]:
    """Greedy episodes of a saved run, summed up."""
    trained = Trained.load(folder)
    chance = np.random.default_rng(seed)
    runs = [list(trained.episode(chance)) for _ in range(episodes)]
    returns = [sum(moment.reward for moment in moments) for moments in runs]
    steps = [len(moments) - 1 for moments in runs]
    return {
        "domain": trained.domain.name,
        "episodes": len(returns),
        "mean_return": float(np.mean(returns)),
        "returns": returns,
        "mean_steps": float(np.mean(steps)),
        "ends": dict(Counter(moments[-1].configuration.state for moments in runs).most_common()),
    }
