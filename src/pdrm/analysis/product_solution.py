"""Solving a task: by its operators if moves have no chance, else by its finite product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.solving import (
    PRECISION,
    SECONDS,
    Solution,
    TaskSolution,
    compile_solver,
    find_solution,
)
from pdrm.analysis.values import ValueBounds, bound_values
from pdrm.errors import StochasticMoves, UnknownConfiguration
from pdrm.machines.tables import Symbols, Table
from pdrm.product.finite_kernel import END, MEMORY, FiniteProduct, Floats
from pdrm.product.task_findings import warn_of_tasks
from pdrm.task import DomainLike, MachineLike, Task

MOST_STATES = 1_000_000


def solve(
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    *,
    discount: float | None = None,
    precision: float = PRECISION,
    seconds: float | None = SECONDS,
) -> Solution | ProductSolution:
    """Solve a task: optimal values and actions with the whole stack in view, with a proved error.

    Without chance the stack may be any; with chance, the configurations that can be reached must be finitely many.
    A step limit is not part of the problem.

    Args:
        task: A `Task`, or a finite domain.
        machine: The machine, unless the domain comes with one.
        discount: γ (default: the task's).
        precision: The error to aim at, as a share of the largest value.
        seconds: The time limit; then `OutOfTime` is raised (None for no limit).

    Example:
        >>> solution = solve("paint", discount=0.9)
        >>> round(solution.value(0, "ask", ("stain", "stain", "#")), 9), solution.actions(0, "ask", ("stain", "stain", "#"))
        (-0.666666667, ('ask_2',))
    """
    chosen = task if isinstance(task, Task) and machine is None else Task(task, machine)
    warn_of_tasks(chosen)
    compile_solver()
    try:
        return find_solution(chosen, discount, precision, seconds)
    except StochasticMoves as error:
        return _solve_product(chosen, discount, Deadline(seconds), error)


def _solve_product(
    task: Task, discount: float | None, deadline: Deadline, error: StochasticMoves
) -> ProductSolution:
    gamma = task.discount if discount is None else discount
    product = FiniteProduct(task.finite, task.pushdown, memory=MEMORY)
    while product.frontier.size:
        if deadline.over or len(product) > MOST_STATES:
            raise error
        product.expand(product.frontier)
    return ProductSolution(task, gamma, product, bound_values(product, gamma, 1e-12, deadline))


@dataclass(frozen=True, eq=False, repr=False)
class ProductSolution(TaskSolution):
    r"""Optimal values and actions of every configuration that can be reached, if these are finitely many.

    >>> from pdrm.domains.finite_domain import from_arrays
    >>> coin = from_arrays("coin", [[[0, 0]]], [[[0, 1]]], [("a",), ("b",)], step_limit=9, probability=[[[0.5, 0.5]]])
    >>> machine = "name m\nevents a b\nstack #\nstart u\nfinal done\notherwise stay 0\nu -> done : b, # / #, 1\n"
    >>> round(solve(coin, machine, discount=0.5).start_value, 9)
    0.666666667
    """

    product: FiniteProduct
    bounds: ValueBounds

    def __repr__(self) -> str:
        return f"<ProductSolution of {self.task.name} with {self.machine.name}: value from the start {self.start_value:.6g}>"

    @property
    def table(self) -> Table:
        return self.product.table

    @property
    def error(self) -> float:
        """The proved error of every value, rounding included."""
        return self.bounds.width / 2 + self.bounds.slack

    def error_at(self, height: int) -> float:
        return self.error

    def measure(self) -> dict[str, int]:
        return {"states": len(self.product)}

    def _find_values(self, place: int, state: int, symbols: Symbols) -> Floats:
        product = self.product
        x = self._find(place, state, symbols)
        after = product.next[x]
        middle = (self.bounds.lower + self.bounds.upper) / 2
        later = np.where(after != END, middle[after], 0.0)
        worth = product.probability[place] * (product.reward[x] + self.discount * later)
        total: Floats = worth.sum(axis=1)
        return total

    def _find(self, place: int, state: int, symbols: Symbols) -> int:
        """The number of a configuration."""
        product = self.product
        alike = (product.place == place) & (product.states.state[: len(product)] == state)
        for x in np.flatnonzero(alike).tolist():
            if product.stacks.stack_of(int(product.states.node[x])) == symbols:
                return int(x)
        stack = " ".join(self.machine.stack[symbol - 1] for symbol in symbols)
        raise UnknownConfiguration(
            f"state {place}, {[*self._states][state]} with stack {stack} cannot be reached",
            fix="with chance, only configurations that can be reached are solved",
        )
