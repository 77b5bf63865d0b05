"""The operators of a solved task as arrays. This is the one place that reads them from the solver."""

from __future__ import annotations

import numpy as np

from pdrm.analysis.play_kernel import LineArrays
from pdrm.analysis.whole_stack import OperatorTable, WholeStack, world_of
from pdrm.machines.tables import tabulate
from pdrm.task import Task

Line = tuple[float, int, int, int]
"""c, t, and the environment and machine state of the exit."""
PRECISION = 1e-12


class OperatorArrays:
    """Operators by the numbers of states and symbols; symbol 0 is the empty stack. Others are found when they are asked for."""

    def __init__(self, solver: WholeStack) -> None:
        self._solver = solver
        self._states = solver.shape[1]
        self._load(solver.list_operators([]))

    def add(self, place: int, state: int, symbol: int) -> None:
        """Find one more operator, and what it depends on."""
        self._load(self._solver.list_operators([(place, state, symbol)]))

    def _load(self, table: OperatorTable) -> None:
        self._table = table
        places, states, symbols = table.constant.shape
        exits = places * states
        self.arrays = LineArrays(
            table.constant.reshape(exits, symbols),
            np.ascontiguousarray(table.first).reshape(exits, symbols),
            np.ascontiguousarray(table.count).reshape(exits, symbols),
            table.exit_place * states + table.exit_state,
            table.c,
            np.float64(self._solver.discount) ** table.t,
        )

    def read(self, place: int, state: int, symbol: int) -> tuple[float, list[Line]]:
        """The constant of an operator, and its lines."""
        if np.isnan(self._table.constant[place, state, symbol]):
            self.add(place, state, symbol)
        table = self._table
        first, count = table.first[place, state, symbol], table.count[place, state, symbol]
        columns = (table.c, table.t, table.exit_place, table.exit_state)
        rows = zip(*(column[first : first + count].tolist() for column in columns), strict=True)
        return float(table.constant[place, state, symbol]), list(rows)

    def range(self, place: int, state: int) -> tuple[float, float]:
        """Between which numbers the worth is, whatever the stack."""
        return float(self._table.low[place, state]), float(self._table.high[place, state])


def solve_certain(task: Task, discount: float) -> WholeStack:
    """Operators of a task with chance, valid at heads from which nothing depends on chance."""
    arrays = task.finite.arrays
    world = world_of(arrays)
    random = (arrays.probability > 0).sum(axis=2) > 1
    known = world._replace(next=np.where(random, -1, world.next).astype(np.int32))
    table = tabulate(task.pushdown, task.finite.labels)
    return WholeStack(known, table, discount, precision=PRECISION)
