"""Bounds of the optimal values of a product's states, by value iteration.

The problem is the discounted one without a step limit. What was not explored lies between bounds (`top_bounds`), and rounding is
part of every bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.top_bounds import EPSILON, FrontierBounds, check_discount
from pdrm.analysis.values_kernel import OrderedProduct, find_components, improve, renumber
from pdrm.product.finite_kernel import END, FiniteProduct, Floats, Numbers

MAX_ROUNDS = 100_000
AT_ONCE = 200_000_000
"""Outcomes that a kernel chooses among in one call, about: between two calls the deadline is checked."""


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
    """Bound the optimal values of a product; `initial`: bounds to start from."""
    check_discount(discount)
    deadline = deadline or Deadline()
    frontier = FrontierBounds(product, discount, deadline)
    lower, upper = initial or frontier.of(0)
    swept = sort_states(product, discount)
    value, error = iterate(swept, discount, precision, frontier.slack, lower, deadline)
    np.maximum(lower, value - error, out=lower)
    if not swept.expanded.all():
        value, error = iterate(swept, discount, precision, frontier.slack, upper, deadline)
    np.minimum(upper, value + error, out=upper)
    return ValueBounds(lower, upper, frontier.slack)


def find_action_values(
    product: FiniteProduct, discount: float, value: Floats, states: Numbers | slice = slice(None)
) -> Floats:
    """[state, action]: the reward of each action and the discounted value after it; the value itself if nothing was expanded."""
    following = product.next[states]
    later = np.where(following != END, value[following], 0.0)
    paid = product.reward[states] + discount * later
    q = (product.probability[product.env_state[states]] * paid).sum(axis=2)
    return np.where(product.expanded[states][:, np.newaxis], q, value[states][:, np.newaxis])


def iterate(
    product: OrderedProduct,
    discount: float,
    precision: float,
    slack: float,
    begin: Floats,
    deadline: Deadline,
) -> tuple[Floats, Floats]:
    """Values if states on the frontier have those of `begin`, and how far they can be from the truth.

    Iteration starts anywhere: the error follows from the last change.
    """
    gap = 1 - discount
    close = max(precision * gap, slack / 8)
    rounds = max(1, AT_ONCE // max(1, product.lead.size))
    value = np.append(begin[product.order], 0.0)
    change, done = np.inf, 0
    while change > close and done < MAX_ROUNDS:
        error, change = improve(product, discount, close, slack, rounds, value)
        done += rounds
        if deadline.over:
            break
    found, off = np.empty_like(begin), np.empty_like(begin)
    found[product.order], off[product.order] = value[:-1], error[:-1] * (1 + 4 * EPSILON / gap)
    return found, off


def sort_states(product: FiniteProduct, discount: float) -> OrderedProduct:
    """The product as value iteration sweeps it."""
    count, actions, outcomes = product.next.shape
    component = find_components(product.next.reshape(count, actions * outcomes))
    order = np.argsort(component, kind="stable")
    first = np.searchsorted(component[order], np.arange(component.max(initial=-1) + 2))
    position = np.empty(count, np.uint32)
    position[order] = np.arange(count)
    lead, paid = renumber(product.steps, order, position)
    cell = (actions * product.env_state[order]).astype(np.uint32)
    weight = discount * product.probability.reshape(-1, outcomes)
    return OrderedProduct(order, first, lead, paid, cell, weight, product.expanded[order])
