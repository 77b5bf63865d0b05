"""Making certificates from what the solver found; `checker` then says what each proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from pdrm.analysis.best_policy import Loss, bound_policy
from pdrm.analysis.certificate import Certificate, Entry, Line
from pdrm.analysis.checker import Check, Exit
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.solving import PRECISION
from pdrm.analysis.values import ExploredValues, Interval, SolvedValues, ValuedProduct
from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.errors import BadCertificate, DoesNotApply, OutOfTime
from pdrm.machines.tables import tabulate
from pdrm.product.finite_kernel import Floats, Numbers
from pdrm.product.finite_product import FiniteProduct
from pdrm.task import Task

MOST_HEADS, MOST_LINES = 5_000, 100_000
"""Entries and lines of a certificate at most: checking them in fractions takes minutes otherwise."""
ROUNDS, INWARDS = 30, 3
"""Of finding ranges; in the first of them those that hold may become narrower."""
WIDER = 1e-13
"""The share of the largest worth by which ranges that do not hold are widened."""
Rows = tuple[tuple[int, str, tuple[str, ...], str], ...]
Heads = dict[tuple[Exit, str | None], tuple[float, tuple[Line, ...]]]
"""The constant and the lines of each head."""


def certify_start(
    task: Task, values: ValuedProduct, k: int, loss: Loss, policy: Rows
) -> Certificate:
    """Certify what a k-policy loses from the start."""
    blank = _blank(task, values.discount, "start", k, policy)
    product, worst = values.product, Check(task, blank).worst
    floor = values.worst if worst is None else np.full(len(product), worst / values.discount, float)
    reached, lower = bound_policy(values, loss, floor)
    named = _list_states(product, values.discount * lower, reached)
    listed = replace(blank, lower=tuple((*one[:3], one[4] or 0.0) for one in named))
    if isinstance(values, ExploredValues) or values.closed:
        listed = replace(listed, entries=_list_upper(values))
    if not values.closed:
        listed = _list_heads(task, values, listed)
    return _claim(task, listed)


def certify_everywhere(
    task: Task,
    values: ValuedProduct,
    k: int,
    deadline: Deadline | None = None,
    tolerance: float = inf,
) -> Certificate:
    """Certify what a k-policy loses from every state: of a finite product, else however high the stack is.

    It is given up after the deadline, and once a class has no action that loses at most `tolerance` in one step.
    """

    def on_step() -> None:
        if deadline is not None and deadline.over:
            raise OutOfTime("there was no time for every stack", fix="allow more seconds")

    listed = _blank(task, values.discount, "everywhere", k, ())
    if values.closed:
        listed = replace(listed, entries=_list_upper(values))
    else:
        listed = _list_heads(task, values, listed, on_step)
    check = Check(task, listed, on_step)
    worst: dict[tuple[int, str, tuple[str, ...]], list[Fraction]] = {}
    try:
        for view in check.views():
            e, symbols = view
            gaps = [check.measure_gap(view, row) for row in check.rows(e, symbols[0])]
            seen = (*e, tuple(symbol for symbol in symbols[:k] if symbol is not None))
            worst[seen] = list(map(max, gaps, worst.get(seen, gaps)))
            if min(worst[seen]) > tolerance:
                raise DoesNotApply(f"k = {k} may not be enough", fix="use a larger k")
    except BadCertificate as error:
        raise DoesNotApply(error.message, fix="ask about the start alone") from None
    actions = task.finite.actions
    rows = tuple((*seen, actions[gaps.index(min(gaps))]) for seen, gaps in worst.items())
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


def _list_upper(values: ValuedProduct) -> tuple[Entry, ...]:
    """Entries for the whole stacks of all states that were expanded."""
    worth = (values.lower + values.upper) / 2 if values.closed else values.upper
    expanded = np.flatnonzero(values.product.expanded)
    return _list_states(values.product, values.discount * worth, expanded)


def _list_states(product: FiniteProduct, worth: Floats, states: Numbers) -> tuple[Entry, ...]:
    """Entries for the whole stacks of some states."""
    place, worths = product.place, worth.tolist()
    return tuple(
        (int(place[x]), product.machine_state(x), product.stack(x), True, worths[x], ())
        for x in states.tolist()
    )


def _list_heads(
    task: Task,
    values: ValuedProduct,
    blank: Certificate,
    on_step: Callable[[], None] = lambda: None,
) -> Certificate:
    """Add entries for heads with any stack below, and ranges that hold."""
    check = Check(task, blank, on_step)
    if blank.question == "start" and isinstance(values, ExploredValues):
        heads, known = _list_tops(task, values, check)
    else:
        heads, known = _list_operators(task, values, check)
    named = (
        (*e, () if symbol is None else (symbol,), symbol is None, *worth)
        for (e, symbol), worth in heads.items()
    )
    whole = {entry[:4] for entry in blank.entries}
    entries = (*blank.entries, *(entry for entry in named if entry[:4] not in whole))
    if len(heads) > MOST_HEADS or sum(len(entry[5]) for entry in entries) > MOST_LINES:
        fault = "the task is too large to certify"
        raise DoesNotApply(fault, fix="use a smaller domain or machine")
    listed = replace(blank, entries=entries)
    check = Check(task, listed, on_step)
    wider = Fraction(WIDER * max((abs(end) for ends in known.values() for end in ends), default=0))
    for turn in range(ROUNDS):
        check.range |= {e: (Fraction(low), Fraction(high)) for e, (low, high) in known.items()}
        found = {e: check.reach(e) for e in known}
        holds = all(known[e][0] <= low and high <= known[e][1] for e, (low, high) in found.items())
        if holds and turn >= INWARDS:
            break
        for e, (low, high) in found.items():
            if not holds:
                low = min(low, check.range[e][0]) - wider
                high = max(high, check.range[e][1]) + wider
            known[e] = nextafter(float(low), -inf), nextafter(float(high), inf)
    return replace(listed, ranges=tuple((*e, *ends) for e, ends in known.items()))


def _list_tops(
    task: Task, values: ExploredValues, check: Check
) -> tuple[Heads, dict[Exit, Interval]]:
    """Constants for all heads that occur, and the ranges of these."""
    heads, known = Heads(), dict[Exit, Interval]()
    for e, tops in check.tops.items():
        acting = [top for top in tops if check.rows(e, top)]
        if values.upper_by_top is None:
            fault = "values grow with the height of the stack"
            raise DoesNotApply(fault, fix="pay in the rules that read a label")
        found = [
            values.discount * float(values.upper_by_top[_number(task, e, top)]) for top in acting
        ]
        heads.update(((e, top), (c, ())) for top, c in zip(acting, found, strict=True))
        known[e] = min(found, default=0.0), max(found, default=0.0)
    return heads, known


def _list_operators(
    task: Task, values: ValuedProduct, check: Check
) -> tuple[Heads, dict[Exit, Interval]]:
    """The operators of all heads from which nothing depends on chance, and the ranges of their exits."""
    solver = (
        values.solution.solver
        if isinstance(values, SolvedValues)
        else solve_certain(task, values.discount)
    )
    names = (*task.pushdown.states, *task.pushdown.final)
    after = {
        (e, seen[0]): {
            (to, top)
            for to, pushed in check.after(e, seen[0])
            for top in pushed[:1] or check.tops.get(to, ())
        }
        for e, seen in check.occurring
        if all(len(row) == 1 for row in check.rows(e, seen[0]))
    }
    while uncertain := [head for head in after if not after[head] <= after.keys()]:
        for head in uncertain:
            del after[head]
    heads, known = Heads(), dict[Exit, Interval]()
    for e, top in after:
        if check.rows(e, top):
            constant, lines = solver.read(*_number(task, e, top))
            over = [c for c, _, _, u in lines if names[u] in task.pushdown.final]
            kept = [line for line in lines if names[line[3]] not in task.pushdown.final]
            known |= {(s, names[u]): solver.range(s, u) for _, _, s, u in kept}
            heads[e, top] = (
                max([constant, *over]), tuple((t, c, s, names[u]) for c, t, s, u in kept)
            )  # fmt: skip
    return heads, known


def solve_certain(task: Task, discount: float) -> WholeStack:
    """Operators of a task with chance, valid at heads from which nothing depends on chance."""
    arrays = task.finite.arrays
    world = world_of(arrays)
    random = (arrays.probability > 0).sum(axis=2) > 1
    known = world._replace(next=np.where(random, -1, world.next).astype(np.int32))
    table = tabulate(task.pushdown, task.finite.labels)
    return WholeStack(known, table, discount, precision=PRECISION)


def _number(task: Task, e: Exit, top: str | None) -> tuple[int, int, int]:
    """A head in numbers."""
    return e[0], task.pushdown.states.index(e[1]), (None, *task.pushdown.stack).index(top)
