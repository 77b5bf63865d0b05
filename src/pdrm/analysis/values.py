"""Proved bounds of the optimal values of a growing product, from one of two providers.

If moves are deterministic, `solving` gives the value of any configuration up to a proved error
(`SolvedValues`). Otherwise values of unexplored states lie between bounds, and the intervals become
narrower with more states (`ExploredValues`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.play_kernel import MISSING, StackValues, value_states
from pdrm.analysis.solving import find_solution
from pdrm.analysis.top_bounds import EPSILON, FrontierBounds
from pdrm.analysis.value_iteration import bound_values, find_action_values
from pdrm.analysis.values_kernel import measure_occupancy
from pdrm.analysis.whole_stack import PROVED_HEIGHT, WholeStack, take_certain
from pdrm.errors import OutOfTime, ProductTooLarge, StochasticMoves, UnboundedStep
from pdrm.machines.stacks import OK, lengthen
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import MEMORY, FiniteProduct, Floats, Numbers
from pdrm.product.hash_kernel import Index
from pdrm.task import Task

Interval = tuple[float, float]
RELATIVE_TOLERANCE = 1e-9
"""Losses up to this share of the start value count as 0."""
MAX_HEIGHT = PROVED_HEIGHT - 100
"""The highest stack that is explored if values grow with the height of the stack."""
SOLVING_SHARE = 0.4
"""The share of the time for solving the task before the product is explored instead."""


class ValuedProduct(ABC):
    """A growing product with bounds of its states' values."""

    def __init__(
        self, product: FiniteProduct, discount: float, deadline: Deadline | None = None
    ) -> None:
        self.product = product
        self.discount = discount
        self.frontier = FrontierBounds(product, discount, deadline)
        self.slack = self.frontier.slack
        """The rounding error of one update of a value."""
        self.floor = np.zeros(0)
        """[x, with spare rows]: a lower bound of the value of every policy."""

    @property
    @abstractmethod
    def lower(self) -> Floats:
        """[x]: lower bounds of the optimal values."""

    @property
    @abstractmethod
    def upper(self) -> Floats:
        """[x]: upper bounds of the optimal values."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The proved error of values that do not depend on unexplored states."""

    @abstractmethod
    def update(self) -> None:
        """Value the states found since the last update."""

    @abstractmethod
    def refine(self) -> None:
        """Tighten the bounds after a round of exploration."""

    def expand(self, chosen: Numbers) -> None:
        """Expand these states and value the states found."""
        self.product.expand(chosen)
        self.update()

    @property
    def start(self) -> Interval:
        """The optimal value of an episode, including rewards before the first action."""
        low = self.product.average_over_starts(self.lower)
        high = self.product.average_over_starts(self.upper)
        return low - self.slack, high + self.slack

    def measure_visits(self, action: Integers, sweeps: int) -> Floats:
        """[x]: the discounted visits of a policy, `action` [x], that stops at unexpanded states."""
        taken = np.where(self.product.expanded, action, -1).astype(np.int32)
        initial = np.zeros(len(taken) + 1)
        np.add.at(initial, self.product.starts, self.product.start_probability)
        return measure_occupancy(self.product.steps, self.discount, taken, initial[:-1], sweeps)

    @property
    def closed(self) -> bool:
        """True if all reachable states have been expanded."""
        return bool(self.product.expanded.all())

    @property
    def tolerance(self) -> float:
        """Losses from the start up to this count as 0: it covers rounding and the proved error."""
        return max(RELATIVE_TOLERANCE * self._size, 4 * self.error)

    @property
    def step_tolerance(self) -> float:
        """The tolerance for losses in one step, which can recur in every step."""
        return max(RELATIVE_TOLERANCE * (1 - self.discount) * self._size, 4 * self.error)

    @property
    def _size(self) -> float:
        return max(1.0, *map(abs, self.start))


class SolvedValues(ValuedProduct):
    """Values from the operators of a solved task, up to a proved error."""

    def __init__(self, solver: WholeStack, product: FiniteProduct) -> None:
        super().__init__(product, solver.discount)
        self.solver = solver
        self.value = np.zeros(0)
        """[x, with spare rows]: the optimal value up to `error`."""
        self._stack_values = StackValues(Index.with_capacity(4096), np.zeros(4096))
        self._valued = 0
        self._refined = False
        self._error = 0.0
        self.update()

    @property
    def lower(self) -> Floats:
        return self.value[: len(self.product)] - self.error

    @property
    def upper(self) -> Floats:
        return self.value[: len(self.product)] + self.error

    def refine(self) -> None:
        """Solve a finite product, whose error does not grow with the height of the stack."""
        if self.closed and not self._refined:
            bounds = bound_values(self.product, self.discount, 1e-13)
            self.value[: len(self.product)] = (bounds.lower + bounds.upper) / 2
            self._error = bounds.width / 2 + bounds.slack
            self._refined = True

    @property
    def error(self) -> float:
        return self._error

    def update(self) -> None:
        product, solver = self.product, self.solver
        count = len(product)
        if len(self.value) < count:
            room = len(product.states.env_state)
            self.value = lengthen(self.value, room)
            self.floor = lengthen(self.floor, room)
        self.floor[self._valued : count] = self.frontier.bound_every_policy(self._valued)[0]
        _, machine_states, _ = solver.shape
        while self._valued < count:
            self._valued, status, control, symbol = value_states(
                product.states, product.stacks, solver.operators, solver.ranges.power,
                machine_states, self._stack_values, self.value, self._valued,
            )  # fmt: skip
            if status == MISSING:
                solver.find(control // machine_states, control % machine_states, symbol)
            elif status != OK:
                keys = self._stack_values.keys.grow()
                value = lengthen(self._stack_values.value, len(keys.key))
                self._stack_values = StackValues(keys, value)
        if not self._refined:
            bounds = self.frontier.all
            height = int(product.stacks.height[: product.stacks.made[0]].max())
            largest = max(-bounds.low, bounds.high) + float(np.abs(product.start_reward).max())
            rounding = 8 * (height + len(product.starts)) * EPSILON * largest
            self._error = solver.error_at(height) / self.discount + rounding


class ExploredValues(ValuedProduct):
    """Values by interval iteration on the explored part of the product."""

    lower: Floats = np.zeros(0)
    upper: Floats = np.zeros(0)

    def __init__(self, product: FiniteProduct, discount: float, deadline: Deadline) -> None:
        super().__init__(product, discount, deadline)
        self.deadline = deadline
        self.update()
        self.refine()

    @property
    def error(self) -> float:
        if self.closed:
            return float((self.upper - self.lower).max(initial=0.0)) + self.frontier.margin
        return 4 * self.frontier.margin

    def update(self) -> None:
        valued = len(self.lower)
        low, high = self.frontier.bound_optimal(valued)
        self.lower = np.append(self.lower, low)
        self.upper = np.append(self.upper, high)
        self.floor = np.append(self.floor, self.frontier.bound_every_policy(valued)[0])

    def refine(self) -> None:
        initial = self.lower, self.upper
        bounds = bound_values(self.product, self.discount, 1e-12, self.deadline, initial)
        self.lower, self.upper = bounds.lower, bounds.upper

    def explore_likely(self, max_states: int) -> None:
        """Expand the frontier states most visited by the optimistic policy, and the nearest ones.

        Visits are weighted by the width of the value's interval.
        """
        product = self.product
        frontier = product.expandable(product.frontier)
        optimistic = find_action_values(product, self.discount, self.upper).argmax(axis=1)
        weight = self.measure_visits(optimistic, 10_000) * (self.upper - self.lower)
        likely = frontier[np.argsort(-weight[frontier], kind="stable")]
        number = max(1, (max_states - len(product)) // (2 * product.next[0].size))
        self.expand(np.union1d(likely[:number], frontier[:number]))
        self.refine()


def value_product(
    task: Task,
    discount: float,
    height: int | None,
    memory: int,
    deadline: Deadline,
) -> ValuedProduct:
    """The valued product of a task: solved if moves are deterministic, otherwise explored."""
    if height is None and discount > 0:
        try:
            seconds = max(deadline.share(SOLVING_SHARE).left, 1e-9)  # 0 is an invalid setting
            solver = find_solution(task, discount, seconds=seconds).solver
            assert isinstance(solver, WholeStack)
            return SolvedValues(solver, certain_product(task, solver, memory))
        except (StochasticMoves, OutOfTime, ProductTooLarge, UnboundedStep):
            pass
    product = FiniteProduct(task.finite, task.pushdown, height, memory)
    return ExploredValues(product, discount, deadline)


def certain_product(task: Task, solver: WholeStack, memory: int = MEMORY) -> FiniteProduct:
    """The product of a deterministic task, with one outcome for each action.

    Its height is limited if the solution is only proved up to a height.
    """
    domain = replace(task.finite, arrays=take_certain(task.finite.arrays), tests=())
    height = MAX_HEIGHT if solver.silent_moves.grows else None
    return FiniteProduct(domain, task.pushdown, height, memory)
