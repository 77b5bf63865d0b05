"""Trained tabular policies: how a run's table becomes one (`policy_of`), how it acts, how it is saved and loaded again.

A policy's files are arrays in a `.npz` and beside them a description in JSON that holds the arrays' fingerprint. Each is
written whole or not at all, and nothing in them is run when they are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
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
from pdrm.language.writer import to_text
from pdrm.learning.settings import LONGEST_K
from pdrm.learning.tabular.hierarchical import (
    TOP,
    Option,
    acting_heads,
    options_in_play,
    options_of,
)
from pdrm.learning.tabular.policy_table import (
    CounterVectors,
    Memory,
    PolicyRow,
    PolicyTable,
    StackTree,
    decode_table,
    locate,
    number_state,
    refuse_exploring,
    table_from,
    tabulate_policy,
)
from pdrm.learning.tabular.training import HierarchicalTraining, TabularTraining
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import counting_configuration
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.product.views import FullStack, View, view_of

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows
    from pdrm.learning.tabular.summary_policy import SummaryPolicy

VERSION = 1
ARRAYS = ".npz"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TabularPolicy:
    """What the two kinds of policy share."""

    about: dict[str, Any]
    """How it was made: the run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    q_table: PolicyTable
    """[rows, actions]: the value of each action; of a hierarchical policy [rows, options], that of each option."""
    domain: FiniteDomain | None = field(default=None, kw_only=True)
    """Where it was learnt, to have the environment's states described; a file does not say. `run.policy` has it."""
    pushdown: PushdownRewardMachine | None = field(default=None, kw_only=True)
    """Of a policy over counters: the machine as environments show it, with a stack. `run.policy` has it."""

    def __len__(self) -> int:
        return len(self.q_table)

    @property
    def counts(self) -> bool:
        """Whether it sees counters in place of a stack."""
        return not isinstance(self.q_table.memory, StackTree)

    @property
    def view(self) -> View:
        """What it sees of the stack."""
        return self.q_table.view

    def table(self, domain: FiniteDomain | None = None) -> Rows[PolicyRow]:
        """What was learnt, row by row: by machine state, then by what is seen of the stack, then by environment state.

        domain: where it was learnt, unless the policy knows it, to have the environment's states described.
        """
        return tabulate_policy(
            self.q_table, self._choices, self.domain if domain is None else domain
        )

    def _choices(self, _machine_state: str) -> tuple[str, ...]:
        """What the values of a row are about: the actions."""
        return self.actions

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} rows, {len(self.actions)} actions, view {self.view}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """What a row of the table stands for."""
        return self.q_table.seen(row)

    def begin(self) -> None:
        """An episode begins: tables remember nothing, but a loop that serves networks too says so."""

    def _locate(
        self, observation: object, machine_state: str | None, memory: Memory | None
    ) -> tuple[int, str, Memory]:
        """The environment state, the machine state and the memory that are given, one by one or in an observation."""
        table, states = self.q_table, None if self.domain is None else self.domain.states
        if machine_state is not None and memory is not None:
            place, several = (
                self._number_state(observation),
                not isinstance(memory, str) and isinstance(memory, Sequence),
            )
            stack = (
                tuple(one for one in memory if isinstance(one, str))
                if several and self.counts
                else ()
            )
            if not stack or len(stack) < len(memory):
                return place, machine_state, memory
            return place, *self._count(machine_state, stack)
        if isinstance(table.memory, StackTree):
            return locate(observation, self.view, table.states, table.memory.stack, states)
        machine = self._check_pushdown()
        known = (*machine.states, *machine.final)
        place, state, stack = locate(observation, FullStack(), known, machine.stack, states)
        return place, *self._count(state, stack)

    def _number_state(self, state: object) -> int:
        return number_state(state, self.domain)

    def _check_pushdown(self) -> PushdownRewardMachine:
        """The machine with a stack that environments show in place of the counters; raise where it is not known."""
        if self.pushdown is None:
            fix = "policy.act(state, machine_state, counters), or use run.policy, which knows the run's own machine"
            raise WrongPolicy("this policy sees counters, and does not know of what stack", fix=fix)
        return self.pushdown

    def _count(self, state: str, stack: Stack) -> tuple[str, tuple[int, ...]]:
        """The automaton's state and counters where the machine with a stack is in this state and has this stack: the stack as a
        number where the automaton simulates it, else how many symbols are above the bottom one."""
        machine = self._check_pushdown()
        if state not in (*machine.states, *machine.final) or not set(machine.stack).issuperset(
            stack
        ):
            fault = f"`{state}` with the stack {' '.join(stack) or '(empty)'} is not a configuration of machine `{machine.name}`"
            fix = f"its states: {', '.join((*machine.states, *machine.final))}; its stack symbols: {', '.join(machine.stack)}"
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

    def digest(self) -> str:
        """SHA-256 of everything that was learnt."""
        return hashlib.sha256(encode_arrays(self._arrays())).hexdigest()

    def save(self, path: str | Path, largest: int | None = None) -> Fingerprint:
        """Write `path` (.npz), unless it has more than so many bytes, and the description beside it (.json).

        path: where to. largest: bytes; None: no matter how many. Returns what the arrays are known by.
        """
        file, arrays, memory = Path(path), self._arrays(), self.q_table.memory
        if file.suffix != ARRAYS:
            fault = f"a policy is saved as {ARRAYS}, but `{file.name}` ends otherwise"
            raise UnknownFormat(fault, fix=f"call it {file.with_suffix(ARRAYS).name}")
        if largest is not None and sum(array.nbytes for array in arrays.values()) > largest:
            data, found = b"", Fingerprint.of_arrays(arrays)
        else:
            data = encode_arrays(arrays)
            found = Fingerprint.of(data)
        description = {
            "pdrm_policy": VERSION,
            "view": str(self.view),
            **self._kind(),
            **({"stack": memory.stack} if isinstance(memory, StackTree) else {}),
            "actions": self.actions,
            "states": self.q_table.states,
            "machine": self.machine_text,
            "sha256": found.sha256,
            "about": self.about,
        }
        text = json.dumps(description, indent=1, ensure_ascii=False) + "\n"
        if largest is None or found.size <= largest:
            write_atomically(file, data)
        else:
            file.unlink(missing_ok=True)  # there may be an earlier one, of a run that was stopped
        write_atomically(file.with_suffix(".json"), text.encode())
        return found

    def _kind(self) -> dict[str, Any]:
        """What the description says of this kind of policy alone."""
        return {"kind": "stack" if isinstance(self.q_table.memory, StackTree) else "counters"}

    def _arrays(self) -> Arrays:
        return self.q_table.arrays("")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Policy(TabularPolicy):
    """What Q-learning or CpRM learnt, over a stack or over counters: one value per action for each (environment state,
    machine state, view) that was seen."""

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The values of the actions there; zeros where it was never seen. `memory`: the stack, top first, or the counters."""
        return self.q_table.values(*self._locate(environment_state, machine_state, memory))

    def act(
        self,
        observation: object,
        machine_state: str | None = None,
        memory: Memory | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """An action of highest value, the first of several (where nothing was ever seen, the first action).

        observation: as `Task.env` shows it; or the environment's state (its number, its name, or its row and column on a grid), then
        the machine's, and `memory`: the stack, top first. A policy over counters takes the same, where the whole stack is shown, or
        the counters in place of the stack.
        deterministic: as `predict` has it in Stable-Baselines3, and True only, because a policy never explores.
        """
        refuse_exploring(deterministic)
        return int(np.argmax(self.values(*self._locate(observation, machine_state, memory))))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HierarchicalPolicy(TabularPolicy):
    """What the hierarchical agent learnt: a meta-policy chooses among the options of the machine state, an option among
    actions. An option is followed until it is achieved or the machine moves: ask `option` for the one to begin, and give it
    to `act` at every step until then."""

    options: dict[str, tuple[str, ...]]
    """The options of each machine state, as `option_texts` gives them; one stands in where the agent never acts."""
    within: PolicyTable
    """[rows, options * actions]: the options' values, by the top of the stack."""

    def option_values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The meta-policy's value of each option of the machine state."""
        values = self.q_table.values(self._number_state(environment_state), machine_state, memory)
        return values[: len(self.options.get(machine_state, ()))]

    def option(self, environment_state: StateLike, machine_state: str, memory: Memory) -> int:
        """The option of highest value there, the first of several."""
        values = self.option_values(environment_state, machine_state, memory)
        if not len(values):
            raise WrongPolicy(
                f"`{machine_state}` is final and has no options",
                fix="ask before the machine has ended",
            )
        return int(np.argmax(values))

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory, option: int
    ) -> npt.NDArray[np.float64]:
        """The values of the actions for an option of the machine state."""
        known = len(self.options.get(machine_state, ()))
        if not 0 <= option < known:
            fault = f"`{machine_state}` has no option {option}"
            raise WrongPolicy(
                fault, fix=f"it has {known}: 0 to {known - 1}" if known else "it is final"
            )
        row = self.within.values(self._number_state(environment_state), machine_state, memory)
        return row[option * len(self.actions) : (option + 1) * len(self.actions)]

    def act(
        self,
        observation: object,
        machine_state: str | None = None,
        memory: Memory | None = None,
        option: int | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """An action of highest value for an option, the first of several; without one, for the best option there.

        observation: as `Task.env` shows it; or the environment's state (its number, its name, or its row and column on a grid), then
        the machine's, and the stack, top first.
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


def policy_of(
    training: TabularTraining, about: dict[str, Any] | None = None, *, copy: bool = True
) -> AnyPolicy:
    """What a run has learnt so far.

    about: JSON values that are saved with it. copy: False where the run learns no more, or the policy is needed no longer than that.

    >>> import pdrm
    >>> training = pdrm.learning.QTraining(pdrm.domain("letter"), pdrm.catalogue("letter"), pdrm.product.TopK(1), pdrm.QLearning(), seed=0)
    >>> training.advance(1)
    >>> policy_of(training).act(0, "u0", ("#",)) in range(4)
    True
    """
    table = decode_table(training, training.values, training.view, copy=copy)
    shared = (
        {} if about is None else about,
        to_text(training.machine),
        training.domain.actions,
        table,
    )
    if not isinstance(training, HierarchicalTraining):
        return Policy(*shared)
    within = decode_table(training, training.policies, TOP, copy=copy)
    options = options_in_play(training.machine, acting_heads(training.machine, training.domain))
    return HierarchicalPolicy(
        *shared, {state: option_texts(own) for state, own in options.items()}, within
    )


STANDS_IN = ("",)
"""The options of a machine state, as texts, where one without a rule stands in."""


def option_texts(options: Iterable[Option]) -> tuple[str, ...]:
    """The rules that options bring about, as text."""
    return tuple("" if rule is None else str(rule) for rule in options)


def load_table(path: str | Path) -> AnyPolicy | SummaryPolicy:
    """The policy in a `.npz` file and the `.json` beside it, of whatever tabular agent."""
    file = Path(path)
    beside = file.with_suffix(".json")
    check_policy_files(file)
    try:
        description = parse_record(read_bytes(beside))
        sha256 = str(description["sha256"])
    except MALFORMED as error:
        raise _damaged(file, describe_fault(error, beside.name)) from error
    try:
        data = file.read_bytes()
        arrays = read_arrays(data)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _damaged(file, f"it does not match the fingerprint in {beside.name}")
        if description.get("pdrm_policy") != VERSION:
            raise _damaged(
                file,
                f"it is of version {description.get('pdrm_policy')}, and this program reads {VERSION}",
            )
        if description.get("kind") == "summary":
            from pdrm.learning.tabular.summary_policy import read_summary_policy

            return read_summary_policy(arrays, description)
        return _policy_from(arrays, description)
    except PdrmError:
        raise
    except MALFORMED as error:
        raise _damaged(file, describe_fault(error)) from error


def _policy_from(arrays: Arrays, description: dict[str, Any]) -> AnyPolicy:
    """The policy that the arrays and their description are."""
    about, text, actions, seen = (
        description[name] for name in ("about", "machine", "actions", "view")
    )
    need(
        (
            isinstance(about, dict) and isinstance(text, str) and isinstance(seen, str),
            "its description has other types",
        ),
        (
            isinstance(actions, list) and all(isinstance(name, str) for name in actions),
            "its actions are no names",
        ),
        (
            seen == "full" or (seen.isascii() and seen.isdigit() and len(seen) < LONGEST_K),
            "its view is no view",
        ),
    )
    actions, machine = tuple(actions), parse(text)
    view = view_of(seen if seen == "full" else int(seen))
    counters = machine.counters if isinstance(machine, CountingRewardAutomaton) else None
    counts, kind = counters is not None, description.get("kind")
    need(
        (
            counts or isinstance(machine, PushdownRewardMachine),
            "its machine has neither a stack nor counters",
        ),
        (
            kind == "counters" if counts else kind in ("stack", "options"),
            "it is not of the kind of its machine",
        ),
        (
            description["states"] == [*machine.states, *machine.final],
            "its states are not those of its machine",
        ),
    )
    if isinstance(machine, PushdownRewardMachine):
        need(
            (
                description["stack"] == [*machine.stack],
                "its stack symbols are not those of its machine",
            )
        )
    if kind != "options" or not isinstance(machine, PushdownRewardMachine):
        table = table_from(arrays, "", view, description, len(actions))
        if isinstance(table.memory, CounterVectors):
            fits = table.memory.counters.shape[1] == counters
            need((fits and seen == "full", "its counters are not those of its machine"))
        return Policy(about, text, actions, table)
    options = {state: tuple(texts) for state, texts in description["options"].items()}
    need(
        (tuple(options) == machine.states, "its options are not those of the states of its machine")
    )
    for state, texts in options.items():
        fits = texts in (option_texts(options_of(machine, state)), STANDS_IN)
        need((fits, "its options are not those of its machine"))
    most = max(map(len, options.values()))
    meta = table_from(arrays, "meta.", view, description, most)
    within = table_from(arrays, "within.", TOP, description, most * len(actions))
    return HierarchicalPolicy(about, text, actions, meta, options, within)


def _damaged(file: Path, why: str) -> BadPolicyFile:
    fix = "restore a copy of it, or remove the run's folder and train again"
    return BadPolicyFile(f"{file} is not a policy, or is damaged: {why}", fix=fix)
