"""From a training run's tables to a policy: keys decoded into what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.hierarchical_policy import HierarchicalPolicy
from pdrm.learning.tabular.options.rules import TOP, options_of
from pdrm.learning.tabular.options.training import HierarchicalTraining
from pdrm.learning.tabular.policies import AnyPolicy
from pdrm.learning.tabular.policy import Policy
from pdrm.learning.tabular.remembered import CounterVectors, StackTree
from pdrm.learning.tabular.seen_table import SeenTable
from pdrm.learning.tabular.tables import Values
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.stacks import Stacks
from pdrm.machines.text.writer import to_text
from pdrm.product.view import View


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
