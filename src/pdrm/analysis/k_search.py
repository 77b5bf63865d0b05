"""The search for sufficient k: bounds on the best k-policy's loss, regret and spread.

All results are bounds that only become tighter, so they hold whenever the search stops. If k is
enough, so is k + 1: bounds are propagated from each k to the next and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import inf
from time import monotonic

from pdrm.analysis.best_policy import bound_loss
from pdrm.analysis.certify import certify_everywhere
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.k_policy import MAX_K, check_ks
from pdrm.analysis.k_report import UNDECIDED, KAnswer, KReport, intersect, judge
from pdrm.analysis.regret import (
    explore,
    measure_gaps,
    measure_regret,
    search_witnesses,
)
from pdrm.analysis.top_bounds import check_discount
from pdrm.analysis.values import ExploredValues, SolvedValues, ValuedProduct, value_product
from pdrm.analysis.witness import describe_state, follow_optimal
from pdrm.errors import BadSetting, PdrmError, UnknownChoice
from pdrm.product.task_findings import warn_of_tasks
from pdrm.progress import is_shown, show_progress
from pdrm.task import DomainLike, MachineLike, Task

SECONDS = 60.0
DEFAULT_MAX_K = 4
"""Every k up to this is tried, and larger ones if none of these is enough."""
MAX_STATES = 1_500_000
NEARBY_STATES = 60_000
"""States near the start that are explored before the search for the best policies."""
NEARBY_STATES_STOCHASTIC = 3_000
ENOUGH_STATES_STOCHASTIC = 6_000
"""With this many states, exploration of a stochastic task stops once the losses are known."""
LOSS_PRECISION = 0.01
"""If no k is enough, losses are searched for up to this relative width."""
FIRST_BUDGET, BUDGET_GROWTH = 0.5, 4
"""Seconds for each k in the first round of searches, and the factor from round to round."""
MAX_HEADS = 20_000
"""States with top k symbols for which a proof for every stack is tried."""
GIB = 2**30


@dataclass(slots=True)
class _Search:
    """A search, and the report that it tightens."""

    report: KReport
    depth: int | None = None
    max_states: int = MAX_STATES
    memory: int = GIB
    start_only: bool = False
    larger_k: bool = False
    """Also try larger k if none is enough."""
    values: ValuedProduct = field(init=False)
    exploration_done: bool = False
    """True once further exploration cannot decide anything."""
    tried: set[int] = field(default_factory=set)
    """Each k for which a proof for every stack was tried."""

    def run(
        self, deadline: Deadline, update: Callable[[float, str], None] = lambda *_: None
    ) -> None:
        """Search until everything is decided, time is up, or the limit of states is reached."""
        self._value_nearby_states(deadline)
        start = monotonic()
        seconds = FIRST_BUDGET
        while True:
            for k in self._list_ks():
                update(monotonic() - start, f"k = {k}, {self.report.states:,} states")
                self._bound_loss(k, deadline.within(seconds))
            if self._is_finished() or self._is_full() or deadline.over:
                break
            seconds *= BUDGET_GROWTH
            self._explore_further(deadline.within(seconds))
            self._try_every_stack(deadline)
            if self._is_finished():
                break
        if self._is_decided():
            self.report.ended = "decided"
        elif self._is_full() and not deadline.over:
            self.report.ended = "states"
        else:
            self.report.ended = "time"

    def _value_nearby_states(self, deadline: Deadline) -> None:
        """Solve the task if its moves are deterministic, and explore the states near the start."""
        report = self.report
        values = value_product(report.task, report.discount, report.height, self.memory, deadline)
        self.values = report.values = values
        self.max_states = min(self.max_states, values.product.max_states)
        nearby = NEARBY_STATES_STOCHASTIC
        if isinstance(values, SolvedValues):
            nearby = 0 if self.start_only else NEARBY_STATES
        explore(values, min(nearby, self.max_states), self.depth, deadline.share(0.25))
        self._bound_regrets()
        if isinstance(values, SolvedValues):
            report.followed = follow_optimal(values)

    def _list_ks(self) -> Iterator[int]:
        """Yield each k. After the last, add a larger one as long as none is enough."""
        answers = self.report.answers
        ks = list(answers)
        for k in ks:
            yield k
            if k == ks[-1] and self._needs_larger_k():
                larger = ks[-1] + 1
                ks.append(larger)
                answers[larger] = KAnswer(larger)
                self._bound_regrets()

    def _needs_larger_k(self) -> bool:
        """Return True if no k is enough and a larger one sees more symbols."""
        largest = max(self.report.answers)
        if not self.larger_k or not self.values.closed or largest >= MAX_K:
            return False
        product = self.values.product
        heights = product.stacks.height[product.states.node[: len(product)]]
        return largest < int(heights.max(initial=0)) and self.report.k is None

    def _is_full(self) -> bool:
        return self.report.states >= self.max_states

    def _is_finished(self) -> bool:
        """Return True if all is decided, and some k is enough or all losses are known."""
        report = self.report
        known = all(
            high - low <= max(report.tolerance, LOSS_PRECISION * high)
            for low, high in report.loss.values()
        )
        return self._is_decided() and (report.k is not None or known)

    def _is_decided(self) -> bool:
        """Return True if no question is left that further search could decide."""
        start_only = self.start_only or self.exploration_done
        return not any(
            verdict["start"] == UNDECIDED or (verdict["everywhere"] == UNDECIDED and not start_only)
            for verdict in self.report.verdicts.values()
        )

    def _explore_further(self, deadline: Deadline) -> None:
        """Look for distant states that refute a k, or expand likely states of a stochastic task."""
        values, states = self.values, self.report.states
        self.exploration_done = True
        if isinstance(values, ExploredValues) and not values.closed:
            values.explore_likely(2 * states)
            grown = self.report.states
            enough = grown >= min(self.max_states, ENOUGH_STATES_STOCHASTIC)
            self.exploration_done = enough or grown == states
        elif isinstance(values, SolvedValues) and not values.closed and self.depth is None:
            max_states = min(self.max_states, states + 2 * NEARBY_STATES)
            search_witnesses(values, self._list_open(), max_states, deadline.share(0.5))
        self._bound_regrets()

    def _list_open(self) -> list[int]:
        """Each k for which the question `everywhere` is open."""
        if self.start_only:
            return []
        tolerance = self.report.step_tolerance
        return [
            answer.k
            for answer in self.report.answers.values()
            if judge(answer.regret, tolerance) == UNDECIDED
        ]

    def _try_every_stack(self, deadline: Deadline) -> None:
        """Try to prove that the smallest undecided k is enough for every stack."""
        report, task = self.report, self.report.task
        k = min(set(self._list_open()) - self.tried, default=None)
        if k is None or report.height is not None or self.values.closed:
            return
        control_states = task.finite.states * len(task.pushdown.states)
        if control_states * len(task.pushdown.stack) ** max(1, k) > MAX_HEADS:
            return
        self.tried.add(k)
        tolerance = report.step_tolerance
        try:
            proof = certify_everywhere(task, self.values, k, deadline.share(0.25), tolerance)
        except PdrmError:  # no action is always best, operators are unknown, or time is up
            return
        if proof.bound <= tolerance:
            for answer in report.answers.values():
                if answer.k >= k:
                    answer.proof = proof
                    answer.narrow(regret=(0.0, proof.bound), loss=(0.0, proof.bound))
            self._propagate()

    def _bound_regrets(self) -> None:
        """Bound regret and spread by the states explored so far."""
        values, report = self.values, self.report
        self._propagate()
        if self.start_only:
            return
        gaps, product = measure_gaps(values), values.product
        depth = product.states.depth[product.frontier]
        report.steps = int(depth.min()) if depth.size else None
        for k, answer in report.answers.items():
            regret = measure_regret(values, k, gaps)
            answer.narrow(regret=regret.regret, spread=regret.spread)
            if regret.conflicting or not answer.witness:
                states = regret.conflicting or regret.different_values
                answer.witness = tuple(describe_state(values, x, k, gaps[1][x]) for x in states)
        self._propagate()

    def _bound_loss(self, k: int, deadline: Deadline) -> None:
        """Bound the loss of one k, starting from the best policy known."""
        report, answer = self.report, self.report.answers[k]
        low, high = answer.loss
        narrow = high - low <= max(report.tolerance, 1e-6 * high)
        if narrow and answer.best and judge(answer.loss, report.tolerance) != UNDECIDED:
            return
        previous = [other.best for other in report.answers.values() if other.k <= k and other.best]
        loss = bound_loss(self.values, k, previous[-1] if previous else None, deadline)
        if answer.best is None or loss.high <= answer.best.high:
            answer.best = loss
        answer.narrow(loss=(loss.low, loss.high))
        self._propagate()

    def _propagate(self) -> None:
        """Propagate bounds: the numbers do not increase with k, and loss ≤ regret / (1 − γ)."""
        report, values = self.report, self.values
        report.value = intersect(report.value, values.start)
        report.tolerance = values.tolerance
        report.step_tolerance = values.step_tolerance
        answers = list(report.answers.values())
        for answer in answers:
            answer.narrow(loss=(0.0, answer.regret[1] / (1 - report.discount)))
        for less, more in pairwise(answers):
            more.narrow((0.0, less.loss[1]), (0.0, less.regret[1]), (0.0, less.spread[1]))
        for more, less in pairwise(reversed(answers)):
            less.narrow((more.loss[0], inf), (more.regret[0], inf), (more.spread[0], inf))


def check_k(
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    k: int | Iterable[int] | None = None,
    *,
    discount: float | None = None,
    depth: int | None = None,
    from_: str | None = None,
    height: int | None = None,
    most: int = MAX_STATES,
    memory: float = 4.0,
    seconds: float | None = SECONDS,
    progress: bool | None = None,
) -> KReport:
    """Bound the loss of the best k-policy for each k, for the discounted task without a step limit.

    Args:
        task: A `Task`, or a domain (by name, file or object).
        machine: The machine, unless the domain comes with one.
        k: One or more numbers of visible symbols (default: 0 to 4, and more until one is enough).
        discount: γ (default: the task's).
        depth: Explore only the states within this many steps.
        from_: "start" to bound only the loss from the start.
        height: The highest stack that is explored. The task itself is unchanged.
        most: The maximum number of states to explore.
        memory: The maximum memory for states, in GiB.
        seconds: The time limit (default: a minute). After it, or at Ctrl-C, the bounds so far are
            returned.
        progress: Show progress (default: on a terminal and in a notebook).

    >>> report = check_k("paint")
    >>> report.k, report.witness(4)[1].actions
    (5, ('ask_5',))
    """
    chosen = task if isinstance(task, Task) and machine is None else Task(task, machine)
    if from_ not in (None, "start"):
        raise UnknownChoice(
            f'`from_` must be "start" or omitted, not `{from_}`',
            fix="use `start`, or leave it out to include all states",
        )
    gamma = chosen.discount if discount is None else discount
    check_discount(gamma)
    limits = {"memory": memory, "most": most, "seconds": seconds, "height": height, "depth": depth}
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise BadSetting(f"`{name}` is {value:g}", fix="use a number above 0")
    ks = range(DEFAULT_MAX_K + 1) if k is None else check_ks(k)
    report = KReport(chosen, gamma, {number: KAnswer(number) for number in ks}, height)
    search = _Search(
        report, depth, most, int(memory * GIB), start_only=from_ is not None, larger_k=k is None
    )
    warn_of_tasks(chosen)
    quiet = not (is_shown() if progress is None else progress)
    with show_progress(seconds or inf, "check-k", quiet=quiet) as update:
        try:
            compile_kernels()
            search.run(Deadline(seconds), update)
            update(seconds or 0.0, "done")
        except KeyboardInterrupt:
            report.ended = "stopped"
    return report


@cache
def compile_kernels() -> None:
    """Compile all kernels before the time limit starts."""
    for name, discount in (("paint", 0.9), ("echo", 0.5)):
        report = KReport(Task(name), discount, {k: KAnswer(k) for k in (0, 1)})
        _Search(report, depth=3, max_states=100).run(Deadline())
