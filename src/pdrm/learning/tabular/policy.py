"""Trained tabular policies: made from a training run's tables, saved as arrays with a description, loaded again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import PdrmError, WrongPolicy
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.learning.run_folder import in_words
from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.hierarchical import TOP, options_of
from pdrm.learning.tabular.policy_table import (
    FAULTS,
    Arrays,
    CounterVectors,
    Memory,
    SeenTable,
    StackTree,
    fingerprint,
    no_policy,
    read_policy,
    table_of,
    write_policy,
)
from pdrm.learning.tabular.rows_kernel import Values
from pdrm.learning.tabular.training import HierarchicalTraining
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.stacks import Stacks
from pdrm.product.views import FullStack, TopK, View

# --- A trained policy: greedy actions by what is seen, saved as arrays (`.npz`, never code) with a description beside them.


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What Q-learning or CpRM learnt, over a stack or over counters: one value an action for each (environment state,
    machine state, view) that was met."""

    about: dict[str, Any]
    """How it was made: the run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    table: SeenTable

    def __len__(self) -> int:
        return len(self.table)

    @property
    def view(self) -> View:
        """What it sees of the stack."""
        return self.table.view

    def values(self, environment_state: int, machine_state: str, memory: Memory) -> npt.NDArray[np.float64]:
        """The values of the actions there; zeros where it was never met. `memory`: the stack, top first, or the counters."""
        return self.table.values(environment_state, machine_state, memory)

    def act(self, environment_state: int, machine_state: str, memory: Memory) -> int:
        """An action of highest value, the first of several (where nothing was ever met, the first action)."""
        return int(np.argmax(self.values(environment_state, machine_state, memory)))

    def seen(self, row: int) -> tuple[int, str, tuple[Any, ...]]:
        """What a row stands for."""
        return self.table.seen(row)

    def digest(self) -> str:
        """SHA-256 of everything that was learnt."""
        return fingerprint(self.table.arrays())

    def save(self, path: str | Path) -> None:
        """Write `path` (.npz) and the description beside it (.json), each whole or not at all."""
        memory = self.table.memory
        kind = {"kind": "stack", "stack": memory.stack} if isinstance(memory, StackTree) else {"kind": "counters"}
        words = {"actions": self.actions, "states": self.table.states, "machine": self.machine_text}
        description = {"view": str(self.view), **kind, **words, "about": self.about}
        write_policy(path, self.table.arrays(), description)


# --- A trained hierarchical policy: a meta-policy chooses among the options of the machine state, an option among actions.


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalPolicy:
    """What the hierarchical agent learnt. An option, once chosen, is followed until it is achieved or the machine moves:
    ask `option` for the one to begin, and give it to `act` at every step until then."""

    about: dict[str, Any]
    """How it was made: the run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    """The options of each machine state: the rules they bring about, as text (nothing where one without a rule stands in)."""
    meta: SeenTable
    """[rows, options]: the meta-policy's values."""
    within: SeenTable
    """[rows, options * actions]: the options' values, by the top of the stack."""

    def __len__(self) -> int:
        return len(self.meta)

    @property
    def view(self) -> View:
        """What the meta-policy sees of the stack."""
        return self.meta.view

    def option_values(self, environment_state: int, machine_state: str, memory: Memory) -> npt.NDArray[np.float64]:
        """The meta-policy's value of each option of the machine state."""
        values = self.meta.values(environment_state, machine_state, memory)
        return values[: len(self.options.get(machine_state, ()))]

    def option(self, environment_state: int, machine_state: str, memory: Memory) -> int:
        """The option of highest value there, the first of several."""
        values = self.option_values(environment_state, machine_state, memory)
        if not len(values):
            raise WrongPolicy(f"`{machine_state}` is final and has no options", fix="ask before the machine has ended")
        return int(np.argmax(values))

    def values(
        self, environment_state: int, machine_state: str, memory: Memory, option: int
    ) -> npt.NDArray[np.float64]:
        """The values of the actions for an option of the machine state."""
        known = len(self.options.get(machine_state, ()))
        if not 0 <= option < known:
            fault = f"`{machine_state}` has no option {option}"
            raise WrongPolicy(fault, fix=f"it has {known}: 0 to {known - 1}" if known else "it is final")
        row = self.within.values(environment_state, machine_state, memory)
        return row[option * len(self.actions) : (option + 1) * len(self.actions)]

    def act(self, environment_state: int, machine_state: str, memory: Memory, option: int | None = None) -> int:
        """An action of highest value for an option, the first of several; without one, for the best option there."""
        followed = self.option(environment_state, machine_state, memory) if option is None else option
        return int(np.argmax(self.values(environment_state, machine_state, memory, followed)))

    def digest(self) -> str:
        """SHA-256 of everything that was learnt."""
        return fingerprint(self._arrays())

    def save(self, path: str | Path) -> None:
        """Write `path` (.npz) and the description beside it (.json), each whole or not at all."""
        memory = self.meta.memory
        stack = memory.stack if isinstance(memory, StackTree) else ()
        words = {"actions": self.actions, "states": self.meta.states, "stack": stack, "options": self.options}
        description = {"view": str(self.view), "kind": "options", **words, "machine": self.machine_text}
        write_policy(path, self._arrays(), {**description, "about": self.about})

    def _arrays(self) -> Arrays:
        return {**self.meta.arrays("meta."), **self.within.arrays("within.")}


# --- Every kind of trained policy: one loader for their files, and whether one belongs to a machine.

AnyPolicy = Policy | HierarchicalPolicy


def load_policy(path: str | Path) -> AnyPolicy:
    """The policy in a `.npz` file and the `.json` beside it, of whatever agent. Nothing in them is run.

    >>> import tempfile, pdrm
    >>> maze = pdrm.domain("maze-5x5")
    >>> training = pdrm.Training(maze, pdrm.catalogue(maze.machine), pdrm.TopK(1), pdrm.QLearning(), seed=0)
    >>> training.advance(10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pdrm.policy_of(training).save(Path(folder) / "policy.npz")
    ...     load_policy(Path(folder) / "policy.npz").actions
    ('u', 'd', 'l', 'r')
    """
    arrays, description = read_policy(path)
    try:
        return _policy(arrays, description)
    except PdrmError:
        raise
    except FAULTS as error:
        raise no_policy(Path(path), in_words(error)) from error


def _policy(arrays: Arrays, said: dict[str, Any]) -> AnyPolicy:
    """The policy that the arrays and their description are."""
    view: View = FullStack() if said["view"] == "full" else TopK(int(said["view"]))
    about, machine, actions = said["about"], str(said["machine"]), tuple(said["actions"])
    if said.get("kind") != "options":
        table = table_of(arrays, "", view, said)
        _check_width(table.value.shape[1], len(actions))
        return Policy(about, machine, actions, table)
    options = {state: tuple(rules) for state, rules in said["options"].items()}
    meta, within = table_of(arrays, "meta.", view, said), table_of(arrays, "within.", TOP, said)
    most = max(map(len, options.values()))
    _check_width(meta.value.shape[1], most)
    _check_width(within.value.shape[1], most * len(actions))
    return HierarchicalPolicy(about, machine, actions, options, meta, within)


def _check_width(found: int, wanted: int) -> None:
    if found != wanted:
        raise ValueError(f"its rows have {found} values, not {wanted}")


def check_same_machine(policy: AnyPolicy, machine_text: str) -> None:
    """Raise unless the policy was learnt with this machine."""
    if parse(policy.machine_text) != parse(machine_text):
        raise WrongPolicy(
            "the policy was learnt with another machine", fix="use the machine in its description, or train again"
        )


# --- From a training run's tables to a policy: keys decoded into what they stand for.


def policy_of(training: AnyTraining, about: dict[str, Any] | None = None) -> AnyPolicy:
    """What a run has learnt so far. about: JSON values that are saved with it.

    >>> import pdrm
    >>> training = pdrm.Training(pdrm.domain("letter"), pdrm.catalogue("letter"), pdrm.TopK(1), pdrm.QLearning(), seed=0)
    >>> training.advance(1)
    >>> policy_of(training).act(0, "u0", ("#",)) in range(4)
    True
    """
    about = {} if about is None else about
    text, actions = to_text(training.machine), training.domain.actions
    table = _table(training, training.values, training.view, training.explored.k)
    if not isinstance(training, HierarchicalTraining):
        return Policy(about, text, actions, table)
    options = {state: options_of(training.machine, state) for state in training.machine.states}
    named = {state: tuple("" if rule is None else str(rule) for rule in rules) for state, rules in options.items()}
    return HierarchicalPolicy(about, text, actions, named, table, _table(training, training.policies, TOP, TOP.k))


def _table(training: AnyTraining, values: Values, view: View, k: int) -> SeenTable:
    """A table whose keys are (code of the view * machine states + machine state) * environment states + environment state."""
    used = int(values.index.used[0])
    seen, environment_state = np.divmod(values.index.key[:used], training.domain.states)
    code, machine_state = np.divmod(seen, len(training.explored.table.silent))
    memory, node = _memory(training, k, code)
    return SeenTable(
        view,
        (*training.machine.states, *training.machine.final),
        memory,
        environment_state.astype(np.int32),
        machine_state.astype(np.int32),
        node.astype(np.int32),
        values.value[:used].copy(),
    )


def _memory(
    training: AnyTraining, k: int, code: np.ndarray[Any, Any]
) -> tuple[StackTree | CounterVectors, np.ndarray[Any, Any]]:
    """What the codes number: counter vectors, whole stacks, or views of their top k symbols."""
    stacks, made = training.explored.stacks, int(training.explored.stacks.made[0])
    if isinstance(training.machine, CountingRewardAutomaton):
        return CounterVectors(training.explored.configurations.counters[:made].copy()), code
    if k >= 0:
        stacks, code = _views(stacks, k, code)
        made = int(stacks.made[0])
    return StackTree(training.machine.stack, stacks.symbol[:made].copy(), stacks.parent[:made].copy()), code


def _views(stacks: Stacks, k: int, code: np.ndarray[Any, Any]) -> tuple[Stacks, np.ndarray[Any, Any]]:
    """The top-k codes as nodes of a tree of their own."""
    base = stacks.child.shape[1]
    distinct, place = np.unique(code, return_inverse=True)
    views = Stacks.empty(base - 1, max(1, k) * len(distinct) + 1)
    nodes = []
    for number in distinct.tolist():
        digits = [number // base**power % base for power in reversed(range(k))]
        nodes.append(views.node_of(digit for digit in digits if digit))
    return views, np.array(nodes, np.int32)[place]
