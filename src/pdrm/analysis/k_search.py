"""The search for which k is enough: values, regret and spread by exploring, the loss by best-first search; any-time.

Everything is a bound that only gets better: stopped at any moment, what is known holds. What is enough for k is enough for k + 1,
so that bounds are carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from math import inf
from time import monotonic

from pdrm.analysis.best_policy import Loss, find_loss
from pdrm.analysis.certificate import Certificate
from pdrm.analysis.certify import certify_everywhere, certify_start
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.k_policy import MOST_K, Row, check_ks
from pdrm.analysis.k_report import UNDECIDED, YES, KAnswer, KReport, judge
from pdrm.analysis.regret import (
    count_steps,
    explore,
    measure_gaps,
    measure_regret,
    search_witnesses,
)
from pdrm.analysis.top_bounds import check_discount
from pdrm.analysis.values import (
    ExploredValues,
    Interval,
    SolvedValues,
    ValuedProduct,
    value_product,
)
from pdrm.analysis.whole_stack import check_deterministic
from pdrm.analysis.witness import Followed, describe_states, follow_optimal
from pdrm.errors import (
    BadSetting,
    DoesNotApply,
    OutOfTime,
    PdrmError,
    StochasticMoves,
    UnknownChoice,
)
from pdrm.product.finite_product import Bound
from pdrm.product.task_findings import warn_of_tasks
from pdrm.progress import is_shown, show_progress
from pdrm.task import DomainLike, MachineLike, Task

SECONDS = 60.0
FIRST = 4
"""Every k up to this is tried, and more if none of them is enough."""
MOST_STATES = 1_500_000
NEAR = 30_000
"""States that are explored near the start before the best policies are searched."""
NEAR_WITH_CHANCE, ENOUGH_WITH_CHANCE = 3_000, 6_000
"""With chance the first is less; and from the second on, exploring is left once the losses are known."""
NARROW = 0.01
"""If no k is enough, losses are searched for until they are known up to this share."""
MOST_HEADS = 20_000
"""States with symbols on top of each other for which a proof for every stack is tried."""
GIB = 2**30


@dataclass(slots=True)
class _Search:
    """The bounds found so far."""

    task: Task
    asked: list[int] | None
    discount: float
    bound: Bound
    depth: int | None
    most: int
    memory: int
    start_only: bool
    ks: list[int] = field(default_factory=list)
    values: ValuedProduct | None = None
    value: Interval = (-inf, inf)
    tolerance: float = 0.0
    step_tolerance: float = 0.0
    answers: dict[int, KAnswer] = field(default_factory=dict)
    losses: dict[int, Loss] = field(default_factory=dict)
    proofs: dict[int, Certificate] = field(default_factory=dict)
    followed: Followed | None = None
    ended: str = "time"
    explored: bool = False
    """True once exploring on will not decide more."""

    def __post_init__(self) -> None:
        for k in range(FIRST + 1) if self.asked is None else self.asked:
            self._ask(k)

    def _ask(self, k: int) -> None:
        self.ks.append(k)
        self.answers[k] = KAnswer(k, (0.0, inf))

    def run(
        self, deadline: Deadline, update: Callable[[float, str], None] = lambda *_: None
    ) -> None:
        """Search until everything is decided, time is up, or no more states may be explored."""
        values = value_product(self.task, self.discount, self.bound, self.memory, deadline)
        self.values, self.most = values, min(self.most, values.product.most_states)
        near = NEAR_WITH_CHANCE
        if isinstance(values, SolvedValues):
            near = 0 if self.start_only else NEAR
        explore(values, min(near, self.most), self.depth, deadline.share(0.25))
        self._measure(values)
        if isinstance(values, SolvedValues):
            self.followed = follow_optimal(values)
        begun, seconds, tried = monotonic(), 0.5, set[int]()
        while True:
            for k in self.ks:
                update(monotonic() - begun, f"k = {k}, {len(values.product):,} states")
                self._find_loss(values, k, deadline.within(seconds))
                self._add_k(values)
            full = len(values.product) >= self.most
            if self._is_finished() or deadline.over or full:
                break
            seconds *= 4
            self._explore_further(values, deadline.within(seconds))
            if self.bound == Bound() and not values.closed and not self.start_only:
                self._try_every_stack(values, tried, deadline.share(0.25))
        self.ended = "states" if full and not deadline.over else "time"
        if self._is_judged():
            self.ended = "decided"

    def _is_finished(self) -> bool:
        """True if nothing is left to decide, and some k loses nothing or all losses are known well."""
        losses = [answer.loss for answer in self.answers.values()]
        enough = any(judge(loss, self.tolerance) == YES for loss in losses)
        known = (high - low <= max(self.tolerance, NARROW * high) for low, high in losses)
        return self._is_judged() and (enough or all(known))

    def _is_judged(self) -> bool:
        """True if nothing is left that searching on could decide."""
        for answer in self.answers.values():
            found = answer.judge(self.tolerance, self.step_tolerance)
            far = self.start_only or self.explored or found["everywhere"] != UNDECIDED
            if found["start"] == UNDECIDED or not far:
                return False
        return True

    def _add_k(self, values: ValuedProduct) -> None:
        """Ask about one more k if none so far is enough, and it sees more than those."""
        last, product = self.ks[-1], values.product
        if self.asked is not None or not values.closed or last >= MOST_K:
            return
        highest = int(product.stacks.height[product.states.node[: len(product)]].max(initial=0))
        if last < highest and judge(self.answers[last].loss, self.tolerance) != YES:
            self._ask(last + 1)
            self._measure(values)

    def _explore_further(self, values: ValuedProduct, deadline: Deadline) -> None:
        """Look for states far away that prove a no; with chance, explore what the optimal policy reaches."""
        before = len(values.product)
        self.explored = True
        if isinstance(values, ExploredValues) and not values.closed:
            values.explore_likely(2 * before)
            grown = len(values.product)
            self.explored = grown >= min(self.most, ENOUGH_WITH_CHANCE) or grown == before
        elif isinstance(values, SolvedValues) and not values.closed and self.depth is None:
            undecided = [k for k in self.ks if self._may_be_enough(k)]
            most, half = min(self.most, before + 4 * NEAR), deadline.share(0.5)
            search_witnesses(values, undecided, self.step_tolerance, most, half)
        self._measure(values)

    def _may_be_enough(self, k: int) -> bool:
        """True if it is not known whether some k-policy is optimal everywhere, and asked."""
        regret = judge(self.answers[k].regret, self.step_tolerance)
        return regret == UNDECIDED and not self.start_only

    def _try_every_stack(self, values: ValuedProduct, tried: set[int], deadline: Deadline) -> None:
        """Try to prove the smallest undecided k enough however high the stack is."""
        machine, tolerance = self.task.pushdown, self.step_tolerance
        heads = self.task.finite.states * len(machine.states)
        for k in filter(self._may_be_enough, [k for k in self.ks if k not in tried]):
            if heads * len(machine.stack) ** max(1, k) > MOST_HEADS:
                return
            try:
                proof = certify_everywhere(self.task, values, k, deadline, tolerance)
            except OutOfTime:
                return
            except PdrmError:  # no action is always the best, or the operators are not known
                tried.add(k)
                return
            tried.add(k)
            if proof.bound <= tolerance:
                for more in (one for one in self.answers.values() if one.k >= k):
                    more.every_stack = True
                    more.narrow(loss=(0.0, proof.bound), regret=(0.0, proof.bound))
                    self.proofs[more.k] = replace(proof, k=k)
                self._carry_over()
                return

    def _note(self, values: ValuedProduct) -> None:
        low, high = values.start
        self.value = max(self.value[0], low), min(self.value[1], high)
        self.tolerance, self.step_tolerance = values.tolerance, values.step_tolerance

    def _measure(self, values: ValuedProduct) -> None:
        """Bound regret and spread by the states explored so far."""
        self._note(values)
        if self.start_only:
            return
        gaps, steps = measure_gaps(values), count_steps(values)
        for k, answer in self.answers.items():
            found = measure_regret(values, k, self.step_tolerance, gaps)
            answer.narrow(regret=found.regret, spread=found.spread)
            answer.steps = (
                None if steps is None or answer.steps is None else max(steps, answer.steps)
            )
            states = found.members or found.different
            if states and (found.members or not answer.witness):
                answer.witness = describe_states(values, states, k, self.step_tolerance)
        self._carry_over()

    def _find_loss(self, values: ValuedProduct, k: int, deadline: Deadline) -> None:
        """Bound the loss of one k, starting from the best policy known."""
        answer = self.answers[k]
        low, high = answer.loss
        well_known = high - low <= max(self.tolerance, 1e-6 * high)
        if well_known and k in self.losses and judge(answer.loss, self.tolerance) != UNDECIDED:
            return
        smaller = [one for one in self.losses if one <= k]
        before = self.losses[max(smaller)] if smaller else None
        found = find_loss(values, k, before, self.tolerance, deadline)
        if k not in self.losses or found.high <= self.losses[k].high:
            self.losses[k] = found
            product, rows = values.product, dict[Row, str]()
            for klass, action in found.policy.items():
                x = int(found.classes.member[klass])
                row = int(product.place[x]), product.machine_state(x), product.stack(x)[:k]
                rows[row] = product.domain.actions[action]
            answer.policy = rows
        answer.narrow(loss=(found.low, found.high))
        self._note(values)
        self._carry_over()

    def _carry_over(self) -> None:
        """Carry bounds over: enough for k is enough for more; not enough for k is not enough for fewer."""
        ordered = [self.answers[k] for k in sorted(self.answers)]
        for one in ordered:
            if one.regret[1] is not None:
                one.narrow(loss=(0.0, one.regret[1] / (1 - self.discount)))
        for one, more in pairwise(ordered):
            more.narrow((0.0, one.loss[1]), (0.0, one.regret[1]), (0.0, one.spread[1]))
        for more, one in pairwise(reversed(ordered)):
            one.narrow((more.loss[0], None), (more.regret[0], None), (more.spread[0], None))

    def report(self) -> KReport:
        """The report so far."""
        states = 0 if self.values is None else len(self.values.product)
        try:
            check_deterministic(self.task.finite)
            certain = True
        except StochasticMoves:
            certain = False
        return KReport(
            self.task, self.discount, self.bound, self.value, self.tolerance, self.step_tolerance,
            self.answers, certain, self.ended, states, self.followed, self.prove,
        )  # fmt: skip

    def prove(self, k: int, question: str) -> Certificate:
        """Make a certificate of what is known of one k."""
        if self.values is None or k not in self.losses:
            raise DoesNotApply(f"nothing is known of k = {k} yet", fix="search longer")
        if question == "everywhere":
            return self.proofs.get(k) or certify_everywhere(self.task, self.values, k)
        rows = tuple((*row, action) for row, action in self.answers[k].policy.items())
        return certify_start(self.task, self.values, k, self.losses[k], rows)


def check_k(
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    k: int | Iterable[int] | None = None,
    *,
    discount: float | None = None,
    depth: int | None = None,
    from_: str | None = None,
    height: int | None = None,
    rule: str = "open",
    most: int = MOST_STATES,
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
        height: The highest stack of the product that is explored.
        rule: The rule beyond `height`: "open" (the problem stays what it is), "block" or "fail" (it becomes another task).
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
    search = start_search(given, k, discount, depth, from_, Bound(height, rule), most, memory)
    warn_of_tasks(given)
    quiet = not (is_shown() if progress is None else progress)
    return run_search(search, seconds, quiet=quiet)[0]


def start_search(
    task: Task,
    k: int | Iterable[int] | None,
    discount: float | None,
    depth: int | None,
    from_: str | None,
    bound: Bound,
    most: int,
    memory: float,
) -> _Search:
    """A search that has not begun, its settings checked."""
    if from_ not in (None, "start"):
        raise UnknownChoice(
            f"one can ask only from the `start`, not from `{from_}`",
            fix="use `start`, or leave it out to ask about all states",
        )
    if not memory > 0:
        raise BadSetting(f"the memory is {memory:g} GiB", fix="use a number above 0, such as 4")
    if most < 1:
        raise BadSetting(
            f"{most} states cannot be explored", fix=f"use a number above 0, such as {MOST_STATES}"
        )
    gamma = task.discount if discount is None else discount
    check_discount(gamma)
    ks = None if k is None else check_ks(k)
    return _Search(
        task, ks, gamma, bound, depth, most, int(memory * GIB), start_only=from_ is not None
    )


def run_search(search: _Search, seconds: float | None, *, quiet: bool) -> tuple[KReport, bool]:
    """Search for so long; the report, and whether Ctrl-C stopped the search."""
    if seconds is not None and not seconds > 0:
        raise BadSetting(f"the time is {seconds:g} seconds", fix="use a number above 0, such as 60")
    compile_kernels()
    stopped = False
    with show_progress(seconds or inf, "check-k", quiet=quiet) as update:
        try:
            search.run(Deadline(seconds), update)
        except KeyboardInterrupt:
            search.ended, stopped = "stopped", True
        update(seconds or inf, "stopped" if stopped else "done")
    return search.report(), stopped


@cache
def compile_kernels() -> None:
    """Have everything compiled before a clock runs."""
    for name, discount in (("paint", 0.9), ("echo", 0.5)):
        task = Task(name)
        search = _Search(task, [0, 1], discount, Bound(), 3, 100, GIB, start_only=False)
        search.run(Deadline(5.0))
