"""The configurations of a machine reached so far, numbered: an automaton over ⟨u, ζ⟩ that grows as it is explored.

What a configuration does on a label is found by the machine's step and, for the first so many, looked up from then on, whatever the
height of its stack. Each configuration also has a number for what a policy sees of it: its state and the view of its stack. Stacks may have
values, too: what they are worth to the machine alone, by which rewards are shaped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.arrays import lengthen
from pdrm.errors import BadSetting
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import Integers, Rewards, Table
from pdrm.product.views import FullStack, View

UNKNOWN = -1
"""A configuration or successor that has not been explored."""

FULL_VIEW = -1
"""The k of a view of the whole stack."""

LARGEST_KEY = 2**62

MOST_KEPT = 2**18
"""Configurations of a pushdown machine whose successors are kept. A full policy meets millions, most of them once: then a step anew is
cheaper than the memory."""


class Configurations(NamedTuple):
    """Configurations by number, and where each leads.

    >>> found = Configurations.room(labels=2, states=3, nodes=4, capacity=5)
    >>> found.after.shape, found.number.shape, int(found.made[0])
    ((5, 2), (4, 3), 0)
    """

    state: Integers
    """[configuration]: the machine state."""
    node: Integers
    """[configuration]: the stack."""
    seen: npt.NDArray[np.int64]
    """[configuration]: the number of what a policy sees: (code of the view) * states + state."""
    after: Integers
    """[configuration that is kept, label]: the configuration a label leads to, or UNKNOWN (or, for counters, UNDEFINED_LABEL)."""
    paid: Rewards
    """[configuration that is kept, label]: what the machine pays for it."""
    moves: npt.NDArray[np.int64]
    """[configuration, label]: the moves a counting automaton makes for it. A pushdown machine's are not counted: [0, label]."""
    number: Integers
    """[node, state]: the configuration of a stack and a state, plus 1; 0: it has no number yet, and its memory need not be written to."""
    counters: npt.NDArray[np.int64]
    """[node, counter]: the values of a counting automaton's counters, whose vectors are numbered like stacks; else [0, 0]."""
    made: npt.NDArray[np.int64]
    """[1]: how many configurations there are."""
    wanted: npt.NDArray[np.int64]
    """[2]: the configuration and label whose successor a kernel cannot find itself (see `counters.py`)."""

    @classmethod
    def room(
        cls, labels: int, states: int, nodes: int, capacity: int, counters: int = 0
    ) -> Configurations:
        """No configuration yet, and room for some."""
        kept = capacity if counters else min(capacity, MOST_KEPT)
        return cls(
            np.zeros(capacity, np.int32),
            np.zeros(capacity, np.int32),
            np.zeros(capacity, np.int64),
            np.full((kept, labels), UNKNOWN, np.int32),
            np.zeros((kept, labels), np.float64),
            np.zeros((capacity if counters else 0, labels), np.int64),
            np.zeros((nodes, states), np.int32),
            np.zeros((nodes if counters else 0, counters), np.int64),
            np.zeros(1, np.int64),
            np.zeros(2, np.int64),
        )

    def grow(self, nodes: int) -> Configurations:
        """The same configurations with room for `nodes` stacks and, if they fill half of theirs, twice as many."""
        made, capacity = int(self.made[0]), len(self.state)
        larger = 2 * capacity if 2 * made >= capacity else capacity
        counted = self.counters.shape[1] > 0
        kept = larger if counted else min(larger, MOST_KEPT)
        return Configurations(
            lengthen(self.state, larger),
            lengthen(self.node, larger),
            lengthen(self.seen, larger),
            lengthen(self.after, kept, UNKNOWN),
            lengthen(self.paid, kept),
            lengthen(self.moves, larger if counted else 0),
            lengthen(self.number, nodes),
            lengthen(self.counters, nodes if counted else 0),
            self.made.copy(),
            self.wanted.copy(),
        )


class Explored(NamedTuple):
    """A machine under exploration: its table, the stacks and configurations reached, and the k of the view."""

    table: Table
    stacks: Stacks
    configurations: Configurations
    k: int

    @classmethod
    def new(cls, table: Table, view: View, states: int, capacity: int = 1024) -> Explored:
        """Nothing reached yet. `states` is how many environment states there are: keys must tell them all apart."""
        symbols = table.move.shape[2] - 1
        k = FULL_VIEW if isinstance(view, FullStack) else view.k
        powers = LARGEST_KEY.bit_length()  # a huge power need not be computed
        if k > powers or (k > 0 and (symbols + 1) ** k * len(table.silent) * states > LARGEST_KEY):
            fix = 'use a smaller k, or k="full" (--k full)'
            raise BadSetting(f"k = {k} is more than a table can be indexed by", fix=fix)
        stacks = Stacks.empty(symbols, capacity)
        found = Configurations.room(table.move.shape[1], len(table.silent), capacity, capacity)
        return cls(table, stacks, found, k)

    def grow(self) -> Explored:
        """The same, with more room."""
        stacks = self.stacks.room(max(1, self.stacks.capacity // 2))
        return Explored(self.table, stacks, self.configurations.grow(stacks.capacity), self.k)


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
    """[node, state]: γV, as far as it is filled. Where nothing is shaped there is no node."""
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
        """The same with twice the room, if half of it is filled."""
        filled, nodes = int(self.filled[0]), len(self.value)
        if nodes == 0 or 2 * filled < nodes:
            return self
        return self._replace(value=lengthen(self.value, 2 * nodes))
