"""A machine's memory for the readable learners: one step of a stack or of counters, and how stacks are classed.

The counters of a counting automaton stand where the stack of a pushdown machine does: their values, written as symbols.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from pdrm.domains.finite_domain import Label
from pdrm.errors import BadSetting, EndlessSilentMoves
from pdrm.learning.agents import Counterfactuals
from pdrm.machines.configurations import Configuration
from pdrm.machines.counting import (
    MOST_SILENT_MOVES,
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingStep,
)
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stack_bounds import symbols_that_matter
from pdrm.product.exploration import LARGEST_KEY
from pdrm.product.views import FullStack, View

AnyMemory = PushdownRewardMachine | CountingRewardAutomaton


class MemoryStep(NamedTuple):
    """The result of a label: the configuration after it, the reward, and the moves of a counting automaton (0: not counted)."""

    after: Configuration
    reward: float
    moves: int


def begin(machine: AnyMemory) -> MemoryStep:
    """The start of an episode."""
    if isinstance(machine, CountingRewardAutomaton):
        return _counted(machine.begin())
    step = machine.begin()
    return MemoryStep(step.after, step.reward, 0)


def read_label(
    machine: AnyMemory, here: Configuration, label: Label, operations: int | None
) -> MemoryStep:
    """One label read. A step that needs more than `operations` moves is not taken; its `moves` are then `operations + 1`."""
    if isinstance(machine, PushdownRewardMachine):
        step = machine.step(here, label)
        return MemoryStep(step.after, step.reward, 0)
    before = CountingConfiguration(here.state, tuple(map(int, here.stack)))
    try:
        return _counted(machine.step(before, label, operations or MOST_SILENT_MOVES))
    except EndlessSilentMoves:
        if operations is None:
            raise
        return MemoryStep(here, 0.0, operations + 1)


def _counted(step: CountingStep) -> MemoryStep:
    after = Configuration(step.after.state, tuple(map(str, step.after.counters)))
    return MemoryStep(after, step.reward, step.moves)


MOST_VECTORS = 100_000
"""The limit of counterfactual counter vectors that were not observed before."""
EVERY_STACK = -1
"""The depth by which every stack is a class of its own."""


def class_depth(machine: AnyMemory, view: View, choice: Counterfactuals) -> int:
    """The number of symbols that tell two stacks apart for this choice. A k-policy's experience with a stack depends on the symbols a
    step can pop, and on the k it sees (or the one the machine looks at) below them.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.views import TopK
    >>> class_depth(catalogue("treasure-maze"), TopK(1), Counterfactuals.DEDUPLICATED)
    2
    """
    if choice is not Counterfactuals.DEDUPLICATED or isinstance(view, FullStack):
        return EVERY_STACK
    if not isinstance(machine, PushdownRewardMachine):
        return EVERY_STACK  # all counter values are seen
    symbols = symbols_that_matter(machine, view.k)
    if symbols is None or (len(machine.stack) + 1) ** symbols > LARGEST_KEY:
        return EVERY_STACK  # a class has no bound, or no number of its own
    return symbols


def first_vectors(machine: AnyMemory, values: int | None) -> list[tuple[int, ...]]:
    """The counter vectors used for counterfactuals before they were observed: those with every counter below `values`.

    >>> from pdrm.language.loading import catalogue
    >>> first_vectors(catalogue("letter-cra"), 3)
    [(0,), (1,), (2,)]
    """
    if values is None or not isinstance(machine, CountingRewardAutomaton):
        return []
    if values**machine.counters > MOST_VECTORS:
        fault = f"{values:,} values of each of {machine.counters} counters are more than {MOST_VECTORS:,} to imagine with"
        raise BadSetting(fault, fix="a smaller counter_values")
    return list(product(range(values), repeat=machine.counters))
