"""Exact values: ties found without values, and policy iteration in fractions.

Ties: states that do the same with the actions still in play have the same value, whatever that is. The coarsest partition in
which two states of a block offer the same sets of (chance, reward, block) is a bisimulation of the product restricted to
actions that no interval excludes; restricting to those changes no value. It decides ties even where the frontier leaves values
themselves unknown. Fractions: exact values of states from which actions in play do not lead to the frontier.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pdrm.analysis.graph_kernel import find_components
from pdrm.analysis.time_limit import check_time
from pdrm.product.finite_kernel import END, Flags, Numbers
from pdrm.product.finite_product import FiniteProduct
from pdrm.product.rationals import ExactSteps, read_number

EXCLUDED = -1
MOST_TOGETHER = 400
"""States that lead to each other under one policy, solved together by elimination, at most."""

Row = tuple[Fraction, dict[int, Fraction]]
"""An action as an equation: its expected reward, and the discounted chance of each state."""


def find_blocks(
    product: FiniteProduct, region: Numbers, possible: Flags, given: dict[int, int]
) -> tuple[Numbers, Numbers]:
    """[x]: the block of each state (equal blocks, equal values), and [x, action]: what an action offers, EXCLUDED where
    it is not in play (equal offers of one state, equal values).

    `region` holds the states that possible actions reach, the frontier included; `given` numbers states whose values are
    known, equal numbers for equal values.
    """
    count, actions, _ = product.next.shape
    fixed = np.zeros(count, np.bool_)
    block = np.zeros(count + 1, np.int64)  # END, at -1, is the last
    known = np.array(sorted(given), np.int64)
    fixed[known] = True
    block[known] = [1 + given[x] for x in known.tolist()]
    beyond = region[~product.states.expanded[region] & ~fixed[region]]
    fixed[beyond] = True
    most = int(block.max()) + 1
    block[beyond] = most + np.arange(len(beyond))
    block[END] = most + len(beyond)
    free = region[~fixed[region]]
    steps = _number_steps(product, free)
    following = product.next[free].astype(np.int64)
    allowed = possible[free]
    offset, kinds = int(block.max()) + 1, 0
    while True:
        check_time()
        offer = _number_offers(steps, block[following], allowed)
        ordered = np.sort(
            offer, axis=1
        )  # each state's offers as a set: sorted, repetitions struck out
        ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = EXCLUDED
        fresh = _number_rows([block[free], *np.sort(ordered, axis=1).T])
        found = int(fresh.max(initial=-1)) + 1
        block[free] = offset + fresh
        if found == kinds:
            break
        kinds = found
    everyone = np.full((count, actions), EXCLUDED, np.int64)
    everyone[free] = offer
    return block[:-1], everyone


def _number_steps(product: FiniteProduct, free: Numbers) -> Numbers:
    """[state, action, outcome]: a number for its chance and reward, -1 where it cannot happen."""
    exact, place = product.exact, product.place[free]
    number = exact.chance[place] * len(exact.numbers) + exact.reward[free]
    number = np.unique(number, return_inverse=True)[1].reshape(number.shape)
    return np.where(product.domain.arrays.probability[place] > 0, number, -1)


def _number_offers(steps: Numbers, after: Numbers, allowed: Flags) -> Numbers:
    """[state, action]: a number for the set of its outcomes' (chance and reward, block)."""
    size = int(after.max(initial=0)) + 2
    outcome = np.sort(np.where(steps >= 0, steps * size + after, -1), axis=2)
    columns = [outcome[:, :, place].ravel() for place in range(outcome.shape[2])]
    return np.where(allowed, _number_rows(columns).reshape(allowed.shape), EXCLUDED)


def _number_rows(columns: list[Numbers]) -> Numbers:
    """A number for each row of some columns, equal for equal rows."""
    number = np.unique(columns[0], return_inverse=True)[1].astype(np.int64)
    for column in columns[1:]:
        check_time()
        inverse = np.unique(column, return_inverse=True)[1].astype(np.int64)
        pair = number * (int(inverse.max(initial=0)) + 1) + inverse
        number = np.unique(pair, return_inverse=True)[1].astype(np.int64)
    return number


class Exact(NamedTuple):
    """Exact optimal values of some states, and which actions reach them."""

    value: dict[int, Fraction]
    optimal: dict[int, int]
    """State -> its optimal actions, as bits."""


def solve_exactly(
    product: FiniteProduct, discount: float, region: Numbers, possible: Flags
) -> Exact | None:
    """Solve a region that its possible actions do not leave; None where too many states depend on each other.

    With a discount of 0 any region will do: no state depends on another.
    """
    gamma, exact = read_number(discount), product.exact
    rows = {int(x): _write_equations(product, exact, gamma, int(x), possible[x]) for x in region}
    policy = {x: next(iter(actions)) for x, actions in rows.items()}
    while True:
        value = _evaluate_policy({x: rows[x][policy[x]] for x in rows})
        if value is None:
            return None
        better, optimal = {}, {}
        for x, actions in rows.items():
            check_time()
            q_values = {action: _evaluate_row(row, value) for action, row in actions.items()}
            best = max(q_values.values())
            tied = [action for action, q in q_values.items() if q == best]
            if best > value[x]:
                better[x] = tied[0]
            optimal[x] = sum(1 << action for action in tied)
        if not better:
            return Exact(value, optimal)
        policy |= better


def _write_equations(
    product: FiniteProduct, exact: ExactSteps, gamma: Fraction, x: int, possible: Flags
) -> dict[int, Row]:
    """The equations of a state's possible actions."""
    check_time()
    found, s = {}, int(product.place[x])
    for action in np.flatnonzero(possible).tolist():
        paid, leads = Fraction(0), dict[int, Fraction]()
        columns = exact.chance[s, action], exact.reward[x, action], product.next[x, action]
        for chance, reward, y in zip(*(column.tolist() for column in columns), strict=True):
            if p := exact.numbers[chance]:
                paid += p * exact.numbers[reward]
                if y != END and gamma:
                    leads[y] = leads.get(y, Fraction(0)) + gamma * p
        found[action] = (paid, leads)
    return found


def _evaluate_row(row: Row, value: dict[int, Fraction]) -> Fraction:
    paid, leads = row
    return paid + sum((p * value[y] for y, p in leads.items()), Fraction(0))


def _evaluate_policy(rows: dict[int, Row]) -> dict[int, Fraction] | None:
    """The values of one policy: component by component, what is led to first."""
    number = {x: i for i, x in enumerate(rows)}
    widest = max((len(leads) for _, leads in rows.values()), default=1)
    graph = np.full((len(rows), max(1, widest)), END, np.int32)
    for i, (_, leads) in enumerate(rows.values()):
        graph[i, : len(leads)] = [number[y] for y in leads]
    order, first = find_components(graph)
    names, value = list(rows), dict[int, Fraction]()
    for begin, end in pairwise(first.tolist()):
        members = [names[i] for i in order[begin:end].tolist()]
        if len(members) > MOST_TOGETHER:
            return None
        value |= _eliminate(members, rows, value)
    return value


def _eliminate(
    members: list[int], rows: dict[int, Row], known: dict[int, Fraction]
) -> dict[int, Fraction]:
    """Solve the equations of some states that lead to each other, by elimination."""
    equations: dict[int, Row] = {}
    inside = set(members)
    for x in members:
        check_time()
        paid, leads = rows[x]
        constant = _evaluate_row((paid, {y: p for y, p in leads.items() if y not in inside}), known)
        left = {y: p for y, p in leads.items() if y in inside}
        for y, (
            other,
            through,
        ) in equations.items():  # replace the states that were solved for before
            if weight := left.pop(y, None):
                constant += weight * other
                for z, p in through.items():
                    left[z] = left.get(z, Fraction(0)) + weight * p
        own = 1 - left.pop(x, Fraction(0))
        equations[x] = constant / own, {y: p / own for y, p in left.items()}
    found: dict[int, Fraction] = {}
    for x in reversed(members):
        found[x] = _evaluate_row(equations[x], found)
    return found
