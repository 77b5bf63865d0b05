"""Bounds of values that are known before anything is solved: for every policy, and for the best one by the top of the stack alone.

If silent moves that pop are paid, values grow with the height of the stack, and are bounded by A + B · height alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.values_kernel import narrow_by_top
from pdrm.errors import BadSetting, NoDiscount
from pdrm.machines.tables import NO_MOVE, Table
from pdrm.product.finite_kernel import FiniteProduct, Floats

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
LARGEST = 1e280
"""The largest value whose rounding still fits in a float."""
SWEEPS = 2_000
BETWEEN = 50
"""Sweeps between two looks at the clock."""


def check_discount(discount: float) -> None:
    """Refuse a discount with which values have no bounds."""
    if not 0 <= discount < 1:
        raise NoDiscount(
            f"the discount is {discount:g}, and values that are not discounted may be infinite",
            fix="use a number from 0 to below 1, such as 0.99",
        )


# --- For every policy


class Bounds(NamedTuple):
    """Between which numbers every value lies: from `low - low_slope · height` to `high + high_slope · height`."""

    low: float
    high: float
    low_slope: float
    high_slope: float
    slack: float
    """More than the arithmetic of one update of a value can be wrong."""


def bound_all(
    own: Floats,
    table: Table,
    lasting: Floats,
    silence: Silence,
    discount: float,
    outcomes: int = 1,
) -> Bounds:
    """Bound the value of every policy: as if each step paid the least, or the most, that any step pays.

    Args:
        own: What the environment pays.
        table: The machine.
        lasting: What its moves pay after which an episode may continue.
        silence: Its silent moves.
        discount: γ.
        outcomes: The outcomes of an action, at most.
    """
    silent_paid = table.reward[table.silent[table.silent != NO_MOVE]]
    ends, slopes = [], []
    for extreme in (np.min, np.max):
        paid = extreme(own, initial=0.0)
        each = float(extreme(silent_paid, initial=0.0))
        silent = silence.per_step * each
        for_ever = (paid + extreme(lasting) + silent) / (1 - discount) + silent
        ends.append(float(extreme([for_ever, paid + extreme(table.reward) + silent])))
        slopes.append(silence.per_symbol * abs(each))
    largest = float(np.abs(own).max(initial=0.0))
    size = largest + float(np.abs(table.reward).max()) * (2 + silence.per_step)
    size += max(map(abs, ends))
    if not size < LARGEST:
        raise BadSetting(
            f"rewards of {largest:g} add up to more than a float can hold",
            fix="use smaller rewards, or a discount further below 1",
        )
    slack = 4 * (outcomes + 3 + silence.per_step) * (EPSILON * size + TINY)
    return Bounds(ends[0], ends[1], slopes[0], slopes[1], slack)


# --- By the top of the stack


class FrontierBounds:
    """Bounds on the values of a product's states without exploring further."""

    def __init__(
        self, product: FiniteProduct, discount: float, deadline: Deadline | None = None
    ) -> None:
        self.product, self.discount, self.deadline = product, discount, deadline or Deadline()
        arrays = product.domain.arrays
        own = arrays.reward[arrays.probability > 0]
        table, outcomes = product.table, product.next.shape[2]
        lasting = table.reward[table.target < table.first_final]
        found = bound_all(own, table, lasting, measure_silence(table), discount, outcomes)
        self.slack = found.slack
        self.margin = found.slack / (1 - discount)
        """More than the arithmetic of all updates can be wrong."""
        self.all = found._replace(low=found.low - self.margin, high=found.high + self.margin)

    @cached_property
    def by_top(self) -> tuple[Floats, Floats] | None:
        """Lower and upper bounds of optimal values by [environment state, machine state, top symbol], if those of all can be narrowed."""
        product, every = self.product, self.all
        if every.low_slope or every.high_slope or not self.discount:
            return None
        arrays, table = product.domain.arrays, product.table
        close = 1e-9 * (1 + every.high - every.low)
        found = []
        for sign, bound in ((-1.0, every.low), (1.0, every.high)):
            value = np.full((len(arrays.terminal), *table.silent.shape), bound)
            value[:, table.first_final :] = 0.0
            sweeps, done = 0, False
            while not done and sweeps < SWEEPS and not self.deadline.over:
                done = narrow_by_top(
                    arrays.next, arrays.label, arrays.reward, product.probability, arrays.terminal,
                    table, self.discount, sign, 0.0, 0.0, close, BETWEEN, value,
                )  # fmt: skip
                sweeps += BETWEEN
            found.append(value / self.discount + sign * self.margin)
        return found[0], found[1]

    def of(self, begin: int) -> tuple[Floats, Floats]:
        """Bounds of the optimal values of the states from number `begin` on."""
        if self.by_top is None:
            return self.of_all(begin)
        states, count = self.product.states, len(self.product)
        top = self.product.stacks.symbol[states.node[begin:count]]
        at = states.env_state[begin:count], states.state[begin:count], top
        return self.by_top[0][at], self.by_top[1][at]

    def of_all(self, begin: int) -> tuple[Floats, Floats]:
        """Bounds of the values of every policy."""
        product, every = self.product, self.all
        height = product.stacks.height[product.states.node[begin : len(product)]].astype(float)
        return every.low - every.low_slope * height, every.high + every.high_slope * height


# --- Silent moves


@dataclass(frozen=True, slots=True)
class Silence:
    """A bound on the number of silent moves: in n steps from a stack of height h, counted with the
    discount, at most `per_step` for each step, and `per_symbol * h`.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> measure_silence(tabulate(catalogue("paint"), [frozenset({"soap_3"})]))
    Silence(per_step=5, per_symbol=0, pushed=4)
    """

    per_step: int
    per_symbol: int
    pushed: int
    """The symbols that a step adds to the stack, at most."""

    @property
    def grows(self) -> bool:
        """True if their number grows with the height of the stack."""
        return self.per_symbol > 0


def measure_silence(table: Table) -> Silence:
    """Count silent moves; there must be no endless ones, which a machine is checked for."""
    each, revealed = 0, dict[int, set[int]]()
    """The most that one symbol takes to go; and by state the states in which it is gone."""
    for state, symbol in np.argwhere(table.silent >= 0).tolist():
        u, left, moves = state, [symbol], 0
        while left and (move := int(table.silent[u, left[-1]])) != NO_MOVE:
            del left[len(left) - table.pops[move] :]
            left += table.push[move, : table.pushes[move]].tolist()
            u, moves = int(table.target[move]), moves + 1
        each = max(each, moves)
        if not left:
            revealed.setdefault(state, set()).add(u)
    pushed = (int(table.pushes.max(initial=0)) + 1) * (1 + each)
    popped, here = 0, set(revealed)
    while here and popped <= len(revealed):
        here = {u for state in here for u in revealed[state]} & revealed.keys()
        popped += 1
    if here:  # as many symbols go at once as there are
        return Silence(each * (1 + pushed), each, pushed)
    return Silence(each * (popped + 1), 0, pushed)
