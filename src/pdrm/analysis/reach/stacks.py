"""Whole stacks reached within n steps, counted one by one: stack strings, rows of a full policy, counter configurations.

A breadth-first walk over the product of a finite domain and a machine. It stops at the last step that fits in `most` product
states, for these numbers may grow exponentially (Theorem 1); `views.py` counts what a k-policy sees without that limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pdrm.analysis.reach.met import Met
from pdrm.domains.labelled_mdp import NO_LABEL, FiniteDomain
from pdrm.errors import UndefinedMove
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.table import tabulate
from pdrm.product.configurations import Explored
from pdrm.product.view import FullStack

MOST_ROWS = 1_000_000
"""Product states met at most, unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What is reached within 0, 1, 2, … steps, each number counting all steps up to its own."""

    rows: tuple[int, ...]
    """Product states in which the agent acts: rows of a policy that sees the whole stack."""
    strings: tuple[int, ...]
    """Stack strings."""
    counters: tuple[int, ...]
    """Counter configurations of the automaton that simulates the stack: strings without their top, which its state holds."""
    closed: bool
    """Whether nothing new comes after the last of these steps."""

    @property
    def steps(self) -> int:
        """The steps that were walked."""
        return len(self.rows) - 1

    def within(self, steps: int) -> int | None:
        """The place in the tuples for so many steps; None if the walk did not get there."""
        return steps if steps <= self.steps else self.steps if self.closed else None


def reached(
    domain: FiniteDomain, machine: PushdownRewardMachine, steps: int | None = None, most: int = MOST_ROWS
) -> Reached:
    """Walk so many steps (the domain's limit unless given), or as many as meet at most `most` product states.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> walk = reached(domain("maze-5x5"), catalogue("treasure-maze"), steps=4)
    >>> walk.strings, walk.rows
    ((1, 5, 21, 85, 341), (1, 5, 21, 85, 341))
    """
    walk = _Walk(domain, machine, most)
    limit = domain.step_limit if steps is None else steps
    rows, strings, counters = list[int](), list[int](), list[int]()
    first, closed = 0, False
    while True:
        last = int(walk.met.used[0])
        walk.note(first, last)
        rows.append((rows[-1] if rows else 0) + walk.acting(first, last))
        strings.append(int(walk.nodes.sum()))
        counters.append(int(walk.below.sum()))
        closed = first == last
        if closed or len(rows) > limit or not walk.on(first, last):
            break
        first = last
    return Reached(tuple(rows), tuple(strings), tuple(counters), closed)


class _Walk:
    """The walk's arrays: product states met, configurations explored, and which stacks have come up."""

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine, most: int) -> None:
        self.domain, self.machine, self.most = domain, machine, most
        self.explored = Explored.new(tabulate(machine, domain.labels), FullStack(), domain.states)
        self.met = Met.room(1024)
        self.nodes = self.below = np.zeros(0, np.bool_)
        self._begin()

    def _begin(self) -> None:
        """Meet the states that an episode begins in, the label at reset read."""
        from pdrm.analysis.reach.kernels import meet  # noqa: PLC0415 - Numba is loaded when it is needed

        arrays = self.domain.arrays
        for start, state in enumerate(arrays.start_state.tolist()):
            if arrays.start_probability[start] > 0:
                here = self._first(int(arrays.start_label[start]))
                self.met = self.met.grown(1)
                meet(self.met, here * self.domain.states + state)

    def _first(self, label: int) -> int:
        """The configuration an episode begins with, after a label."""
        from pdrm.product.kernels import explore, first_configuration  # noqa: PLC0415

        while (here := int(first_configuration(self.explored)[0])) < 0:
            self.explored = self.explored.grown()
        final = self.explored.configurations.state[here] >= self.explored.table.first_final
        while label != NO_LABEL and not final:
            there = int(explore(self.explored, here, label))
            if there >= 0:
                return there
            self._after(there)
        return here

    def on(self, first: int, last: int) -> bool:
        """One step from these product states; False where it would meet more than `most`."""
        from pdrm.analysis.reach.kernels import DONE, spread  # noqa: PLC0415

        while True:
            first, status = spread(self.domain.arrays, self.explored, self.met, first, last)
            if self.met.used[0] > self.most:
                return False
            if status == DONE:
                return True
            self._after(status)

    def acting(self, first: int, last: int) -> int:
        """In how many of these product states the agent acts."""
        configuration, state = np.divmod(self.met.key[first:last], self.domain.states)
        going = self.explored.configurations.state[configuration] < self.explored.table.first_final
        return int(np.count_nonzero(going & ~self.domain.arrays.terminal[state]))

    def _after(self, status: int) -> None:
        """Make room where there is none; complain where there is no rule."""
        from pdrm.product.kernels import UNDEFINED_LABEL  # noqa: PLC0415

        if status == UNDEFINED_LABEL:
            raise label_without_rule(self.domain, self.machine)
        self.explored = self.explored.grown()
        self.met = self.met.grown(self.domain.arrays.next[0].size)

    def note(self, first: int, last: int) -> None:
        """Mark the stacks of these product states, and what lies below their tops."""
        stacks = self.explored.stacks
        node = self.explored.configurations.node[self.met.key[first:last] // self.domain.states]
        self.nodes = _marked(self.nodes, node, stacks.capacity)
        self.below = _marked(self.below, stacks.parent[node], stacks.capacity)


def label_without_rule(domain: FiniteDomain, machine: PushdownRewardMachine) -> UndefinedMove:
    """The error of a machine that says `otherwise error` in a domain that it does not cover."""
    return UndefinedMove(
        f"domain `{domain.name}` emits a label that machine `{machine.name}` has no rule for",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases",
    )


def _marked(marks: npt.NDArray[np.bool_], places: npt.NDArray[np.int32], length: int) -> npt.NDArray[np.bool_]:
    """The marks with more of them set, and as many places as there are stacks."""
    if len(marks) < length:
        marks = np.concatenate([marks, np.zeros(length - len(marks), np.bool_)])
    marks[places] = True
    return marks
