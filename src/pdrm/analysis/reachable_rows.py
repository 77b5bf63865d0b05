"""The part of a product that can be reached within n steps: whole stacks one by one, and views of stacks without listing the stacks.

`survey` walks the finite product step by step and stops at the last step that fits in `most` product states, because whole
stacks may grow exponentially (Theorem 1). `find_views` counts what a k-policy sees without that limit: the reachable stacks
of a pushdown system form a regular language (Büchi), and saturation (post*) builds an automaton that accepts it. From a
control (environment state, machine state) it reads a stack, top first. With a weight on each edge, the least sum along a way
is the fewest steps that lead there. A *middle* node stands for what lies below a pushed symbol. The empty stack is one more
symbol, which is never popped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdrm.analysis.reach_kernel import saturate
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge, UndefinedMove
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, begin_table, tabulate
from pdrm.product.finite_kernel import FiniteProduct, Flags, Numbers

MOST_ROWS = 1_000_000
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

    def within(self, steps: int) -> int | None:
        """The place in the tuples for a number of steps; None if the walk did not get there."""
        return steps if steps <= self.steps else self.steps if self.closed else None


def survey(
    domain: FiniteDomain,
    machine: PushdownRewardMachine,
    steps: int | None = None,
    most: int = MOST_ROWS,
) -> Counted:
    """Count what is reached within 0, 1, 2, … steps: up to `steps` (default: the domain's limit), or as many as find at
    most `most` product states."""
    product = FiniteProduct(domain, machine, survey=True)
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


MOST_EDGES = 20_000_000
"""Edges of the automaton at most: about 4 GiB."""

AT_A_TIME = 1_000_000
"""Edges whose rows are listed together."""

NEVER = 2**62
"""The steps to what cannot be reached."""


class Edges(NamedTuple):
    """Edges of the automaton: each reads a symbol."""

    source: Numbers
    symbol: Numbers
    target: Numbers
    weight: Numbers

    def take(self, chosen: Flags | slice) -> Edges:
        """Some of them."""
        return Edges(*(column[chosen] for column in self))


class Views(NamedTuple):
    """The automaton of all reachable stacks of a product.

    >>> from pdrm.task import Task
    >>> maze = Task("maze-20x20")
    >>> views = find_views(maze.finite, maze.pushdown)
    >>> [len(views.steps(k)) for k in (0, 1, 2)]
    [417, 1663, 6558]
    >>> views.within(1, 10), views.within(1, 300)
    (93, 1663)
    """

    acting: Edges
    """From controls in which the agent acts: no silent move, no final or terminal state."""
    below: Edges
    """From the other nodes. The end, where the empty stack has been read, reads it again."""
    distance: Numbers
    """[node]: the fewest steps that lead to a stack read from there."""
    symbols: int
    """How many there are, the empty stack included."""

    def steps(self, k: int) -> Numbers:
        """For each row of a k-policy (environment state, machine state, top k) in which the agent acts, the fewest steps
        to it, in order: the rows of its table within n steps are the numbers up to n."""
        if not isinstance(k, int) or k < 0:
            raise BadSetting(f"k is {k!r}, but must be a non-negative integer", fix="use k=1")
        if math.log2(len(self.distance)) + max(1, k) * math.log2(self.symbols) > 62:
            raise BadSetting(f"k = {k} is more than rows can be indexed by", fix="use a smaller k")
        rows, steps = np.arange(len(self.distance)), self.distance
        for seen in range(k - 1):
            rows, steps = self._read(self.below, rows, steps, self.symbols**seen)
        acting = self.acting if k else self.acting._replace(symbol=0 * self.acting.symbol)
        _, steps = self._read(acting, rows, steps, self.symbols ** max(0, k - 1))
        return np.sort(steps)

    def within(self, k: int, steps: int) -> int:
        """The rows of a k-policy's table that can be reached within a number of steps."""
        return int(np.searchsorted(self.steps(k), steps, side="right"))

    def _read(
        self, edges: Edges, rows: Numbers, steps: Numbers, codes: int
    ) -> tuple[Numbers, Numbers]:
        """Read one symbol more, on top of what `rows` have read: each is a node and the code of its symbols, node * codes + code."""
        node, found = rows // codes, [(rows[:0], steps[:0])]
        for begin in range(0, len(edges.source), AT_A_TIME):  # some at a time, to bound the memory
            some = edges.take(slice(begin, begin + AT_A_TIME))
            first = np.searchsorted(node, some.target)
            count = np.searchsorted(node, some.target, side="right") - first
            edge = np.repeat(np.arange(len(count)), count)
            row = np.arange(len(edge)) + np.repeat(first - np.cumsum(count) + count, count)
            top = some.source[edge] * self.symbols + some.symbol[edge]
            found.append(
                _find_fewest(top * codes + rows[row] % codes, some.weight[edge] + steps[row])
            )
        joined = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _find_fewest(*joined)


def _find_fewest(rows: Numbers, steps: Numbers) -> tuple[Numbers, Numbers]:
    """The different rows in order, and the fewest steps to each."""
    different, place = np.unique(rows, return_inverse=True)
    fewest = np.full(len(different), NEVER)
    np.minimum.at(fewest, place, steps)
    return different, fewest


def find_views(
    domain: FiniteDomain, machine: PushdownRewardMachine, most: int = MOST_EDGES
) -> Views:
    """The automaton for a product. `ProductTooLarge` if it would have more than `most` edges."""
    table, arrays = tabulate(machine, domain.labels), domain.arrays
    states, symbols = table.silent.shape
    end = domain.states * states
    begun = [(end, 0, end)]
    """Ways that read the stacks of the starts, through nodes of their own."""
    for place, label, chance in zip(
        arrays.start_state, arrays.start_label, arrays.start_probability, strict=True
    ):
        if chance > 0:
            start = begin_table(table, int(label))
            node = place * states + start.state
            for symbol in start.stack:
                below = end + len(begun)
                begun.append((node, symbol, below))
                node = below
            begun.append((node, 0, end))
    *columns, made = saturate(arrays, table, np.array(begun), most)
    if made < 0:
        raise UndefinedMove(
            f"domain `{domain.name}` emits a label that machine `{machine.name}` has no rule for",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases",
        )
    if made > most:
        fault = f"the views of stacks in `{domain.name}` take more than {most:,} edges"
        raise ProductTooLarge(fault, fix="use a smaller domain")
    edges = Edges(*columns)
    edges = edges.take(edges.symbol < symbols)
    place, state = np.divmod(edges.source, states)
    inside = edges.source >= end
    acting = ~inside & (state < table.first_final)
    acting[acting] = ~arrays.terminal[place[acting]]
    acting[acting] = table.silent[state[acting], edges.symbol[acting]] < 0
    below = edges.take(inside)
    nodes = int(edges.target.max()) + 1
    return Views(edges.take(acting), below, _measure_distances(below, end, nodes), symbols)


def _measure_distances(below: Edges, end: int, nodes: int) -> Numbers:
    """The least sum of weights from each node to the end. No edge leads back to a control, so controls are left out."""
    distance = np.full(nodes, NEVER, np.int64)
    distance[end] = 0
    while True:
        nearer = distance.copy()
        np.minimum.at(nearer, below.source, below.weight + distance[below.target])
        if np.array_equal(nearer, distance):
            return distance
        distance = nearer
