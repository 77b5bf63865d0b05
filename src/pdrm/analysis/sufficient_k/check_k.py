"""Which top-k view of the stack is enough: the search, within a time that it shares by a plan.

`KSearch` builds the product and finds the optimal actions (`optimal`) as far as there is time, of near states first; then it
answers the three questions for each k (`questions`) and says what each k costs (`k_gap`), whenever one asks, in a `KReport`.
`check_k` is all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from math import inf
from time import monotonic

import numpy as np

from pdrm.analysis.optimal import (
    MANY,
    MOST_STATES,
    Optimal,
    Watch,
    deepen,
    find_optimal,
    follow_to_the_end,
    look_at_start,
)
from pdrm.analysis.sufficient_k.certificate import StackCertificate
from pdrm.analysis.sufficient_k.every_stack import EveryStack
from pdrm.analysis.sufficient_k.high_witness import HighWitnesses, compile_solver, estimate_seconds, may_apply
from pdrm.analysis.sufficient_k.k_gap import Gap, measure_gap
from pdrm.analysis.sufficient_k.k_report import DECIDED, HELPLESS, STATES, STOPPED, TIME, KReport
from pdrm.analysis.sufficient_k.questions import (
    NO,
    QUESTIONS,
    UNDECIDED,
    YES,
    Answer,
    Classes,
    answer_questions,
    check_ks,
)
from pdrm.analysis.time_limit import check_time, limit_time, time_left
from pdrm.analysis.values import Known, bound_by_top, check_discount
from pdrm.errors import BadSetting, explain_arguments
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import MEMORY, Bound, FiniteProduct
from pdrm.task import DomainLike, MachineLike, Task

SECONDS = 60.0
"""How long the search takes at most."""
CLOSED = 200_000
"""A product with no more states than this is explored completely."""
ASKED = 5_000
"""In a larger one, the states to ask about: to the depth at which there are about so many."""
STEPS = 100
"""States that are farther away are asked about once those within so many steps are known."""
FIRST_KS = range(5)
"""Unless some k are given, these are tried, and then larger ones up to the smallest that is enough."""
FOLLOW, ASK = 0.1, 0.15
"""The shares of the time that are left for the end of the best policy, and then for the questions."""
ANSWER = 1e-6
"""Seconds that the questions take at most, about, for each state and k."""
SOLVE = 0.25
"""The share of the time within which the task must be solved, or nothing more is left for witnesses of any height."""
JUDGE = 1.0
"""Seconds that are left for such witnesses, beside those that solving takes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search shares its time. What a phase does not need, those after it have.

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
        """What looking for a yes for every stack may take: half, or less where witnesses of any height need more than the other half."""
        return min(left / 2, left - self.high)

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
        soon = self.solving <= SOLVE * self.seconds
        return max(ASK, min(0.5, self.high / self.seconds)) if soon else ASK


@cache
def compile_kernels() -> None:
    """Have everything compiled that a search needs, once: what that takes says nothing about the problem."""
    for task in (Task("paint"), Task("letter")):
        found = find_optimal(FiniteProduct(task.finite, task.pushdown), 0.9, depth=1, rounds=2)
        answer_questions(found, 0)
        measure_gap(found, 0)


@explain_arguments
class KSearch:
    """A search for the k that are enough that can be stopped at any time: `run` looks ever further, `report` says what is
    known so far. What is stopped (with Ctrl-C, say) can be reported, and run again from the beginning.

    >>> search = KSearch(Task("paint"))
    >>> search.run()
    >>> search.report().smallest("start")
    5
    """

    def __init__(  # noqa: PLR0913 - each is a choice of the user's
        self,
        task: Task,
        k: int | Iterable[int] | None = None,
        *,
        discount: float = 0.99,
        depth: int | None = None,
        bound: Bound | None = None,
        most: int = MOST_STATES,
        memory: int = MEMORY,
        seconds: float | None = SECONDS,
        questions: Sequence[str] = QUESTIONS,
        watch: Watch | None = None,
    ) -> None:
        check_discount(discount)
        if depth is not None and depth < 0:
            raise BadSetting(f"the depth is {depth}", fix="use a non-negative integer")
        if seconds is not None and not seconds > 0:
            raise BadSetting(f"the time is {seconds} seconds", fix="use a number above 0, or None for no limit")
        self.ks = None if k is None else check_ks(k)
        self.task, self.discount, self.depth, self.questions = task, discount, depth, questions
        compile_kernels()
        self._every_state = depth is None and bound in (None, Bound())
        """Whether all states are asked about, with any stack."""
        high = self._every_state and may_apply(task, discount)
        if high:
            compile_solver()
        self.plan = Plan(inf if seconds is None else seconds, estimate_seconds(task) if high else 0.0)
        self.most, self.watch, self.begun = most, watch, monotonic()
        self._new_product = partial(FiniteProduct, task.finite, task.pushdown, bound, memory)
        product = self._new_product()
        height = max((len(product.stack(int(x))) for x in product.starts if x != END), default=0)
        if product.bound.height is not None and height > product.bound.height:
            fault = f"the stack is {height} high at the start, and the bound is {product.bound.height}"
            raise BadSetting(fault, fix=f"allow it: --height {height} or more")
        self.optimal = look_at_start(product, discount, bound_by_top(product, discount, sweeps=0))
        """What was found last."""
        self.ended, self._short, self._ran = TIME, True, False
        self._early: _Answers | None = None

    @property
    def spent(self) -> float:
        """The seconds since the search began."""
        return monotonic() - self.begun

    def run(self) -> None:
        """Look ever further, until all is decided, or time or states are up."""
        with suppress(TimeoutError):
            with self._until(self.plan.begin):
                product, depth, known = self._begin()
            with self._until(self.plan.explore(self.spent, len(product) * len(self.ks or FIRST_KS))):
                self._explore(product, depth, known)
                self._look_further(product, known)
        with suppress(TimeoutError), self._until(self.plan.follow):
            further = replace(self.optimal, product=self.optimal.product.snapshot())
            self.optimal = follow_to_the_end(further, self.most)
        self._ran = True

    def report(self, seconds: float | None = None) -> KReport:
        """What is known: the answers, then what each k costs. `seconds`: how long this may take, if less is left else."""
        with self._until(self.plan.end), limit_time(seconds):
            answers = _Answers(self.optimal, short=self._short, early=self._early)
            answers.ask(self.ks, self.questions)
            answers.ask_nearer()
            if self._ran and self._every_state:
                with limit_time(self.plan.every_stack(time_left())):
                    answers.ask_every_stack(self.task)
            soon = self._ran or 0 < self.plan.high <= time_left()  # what was stopped is to be reported at once
            if soon and self._every_state and self.optimal.depth is not None:
                answers.ask_higher(self.task)
            found = dict(sorted(answers.found.items()))
            gaps = {k: _measure_gap(self.optimal, k, at["start"]) for k, at in found.items()}
        ended, beyond = self.ended if self._ran else STOPPED, answers.beyond if self.ks is None else None
        report = KReport(self.optimal, found, gaps, ended, beyond, answers.solved)
        return replace(report, ended=DECIDED) if report.complete else report

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
        for found in deepen(product, self.discount, depth, self.most, watch=self.watch, known=known):
            self.optimal = replace(found, product=product.snapshot())
            self._short = found.depth is not None and found.depth != depth
            if found.depth is None and self._ask_early():
                break
        self.ended = STATES if self.optimal.capped else HELPLESS

    def _look_further(self, product: FiniteProduct, known: Known | None) -> None:
        """Where each step leads to few new states, ask about states ever farther away. What is known of them counts once it is known of all."""
        steps = STEPS
        while self.depth is None and product.frontier.size and steps < len(product.layers) and not self.optimal.capped:
            steps *= 4
            product = self._explore_near(steps)
            depth = len(product.layers) - 1
            *_, found = deepen(product, self.discount, depth, self.most, watch=self.watch, known=known)
            self.optimal, self._short = replace(found, product=product.snapshot()), found.depth != depth

    def _ask_early(self) -> bool:
        """Ask about all states there are, once, before time goes into ties between their actions; whether nothing is left to find."""
        if self._early is not None or self.ks is None or len(self.optimal.product) <= MANY:
            return False
        self._early = _Answers(self.optimal, short=False)
        with limit_time(self.plan.ask_early(time_left())):
            self._early.ask(self.ks)
        return not any(self._early.list_open(question) for question in QUESTIONS)


class _Answers:
    """The answers for some k, each found when it is asked for."""

    def __init__(self, optimal: Optimal, *, short: bool, early: _Answers | None = None) -> None:
        """`short`: fewer states than were meant to be asked about. Then a yes about states none of which look alike, which
        says nothing, does not count. `early`: what was answered about the same states, all there are, with less known of them."""
        self.optimal, self.short, self.early = optimal, short, early
        self.classes: Classes = Classes(optimal.product, optimal.asked) if early is None else early.classes
        self.found: dict[int, dict[str, Answer]] = {}
        self.solved: tuple[float, float] | None = None
        """The interval of the value from the start, where the task was solved for witnesses."""

    @cached_property
    def beyond(self) -> int:
        """The first k at which no two states look alike."""
        return self.classes.count_to_tell_apart()

    def at(self, k: int) -> dict[str, Answer]:
        """The answers for one k; when time is up, for a few at least: all but the search from the start is quick."""
        if len(self.found) > len(FIRST_KS) and time_left() <= 0:
            self.found.setdefault(k, dict.fromkeys(QUESTIONS, Answer(UNDECIDED)))
        before = {} if self.early is None else self.early.found.get(k, {})
        settled = {question: one for question, one in before.items() if one.verdict != UNDECIDED and one.depth is None}
        if k not in self.found:
            new = len(settled) < len(QUESTIONS)
            answers = (answer_questions(self.optimal, k, self.classes.at(k)) if new else {}) | settled
            if self.short and self.classes.tells_apart(k):
                answers = {q: Answer(UNDECIDED) if one.depth is not None else one for q, one in answers.items()}
            self.found[k] = answers
        return self.found[k]

    def ask(self, ks: Sequence[int] | None, questions: Sequence[str] = QUESTIONS) -> None:
        """Answer for some k; without any, upwards to the smallest that is enough for these questions."""
        if ks is None:
            self._look_upwards(questions)
        for k in ks or ():
            self.at(k)

    def ask_nearer(self) -> None:
        """What is undecided may be a yes for states that are nearer: then it is, to that depth."""
        for question in QUESTIONS:
            for k, answers in self.found.items():
                if answers[question].verdict == UNDECIDED and time_left() > 0:
                    answers[question] = self._ask_nearer(k, question) or answers[question]

    def _ask_nearer(self, k: int, question: str) -> Answer | None:
        """The yes for as many steps as possible, if there is one that says something: some states within them look alike."""
        product, asked = self.optimal.product, self.optimal.asked
        depth = product.states.depth[asked]
        yes: dict[int, Answer] = {}

        def fails(steps: int) -> bool:
            near = replace(self.optimal, asked=asked[depth <= steps], depth=steps)
            with limit_time(None if question == "start" else 0):  # the search from the start takes longest
                answer = answer_questions(near, k)[question]
            if answer.verdict == YES:
                yes[steps] = answer
            return steps not in yes

        bisect_left(range(1, int(depth.max(initial=0))), True, key=fails)
        deepest = max(yes, default=0)
        if not yes or Classes(product, asked[depth <= deepest]).tells_apart(k):
            return None
        return yes[deepest]

    def list_open(self, question: str) -> list[int]:
        """The k for which the answer is not yet a yes for all states, or a no."""
        asked = {k: answers[question] for k, answers in sorted(self.found.items())}
        return [k for k, answer in asked.items() if answer.verdict == UNDECIDED or answer.depth is not None]

    def ask_higher(self, task: Task) -> None:
        """What is open may be a no farther away than any product reaches."""
        asked = [(question, k) for question in ("everywhere", "same_values") for k in self.list_open(question)]
        high = HighWitnesses.of(task, self.optimal.values.discount) if asked else None
        for question, k in asked:
            pair = high.find(question, k) if high is not None and time_left() > 0 else None
            if pair is None:
                continue
            self.found[k][question] = Answer(NO, situations=pair)
            if question == "everywhere" and self.found[k]["same_values"].verdict != NO:
                self.found[k]["same_values"] = Answer(NO, situations=pair)
        high = self._refuse_from_start(task, high)
        if high is not None:
            value, error = high.solution.start_value, high.solution.error
            self.solved = value - error, value + error

    def _refuse_from_start(self, task: Task, high: HighWitnesses | None) -> HighWitnesses | None:
        """No k-policy may be optimal from the start; the more symbols are seen, the harder that is to prove. Returns what it was proved with."""
        asked = [k for k in self.list_open("start") if self.found[k]["start"].verdict == UNDECIDED]
        high = high or (HighWitnesses.of(task, self.optimal.values.discount) if asked else None)
        for k in asked:
            clash = None if high is None else high.find_from_start(k)
            if clash is None:
                break
            self.found[k]["start"] = Answer(NO, situations=clash)
        return high

    def ask_every_stack(self, task: Task) -> None:
        """What is open may be a yes for every stack; and then it is for every larger k."""
        asked = {
            question: ks for question in ("everywhere", "same_values", "start") if (ks := self.list_open(question))
        }
        if not asked:
            return
        every = EveryStack.of(task, self.optimal.values.discount)
        for question, ks in asked.items() if every else ():
            proof: StackCertificate | None = None
            for k in ks:
                proof = proof or (self.found[k]["everywhere"].proof if question == "start" else None)
                proof = proof or (every.prove(question, k) if every and time_left() > 0 else None)
                if proof is not None:
                    self.found[k][question] = Answer(YES, proof=proof)

    def _look_upwards(self, questions: Sequence[str]) -> None:
        """Find the smallest k that is enough, for each question.

        What is enough for k is enough for k + 1: beyond the first few, the largest k of use is tried, and then halfway.
        """
        top = self.beyond
        if self.optimal.depth is not None:
            top -= 1  # a yes where all look different says nothing, unless these are all states there are
        for k in FIRST_KS[: max(top, 0) + 1]:
            self.at(k)
            if all(self._enough(k, question) for question in questions):
                return
        if top >= len(FIRST_KS):
            for question in questions:
                if time_left() > 0 and not self._enough(FIRST_KS[-1], question) and self._enough(top, question):
                    bisect_left(range(len(FIRST_KS), top), True, key=lambda k: self._enough(k, question))

    def _enough(self, k: int, question: str) -> bool:
        answer = self.at(k)[question]
        return answer.verdict == YES and answer.depth in (None, self.optimal.depth)


def _measure_gap(optimal: Optimal, k: int, start: Answer) -> Gap:
    return measure_gap(optimal, k, start.choice, proved=start.verdict == YES and start.depth is None)


@explain_arguments
def check_k(  # noqa: PLR0913 - each is a choice of the user's
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    k: int | Iterable[int] | None = None,
    *,
    discount: float = 0.99,
    depth: int | None = None,
    bound: Bound | None = None,
    most: int = MOST_STATES,
    memory: int = MEMORY,
    seconds: float | None = SECONDS,
    watch: Watch | None = None,
) -> KReport:
    """Answer the three questions for each k. The problem is the discounted one without a step limit.

    task: a `Task`; or a domain (by name, file or object). machine: unless the domain comes with one. discount: γ.
    k: the number, or the numbers, of symbols to ask about; without it, 0 and upwards to the smallest that is enough.
    depth: ask about the states within so many steps; without it about all states if there are few enough, else about
    those within as many steps as give some thousands of them.
    seconds: how long it may take; then the best answers so far are given. None: as long as it takes.
    most, memory: states to explore, and bytes for them, at most. bound: the highest stack. watch: called as the product grows.

    >>> report = check_k("paint")
    >>> report.smallest("start"), report.witness(4, "start")[1].actions
    (5, ('ask_5',))
    """
    given = task if isinstance(task, Task) and machine is None else Task(task, machine)
    search = KSearch(
        given, k, discount=discount, depth=depth, bound=bound, most=most, memory=memory, seconds=seconds, watch=watch
    )
    search.run()
    return search.report()
