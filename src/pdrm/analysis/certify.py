"""Making certificates from what the solver found; `checker` then says what each proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from pdrm.analysis.best_policy import Classes, Loss, bound_policy
from pdrm.analysis.certificate import Certificate, Entry
from pdrm.analysis.checker import END, Check, Exit
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.operator_arrays import OperatorArrays, solve_certain
from pdrm.analysis.regret import measure_gaps
from pdrm.analysis.values import ExploredValues, SolvedValues, ValuedProduct
from pdrm.errors import DoesNotApply, OutOfTime
from pdrm.product.finite_kernel import Floats, Numbers
from pdrm.product.finite_product import FiniteProduct
from pdrm.task import Task

MOST_HEADS, MOST_LINES = 5_000, 100_000
"""Entries and lines of a certificate at most: checking them in fractions takes minutes otherwise."""
ROUNDS = 30
"""Of widening ranges until they hold."""
INWARDS = 3
WIDER = 1e-9
"""The share of the largest worth by which ranges are widened, so that they hold."""
TINY = 1e-30
"""The same once they are as narrow as they become."""
Rows = tuple[tuple[int, str, tuple[str, ...], str], ...]


def certify_start(
    task: Task, values: ValuedProduct, k: int, loss: Loss, policy: Rows
) -> Certificate:
    """Certify what a k-policy loses from the start."""
    blank = _blank(task, values.discount, "start", k, policy)
    if isinstance(values, SolvedValues) and values.closed:
        worth = values.discount * (values.lower + values.upper) / 2
        states = np.arange(len(values.product))
        return _claim(task, replace(blank, entries=_list_states(values.product, worth, states)))
    if isinstance(values, SolvedValues):
        return _claim(task, _list_heads(task, values, blank))
    assert isinstance(values, ExploredValues)
    lower, product = bound_policy(values, loss), values.product
    entries = _list_states(
        product, values.discount * values.upper, np.flatnonzero(product.expanded)
    )
    reached = np.flatnonzero(np.isfinite(lower) & product.expanded)
    named = tuple(
        (s, u, stack, c or 0.0)
        for s, u, stack, _, c, _ in _list_states(product, values.discount * lower, reached)
    )
    listed = replace(blank, entries=entries, lower=named)
    by_top = values.upper_by_top
    if not values.closed and by_top is not None:
        listed = _list_tops(task, listed, values.discount * by_top)
    return _claim(task, listed)


def certify_everywhere(task: Task, values: ValuedProduct, k: int) -> Certificate:
    """Certify what a k-policy loses from every state: of a finite product, else with any stack."""
    if not values.closed:
        return certify_every_stack(task, values, k)
    product = values.product
    klass = Classes(product, k)
    number = klass.update()[: len(product)]
    worst = np.zeros((len(klass), product.next.shape[1]))
    np.maximum.at(worst, number, measure_gaps(values)[1])
    rows = []
    for c, action in enumerate(worst.argmin(axis=1).tolist()):
        x = int(klass.member[c])
        seen = product.stack(x)[:k]
        rows.append(
            (int(product.place[x]), product.machine_state(x), seen, product.domain.actions[action])
        )
    blank = _blank(task, values.discount, "everywhere", k, tuple(rows))
    middle = values.discount * (values.lower + values.upper) / 2
    return _claim(
        task, replace(blank, entries=_list_states(product, middle, np.arange(len(product))))
    )


def certify_every_stack(
    task: Task,
    values: ValuedProduct,
    k: int,
    deadline: Deadline | None = None,
    tolerance: float = inf,
) -> Certificate:
    """Certify what a k-policy loses from every state, however high the stack is.

    It is given up after the deadline, and once a class has no action that loses at most `tolerance` in one step.
    """

    def on_step() -> None:
        if deadline is not None and deadline.over:
            raise OutOfTime("there was no time for every stack", fix="allow more seconds")

    blank = _blank(task, values.discount, "everywhere", k, ())
    listed = _list_heads(task, values, blank, on_step)
    check = Check(task, listed, on_step)
    worst: dict[tuple[int, str, tuple[str, ...]], list[Fraction]] = {}
    for e, cell in sorted(check.occurring):
        top = cell[0] or None
        if (
            check.over(*e)
            or check.silent(e[1], top) is not None
            or len(set(check.effects(*e, top))) == 1
        ):
            continue
        if check.compose(e, cell) is None:
            raise DoesNotApply(
                "moves have chance before the actions differ", fix="ask about the start alone"
            )
        gaps = [check.measure_gap(e, cell, action) for action in range(len(check.domain.actions))]
        seen = tuple(symbol for symbol in cell if symbol)[:k]
        known = worst.setdefault((*e, seen), gaps)
        worst[*e, seen] = [max(pair) for pair in zip(known, gaps, strict=True)]
        if min(worst[*e, seen]) > tolerance:
            raise DoesNotApply(f"k = {k} may not be enough for every stack", fix="use a larger k")
    actions = check.domain.actions
    rows = tuple(
        (s, u, seen, actions[gaps.index(min(gaps))]) for (s, u, seen), gaps in worst.items()
    )
    return _claim(task, replace(listed, policy=rows), on_step)


def _blank(task: Task, discount: float, question: str, k: int, policy: Rows) -> Certificate:
    machine = None if task.text is None else task.pushdown.name
    return Certificate(question, k, discount, task.finite.name, machine, 0.0, (), (), (), policy)


def _claim(
    task: Task, certificate: Certificate, on_step: Callable[[], None] = lambda: None
) -> Certificate:
    """A certificate that claims what it proves."""
    bound = Check(task, certificate, on_step).bound()
    return replace(certificate, bound=nextafter(float(bound), inf))


def _list_states(product: FiniteProduct, worth: Floats, states: Numbers) -> tuple[Entry, ...]:
    return tuple(
        (
            int(product.place[x]),
            product.machine_state(x),
            product.stack(x),
            True,
            float(worth[x]),
            (),
        )
        for x in states.tolist()
    )


def _list_heads(
    task: Task,
    values: ValuedProduct,
    blank: Certificate,
    on_step: Callable[[], None] = lambda: None,
) -> Certificate:
    """Entries for all heads from which nothing depends on chance, and ranges that hold."""
    check = Check(task, blank, on_step)
    if isinstance(values, SolvedValues):
        operators = OperatorArrays(values.solution.solver)
    else:
        operators = OperatorArrays(solve_certain(task, values.discount))
    states = {
        state: number for number, state in enumerate((*task.pushdown.states, *task.pushdown.final))
    }
    symbols = {END: 0} | {
        symbol: number for number, symbol in enumerate(task.pushdown.stack, start=1)
    }
    names = (*task.pushdown.states, *task.pushdown.final)
    entries, lines = list[Entry](), 0
    for e, symbol in sorted(_find_certain(check)):
        if check.over(*e) or check.silent(e[1], symbol or None) is not None:
            continue
        constant, found = operators.read(e[0], states[e[1]], symbols[symbol])
        final = len(task.pushdown.states)
        constant = max([constant, *(c for c, _, _, u in found if u >= final)])
        kept = tuple((t, c, s, names[u]) for c, t, s, u in found if u < final)
        entries.append((*e, (symbol,), False, constant, kept))
        lines += len(kept)
        if len(entries) > MOST_HEADS or lines > MOST_LINES:
            raise DoesNotApply(
                "the task is too large to certify", fix="use a smaller domain or machine"
            )
    listed = replace(blank, entries=tuple(entries))
    exits = {(s, names.index(u)) for entry in entries for _, _, s, u in entry[5]}
    known = {(s, names[u]): operators.range(s, u) for s, u in exits}
    return replace(listed, ranges=_find_ranges(task, listed, known, on_step))


def _list_tops(task: Task, listed: Certificate, worth: Floats) -> Certificate:
    """Entries for all heads that occur, each a constant: [environment state, machine state, symbol]."""
    check = Check(task, listed)
    states = {state: number for number, state in enumerate(task.pushdown.states)}
    symbols = {END: 0} | {
        symbol: number for number, symbol in enumerate(task.pushdown.stack, start=1)
    }
    entries = list(listed.entries)
    ranges: dict[Exit, tuple[float, float]] = {}
    for e, tops in check.tops.items():
        for symbol in sorted(tops):
            if not check.over(*e) and check.silent(e[1], symbol or None) is None:
                constant = float(worth[e[0], states[e[1]], symbols[symbol]])
                entries.append((*e, (symbol,), False, constant, ()))
                low, high = ranges.get(e, (constant, constant))
                ranges[e] = min(low, constant), max(high, constant)
            else:
                ranges.setdefault(e, (0.0, 0.0))
    found = replace(listed, entries=tuple(entries))
    return replace(found, ranges=_find_ranges(task, found, ranges))


def _find_certain(check: Check) -> set[tuple[Exit, str]]:
    """The heads from which nothing depends on chance."""
    certain = {(e, cell[0]) for e, cell in check.occurring}
    after: dict[tuple[Exit, str], set[tuple[Exit, str]]] = {}
    tops = check.tops
    for e, symbol in certain:
        top = symbol or None
        silent = check.silent(e[1], top)
        moves: list[tuple[Exit, tuple[str, ...]]] = []
        if silent is not None:
            moves = [((e[0], silent[1]), silent[2])]
        elif not check.over(*e):
            rows = check.effects(*e, top)
            if any(len(row) > 1 for row in rows):
                continue
            moves = [(row[0].exit, row[0].pushed) for row in rows]
        found = after.setdefault((e, symbol), set())
        for exit_, pushed in moves:
            found |= {(exit_, below) for below in (pushed[:1] or tops.get(exit_, set()))}
    certain = set(after)
    while True:
        left = {head for head in certain if after[head] <= certain}
        if left == certain:
            return certain
        certain = left


def _find_ranges(
    task: Task,
    listed: Certificate,
    known: dict[Exit, tuple[float, float]],
    on_step: Callable[[], None] = lambda: None,
) -> tuple[tuple[int, str, float, float], ...]:
    """Ranges of the worth at every exit that hold if what is below is in them: those known, widened until they do."""
    check = Check(task, listed, on_step)
    scale = max((abs(end) for ends in known.values() for end in ends), default=1.0)
    check.range = {
        e: (Fraction(low - WIDER * scale), Fraction(high + WIDER * scale))
        for e, (low, high) in known.items()
    }
    _widen(check, Fraction(WIDER * scale))
    for _ in range(INWARDS):  # a range that holds may be replaced by what follows from it
        check.range = {
            e: (_round(low, -inf), _round(high, inf))
            for e, (low, high) in ((e, _reach(check, e, None)) for e in check.range)
        }
    _widen(check, Fraction(TINY * scale))
    return tuple(
        (*e, float(_round(low, -inf)), float(_round(high, inf)))
        for e, (low, high) in check.range.items()
    )


def _widen(check: Check, amount: Fraction) -> None:
    """Widen ranges until they hold if what is below is in them."""
    for _ in range(ROUNDS):
        found = {e: _reach(check, e, ends) for e, ends in check.range.items()}
        broken = [e for e, ends in found.items() if ends != check.range[e]]
        for e in broken:
            check.range[e] = found[e][0] - amount, found[e][1] + amount
        if not broken:
            return


def _reach(
    check: Check, e: Exit, known: tuple[Fraction, Fraction] | None
) -> tuple[Fraction, Fraction]:
    """Between which numbers the worth at an exit is, if what is below is in the ranges; and those known."""
    found = [check.extremes(check.demand_worth(e, symbol)) for symbol in check.tops.get(e, ())]
    if known is not None:
        found.append(known)
    ends = found or [check.range[e]]
    return min(one[0] for one in ends), max(one[1] for one in ends)


def _round(number: Fraction, towards: float) -> Fraction:
    return Fraction(nextafter(float(number), towards))
