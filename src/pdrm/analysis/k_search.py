"""The search for which k is enough: values, regret and spread by exploring, the loss by best-first search; any-time.

Everything is a bound that only gets better: stopped at any moment, what is known holds. What is enough for k is enough for k + 1,
so that bounds are carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import inf
from time import monotonic

from pdrm.analysis.best_policy import find_loss
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
FIRST = 4
"""Every k up to this is tried, and more if none of them is enough."""
MAX_STATES = 1_500_000
NEAR = 60_000
"""States that are explored near the start before the best policies are searched."""
NEAR_WITH_CHANCE, ENOUGH_WITH_CHANCE = 3_000, 6_000
"""With chance the first is less; and from the second on, exploring is left once the losses are known."""
NARROW = 0.01
"""If no k is enough, losses are searched for until they are known up to this share."""
MAX_HEADS = 20_000
"""States with symbols on top of each other for which a proof for every stack is tried."""
GIB = 2**30


@dataclass(slots=True)
class _Search:
    """A search, and the report that it sharpens."""

    report: KReport
    depth: int | None = None
    most: int = MAX_STATES
    memory: int = GIB
    start_only: bool = False
    upwards: bool = False
    """Ask about larger k if none is enough."""
    values: ValuedProduct = field(init=False)
    explored: bool = False
    """True once further exploration cannot decide anything."""
    tried: set[int] = field(default_factory=set)
    """Each k for which a proof for every stack was tried."""

    def run(
        self, deadline: Deadline, update: Callable[[float, str], None] = lambda *_: None
    ) -> None:
        """Search until everything is decided, time is up, or no more states may be explored."""
        report = self.report
        values = value_product(report.task, report.discount, report.height, self.memory, deadline)
        self.values = report.values = values
        self.most = min(self.most, values.product.max_states)
        near = NEAR_WITH_CHANCE
        if isinstance(values, SolvedValues):
            near = 0 if self.start_only else NEAR
        explore(values, min(near, self.most), self.depth, deadline.share(0.25))
        self._measure()
        if isinstance(values, SolvedValues):
            report.followed = follow_optimal(values)
        begun, seconds = monotonic(), 0.5
        while True:
            ks = list(report.answers)
            for k in ks:
                update(monotonic() - begun, f"k = {k}, {report.states:,} states")
                self._find_loss(k, deadline.within(seconds))
                if self._needs_more(ks[-1]):
                    ks.append(ks[-1] + 1)
                    report.answers[ks[-1]] = KAnswer(ks[-1])
                    self._measure()
            full = report.states >= self.most
            if self._is_finished() or deadline.over or full:
                break
            seconds *= 4
            self._explore_further(deadline.within(seconds))
            if report.height is None and not values.closed and not self.start_only:
                self._try_every_stack(deadline.share(0.25))
            if self._is_finished():
                break
        report.ended = "states" if full and not deadline.over else "time"
        if self._is_judged():
            report.ended = "decided"

    def _is_finished(self) -> bool:
        """True if nothing is left to decide, and some k loses nothing or all losses are known well."""
        report = self.report
        known = (
            high - low <= max(report.tolerance, NARROW * high) for low, high in report.loss.values()
        )
        return self._is_judged() and (report.k is not None or all(known))

    def _is_judged(self) -> bool:
        """True if nothing is left that searching on could decide."""
        asked = ["start"] if self.start_only or self.explored else ["start", "everywhere"]
        verdicts = self.report.verdicts.values()
        return all(found[one] != UNDECIDED for found in verdicts for one in asked)

    def _needs_more(self, last: int) -> bool:
        """True if no k so far is enough, and a larger one sees more."""
        if not self.upwards or not self.values.closed or last >= MAX_K:
            return False
        product = self.values.product
        highest = int(product.stacks.height[product.states.node[: len(product)]].max(initial=0))
        return last < highest and self.report.k is None

    def _explore_further(self, deadline: Deadline) -> None:
        """Look for states far away that prove a no; with chance, explore what the optimal policy reaches."""
        values, before = self.values, self.report.states
        self.explored = True
        if isinstance(values, ExploredValues) and not values.closed:
            values.explore_likely(2 * before)
            grown = self.report.states
            self.explored = grown >= min(self.most, ENOUGH_WITH_CHANCE) or grown == before
        elif isinstance(values, SolvedValues) and not values.closed and self.depth is None:
            most = min(self.most, before + 2 * NEAR)
            search_witnesses(values, self._list_open(), most, deadline.share(0.5))
        self._measure()

    def _list_open(self) -> list[int]:
        """Each k for which it is not known whether some k-policy is optimal everywhere, if that is asked."""
        answers, tolerance = self.report.answers.values(), self.report.step_tolerance
        undecided = [one.k for one in answers if judge(one.regret, tolerance) == UNDECIDED]
        return [] if self.start_only else undecided

    def _try_every_stack(self, deadline: Deadline) -> None:
        """Try to prove the smallest undecided k enough however high the stack is."""
        report, machine = self.report, self.report.task.pushdown
        k = min(set(self._list_open()) - self.tried, default=None)
        heads = report.task.finite.states * len(machine.states)
        if k is None or heads * len(machine.stack) ** max(1, k) > MAX_HEADS:
            return
        self.tried.add(k)
        tolerance = report.step_tolerance
        try:
            proof = certify_everywhere(report.task, self.values, k, deadline, tolerance)
        except (
            PdrmError
        ):  # no action is always the best, the operators are not known, or time is up
            return
        if proof.bound <= tolerance:
            for one in report.answers.values():
                if one.k >= k:
                    one.proof = proof
                    one.narrow(regret=(0.0, proof.bound), loss=(0.0, proof.bound))
            self._carry_over()

    def _measure(self) -> None:
        """Bound regret and spread by the states explored so far."""
        values, report = self.values, self.report
        self._carry_over()
        if self.start_only:
            return
        gaps, product = measure_gaps(values), values.product
        depth = product.states.depth[product.frontier]
        report.steps = int(depth.min()) if depth.size else None
        for k, answer in report.answers.items():
            found = measure_regret(values, k, gaps)
            answer.narrow(regret=found.regret, spread=found.spread)
            if found.members or not answer.witness:
                states = found.members or found.different
                answer.witness = tuple(describe_state(values, x, k, gaps[1][x]) for x in states)
        self._carry_over()

    def _find_loss(self, k: int, deadline: Deadline) -> None:
        """Bound the loss of one k, starting from the best policy known."""
        report, answer = self.report, self.report.answers[k]
        low, high = answer.loss
        known = high - low <= max(report.tolerance, 1e-6 * high)
        if known and answer.found and judge(answer.loss, report.tolerance) != UNDECIDED:
            return
        before = [one.found for one in report.answers.values() if one.k <= k and one.found]
        found = find_loss(self.values, k, before[-1] if before else None, deadline)
        if answer.found is None or found.high <= answer.found.high:
            answer.found = found
        answer.narrow(loss=(found.low, found.high))
        self._carry_over()

    def _carry_over(self) -> None:
        """Carry bounds over: enough for k is enough for more; not enough for k is not enough for fewer."""
        report, values = self.report, self.values
        report.value = intersect(report.value, values.start)
        report.tolerance, report.step_tolerance = values.tolerance, values.step_tolerance
        answers = list(report.answers.values())
        for one in answers:
            one.narrow(loss=(0.0, one.regret[1] / (1 - report.discount)))
        for one, more in pairwise(answers):
            more.narrow((0.0, one.loss[1]), (0.0, one.regret[1]), (0.0, one.spread[1]))
        for more, one in pairwise(reversed(answers)):
            one.narrow((more.loss[0], inf), (more.regret[0], inf), (more.spread[0], inf))


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
    """Bound what the best k-policy loses for each k. The problem is the discounted one without a step limit.

    Args:
        task: A `Task`, or a domain (by name, file or object).
        machine: The machine, unless the domain comes with one.
        k: The number, or the numbers, of symbols to see (default: 0 to 4, and upwards until one is enough).
        discount: γ (default: the task's).
        depth: Explore only the states within this many steps.
        from_: "start": ask only what is lost from the start.
        height: The highest stack that is explored; the problem stays what it is.
        most: States to explore at most.
        memory: GiB for them at most.
        seconds: The time to search (default: a minute); then, or at Ctrl-C, the best bounds so far are returned.
        progress: Show progress (default: on a terminal and in a notebook).

    Example:
        >>> report = check_k("paint")
        >>> report.k, report.witness(4)[1].actions
        (5, ('ask_5',))
    """
    given = task if isinstance(task, Task) and machine is None else Task(task, machine)
    if from_ not in (None, "start"):
        raise UnknownChoice(
            f'`from_` must be "start" or omitted, not `{from_}`',
            fix="use `start`, or leave it out to ask about all states",
        )
    gamma = given.discount if discount is None else discount
    check_discount(gamma)
    limits = {"memory": memory, "most": most, "seconds": seconds, "height": height}
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise BadSetting(f"{name} is {value:g}", fix="use a number above 0")
    ks = range(FIRST + 1) if k is None else check_ks(k)
    report = KReport(given, gamma, {one: KAnswer(one) for one in ks}, height)
    search = _Search(report, depth, most, int(memory * GIB), from_ is not None, upwards=k is None)
    warn_of_tasks(given)
    compile_kernels()
    quiet = not (is_shown() if progress is None else progress)
    with show_progress(seconds or inf, "check-k", quiet=quiet) as update:
        try:
            search.run(Deadline(seconds), update)
        except KeyboardInterrupt:
            report.ended = "stopped"
        update(seconds or 0.0, "stopped" if report.ended == "stopped" else "done")
    return report


@cache
def compile_kernels() -> None:
    """Have everything compiled before a clock runs."""
    for name, discount in (("paint", 0.9), ("echo", 0.5)):
        report = KReport(Task(name), discount, {k: KAnswer(k) for k in (0, 1)})
        _Search(report, depth=3, most=100).run(Deadline())
