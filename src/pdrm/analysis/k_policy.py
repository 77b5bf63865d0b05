"""A k-policy as a table: the action for each environment state, machine state and top of the stack."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.errors import BadPolicyFile, BadSetting
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
"""The largest k that is asked about."""
PolicyKey = tuple[int, str, Stack]
"""An environment state, a machine state and the symbols seen, top first."""


@dataclass(frozen=True, slots=True, repr=False)
class KPolicy:
    """A deterministic k-policy. It acts on what `task.env(k=…)` shows, as every policy does.

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
        """The number of the action; the first one in a class that the policy does not reach."""
        chosen = self.rows.get((state, machine_state, tuple(stack[: self.k])))
        return 0 if chosen is None else self.actions.index(chosen)

    def act(self, observation: Any, info: Mapping[str, Any]) -> int:
        """The action in an environment of `task.env`; `info["machine"]` has the machine's state and the whole stack."""
        shown = observation["observation"] if isinstance(observation, Mapping) else observation
        machine = info["machine"]
        return self.choose(int(np.asarray(shown)), machine["state"], tuple(machine["stack"]))

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        rows = [[*row[:2], list(row[2]), action] for row, action in sorted(self.rows.items())]
        record = {"format": FORMAT, "k": self.k, "actions": list(self.actions), "rows": rows}
        write_atomically(Path(path), json.dumps(record, ensure_ascii=False).encode())


def load_k_policy(path: str | Path) -> KPolicy:
    """Read a policy that `KPolicy.save` wrote."""
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


def check_ks(given: int | Iterable[int]) -> list[int]:
    """One k, or some in order, each once."""
    found = set()
    for k in [given] if isinstance(given, int | str) else given:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= MAX_K:
            fix = f"use integers from 0 to {MAX_K}, such as 0, 1, 2"
            raise BadSetting(f"k is {k!r}, which is not a number of symbols to see", fix=fix)
        found.add(int(k))
    return sorted(found)
