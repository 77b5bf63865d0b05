"""From a training run's tables to a policy: keys decoded into what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdrm.errors import WrongPolicy
from pdrm.learning.tabular.policy import Policy
from pdrm.learning.tabular.training import Training
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import Stacks
from pdrm.machines.text.writer import to_text


def policy_of(training: Training, about: dict[str, Any]) -> Policy:
    """What a run has learnt so far."""
    if not isinstance(training.machine, PushdownRewardMachine):
        raise WrongPolicy(
            "a policy over counters has no stack to look at", fix="keep the training itself, or translate the machine"
        )
    explored, values = training.explored, training.values
    used = int(values.index.used[0])
    keys = values.index.key[:used]
    seen, environment_state = np.divmod(keys, training.domain.states)
    code, machine_state = np.divmod(seen, len(explored.table.silent))
    stacks, node = (explored.stacks, code) if explored.k < 0 else _views(explored.stacks, explored.k, code)
    made = int(stacks.made[0])
    return Policy(
        about,
        to_text(training.machine),
        training.view,
        training.domain.actions,
        (*training.machine.states, *training.machine.final),
        training.machine.stack,
        environment_state.astype(np.int32),
        machine_state.astype(np.int32),
        node.astype(np.int32),
        stacks.symbol[:made].copy(),
        stacks.parent[:made].copy(),
        values.value[:used].copy(),
    )


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
