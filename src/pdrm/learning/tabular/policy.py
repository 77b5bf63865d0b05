"""A trained policy: greedy actions by what is seen, saved as arrays (`.npz`, never code) with a description beside them.

The rows of the table are kept as (environment state, machine state, view); views share their symbols in a tree, so that
millions of whole stacks take no more room than the stacks themselves.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadPolicyFile, WrongPolicy
from pdrm.machines.table import Integers, Rewards
from pdrm.machines.text.files import parse
from pdrm.machines.text.source import decode, read_bytes
from pdrm.machines.text.whole_file import write
from pdrm.machines.transition import Stack
from pdrm.product.view import FullStack, TopK, View

VERSION = 1
COLUMNS = ("environment_state", "machine_state", "node", "symbol", "parent", "value")


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What was learnt: one value an action for each (environment state, machine state, view) that was met."""

    about: dict[str, Any]
    """How it was made: the run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    view: View
    actions: tuple[str, ...]
    states: tuple[str, ...]
    """The machine states, final ones last, as `machine_state` numbers them."""
    stack: tuple[str, ...]
    """The stack symbols, numbered from 1 in `symbol`."""
    environment_state: Integers
    machine_state: Integers
    node: Integers
    """[rows]: the view, a node of the tree below."""
    symbol: Integers
    parent: Integers
    """[nodes]: the tree of views; node 0 is the empty one."""
    value: Rewards
    """[rows, actions]"""
    _rows: dict[tuple[int, str, Stack], int] = field(init=False, repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.value)

    def values(self, environment_state: int, machine_state: str, stack: Sequence[str]) -> npt.NDArray[np.float64]:
        """The values of the actions there; zeros where it was never met."""
        if not self._rows:
            self._rows.update({self.seen(row): row for row in range(len(self))})
        if (
            machine_state not in self.states
            or isinstance(stack, str)
            or any(symbol not in self.stack for symbol in stack)
        ):
            fault = f"`{machine_state}` with stack {stack!r} is no configuration of the machine this was learnt with"
            raise WrongPolicy(fault, fix="give a state's name and a tuple of stack symbols, top first")
        row = self._rows.get((environment_state, machine_state, self.view.of(tuple(stack))))
        return np.zeros(len(self.actions)) if row is None else self.value[row]

    def act(self, environment_state: int, machine_state: str, stack: Sequence[str]) -> int:
        """An action of highest value, the first of several (where nothing was ever met, the first action)."""
        return int(np.argmax(self.values(environment_state, machine_state, stack)))

    def seen(self, row: int) -> tuple[int, str, Stack]:
        """What a row stands for."""
        symbols, node = [], int(self.node[row])
        while node:
            symbols.append(self.stack[int(self.symbol[node]) - 1])
            node = int(self.parent[node])
        return int(self.environment_state[row]), self.states[int(self.machine_state[row])], tuple(symbols)

    def digest(self) -> str:
        """SHA-256 of everything that was learnt."""
        return hashlib.sha256(self._bytes()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write `path` (.npz) and the description beside it (.json), each whole or not at all."""
        path = Path(path)
        write(path, self._bytes())
        write(
            path.with_suffix(".json"), (json.dumps(self._description(), indent=1, ensure_ascii=False) + "\n").encode()
        )

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name) for name in COLUMNS}

    def _bytes(self) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, **self._arrays())  # type: ignore[arg-type]
        return buffer.getvalue()

    def _description(self) -> dict[str, Any]:
        return {
            "pdrm_policy": VERSION,
            "view": str(self.view),
            "actions": self.actions,
            "states": self.states,
            "stack": self.stack,
            "machine": self.machine_text,
            "sha256": self.digest(),
            "about": self.about,
        }


def load_policy(path: str | Path) -> Policy:
    """The policy in a `.npz` file and the `.json` beside it. Nothing in them is run."""
    file = Path(path)
    data = file.with_suffix(".json")
    try:
        description = json.loads(decode(read_bytes(data), str(data)))
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
            columns: list[Any] = [np.array(arrays[name]) for name in COLUMNS]
        view: View = FullStack() if description["view"] == "full" else TopK(int(description["view"]))
        words: list[Any] = [tuple(description[name]) for name in ("actions", "states", "stack")]
        policy = Policy(description["about"], description["machine"], view, *words, *columns)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise BadPolicyFile(
            f"{file} is no policy, or is damaged: {error}",
            fix=f"remove {file.parent} and train again, or restore a copy",
        ) from error
    if policy.digest() != description["sha256"]:
        raise BadPolicyFile(
            f"{file} is damaged: it does not match the fingerprint in {data.name}",
            fix=f"remove {file.parent} and train again, or restore a copy",
        )
    return policy


def check_same_machine(policy: Policy, machine_text: str) -> None:
    """Raise unless the policy was learnt with this machine."""
    if parse(policy.machine_text) != parse(machine_text):
        raise WrongPolicy(
            "the policy was learnt with another machine", fix="use the machine in its description, or train again"
        )
