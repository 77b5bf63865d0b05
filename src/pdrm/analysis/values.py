"""Optimal values of a product's states as proved bounds, from one of two providers.

If moves have no chance, `solve` gives the value of any configuration up to a proved error (`SolvedValues`). Otherwise the product is
explored, and the values of what was not explored lie between bounds (`ExploredValues`): the more states, the narrower the
intervals. The problem is the discounted one without a step limit; rounding is part of every bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.play_kernel import MISSING, find_values
from pdrm.analysis.solving import Solution, find_solution
from pdrm.analysis.top_bounds import EPSILON, bound_all, bound_by_top, check_discount
from pdrm.analysis.values_kernel import Swept, improve, measure_occupancy, q_bounds, sort_states
from pdrm.analysis.whole_stack import HEIGHT, check_deterministic
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import OutOfTime, ProductTooLarge, StochasticMoves, UnboundedStep
from pdrm.machines.stacks import OK, lengthen
from pdrm.product.finite_kernel import Bound, FiniteProduct, Floats, Numbers
from pdrm.product.hash_kernel import Index
from pdrm.task import Task

Interval = tuple[float, float]
SMALLEST = 1e-9
"""The share of the value from the start that counts as nothing."""
MOST_SWEEPS = 100_000
AT_ONCE = 200_000_000
"""Outcomes that a kernel looks at in one call, about: between two calls the deadline is checked."""
HIGHEST = HEIGHT - 100
"""The highest stack that is explored if values grow with the height of the stack."""
SOLVING = 0.4
"""The share of the time that solving the task may take before the product is explored instead."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueBounds:
    """Lower and upper bounds of the optimal values of a product's states."""

    lower: Floats
    """[x]"""
    upper: Floats
    """[x]"""
    slack: float
    """The rounding error of one update; each was widened by it."""
    sweeps: int
    components: int
    """Strongly connected components of the product: as many as it has states if no step leads back."""

    @property
    def width(self) -> float:
        """The widest interval."""
        return float((self.upper - self.lower).max(initial=0.0))


def bound_values(
    product: FiniteProduct,
    discount: float,
    precision: float = 1e-9,
    deadline: Deadline | None = None,
    initial: tuple[Floats, Floats] | None = None,
) -> ValueBounds:
    """Bound the optimal values of a product; `initial`: bounds to start from."""
    check_discount(discount)
    deadline = deadline or Deadline()
    slack = bound_all(product, discount).slack
    swept = sort_states(product.steps, discount, product.expanded)
    if initial is None:
        initial = bound_frontier(product, discount, deadline)
    lower, upper = initial
    value, error, sweeps = iterate(swept, discount, precision, slack, lower, deadline)
    np.maximum(lower, value - error, out=lower)
    if not swept.expanded.all():
        value, error, more = iterate(swept, discount, precision, slack, upper, deadline)
        sweeps += more
    np.minimum(upper, value + error, out=upper)
    return ValueBounds(lower, upper, slack, sweeps, len(swept.first) - 1)


def iterate(
    product: Swept,
    discount: float,
    precision: float,
    slack: float,
    begin: Floats,
    deadline: Deadline,
) -> tuple[Floats, Floats, int]:
    """Values if states on the frontier have those of `begin`, how far they can be from the truth, and the sweeps.

    Iteration starts anywhere: the error follows from the last change.
    """
    gap = 1 - discount
    close = max(precision * gap, slack / 8)
    most = max(1, AT_ONCE // max(1, product.lead.size))
    value = np.append(begin[product.order], 0.0)
    total, change = 0, np.inf
    while change > close and total < MOST_SWEEPS * len(product.first):
        error, change, sweeps = improve(product, discount, close, slack, most, value)
        total += sweeps
        if deadline.over:
            break
    found, off = np.empty_like(begin), np.empty_like(begin)
    found[product.order], off[product.order] = value[:-1], error[:-1] * (1 + 4 * EPSILON / gap)
    return found, off, total


def bound_frontier(
    product: FiniteProduct, discount: float, deadline: Deadline
) -> tuple[Floats, Floats]:
    """Lower and upper bounds of every state by its top symbol and height alone."""
    found = _BoundsByTop(product, discount, deadline)
    return found.of(product, 0)


class _BoundsByTop:
    """Bounds on a state's value without exploring further."""

    def __init__(self, product: FiniteProduct, discount: float, deadline: Deadline) -> None:
        self.bounds = bound_all(product, discount)
        self._by_top = bound_by_top(product, discount, self.bounds, deadline)

    @property
    def upper(self) -> Floats | None:
        """The upper bounds by [environment state, machine state, top symbol]."""
        return None if self._by_top is None else self._by_top[1]

    def of(self, product: FiniteProduct, begin: int) -> tuple[Floats, Floats]:
        """Bounds of the optimal values of the states from number `begin` on."""
        count = len(product)
        node = product.states.node[begin:count]
        if self._by_top is None:
            return self.of_all(product, begin)
        at = (
            product.states.place[begin:count],
            product.states.state[begin:count],
            product.stacks.symbol[node],
        )
        return self._by_top[0][at], self._by_top[1][at]

    def of_all(self, product: FiniteProduct, begin: int) -> tuple[Floats, Floats]:
        """Bounds of the values of every policy."""
        height = product.stacks.height[product.states.node[begin : len(product)]].astype(float)
        low, high, low_slope, high_slope, _ = self.bounds
        return low - low_slope * height, high + high_slope * height


class ValuedProduct(ABC):
    """A product that grows, and bounds of its states' values that are kept with it."""

    def __init__(self, product: FiniteProduct, discount: float) -> None:
        self.product, self.discount = product, discount
        self.slack = 0.0
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
    def start(self) -> Interval:
        """The optimal value of an episode, with what is paid before the first action."""

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
    def closed(self) -> bool:
        """True if every state that can be reached has been expanded."""
        return bool(self.product.expanded.all())

    @property
    def tolerance(self) -> float:
        """Losses from the start up to this count as none: rounding, or the proved error."""
        return max(SMALLEST * max(1.0, *map(abs, self.start)), 4 * self.error)

    @property
    def step_tolerance(self) -> float:
        """The same for what is lost in one step, which may be lost again and again."""
        small = SMALLEST * (1 - self.discount) * max(1.0, *map(abs, self.start))
        return max(small, 4 * self.error)


class SolvedValues(ValuedProduct):
    """Values from the operators of the solved task: every state's, up to one proved error."""

    def __init__(self, solution: Solution, product: FiniteProduct) -> None:
        super().__init__(product, solution.discount)
        self.solution = solution
        self._known, self._worth = Index.room(4096), np.zeros(4096)
        self.value = np.zeros(0)
        """[x, with room]: the optimal value, up to `error`."""
        self._done = 0
        self._closed_error: float | None = None
        self._bounds = bound_all(product, solution.discount)
        self.slack = self._bounds.slack
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
            middle = (found.lower + found.upper) / 2
            self.value[: len(middle)] = middle
            self._closed_error = found.width / 2 + found.slack

    @property
    def start(self) -> Interval:
        value = self.product.average_over_starts(self.value)
        return value - self.error, value + self.error

    @property
    def error(self) -> float:
        if self._closed_error is not None:
            return self._closed_error
        made = int(self.product.stacks.made[0])
        height = int(self.product.stacks.height[:made].max())
        largest = max(abs(self._bounds.low), abs(self._bounds.high)) + float(
            np.abs(self.product.start_paid).max()
        )
        rounding = 8 * (height + len(self.product.starts)) * EPSILON * largest
        return self.solution.error_at(height) / self.discount + rounding

    def update(self) -> None:
        product, count = self.product, len(self.product)
        if len(self.value) < count:
            self.value = lengthen(self.value, len(product.states.place))
            self.worst = lengthen(self.worst, len(product.states.place))
        height = product.stacks.height[product.states.node[self._done : count]]
        self.worst[self._done : count] = self._bounds.low - self._bounds.low_slope * height
        states, solver = product.states, self.solution.solver
        places, machine_states, _ = solver.shape
        while self._done < count:
            self._done, status, e, symbol = find_values(
                solver.operators, solver.ranges.power, product.stacks, self._known, self._worth, places,
                machine_states, self.discount, states.place, states.state, states.node,
                self._done, count, self.value,
            )  # fmt: skip
            if status == MISSING:
                solver.find(e // machine_states, e % machine_states, symbol)
            elif status != OK:
                self._known = self._known.grow()
                self._worth = lengthen(self._worth, len(self._known.key))


class ExploredValues(ValuedProduct):
    """Values by interval iteration on what was explored."""

    def __init__(self, product: FiniteProduct, discount: float, deadline: Deadline) -> None:
        super().__init__(product, discount)
        self.deadline = deadline
        self._frontier = _BoundsByTop(product, discount, deadline)
        self.slack = self._frontier.bounds.slack
        self._lower, self._upper = np.zeros(0), np.zeros(0)
        self.update()
        self.settle()

    @property
    def lower(self) -> Floats:
        return self._lower

    @property
    def upper(self) -> Floats:
        return self._upper

    @property
    def error(self) -> float:
        if self.closed:
            return float((self._upper - self._lower).max(initial=0.0)) + self.slack / (
                1 - self.discount
            )
        return 4 * self.slack / (1 - self.discount)

    @property
    def start(self) -> Interval:
        low = self.product.average_over_starts(self._lower) - self.slack
        return low, self.product.average_over_starts(self._upper) + self.slack

    def update(self) -> None:
        known, product = len(self._lower), self.product
        low, high = self._frontier.of(product, known)
        self._lower = np.concatenate([self._lower, low])
        self._upper = np.concatenate([self._upper, high])
        self.worst = np.concatenate([self.worst, self._frontier.of_all(product, known)[0]])

    def settle(self) -> None:
        initial = self._lower, self._upper
        found = bound_values(self.product, self.discount, 1e-12, self.deadline, initial)
        self._lower, self._upper = found.lower, found.upper

    @property
    def upper_by_top(self) -> Floats | None:
        """Upper bounds by [environment state, machine state, top symbol], if they do not depend on the height."""
        return self._frontier.upper

    def explore_likely(self, most: int) -> None:
        """Expand what the policy that may be optimal reaches most often, and the nearest states, up to a number of states."""
        product = self.product
        frontier = product.expandable(product.frontier)
        steps, count = product.steps, len(product)
        low, high = np.zeros((count, steps.next.shape[1])), np.zeros((count, steps.next.shape[1]))
        q_bounds(steps, self.discount, self._lower, self._upper, low, high)
        action = np.where(product.expanded, high.argmax(axis=1), -1).astype(np.int32)
        begin = np.zeros(count + 1)
        np.add.at(begin, product.starts, product.start_probability)
        weight = measure_occupancy(steps, self.discount, action, begin[:-1], 10_000)
        weight *= self._upper - self._lower
        likely = frontier[np.argsort(-weight[frontier], kind="stable")]
        few = max(1, (most - count) // int(2 * np.prod(steps.next.shape[1:])))
        self.expand(np.unique(np.concatenate([likely[:few], frontier[:few]])))
        self.settle()


def value_product(
    task: Task,
    discount: float,
    bound: Bound,
    memory: int,
    deadline: Deadline,
) -> ValuedProduct:
    """The values of a task's product, by its solution if moves have no chance, else by exploring."""
    check_discount(discount)
    domain = task.finite
    if bound == Bound() and discount > 0:
        try:
            check_deterministic(domain)
            seconds = max(deadline.share(SOLVING).left, 1e-9)  # at 0 it is a wrong setting
            solution = find_solution(task, discount, seconds=seconds)
            if solution.solver.silence.grows:  # nothing is proved about higher stacks
                bound = Bound(HIGHEST)
            product = FiniteProduct(take_certain(domain), task.pushdown, bound, memory)
            return SolvedValues(solution, product)
        except (StochasticMoves, OutOfTime, ProductTooLarge, UnboundedStep):
            pass
    return ExploredValues(FiniteProduct(domain, task.pushdown, bound, memory), discount, deadline)


def take_certain(domain: FiniteDomain) -> FiniteDomain:
    """A domain without chance with one outcome of each action."""
    arrays = domain.arrays
    happens = arrays.probability.argmax(axis=2)[..., np.newaxis]
    following, label, reward = (
        np.ascontiguousarray(np.take_along_axis(array, happens, axis=2))
        for array in (arrays.next, arrays.label, arrays.reward)
    )
    sure = np.ones(following.shape)
    kept = arrays._replace(next=following, label=label, reward=reward, probability=sure)
    return replace(domain, arrays=kept, tests=())
