"""Which observed stacks CpRM imagines with: all, one of each class, or those seen with this environment state."""

from __future__ import annotations

from pdrm.learning.tabular.reading import AnyMemory
from pdrm.learning.tabular.settings import Counterfactuals
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transition import Stack
from pdrm.product.configurations import LARGEST_KEY
from pdrm.product.depth import symbols_that_matter
from pdrm.product.view import FullStack, View

EVERY = -1
"""The depth by which every stack is a class of its own."""


def class_depth(machine: AnyMemory, view: View, choice: Counterfactuals) -> int:
    """How many symbols tell two stacks apart for this choice. A k-policy's experience with a stack depends on the symbols a
    step can pop, and on the k it sees (or the one the machine looks at) below them.

    >>> from pdrm.machines.catalogue import catalogue
    >>> from pdrm.product.view import TopK
    >>> class_depth(catalogue("treasure-maze"), TopK(1), Counterfactuals.DEDUPLICATED)
    2
    """
    if choice is not Counterfactuals.DEDUPLICATED or isinstance(view, FullStack):
        return EVERY
    if not isinstance(machine, PushdownRewardMachine):
        return EVERY  # all counter values are seen
    symbols = symbols_that_matter(machine, view.k)
    if symbols is None or (len(machine.stack) + 1) ** symbols > LARGEST_KEY:
        return EVERY  # a class has no bound, or no number of its own
    return symbols


class ObservedStacks:
    """The lists of observed stacks in plain Python: `stacks(s)` are those to imagine with in environment state s."""

    def __init__(self, choice: Counterfactuals, depth: int) -> None:
        self._by_state = choice is Counterfactuals.CO_OBSERVED
        self._depth = depth
        self._lists: dict[int, dict[Stack, Stack]] = {}

    def add(self, state: int, stack: Stack) -> None:
        """Note a stack, unless one of its class is there."""
        self._lists.setdefault(self.place(state), {}).setdefault(self._kind(stack), stack)

    def alike(self, stack: Stack, other: Stack) -> bool:
        """Whether two stacks are of one class."""
        return self._kind(stack) == self._kind(other)

    def _kind(self, stack: Stack) -> Stack:
        return stack if self._depth == EVERY else stack[: self._depth]

    def place(self, state: int) -> int:
        """The number of the list that belongs to an environment state."""
        return state if self._by_state else 0

    def stacks(self, state: int) -> list[Stack]:
        """The stacks of a list, in the order they were first observed."""
        return list(self._lists.get(self.place(state), {}).values())
