"""Policies that tabular agents learn: the table by what the agent sees, how a policy is asked, and how it is saved.

A table has one row per (environment state, machine state, view of the stack or counters). What a row remembers of the machine's
memory is a node of a `MemoryTree`. The rows are in order: by machine state, then by the number of the memory, then by environment
state.

A policy's files are arrays in a `.npz` and a description in a `.json` that holds the arrays' fingerprint (`saved_policy` reads
them). Nothing in them is run when they are read.
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
from pdrm.machines.conversions import counting_configuration
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards
from pdrm.machines.transitions import Configuration, Stack
from pdrm.product.observation import TopK, View, read_observation
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

VERSION = 1
Memory = Sequence[str] | Sequence[int]
"""A stack, top first, or the values of counters."""
SeenThere = tuple[int, str, tuple[Any, ...]]
"""What a row is about: an environment state, a machine state, and what is seen of the memory."""
UNSEEN = -1


# --- What policies are asked with


def number_state(state: Any, domain: FiniteDomain | None) -> int:
    """The number of an environment state, given as such, or as its domain calls it, if that is known (`FiniteDomain.find_state`)."""
    if domain is not None:
        try:
            return domain.find_state(state)
        except UnknownConfiguration as error:
            raise WrongPolicy(error.message, fix=error.fix) from None
    if isinstance(state, bool) or not isinstance(state, int | np.integer) or state < 0:
        fault = f"{str(state)[:60]} is not the number of a state, and this policy does not know what its domain calls them"
        fix = "give a number, or the domain: pdrm.learning.load_policy(path, domain)"
        raise WrongPolicy(fault, fix=fix)
    return int(state)


def check_there(state: str, memory: Any, states: Sequence[str], kind: Stack | int) -> None:
    """Raise unless this is a state of the machine, and a stack of these symbols or a value for each counter."""
    fits = state in states and isinstance(memory, tuple | list)
    if isinstance(kind, int):
        fits = fits and len(memory) == kind
        fits = fits and all(isinstance(one, int) and one >= 0 for one in memory)
        known = f"the values of its {kind} counters are non-negative integers"
    else:
        fits = fits and all(symbol in kind for symbol in memory)
        known = f"a stack is a tuple of {', '.join(kind)}, the top first"
    if not fits:
        fault = f"the machine that this was learnt with has no state `{state}` with {memory!r}"
        raise WrongPolicy(fault, fix=f"its states are {', '.join(states)}; {known}")


def refuse_exploring(deterministic: bool) -> None:
    """Raise if a policy is asked to explore. Stable-Baselines3's policies can, and are told with this argument."""
    if not deterministic:
        fault = "policies of pdrm act without exploration, as if `deterministic=True`"
        fix = "leave `deterministic` out; env.action_space.sample() is a random action"
        raise WrongArguments(fault, fix=fix)


# --- The memory of the machine


@dataclass(frozen=True, eq=False)
class MemoryTree:
    """Stacks, or vectors of counters, as nodes: node 0 is the empty one, every other a symbol on top of its parent.

    >>> tree, nodes = MemoryTree.of(("#", "A"), [(2, 1), (1,)])
    >>> nodes.tolist(), tree.memory(2), tree.number(("A", "#")), tree.number(("#", "#"))
    ([2, 1], ('A', '#'), 2, -1)
    >>> vectors, _ = MemoryTree.of(2, [(0, 0), (1, 7)])
    >>> vectors.memory(4), vectors.number((0, 0)), vectors.number((7, 1))
    ((1, 7), 2, -1)
    """

    kind: Stack | int  # the stack symbols, numbered from 1 in `symbol`; or the number of counters
    symbol: npt.NDArray[Any]  # [nodes]: the top symbol (0: none), or the value of a counter
    parent: npt.NDArray[Any]  # [nodes]: what is below it

    @classmethod
    def of(
        cls, kind: Stack | int, memories: Iterable[Sequence[int]]
    ) -> tuple[MemoryTree, npt.NDArray[np.int64]]:
        """The tree of some memories, as numbers, top first; and the node of each."""
        symbol, parent, nodes = [0], [0], list[int]()
        child: dict[tuple[int, int], int] = {}
        for memory in memories:
            node = 0
            for one in reversed(memory):
                if (node, one) not in child:
                    child[node, one] = len(symbol)
                    symbol.append(one)
                    parent.append(node)
                node = child[node, one]
            nodes.append(node)
        return cls(kind, np.array(symbol), np.array(parent)), np.array(nodes, np.int64)

    @property
    def counts(self) -> bool:
        """True if these are counters."""
        return isinstance(self.kind, int)

    @cached_property
    def _child(self) -> dict[tuple[int, int], int]:
        """By the node below and the symbol."""
        pairs = zip(self.parent.tolist(), self.symbol.tolist(), strict=True)
        return {pair: node for node, pair in enumerate(pairs) if node}

    def memory(self, node: int) -> tuple[Any, ...]:
        """The stack of a node, top first, or its counters."""
        found = []
        while node:
            symbol = int(self.symbol[node])
            found.append(symbol if isinstance(self.kind, int) else self.kind[symbol - 1])
            node = int(self.parent[node])
        return tuple(found)

    def number(self, memory: Memory) -> int:
        """The node of a stack or of counters, or UNSEEN."""
        node = 0
        one: Any
        for one in reversed(memory):
            symbol = int(one) if isinstance(self.kind, int) else self.kind.index(str(one)) + 1
            node = self._child.get((node, symbol), UNSEEN)
        return node


# --- The rows


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Rows of values, in order; what was never seen has zeros."""

    view: View
    states: tuple[str, ...]  # the machine states, final ones last, as `machine_state` numbers them
    memory: MemoryTree
    environment_state: Integers
    machine_state: Integers
    node: Integers  # [rows]: the view of the memory, by its number in `memory`
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
        """The table of rows in any order. seen: their environment states, machine states and nodes."""
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
        return {one: row for row, one in enumerate(seen)}

    def values(
        self, environment_state: int, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The row for a state and a configuration."""
        check_there(machine_state, memory, self.states, self.memory.kind)
        seen: Any = tuple(memory)
        node = self.memory.number(self.view.of(seen))
        row = self._rows.get((environment_state, self.states.index(machine_state), node))
        found: Rewards = np.zeros(self.value.shape[1]) if row is None else self.value[row]
        return found

    def seen(self, row: int) -> SeenThere:
        """The environment state, machine state and memory of a row."""
        memory = self.memory.memory(int(self.node[row]))
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], memory

    def arrays(self, prefix: str) -> Arrays:
        """The arrays that are saved, under names that begin so; `saved_policy` reads them."""
        found: Arrays = {
            "environment_state": self.environment_state,
            "machine_state": self.machine_state,
            "node": self.node,
            "symbol": self.memory.symbol,
            "parent": self.memory.parent,
            "value": self.value,
        }
        return {prefix + name: array for name, array in found.items()}


class PolicyRow(NamedTuple):
    """The learnt values of one row of the table.

    >>> PolicyRow(3, "", "u0", ("A",), "u", {"u": 1.0, "d": 0.5}).record()["value_d"]
    0.5
    """

    environment_state: int
    where: str
    """The environment's state in words, if the domain is known."""
    machine_state: str
    stack: tuple[Any, ...]
    """The part of it that is seen, top first; or the values of the counters."""
    best: str
    """The action (or option) of highest value, the first of several."""
    values: Mapping[str, float]
    """Of each action (or option)."""

    def record(self) -> dict[str, Any]:
        """The row for a frame: a column for the value of each action."""
        columns = {name: value for name, value in self._asdict().items() if name != "values"}
        return columns | {f"value_{name}": value for name, value in self.values.items()}


# --- Policies


@dataclass(frozen=True, eq=False, repr=False)
class TabularPolicy(ABC):
    """The part that the policies of all tabular agents share."""

    about: dict[str, Any]
    """The run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    task: Task | None = field(default=None, kw_only=True)
    """The task it was learnt for: its domain names the environment's states, and its machine has the stack that environments show. Not
    kept in a file, but set in `run.policy`."""

    @property
    def domain(self) -> FiniteDomain | None:
        """The domain it was learnt in, if it is known."""
        return None if self.task is None else self.task.finite

    @cached_property
    def pushdown(self) -> PushdownRewardMachine:
        """The machine with the stack that environments show; for a policy over counters, that of its task."""
        machine = parse(self.machine_text)
        if isinstance(machine, PushdownRewardMachine):
            return machine
        if self.task is None:
            fix = "policy.act(state, machine_state, counters), or use run.policy, which knows the run's own machine"
            fault = "this policy sees counters, and does not know of what stack"
            raise WrongPolicy(fault, fix=fix)
        return self.task.pushdown

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
        """The value of each choice there. `memory`: the stack, top first, or the counters."""

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
        """The number of rows of its table."""
        return len(self)

    @abstractmethod
    def _seen(self, row: int) -> SeenThere:
        """What a row of its table is about."""

    def _choices(self, _machine_state: str) -> Sequence[str]:
        """The names of what its values are of."""
        return self.actions

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

    def show(self, here: Configuration) -> tuple[Configuration, str | None]:
        """The configuration as the policy sees it, and the rule that the option under way brings about, if there is one."""
        return here, None

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
        if isinstance(machine_state, str) and memory is not None:
            return self._choose(observation, machine_state, memory)
        return self._choose(*self._locate(observation, machine_state))

    def _choose(self, env_state: Any, state: str, memory: Memory) -> int:
        """The action there."""
        return int(np.argmax(self.values(env_state, state, memory)))

    def _locate(self, observation: Any, info: object) -> tuple[Any, str, Memory]:
        """The environment state, machine state and stack that an observation shows, or its `info`."""
        machine, domain, view = self.pushdown, self.domain, self.view
        states, size = (*machine.states, *machine.final), None if domain is None else domain.states
        seen = read_observation(observation, states, machine.stack, size)
        if isinstance(info, Mapping):
            told = info["machine"]
            return observation if seen is None else seen.observation, told["state"], told["stack"]
        k, enough = 'k="full", depth=32', False
        if isinstance(view, TopK):
            k, enough = f"k={view.k}", seen is not None and len(seen.stack) >= view.k
        if seen is not None and (seen.whole or enough):
            return seen.observation, seen.state, seen.stack
        fault = f"{str(observation)[:60]} does not show all that this policy sees"
        fix = f"hand it what task.env({k}) shows, or policy.act(0, {states[0]!r}, ({machine.stack[0]!r},)): state, machine state, stack"
        raise WrongPolicy(fault, fix=fix)

    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""
        if self.actions != domain.actions:
            fault = f"the policy was learnt in a domain with other actions than `{domain.name}`"
            raise WrongPolicy(fault, fix="use the domain that it was learnt in, or train again")

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
        env_state = number_state(environment_state, self.domain)
        if self.counts and any(isinstance(one, str) for one in memory):
            machine_state, memory = self._count(machine_state, memory)
        return self.q_table.values(env_state, machine_state, memory)

    def show(self, here: Configuration) -> tuple[Configuration, str | None]:
        """The configuration with the values of the counters, if it sees these instead of a stack."""
        if not self.counts:
            return here, None
        state, counters = self._count(here.state, here.stack)
        return Configuration(state, tuple(map(str, counters))), None

    def _count(self, state: str, stack: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
        """The automaton's state and counters if the machine with a stack is in this state and has this stack: the stack as a
        number if the automaton simulates it, else how many symbols are above the bottom one."""
        machine = self.pushdown
        check_there(state, stack, (*machine.states, *machine.final), machine.stack)
        simulated = counting_configuration(machine, Configuration(state, tuple(stack)))
        if simulated.state in self.q_table.states:
            return simulated.state, simulated.counters
        return state, (max(0, len(stack) - 1),)

    def _seen(self, row: int) -> SeenThere:
        """In order: by machine state, then by the view of the stack, then by environment state."""
        return self.q_table.seen(row)

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        return {"kind": "counters" if self.counts else "stack"}, self.q_table.arrays("")


@dataclass(frozen=True, eq=False, repr=False)
class HierarchicalPolicy(QPolicy):
    """The policy of the hierarchical agent: a meta-policy chooses among the options of the machine state, an option among
    actions. From `reset` on `act` follows the option of highest value until it is shown that the machine has moved, and then
    the next one."""

    options: dict[str, tuple[str, ...]]
    """The options of each machine state, the rules that they bring about, as text; an empty one stands in where the agent never acts, as in final states."""
    within: PolicyTable
    """[rows, options * actions]: the options' values, by the top of the stack."""
    under_way: dict[Configuration, int] = field(default_factory=dict, init=False)
    """The option that is followed, by the configuration in which it was chosen."""

    def reset(self) -> None:
        """An episode begins."""
        self.under_way.clear()

    def show(self, here: Configuration) -> tuple[Configuration, str | None]:
        followed = next(iter(self.under_way.items()), None)
        return here, None if followed is None else self._choices(followed[0].state)[followed[1]]

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The meta-policy's value of each option of the machine state."""
        values = super().values(environment_state, machine_state, memory)
        return values[: len(self._choices(machine_state))]

    def _choose(self, env_state: Any, state: str, memory: Memory) -> int:
        """The action of highest value for the option under way, or for the best option if the machine has moved."""
        here = Configuration(state, tuple(map(str, memory)))
        if here not in self.under_way:
            self.reset()
            self.under_way[here] = int(np.argmax(self.values(env_state, state, memory)))
        row = self.within.values(number_state(env_state, self.domain), state, memory)
        return int(np.argmax(row.reshape(-1, len(self.actions))[self.under_way[here]]))

    def _choices(self, machine_state: str) -> Sequence[str]:
        return self.options.get(machine_state, ("",))

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        arrays = {**self.q_table.arrays("meta."), **self.within.arrays("within.")}
        return {"kind": "options", "options": self.options}, arrays
