"""The search for which k is enough: values, regret and spread by exploring, the loss by best-first search; any-time.

Everything is a bound that only gets better: stopped at any moment, what is known holds. What is enough for k is enough for k + 1,
so that bounds are carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
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
from pdrm.analysis.values import ExploredValues, SolvedValues, ValuedProduct, value_product
from pdrm.analysis.witness import Followed, describe_states, follow_optimal
from pdrm.errors import BadSetting, DoesNotApply, OutOfTime, PdrmError, UnknownChoice
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


class _Search:
    """The bounds found so far."""

    def __init__(
        self,
        task: Task,
        ks: list[int] | None,
        discount: float,
        bound: Bound,
        depth: int | None,
        most: int,
        memory: int,
        start_only: bool,
    ) -> None:
        self.task, self.discount, self.bound = task, discount, bound
        self.depth, self.most, self.memory, self.start_only = depth, most, memory, start_only
        self.upwards = ks is None
        self.ks = list(range(FIRST + 1)) if ks is None else ks
        self.values: ValuedProduct | None = None
        self.value = (-inf, inf)
        self.tolerance = self.step_tolerance = 0.0
        self.answers = {k: KAnswer(k, (0.0, inf)) for k in self.ks}
        self.losses: dict[int, Loss] = {}
        self.followed: Followed | None = None
        self.ended = "time"
        self.update: Callable[[float, str], None] = lambda _done, _note: None
        self._explored_near = False
        self._tried: set[int] = set()
        self._proofs: dict[int, Certificate] = {}

    def run(self, deadline: Deadline) -> None:
        """Search until everything is decided, time is up, or no more states may be explored."""
        values = value_product(self.task, self.discount, self.bound, self.memory, deadline)
        self.values = values
        self._note(values)
        certain = isinstance(values, SolvedValues)
        self._explore(
            values, (0 if self.start_only else NEAR) if certain else NEAR_WITH_CHANCE, deadline
        )
        if isinstance(values, SolvedValues):
            self.followed = follow_optimal(values)
        begun, seconds = monotonic(), 0.5
        while True:
            for k in self.ks:
                self.update(monotonic() - begun, f"k = {k}, {len(values.product):,} states")
                self._find_loss(values, k, deadline.within(seconds))
                self._add_k(values)
            if self._is_decided() or deadline.over or len(values.product) >= self._most(values):
                break
            seconds *= 4
            self._explore_further(values, deadline.within(seconds))
            if self.bound == Bound() and not values.closed and not self.start_only:
                self._try_every_stack(values, deadline.share(0.25))
        decided, full = self._is_judged(), len(values.product) >= self._most(values)
        self.ended = "decided" if decided else "states" if full and not deadline.over else "time"

    def _most(self, values: ValuedProduct) -> int:
        return min(self.most, values.product.most_states)

    def _is_decided(self) -> bool:
        """True if nothing is left to decide, and some k loses nothing or all losses are known well."""
        if not self._is_judged():
            return False
        losses = [answer.loss for answer in self.answers.values()]
        enough = any(judge(loss, self.tolerance) == YES for loss in losses)
        return enough or all(
            high - low <= max(self.tolerance, NARROW * high) for low, high in losses
        )

    def _is_judged(self) -> bool:
        """True if nothing is left that searching on could decide."""
        for answer in self.answers.values():
            found = answer.judge(self.tolerance, self.step_tolerance)
            if found["start"] == UNDECIDED:
                return False
            if not self.start_only and found["everywhere"] == UNDECIDED and not self._explored_near:
                return False
        return True

    def _add_k(self, values: ValuedProduct) -> None:
        """Ask about one more k if none so far is enough, and it sees more than those."""
        last = self.ks[-1]
        enough = judge(self.answers[last].loss, self.tolerance) == YES
        heights = values.product.stacks.height[values.product.states.node[: len(values.product)]]
        if (
            self.upwards
            and not enough
            and last < min(MOST_K, int(heights.max(initial=0)))
            and values.closed
        ):
            self.ks.append(last + 1)
            self.answers[last + 1] = KAnswer(last + 1, (0.0, inf))
            self._measure(values)

    def _explore(self, values: ValuedProduct, most: int, deadline: Deadline) -> None:
        """Explore near the start, and measure regret and spread there."""
        explore(values, min(most, self._most(values)), self.depth, deadline.share(0.25))
        self._note(values)
        self._measure(values)

    def _explore_further(self, values: ValuedProduct, deadline: Deadline) -> None:
        """Look for states far away that prove a no; with chance, explore what the optimal policy reaches."""
        undecided = [
            k for k, answer in self.answers.items()
            if not self.start_only and judge(answer.regret, self.step_tolerance) == UNDECIDED
        ]  # fmt: skip
        if isinstance(values, SolvedValues) and not values.closed and self.depth is None:
            if undecided:
                most = min(self._most(values), len(values.product) + 4 * NEAR)
                search_witnesses(values, undecided, self.step_tolerance, most, deadline.share(0.5))
            self._explored_near = True
        elif isinstance(values, ExploredValues) and not values.closed:
            before = len(values.product)
            values.explore_likely(2 * before)
            grown = len(values.product)
            self._explored_near = (
                grown >= min(self._most(values), ENOUGH_WITH_CHANCE) or grown == before
            )
        else:
            self._explored_near = True
        self._note(values)
        self._measure(values)

    def _try_every_stack(self, values: ValuedProduct, deadline: Deadline) -> None:
        """Try to prove the smallest undecided k enough however high the stack is."""
        machine = self.task.pushdown
        heads = self.task.finite.states * len(machine.states)
        for k, answer in self.answers.items():
            size = heads * len(machine.stack) ** max(1, k)
            if k in self._tried or judge(answer.regret, self.step_tolerance) != UNDECIDED:
                continue
            if size > MOST_HEADS:
                return
            try:
                tolerance = self.step_tolerance
                proof = certify_everywhere(self.task, values, k, deadline, tolerance)
            except OutOfTime:
                return
            except PdrmError:  # no action is always the best, or the operators are not known
                self._tried.add(k)
                return
            self._tried.add(k)
            if proof.bound <= self.step_tolerance:
                for more in (one for one in self.answers.values() if one.k >= k):
                    more.every_stack = True
                    more.narrow(loss=(0.0, proof.bound), regret=(0.0, proof.bound))
                    self._proofs[more.k] = replace(proof, k=k)
                self._carry_over()
                return

    def _note(self, values: ValuedProduct) -> None:
        low, high = values.start
        self.value = max(self.value[0], low), min(self.value[1], high)
        self.tolerance, self.step_tolerance = values.tolerance, values.step_tolerance

    def _measure(self, values: ValuedProduct) -> None:
        """Bound regret and spread by the states explored so far."""
        if self.start_only:
            return
        gaps, steps = measure_gaps(values), count_steps(values)
        for k, answer in self.answers.items():
            found = measure_regret(values, k, self.step_tolerance, gaps)
            answer.narrow(
                regret=(found.low, found.high), spread=(found.spread_low, found.spread_high)
            )
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
        if (
            judge(answer.loss, self.tolerance) != UNDECIDED
            and k in self.losses
            and (answer.loss[1] - answer.loss[0] <= max(self.tolerance, 1e-6 * answer.loss[1]))
        ):
            return
        smaller = [one for one in self.losses if one <= k]
        before = self.losses[max(smaller)] if smaller else None
        found = find_loss(values, k, before, self.tolerance, deadline)
        if k not in self.losses or found.high <= self.losses[k].high:
            self.losses[k] = found
            answer.policy = self._name_policy(values, found)
        answer.narrow(loss=(found.low, found.high))
        self._note(values)
        self._carry_over()

    def _name_policy(self, values: ValuedProduct, found: Loss) -> dict[Row, str]:
        """A policy by what it sees."""
        product, named = values.product, {}
        for klass, action in found.policy.items():
            x = int(found.classes.member[klass])
            seen = product.stack(x)[: found.classes.k]
            named[int(product.place[x]), product.machine_state(x), seen] = product.domain.actions[
                action
            ]
        return named

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
        values = self.values
        return KReport(
            self.task, self.discount, self.bound, self.value, self.tolerance, self.step_tolerance,
            self.answers, isinstance(values, SolvedValues), self.ended,
            0 if values is None else len(values.product), self.followed, self.prove,
        )  # fmt: skip

    def prove(self, k: int, question: str) -> Certificate:
        """Make a certificate of what is known of one k."""
        if self.values is None or k not in self.losses:
            raise DoesNotApply(f"nothing is known of k = {k} yet", fix="search longer")
        if question == "everywhere":
            return self._proofs.get(k) or certify_everywhere(self.task, self.values, k)
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
            fix='use from_="start", or leave it out to ask about all states',
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
        raise BadSetting(
            f"the time is {seconds:g} seconds", fix="use a number above 0, or None for no limit"
        )
    compile_kernels()
    stopped = False
    with show_progress(seconds or inf, "check-k", quiet=quiet) as update:
        search.update = update
        try:
            search.run(Deadline(seconds))
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
