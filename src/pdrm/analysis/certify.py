"""Making certificates from what the solver found; `checker` then says what each proves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from pdrm.analysis.best_policy import LossBounds, bound_policy, name_state
from pdrm.analysis.certificate import Certificate, Entry, Stack, refuse_faults
from pdrm.analysis.checker import Check
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.solving import PRECISION
from pdrm.analysis.stepped_product import ControlState
from pdrm.analysis.values import ExploredValues, Interval, SolvedValues, ValuedProduct
from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.errors import DoesNotApply, OutOfTime
from pdrm.machines.tables import tabulate
from pdrm.task import Task

MAX_HEADS, MAX_LINES = 5_000, 100_000
"""Entries and lines of a certificate at most: checking them in fractions takes minutes otherwise."""
ROUNDS, INWARDS = 30, 3
"""The most iterations for the ranges; in the first few, ranges that hold may also shrink (Echo needs it)."""
WIDER = 1e-13
"""The share of the largest worth by which ranges that do not hold are widened."""
Ranges = dict[ControlState, Interval]


@refuse_faults()
def certify_start(task: Task, values: ValuedProduct, loss: LossBounds) -> Certificate:
    """Certify what a k-policy loses from the start."""
    maker = _CertificateBuilder(task, values, Deadline())
    product = values.product
    policy = tuple((*seen, action) for seen, action in loss.rows().items())
    listed = replace(maker.blank("start", loss.classes.k), policy=policy)
    worst = Check(task, listed).worst
    floor = values.worst
    if worst is not None:
        floor = np.full(len(product), worst / values.discount, float)
    reached, lower = bound_policy(values, loss, floor)
    worth = (values.discount * lower).tolist()
    named = tuple((*name_state(product, x), worth[x]) for x in reached.tolist())
    listed = replace(listed, lower=named)
    if isinstance(values, ExploredValues) or values.closed:
        listed = maker.add_states(listed)
    if not values.closed:
        listed = maker.add_heads(listed)
    return maker.claim(listed)


@refuse_faults()
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
    maker = _CertificateBuilder(task, values, deadline or Deadline())
    blank = maker.blank("everywhere", k)
    listed = maker.add_states(blank) if values.closed else maker.add_heads(blank)
    check = maker.check(listed)
    worst: dict[tuple[int, str, tuple[str, ...]], list[Fraction]] = {}
    for view in check.views():
        e, symbols = view
        gaps = [check.measure_gap(view, row) for row in check.rows(e, symbols[0])]
        seen = check.see(view)
        worst[seen] = list(map(max, gaps, worst.get(seen, gaps)))
        if min(worst[seen]) > tolerance:
            raise DoesNotApply(f"k = {k} may not be enough", fix="use a larger k")
    actions = task.finite.actions
    rows = tuple((*seen, actions[gaps.index(min(gaps))]) for seen, gaps in worst.items())
    return maker.claim(replace(listed, policy=rows))


class _CertificateBuilder:
    """What the solver found of a task, as entries of a certificate."""

    def __init__(self, task: Task, values: ValuedProduct, deadline: Deadline) -> None:
        self.task, self.values, self.deadline = task, values, deadline
        self.names = (*task.pushdown.states, *task.pushdown.final)
        self.symbols = (None, *task.pushdown.stack)

    def check(self, certificate: Certificate) -> Check:
        """The checker of a certificate, which ends at the deadline."""

        def on_step() -> None:
            if self.deadline.over:
                raise OutOfTime("there was no time for every stack", fix="allow more seconds")

        return Check(self.task, certificate, on_step)

    def blank(self, question: str, k: int) -> Certificate:
        """A certificate without any entry."""
        machine = None if self.task.text is None else self.task.pushdown.name
        domain, discount = self.task.finite.name, self.values.discount
        return Certificate(question, k, discount, domain, machine, 0.0, (), (), (), ())

    def claim(self, certificate: Certificate) -> Certificate:
        """A certificate that claims what it proves."""
        bound = self.check(certificate).bound()
        return replace(certificate, bound=nextafter(float(bound), inf))

    def add_states(self, certificate: Certificate) -> Certificate:
        """Add entries for the whole stacks of all states that were expanded."""
        values = self.values
        upper = (values.lower + values.upper) / 2 if values.closed else values.upper
        worth = (values.discount * upper).tolist()
        entries = tuple(
            (*name_state(values.product, x), True, worth[x], ())
            for x in np.flatnonzero(values.product.expanded).tolist()
        )
        return replace(certificate, entries=entries)

    def add_heads(self, certificate: Certificate) -> Certificate:
        """Add entries for heads with any stack below, and ranges that hold."""
        check = self.check(certificate)
        if certificate.question == "start" and isinstance(self.values, ExploredValues):
            heads, known = self.list_tops(check, self.values)
        else:
            heads, known = self.list_operators(check)
        listed = {entry[:4] for entry in certificate.entries}
        entries = (*certificate.entries, *(one for one in heads if one[:4] not in listed))
        if len(heads) > MAX_HEADS or sum(len(entry[5]) for entry in entries) > MAX_LINES:
            fault = "the task is too large to certify"
            raise DoesNotApply(fault, fix="use a smaller domain or machine")
        certificate = replace(certificate, entries=entries)
        check = self.check(certificate)
        largest = max((abs(end) for ends in known.values() for end in ends), default=0)
        wider = Fraction(WIDER * largest)
        for turn in range(ROUNDS):
            check.range |= {e: (Fraction(low), Fraction(high)) for e, (low, high) in known.items()}
            found = {e: check.reach(e) for e in known}
            holds = all(
                known[e][0] <= low and high <= known[e][1] for e, (low, high) in found.items()
            )
            if holds and turn >= INWARDS:
                break
            for e, (low, high) in found.items():
                if not holds:
                    low = min(low, check.range[e][0]) - wider
                    high = max(high, check.range[e][1]) + wider
                known[e] = nextafter(float(low), -inf), nextafter(float(high), inf)
        return replace(certificate, ranges=tuple((*e, *ends) for e, ends in known.items()))

    def list_tops(self, check: Check, values: ExploredValues) -> tuple[list[Entry], Ranges]:
        """Constants for all heads that occur, and the ranges of these."""
        heads, known, bounds = list[Entry](), Ranges(), values.frontier.by_top
        if bounds is None:
            fault = "values grow with the height of the stack"
            raise DoesNotApply(fault, fix="pay in the rules that read a label")
        for (s, u), tops in check.tops.items():
            found = []
            for top in tops:
                if check.rows((s, u), top):
                    at = s, self.names.index(u), self.symbols.index(top)
                    found.append(values.discount * float(bounds[1][at]))
                    heads.append((s, u, *_known_top(top), found[-1], ()))
            known[s, u] = min(found, default=0.0), max(found, default=0.0)
        return heads, known

    def list_operators(self, check: Check) -> tuple[list[Entry], Ranges]:
        """The operators of all heads from which nothing depends on chance, and the ranges of their exits."""
        values = self.values
        if isinstance(values, SolvedValues):
            solver = values.solver
        else:
            solver = solve_certain(self.task, values.discount)
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
        heads, known = list[Entry](), Ranges()
        for e, top in after:
            if check.rows(e, top):
                at = e[0], self.names.index(e[1]), self.symbols.index(top)
                constant, lines = solver.read(*at)
                known |= {(s, self.names[u]): solver.range(s, u) for _, _, s, u in lines}
                named = tuple((t, c, s, self.names[u]) for c, t, s, u in lines)
                heads.append((*e, *_known_top(top), constant, named))
        return heads, known


def _known_top(top: str | None) -> tuple[Stack, bool]:
    """The symbols that are known if the top one is, and True if these are the whole stack."""
    return () if top is None else (top,), top is None


def solve_certain(task: Task, discount: float) -> WholeStack:
    """Operators of a task with chance, valid at heads from which nothing depends on chance."""
    arrays = task.finite.arrays
    world = world_of(arrays)
    random = (arrays.probability > 0).sum(axis=2) > 1
    known = world._replace(next=np.where(random, -1, world.next).astype(np.int32))
    table = tabulate(task.pushdown, task.finite.labels)
    return WholeStack(known, table, discount, precision=PRECISION)
