"""Count reachable product states, stacks and the rows of k-policies.

`count_reachable` walks the finite product step by step. It stops at the last step that finds at
most `most` product states, because the number of stacks can grow exponentially (Theorem 1).
`count_views` counts the rows of a k-policy in episodes of any length without listing stacks:
finitely many heads and the frames below them (`reach.saturate`) describe stacks of any height.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from pdrm.analysis.stepped_product import ControlState, PartialState, SteppedProduct
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge
from pdrm.machines.heads import rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import Frame, FramesBelow, saturate
from pdrm.machines.tables import Integers
from pdrm.machines.transitions import TopSymbols
from pdrm.product.finite_kernel import FiniteProduct

MAX_ROWS = 1_000_000
"""The default limit of product states."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The numbers of items reached within 0, 1, 2, … steps (cumulative).

    >>> from pdrm.task import Task
    >>> maze = Task("maze-5x5")
    >>> count_reachable(maze.finite, maze.pushdown, steps=4).strings
    (1, 5, 21, 85, 341)
    """

    rows: tuple[int, ...]
    """Product states in which the agent acts: the rows of a policy that sees the whole stack."""
    strings: tuple[int, ...]
    """Stack strings."""
    counters: tuple[int, ...]
    """Counter configurations of the automaton that simulates the stack.

    The state of the automaton holds the top symbol, so these are the strings below the top.
    """
    closed: bool
    """True if nothing new is reached after the last of these steps."""

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.rows) - 1


def count_reachable(
    domain: FiniteDomain,
    machine: PushdownRewardMachine,
    steps: int | None = None,
    most: int = MAX_ROWS,
) -> RowCounts:
    """Count what is reached within 0, 1, 2, … steps.

    Args:
        domain: The environment.
        machine: The machine.
        steps: The maximum number of steps (default: the domain's limit).
        most: The maximum number of product states.
    """
    product = FiniteProduct(domain, machine, count_only=True)
    limit = domain.step_limit if steps is None else steps
    rows = list[int]()
    ends = [0]
    """The number of product states after each step."""
    while True:
        first, last = ends[-1], len(product)
        frontier = first + np.flatnonzero(~product.expanded[first:])
        rows.append(len(frontier) + (rows[-1] if rows else 0))
        ends.append(last)
        closed = first == last
        if closed or len(rows) > limit or not product.expand(frontier, most):
            node = product.states.node[:last]
            strings, counters = (
                _count_distinct(x, ends[1:]) for x in (node, product.stacks.parent[node])
            )
            return RowCounts(tuple(rows), strings, counters, closed)


def _count_distinct(numbers: Integers, ends: list[int]) -> tuple[int, ...]:
    """The number of distinct numbers before each end."""
    first = np.sort(np.unique(numbers, return_index=True)[1])
    return tuple(np.searchsorted(first, ends).tolist())


MAX_HEADS = 50_000
MAX_STRINGS = 2**62
"""The maximum number of strings of k symbols."""


def find_heads(
    domain: FiniteDomain, machine: PushdownRewardMachine, most: int = MAX_HEADS
) -> FramesBelow[ControlState, str | None]:
    """The reachable heads of a product, with the frames below them.

    Heads after the end of an episode are left out. Raises `ProductTooLarge` above `most` heads.
    """
    product = SteppedProduct(domain, machine)
    count = 0

    def moves(head: tuple[ControlState, str | None]) -> list[PartialState]:
        nonlocal count
        count += 1
        if count > most:
            raise ProductTooLarge(
                f"more than {most:,} heads can be reached in `{domain.name}`",
                fix="use a smaller domain",
            )
        return [state for state in product.successors(*head) if not product.is_over(state[0])]

    starts = [state for _, state in product.starts() if not product.is_over(state[0])]
    return saturate(moves, starts)


def count_views(
    machine: PushdownRewardMachine,
    heads: FramesBelow[ControlState, str | None],
    ks: Collection[int],
) -> dict[int, int]:
    """The number of rows of a k-policy, for each k, in episodes of any length.

    >>> from pdrm.task import Task
    >>> maze = Task("maze-20x20")
    >>> count_views(maze.pushdown, find_heads(maze.finite, maze.pushdown), (0, 1, 2))
    {0: 417, 1: 1663, 2: 6558}
    """
    for k in ks:
        if (len(machine.stack) + 1) ** k > MAX_STRINGS:
            raise BadSetting(f"k = {k} is too large to count rows", fix="use a smaller k")
    below = _list_below(heads, max([1, *ks]) - 1)
    seen = set[PartialState]()
    for (control, top), frames in heads.items():
        if rule_at(machine, (control[1], top), None) is None:
            under = set[TopSymbols]().union(*(below[frame] for frame in frames))
            seen.update((control, (top, *symbols)) for symbols in under)
    return {k: len({(control, symbols[:k]) for control, symbols in seen}) for k in ks}


def _list_below(
    heads: FramesBelow[ControlState, str | None], length: int
) -> dict[Frame[ControlState, str | None], set[TopSymbols]]:
    """For each frame, the possible first `length` symbols of the stacks that start with it.

    A frame is the rest of a pushed string, followed by what lies below the symbol it replaced. The
    sets are a least fixed point, because a frame can lie below itself.
    """
    below = {frame: set[TopSymbols]() for frames in heads.values() for frame in frames}
    grown = True
    while grown:
        grown = False
        for frame, known in below.items():
            rest, replaced = frame
            strings = {rest[:length]}
            if replaced is not None and len(rest) < length:
                under = set[TopSymbols]().union(*(below[other] for other in heads[replaced]))
                strings = {(rest + symbols)[:length] for symbols in under}
            if len(strings) > len(known):
                below[frame] = strings
                grown = True
    return below
