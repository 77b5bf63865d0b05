"""Make certificates from the results of the solver. `checker` determines what each one proves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from pdrm.analysis.best_policy import LossBounds, bound_policy, name_state
from pdrm.analysis.certificate import Certificate, Entry, Stack, refuse_faults
from pdrm.analysis.checker import Check
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.k_policy import PolicyKey
from pdrm.analysis.solving import PRECISION
from pdrm.analysis.stepped_product import ControlState
from pdrm.analysis.values import ExploredValues, Interval, SolvedValues, ValuedProduct
from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.errors import DoesNotApply, OutOfTime
from pdrm.machines.tables import tabulate
from pdrm.task import Task

MAX_ENTRIES, MAX_LINES = 5_000, 100_000
"""Limits of a certificate: checking more in exact fractions would take minutes."""
MAX_ROUNDS, SHRINKING_ROUNDS = 30, 3
"""Iterations that find ranges. In the first few, valid ranges can still shrink, as in Echo."""
WIDENING = 1e-13
"""The share of the largest value by which invalid ranges are widened."""
Ranges = dict[ControlState, Interval]


@refuse_faults()
def certify_start(task: Task, values: ValuedProduct, loss: LossBounds) -> Certificate:
    """Certify the loss of a k-policy from the start."""
    builder = _CertificateBuilder(task, values, Deadline())
    product = values.product
    policy = tuple((*key, action) for key, action in loss.rows().items())
    certificate = replace(builder.blank("start", loss.classes.k), policy=policy)
    floor = values.floor
    checked_floor = Check(task, certificate).floor
    if checked_floor is not None:
        floor = np.full(len(product), checked_floor / values.discount, float)
    reached, lower = bound_policy(values, loss, floor)
    continuation = (values.discount * lower).tolist()
    listed = tuple((*name_state(product, x), continuation[x]) for x in reached.tolist())
    certificate = replace(certificate, lower=listed)
    if isinstance(values, ExploredValues) or values.closed:
        certificate = builder.add_states(certificate)
    if not values.closed:
        certificate = builder.add_heads(certificate)
    return builder.claim(certificate)


@refuse_faults()
def certify_everywhere(
    task: Task,
    values: ValuedProduct,
    k: int,
    deadline: Deadline | None = None,
    tolerance: float = inf,
) -> Certificate:
    """Certify the loss of a k-policy from every state: of a finite product, else for every stack.

    Args:
        task: The task.
        values: Its values.
        k: The number of symbols that the policy sees.
        deadline: Raises `OutOfTime` after it.
        tolerance: Raises `DoesNotApply` if every action of a class loses more in one step.
    """
    builder = _CertificateBuilder(task, values, deadline or Deadline())
    blank = builder.blank("everywhere", k)
    certificate = builder.add_states(blank) if values.closed else builder.add_heads(blank)
    check = builder.check(certificate)
    max_gaps: dict[PolicyKey, list[Fraction]] = {}
    """The greatest gap of each action in each class."""
    for state in check.checked():
        gaps = [check.measure_gap(state, action) for action in check.actions_at(state)]
        seen = check.policy_input(state)
        max_gaps[seen] = list(map(max, gaps, max_gaps.get(seen, gaps)))
        if min(max_gaps[seen]) > tolerance:
            raise DoesNotApply(f"k = {k} may not be enough", fix="use a larger k")
    names = task.finite.actions
    policy = tuple((*seen, names[gaps.index(min(gaps))]) for seen, gaps in max_gaps.items())
    return builder.claim(replace(certificate, policy=policy))


class _CertificateBuilder:
    """Turns the results of the solver into certificate entries."""

    def __init__(self, task: Task, values: ValuedProduct, deadline: Deadline) -> None:
        self.task = task
        self.values = values
        self.deadline = deadline
        self.states = (*task.pushdown.states, *task.pushdown.final)
        self.symbols = (None, *task.pushdown.stack)

    def check(self, certificate: Certificate) -> Check:
        """The checker of a certificate, which stops at the deadline."""

        def on_step() -> None:
            if self.deadline.over:
                raise OutOfTime("there was no time for every stack", fix="allow more seconds")

        return Check(self.task, certificate, on_step)

    def blank(self, question: str, k: int) -> Certificate:
        """A certificate without entries."""
        machine = None if self.task.text is None else self.task.pushdown.name
        domain, discount = self.task.finite.name, self.values.discount
        return Certificate(question, k, discount, domain, machine, 0.0, (), (), (), ())

    def claim(self, certificate: Certificate) -> Certificate:
        """Set the bound of a certificate to what it proves."""
        bound = self.check(certificate).bound()
        return replace(certificate, bound=nextafter(float(bound), inf))

    def add_states(self, certificate: Certificate) -> Certificate:
        """Add entries for the whole stacks of all expanded states."""
        values = self.values
        upper = (values.lower + values.upper) / 2 if values.closed else values.upper
        continuation = (values.discount * upper).tolist()
        entries = tuple(
            (*name_state(values.product, x), True, continuation[x], ())
            for x in np.flatnonzero(values.product.expanded).tolist()
        )
        return replace(certificate, entries=entries)

    def add_heads(self, certificate: Certificate) -> Certificate:
        """Add entries for heads over any stack, and ranges that hold."""
        check = self.check(certificate)
        if certificate.question == "start" and isinstance(self.values, ExploredValues):
            heads, ranges = self.list_bounds(check, self.values)
        else:
            heads, ranges = self.list_operators(check)
        listed = {entry[:4] for entry in certificate.entries}
        added = [head for head in heads if head[:4] not in listed]
        entries = (*certificate.entries, *added)
        if len(heads) > MAX_ENTRIES or sum(len(entry[5]) for entry in entries) > MAX_LINES:
            raise DoesNotApply(
                "the task is too large to certify", fix="use a smaller domain or machine"
            )
        certificate = replace(certificate, entries=entries)
        self._widen(ranges, self.check(certificate))
        return replace(certificate, ranges=tuple((*e, *ends) for e, ends in ranges.items()))

    def _widen(self, ranges: Ranges, check: Check) -> None:
        """Widen ranges in place until the ranges of the tops over them are within them."""
        largest = max((abs(end) for ends in ranges.values() for end in ends), default=0)
        widening = Fraction(WIDENING * largest)
        for turn in range(MAX_ROUNDS):
            for e, ends in ranges.items():
                check.range[e] = Fraction(ends[0]), Fraction(ends[1])
            of_tops = {e: check.range_of_tops(e) for e in ranges}
            hold = all(
                ranges[e][0] <= low and high <= ranges[e][1] for e, (low, high) in of_tops.items()
            )
            if hold and turn >= SHRINKING_ROUNDS:
                break
            for e, (low, high) in of_tops.items():
                if not hold:
                    low = min(low, check.range[e][0]) - widening
                    high = max(high, check.range[e][1]) + widening
                ranges[e] = nextafter(float(low), -inf), nextafter(float(high), inf)

    def list_bounds(self, check: Check, values: ExploredValues) -> tuple[list[Entry], Ranges]:
        """Entries with the upper bounds by top symbol for all heads that occur, and ranges."""
        bounds = values.frontier.by_top
        if bounds is None:
            raise DoesNotApply(
                "values grow with the height of the stack",
                fix="give rewards in the rules that read a label",
            )
        entries = list[Entry]()
        ranges = Ranges()
        for (s, u), tops in check.tops.items():
            constants = []
            for top in tops:
                if check.outcomes((s, u), top):
                    upper = bounds[1][s, self.states.index(u), self.symbols.index(top)]
                    constants.append(values.discount * float(upper))
                    entries.append((s, u, *_known_top(top), constants[-1], ()))
            ranges[s, u] = min(constants, default=0.0), max(constants, default=0.0)
        return entries, ranges

    def list_operators(self, check: Check) -> tuple[list[Entry], Ranges]:
        """Entries with the operators of all heads with a deterministic future, and ranges."""
        values = self.values
        if isinstance(values, SolvedValues):
            solver = values.solver
        else:
            solver = solve_certain(self.task, values.discount)
        entries = list[Entry]()
        ranges = Ranges()
        for (s, u), top in self._list_deterministic(check):
            if check.outcomes((s, u), top):
                state, symbol = self.states.index(u), self.symbols.index(top)
                constant, lines = solver.read(s, state, symbol)
                for line in lines:
                    e = line.env_state, self.states[line.state]
                    ranges[e] = solver.range(line.env_state, line.state)
                named = tuple((t, c, exit_s, self.states[exit_u]) for t, c, exit_s, exit_u in lines)
                entries.append((s, u, *_known_top(top), constant, named))
        return entries, ranges

    def _list_deterministic(self, check: Check) -> list[tuple[ControlState, str | None]]:
        """The heads from which no stochastic action can be reached."""
        successors = {}
        for control, symbols in check.occurring:
            top = symbols[0]
            if all(len(action) == 1 for action in check.outcomes(control, top)):
                successors[control, top] = {
                    (after, revealed)
                    for after, pushed in check.successors(control, top)
                    for revealed in pushed[:1] or check.tops.get(after, ())
                }
        while stochastic := [
            head for head, after in successors.items() if not after <= successors.keys()
        ]:
            for head in stochastic:
                del successors[head]
        return list(successors)


def _known_top(top: str | None) -> tuple[Stack, bool]:
    """The known symbols of a head, and True if they are the whole stack."""
    return () if top is None else (top,), top is None


def solve_certain(task: Task, discount: float) -> WholeStack:
    """The operators of a stochastic task, valid at heads with a deterministic future."""
    arrays = task.finite.arrays
    world = world_of(arrays)
    stochastic = (arrays.probability > 0).sum(axis=2) > 1
    known = world._replace(next=np.where(stochastic, -1, world.next).astype(np.int32))
    table = tabulate(task.pushdown, task.finite.labels)
    return WholeStack(known, table, discount, precision=PRECISION)
