"""Solving a task: by its operators if moves have no chance, else by its finite product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.solving import PRECISION, SECONDS, Begin, Solution, find_solution
from pdrm.analysis.values import ValueBounds, bound_values
from pdrm.domains.finite_domain import StateLike
from pdrm.errors import StochasticMoves, UnknownConfiguration
from pdrm.machines.transitions import Stack
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import MEMORY, FiniteProduct
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProductSolution:
    r"""Optimal values and actions of every configuration that can be reached, if these are finitely many.

    >>> from pdrm.domains.array_domain import from_arrays
    >>> coin = from_arrays("coin", [[[0, 0]]], [[[0, 1]]], [("a",), ("b",)], step_limit=9, probability=[[[0.5, 0.5]]])
    >>> machine = "name m\nevents a b\nstack #\nstart u\nfinal done\notherwise stay 0\nu -> done : b, # / #, 1\n"
    >>> round(solve(coin, machine, discount=0.5).start_value, 9)
    0.666666667
    """

    task: Task
    discount: float
    product: FiniteProduct
    _values: ValueBounds

    def __repr__(self) -> str:
        return f"<ProductSolution of {self.task.name} with {self.task.pushdown.name}: value from the start {self.start_value:.6g}>"

    @property
    def error(self) -> float:
        """The proved error of every value, rounding included."""
        return self._values.width / 2 + self._values.slack

    @property
    def start_value(self) -> float:
        """The value of an episode: over its starts, with what is paid before the first action."""
        return self.product.average_over_starts((self._values.lower + self._values.upper) / 2)

    @property
    def begins(self) -> tuple[Begin, ...]:
        """The ways an episode may begin that do not end it at once."""
        found = []
        for start, x in enumerate(self.product.starts.tolist()):
            if x != END:
                chance, paid = (
                    float(self.product.start_probability[start]),
                    float(self.product.start_paid[start]),
                )
                place, state = int(self.product.place[x]), self.product.machine_state(x)
                found.append(Begin(chance, paid, place, state, self.product.stack(x)))
        return tuple(found)

    def value(self, s: StateLike, u: str, stack: Stack) -> float:
        """The optimal value of a configuration that can be reached."""
        x = self._find(s, u, stack)
        return float(self._values.lower[x] + self._values.upper[x]) / 2

    def action_values(self, s: StateLike, u: str, stack: Stack) -> dict[str, float]:
        """The value of each action, and of acting optimally from then on."""
        x, product = self._find(s, u, stack), self.product
        after = product.next[x]
        middle = (self._values.lower + self._values.upper) / 2
        later = np.where(after != END, middle[after], 0.0)
        chance = product.probability[product.place[x]]
        worth = (chance * (product.reward[x] + self.discount * later)).sum(axis=1)
        return dict(zip(product.domain.actions, worth.tolist(), strict=True))

    def actions(self, s: StateLike, u: str, stack: Stack) -> tuple[str, ...]:
        """The optimal actions, as far as the proved error can tell."""
        found = self.action_values(s, u, stack)
        best = max(found.values())
        return tuple(name for name, value in found.items() if value >= best - 4 * self.error)

    def record(self) -> dict[str, Any]:
        """The solution at the starts as JSON values."""
        starts = [
            {"chance": one.chance, "paid": one.paid, **self.record_at(one.s, one.u, one.stack)}
            for one in self.begins
        ]
        return {
            "domain": self.task.name,
            "machine": self.task.pushdown.name,
            "discount": self.discount,
            "value_from_start": self.start_value,
            "error": self.error,
            "relative_error": self.error / max(1.0, *(abs(one["value"]) for one in starts)),
            "starts": starts,
            "size": {"states": len(self.product)},
        }

    def record_at(self, s: StateLike, u: str, stack: Stack) -> dict[str, Any]:
        """One configuration as JSON values."""
        place = self.task.finite.find_state(s)
        return {
            "s": place,
            "where": self.task.finite.describe(place),
            "state": u,
            "stack": list(stack),
            "value": self.value(s, u, stack),
            "error": self.error,
            "actions": list(self.actions(s, u, stack)),
            "action_values": self.action_values(s, u, stack),
        }

    def _find(self, s: StateLike, u: str, stack: Stack) -> int:
        """The number of a configuration."""
        product, place = self.product, self.task.finite.find_state(s)
        here = np.flatnonzero(product.place == place)
        for x in here.tolist():
            if product.machine_state(x) == u and product.stack(x) == tuple(stack):
                return int(x)
        raise UnknownConfiguration(
            f"state {place}, {u} with stack {' '.join(stack)} cannot be reached",
            fix="with chance, only configurations that can be reached are solved",
        )
