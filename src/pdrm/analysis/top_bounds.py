"""Bounds of the value of a configuration that has not been explored, by its top symbol and the height of its stack.

A step is bounded by every outcome it can have, whatever lies below the top symbol. If silent moves that pop are paid, values grow
with the height of the stack, and then they are bounded by A + B · height alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.values_kernel import TopSteps, tighten_by_top
from pdrm.analysis.whole_stack import measure_silence
from pdrm.errors import BadSetting, NoDiscount
from pdrm.machines.tables import Table
from pdrm.product.finite_kernel import FiniteProduct, Floats

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
LARGEST = 1e280
"""The largest value whose rounding still fits in a float."""
SWEEPS = 2_000
MOST_OUTCOMES = 10_000
"""Outcomes of one step that are followed at most."""


def check_discount(discount: float) -> None:
    """Refuse a discount with which values have no bounds."""
    if not 0 <= discount < 1:
        raise NoDiscount(
            f"the discount is {discount:g}, and values that are not discounted may be infinite",
            fix="use a number from 0 to below 1, such as 0.99",
        )


class Bounds(NamedTuple):
    """Between which numbers every value lies, for any policy: from `low - low_slope · height` to `high + high_slope · height`."""

    low: float
    high: float
    low_slope: float
    high_slope: float
    slack: float
    """More than the arithmetic of one update of a value can be wrong."""


def bound_all(product: FiniteProduct, discount: float) -> Bounds:
    """Bound the value of every policy: as if each step paid the least, or the most, that any step pays."""
    arrays, table, gap = product.domain.arrays, product.table, 1.0 - discount
    own = arrays.reward[arrays.probability > 0]
    final = table.target >= table.first_final
    ends = bool(arrays.terminal.any()) or product.bound.rule != "open"
    silent = table.silent[table.silent >= 0]
    silence = measure_silence(table)
    chain = silence.per_step
    ranges, slopes = [], []
    for extreme in (np.min, np.max):
        step = float(extreme(own, initial=0.0) if not own.size else extreme(own))
        free = float(extreme([*table.reward[silent], 0.0]))
        lasting = table.reward if ends else table.reward[~final]
        on = step + float(extreme(lasting)) + chain * free
        off = step + float(extreme(table.reward)) + chain * free
        ranges.append(float(extreme([on / gap, off])))
        slopes.append(silence.per_symbol * abs(free))
    (low, high), largest = ranges, float(np.abs(own).max(initial=0.0))
    size = largest + float(np.abs(table.reward).max(initial=0.0)) * (2 + chain)
    size += max(abs(low), abs(high))
    if not size < LARGEST:
        raise BadSetting(
            f"rewards of {largest:g} add up to more than a float can hold",
            fix="use smaller rewards, or a discount further below 1",
        )
    slack = 4 * (product.next.shape[2] + 3 + chain) * (EPSILON * size + TINY)
    margin = slack / gap
    return Bounds(low - margin, high + margin, slopes[0], slopes[1], slack)


def abstract_steps(table: Table) -> TopSteps | None:
    """Find all outcomes of all steps of a machine, or None if there are too many.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> steps = abstract_steps(tabulate(catalogue("echo"), [frozenset({"a"})]))
    >>> steps.top[steps.first[0, 0, 1] : steps.first[0, 0, 2]].tolist()
    [2]
    """
    states, labels, tops = table.move.shape
    first = np.zeros((states, labels, tops + 1), np.int32)
    rows: list[tuple[int, int, float]] = []
    known: dict[tuple[int, int], list[tuple[int, int, float]] | None] = {}
    for u in range(table.first_final):
        for label in range(labels):
            for top in range(tops):
                first[u, label, top] = len(rows)
                move = int(table.move[u, label, top])
                if (move, top) not in known:
                    known[move, top] = _find_outcomes(table, move, top)
                found = known[move, top]
                if found is None:
                    return None
                rows += found
            first[u, label, tops] = len(rows)
    state, top_after, paid = zip(*rows, strict=True) if rows else ((), (), ())
    return TopSteps(
        first, np.array(state, np.int32), np.array(top_after, np.int32), np.array(paid, np.float64)
    )


def _find_outcomes(table: Table, move: int, top: int) -> list[tuple[int, int, float]] | None:
    """State, top and pay after a move and its silent moves, for every stack below the top symbol."""
    if move < 0:
        return []
    todo = [(move, (top,) if top else (), top == 0, 0.0)]
    """A move to take, the known symbols top first, whether the stack ends below them, what was paid."""
    seen, found = set(todo), set[tuple[int, int, float]]()
    while todo:
        taken, symbols, ends, paid = todo.pop()
        u = int(table.target[taken])
        pushed = tuple(reversed(table.push[taken, : table.pushes[taken]].tolist()))
        after = pushed + symbols[int(table.pops[taken]) :]
        paid += float(table.reward[taken])
        stacks = [(after, ends)]
        if not after and not ends:  # any symbol may be revealed, or the end of the stack
            stacks = [((symbol,), False) for symbol in range(1, table.move.shape[2])] + [((), True)]
        for stack, over in stacks:
            shown = stack[0] if stack else 0
            silent = int(table.silent[u, shown])
            following = silent, stack, over, paid
            if silent < 0:
                found.add((u, shown, paid))
            elif following not in seen:
                seen.add(following)
                todo.append(following)
        if len(seen) > MOST_OUTCOMES:
            return None
    return sorted(found)


def bound_by_top(
    product: FiniteProduct, discount: float, bounds: Bounds, deadline: Deadline
) -> tuple[Floats, Floats] | None:
    """Lower and upper bounds of optimal values by [environment state, machine state, top symbol]; None if only those of all are known."""
    if product.bound.rule != "open" or bounds.low_slope or bounds.high_slope:
        return None
    table = product.table
    steps = abstract_steps(table)
    if steps is None:
        return None
    world = product.domain.arrays._replace(probability=product.probability)
    shape = len(world.terminal), table.move.shape[0], table.move.shape[2]
    precision = 1e-9 * (1 + bounds.high - bounds.low)
    found = []
    for sign, value in ((-1.0, bounds.low), (1.0, bounds.high)):
        values = np.full(shape, value)
        sweeps, done = 0, False
        while not done and sweeps < SWEEPS and not deadline.over:
            done = tighten_by_top(
                steps, world, table.first_final, discount, precision, bounds.slack, 50, sign, values
            )
            sweeps += 50
        found.append(values)
    return found[0], found[1]
