"""Which top-k view of the stack is enough: the search, within a time that it shares by a plan.

`KSearch` builds the product and finds the optimal actions (`optimal`) as far as there is time, of near states first; then it
answers the three questions for each k (`k_answers`) and says what each k costs (`k_gap`), whenever one asks, in a `KReport`.
`check_k` is all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf
from time import monotonic

import numpy as np

from pdrm.analysis.optimal import (
    MANY,
    MOST_STATES,
    Watch,
    deepen,
    find_optimal,
    follow_to_the_end,
    look_at_start,
)
from pdrm.analysis.solving import compile_solver, estimate_seconds
from pdrm.analysis.sufficient_k.from_start import class_of
from pdrm.analysis.sufficient_k.high_witness import Followed, may_apply
from pdrm.analysis.sufficient_k.k_advice import DECIDED, EXPLORED, STATES, STOPPED, TIME
from pdrm.analysis.sufficient_k.k_answers import FIRST_KS, Answers, Solved
from pdrm.analysis.sufficient_k.k_gap import Gap, find_worst, measure_gap
from pdrm.analysis.sufficient_k.k_report import KReport
from pdrm.analysis.sufficient_k.k_walks import Advise, Policy, Walks
from pdrm.analysis.sufficient_k.questions import (
    QUESTIONS,
    Answer,
    Classes,
    answer_questions,
    check_ks,
    is_certain,
)
from pdrm.analysis.time_limit import check_time, limit_time, time_left
from pdrm.analysis.value_kernel import q_values
from pdrm.analysis.values import Known, bound_by_top, check_discount
from pdrm.errors import BadSetting, UnknownChoice, WrongKind
from pdrm.product.finite_kernel import END, Numbers
from pdrm.product.finite_product import MEMORY, Bound, FiniteProduct
from pdrm.product.task_findings import warn_of_tasks
from pdrm.progress import is_shown, say, show_progress
from pdrm.task import DomainLike, MachineLike, Task

SECONDS = 60.0
"""How long the search takes at most."""
CLOSED = 200_000
"""A product with no more states than this is explored completely."""
ASKED = 5_000
"""In a larger one, the states to ask about: to the depth at which there are about so many."""
STEPS = 100
"""States that are farther away are asked about once those within so many steps are known."""
FOLLOWED = 10_000
"""From the start alone, so many states may be looked at to follow the best policy."""
FOLLOW, ASK = 0.1, 0.15
"""The shares of the time that are left for the end of the best policy, and then for the questions."""
ANSWER = 1e-6
"""Seconds that the questions take at most, about, for each state and k."""
SOLVE = 0.25
"""The share of the time within which the task must be solved, or nothing more is left for witnesses of any height."""
KNOWN = 1e-3
"""Seconds that solving takes where it was done before."""
JUDGE = 1.0
"""Seconds that are left for such witnesses, beside those that solving takes."""
EVERY_STACK = 8.0
"""Seconds that are enough, mostly, for a yes for every stack."""
LOSS, MOST_LOSS = 0.2, 3.0
"""The share of the time for answers, and the seconds at most, that are left for what each k loses."""
LATE = 0.02
"""The share of the whole time that this takes in any case."""
MOST_CLASSES = 20_000
"""Classes of a policy on the explored product, the nearest ones, that are followed beyond it."""
AFTER_STOP = 0.3
"""Seconds that answers may take when the search was stopped."""
GIB = 2**30
FROM_START, ALSO_FROM_START = 0.5, 0.15
"""The share of the time for a search from the start alone, before all states are looked at; the second where these are asked about, too."""
QUICK, EVERY = 3.0, 5.0
"""Seconds before anything is said of how it goes, and between two lines where there is no terminal."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search shares its time. What a phase does not need, those after it have.

    0. Solve the task with the whole stack in view, where that takes little: whenever the search ends, the optimal value is known then. Look
       from the start alone, too, for a small share of the time.
    1. Begin: explore the whole product, or, where half of the time (or two thirds of what there is for exploring) is not enough for
       that, the near states to ask about.
    2. Explore: look ever further for the optimal actions of these states. The questions may be asked in between, once all states are known.
    3. Follow the best policy from the start to its end.
    4. Ask the questions, and whether what is open is a yes for nearer states.
    5. Every stack: what is still open may be a yes for every stack; it is tried for half of the rest.
    6. Witnesses of any height: it may be a no far away. These need the task to be solved, so where that can be done soon enough, the
       phases before end earlier. Then, while there is time, what each k costs.

    Properties and `explore` say when a phase must end, in seconds since the search began; `ask_early` and `every_stack` how many
    seconds of those that are left one may take.

    >>> plan = Plan(seconds=60.0)
    >>> plan.whole, plan.near, plan.begin, plan.explore(spent=1.0, answers=0), plan.follow, plan.end
    (30.0, 37.5, 45.0, 45.0, 51.0, 60.0)
    >>> plan = Plan(seconds=10.0, solving=2.0)
    >>> plan.explore(spent=1.0, answers=0), plan.follow, plan.every_stack(left=4.0)
    (6.0, 7.0, 1.0)
    """

    seconds: float = inf
    solving: float = 0.0
    """The seconds that solving the task takes, about; 0 where there are no witnesses of any height to look for."""

    @property
    def solves_early(self) -> bool:
        """Whether the task is solved with the whole stack before anything else: where that takes a small part of the time."""
        return 0 < self.solving <= SOLVE * self.seconds

    @property
    def whole(self) -> float:
        """By then the whole product is explored, or a part of it is asked about."""
        return min(self.seconds / 2, self._explored * 2 / 3)

    @property
    def near(self) -> float:
        """By then this part is explored, as far as it goes."""
        return (self.whole + self._explored) / 2

    @property
    def begin(self) -> float:
        """By then the states to ask about are there."""
        return (1 - ASK - FOLLOW) * self.seconds

    def explore(self, spent: float, answers: int) -> float:
        """From then on nothing more is explored. The more answers there are to find, one for each state and k, the more time is left
        for them: at most half of what is left after `spent` seconds."""
        left = self.seconds - spent
        return min(self._explored, spent + max(left / 2, left - ANSWER * answers))

    @staticmethod
    def ask_early(left: float) -> float:
        """What the questions may take of the time that is left for exploring."""
        return left / 2

    @property
    def follow(self) -> float:
        """From then on the best policy is followed no further."""
        return (1 - self._share) * self.seconds

    def every_stack(self, left: float) -> float:
        """What looking for a yes for every stack may take: half, or less where witnesses of any height need more than the other half; no more
        than some seconds, or a small share of a long time, because it is soon found or hardly ever."""
        return min(left / 2, left - self.high, max(EVERY_STACK, left / 6))

    @property
    def end(self) -> float:
        """By then all is answered."""
        return self.seconds

    @property
    def high(self) -> float:
        """The seconds that witnesses of any height take."""
        return self.solving + JUDGE if self.solving else 0.0

    @property
    def _explored(self) -> float:
        """When exploring must have ended, however few answers there are to find."""
        return (1 - self._share - FOLLOW) * self.seconds

    @property
    def _share(self) -> float:
        """The share of the time from the questions on: more, but no more than half, where witnesses of any height can be had for that."""
        return max(ASK, min(0.5, self.high / self.seconds)) if self.solves_early else ASK


@cache
def compile_kernels() -> None:
    """Have everything compiled that a search needs, once: what that takes says nothing about the problem."""
    for task in (Task("paint"), Task("letter")):
        found = find_optimal(FiniteProduct(task.finite, task.pushdown), 0.9, depth=1, rounds=2)
        answer_questions(found, 0)
        measure_gap(found, 0)


class KSearch:
    """A search for the k that are enough that can be stopped at any time: `run` looks ever further, `report` says what is
    known so far. What is stopped (with Ctrl-C, say) can be reported, and run again from the beginning.

    >>> search = KSearch(Task("paint"))
    >>> search.run()
    >>> search.report().smallest("start")
    5
    """

    def __init__(
        self,
        task: Task,
        k: int | Iterable[int] | None = None,
        *,
        discount: float | None = None,
        depth: int | None = None,
        bound: Bound | None = None,
        most: int = MOST_STATES,
        memory: int = MEMORY,
        seconds: float | None = SECONDS,
        questions: Sequence[str] = QUESTIONS,
        watch: Watch | None = None,
    ) -> None:
        discount = task.discount if discount is None else discount
        check_discount(discount)
        if depth is not None and depth < 0:
            raise BadSetting(
                f"the depth is {depth}, below 0",
                fix="use an integer from 0 on: depth=5 (--depth 5), or leave it out",
            )
        if seconds is not None and not seconds > 0:
            raise BadSetting(
                f"the time is {seconds} seconds", fix="use a number above 0, or None for no limit"
            )
        self.ks = None if k is None else check_ks(k)
        self.task, self.discount, self.depth, self.questions = task, discount, depth, questions
        compile_kernels()
        self._uncapped = bound in (None, Bound())
        """Whether stacks have no limit."""
        self._every_state = depth is None and self._uncapped
        """Whether all states are asked about, with any stack."""
        self._solvable = (bound is None or bound.rule == "open") and may_apply(task, discount)
        """Whether the task can be solved with the whole stack in view: a cap would make another task of it."""
        if self._solvable:
            compile_solver()
        self.plan = Plan(
            inf if seconds is None else seconds,
            estimate_seconds(task, discount) if self._solvable else 0.0,
        )
        self.most, self.memory, self.watch, self.begun = most, memory, watch, monotonic()
        self._new_product = partial(FiniteProduct, task.finite, task.pushdown, bound, memory)
        product = self._new_product()
        height = max((len(product.stack(int(x))) for x in product.starts if x != END), default=0)
        if product.bound.height is not None and height > product.bound.height:
            fault = (
                f"the stack is {height} high at the start, and the bound is {product.bound.height}"
            )
            raise BadSetting(fault, fix=f"allow it: --height {height} or more")
        self.optimal = look_at_start(product, discount, bound_by_top(product, discount, sweeps=0))
        """What was found last."""
        self.ended, self._short, self._ran, self._hurried = TIME, True, False, False
        self.explored = len(product)
        """States explored so far; answers rest on those that there was time to judge."""
        self.phase = "exploring"
        """What it is doing."""
        self.show: Callable[[], None] | None = None
        """Called whenever there is something new to show of how it goes."""
        self.stopped = False
        """Whether it was stopped by Ctrl-C."""
        self._early: Answers | None = None
        self._solved = Solved(task, discount)
        self._before: KReport | None = None
        """What is known from the start, by a search of that alone."""

    def go_on_from(self, before: KSearch, report: KReport | None = None) -> None:
        """Take over what another search of the same task has found out about it, and what it has reported."""
        self._solved, self._before = before._solved, report
        if self._solved.high is not None and self._solvable:
            self.plan = replace(self.plan, solving=KNOWN)

    @property
    def spent(self) -> float:
        """The seconds since the search began."""
        return monotonic() - self.begun

    def find(self) -> KReport:
        """Run, then report. At Ctrl-C the report is about what is known by then; a second Ctrl-C raises `KeyboardInterrupt`."""
        try:
            self.run()
            return self.report()
        except KeyboardInterrupt:
            self.stopped = True
            return self.report(AFTER_STOP)

    @property
    def progress(self) -> tuple[float, str]:
        """The seconds spent, as far as they count, and in words how far it is."""
        done = f"{self.explored:,} states, {self.optimal.decided_share:.0%} decided"
        return min(
            self.plan.seconds, self.spent
        ), done if self.phase == "exploring" else f"{done}; {self.phase}"

    def run(self) -> None:
        """Look ever further, until all is decided, or time or states are up."""
        if self.plan.solves_early:  # whenever it is stopped, the optimal value is known then
            self._enter("solving with the whole stack")
            with self._until(2 * SOLVE * self.plan.seconds):
                self._solved.solve()
        wanted = (
            self._solved.high is not None or self.depth is not None
        )  # a depth leaves out what a policy from the start meets later
        if wanted and self.depth != 0 and self._uncapped and self._before is None:
            self._before = self._look_from_start()
        try:
            with self._until(self.plan.begin):
                product, depth, known = self._begin()
            with self._until(
                self.plan.explore(self.spent, len(product) * len(self.ks or FIRST_KS))
            ):
                self._explore(product, depth, known)
                self._look_further(product, known)
        except TimeoutError:
            self.ended = TIME
        with suppress(TimeoutError), self._until(self.plan.follow):
            while True:
                further = replace(self.optimal, product=self.optimal.product.snapshot())
                found = follow_to_the_end(
                    further, self.most, room=FOLLOWED if self.depth == 0 else 0
                )
                if found is further:
                    break
                self.optimal, self.explored = found, max(self.explored, len(found.product))
                self._enter(self.phase)
                if self.depth != 0 or not is_certain(
                    self.task.finite
                ):  # with chance it may go on for ever
                    break
        self._ran = True

    def _look_from_start(self) -> KReport:
        """What is known from the start, if only the ways there are looked at: that takes little where optimal play ends."""
        share = None if self.plan.seconds == inf else ALSO_FROM_START * self.plan.seconds
        alone = partial(
            KSearch, self.task, self.ks, discount=self.discount, depth=0, questions=("start",)
        )
        search = alone(seconds=share, most=self.most, memory=self.memory, watch=self.watch)
        search.go_on_from(self)
        search.run()
        return search.report()

    def report(self, seconds: float | None = None) -> KReport:
        """What is known: the answers, then what each k costs. `seconds`: how long this may take, if less is left else."""
        begun = monotonic()
        with self._until(self.plan.end), limit_time(seconds):
            answers = Answers(
                self.optimal, short=self._short, all_asked=self.depth is None, early=self._early
            )
            left = time_left()
            reserved = MOST_LOSS if left == inf else min(MOST_LOSS, LOSS * max(0.0, left))
            with limit_time(left - reserved):
                self._answer(answers)
        found = dict(sorted(answers.found.items()))
        self._enter("what each k loses")
        late = LATE * min(self.plan.seconds, SECONDS if seconds is None else seconds)
        left = inf if seconds is None else begun + seconds - monotonic()
        with limit_time(max(late, min(self.plan.end - self.spent, left))):
            followed = self._follow_optimal()
            gaps = self._measure_gaps(found)
        ended = TIME if answers.cut_short else self.ended
        ended = ended if self._ran and not self.stopped else STOPPED
        beyond = answers.beyond if self.ks is None else None
        explored = max(self.explored, len(self.optimal.product))
        report = KReport(
            self.optimal,
            found,
            gaps,
            ended,
            beyond,
            self._solved.value,
            explored,
            self._short,
            followed,
        )
        if self._before is not None:
            report = report.add(self._before, all_asked=self.depth is None)
        return replace(report, ended=DECIDED) if report.complete else report

    def _answer(self, answers: Answers) -> None:
        """Ask what can be asked while there is time."""
        self._enter("asking for each k")
        higher = self._solvable and self.optimal.depth is not None
        answers.high = self._solved.high if higher else None
        with limit_time(
            time_left() / 2 if higher else None
        ):  # the rest is for what is not in the product
            answers.ask(self.ks, self.questions)
            answers.ask_nearer()
        if self._ran and self._uncapped and not self.stopped:
            self._enter("every stack")
            with limit_time(self.plan.every_stack(time_left())):
                answers.ask_every_stack(self.task)
        # What was stopped is to be reported at once.
        soon = (
            (self._ran and not self.stopped)
            or self._solved.high is not None
            or 0 < self.plan.high <= time_left()
        )
        if soon and higher:
            self._enter("higher stacks")
            answers.ask_higher(self._solved, every_state=self._every_state)
        answers.carry_over()

    def _follow_optimal(self) -> Followed | None:
        """How long optimal play from the start takes, where the task is solved."""
        high = self._solved.high
        with limit_time(time_left() / 4):
            return None if high is None else high.follow_optimal()

    def _measure_gaps(self, found: dict[int, dict[str, Answer]]) -> dict[int, Gap]:
        """What each k costs, by the explored product and, where moves are deterministic, by following policies as far as they go. What a policy gets
        with k symbols, one gets with more."""
        proved = {k for k, at in found.items() if at["start"].reach == inf}
        walks, gaps = self._make_walks(), dict[int, Gap]()
        with limit_time(time_left() / 2):
            values = (
                {}
                if walks is None
                else self._follow_policies(walks, [k for k in found if k not in proved])
            )
        best = -inf, -inf
        for left, (k, at) in zip(range(len(found), 0, -1), found.items(), strict=True):
            start = at["start"]
            with limit_time(time_left() / left):
                gap = measure_gap(
                    self.optimal, k, start.choice, chosen_at=start.found_at, proved=k in proved
                )
                best = max(best, gap.found, values.get(k, best))
                if k in values and gap.action is not None and time_left() > 0 and walks is not None:
                    best = max(
                        best, walks.improve(k, [self._list_actions(gap.action, k)], self._advise)[0]
                    )
            gaps[k] = gap if k in proved else replace(gap, found=best)
        return gaps

    def _follow_policies(self, walks: Walks, ks: Sequence[int]) -> dict[int, tuple[float, float]]:
        """For each k the value of the best policy that is found by following some: that leads to the most that is certain, that of the whole
        stack as far as k symbols tell, and the best one of fewer symbols."""
        before: Advise = self._advise
        values, safe = dict[int, tuple[float, float]](), self._walk_safely()
        for left, k in zip(range(len(ks), 0, -1), ks, strict=True):
            sure = {
                class_of(self.optimal.product, x, k): safe[x] for x in reversed(safe)
            }  # the first of each class
            with limit_time(time_left() / left):
                found = [walks.improve(k, [sure, {}], self._advise), walks.improve(k, [{}], before)]
            values[k], policy = max(found, key=lambda one: one[0][0])
            before = _advise_as(policy, k, self._advise)
        return values

    def _advise(self, s: int, u: int, stack: tuple[int, ...]) -> int:
        """An optimal action with the whole stack in view, where the task is solved; else the first one."""
        return 0 if self._solved.high is None else self._solved.high.choose(s, u, stack)

    def _make_walks(self) -> Walks | None:
        """What follows policies, where that can be done."""
        product, known = self.optimal.product, self.optimal.values.known
        if product.bound.rule != "open" or not is_certain(self.task.finite):
            return None
        best = self.optimal.values.upper if known is None else known.upper
        return Walks(
            self.task,
            self.discount,
            (find_worst(self.optimal), max(0.0, float(best.max(initial=0.0)))),
        )

    def _walk_safely(self) -> dict[int, int]:
        """What leads from the starts to the most that is certain, as far as the explored product goes: product states and actions, in order."""
        product, values, found = self.optimal.product, self.optimal.values, dict[int, int]()
        best = q_values(product.steps, values.discount, values.lower).argmax(axis=1)
        for x in product.starts.tolist():
            while x != END and x not in found and product.expanded[x]:
                found[x] = int(best[x])
                x = int(product.next[x, found[x], 0])
        return found

    def _list_actions(self, action: Numbers, k: int) -> Policy:
        """What a policy on the explored product does, for the nearest classes."""
        product = self.optimal.product
        depth = product.states.depth[: len(product)]
        number = Classes(product, np.arange(len(product))).at(k)
        near = np.argsort(depth, kind="stable")
        members = near[np.sort(np.unique(number[near], return_index=True)[1])][:MOST_CLASSES]
        return {class_of(product, x, k): int(action[x]) for x in members.tolist()}

    def _enter(self, phase: str) -> None:
        """Go on to another phase, and say so."""
        self.phase = phase
        if self.show is not None:
            self.show()

    def _tell(self, states: int, most: int) -> None:
        """The product has grown."""
        self.explored = max(self.explored, states)
        self._enter("exploring")
        if self.watch is not None:
            self.watch(states, most)

    def _until(self, moment: float) -> AbstractContextManager[None]:
        """Limit the time of a block to a moment of the plan."""
        return limit_time(moment - self.spent)

    def _begin(self) -> tuple[FiniteProduct, int | None, Known | None]:
        """A product to explore, how deep to ask, and what is known beyond it."""
        product, depth = self._choose_states()
        if not product.frontier.size:
            self.plan = replace(self.plan, solving=0.0)  # there is nothing higher
            return product, depth, None
        known = bound_by_top(product, self.discount)
        self.optimal = look_at_start(self._new_product(), self.discount, known)
        return product, depth, known

    def _choose_states(self) -> tuple[FiniteProduct, int | None]:
        """A product, and how deep to ask. Without a depth: the whole of it if that is small."""
        product = self._new_product()
        if self.depth is not None:
            return product, self.depth
        with suppress(TimeoutError), self._until(self.plan.whole):
            product.explore(most=min(CLOSED, self.most, product.most_states), check=check_time)
            if not product.expandable(product.frontier).size and len(product) <= self.most:
                return product, None
        with self._until(self.plan.near):
            product = self._explore_near(STEPS)
            self._hurried = time_left() <= 0  # then these are fewer states than were meant
        return product, len(product.layers) - 1

    def _explore_near(self, steps: int) -> FiniteProduct:
        """A product with the states to ask about: about so many as `ASKED` says, within some steps, and as far as there is time."""
        product = self._new_product()
        each = 1 + int(np.prod(product.next.shape[1:]))  # a state and those it leads to

        def check() -> None:
            check_time()
            if len(product.layers) > steps:
                raise TimeoutError

        with suppress(TimeoutError):
            product.explore(most=min(ASKED, self.most // each), check=check)
        return product

    def _explore(self, product: FiniteProduct, depth: int | None, known: Known | None) -> None:
        """Find the optimal actions of the states to ask about, of ever more of them."""
        for found in deepen(
            product, self.discount, depth, self.most, watch=self._tell, known=known
        ):
            self.optimal = replace(found, product=product.snapshot())
            self._short = found.depth is not None and (found.depth != depth or self._hurried)
            if found.depth is None and self._ask_early():
                break
        self.ended = TIME if self._hurried else STATES if self.optimal.capped else EXPLORED

    def _look_further(self, product: FiniteProduct, known: Known | None) -> None:
        """Where each step leads to few new states, ask about states ever farther away. What is known of them counts once it is known of all."""
        steps = STEPS
        while (
            self.depth is None
            and product.frontier.size
            and steps < len(product.layers)
            and not self.optimal.capped
        ):
            steps *= 4
            product = self._explore_near(steps)
            depth = len(product.layers) - 1
            *_, found = deepen(
                product, self.discount, depth, self.most, watch=self._tell, known=known
            )
            self.optimal, self._short = (
                replace(found, product=product.snapshot()),
                found.depth != depth,
            )
            self._hurried = False

    def _ask_early(self) -> bool:
        """Ask about all states there are, once, before time goes into ties between their actions; whether nothing is left to find."""
        if self._early is not None or self.ks is None or len(self.optimal.product) <= MANY:
            return False
        self._early = Answers(self.optimal, short=False)
        with limit_time(self.plan.ask_early(time_left())):
            self._early.ask(self.ks)
        return not any(self._early.list_open(question) for question in QUESTIONS)


def _advise_as(policy: Policy, k: int, advise: Advise) -> Advise:
    """What a k-policy does; where it does not say, what is advised else."""

    def choose(s: int, u: int, stack: tuple[int, ...]) -> int:
        known = policy.get((s, u, stack[:k]))
        return advise(s, u, stack) if known is None else known

    return choose


@contextmanager
def show_search(
    seconds: float | None, *, quiet: bool
) -> Iterator[Callable[[KSearch, float], None]]:
    """Show how searches go until the end of the block; it gives a function that has one more search shown, of which some seconds were
    spent before."""
    with show_progress(
        inf if seconds is None else seconds, "check-k", quiet=quiet, every=EVERY
    ) as update:
        last: KSearch | None = None

        def attach(search: KSearch, before: float) -> None:
            nonlocal last
            last = search

            def show() -> None:
                spent, note = search.progress
                if before + spent > QUICK:
                    update(before + spent, note)

            search.show = show

        yield attach
        if last is not None and seconds is not None and is_shown():
            update(seconds, last.progress[1])  # it may be done before its time is up


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
    memory: float = MEMORY / GIB,
    seconds: float | None = SECONDS,
    watch: Watch | None = None,
    progress: bool | None = None,
) -> KReport:
    """Answer the three questions for each k. The problem is the discounted one without a step limit.

    task: a `Task`; or a domain (by name, file or object). machine: unless the domain comes with one.
    discount: γ; None: the paper's for a domain of the catalogue, else 0.99.
    k: the number, or the numbers, of symbols to ask about; without it, 0 and upwards to the smallest that is enough.
    depth: ask about the states within so many steps; without it about all states if there are few enough, else about
    those within as many steps as give some thousands of them.
    seconds: how long it may take; then the best answers so far are given, as they are at Ctrl-C (a second one raises
    `KeyboardInterrupt`). None: as long as it takes.
    from_: "start": ask only whether some k-policy is optimal from the start.
    height: the highest stack the product is built for. rule: what happens beyond: "open" (the problem stays what it is), "block" or "fail"
    (which make another task of it).
    most, memory: states to explore, and GiB for them, at most. watch: called as the product grows.
    progress: whether to show how it goes; None: on a terminal and in a notebook.
    Warnings tell of what is more often a mistake in a task, as in training.

    >>> report = check_k("paint")
    >>> report.smallest("start"), report.witness(4, "start")[1].actions
    (5, ('ask_5',))
    """
    if isinstance(machine, int):
        fault = f"the second argument is the machine, and {machine} is not one"  # type: ignore[unreachable] # or is it?
        raise WrongKind(fault, fix=f"name the symbols to see: check_k(task, k={machine})")
    given = task if isinstance(task, Task) and machine is None else Task(task, machine)
    bound, room = Bound(height, rule), measure_memory(memory)
    search = partial(
        KSearch,
        given,
        k=k,
        discount=discount,
        bound=bound,
        most=most,
        memory=room,
        questions=choose_questions(from_),
        watch=watch,
    )
    warn_of_tasks(given)
    shown = is_shown() if progress is None else progress
    report, stopped = look(search, depth, seconds, from_, quiet=not shown)
    if stopped and shown:
        say("stopped; this is what was known by then")
    return report


def choose_questions(from_: str | None) -> tuple[str, ...]:
    """The questions to ask: all three, or only the one about the start.

    >>> choose_questions(None), choose_questions("start")
    (('same_values', 'everywhere', 'start'), ('start',))
    """
    if from_ not in (None, "start"):
        fault = f"one can ask only from the `start`, not from `{from_}`"
        raise UnknownChoice(
            fault, fix='from_="start" (--from start), or leave it out to ask about all states'
        )
    return QUESTIONS if from_ is None else ("start",)


def measure_memory(gib: float) -> int:
    """GiB in bytes."""
    if not gib > 0:
        raise BadSetting(
            f"the memory is {gib:g} GiB", fix="use a number above 0: memory=4 (--memory 4)"
        )
    return int(gib * GIB)


def look(
    search: Callable[..., KSearch],
    depth: int | None,
    seconds: float | None,
    from_: str | None,
    *,
    quiet: bool,
) -> tuple[KReport, bool]:
    """Search; from the start alone first with the start alone in view, and then, if something is open, in view of all states. What is known
    then, or when it is stopped, and whether it was. How it goes is said on standard error: by a bar on a terminal, a line now and then in a
    pipe."""
    with show_search(seconds, quiet=quiet) as attach:
        share = FROM_START if from_ and depth != 0 else 1.0
        first = search(
            depth=0 if from_ else depth, seconds=None if seconds is None else share * seconds
        )
        attach(first, 0.0)
        report = first.find()
        left = None if seconds is None else seconds - first.spent
        if not from_ or depth == 0 or first.stopped or report.settles("start"):
            return report, first.stopped
        second = search(depth=depth, seconds=left)
        second.go_on_from(first, report)
        attach(second, first.spent)
        return second.find(), second.stopped
