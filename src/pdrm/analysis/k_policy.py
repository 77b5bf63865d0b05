"""k-policies as tables from environment state, machine state and top symbols to actions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.errors import BadPolicyFile, BadSetting, WrongPolicy
from pdrm.files import (
    MALFORMED,
    MAX_CERTIFICATE_BYTES,
    parse_record,
    read_bytes,
    write_atomically,
)
from pdrm.machines.transitions import Stack

FORMAT = "pdrm k-policy 1"
MAX_K = 1_000
PolicyKey = tuple[int, str, Stack]
"""An environment state, a machine state and the visible symbols, top first."""


@dataclass(frozen=True, slots=True, repr=False)
class KPolicy:
    """A deterministic k-policy. It acts on the observations of `task.env(k=…)`.

    >>> policy = KPolicy(1, ("left", "right"), {(0, "u0", ("A",)): "right"})
    >>> policy.choose(0, "u0", ("A", "#")), len(policy)
    (1, 1)
    """

    k: int
    actions: tuple[str, ...]
    rows: Mapping[PolicyKey, str]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<KPolicy of {len(self):,} rows, k = {self.k}>"

    def choose(self, state: int, machine_state: str, stack: Stack) -> int:
        """The number of the action, 0 if the table has no row."""
        action = self.rows.get((state, machine_state, tuple(stack[: self.k])))
        return 0 if action is None else self.actions.index(action)

    def reset(self) -> None:
        """Do nothing: a k-policy has no memory."""

    def act(self, observation: Any, info: Mapping[str, Any] | None = None) -> int:
        """The action in an environment of `task.env`; `info["machine"]` has the configuration."""
        if info is None:
            fault = "a k-policy needs the `info` of the environment, too"
            raise WrongPolicy(fault, fix="policy.act(observation, info)")
        env_state = observation["observation"] if isinstance(observation, Mapping) else observation
        machine = info["machine"]
        return self.choose(int(np.asarray(env_state)), machine["state"], tuple(machine["stack"]))

    def save(self, path: str | Path) -> None:
        """Write the policy as JSON."""
        rows = [[*row[:2], list(row[2]), action] for row, action in sorted(self.rows.items())]
        record = {"format": FORMAT, "k": self.k, "actions": list(self.actions), "rows": rows}
        write_atomically(Path(path), json.dumps(record, ensure_ascii=False).encode())


def load_k_policy(path: str | Path) -> KPolicy:
    """Read a policy written by `KPolicy.save`."""
    try:
        record = parse_record(read_bytes(Path(path), MAX_CERTIFICATE_BYTES))
        if record["format"] != FORMAT:
            raise ValueError(f"it is not in the format `{FORMAT}`")
        actions = tuple(map(str, record["actions"]))
        rows = {(int(s), str(u), tuple(map(str, seen))): str(a) for s, u, seen, a in record["rows"]}
        if not set(rows.values()) <= set(actions):
            raise ValueError("a row has an unknown action")
        return KPolicy(int(record["k"]), actions, rows)
    except MALFORMED as error:
        raise BadPolicyFile(f"{path} is not a k-policy: {error}", fix="save it again") from None


def check_ks(ks: int | Iterable[int]) -> list[int]:
    """One or more values of k, sorted and without duplicates."""
    checked = set()
    for k in [ks] if isinstance(ks, int | str) else ks:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= MAX_K:
            fix = f"use integers from 0 to {MAX_K}, such as 0, 1, 2"
            raise BadSetting(f"k is {k!r}, which is not a number of symbols", fix=fix)
        checked.add(int(k))
    return sorted(checked)
