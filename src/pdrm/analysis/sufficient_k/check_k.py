"""Which top-k view of the stack is enough: one report for a domain and a machine, as a table, as JSON, and with proofs.

`KSearch` builds the product and finds the optimal actions (`optimal`) as far as there is time, of near states first; its report
answers the three questions for each k (`sufficient_k`) and says what each k costs (`k_gap`), whenever one asks. `check_k` is both.
A yes can be certified; `checker` then checks the certificate without the solver.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import pairwise
from math import inf
from time import monotonic
from typing import Any

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
from pdrm.analysis.sufficient_k.certificate import DEPTH, EVERY_STACK, Certificate, StackCertificate, format_fraction
from pdrm.analysis.sufficient_k.every_stack import EveryStack
from pdrm.analysis.sufficient_k.from_start import class_of
from pdrm.analysis.sufficient_k.high_witness import HighWitnesses, compile_solver, estimate_seconds, may_apply
from pdrm.analysis.sufficient_k.k_gap import Gap, measure_gap
from pdrm.analysis.sufficient_k.questions import (
    NO,
    QUESTIONS,
    UNDECIDED,
    YES,
    Answer,
    Classes,
    Situation,
    answer_questions,
    check_ks,
    count_to_tell_apart,
    describe,
)
from pdrm.analysis.time_limit import check_time, limit_time, time_left
from pdrm.analysis.values import bound_by_top, check_discount
from pdrm.errors import BadCertificate, BadSetting, explain_arguments
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import MEMORY, Bound, FiniteProduct
from pdrm.task import DomainLike, MachineLike, Task

DECIDED, TIME, STATES, HELPLESS = "decided", "time", "states", "helpless"
"""What ended a search: all is decided, time or the cap of states was up, or exploring more would not help."""
NAMES = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}
"""The questions in words."""
FURTHER = {TIME: "raise `seconds`", STATES: "raise `most`", HELPLESS: "try another `depth`"}
"""What may decide what is undecided, by what ended the search."""
SHADES = {YES: "#14532d", NO: "#b91c1c", UNDECIDED: "#a16207"}
"""The colours of verdicts in a notebook."""
ENDED = {TIME: ", then time was up", STATES: ", the most allowed"}
"""The same in the report."""
CLOSED = 200_000
"""A product with no more states than this is explored completely."""
ASKED = 5_000
"""In a larger one, the states to ask about: to the depth at which there are about so many."""
SECONDS = 60.0
"""How long the search takes at most."""
WHOLE = 0.5
"""The share of this time within which the whole product must be explored, or a part of it is asked about."""
FOLLOWING = 0.1
"""The share of it in which the end of the best policy is sought, once exploring has ended."""
ANSWERING = 0.15
"""The share that is left then for the questions; it is more, but no more than half, where witnesses of any height can be had for that."""
SOLVING = 0.25
"""The share of the time within which the task must be solved, or nothing is left for witnesses of any height."""
HIGH = 1.0
"""Seconds that are left for such witnesses, beside those that solving takes."""
SHARE = 0.5
"""The share of the rest that looking for a yes for every stack takes at most."""
EARLY = 0.5
"""Of the time that is left, the share that the questions take at most when they are asked before ties are known."""
ASKING = 1e-6
"""Seconds that the questions take at most, about, for each state and k."""
FIRST_KS = range(5)
"""Unless some k are given, these are tried, and then larger ones up to the smallest that is enough."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KReport:
    """The answers for each k, and the product they were found on. Printed, it is the table that `pdrm check-k` shows."""

    optimal: Optimal
    answers: dict[int, dict[str, Answer]]
    gaps: dict[int, Gap]
    ended: str = DECIDED
    """What ended the search: "decided", "time", "states" or "helpless" (exploring more would not have helped)."""
    beyond: int | None = None
    """From this k on no two states asked about look alike; None where larger k were not looked for."""

    def __str__(self) -> str:
        return "\n".join(format_report(self))

    def __repr__(self) -> str:
        product, smallest = self.optimal.product, {question: self.smallest(question) for question in QUESTIONS}
        return f"<KReport of {product.domain.name} with {product.machine.name}: smallest k {smallest}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table  # noqa: PLC0415 - an analysis does not draw

        first, second, *_ = format_report(self)
        scale = max(*map(abs, self.optimal.values.at_start(self.optimal.product)), 1e-9)
        rows = []
        for k, found in self.answers.items():
            shown = ((_format_answer(found[q]), SHADES[found[q].verdict]) for q in NAMES)
            cells = [html("span", text, style=f"color: {shade}; font-weight: 600") for text, shade in shown]
            rows.append([str(k), *cells, _format_loss(*self.loss(k), scale=scale)])
        said = [html("li", f"{NAMES[question]}: {summarize(self, question)}") for question in NAMES]
        heads = ["k", *NAMES.values(), "loss of the best k-policy found"]
        return html("p", first, html("br"), second) + table(heads, rows) + html("ul", *said)

    def smallest(self, question: str) -> int | None:
        """The smallest k whose answer is yes; where no yes goes as deep as was asked, of those that go deepest."""
        far = {k: self._reach(found[question]) for k, found in self.answers.items() if found[question].verdict == YES}
        asked = inf if self.optimal.depth is None else self.optimal.depth
        deepest = min(asked, max(far.values(), default=0))
        return min((k for k, depth in far.items() if depth >= deepest), default=None)

    @property
    def complete(self) -> bool:
        """Whether every question is answered yes or no, as deep as was asked."""
        asked = inf if self.optimal.depth is None else self.optimal.depth
        answers = [answer for found in self.answers.values() for answer in found.values()]
        return all(one.verdict == NO or (one.verdict == YES and self._reach(one) >= asked) for one in answers)

    @staticmethod
    def _reach(answer: Answer) -> float:
        return inf if answer.depth is None else answer.depth

    def witness(self, k: int, question: str) -> list[Situation]:
        """The situations that prove a no."""
        answer = self.answers[k][question]
        return [describe(self.optimal, x, k) for x in answer.witness] or list(answer.situations)

    def certificate(self, k: int, question: str) -> Certificate | StackCertificate:
        """The proof of a yes. Where only a policy from the start is asked about, on a product no larger than it needs. Of a yes for every
        stack, it may be one of fewer symbols, or that a policy is optimal not only from the start."""
        answer, found = self.answers[k][question], self.optimal
        if answer.proof is not None:
            return answer.proof
        if question == "start" and answer.verdict == YES and found.product.frontier.size:
            product = found.product
            small = FiniteProduct(product.domain, product.machine, product.bound, product.memory)
            with limit_time(SECONDS), suppress(TimeoutError):
                near = find_optimal(small, found.values.discount, depth=0, most=max(len(product), CLOSED))
                again = answer_questions(near, k)[question]
                if again.verdict == YES and again.depth is None:
                    found, answer = near, again
        return certify(found, k, question, answer)

    def loss(self, k: int) -> tuple[float, float]:
        """The interval of what the best k-policy found loses from the start: 0 where one is proved to be optimal."""
        start = self.answers[k]["start"]
        return (0.0, 0.0) if start.verdict == YES and start.depth is None else self.gaps[k].gap

    def record(self) -> dict[str, Any]:
        """The report as JSON values."""
        found, product = self.optimal, self.optimal.product
        return {
            "domain": product.domain.name,
            "machine": product.machine.name,
            "discount": found.values.discount,
            "height": product.bound.height,
            "rule": product.bound.rule,
            "depth": found.depth,
            "states_asked": len(found.asked),
            "states_looked_at": int(product.expanded.sum()),
            "decided": found.decided_share,
            "ended": self.ended,
            "complete": self.complete,
            "value_from_start": list(found.values.at_start(product)),
            "k": {str(k): {q: asked[q].verdict for q in asked} for k, asked in self.answers.items()},
            "depths": {
                str(k): {q: asked[q].depth for q in asked if asked[q].verdict == YES}
                for k, asked in self.answers.items()
            },
            "scopes": {
                str(k): {q: asked[q].scope for q in asked if asked[q].verdict == YES}
                for k, asked in self.answers.items()
            },
            "smallest": {question: self.smallest(question) for question in QUESTIONS},
            "witnesses": {
                str(k): {q: [asdict(one) for one in self.witness(k, q)] for q in asked if asked[q].verdict == NO}
                for k, asked in self.answers.items()
            },
            "gap": {
                str(k): {"loss": list(self.loss(k)), "disagreeing": gap.disagreeing, "spread": gap.spread}
                for k, gap in self.gaps.items()
            },
        }


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
        self.task, self.discount, self.depth, self.seconds, self.questions = task, discount, depth, seconds, questions
        compile_kernels()
        self._higher = (
            HIGH + estimate_seconds(task) if depth is None and bound is None and may_apply(task, discount) else 0.0
        )
        """Seconds to leave for witnesses of any height."""
        if self._higher:
            compile_solver()
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
        with limit_time(self._until(1 - ANSWERING - FOLLOWING)), suppress(TimeoutError):
            product, depth = self._begin()
            self._higher *= product.frontier.size > 0  # else there is nothing higher
            known = bound_by_top(product, self.discount) if product.frontier.size else None
            if known is not None:
                self.optimal = look_at_start(self._new_product(), self.discount, known)
            with limit_time(self._leave_time_to_ask(product)), limit_time(self._until(1 - self._share - FOLLOWING)):
                for found in deepen(product, self.discount, depth, self.most, watch=self.watch, known=known):
                    self.optimal = replace(found, product=product.snapshot())
                    self._short = found.depth is not None and found.depth != depth
                    if found.depth is None and self._ask_early():
                        break
            self.ended = STATES if self.optimal.capped else HELPLESS
        with limit_time(self._until(1 - self._share)), suppress(TimeoutError):
            further = replace(self.optimal, product=self.optimal.product.snapshot())
            self.optimal = follow_to_the_end(further, self.most)
        self._ran = True

    def report(self, seconds: float | None = None) -> KReport:
        """What is known: the answers, then what each k costs. `seconds`: how long this may take, if less is left else."""
        with limit_time(self._until(1.0)), limit_time(seconds):
            answers = _Answers(self.optimal, short=self._short, early=self._early)
            for k in self.ks or ():
                answers.at(k)
            if self.ks is None:
                answers.look_upwards(self.questions)
            answers.ask_nearer()
            if self._ran and self.depth is None and self.optimal.product.bound == Bound():
                with limit_time(min(time_left() * SHARE, time_left() - self._higher)):
                    answers.ask_every_stack(self.task)
                if self.optimal.depth is not None:
                    answers.ask_higher(self.task)
            found = dict(sorted(answers.found.items()))
            gaps = {k: _measure_gap(self.optimal, k, at["start"]) for k, at in found.items()}
        report = KReport(self.optimal, found, gaps, self.ended, answers.beyond if self.ks is None else None)
        return replace(report, ended=DECIDED) if report.complete else report

    def _until(self, share: float) -> float | None:
        """The seconds until some share of the time has passed."""
        return None if self.seconds is None else share * self.seconds - self.spent

    def _ask_early(self) -> bool:
        """Ask about all states there are, once, before time goes into ties between their actions; whether nothing is left to find."""
        if self._early is None and self.ks is not None and len(self.optimal.product) > MANY:
            self._early = _Answers(self.optimal, short=False)
            with limit_time(time_left() * EARLY):
                for k in self.ks:
                    self._early.at(k)
            return not any(self._early.list_open(question) for question in QUESTIONS)
        return False

    @property
    def _share(self) -> float:
        """The share of the time that is left for the questions."""
        if self.seconds is None or not 0 < self._higher - HIGH <= SOLVING * self.seconds:
            return ANSWERING
        return max(ANSWERING, min(WHOLE, self._higher / self.seconds))

    def _leave_time_to_ask(self, product: FiniteProduct) -> float | None:
        """The seconds until the questions must be asked, where there are many states already; at least half of what is left."""
        left = self._until(1.0)
        if left is None:
            return None
        return max(left / 2, left - ASKING * len(product) * len(self.ks or FIRST_KS))

    def _begin(self) -> tuple[FiniteProduct, int | None]:
        """A product to explore, and how deep to ask. Without a depth: the whole of it if that is small."""
        product = self._new_product()
        if self.depth is not None:
            return product, self.depth
        with limit_time(self._until(WHOLE)), suppress(TimeoutError):
            product.explore(most=min(CLOSED, self.most, product.most_states), check=check_time)
            if not product.expandable(product.frontier).size and len(product) <= self.most:
                return product, None
        product = self._new_product()
        each = 1 + int(np.prod(product.next.shape[1:]))  # a state and those it leads to
        product.explore(most=min(ASKED, self.most // each), check=check_time)
        return product, len(product.layers) - 1


class _Answers:
    """The answers for some k, each found when it is asked for."""

    def __init__(self, optimal: Optimal, *, short: bool, early: _Answers | None = None) -> None:
        """`short`: fewer states than were meant to be asked about. Then a yes about states none of which look alike, which
        says nothing, does not count. `early`: what was answered about the same states, all there are, with less known of them."""
        self.optimal, self.short, self.early = optimal, short, early
        self.classes: Classes = Classes(optimal.product, optimal.asked) if early is None else early.classes
        self.beyond = self.classes.count_to_tell_apart()
        """The first k at which no two states look alike."""
        self.found: dict[int, dict[str, Answer]] = {}

    def at(self, k: int) -> dict[str, Answer]:
        """The answers for one k; when time is up, for a few at least: all but the search from the start is quick."""
        if len(self.found) > len(FIRST_KS) and time_left() <= 0:
            self.found.setdefault(k, dict.fromkeys(QUESTIONS, Answer(UNDECIDED)))
        before = {} if self.early is None else self.early.found.get(k, {})
        settled = {question: one for question, one in before.items() if one.verdict != UNDECIDED and one.depth is None}
        if k not in self.found:
            new = len(settled) < len(QUESTIONS)
            answers = (answer_questions(self.optimal, k, self.classes.at(k)) if new else {}) | settled
            if self.short and k >= self.beyond:
                answers = {q: Answer(UNDECIDED) if one.depth is not None else one for q, one in answers.items()}
            self.found[k] = answers
        return self.found[k]

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
            with limit_time(
                None if question == "start" else 0
            ):  # without the search from the start, which takes longest
                answer = answer_questions(near, k)[question]
            if answer.verdict == YES:
                yes[steps] = answer
            return steps not in yes

        bisect_left(range(1, int(depth.max(initial=0))), True, key=fails)
        deepest = max(yes, default=0)
        return yes[deepest] if yes and count_to_tell_apart(product, asked[depth <= deepest]) > k else None

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
        self._refuse_from_start(task, high)

    def _refuse_from_start(self, task: Task, high: HighWitnesses | None) -> None:
        """No k-policy may be optimal from the start; the more symbols are seen, the harder that is to prove."""
        asked = [k for k in self.list_open("start") if self.found[k]["start"].verdict == UNDECIDED]
        high = high or (HighWitnesses.of(task, self.optimal.values.discount) if asked else None)
        for k in asked:
            clash = None if high is None else high.find_from_start(k)
            if clash is None:
                break
            self.found[k]["start"] = Answer(NO, situations=clash)

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

    def look_upwards(self, questions: Sequence[str]) -> None:
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


def certify(optimal: Optimal, k: int, question: str, answer: Answer) -> Certificate:
    """Write down the proof of a yes."""
    if answer.verdict != YES:
        raise BadCertificate(f"the answer is {answer.verdict}: only a yes has a certificate", fix="look at its witness")
    product = optimal.product
    states, count = product.states, len(product)
    node, made = states.node[:count], int(product.stacks.made[0])
    known = optimal.values.known
    below, above = ([], []) if known is None else (known.lower.tolist(), known.upper.tolist())
    return Certificate(
        question,
        k,
        answer.depth,
        optimal.values.discount,
        product.domain.name,
        product.machine.name,
        product.bound.height,
        product.bound.rule,
        list(zip(product.stacks.parent[:made].tolist(), product.stacks.symbol[:made].tolist(), strict=True)),
        list(zip(product.place.tolist(), states.state[:count].tolist(), node.tolist(), strict=True)),
        product.expanded.astype(int).tolist(),
        optimal.values.lower.tolist(),
        optimal.values.upper.tolist(),
        below,
        above,
        {str(x): format_fraction(value) for x, value in optimal.exact.items()},
        np.where(optimal.tied_region, optimal.block, -1).tolist(),
        [(s, u, list(top), action) for x, action in answer.choice.items() for s, u, top in [class_of(product, x, k)]],
        product.exact.list_guesses(optimal.values.discount),
    )


Shade = Callable[[str, str], str]
"""A cell's text and its verdict -> the text as it is shown."""


def format_report(
    report: KReport,
    questions: Sequence[str] = tuple(NAMES),
    shade: Shade = lambda text, _verdict: text,
    further: Mapping[str, str] = FURTHER,
) -> list[str]:
    """The whole report, line by line.

    >>> for line in format_report(check_k("paint", k=(4, 5)), questions=["start"])[3:]:
    ...     print(line)
    k    from the start    loss of the best k-policy found
    4    no                0.00666667
    5    yes               0
    <BLANKLINE>
    from the start: k = 5 is enough
    """
    found, product = report.optimal, report.optimal.product
    low, high = found.values.at_start(product)
    count, bound = _count(len(found.asked), "state"), product.bound
    beyond = "" if bound.height is None else f", stacks up to {bound.height} symbols ({bound.rule} beyond)"
    longest = max(len(_format_answer(found_at_k[q])) for found_at_k in report.answers.values() for q in questions)
    width = max(18, 2 + longest)
    far = f"all {count}" if found.depth is None else f"{count} within {_count(found.depth, 'step')}"
    rows = [
        f"{product.domain.name} with machine {product.machine.name}, discount {found.values.discount:g}, "
        f"no step limit{beyond}",
        f"{far}, {len(product):,} explored{ENDED.get(report.ended, '')}; the optimal value from the start is {format_value(low, high)}",
        "",
        "k    " + "".join(f"{NAMES[question]:<{width}}" for question in questions) + "loss of the best k-policy found",
    ]
    for k, found_at_k in report.answers.items():
        cells = (shade(f"{_format_answer(found_at_k[q]):<{width}}", found_at_k[q].verdict) for q in questions)
        rows.append(f"{k:<5}" + "".join(cells) + _format_loss(*report.loss(k), scale=max(abs(low), abs(high), 1e-9)))
    return [*rows, "", *(f"{NAMES[question]}: {summarize(report, question, further)}" for question in questions)]


def summarize(report: KReport, question: str, further: Mapping[str, str] = FURTHER) -> str:
    """Sum up the answers to one question; a k that is not known to be enough is not called one that is not."""
    smallest = report.smallest(question)
    fails = [k for k, found in report.answers.items() if found[question].verdict == NO]
    unknown = [k for k in report.answers if k not in fails]
    if smallest is not None:
        depth = report.answers[smallest][question].depth
        every = report.answers[smallest][question].scope == EVERY_STACK
        far = (", for every stack" * every) if depth is None else f", within {_count(depth, 'step')} of the start"
        below = [k for k in unknown if k < smallest]
        return f"k = {smallest} is enough{far}" + (f" (undecided for k = {format_numbers(below)})" if below else "")
    if not unknown:
        if report.beyond is None or max(fails) < report.beyond - 1:
            return "no k tried is enough"
        return f"no k up to {max(fails)} is enough; with more, no two of the states asked about look alike"
    first = f"not enough for k = {format_numbers(fails)}; " if fails else ""
    return f"{first}undecided for k = {format_numbers(unknown)}; {further.get(report.ended, further[TIME])}"


def format_numbers(numbers: Iterable[int]) -> str:
    """Numbers in order, three or more neighbours as one run.

    >>> format_numbers([0, 1, 2, 3, 5, 6])
    '0…3, 5, 6'
    """
    ordered = list(numbers)
    breaks = [i for i, (a, b) in enumerate(pairwise(ordered), 1) if b != a + 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])]
    return ", ".join(f"{run[0]}…{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def format_value(low: float, high: float) -> str:
    """A value known to lie in an interval.

    >>> format_value(1.0, 1.0), format_value(1.0, 2.0)
    ('1', 'between 1 and 2')
    """
    wide = high - low > 1e-6 * max(1.0, abs(high))
    return f"between {low:.6g} and {high:.6g}" if wide else f"{(low + high) / 2:.6g}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _format_answer(answer: Answer) -> str:
    said = {DEPTH: f" (depth {answer.depth})", EVERY_STACK: ", for every stack"}
    return answer.verdict + said.get(answer.scope or "", "")


def _format_loss(low: float, high: float, scale: float) -> str:
    if high <= 1e-9 * scale:
        return "0"
    return f"{high:.6g}" if high - low <= 1e-6 * scale else f"between {low:.6g} and {high:.6g}"
