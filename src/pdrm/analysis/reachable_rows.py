"""The part of a product that can be reached within n steps: whole stacks one by one, and views of stacks without listing the stacks.

`survey` walks the finite product step by step and stops at the last step that fits in `most` product states, because whole
stacks may grow exponentially (Theorem 1). `find_views` counts what a k-policy sees without that limit: the reachable stacks
of a pushdown system form a regular language (Büchi), and saturation (post*) builds an automaton that accepts it. From a
control (environment state, machine state) it reads a stack, top first. With a weight on each edge, the least sum along a way
is the fewest steps that lead there. A *middle* node stands for what lies below a pushed symbol; a *jump* puts the control
that popped a symbol at the node below. The empty stack is one more symbol, which is never popped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdrm.analysis.reach_kernel import saturate
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge, UndefinedMove
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Table, tabulate
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


class Ways(NamedTuple):
    """Ways into the automaton, one for each view so far and node they lead to: its code, the node, the fewest steps."""

    control: Numbers
    code: Numbers
    node: Numbers
    weight: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The automaton of all reachable stacks of a product.

    >>> from pdrm.task import Task
    >>> maze = Task("maze-20x20")
    >>> views = find_views(maze.finite, maze.pushdown)
    >>> [len(views.steps(k)) for k in (0, 1, 2)]
    [417, 1663, 6558]
    >>> views.within(1, 10), views.within(1, 300)
    (93, 1663)
    """

    domain: FiniteDomain
    table: Table
    source: Numbers
    symbol: Numbers
    target: Numbers
    weight: Numbers
    """[edge], ordered by source."""
    first: Numbers
    """[node]: its first edge; they end where the next node's begin."""
    distance: Numbers
    """[node]: the fewest steps that lead to a stack read from there."""

    def steps(self, k: int) -> Numbers:
        """For each row of a k-policy (environment state, machine state, top k) in which the agent acts, the fewest steps
        to it, in order: the rows of its table within n steps are the numbers up to n."""
        if not isinstance(k, int) or k < 0:
            raise BadSetting(f"k is {k!r}, but must be a non-negative integer", fix="use k=1")
        symbols = self.table.silent.shape[1]
        few = k < NEVER.bit_length()  # a huge power need not be computed
        if not few or len(self.first) * symbols ** (k + 1) >= NEVER:
            raise BadSetting(f"k = {k} is more than rows can be indexed by", fix="use a smaller k")
        found, control = [np.zeros(0, np.int64)], 0
        acting = self.domain.states * len(self.table.silent)
        while control < acting:  # some controls at a time, to bound the memory
            after = (
                int(np.searchsorted(self.first, self.first[control] + AT_A_TIME, side="right")) - 1
            )
            after = min(max(after, control + 1), acting)
            found.append(self._fewest(k, int(self.first[control]), int(self.first[after]), symbols))
            control = after
        return np.sort(np.concatenate(found))

    def _fewest(self, k: int, begin: int, end: int, symbols: int) -> Numbers:
        """The fewest steps to each row of the controls whose edges these are."""
        edges = begin + np.flatnonzero(self._acts(slice(begin, end)))
        columns = (self.source, self.symbol, self.target, self.weight)
        ways = Ways(*(column[edges] for column in columns))
        if k == 0:
            ways = ways._replace(code=np.zeros_like(ways.code))
        for _ in range(1, k):
            ways = self._extend(_keep_lightest(ways), symbols)
        total = ways.weight + self.distance[ways.node]
        _, place = np.unique(ways.control * symbols ** max(1, k) + ways.code, return_inverse=True)
        fewest = np.full(int(place.max(initial=-1)) + 1, NEVER, np.int64)
        np.minimum.at(fewest, place, total)
        return fewest

    def within(self, k: int, steps: int) -> int:
        """The rows of a k-policy's table that can be reached within a number of steps."""
        return int(np.searchsorted(self.steps(k), steps, side="right"))

    def _acts(self, edges: slice) -> Flags:
        """True for the edges that read the top symbol where the agent acts: no silent move, no final or terminal state."""
        state, machine_state = np.divmod(self.source[edges], len(self.table.silent))
        going = (machine_state < self.table.first_final) & ~self.domain.arrays.terminal[state]
        acts: Flags = going & (self.table.silent[machine_state, self.symbol[edges]] < 0)
        return acts

    def _extend(self, ways: Ways, symbols: int) -> Ways:
        """Each way with one symbol more; a stack that has ended gets the digit 0, which no symbol has."""
        count = np.maximum(1, self.first[ways.node + 1] - self.first[ways.node])
        way = np.repeat(np.arange(len(count)), count)
        edge = (
            self.first[ways.node[way]]
            + np.arange(len(way))
            - np.repeat(np.cumsum(count) - count, count)
        )
        ended = self.first[ways.node[way]] == self.first[ways.node[way] + 1]
        edge[ended] = 0
        return Ways(
            ways.control[way],
            ways.code[way] * symbols + np.where(ended, 0, self.symbol[edge]),
            np.where(ended, ways.node[way], self.target[edge]),
            ways.weight[way] + np.where(ended, 0, self.weight[edge]),
        )


def find_views(
    domain: FiniteDomain, machine: PushdownRewardMachine, most: int = MOST_EDGES
) -> Views:
    """The automaton for a product. `ProductTooLarge` if it would have more than `most` edges."""
    table = tabulate(machine, domain.labels)
    controls = (domain.states + len(domain.arrays.start_state)) * len(table.silent)
    middles = controls * _count_prefixes(table)
    source, symbol, target, weight, made = saturate(domain.arrays, table, middles, most)
    if made < 0:
        raise UndefinedMove(
            f"domain `{domain.name}` emits a label that machine `{machine.name}` has no rule for",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases",
        )
    if made > most:
        fault = f"the views of stacks in `{domain.name}` take more than {most:,} edges"
        raise ProductTooLarge(fault, fix="use a smaller domain")
    order = np.argsort(source, kind="stable")
    edges = source[order], symbol[order], target[order], weight[order]
    nodes = controls + 2 + middles
    first = np.searchsorted(edges[0], np.arange(nodes + 1))
    return Views(domain, table, *edges, first, _measure_distances(edges, controls, nodes))


def _count_prefixes(table: Table) -> int:
    """The proper beginnings, top first, of the strings that moves push: a control may need this many middle nodes."""
    found = set()
    for count, symbols in zip(table.pushes.tolist(), table.push.tolist(), strict=True):
        found |= {tuple(reversed(symbols[place:count])) for place in range(count)}
    return len(found)


def _measure_distances(
    edges: tuple[Numbers, Numbers, Numbers, Numbers], controls: int, nodes: int
) -> Numbers:
    """The least sum of weights from each node to the end, which comes after the node of the bottom. No edge leads back to a
    control, so controls are left out."""
    below = edges[0] >= controls
    source, _, target, weight = (column[below] for column in edges)
    distance = np.full(nodes, NEVER, np.int64)
    distance[controls + 1] = 0
    while True:
        nearer = distance.copy()
        np.minimum.at(nearer, source, weight + distance[target])
        if np.array_equal(nearer, distance):
            return distance
        distance = nearer


def _keep_lightest(ways: Ways) -> Ways:
    """One way for each control, code and node: the shortest."""
    order = np.lexsort((ways.weight, ways.node, ways.code, ways.control))
    ordered = np.stack(ways)[:, order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (ordered[:3, 1:] != ordered[:3, :-1]).any(axis=0)
    return Ways(*ordered[:, new])
