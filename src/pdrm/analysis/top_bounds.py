"""Bounds of values that need no solving: for every policy, and for the best one by the top symbol.

If silent moves that pop are rewarded, values grow with the stack height h and only the bound
A + B · h is available.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.values_kernel import EnvMoves, narrow_by_top
from pdrm.errors import BadSetting, NoDiscount
from pdrm.machines.tables import NO_MOVE, Table
from pdrm.product.finite_kernel import FiniteProduct, Floats

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
MAX_VALUE = 1e280
"""The largest value whose rounding error still fits in a float."""
MAX_SWEEPS = 2_000
SWEEPS_PER_CALL = 50
"""Sweeps between two checks of the deadline."""


def check_discount(discount: float) -> None:
    """Refuse a discount for which values have no bounds."""
    if not 0 <= discount < 1:
        raise NoDiscount(
            f"the discount is {discount:g}, and undiscounted values can be infinite",
            fix="use a number from 0 to below 1, such as 0.99",
        )


# --- For every policy


class Bounds(NamedTuple):
    """Bounds of all values: from `low - low_slope · height` to `high + high_slope · height`."""

    low: float
    high: float
    low_slope: float
    high_slope: float
    slack: float
    """The rounding error of one update of a value, at most."""


def bound_all(
    env_reward: Floats,
    table: Table,
    continuing_reward: Floats,
    discount: float,
    outcomes: int = 1,
) -> Bounds:
    """Bound the value of every policy by the smallest and largest possible reward of a step.

    Args:
        env_reward: All rewards of the environment.
        table: The machine.
        continuing_reward: The rewards of the machine's moves that do not end the episode.
        discount: γ.
        outcomes: The maximum number of outcomes of an action.
    """
    silent_moves = bound_silent_moves(table)
    silent_reward = table.reward[table.silent[table.silent != NO_MOVE]]
    ends, slopes = [], []
    for extreme in (np.min, np.max):
        env = extreme(env_reward, initial=0.0)
        per_silent_move = float(extreme(silent_reward, initial=0.0))
        silent = silent_moves.per_step * per_silent_move
        one_step = env + extreme(table.reward) + silent
        forever = (env + extreme(continuing_reward) + silent) / (1 - discount) + silent
        ends.append(float(extreme([forever, one_step])))
        slopes.append(silent_moves.per_symbol * abs(per_silent_move))
    largest = float(np.abs(env_reward).max(initial=0.0))
    size = largest + float(np.abs(table.reward).max()) * (2 + silent_moves.per_step)
    size += max(map(abs, ends))
    if not size < MAX_VALUE:
        raise BadSetting(
            f"rewards of {largest:g} add up to more than a float can hold",
            fix="use smaller rewards, or a discount further below 1",
        )
    slack = 4 * (outcomes + 3 + silent_moves.per_step) * (EPSILON * size + TINY)
    return Bounds(ends[0], ends[1], slopes[0], slopes[1], slack)


# --- By the top of the stack


class FrontierBounds:
    """Bounds of the values of a product's states that need no further exploration."""

    def __init__(
        self, product: FiniteProduct, discount: float, deadline: Deadline | None = None
    ) -> None:
        self.product = product
        self.discount = discount
        self.deadline = deadline or Deadline()
        arrays = product.domain.arrays
        table = product.table
        bounds = bound_all(
            arrays.reward[arrays.probability > 0],
            table,
            table.reward[table.target < table.first_final],
            discount,
            outcomes=product.next.shape[2],
        )
        self.slack = bounds.slack
        self.margin = bounds.slack / (1 - discount)
        """The rounding error of all updates together, at most."""
        self.all = bounds._replace(low=bounds.low - self.margin, high=bounds.high + self.margin)
        """Bounds for every policy and every state."""

    @cached_property
    def by_top(self) -> tuple[Floats, Floats] | None:
        """Lower and upper bounds of optimal values, each [environment state, machine state, top].

        None if values grow with the height of the stack, or the discount is 0.
        """
        product, every = self.product, self.all
        if every.low_slope or every.high_slope or not self.discount:
            return None
        arrays, table = product.domain.arrays, product.table
        moves = EnvMoves(
            arrays.next, arrays.label, arrays.reward, product.probability, arrays.terminal
        )
        close = 1e-9 * (1 + every.high - every.low)
        bounds = []
        for sign, bound in ((-1.0, every.low), (1.0, every.high)):
            value = np.full((len(arrays.terminal), *table.silent.shape), bound)
            value[:, table.first_final :] = 0.0
            sweeps = 0
            done = False
            while not done and sweeps < MAX_SWEEPS and not self.deadline.over:
                done = narrow_by_top(
                    moves, table, self.discount, sign, 0.0, 0.0, close, SWEEPS_PER_CALL, value
                )
                sweeps += SWEEPS_PER_CALL
            bounds.append(value / self.discount + sign * self.margin)
        return bounds[0], bounds[1]

    def bound_optimal(self, first: int) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the optimal values of the states from number `first` on."""
        if self.by_top is None:
            return self.bound_every_policy(first)
        states, count = self.product.states, len(self.product)
        lower, upper = self.by_top
        top = self.product.stacks.symbol[states.node[first:count]]
        head = states.env_state[first:count], states.state[first:count], top
        return lower[head], upper[head]

    def bound_every_policy(self, first: int) -> tuple[Floats, Floats]:
        """Bounds of the values of every policy, for the states from number `first` on."""
        product, every = self.product, self.all
        height = product.stacks.height[product.states.node[first : len(product)]].astype(float)
        return every.low - every.low_slope * height, every.high + every.high_slope * height


# --- Silent moves


@dataclass(frozen=True, slots=True)
class SilentMoveBound:
    """A bound on the discounted number of silent moves in n steps from a stack of height h.

    It is `per_step` for each step plus `per_symbol * h`.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> bound_silent_moves(tabulate(catalogue("paint"), [frozenset({"soap_3"})]))
    SilentMoveBound(per_step=5, per_symbol=0, pushed=4)
    """

    per_step: int
    per_symbol: int
    pushed: int
    """The maximum number of symbols that a step adds to the stack."""

    @property
    def grows(self) -> bool:
        """True if the number grows with the height of the stack."""
        return self.per_symbol > 0


def bound_silent_moves(table: Table) -> SilentMoveBound:
    """Bound the number of silent moves, for a machine without endless ones."""
    max_moves = 0
    """The maximum number of silent moves until one symbol and all that replaces it are popped."""
    after_pop = dict[int, set[int]]()
    """For each state, the states in which such a symbol can be gone."""
    for state, symbol in np.argwhere(table.silent >= 0).tolist():
        u = state
        stack = [symbol]
        moves = 0
        while stack and (move := int(table.silent[u, stack[-1]])) != NO_MOVE:
            del stack[len(stack) - table.pops[move] :]
            stack += table.push[move, : table.pushes[move]].tolist()
            u = int(table.target[move])
            moves += 1
        max_moves = max(max_moves, moves)
        if not stack:
            after_pop.setdefault(state, set()).add(u)
    pushed = (int(table.pushes.max(initial=0)) + 1) * (1 + max_moves)
    popped = 0
    states = set(after_pop)
    while states and popped <= len(after_pop):
        states = {u for state in states for u in after_pop[state]} & after_pop.keys()
        popped += 1
    if states:  # a cycle: silent moves can pop any number of symbols
        return SilentMoveBound(max_moves * (1 + pushed), max_moves, pushed)
    return SilentMoveBound(max_moves * (popped + 1), 0, pushed)
