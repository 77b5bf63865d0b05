"""Bounds of the optimal values of a product's states, by value iteration.

The problem is the discounted one without a step limit. Values of unexplored states lie between the
bounds of `top_bounds`. Rounding is part of every bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.top_bounds import EPSILON, FrontierBounds, check_discount
from pdrm.analysis.values_kernel import OrderedProduct, find_components, improve, renumber
from pdrm.product.finite_kernel import END, FiniteProduct, Floats, Numbers

MAX_ROUNDS = 100_000
OUTCOMES_PER_CALL = 200_000_000
"""Approximate number of outcomes that a kernel evaluates between two checks of the deadline."""


class ValueBounds(NamedTuple):
    """Lower and upper bounds of the optimal values of a product's states."""

    lower: Floats
    """[x]"""
    upper: Floats
    """[x]"""
    slack: float
    """The rounding error of one update."""

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
    """Bound the optimal values of a product; `initial`: lower and upper bounds to start from."""
    check_discount(discount)
    deadline = deadline or Deadline()
    frontier = FrontierBounds(product, discount, deadline)
    slack = frontier.slack
    lower, upper = initial or frontier.bound_optimal(0)
    ordered = sort_states(product, discount)
    value, error = iterate(ordered, discount, precision, slack, lower, deadline)
    np.maximum(lower, value - error, out=lower)
    if not ordered.expanded.all():
        value, error = iterate(ordered, discount, precision, slack, upper, deadline)
    np.minimum(upper, value + error, out=upper)
    return ValueBounds(lower, upper, slack)


def find_action_values(
    product: FiniteProduct, discount: float, value: Floats, states: Numbers | slice = slice(None)
) -> Floats:
    """[state, action]: the expected reward plus the discounted value of the next state.

    In unexpanded states it is the value itself.
    """
    following = product.next[states]
    later = np.where(following != END, value[following], 0.0)
    outcome_values = product.reward[states] + discount * later
    q = (product.probability[product.env_state[states]] * outcome_values).sum(axis=2)
    return np.where(product.expanded[states][:, np.newaxis], q, value[states][:, np.newaxis])


def iterate(
    product: OrderedProduct,
    discount: float,
    precision: float,
    slack: float,
    initial: Floats,
    deadline: Deadline,
) -> tuple[Floats, Floats]:
    """Value iteration from any `initial` values, which frontier states keep.

    Returns the values and [x]: their proved errors, which follow from the last change.
    """
    gap = 1 - discount
    close = max(precision * gap, slack / 8)
    rounds = max(1, OUTCOMES_PER_CALL // max(1, product.successor.size))
    value = np.append(initial[product.order], 0.0)
    change = np.inf
    done = 0
    while change > close and done < MAX_ROUNDS:
        error, change = improve(product, discount, close, slack, rounds, value)
        done += rounds
        if deadline.over:
            break
    return value[product.position], error[product.position] * (1 + 4 * EPSILON / gap)


def sort_states(product: FiniteProduct, discount: float) -> OrderedProduct:
    """The product in the order in which value iteration sweeps it."""
    count, actions, outcomes = product.next.shape
    component = find_components(product.next.reshape(count, actions * outcomes))
    order = np.argsort(component, kind="stable")
    first = np.searchsorted(component[order], np.arange(component.max(initial=-1) + 2))
    position = np.empty(count, np.uint32)
    position[order] = np.arange(count)
    successor, reward = renumber(product.steps, order, position)
    weight_row = (actions * product.env_state[order]).astype(np.uint32)
    weight = discount * product.probability.reshape(-1, outcomes)
    expanded = product.expanded[order]
    return OrderedProduct(order, position, first, successor, reward, weight_row, weight, expanded)
