"""What a label does to every machine state with every observed stack, in tables for `q_kernel.py`, which then imagines without hashing.

CpRM with exhaustive counterfactuals spends its time there, and memory is what it waits for. What a label does to a machine state and an
observed stack never changes, so it is found once and laid out in the order in which it is gone through; and the row of what is
then seen is read from a plain table, [environment state, column], where a column stands for what a policy sees of a configuration.
The result is that of the general loop, which does the same where stacks are in several lists, moves are counted,
rewards are shaped, a budget or a clock stops in between, or these tables would grow too large. Configurations get their numbers from `explore_kernel.configuration`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.learning.tabular.rows_kernel import Values, find_row
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import Explored
from pdrm.product.explore_kernel import UNDEFINED_LABEL, configuration, explore
from pdrm.product.hash_kernel import FREE

UNKNOWN, UNDEFINED, FINAL = -1, -2, -3
"""In `Outlook.reached`: not found out yet; the machine has no rule; the machine has ended, and nothing follows."""
COLUMNS, ROWS, ENTRIES, SEEN = range(4)
"""Positions in `Outlook.used`."""
MOST_CELLS = 2**26
"""Of one array: 256 or 512 megabytes. Where more would be needed, the general loop hashes."""
FIRST_ROOM = 64


class Outlook(NamedTuple):
    """What each label does to every machine state with every observed stack, and where the rows of a table are.

    >>> outlook = Outlook.room(states=5, labels=3, machine_states=2)
    >>> outlook.reached.shape, outlook.row.shape, outlook.usable
    ((3, 2, 64), (5, 64), True)
    >>> Outlook.none().grow().usable
    False
    """

    reached: Integers
    """[label, machine state, entry]: the view number of the configuration that the label leads to; or UNKNOWN, UNDEFINED or FINAL."""
    paid: Rewards
    """[label, machine state, entry]: what the machine pays for it."""
    own: Integers
    """[machine state, entry]: the column of what is seen of the machine state with the entry's stack; FREE: no row has it yet."""
    column: Integers
    """[what is seen]: its column, or FREE where no row has it yet."""
    row: Integers
    """[environment state, column]: the row, or FREE."""
    used: npt.NDArray[np.int64]
    """[4]: columns, and rows of the table that are in `row`; entries, and numbers of what is seen, for which there must be room."""

    @classmethod
    def none(cls) -> Outlook:
        """Of no use: the general loop does everything."""
        return cls.room(0, 0, 0, np.zeros(4, np.int64), room=0)

    @classmethod
    def room(
        cls,
        states: int,
        labels: int,
        machine_states: int,
        used: npt.NDArray[np.int64] | None = None,
        room: int = FIRST_ROOM,
        columns: int = FIRST_ROOM,
        seen: int = FIRST_ROOM,
    ) -> Outlook:
        """Nothing found out yet, and room for so many entries, columns and numbers of what is seen."""
        return cls(
            np.full((labels, machine_states, room), UNKNOWN, np.int32),
            np.zeros((labels, machine_states, room)),
            np.full((machine_states, room), FREE, np.int32),
            np.full(seen if room else 0, FREE, np.int32),
            np.full((states, columns if room else 0), FREE, np.int32),
            np.zeros(4, np.int64) if used is None else used,
        )

    @property
    def usable(self) -> bool:
        """Whether there are tables at all."""
        return self.row.size > 0

    def grow(self) -> Outlook:
        """The same, with twice the room for what is full; `none()` where that would take more than MOST_CELLS."""
        labels, machine_states, room = self.reached.shape
        states, columns = self.row.shape
        entries, numbers = int(self.used[ENTRIES]), int(self.used[SEEN])
        more = 2 * entries if entries > room else room
        wider = 2 * columns if self.used[COLUMNS] == columns else columns
        longer = 2 * numbers if numbers > len(self.column) else len(self.column)
        if not self.usable or (more, wider, longer) == (room, columns, len(self.column)):
            return self
        if max(labels * machine_states * more, states * wider, longer) > MOST_CELLS:
            return Outlook.none()
        larger = Outlook.room(states, labels, machine_states, self.used, more, wider, longer)
        larger.reached[:, :, :room], larger.paid[:, :, :room], larger.own[:, :room] = (
            self.reached,
            self.paid,
            self.own,
        )
        larger.column[: len(self.column)], larger.row[:, :columns] = self.column, self.row
        return larger


@njit(cache=True)
def place_rows(values: Values, outlook: Outlook) -> bool:
    """Put the rows that were made since the last time where they are found; False: there is no room."""
    keys, used, states = values.index.key, outlook.used, outlook.row.shape[0]
    for row in range(used[ROWS], values.index.used[0]):
        seen = keys[row] // states
        if seen >= len(outlook.column):
            used[SEEN] = seen + 1
            return False
        column = outlook.column[seen]
        if column < 0:
            if used[COLUMNS] == outlook.row.shape[1]:
                return False
            column = used[COLUMNS]
            outlook.column[seen], used[COLUMNS] = column, column + 1
        outlook.row[keys[row] - seen * states, column] = row
        used[ROWS] = row + 1
    return True


@njit(cache=True)
def look(
    explored: Explored,
    values: Values,
    outlook: Outlook,
    s: int,
    label: int,
    machine: int,
    entry: int,
    node: int,
) -> bool:
    """Find out what a label does to a machine state with an entry's stack, and make a row for them where it does something; False:
    there is no room."""
    found, keys, states = explored.configurations, values.index.key, outlook.row.shape[0]
    here = configuration(explored, machine, node)
    if here < 0 or values.index.used[0] >= len(keys):
        return False
    if outlook.reached[label, machine, entry] == UNKNOWN:
        there, paid = explore(explored, here, label)
        if there >= 0:
            seen = FINAL if found.state[there] >= explored.table.first_final else found.seen[there]
            if seen >= len(outlook.column):
                outlook.used[SEEN] = seen + 1
                return False
            outlook.reached[label, machine, entry] = seen
            outlook.paid[label, machine, entry] = paid
        elif there == UNDEFINED_LABEL:
            outlook.reached[label, machine, entry] = UNDEFINED
        else:
            return False
    if outlook.reached[label, machine, entry] == UNDEFINED:
        return True
    key = found.seen[here] * states + s
    row, probe = find_row(values.index.slot, keys, key)
    if row < 0:
        row = values.index.used[0]
        values.index.slot[probe], keys[row], values.index.used[0] = row, key, row + 1
    if not place_rows(values, outlook):
        return False
    outlook.own[machine, entry] = outlook.column[found.seen[here]]
    return True
