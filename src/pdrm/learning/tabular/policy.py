"""Policies of tabular agents: the table by what the agent sees, how a policy acts, and how it is
saved.

A table has one row per (environment state, machine state, view of the stack or counters). The
view is a node of a `MemoryTree`. Rows are sorted by machine state, then by node, then by
environment state.

A policy is saved as arrays in a `.npz` file and a description in a `.json` file, which contains the
arrays' fingerprint. `saved_policy` reads them without running code from the files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, StateLike
from pdrm.errors import UnknownConfiguration, WrongArguments, WrongPolicy
from pdrm.files import Arrays, Fingerprint, encode_arrays, write_policy
from pdrm.language.loading import parse
from pdrm.learning.settings import JsonObject
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import Configuration, Stack
from pdrm.product.observation import TopK, View, read_observation
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

VERSION = 1
StackOrCounters = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""
RowKey = tuple[int, str, tuple[Any, ...]]
"""The key of a row: an environment state, a machine state, and the view of the machine's memory."""
UNSEEN = -1


# --- Checks of arguments


def number_state(state: Any, domain: FiniteDomain | None) -> int:
    """The number of an environment state, which is given as such or by its name in the domain."""
    if domain is not None:
        try:
            return domain.find_state(state)
        except UnknownConfiguration as error:
            raise WrongPolicy(error.message, fix=error.fix) from None
    if isinstance(state, bool) or not isinstance(state, int | np.integer) or state < 0:
        fault = f"{str(state)[:60]} is not the number of a state, and the policy was loaded without its domain, so names are unknown"
        fix = "give a number, or the domain: pdrm.learning.load_policy(path, domain)"
        raise WrongPolicy(fault, fix=fix)
    return int(state)


def check_configuration(state: str, memory: Any, states: Sequence[str], kind: Stack | int) -> None:
    """Raise unless this is a machine state with a stack, or with a value per counter."""
    fits = state in states and isinstance(memory, tuple | list)
    if isinstance(kind, int):
        fits = fits and len(memory) == kind
        fits = fits and all(isinstance(value, int) and value >= 0 for value in memory)
        known = f"the values of its {kind} counters are non-negative integers"
    else:
        fits = fits and all(symbol in kind for symbol in memory)
        known = f"a stack is a tuple of {', '.join(kind)}, the top first"
    if not fits:
        fault = f"{state!r} with {memory!r} is not a configuration of this policy's machine"
        raise WrongPolicy(fault, fix=f"its states are {', '.join(states)}; {known}")


def refuse_exploring(deterministic: bool) -> None:
    """Raise if `deterministic` is False. Stable-Baselines3's policies have the same argument."""
    if not deterministic:
        fault = "policies of pdrm act without exploration, as if `deterministic=True`"
        fix = "leave `deterministic` out; env.action_space.sample() is a random action"
        raise WrongArguments(fault, fix=fix)


# --- Stacks and counters


@dataclass(frozen=True, eq=False)
class MemoryTree:
    """Stacks or vectors of counters as nodes.

    Node 0 is empty, and any other is a symbol on its parent.

    >>> tree, nodes = MemoryTree.of(("#", "A"), [(2, 1), (1,)])
    >>> nodes.tolist(), tree.memory(2), tree.number(("A", "#")), tree.number(("#", "#"))
    ([2, 1], ('A', '#'), 2, -1)
    >>> vectors, _ = MemoryTree.of(2, [(0, 0), (1, 7)])
    >>> vectors.memory(4), vectors.number((0, 0)), vectors.number((7, 1))
    ((1, 7), 2, -1)
    """

    kind: Stack | int  # the stack symbols, or the number of counters
    symbol: npt.NDArray[Any]  # [nodes]: the top symbol from 1 (0: none), or a counter
    parent: npt.NDArray[Any]  # [nodes]: the node below it

    @classmethod
    def of(
        cls, kind: Stack | int, memories: Iterable[Sequence[int]]
    ) -> tuple[MemoryTree, npt.NDArray[np.int64]]:
        """The tree of some stacks or counters, as numbers, top first; and the node of each."""
        symbol = [0]
        parent = [0]
        nodes = list[int]()
        child: dict[tuple[int, int], int] = {}
        for memory in memories:
            node = 0
            for value in reversed(memory):
                if (node, value) not in child:
                    child[node, value] = len(symbol)
                    symbol.append(value)
                    parent.append(node)
                node = child[node, value]
            nodes.append(node)
        return cls(kind, np.array(symbol), np.array(parent)), np.array(nodes, np.int64)

    @property
    def counts(self) -> bool:
        """True if these are counters."""
        return isinstance(self.kind, int)

    @cached_property
    def _child(self) -> dict[tuple[int, int], int]:
        """Nodes by parent and symbol."""
        pairs = zip(self.parent.tolist(), self.symbol.tolist(), strict=True)
        return {pair: node for node, pair in enumerate(pairs) if node}

    def memory(self, node: int) -> tuple[Any, ...]:
        """The stack of a node, top first, or its counters."""
        values: list[str | int] = []
        while node:
            symbol = int(self.symbol[node])
            values.append(symbol if isinstance(self.kind, int) else self.kind[symbol - 1])
            node = int(self.parent[node])
        return tuple(values)

    def number(self, memory: StackOrCounters) -> int:
        """The node of a stack or of counters, or UNSEEN."""
        node = 0
        value: Any
        for value in reversed(memory):
            symbol = int(value) if isinstance(self.kind, int) else self.kind.index(str(value)) + 1
            node = self._child.get((node, symbol), UNSEEN)
        return node


# --- The rows


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Rows of values in order. Anything unseen has zeros."""

    view: View
    states: tuple[str, ...]  # the machine states, final ones last
    memory: MemoryTree
    environment_state: Integers
    machine_state: Integers
    node: Integers  # [rows]: the view of the stack or counters, in `memory`
    value: Rewards  # [rows, choices]

    @classmethod
    def of(
        cls,
        view: View,
        states: tuple[str, ...],
        memory: MemoryTree,
        seen: Sequence[npt.NDArray[Any]],
        value: Rewards,
    ) -> PolicyTable:
        """A table of rows in any order.

        Args:
            view: The view of the stack.
            states: The machine states, final ones last.
            memory: The nodes.
            seen: The columns environment state, machine state and node.
            value: The values of each row.
        """
        env_state, state, node = (column.astype(np.int32) for column in seen)
        order = np.lexsort((env_state, node, state))
        return cls(view, states, memory, env_state[order], state[order], node[order], value[order])

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def _rows(self) -> dict[tuple[int, int, int], int]:
        """The row of each environment state, machine state and node."""
        columns = self.environment_state, self.machine_state, self.node
        seen = zip(*(column.tolist() for column in columns), strict=True)
        return {key: row for row, key in enumerate(seen)}

    def values(
        self, environment_state: int, machine_state: str, memory: StackOrCounters
    ) -> Rewards:
        """The values for an environment state and a configuration."""
        check_configuration(machine_state, memory, self.states, self.memory.kind)
        seen: Any = tuple(memory)
        node = self.memory.number(self.view.of(seen))
        row = self._rows.get((environment_state, self.states.index(machine_state), node))
        if row is None:
            return np.zeros(self.value.shape[1])
        values: Rewards = self.value[row]
        return values

    def seen(self, row: int) -> RowKey:
        """The environment state, machine state and view of a row."""
        memory = self.memory.memory(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str) -> Arrays:
        """The arrays to save, with names that start with the prefix."""
        arrays: Arrays = {
            "environment_state": self.environment_state,
            "machine_state": self.machine_state,
            "node": self.node,
            "symbol": self.memory.symbol,
            "parent": self.memory.parent,
            "value": self.value,
        }
        return {prefix + name: array for name, array in arrays.items()}


class PolicyRow(NamedTuple):
    """The learnt values of one row of the table.

    >>> PolicyRow(3, "", "u0", ("A",), "u", {"u": 1.0, "d": 0.5}).record()["value_d"]
    0.5
    """

    environment_state: int
    where: str
    """The environment's state in words, or empty if the domain is not known."""
    machine_state: str
    stack: tuple[Any, ...]
    """The visible part of the stack, top first, or the counters."""
    best: str
    """The action (or option) of highest value (a tie: the first)."""
    values: Mapping[str, float]
    """The value of each action (or option)."""

    def record(self) -> JsonObject:
        """The row as a dictionary, with an entry for the value of each action."""
        columns = {name: value for name, value in self._asdict().items() if name != "values"}
        return columns | {f"value_{name}": value for name, value in self.values.items()}


# --- Policies


@dataclass(frozen=True, eq=False, repr=False)
class TabularPolicy(ABC):
    """Base class of the policies of tabular agents."""

    about: JsonObject
    """The run's spec as JSON values."""
    machine_text: str
    """The machine of training, as .pdrm text."""
    actions: tuple[str, ...]
    task: Task | None = field(default=None, kw_only=True)
    """The task of training. Its domain names the environment's states, and its machine has the
    stack that environments show. `run.policy` sets it. A file does not contain it."""

    @property
    def domain(self) -> FiniteDomain | None:
        """The domain of training, or None."""
        return None if self.task is None else self.task.finite

    @cached_property
    def pushdown(self) -> PushdownRewardMachine:
        """The machine with the stack that environments show.

        For a policy over counters, that of its task.
        """
        machine = parse(self.machine_text)
        if isinstance(machine, PushdownRewardMachine):
            return machine
        if self.task is None:
            fix = "policy.act(state, machine_state, counters), or use run.policy, which has the run's machine"
            fault = "this policy sees counters, and has no machine with a stack"
            raise WrongPolicy(fault, fix=fix)
        return self.task.pushdown

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows, or of known transitions."""

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
        self, environment_state: StateLike, machine_state: str, memory: StackOrCounters
    ) -> Rewards:
        """The value of each choice. `memory` is the stack, top first, or the counters."""

    def table(self) -> Rows[PolicyRow]:
        """The learnt table, row by row."""
        from pdrm.drawing.rows import Rows

        domain = self.domain

        def make(row: int) -> PolicyRow:
            env_state, state, memory = self._seen(row)
            where = "" if domain is None else domain.describe(env_state)
            learnt = self.values(env_state, state, memory).tolist()
            values = dict(zip(self._choices(state), learnt, strict=True))
            best = max(values, key=values.__getitem__, default="")
            return PolicyRow(env_state, where, state, memory, best, values)

        return Rows(self._height(), make)

    def _height(self) -> int:
        """The number of rows of `table`."""
        return len(self)

    @abstractmethod
    def _seen(self, row: int) -> RowKey:
        """The key of a row of `table`."""

    def _choices(self, _machine_state: str) -> Sequence[str]:
        """The names of the choices."""
        return self.actions

    @abstractmethod
    def _saved(self) -> tuple[JsonObject, Arrays]:
        """The entries of the description for this kind of policy, and the arrays."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} rows, {len(self.actions)} actions, view {self.view}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def reset(self) -> None:
        """Do nothing: tabular policies without options have no memory."""
        return

    def show(self, configuration: Configuration) -> tuple[Configuration, str | None]:
        """The configuration as the policy sees it, and the rule of its option or None."""
        return configuration, None

    def act(
        self,
        observation: object,
        machine_state: str | Mapping[str, Any] | None = None,
        memory: StackOrCounters | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """The action of highest value (a tie, or anything unseen: the first).

        Args:
            observation: An observation of `Task.env`, alone or followed by its `info`. Or the
                environment's state: its number, its name, or its row and column on a grid.
            machine_state: The machine's state, after an environment's state.
            memory: The stack, top first, after an environment's state. A policy over counters also
                accepts the counters.
            deterministic: As in Stable-Baselines3. Only True, because a policy never explores.
        """
        refuse_exploring(deterministic)
        if isinstance(machine_state, str) and memory is not None:
            return self._choose(observation, machine_state, memory)
        return self._choose(*self._locate(observation, machine_state))

    def _choose(self, env_state: Any, state: str, memory: StackOrCounters) -> int:
        """The action for an environment state and a configuration."""
        return int(np.argmax(self.values(env_state, state, memory)))

    def _locate(self, observation: Any, info: object) -> tuple[Any, str, StackOrCounters]:
        """The environment state, machine state and stack in an observation or its `info`."""
        machine = self.pushdown
        domain = self.domain
        view = self.view
        states = (*machine.states, *machine.final)
        size = None if domain is None else domain.states
        seen = read_observation(observation, states, machine.stack, size)
        if isinstance(info, Mapping):
            record = info["machine"]
            env_state = observation if seen is None else seen.observation
            return env_state, record["state"], record["stack"]
        if seen is not None:
            is_enough = isinstance(view, TopK) and len(seen.stack) >= view.k
            if seen.whole or is_enough:
                return seen.observation, seen.state, seen.stack
        k = f"k={view.k}" if isinstance(view, TopK) else 'k="full", depth=32'
        fault = f"{str(observation)[:60]} does not show all that this policy sees"
        fix = f"give it an observation of task.env({k}), or policy.act(0, {states[0]!r}, ({machine.stack[0]!r},)): state, machine state, stack"
        raise WrongPolicy(fault, fix=fix)

    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""
        if self.actions != domain.actions:
            fault = f"the policy was learnt in a domain with other actions than `{domain.name}`"
            raise WrongPolicy(fault, fix="use the domain that it was learnt in, or train again")

    def save(self, path: str | Path) -> Fingerprint:
        """Write `path` (.npz) and its description (.json); return the fingerprint of the arrays."""
        kind, arrays = self._saved()
        data = encode_arrays(arrays)
        description = {
            "pdrm_policy": VERSION,
            "view": str(self.view),
            **kind,
            "actions": self.actions,
            "machine": self.machine_text,
            "sha256": Fingerprint.of(data).sha256,
            "about": self.about,
        }
        return write_policy(path, description, data)


@dataclass(frozen=True, eq=False, repr=False)
class QPolicy(TabularPolicy):
    """The policy of Q-learning or CpRM, over a stack or over counters.

    It has one value per action for each visited (environment state, machine state, view).
    """

    q_table: PolicyTable
    """[rows, actions]: the value of each action. For a hierarchical policy [rows, options]."""

    def __len__(self) -> int:
        return len(self.q_table)

    @property
    def view(self) -> View:
        return self.q_table.view

    @property
    def counts(self) -> bool:
        return self.q_table.memory.counts

    def values(
        self, environment_state: StateLike, machine_state: str, memory: StackOrCounters
    ) -> Rewards:
        """The value of each action, zeros if unseen.

        `memory` is the stack, top first, or the counters.
        """
        env_state = number_state(environment_state, self.domain)
        if self.counts and any(isinstance(symbol, str) for symbol in memory):
            machine_state, memory = self._count(machine_state, memory)
        return self.q_table.values(env_state, machine_state, memory)

    def show(self, configuration: Configuration) -> tuple[Configuration, str | None]:
        """The configuration, with counters if the policy sees them instead of a stack."""
        if not self.counts:
            return configuration, None
        state, counters = self._count(configuration.state, configuration.stack)
        return Configuration(state, tuple(map(str, counters))), None

    def _count(self, state: str, stack: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
        """The automaton's state and counters for a machine state and a stack.

        They are the stack as a number if the automaton simulates it, otherwise the number of
        symbols above the bottom.
        """
        machine = self.pushdown
        check_configuration(state, stack, (*machine.states, *machine.final), machine.stack)
        from pdrm.machines.conversions import counting_configuration

        simulated = counting_configuration(machine, Configuration(state, tuple(stack)))
        if simulated.state in self.q_table.states:
            return simulated.state, simulated.counters
        return state, (max(0, len(stack) - 1),)

    def _seen(self, row: int) -> RowKey:
        """The key of a row, sorted by machine state, then by view, then by environment state."""
        return self.q_table.seen(row)

    def _saved(self) -> tuple[JsonObject, Arrays]:
        return {"kind": "counters" if self.counts else "stack"}, self.q_table.arrays("")


@dataclass(frozen=True, eq=False, repr=False)
class HierarchicalPolicy(QPolicy):
    """The policy of the hierarchical agent: a meta-policy over options, and a policy for each
    option.

    From `reset` on, `act` follows the option of highest value until the configuration changes,
    and then chooses the next one.
    """

    options: dict[str, tuple[str, ...]]
    """The options of each machine state: rules as text, empty for an option without a rule."""
    option_values: PolicyTable
    """[rows, options * actions]: the values of actions for options, by the top of the stack."""
    current_option: dict[Configuration, int] = field(default_factory=dict, init=False)
    """The option that is followed, by the configuration of its choice (or nothing)."""

    def reset(self) -> None:
        """Forget the option at the start of an episode."""
        self.current_option.clear()

    def show(self, configuration: Configuration) -> tuple[Configuration, str | None]:
        for chosen_in, option in self.current_option.items():
            return configuration, self._choices(chosen_in.state)[option]
        return configuration, None

    def values(
        self, environment_state: StateLike, machine_state: str, memory: StackOrCounters
    ) -> Rewards:
        """The meta-policy's value of each option of the machine state."""
        values = super().values(environment_state, machine_state, memory)
        return values[: len(self._choices(machine_state))]

    def _choose(self, env_state: Any, state: str, memory: StackOrCounters) -> int:
        """The best action for the present option, or for the best option after a move."""
        configuration = Configuration(state, tuple(map(str, memory)))
        if configuration not in self.current_option:
            self.reset()
            self.current_option[configuration] = int(
                np.argmax(self.values(env_state, state, memory))
            )
        option = self.current_option[configuration]
        row = self.option_values.values(number_state(env_state, self.domain), state, memory)
        return int(np.argmax(row.reshape(-1, len(self.actions))[option]))

    def _choices(self, machine_state: str) -> Sequence[str]:
        return self.options.get(machine_state, ("",))

    def _saved(self) -> tuple[JsonObject, Arrays]:
        arrays = {**self.q_table.arrays("meta."), **self.option_values.arrays("within.")}
        return {"kind": "options", "options": self.options}, arrays
