"""What is known of which k is enough: the answers for each k as a table, as JSON, in a notebook, and with their proofs.

A no comes with its witness: situations that look alike and want different actions. A yes can be certified; `checker` then checks the
certificate without the solver. `check_k` is the search that makes a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from pdrm.analysis.optimal import Optimal, find_optimal
from pdrm.analysis.sufficient_k.certificate import DEPTH, EVERY_STACK, Certificate, StackCertificate, format_fraction
from pdrm.analysis.sufficient_k.from_start import class_of
from pdrm.analysis.sufficient_k.k_gap import Gap
from pdrm.analysis.sufficient_k.questions import (
    NO,
    QUESTIONS,
    UNDECIDED,
    YES,
    Answer,
    Situation,
    answer_questions,
    describe,
)
from pdrm.analysis.time_limit import limit_time
from pdrm.errors import BadCertificate
from pdrm.product.finite_product import FiniteProduct

DECIDED, TIME, STATES, HELPLESS, STOPPED = "decided", "time", "states", "helpless", "stopped"
"""What ended a search: all is decided, time or the cap of states was up, exploring more would not help, or it was stopped before its end."""
NAMES = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}
"""The questions in words."""
FURTHER = {
    TIME: "more `seconds` may help",
    STATES: "a larger `most` may help",
    HELPLESS: "try another `depth`",
    STOPPED: "let it run longer",
}
"""What may decide what is undecided, by what ended the search."""
SHADES = {YES: "#14532d", NO: "#b91c1c", UNDECIDED: "#a16207"}
"""The colours of verdicts in a notebook."""
ENDED = {TIME: ", then time was up", STATES: ", and more would be too many", STOPPED: ", then it was stopped"}
"""What ended it, as the report says it."""
AGAIN_SECONDS, AGAIN_STATES = 60.0, 200_000
"""What it may cost to find a policy from the start again on a smaller product, for a certificate that is no larger than it needs to be."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KReport:
    """The answers for each k, and the product they were found on. Printed, it is the table that `pdrm check-k` shows.

    >>> from pdrm.analysis.sufficient_k.check_k import check_k
    >>> report = check_k("paint", k=[4, 5])
    >>> report.answers[4]["start"].verdict, report.smallest("start"), report.complete
    ('no', 5, True)
    """

    optimal: Optimal
    answers: dict[int, dict[str, Answer]]
    gaps: dict[int, Gap]
    ended: str = DECIDED
    """What ended the search: "decided", "time", "states", "helpless" (exploring more would not have helped) or "stopped"."""
    beyond: int | None = None
    """From this k on no two states asked about look alike; None where larger k were not looked for."""
    solved: tuple[float, float] | None = None
    """The interval of the optimal value from the start with the whole stack in view, where the task was solved (`pdrm.solve`)."""

    def __str__(self) -> str:
        return "\n".join(format_report(self))

    def __repr__(self) -> str:
        product, smallest = self.optimal.product, {question: self.smallest(question) for question in QUESTIONS}
        return f"<KReport of {product.domain.name} with {product.machine.name}: smallest k {smallest}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table  # noqa: PLC0415 - an analysis does not draw

        first, second, *_ = format_report(self)
        scale = max(*map(abs, self.value_from_start), 1e-9)
        rows = []
        for k, found in self.answers.items():
            shown = ((_format_answer(found[q]), SHADES[found[q].verdict]) for q in NAMES)
            cells = [html("span", text, style=f"color: {shade}; font-weight: 600") for text, shade in shown]
            rows.append([str(k), *cells, _format_loss(*self.loss(k), scale=scale)])
        said = [html("li", f"{NAMES[question]}: {summarize(self, question)}") for question in NAMES]
        heads = ["k", *NAMES.values(), "loss of the best k-policy found"]
        return html("p", first, html("br"), second) + table(heads, rows) + html("ul", *said)

    @property
    def value_from_start(self) -> tuple[float, float]:
        """The interval of the optimal value from the start."""
        low, high = self.optimal.values.at_start(self.optimal.product)
        return (low, high) if self.solved is None else (max(low, self.solved[0]), min(high, self.solved[1]))

    def smallest(self, question: str) -> int | None:
        """The smallest k whose answer is yes; where no yes goes as deep as was asked, of those that go deepest."""
        asked = {k: found[question] for k, found in self.answers.items()}
        far = {k: _count_steps(answer.depth) for k, answer in asked.items() if answer.verdict == YES}
        deepest = min(_count_steps(self.optimal.depth), max(far.values(), default=0))
        return min((k for k, steps in far.items() if steps >= deepest), default=None)

    @property
    def complete(self) -> bool:
        """Whether every question is answered yes or no, as deep as was asked."""
        deep = _count_steps(self.optimal.depth)
        answers = [answer for found in self.answers.values() for answer in found.values()]
        return all(one.verdict == NO or (one.verdict == YES and _count_steps(one.depth) >= deep) for one in answers)

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
            with limit_time(AGAIN_SECONDS), suppress(TimeoutError):
                near = find_optimal(small, found.values.discount, depth=0, most=max(len(product), AGAIN_STATES))
                again = answer_questions(near, k)[question]
                if again.verdict == YES and again.depth is None:
                    found, answer = near, again
        return certify(found, k, question, answer)

    def loss(self, k: int) -> tuple[float, float]:
        """The interval of what the best k-policy found loses from the start: 0 where one is proved to be optimal."""
        start = self.answers[k]["start"]
        if start.verdict == YES and start.depth is None:
            return 0.0, 0.0
        (low, high), found = self.value_from_start, self.gaps[k].found
        return max(0.0, low - found[1]), max(0.0, high - found[0])

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
            "value_from_start": list(self.value_from_start),
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


def _count_steps(depth: int | None) -> float:
    """How far a depth reaches: without one, everywhere."""
    return inf if depth is None else depth


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

    >>> from pdrm.analysis.sufficient_k.check_k import check_k
    >>> for line in format_report(check_k("paint", k=(4, 5)), questions=["start"])[3:]:
    ...     print(line)
    k    from the start    loss of the best k-policy found
    4    no                0.00666667
    5    yes               0
    <BLANKLINE>
    from the start: k = 5 is enough
    """
    found, product = report.optimal, report.optimal.product
    low, high = report.value_from_start
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
        below = {k: report.answers[k][question].verdict for k in unknown if k < smallest}
        parts = (
            ("undecided for k =", [k for k, verdict in below.items() if verdict != YES]),
            ("within fewer steps k =", [k for k, verdict in below.items() if verdict == YES]),
        )
        rest = "; ".join(f"{words} {format_numbers(ks)}" for words, ks in parts if ks)
        return f"k = {smallest} is enough{far}" + (f" ({rest})" if rest else "")
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
    if low <= 0 and high > scale:  # nothing at all to more than all
        return "not known"
    return f"{high:.6g}" if high - low <= 1e-6 * scale else f"between {low:.6g} and {high:.6g}"
