"""Optimal values of a product that grows, as proved bounds from one of two providers.

If moves have no chance, `solving` gives the value of any configuration up to a proved error (`SolvedValues`). Otherwise the
values of what was not explored lie between bounds (`ExploredValues`): the more states, the narrower the intervals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.play_kernel import MISSING, find_values
from pdrm.analysis.solving import find_solution
from pdrm.analysis.top_bounds import EPSILON, FrontierBounds
from pdrm.analysis.value_iteration import bound_values, find_action_values
from pdrm.analysis.values_kernel import measure_occupancy
from pdrm.analysis.whole_stack import HEIGHT, WholeStack, take_certain
from pdrm.errors import OutOfTime, ProductTooLarge, StochasticMoves, UnboundedStep
from pdrm.machines.stacks import OK, lengthen
from pdrm.product.finite_kernel import MEMORY, FiniteProduct, Floats, Numbers
from pdrm.product.hash_kernel import Index
from pdrm.task import Task

Interval = tuple[float, float]
SMALLEST = 1e-9
"""The share of the value from the start that counts as nothing."""
HIGHEST = HEIGHT - 100
"""The highest stack that is explored if values grow with the height of the stack."""
SOLVING = 0.4
"""The share of the time that solving the task may take before the product is explored instead."""


class ValuedProduct(ABC):
    """A product that grows, and bounds of its states' values that are kept with it."""

    def __init__(
        self, product: FiniteProduct, discount: float, deadline: Deadline | None = None
    ) -> None:
        self.product, self.discount = product, discount
        self.frontier = FrontierBounds(product, discount, deadline)
        self.slack = self.frontier.slack
        """The rounding error of one update of a value."""
        self.worst = np.zeros(0)
        """[x, with room]: what any policy gets at least."""

    @property
    @abstractmethod
    def lower(self) -> Floats:
        """[x]: the optimal value is at least this."""

    @property
    @abstractmethod
    def upper(self) -> Floats:
        """[x]: the optimal value is at most this."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The proved error of a state's value if it does not depend on what was not explored."""

    @abstractmethod
    def update(self) -> None:
        """Value the states that were found since the last time."""

    @abstractmethod
    def settle(self) -> None:
        """Sharpen the values once all that was meant to be explored is."""

    def expand(self, chosen: Numbers) -> None:
        """Take every step from these states, and value what is found."""
        self.product.expand(chosen)
        self.update()

    @property
    def start(self) -> Interval:
        """The optimal value of an episode, with what is paid before the first action."""
        low, high = map(self.product.average_over_starts, (self.lower, self.upper))
        return low - self.slack, high + self.slack

    @property
    def closed(self) -> bool:
        """True if every state that can be reached has been expanded."""
        return bool(self.product.expanded.all())

    @property
    def tolerance(self) -> float:
        """Losses from the start up to this count as none: rounding, or the proved error."""
        return max(SMALLEST * self._size, 4 * self.error)

    @property
    def step_tolerance(self) -> float:
        """The same for what is lost in one step, which may be lost again and again."""
        return max(SMALLEST * (1 - self.discount) * self._size, 4 * self.error)

    @property
    def _size(self) -> float:
        return max(1.0, *map(abs, self.start))


class SolvedValues(ValuedProduct):
    """Values from the operators of the solved task: every state's, up to one proved error."""

    def __init__(self, solver: WholeStack, product: FiniteProduct) -> None:
        super().__init__(product, solver.discount)
        self.solver = solver
        self._known, self._worth = Index.with_capacity(4096), np.zeros(4096)
        self.value = np.zeros(0)
        """[x, with room]: the optimal value, up to `error`."""
        self._done = 0
        self._closed_error: float | None = None
        self.update()

    @property
    def lower(self) -> Floats:
        return self.value[: len(self.product)] - self.error

    @property
    def upper(self) -> Floats:
        return self.value[: len(self.product)] + self.error

    def settle(self) -> None:
        """If the product is finite, take the values from it: their error does not grow with the height of the stack."""
        if self.closed and self._closed_error is None:
            found = bound_values(self.product, self.discount, 1e-13)
            self.value[: len(self.product)] = (found.lower + found.upper) / 2
            self._closed_error = found.width / 2 + found.slack

    @property
    def error(self) -> float:
        if self._closed_error is not None:
            return self._closed_error
        product, bounds = self.product, self.frontier.all
        height = int(product.stacks.height[: product.stacks.made[0]].max())
        largest = max(-bounds.low, bounds.high) + float(np.abs(product.start_reward).max())
        rounding = 8 * (height + len(product.starts)) * EPSILON * largest
        return self.solver.error_at(height) / self.discount + rounding

    def update(self) -> None:
        product, solver, states = self.product, self.solver, self.product.states
        begin, count = self._done, len(product)
        if len(self.value) < count:
            self.value = lengthen(self.value, len(states.env_state))
            self.worst = lengthen(self.worst, len(states.env_state))
        self.worst[begin:count] = self.frontier.of_all(begin)[0]
        places, machine_states, _ = solver.shape
        while self._done < count:
            self._done, status, e, symbol = find_values(
                solver.operators, solver.ranges.power, product.stacks, self._known, self._worth, places,
                machine_states, self.discount, states.env_state, states.state, states.node,
                self._done, count, self.value,
            )  # fmt: skip
            if status == MISSING:
                solver.find(e // machine_states, e % machine_states, symbol)
            elif status != OK:
                self._known = self._known.grow()
                self._worth = lengthen(self._worth, len(self._known.key))


class ExploredValues(ValuedProduct):
    """Values by interval iteration on what was explored."""

    lower: Floats = np.zeros(0)
    upper: Floats = np.zeros(0)

    def __init__(self, product: FiniteProduct, discount: float, deadline: Deadline) -> None:
        super().__init__(product, discount, deadline)
        self.deadline = deadline
        self.update()
        self.settle()

    @property
    def error(self) -> float:
        if self.closed:
            return float((self.upper - self.lower).max(initial=0.0)) + self.frontier.margin
        return 4 * self.frontier.margin

    def update(self) -> None:
        known = len(self.lower)
        low, high = self.frontier.of(known)
        self.lower = np.append(self.lower, low)
        self.upper = np.append(self.upper, high)
        self.worst = np.append(self.worst, self.frontier.of_all(known)[0])

    def settle(self) -> None:
        initial = self.lower, self.upper
        found = bound_values(self.product, self.discount, 1e-12, self.deadline, initial)
        self.lower, self.upper = found.lower, found.upper

    def explore_likely(self, most: int) -> None:
        """Expand what the policy that may be optimal reaches most often, and the nearest states, up to a number of states."""
        product, count = self.product, len(self.product)
        frontier = product.expandable(product.frontier)
        best = find_action_values(product, self.discount, self.upper).argmax(axis=1)
        action = np.where(product.expanded, best, -1).astype(np.int32)
        begin = np.zeros(count + 1)
        np.add.at(begin, product.starts, product.start_probability)
        weight = measure_occupancy(product.steps, self.discount, action, begin[:-1], 10_000)
        weight *= self.upper - self.lower
        likely = frontier[np.argsort(-weight[frontier], kind="stable")]
        few = max(1, (most - count) // (2 * product.next[0].size))
        self.expand(np.union1d(likely[:few], frontier[:few]))
        self.settle()


def value_product(
    task: Task,
    discount: float,
    height: int | None,
    memory: int,
    deadline: Deadline,
) -> ValuedProduct:
    """The values of a task's product, by its solution if moves have no chance, else by exploring."""
    if height is None and discount > 0:
        try:
            seconds = max(deadline.share(SOLVING).left, 1e-9)  # at 0 it is a wrong setting
            solver = find_solution(task, discount, seconds=seconds).solver
            assert isinstance(solver, WholeStack)
            return SolvedValues(solver, certain_product(task, solver, memory))
        except (StochasticMoves, OutOfTime, ProductTooLarge, UnboundedStep):
            pass
    product = FiniteProduct(task.finite, task.pushdown, height, memory)
    return ExploredValues(product, discount, deadline)


def certain_product(task: Task, solver: WholeStack, memory: int = MEMORY) -> FiniteProduct:
    """The product of a task without chance, with one outcome of each action; only as high as the solution is proved."""
    domain = replace(task.finite, arrays=take_certain(task.finite.arrays), tests=())
    height = HIGHEST if solver.silence.grows else None
    return FiniteProduct(domain, task.pushdown, height, memory)
