"""The operators of a solved task, read from the solver and kept as arrays.

The worth of a configuration is γ times its value; before silent moves, what these pay and the worth after them. The worth of a symbol on
top is the greatest of a constant and of lines c + γᵗ w(e), with w(e) the worth of what is below at an exit e. This is the one
place that reads them from the solver.
"""

from __future__ import annotations

import numpy as np

from pdrm.analysis.play_kernel import Operators
from pdrm.analysis.solving import Solution
from pdrm.arrays import lengthen
from pdrm.machines.tables import tabulate
from pdrm.product.summaries.operators import Summaries, world_of
from pdrm.task import Task

Line = tuple[float, int, int, int]
"""c, t, and the environment and machine state of the exit."""
PRECISION = 1e-12


class OperatorReader:
    """The operators of a world and a machine, by the numbers of states and symbols; symbol 0 is the empty stack."""

    def __init__(self, summaries: Summaries, discount: float) -> None:
        self._summaries, self.discount = summaries, discount
        self.places = len(summaries.world.terminal)
        self.machine_states = len(summaries.heads.silent)

    def read(self, place: int, state: int, symbol: int) -> tuple[float, list[Line]]:
        """The constant of an operator, and its lines."""
        found = self._summaries.operator(place, state, symbol)
        return found.constant, [(line.c, line.t, line.place, line.state) for line in found.lines]

    def range(self, place: int, state: int) -> tuple[float, float]:
        """Between which numbers the worth is, whatever the stack."""
        return self._summaries.range(place, state)


def read_solution(solution: Solution) -> OperatorReader:
    """The operators of a solution."""
    return OperatorReader(solution.summaries, solution.discount)


def read_certain(task: Task, discount: float) -> OperatorReader:
    """The operators of a task with chance, valid at heads from which nothing depends on chance."""
    arrays = task.finite.arrays
    world = world_of(arrays)
    random = (arrays.probability > 0).sum(axis=2) > 1
    following = np.where(random, -1, world.next).astype(np.int32)
    table = tabulate(task.pushdown, task.finite.labels)
    known = world._replace(next=following)
    return OperatorReader(Summaries(known, table, discount, precision=PRECISION), discount)


class OperatorArrays:
    """Operators as arrays, each added when it is first needed."""

    def __init__(self, reader: OperatorReader, symbols: int) -> None:
        self._reader = reader
        entry = np.full((reader.places * reader.machine_states, symbols), -1, np.int32)
        floats, integers = np.zeros(1024), np.zeros(1024, np.int32)
        self.arrays = Operators(
            entry, floats, integers, integers.copy(), floats.copy(), floats.copy()
        )
        self._used, self._lines = 0, 0

    def add(self, place: int, state: int, symbol: int) -> None:
        """Read one operator."""
        constant, lines = self._reader.read(place, state, symbol)
        arrays, end, states = self.arrays, self._lines + len(lines), self._reader.machine_states
        if self._used + 1 >= len(arrays.constant):
            more = 2 * len(arrays.constant)
            arrays = arrays._replace(
                constant=lengthen(arrays.constant, more), first=lengthen(arrays.first, more)
            )
        if end > len(arrays.c):
            arrays = arrays._replace(
                exit=lengthen(arrays.exit, 2 * end),
                c=lengthen(arrays.c, 2 * end),
                slope=lengthen(arrays.slope, 2 * end),
            )
        for position, (c, t, exit_place, exit_state) in enumerate(lines, start=self._lines):
            arrays.exit[position] = exit_place * states + exit_state
            arrays.c[position] = c
            arrays.slope[position] = self._reader.discount**t
        arrays.entry[place * states + state, symbol] = self._used
        arrays.constant[self._used] = constant
        arrays.first[self._used + 1] = end
        self._used, self._lines, self.arrays = self._used + 1, end, arrays
