"""Policies that tabular agents learn: how one is asked, how it is saved, and those that are tables.

A policy's files are arrays in a `.npz` and a description in a `.json` that holds the arrays' fingerprint (`saved_policy` reads
them). Nothing in them is run when they are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, StateLike
from pdrm.errors import WrongPolicy
from pdrm.files import Arrays, Fingerprint, encode_arrays, write_policy
from pdrm.language.document import AnyMachine
from pdrm.language.loading import parse
from pdrm.learning.tabular.hierarchical import Option
from pdrm.learning.tabular.policy_table import (
    Memory,
    PolicyRow,
    PolicyTable,
    SeenThere,
    check_stack,
    check_state,
    number_state,
    refuse_exploring,
)
from pdrm.machines.conversions import counting_configuration
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration, Stack
from pdrm.product.observation import FullStack, View, read_seen

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class TabularPolicy(ABC):
    """The part that the policies of all tabular agents share."""

    about: dict[str, Any]
    """The run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    domain: FiniteDomain | None = field(default=None, kw_only=True)
    """The domain it was learnt in, to describe the environment's states; not kept in a file, but set in `run.policy`."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of its rows, or of what else it knows."""

    @property
    @abstractmethod
    def view(self) -> View:
        """The view of the stack."""

    @property
    def counts(self) -> bool:
        """True if it sees counters instead of a stack."""
        return False

    @abstractmethod
    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The values of the actions there. `memory`: the stack, top first, or the counters."""

    def table(self, domain: FiniteDomain | None = None) -> Rows[PolicyRow]:
        """The learnt table, row by row.

        Args:
            domain: The domain it was learnt in, to describe the environment's states (default: the policy's own).
        """
        from pdrm.drawing.rows import Rows

        known = self.domain if domain is None else domain

        def make(row: int) -> PolicyRow:
            seen = self._seen(row)
            return PolicyRow.of(known, seen, self._name_values(*seen))

        return Rows(self._height(), make)

    def _height(self) -> int:
        """The number of rows of its table."""
        return len(self)

    @abstractmethod
    def _seen(self, row: int) -> SeenThere:
        """What a row of its table is about."""

    def _name_values(self, place: int, state: str, memory: Memory) -> dict[str, float]:
        """The values of a row of the table, by name."""
        return dict(zip(self.actions, self.values(place, state, memory).tolist(), strict=True))

    @abstractmethod
    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""

    @abstractmethod
    def _shown(self) -> tuple[Sequence[str], Stack]:
        """The states and stack symbols of the machine as environments show it."""

    @abstractmethod
    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        """What is saved: entries of the description for this kind of policy only, and the arrays."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} rows, {len(self.actions)} actions, view {self.view}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def reset(self) -> None:
        """An episode begins: it remembers nothing, but a loop that serves networks too says so."""
        return

    def act(
        self,
        observation: object,
        machine_state: str | Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """An action of highest value, the first of several (if nothing was ever seen, the first action).

        Args:
            observation: As `Task.env` shows it, alone or followed by its `info`; or the environment's state: its number, its
                name, or its row and column on a grid.
            machine_state: The machine's state, if an environment's state is given.
            memory: The stack then, top first. A policy over counters takes the same, or the counters instead of the stack.
            deterministic: As in Stable-Baselines3; True only, because a policy never explores.
        """
        refuse_exploring(deterministic)
        return int(np.argmax(self.values(*self._locate(observation, machine_state, memory))))

    def _locate(
        self, observation: Any, machine: str | Mapping[str, Any] | None, memory: Memory | None
    ) -> tuple[Any, str, Memory]:
        """The environment state, the machine state and the memory that are given: one by one, in `info`, or in an observation."""
        if isinstance(machine, str) and memory is not None:
            return observation, machine, memory
        states, symbols = self._shown()
        seen = read_seen(
            observation, states, symbols, None if self.domain is None else self.domain.states
        )
        if isinstance(machine, Mapping):
            told = machine["machine"]
            return observation if seen is None else seen.observation, told["state"], told["stack"]
        view = FullStack() if self.counts else self.view
        k = 'k="full", depth=32' if isinstance(view, FullStack) else f"k={view.k}"
        if seen is None or np.ndim(seen.observation):
            fault = f"{str(observation)[:60]} is not an observation of the environment and the machine that this policy was learnt with"
            fix = f"hand it what task.env({k}) shows, or policy.act(0, {states[0]!r}, ({symbols[0]!r},)): state, machine state, stack"
            raise WrongPolicy(fault, fix=fix)
        if not seen.whole and (isinstance(view, FullStack) or len(seen.stack) < view.k):
            fault = f"the observation shows {len(seen.stack)} symbols of the stack, and this policy sees more"
            raise WrongPolicy(fault, fix=f"env = task.env({k})")
        return int(seen.observation), seen.state, seen.stack

    def check_machine(self, machine: AnyMachine) -> None:
        """Raise unless the policy was learnt with this machine."""
        if parse(self.machine_text) != machine:
            fix = "use the machine in its description, or train again"
            raise WrongPolicy("the policy was learnt with another machine", fix=fix)

    def _other_domain(self, domain: FiniteDomain, differs: str) -> WrongPolicy:
        fault = f"the policy was learnt in a domain with other {differs} than `{domain.name}`"
        return WrongPolicy(fault, fix="use the domain that it was learnt in, or train again")

    def save(self, path: str | Path) -> Fingerprint:
        """Write `path` (.npz) and its description (.json); return the fingerprint of the arrays."""
        own, arrays = self._saved()
        data = encode_arrays(arrays)
        description = {
            "pdrm_policy": VERSION,
            "view": str(self.view),
            **own,
            "actions": self.actions,
            "machine": self.machine_text,
            "sha256": Fingerprint.of(data).sha256,
            "about": self.about,
        }
        return write_policy(path, description, data)


@dataclass(frozen=True, eq=False, repr=False)
class QPolicy(TabularPolicy):
    """The policy of Q-learning or CpRM, over a stack or over counters: one value per action for each (environment state,
    machine state, view) that was seen."""

    q_table: PolicyTable
    """[rows, actions]: the value of each action; of a hierarchical policy [rows, options], that of each option."""
    pushdown: PushdownRewardMachine | None = field(default=None, kw_only=True)
    """Of a policy over counters: the machine as environments show it, with a stack. `run.policy` has it."""

    def __len__(self) -> int:
        return len(self.q_table)

    @property
    def view(self) -> View:
        return self.q_table.view

    @property
    def counts(self) -> bool:
        return self.q_table.memory.counts

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The values of the actions there; zeros if it was never seen. `memory`: the stack, top first, or the counters."""
        place = number_state(environment_state, self.domain)
        several = isinstance(memory, Sequence) and not isinstance(memory, str)
        if self.counts and several and any(isinstance(one, str) for one in memory):
            machine_state, memory = self._count(machine_state, tuple(map(str, memory)))
        return self.q_table.values(place, machine_state, memory)

    def _shown(self) -> tuple[Sequence[str], Stack]:
        symbols = self.q_table.memory.kind
        if not isinstance(symbols, int):
            return self.q_table.states, symbols
        if self.pushdown is None:
            fix = "policy.act(state, machine_state, counters), or use run.policy, which knows the run's own machine"
            fault = "this policy sees counters, and does not know of what stack"
            raise WrongPolicy(fault, fix=fix)
        return (*self.pushdown.states, *self.pushdown.final), self.pushdown.stack

    def _count(self, state: str, stack: Stack) -> tuple[str, tuple[int, ...]]:
        """The automaton's state and counters if the machine with a stack is in this state and has this stack: the stack as a
        number if the automaton simulates it, else how many symbols are above the bottom one."""
        states, symbols = self._shown()
        check_state(state, states)
        check_stack(stack, symbols)
        assert self.pushdown is not None
        simulated = counting_configuration(self.pushdown, Configuration(state, stack))
        if simulated.state in self.q_table.states:
            return simulated.state, simulated.counters
        return state, (max(0, len(stack) - 1),)

    def _seen(self, row: int) -> SeenThere:
        """In order: by machine state, then by the view of the stack, then by environment state."""
        return self.q_table.seen(row)

    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""
        reached = self.q_table.environment_state.max(initial=0)
        if self.actions != domain.actions or reached >= domain.states:
            raise self._other_domain(domain, "actions or states")

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        return {"kind": "counters" if self.counts else "stack"}, self.q_table.arrays("")


@dataclass(frozen=True, eq=False, repr=False)
class HierarchicalPolicy(QPolicy):
    """The policy of the hierarchical agent: a meta-policy chooses among the options of the machine state, an option among
    actions. An option is followed until it is completed or the machine moves: ask `option` for the one to begin, and give it
    to `act` at every step until then."""

    options: dict[str, tuple[str, ...]]
    """The options of each machine state, as `option_texts` gives them; one stands in where the agent never acts."""
    within: PolicyTable
    """[rows, options * actions]: the options' values, by the top of the stack."""

    def option_values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The meta-policy's value of each option of the machine state."""
        values = super().values(environment_state, machine_state, memory)
        return values[: len(self._choices(machine_state))]

    def option(self, environment_state: StateLike, machine_state: str, memory: Memory) -> int:
        """The option of highest value there, the first of several."""
        values = self.option_values(environment_state, machine_state, memory)
        if not len(values):
            fault = f"`{machine_state}` is final and has no options"
            raise WrongPolicy(fault, fix="ask before the machine has ended")
        return int(np.argmax(values))

    def values(
        self,
        environment_state: StateLike,
        machine_state: str,
        memory: Memory,
        option: int | None = None,
    ) -> npt.NDArray[np.float64]:
        """The values of the actions for an option of the machine state (default: the best option there)."""
        if option is None:
            option = self.option(environment_state, machine_state, memory)
        known = len(self._choices(machine_state))
        if not 0 <= option < known:
            fault = f"`{machine_state}` has no option {option}"
            fix = f"it has {known}: 0 to {known - 1}" if known else "it is final"
            raise WrongPolicy(fault, fix=fix)
        place = number_state(environment_state, self.domain)
        row = self.within.values(place, machine_state, memory)
        return row[option * len(self.actions) : (option + 1) * len(self.actions)]

    def act(
        self,
        observation: object,
        machine_state: str | Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        option: int | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """An action of highest value for an option (default: the best option there); else as `TabularPolicy.act`."""
        refuse_exploring(deterministic)
        there = self._locate(observation, machine_state, memory)
        return int(np.argmax(self.values(*there, option)))

    def _choices(self, machine_state: str) -> tuple[str, ...]:
        return self.options.get(machine_state, ())

    def _name_values(self, place: int, state: str, memory: Memory) -> dict[str, float]:
        values = self.option_values(place, state, memory).tolist()
        return dict(zip(self._choices(state), values, strict=True))

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        arrays = {**self.q_table.arrays("meta."), **self.within.arrays("within.")}
        return {"kind": "options", "options": self.options}, arrays


STANDS_IN = ("",)
"""The options of a machine state, as texts, if one without a rule stands in."""


def option_texts(options: Iterable[Option]) -> tuple[str, ...]:
    """The rules that options bring about, as text."""
    return tuple("" if rule is None else str(rule) for rule in options)
