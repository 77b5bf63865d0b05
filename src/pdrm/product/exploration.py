"""The configurations of a machine reached so far, numbered: an automaton over ⟨u, ζ⟩ that grows as it is explored.

A configuration's number is (node of the stack) * machine states + state. The counter vectors of a
counting automaton are numbered like stacks. What a label does is found by the machine's step and
looked up from then on, whatever the height of the stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import StackFull
from pdrm.machines.stacks import A, Stacks, lengthen
from pdrm.machines.tables import CountingTable, Integers, Rewards, Table
from pdrm.product.hash_kernel import Index

UNKNOWN = -1
"""A successor or a view that has not been found yet."""
ENDED = -3
"""In `Explored.seen`: the machine has ended."""
FULL_VIEW = -1
"""The k of a view of the whole stack, or of all counters."""
LARGEST_KEY = 2**62
"""The tops of stacks are numbers up to this."""
MOST_KEPT = 2**21
"""Successors of a pushdown machine that are kept. A full policy meets millions of configurations,
most of them once: making the step again is then cheaper than the memory."""
MOST_CONFIGURATIONS = 2**31 - 1
"""Configurations are 32-bit integers."""


class Explored(NamedTuple):
    """A machine under exploration, as arrays that kernels read and extend in place."""

    table: Table
    """The moves of a pushdown machine; empty for a counting automaton."""
    rules: CountingTable
    """The rules of a counting automaton; empty for a pushdown machine."""
    stacks: Stacks
    """The stacks; of a counting automaton only their number, `made`, is used."""
    counters: npt.NDArray[np.int64]
    """[node, counter]: the values of a vector of counters; [0, 0] for a pushdown machine."""
    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """The numbers of the tops that a k-policy sees, or the nodes of counter vectors."""
    seen: Integers
    """[configuration]: the number of what a policy sees of it, (number of the view of the stack) *
    machine states + state; ENDED for final states; UNKNOWN until its stack is met."""
    after: Integers
    """[label, configuration]: the configuration a label leads to, UNKNOWN or UNDEFINED_LABEL."""
    paid: Rewards
    """[label, configuration]: what the machine pays for it."""
    moves: npt.NDArray[np.int64]
    """[label, configuration]: the moves a counting automaton makes for it; else [label, 0]."""
    start: int
    """The configuration that an episode begins with."""
    start_reward: float
    """The reward of the silent moves before the first label."""
    states: int
    """The number of machine states; the final ones come last."""
    first_final: int
    """The lowest number of a final state."""
    k: int
    """The number of symbols seen, or FULL_VIEW."""
    operations: int
    """A step of a counting automaton with more moves is not made; 0: a long one is an error."""
    highest: int
    """A step with larger counters may lead beyond 64 bits."""

    @property
    def counts(self) -> bool:
        """True if the machine is a counting automaton."""
        return len(self.counters) > 0

    def grow(self) -> Explored:
        """The same, with room for twice as many stacks."""
        stacks = self.stacks.room(self.stacks.capacity)
        nodes, used = stacks.capacity, int(self.index.used[0])
        configurations, labels = nodes * self.states, len(self.after)
        if configurations > MOST_CONFIGURATIONS:
            fault = f"more than {MOST_CONFIGURATIONS:,} configurations are reached"
            raise StackFull(fault, fix="use a smaller k, or a smaller step_limit")
        kept = configurations if self.counts else min(configurations, MOST_KEPT // labels)
        return self._replace(
            stacks=stacks,
            counters=lengthen(self.counters, nodes) if self.counts else self.counters,
            index=Index.of(self.index.key[:used], nodes),
            seen=lengthen(self.seen, configurations, UNKNOWN),
            after=widen(self.after, kept, UNKNOWN),
            paid=widen(self.paid, kept),
            moves=widen(self.moves, kept if self.counts else 0),
        )


def widen(array: npt.NDArray[A], columns: int, value: int = 0) -> npt.NDArray[A]:
    """The columns of an array, followed by columns of a value."""
    wider = np.full((len(array), columns), value, array.dtype)
    wider[:, : array.shape[1]] = array
    return wider


class Potentials(NamedTuple):
    """The operators of a machine (`shaping.MachineOperators`) and γV of every stack made so far.

    The values of a stack are found once, from those of the stack below it.

    >>> len(Potentials.none().grow().value)
    0
    """

    constant: Rewards
    exit_state: Integers
    gain: Rewards
    weight: Rewards
    value: Rewards
    """[node, state]: γV, as far as it is filled; no nodes if nothing is shaped."""
    filled: npt.NDArray[np.int64]
    """[1]: how many nodes have their values."""
    factor: float
    """Φ = factor * γV + shift."""
    shift: float

    @classmethod
    def none(cls) -> Potentials:
        """Nothing is shaped."""
        nothing = np.zeros((0, 0))
        lines = np.zeros((0, 0, 0))
        filled = np.zeros(1, np.int64)
        return cls(nothing, lines.astype(np.int32), lines, lines, nothing, filled, 1.0, 0.0)

    def grow(self) -> Potentials:
        """The same with twice the room."""
        return self._replace(value=lengthen(self.value, 2 * len(self.value)))
