"""Trying a saved policy: readable greedy episodes with the readable machine, for reports and for looking at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, pick
from pdrm.errors import BadRunFolder
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.learning.run_folder import no_run
from pdrm.learning.tabular.agents import machine_for
from pdrm.learning.tabular.hierarchical import is_achieved, options_of
from pdrm.learning.tabular.memory import AnyMemory, Reading, begun, read
from pdrm.learning.tabular.policy import AnyPolicy, HierarchicalPolicy, Policy, check_same_machine, load_policy
from pdrm.learning.tabular.run import POLICY, spec_of
from pdrm.learning.tabular.settings import QLearning
from pdrm.machines.configurations import Configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine

# --- Acting greedily with a trained policy, ties broken at random: with a plain one step by step, with a hierarchical one
# option by option.


def best(values: npt.NDArray[np.float64], rng: np.random.Generator) -> int:
    """A choice of highest value, at random among several.

    >>> best(np.array([0.0, 2.0, 1.0]), np.random.default_rng(0))
    1
    """
    return int(rng.choice(np.flatnonzero(values == values.max())))


class Greedy:
    """Acts with a plain policy."""

    option: str | None = None
    """It follows none."""

    def __init__(self, policy: Policy, machine: AnyMemory) -> None:
        self._policy, self._counts = policy, isinstance(machine, CountingRewardAutomaton)

    def choose(self, s: int, here: Configuration, rng: np.random.Generator) -> int:
        """The action there."""
        memory = tuple(map(int, here.stack)) if self._counts else here.stack
        return best(self._policy.values(s, here.state, memory), rng)

    def moved(self, here: Configuration, label: Label, there: Configuration) -> None:
        """Nothing is kept from step to step."""


class GreedyWithOptions:
    """Acts with a hierarchical policy: follows an option until it is achieved or the machine moves."""

    def __init__(self, policy: HierarchicalPolicy, machine: PushdownRewardMachine) -> None:
        self._policy, self._machine = policy, machine
        self._option: int | None = None
        self.option: str | None = None
        """The rule that the option of the last action brings about, as text."""

    def choose(self, s: int, here: Configuration, rng: np.random.Generator) -> int:
        """The action there, for the option under way or a new one."""
        if self._option is None:
            self._option = best(self._policy.option_values(s, here.state, here.stack), rng)
            self.option = self._policy.options[here.state][self._option]
        return best(self._policy.values(s, here.state, here.stack, self._option), rng)

    def moved(self, here: Configuration, label: Label, there: Configuration) -> None:
        """Note a step: it may end the option."""
        if self._option is not None:
            rule = options_of(self._machine, here.state)[self._option]
            if there != here or is_achieved(self._machine, rule, label, here.top):
                self._option = None


def player(policy: AnyPolicy, machine: AnyMemory) -> Greedy | GreedyWithOptions:
    """What acts with a policy, at the start of an episode."""
    if isinstance(policy, Policy):
        return Greedy(policy, machine)
    if not isinstance(machine, PushdownRewardMachine):
        raise TypeError("options are the rules of a pushdown machine")
    return GreedyWithOptions(policy, machine)


# --- Trying a saved policy: readable episodes with the readable machine, for reports and for looking at.


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

    def episode(self, rng: np.random.Generator) -> Iterator[Moment]:
        """A greedy episode, moment by moment."""
        arrays, operations = self.domain.arrays, 0
        k = pick(arrays.start_probability, float(rng.random()))
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
            a = acting.choose(s, here, rng)
            o = pick(arrays.probability[s, a], float(rng.random()))
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
    rng = np.random.default_rng(seed)
    runs = [list(trained.episode(rng)) for _ in range(episodes)]
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
