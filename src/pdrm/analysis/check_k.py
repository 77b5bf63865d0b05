"""Which top-k view of the stack is enough: one report for a domain and a machine, as a table, as JSON, and with proofs.

`check_k` builds the product, finds the optimal actions (`optimal`), answers the three questions for each k (`sufficient_k`) and
measures what each k costs (`k_gap`). A yes can be certified; `checker` then checks the certificate without the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pdrm.analysis.certificate import Certificate
from pdrm.analysis.from_start import class_of
from pdrm.analysis.k_gap import Gap, measure_gap
from pdrm.analysis.optimal import Optimal, Watch, find_optimal
from pdrm.analysis.sufficient_k import (
    NO,
    QUESTIONS,
    UNDECIDED,
    YES,
    Answer,
    Situation,
    answer_questions,
    check_ks,
    describe,
)
from pdrm.analysis.values import check_discount
from pdrm.errors import BadCertificate, BadSetting
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import MEMORY, Bound, FiniteProduct
from pdrm.task import DomainLike, MachineLike, Task

NAMES = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}
"""The questions in words."""
FURTHER = "raise `most` or `depth`"
"""What may decide what is undecided."""
CLOSED = 200_000
"""A product with no more states than this is explored completely."""
ASKED = 5_000
"""In a larger one, the states to ask about: to the depth at which there are about so many."""
MOST_STATES = 1_000_000
"""States explored for their sake, at most."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KReport:
    """The answers for each k, and the product they were found on. Printed, it is the table that `pdrm check-k` shows."""

    optimal: Optimal
    answers: dict[int, dict[str, Answer]]
    gaps: dict[int, Gap]

    def __str__(self) -> str:
        return "\n".join(format_report(self))

    def __repr__(self) -> str:
        product, smallest = self.optimal.product, {question: self.smallest(question) for question in QUESTIONS}
        return f"<KReport of {product.domain.name} with {product.machine.name}: smallest k {smallest}>"

    def smallest(self, question: str) -> int | None:
        """The smallest k whose answer is yes."""
        return min((k for k, found in self.answers.items() if found[question].verdict == YES), default=None)

    def witness(self, k: int, question: str) -> list[Situation]:
        """The situations that prove a no."""
        return [describe(self.optimal, x, k) for x in self.answers[k][question].witness]

    def certificate(self, k: int, question: str) -> Certificate:
        """The proof of a yes. Where only a policy from the start is asked about, on a product no larger than it needs."""
        answer, found = self.answers[k][question], self.optimal
        if question == "start" and answer.verdict == YES and found.product.frontier.size:
            product = found.product
            small = FiniteProduct(product.domain, product.machine, product.bound, product.memory)
            near = find_optimal(small, found.values.discount, depth=0)
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
            "value_from_start": list(found.values.at_start(product)),
            "k": {str(k): {q: asked[q].verdict for q in asked} for k, asked in self.answers.items()},
            "depths": {
                str(k): {q: asked[q].depth for q in asked if asked[q].verdict == YES}
                for k, asked in self.answers.items()
            },
            "smallest": {question: self.smallest(question) for question in QUESTIONS},
            "witnesses": {
                str(k): {q: [asdict(one) for one in self.witness(k, q)] for q in asked if asked[q].witness}
                for k, asked in self.answers.items()
            },
            "gap": {
                str(k): {"loss": list(self.loss(k)), "disagreeing": gap.disagreeing, "spread": gap.spread}
                for k, gap in self.gaps.items()
            },
        }


def check_k(  # noqa: PLR0913 - each is a choice of the user's
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    ks: Iterable[int] = range(5),
    *,
    discount: float = 0.99,
    depth: int | None = None,
    bound: Bound | None = None,
    most: int = MOST_STATES,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> KReport:
    """Answer the three questions for each k. The problem is the discounted one without a step limit.

    task: a `Task`; or a domain (by name, file or object), with a machine unless it comes with one.
    Without a depth, all states are asked about if there are few enough, else those within as many steps as give some
    thousands of them.

    >>> report = check_k("paint", ks=range(6))
    >>> report.smallest("start"), report.witness(4, "start")[1].actions
    (5, ('ask_5',))
    """
    check_discount(discount)
    if depth is not None and depth < 0:
        raise BadSetting(f"the depth is {depth}", fix="use a non-negative integer")
    wanted = check_ks(ks)
    given = task if isinstance(task, Task) and machine is None else Task(task, machine)
    product = FiniteProduct(given.finite, given.pushdown, bound, memory)
    height = max((len(product.stack(int(x))) for x in product.starts if x != END), default=0)
    if product.bound.height is not None and height > product.bound.height:
        fault = f"the stack is {height} high at the start, and the bound is {product.bound.height}"
        raise BadSetting(fault, fix=f"allow it: --height {height} or more")
    if depth is None:
        product.explore(most=min(CLOSED, product.most_states))
        if product.expandable(product.frontier).size:
            product = FiniteProduct(given.finite, given.pushdown, bound, memory)
            product.explore(most=ASKED)
            depth = len(product.layers) - 1
    found = find_optimal(product, discount, depth, most, watch=watch)
    asked = {k: answer_questions(found, k) for k in wanted}
    return KReport(found, asked, {k: measure_gap(found, k, given["start"].choice) for k, given in asked.items()})


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
        {str(x): str(value) for x, value in optimal.exact.items()},
        np.where(optimal.tied_region, optimal.block, -1).tolist(),
        [(s, u, list(top), action) for x, action in answer.choice.items() for s, u, top in [class_of(product, x, k)]],
    )


Shade = Callable[[str, str], str]
"""A cell's text and its verdict -> the text as it is shown."""


def format_report(
    report: KReport,
    questions: Sequence[str] = tuple(NAMES),
    shade: Shade = lambda text, _verdict: text,
    further: str = FURTHER,
) -> list[str]:
    """The whole report, line by line.

    >>> for line in format_report(check_k("paint", ks=(4, 5)), questions=["start"])[3:]:
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
    far = f"all {count}" if found.depth is None else f"{count} within {_count(found.depth, 'step')}"
    rows = [
        f"{product.domain.name} with machine {product.machine.name}, discount {found.values.discount:g}, "
        f"no step limit{beyond}",
        f"{far}, {len(product):,} explored; the optimal value from the start is {format_value(low, high)}",
        "",
        "k    " + "".join(f"{NAMES[question]:<18}" for question in questions) + "loss of the best k-policy found",
    ]
    for k, found_at_k in report.answers.items():
        cells = (shade(_format_answer(found_at_k[q]), found_at_k[q].verdict) for q in questions)
        rows.append(f"{k:<5}" + "".join(cells) + _format_loss(*report.loss(k), scale=max(abs(low), abs(high), 1e-9)))
    return [*rows, "", *(f"{NAMES[question]}: {summarize(report, question, further)}" for question in questions)]


def summarize(report: KReport, question: str, further: str = FURTHER) -> str:
    """Sum up the answers to one question; a k that is not known to be enough is not called one that is not."""
    smallest = report.smallest(question)
    fails, unknown = (
        [k for k, found in report.answers.items() if found[question].verdict == verdict] for verdict in (NO, UNDECIDED)
    )
    if smallest is not None:
        depth = report.answers[smallest][question].depth
        far = "" if depth is None else f", within {_count(depth, 'step')} of the start"
        below = [k for k in unknown if k < smallest]
        return f"k = {smallest} is enough{far}" + (f" (undecided for k = {format_numbers(below)})" if below else "")
    if not unknown:
        return "no k tried is enough"
    first = f"not enough for k = {format_numbers(fails)}; " if fails else ""
    return f"{first}undecided for k = {format_numbers(unknown)}; {further}"


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
    far = answer.verdict == YES and answer.depth is not None
    return f"{answer.verdict + (f' (depth {answer.depth})' if far else ''):<18}"


def _format_loss(low: float, high: float, scale: float) -> str:
    if high <= 1e-9 * scale:
        return "0"
    return f"{high:.6g}" if high - low <= 1e-6 * scale else f"between {low:.6g} and {high:.6g}"
