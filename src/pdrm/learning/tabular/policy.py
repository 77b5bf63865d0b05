"""Trained tabular policies: how one acts, how it is saved and loaded again.

A policy's files are arrays in a `.npz` and a description in a `.json` that holds the arrays'
fingerprint. Nothing in them is run when they are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain, StateLike
from pdrm.errors import (
    BadPolicyFile,
    PdrmError,
    UnknownFormat,
    WrongPolicy,
    check_policy_files,
)
from pdrm.files import (
    MALFORMED,
    Arrays,
    Fingerprint,
    describe_fault,
    encode_arrays,
    need,
    parse_record,
    read_arrays,
    read_bytes,
    write_atomically,
)
from pdrm.language.document import AnyMachine
from pdrm.language.loading import parse
from pdrm.learning.tabular.hierarchical import (
    TOP,
    Option,
    options_of,
)
from pdrm.learning.tabular.policy_table import (
    CounterVectors,
    Memory,
    PolicyRow,
    PolicyTable,
    StackTree,
    locate,
    number_state,
    refuse_exploring,
    table_from,
    tabulate_policy,
)
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import counting_configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.product.observation import read_seen
from pdrm.product.views import FullStack, View, view_of

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows
    from pdrm.learning.tabular.summary_policy import SummaryPolicy

VERSION = 1
ARRAYS = ".npz"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TabularPolicy:
    """The part that both kinds of policy share."""

    about: dict[str, Any]
    """The run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    q_table: PolicyTable
    """[rows, actions]: the value of each action; of a hierarchical policy [rows, options], that of each option."""
    domain: FiniteDomain | None = field(default=None, kw_only=True)
    """The domain it was learnt in, to describe the environment's states; not kept in a file, but set in `run.policy`."""
    pushdown: PushdownRewardMachine | None = field(default=None, kw_only=True)
    """Of a policy over counters: the machine as environments show it, with a stack. `run.policy` has it."""

    def __len__(self) -> int:
        return len(self.q_table)

    @property
    def counts(self) -> bool:
        """True if it sees counters instead of a stack."""
        return isinstance(self.q_table.memory, CounterVectors)

    @property
    def view(self) -> View:
        """The view of the stack."""
        return self.q_table.view

    def table(self, domain: FiniteDomain | None = None) -> Rows[PolicyRow]:
        """The learnt table, row by row: by machine state, then by the view of the stack, then by environment state.

        domain: The domain it was learnt in, to describe the environment's states (default: the policy's own).
        """
        known = self.domain if domain is None else domain
        return tabulate_policy(self.q_table, self._choices, known)

    def _choices(self, _machine_state: str) -> tuple[str, ...]:
        """The names of the values of a row: the actions."""
        return self.actions

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} rows, {len(self.actions)} actions, view {self.view}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """The environment state, machine state and memory of a row."""
        return self.q_table.seen(row)

    def reset(self) -> None:
        """An episode begins: tables remember nothing, but a loop that serves networks too says so."""

    def _locate(
        self, observation: object, machine: str | Mapping[str, Any] | None, memory: Memory | None
    ) -> tuple[int, str, Memory]:
        """The environment state, the machine state and the memory that are given: one by one, in an observation, or in `info`."""
        table, states = self.q_table, None if self.domain is None else self.domain.states
        known = table.states
        symbols: Stack = ()
        if isinstance(table.memory, StackTree):
            symbols = table.memory.stack
        elif self.pushdown is not None:
            known = (*self.pushdown.states, *self.pushdown.final)
            symbols = self.pushdown.stack
        if isinstance(machine, Mapping):
            shown = read_seen(observation, known, symbols, states)
            observation = observation if shown is None else shown.observation
            state, memory = machine["machine"]["state"], machine["machine"]["stack"]
        else:
            state = machine
        if state is None or memory is None:
            view = FullStack() if self.counts else self.view
            if self.counts and self.pushdown is None:
                raise self._unknown_stack()
            place, state, memory = locate(observation, view, known, symbols, states)
        else:
            place = number_state(observation, self.domain)
        if self.counts and _is_stack(memory):
            state, memory = self._count(state, tuple(map(str, memory)))
        return place, state, memory

    def _unknown_stack(self) -> WrongPolicy:
        fix = "policy.act(state, machine_state, counters), or use run.policy, which knows the run's own machine"
        return WrongPolicy("this policy sees counters, and does not know of what stack", fix=fix)

    def _count(self, state: str, stack: Stack) -> tuple[str, tuple[int, ...]]:
        """The automaton's state and counters if the machine with a stack is in this state and has this stack: the stack as a
        number if the automaton simulates it, else how many symbols are above the bottom one."""
        machine = self.pushdown
        if machine is None:
            raise self._unknown_stack()
        states = (*machine.states, *machine.final)
        if state not in states or not set(machine.stack).issuperset(stack):
            fault = f"`{state}` with the stack {' '.join(stack) or '(empty)'} is not a configuration of machine `{machine.name}`"
            fix = f"its states: {', '.join(states)}; its stack symbols: {', '.join(machine.stack)}"
            raise WrongPolicy(fault, fix=fix)
        simulated = counting_configuration(machine, Configuration(state, stack))
        if simulated.state in self.q_table.states:
            return simulated.state, simulated.counters
        return state, (max(0, len(stack) - 1),)

    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""
        reached = self.q_table.environment_state.max(initial=0)
        if self.actions != domain.actions or reached >= domain.states:
            fault = f"the policy was learnt in a domain with other actions or states than `{domain.name}`"
            raise WrongPolicy(fault, fix="use the domain that it was learnt in, or train again")

    def check_machine(self, machine: AnyMachine) -> None:
        """Raise unless the policy was learnt with this machine."""
        if parse(self.machine_text) != machine:
            fix = "use the machine in its description, or train again"
            raise WrongPolicy("the policy was learnt with another machine", fix=fix)

    def save(self, path: str | Path) -> Fingerprint:
        """Write `path` (.npz) and its description (.json); return the fingerprint of the arrays."""
        file, arrays = Path(path), self._arrays()
        if file.suffix != ARRAYS:
            fault = f"a policy is saved as {ARRAYS}, but `{file.name}` ends otherwise"
            raise UnknownFormat(fault, fix=f"call it {file.with_suffix(ARRAYS).name}")
        data = encode_arrays(arrays)
        found = Fingerprint.of(data)
        write_atomically(file, data)
        description = {
            "pdrm_policy": VERSION,
            "view": str(self.view),
            **self._kind(),
            "actions": self.actions,
            "machine": self.machine_text,
            "sha256": found.sha256,
            "about": self.about,
        }
        text = json.dumps(description, indent=1, ensure_ascii=False) + "\n"
        write_atomically(file.with_suffix(".json"), text.encode())
        return found

    def _kind(self) -> dict[str, Any]:
        """Entries of the description for this kind of policy only."""
        return {"kind": "counters" if self.counts else "stack"}

    def _arrays(self) -> Arrays:
        return self.q_table.arrays("")


def _is_stack(memory: Any) -> bool:
    """Return True if these are symbols, not the values of counters."""
    several = isinstance(memory, Sequence) and not isinstance(memory, str) and len(memory) > 0
    return several and all(isinstance(one, str) for one in memory)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Policy(TabularPolicy):
    """The policy of Q-learning or CpRM, over a stack or over counters: one value per action for each (environment state,
    machine state, view) that was seen."""

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The values of the actions there; zeros if it was never seen. `memory`: the stack, top first, or the counters."""
        return self.q_table.values(*self._locate(environment_state, machine_state, memory))

    def act(
        self,
        observation: object,
        machine_state: str | Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """An action of highest value, the first of several (if nothing was ever seen, the first action).

        observation: as `Task.env` shows it, alone or followed by its `info`; or the environment's state (its number, its name,
        or its row and column on a grid), then the machine's, and `memory`: the stack, top first. A policy over counters takes
        the same, if the whole stack is shown, or the counters instead of the stack.
        deterministic: as `predict` has it in Stable-Baselines3, and True only, because a policy never explores.
        """
        refuse_exploring(deterministic)
        return int(
            np.argmax(self.q_table.values(*self._locate(observation, machine_state, memory)))
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HierarchicalPolicy(TabularPolicy):
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
        place = number_state(environment_state, self.domain)
        values = self.q_table.values(place, machine_state, memory)
        return values[: len(self._choices(machine_state))]

    def option(self, environment_state: StateLike, machine_state: str, memory: Memory) -> int:
        """The option of highest value there, the first of several."""
        values = self.option_values(environment_state, machine_state, memory)
        if not len(values):
            fault = f"`{machine_state}` is final and has no options"
            raise WrongPolicy(fault, fix="ask before the machine has ended")
        return int(np.argmax(values))

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory, option: int
    ) -> npt.NDArray[np.float64]:
        """The values of the actions for an option of the machine state."""
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
        """An action of highest value for an option, the first of several; without one, for the best option there.

        observation: as `Task.env` shows it, alone or followed by its `info`; or the environment's state (its number, its name,
        or its row and column on a grid), then the machine's, and the stack, top first.
        deterministic: as `predict` has it in Stable-Baselines3, and True only, because a policy never explores.
        """
        refuse_exploring(deterministic)
        there = self._locate(observation, machine_state, memory)
        followed = self.option(*there) if option is None else option
        return int(np.argmax(self.values(*there, followed)))

    def _choices(self, _machine_state: str) -> tuple[str, ...]:
        return self.options.get(_machine_state, ())

    def _kind(self) -> dict[str, Any]:
        return {"kind": "options", "options": self.options}

    def _arrays(self) -> Arrays:
        return {**self.q_table.arrays("meta."), **self.within.arrays("within.")}


AnyPolicy = Policy | HierarchicalPolicy


STANDS_IN = ("",)
"""The options of a machine state, as texts, if one without a rule stands in."""


def option_texts(options: Iterable[Option]) -> tuple[str, ...]:
    """The rules that options bring about, as text."""
    return tuple("" if rule is None else str(rule) for rule in options)


# --- Reading


def load_table(path: str | Path) -> AnyPolicy | SummaryPolicy:
    """The policy of any tabular agent in a `.npz` file and its `.json`."""
    file = Path(path)
    check_policy_files(file)
    try:
        description = parse_record(read_bytes(file.with_suffix(".json")))
        data = file.read_bytes()
        arrays = read_arrays(data)
        fits = hashlib.sha256(data).hexdigest() == description["sha256"]
        need(
            (fits, "it does not match the fingerprint in its .json file"),
            (description.get("pdrm_policy") == VERSION, f"it is not of version {VERSION}"),
        )
        if description.get("kind") == "summary":
            from pdrm.learning.tabular.summary_policy import read_summary_policy

            return read_summary_policy(arrays, description)
        return _policy_from(arrays, description)
    except PdrmError:
        raise
    except MALFORMED as error:
        fix = "restore a copy of it, or remove the run's folder and train again"
        fault = f"{file} is not a policy, or is damaged: {describe_fault(error)}"
        raise BadPolicyFile(fault, fix=fix) from error


def _policy_from(arrays: Arrays, description: dict[str, Any]) -> AnyPolicy:
    """The policy that the arrays and their description are."""
    text, seen = str(description["machine"]), str(description["view"])
    actions = tuple(map(str, description["actions"]))
    machine, view = parse(text), view_of(seen if seen == "full" else int(seen))
    counts = isinstance(machine, CountingRewardAutomaton)
    pushdown = isinstance(machine, PushdownRewardMachine)
    kinds = ("counters",) if counts else ("stack", "options")
    need(
        (isinstance(description["about"], dict), "its description is damaged"),
        (counts or pushdown, "its machine has neither a stack nor counters"),
        (description["kind"] in kinds, "it is not of the kind of its machine"),
        (not counts or seen == "full", "a policy over counters sees all of them"),
    )
    memory = machine.counters if isinstance(machine, CountingRewardAutomaton) else machine.stack
    states = (*machine.states, *machine.final)
    shared = description["about"], text, actions
    if description["kind"] != "options" or not isinstance(machine, PushdownRewardMachine):
        return Policy(*shared, table_from(arrays, "", view, states, memory, len(actions)))
    options = {state: tuple(texts) for state, texts in description["options"].items()}
    fits = tuple(options) == machine.states and all(
        texts in (option_texts(options_of(machine, state)), STANDS_IN)
        for state, texts in options.items()
    )
    need((fits, "its options are not those of its machine"))
    most = max(map(len, options.values()))
    meta = table_from(arrays, "meta.", view, states, memory, most)
    within = table_from(arrays, "within.", TOP, states, memory, most * len(actions))
    return HierarchicalPolicy(*shared, meta, options, within)
