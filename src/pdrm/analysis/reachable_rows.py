"""What can be reached in a product: whole stacks one by one, and what k-policies see of stacks without listing the stacks.

`survey` walks the finite product step by step and stops at the last step that fits in `most` product states, because whole
stacks may grow exponentially (Theorem 1). `count_views` counts the rows of a k-policy in episodes of any length: finitely many
heads and what may lie below them (`reach.saturate`) describe stacks of any height.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from pdrm.analysis.stepped_product import Exit, SteppedProduct, View
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge
from pdrm.machines.heads import rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import Frame, FramesBelow, saturate
from pdrm.machines.tables import Integers
from pdrm.machines.transitions import TopSymbols
from pdrm.product.finite_kernel import FiniteProduct

MAX_ROWS = 1_000_000
"""Product states that a survey finds, at most, unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The numbers reached within 0, 1, 2, … steps, each counting all steps up to its own.

    >>> from pdrm.task import Task
    >>> maze = Task("maze-5x5")
    >>> survey(maze.finite, maze.pushdown, steps=4).strings
    (1, 5, 21, 85, 341)
    """

    rows: tuple[int, ...]
    """Product states in which the agent acts: rows of a policy that sees the whole stack."""
    strings: tuple[int, ...]
    """Stack strings."""
    counters: tuple[int, ...]
    """Counter configurations of the automaton that simulates the stack: strings without their top, which its state holds."""
    closed: bool
    """True if nothing new comes after the last of these steps."""

    @property
    def steps(self) -> int:
        """The steps that were walked."""
        return len(self.rows) - 1


def survey(
    domain: FiniteDomain,
    machine: PushdownRewardMachine,
    steps: int | None = None,
    most: int = MAX_ROWS,
) -> Counted:
    """Count what is reached within 0, 1, 2, … steps: up to `steps` (default: the domain's limit), or as many as find at
    most `most` product states."""
    product = FiniteProduct(domain, machine, count_only=True)
    limit = domain.step_limit if steps is None else steps
    rows, ends = list[int](), [0]
    while True:
        first, last = ends[-1], len(product)
        edge = first + np.flatnonzero(~product.expanded[first:])
        rows.append(len(edge) + (rows[-1] if rows else 0))
        ends.append(last)
        closed = first == last
        if closed or len(rows) > limit or not product.expand(edge, most):
            node = product.states.node[:last]
            strings, counters = (
                _count_distinct(x, ends[1:]) for x in (node, product.stacks.parent[node])
            )
            return Counted(tuple(rows), strings, counters, closed)


def _count_distinct(numbers: Integers, ends: list[int]) -> tuple[int, ...]:
    """The number of different numbers before each of these places."""
    first = np.sort(np.unique(numbers, return_index=True)[1])
    return tuple(np.searchsorted(first, ends).tolist())


MAX_HEADS = 50_000
"""Heads that are found, at most."""
MAX_STRINGS = 2**62
"""Strings of k symbols, at most."""


def find_heads(
    domain: FiniteDomain, machine: PushdownRewardMachine, most: int = MAX_HEADS
) -> FramesBelow[Exit, str | None]:
    """The heads of a product that can be reached before the end of an episode, with what may lie below them.

    `ProductTooLarge` if there are more than `most`.
    """
    product, known = SteppedProduct(domain, machine), 0

    def moves(head: tuple[Exit, str | None]) -> list[View]:
        nonlocal known
        known += 1
        if known > most:
            fault = f"more than {most:,} heads can be reached in `{domain.name}`"
            raise ProductTooLarge(fault, fix="use a smaller domain")
        return [end for end in product.after(*head) if not product.over(end[0])]

    return saturate(moves, [view for _, view in product.begins() if not product.over(view[0])])


def count_views(
    machine: PushdownRewardMachine, heads: FramesBelow[Exit, str | None], ks: Collection[int]
) -> dict[int, int]:
    """The rows of a k-policy's table, for each k: what it may see where it acts, in an episode of any length.

    >>> from pdrm.task import Task
    >>> maze = Task("maze-20x20")
    >>> count_views(maze.pushdown, find_heads(maze.finite, maze.pushdown), (0, 1, 2))
    {0: 417, 1: 1663, 2: 6558}
    """
    for k in ks:
        if (len(machine.stack) + 1) ** k > MAX_STRINGS:
            raise BadSetting(f"k = {k} is more than can be counted", fix="use a smaller k")
    below = _read_below(heads, max([1, *ks]) - 1)
    seen = set[tuple[Exit, TopSymbols]]()
    for (control, top), frames in heads.items():
        if rule_at(machine, (control[1], top), None) is None:
            under = set[TopSymbols]().union(*(below[frame] for frame in frames))
            seen.update((control, (top, *symbols)) for symbols in under)
    return {k: len({(control, symbols[:k]) for control, symbols in seen}) for k in ks}


def _read_below(
    heads: FramesBelow[Exit, str | None], length: int
) -> dict[Frame[Exit, str | None], set[TopSymbols]]:
    """The first symbols, so many or all, of the stacks that each frame may begin: its rest, then what lies below the symbol
    that was replaced. Found step by step, because a frame may lie below itself."""
    below = {frame: set[TopSymbols]() for frames in heads.values() for frame in frames}
    grown = True
    while grown:
        grown = False
        for frame, known in below.items():
            rest, replaced = frame
            found = {rest[:length]}
            if replaced is not None and len(rest) < length:
                under = set[TopSymbols]().union(*(below[one] for one in heads[replaced]))
                found = {(rest + symbols)[:length] for symbols in under}
            if len(found) > len(known):
                below[frame] = found
                grown = True
    return below
