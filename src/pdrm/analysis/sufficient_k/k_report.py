"""What is known of which k is enough: the answers for each k as a table, as JSON, in a notebook, and with their proofs.

A no comes with its witness: situations that look alike and want different actions. A yes can be certified; `checker` then checks the
certificate without the solver. `check_k` is the search that makes a report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from pdrm.analysis.optimal import Optimal, find_optimal
from pdrm.analysis.sufficient_k.certificate import (
    DEPTH,
    EVERY_STACK,
    Certificate,
    StackCertificate,
    format_fraction,
)
from pdrm.analysis.sufficient_k.from_start import class_of
from pdrm.analysis.sufficient_k.high_witness import Followed
from pdrm.analysis.sufficient_k.k_advice import (
    DECIDED,
    DISCOUNT,
    FURTHER,
    SETTING,
    STATES,
    STOPPED,
    STUCK,
    SUMMARY,
    TIME,
    UNCAPPED,
    WHOLE,
    Recommendation,
    choose_agent,
    choose_k,
    choose_settings,
    explain_settings,
)
from pdrm.analysis.sufficient_k.k_answers import FIRST, carry_over
from pdrm.analysis.sufficient_k.k_gap import Gap
from pdrm.analysis.sufficient_k.k_words import (
    format_numbers,
    format_situation,
    format_value,
    format_way,
    name_policy,
    plural,
)
from pdrm.analysis.sufficient_k.questions import (
    NO,
    QUESTIONS,
    UNDECIDED,
    YES,
    Answer,
    Classes,
    Situation,
    answer_questions,
    describe,
    is_certain,
)
from pdrm.analysis.time_limit import limit_time
from pdrm.errors import BadCertificate, BadSetting, DoesNotApply, did_you_mean
from pdrm.product.finite_kernel import END
from pdrm.product.finite_product import FiniteProduct

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows

NAMES = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}
"""The questions in words."""
SMALL_LOSS, NEAR_LOSS, NO_LOSS = 0.01, 0.1, 1e-9
"""A k that is not known to be enough is worth a try where it loses at most this share of the value; one that is enough near the start,
where it loses at most the second; less than the third is none."""
SURE = 0.1
"""Where the loss of a policy is known up to this share of it, it is said even if it is more than the whole value."""
WIDE = 0.1
"""Where the optimal value is known no better than up to this share of it, and moves are random, a smaller discount helps most."""
MANY_SYMBOLS = 20
"""With more symbols in view the rows of a table are not estimated: they are too many in any case."""
SMALL_DISCOUNT = 0.9
"""A smaller discount than this is not advised."""
FEW_DECIDED = 0.01
"""If fewer of the states are decided when time is up, though the task is solved, more time decides hardly more."""
SHADES = {YES: "#14532d", NO: "#b91c1c", UNDECIDED: "#a16207"}
"""The colours of verdicts in a notebook."""
ENDED = {
    TIME: ", and time was up before all was decided",
    STATES: ", which is as many as were allowed",
    STOPPED: ", then it was stopped",
}
"""What ended it, as the report says it."""
MOST_FOLLOWED = 10_000_000
"""Steps from all states that may be taken to see how long episodes can be."""
AGAIN_SECONDS, AGAIN_STATES = 60.0, 200_000
"""What it may cost to find a policy from the start again on a smaller product, for a certificate that is no larger than it needs to be."""


PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class KRow:
    """What is known of one k, in words, and what it loses at most from the start (None: not known)."""

    k: int
    same_values: str
    everywhere: str
    start: str
    loss: float | None

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return asdict(self)


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
    """What ended the search: "decided" (all), "time" (was up), "states" (as many as allowed), "explored" (all that could help) or "stopped"."""
    beyond: int | None = None
    """From this k on no two states asked about look alike; None where larger k were not looked for."""
    solved: tuple[float, float] | None = None
    """The interval of the optimal value from the start with the whole stack in view, where the task was solved (`pdrm.solve`)."""
    explored: int = 0
    """States explored in all; the answers rest on those that there was time to judge, which are the product's."""
    short: bool = False
    """Whether fewer states were asked about than were meant, because time was up."""
    followed: Followed | None = None
    """How long optimal play from the start takes, where the task was solved."""

    def __str__(self) -> str:
        advice = self.recommendation
        following = (
            [f"next: {advice.write_call(self.optimal.values.discount)}"] if advice.train else []
        )
        return "\n".join([*format_report(self), *explain_no(self), *following])

    def __repr__(self) -> str:
        product = self.optimal.product
        said = ", ".join(
            f"{NAMES[question]} {self._format_smallest(question)}" for question in self._questions
        )
        return f"<KReport of {product.domain.name} with {product.machine.name}: smallest k {said}>"

    def _format_smallest(self, question: str) -> str:
        k = self.furthest(question)
        depth = None if k is None else self.answers[k][question].depth
        return f"{'not known' if k is None else k}{'' if depth is None else f' (depth {depth})'}"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture, table
        from pdrm.drawing.plots import plot_bytes

        first, second, *_ = format_report(self)
        rows = []
        for k in list_shown(self):
            found = self.answers[k]
            shown = ((_format_answer(found[q]), SHADES[found[q].verdict]) for q in NAMES)
            cells = [
                html("span", text, style=f"color: {shade}; font-weight: 600")
                for text, shade in shown
            ]
            rows.append([str(k), *cells, _format_loss(self, k)])
        said = [html("li", f"{NAMES[question]}: {summarize(self, question)}") for question in NAMES]
        heads = ["k", *NAMES.values(), "loss from the start"]
        notes = [html("p", note) for note in explain_rows(self)]
        advice = html("p", html("b", recommend(self).text))
        whole = [
            html("p", first, html("br"), second),
            table(heads, rows),
            *notes,
            html("ul", *said),
            advice,
        ]
        if self.find_no(self._questions) is not None:
            whole.append(
                picture(
                    plot_bytes(self.draw(), "svg"), "svg", "witness", "Why not: these look alike."
                )
            )
        return "".join(whole)

    @property
    def value_from_start(self) -> tuple[float, float]:
        """The interval of the optimal value from the start."""
        low, high = self.optimal.values.at_start(self.optimal.product)
        return (
            (low, high)
            if self.solved is None
            else (max(low, self.solved[0]), min(high, self.solved[1]))
        )

    @property
    def capped(self) -> bool:
        """Whether stacks were capped, which makes another task of it."""
        return self.optimal.product.bound.rule != "open"

    @property
    def over_limit(self) -> bool | None:
        """Whether optimal play from the start takes more steps than the domain's step limit, which is not part of the problem; None: not known."""
        return (
            None
            if self.followed is None
            else self.followed.exceeds(self.optimal.product.domain.step_limit)
        )

    @property
    def optimal_steps(self) -> int | None:
        """The steps that optimal play from the start takes at most; None where that is not known, or it never ends."""
        return None if self.followed is None or not self.followed.ends else self.followed.steps

    def smallest(self, question: str, depth: int | None = None) -> int | None:
        """The smallest k that is proved enough for all states; with a `depth`, at least for those within so many steps of the start.

        None: no k is known to be. `furthest` also counts a yes to whatever depth, and `answers[k][question].scope` says what one is about.
        """
        wanted = inf if depth is None else depth
        return min(
            (k for k, answer in self._take(question).items() if answer.reach >= wanted),
            default=None,
        )

    def furthest(self, question: str) -> int | None:
        """Of the k whose yes reaches furthest from the start the smallest; None where there is no yes. One that says nothing (`Answer.vacuous`)
        is none."""
        answers = self._take(question).items()
        found = {
            k: answer.reach for k, answer in answers if answer.verdict == YES and not answer.vacuous
        }
        return min((k for k, reach in found.items() if reach == max(found.values())), default=None)

    @property
    def recommendation(self) -> Recommendation:
        """Which k to train with, what is proved about it, and what to do if that is not enough.

        >>> from pdrm.analysis.sufficient_k.check_k import check_k
        >>> found = check_k("paint", k=[4, 5]).recommendation
        >>> found.k, found.text
        (5, 'train with k = 5: proved enough for all states, so it loses nothing. If it learns badly, use the agent pdrm.Summary(), which acts on the \
whole stack')
        """
        return recommend(self)

    def draw(
        self,
        k: int | str | os.PathLike[str] | None = None,
        question: str | None = None,
        path: PathLike | None = None,
    ) -> Plot:
        """A picture of the situations that prove a no: of the most telling one, or of that for `k` and a question.

        In a notebook it is shown. path: where to write it as well (.svg, .png, .pdf); a path may come first, too.
        """
        if isinstance(k, str | os.PathLike):
            k, path = None, k
        from pdrm.drawing.plots import SituationView, witness_plot

        chosen = self.find_no([question] if question else self._questions, k)
        if chosen is None:
            asked = f"k = {k}" if k is not None else "any k"
            raise DoesNotApply(
                f"there is no witness to draw: nothing was answered no for {asked}",
                fix="print the report",
            )
        at, about = chosen
        luck = not is_certain(self.optimal.product.domain)
        drawn = [
            SituationView(
                one.place,
                one.state,
                one.stack,
                len(one.seen),
                format_way(one, luck),
                " or ".join(one.actions),
                format_value(*one.value),
            )
            for one in self.witness(at, about)
        ]
        title = f"{self.optimal.product.domain.name}: k = {at} is not enough ({NAMES[about]})"
        return witness_plot(self.optimal.product.domain, drawn, title).saved(path)

    def table(self) -> Rows[KRow]:
        """The answers as rows, one for each k; `.frame()` makes a pandas frame of them.

        >>> from pdrm.analysis.sufficient_k.check_k import check_k
        >>> print(check_k("paint", k=[4, 5]).table())
        k  same_values  everywhere  start  loss
        4  no           no          no     0.007
        5  yes          yes         yes    0
        """
        from pdrm.drawing.rows import Rows

        def make(place: int) -> KRow:
            k, found = list(self.answers.items())[place]
            same, everywhere, start = (_format_answer(found[question]) for question in QUESTIONS)
            return KRow(k, same, everywhere, start, _bound_loss(self, k))

        return Rows(len(self.answers), make)

    def find_no(self, questions: Sequence[str], k: int | None = None) -> tuple[int, str] | None:
        """The most telling no, its k and question: the weakest question that fails, at the highest k, or at `k`."""
        several = [q for q in questions if q != "same_values"] if len(questions) > 1 else questions
        for question in sorted(several, key=QUESTIONS.index, reverse=True):
            ks = [
                at
                for at, answer in self._take(question).items()
                if answer.verdict == NO and k in (None, at)
            ]
            if ks:
                return max(ks), question
        return None

    def _take(self, question: str) -> dict[int, Answer]:
        """The answers to one question."""
        if question not in self._questions:
            raise BadSetting(
                f"there is no question `{question}`",
                fix=did_you_mean(str(question), self._questions),
            )
        return {k: found[question] for k, found in self.answers.items()}

    def _answer(self, k: int, question: str) -> Answer:
        found = self._take(question)
        if k not in found:
            fix = (
                f"ask about it: check_k(…, k={k!r})" if isinstance(k, int) else "name one of these"
            )
            raise BadSetting(
                f"k = {k!r} was not asked about: there are k = {format_numbers(found)}", fix=fix
            )
        return found[k]

    @property
    def _questions(self) -> list[str]:
        return list(next(iter(self.answers.values()), NAMES))

    @property
    def _scale(self) -> float:
        """The size of the optimal value from the start: what a loss is large or small against."""
        return max(*map(abs, self.value_from_start), 1e-9)

    @property
    def complete(self) -> bool:
        """Whether every question is answered yes or no, as deep as was asked."""
        deep = inf if self.optimal.depth is None or self.short else self.optimal.depth
        answers = [answer for found in self.answers.values() for answer in found.values()]
        return all(one.verdict == NO or one.reach >= deep for one in answers)

    def list_open(self, question: str) -> list[int]:
        """The k for which the answer is neither a no nor a yes for all states."""
        return [k for k, one in self._take(question).items() if not one.settled]

    def settles(self, question: str) -> bool:
        """Whether nothing is open for one question."""
        return not self.list_open(question)

    def add(self, other: KReport, *, all_asked: bool) -> KReport:
        """With what another search of the same task, from the start alone, has found out: what is settled there, and better
        bounds. Of the k that were tried there alone, those next to where the noes end, and the smallest that is enough. `all_asked`: no depth
        was given."""
        no = [k for k, found in other.answers.items() if found["start"].verdict == NO]
        after = [k for k in other.answers if k not in no]
        tried = [*no[-1:], *after[:1], other.smallest("start")] if self.beyond is not None else []
        answers = {k: dict(found) for k, found in self.answers.items()}
        for k in [k for k in other.answers if k in answers or k in tried]:
            own, theirs = (
                answers.setdefault(k, dict.fromkeys(QUESTIONS, Answer(UNDECIDED))),
                other.answers[k]["start"],
            )
            if theirs.settled and not own["start"].settled:
                own["start"] = replace(theirs, found_on=theirs.found_on or other.optimal)
        answers = dict(sorted(answers.items()))
        carry_over(answers, all_asked=all_asked)
        gaps = {k: self.gaps[k] if k in self.gaps else other.gaps[k] for k in answers}
        for k in gaps.keys() & other.gaps.keys():
            gaps[k] = replace(gaps[k], found=max(gaps[k].found, other.gaps[k].found))
        known = self.followed is not None and (
            self.followed.ends is not None or other.followed is None
        )
        return replace(
            self,
            answers=answers,
            gaps=gaps,
            solved=self.solved or other.solved,
            explored=max(self.explored, other.explored),
            followed=self.followed if known else other.followed,
        )

    def witness(self, k: int, question: str) -> list[Situation]:
        """The situations that prove a no."""
        answer = self._answer(k, question)
        return [describe(answer.found_on or self.optimal, x, k) for x in answer.witness] or list(
            answer.situations
        )

    def certificate(self, k: int, question: str) -> Certificate | StackCertificate:
        """The proof of a yes. Where only a policy from the start is asked about, on a product no larger than it needs. It may be one of fewer
        symbols, which are enough then; and of a yes for every stack, that a policy is optimal not only from the start."""
        answer = self._answer(k, question)
        found = answer.found_on or self.optimal
        k = k if answer.found_at is None else answer.found_at
        if answer.proof is not None:
            return answer.proof
        if question == "start" and answer.verdict == YES and found.product.frontier.size:
            product = found.product
            small = FiniteProduct(product.domain, product.machine, product.bound, product.memory)
            with limit_time(AGAIN_SECONDS), suppress(TimeoutError):
                near = find_optimal(
                    small, found.values.discount, depth=0, most=max(len(product), AGAIN_STATES)
                )
                again = answer_questions(near, k)[question]
                if again.verdict == YES:
                    found, answer = near, again
        return certify(found, k, question, answer)

    def loss(self, k: int) -> tuple[float, float]:
        """The interval of what the best k-policy found loses from the start: 0 where one is proved to be optimal."""
        if self._answer(k, "start").reach == inf:
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
            "states_explored": max(self.explored, len(product)),
            "decided": found.decided_share,
            "ended": self.ended,
            "complete": self.complete,
            "value_from_start": list(self.value_from_start),
            "step_limit": product.domain.step_limit,
            "over_limit": self.over_limit,
            "optimal_steps": self.optimal_steps,
            "k": {
                str(k): {q: asked[q].verdict for q in asked} for k, asked in self.answers.items()
            },
            "depths": {
                str(k): {q: asked[q].depth for q in asked if asked[q].verdict == YES}
                for k, asked in self.answers.items()
            },
            "scopes": {
                str(k): {q: asked[q].scope for q in asked if asked[q].verdict == YES}
                for k, asked in self.answers.items()
            },
            "vacuous": {
                str(k): [q for q in asked if asked[q].vacuous] for k, asked in self.answers.items()
            },
            "smallest": {question: self.smallest(question) for question in QUESTIONS},
            "furthest": {question: self.furthest(question) for question in QUESTIONS},
            "recommendation": asdict(self.recommendation),
            "witnesses": {
                str(k): {
                    q: [asdict(one) for one in self.witness(k, q)]
                    for q in asked
                    if asked[q].verdict == NO
                }
                for k, asked in self.answers.items()
            },
            "gap": {
                str(k): {
                    "loss": list(self.loss(k)),
                    "disagreeing": gap.disagreeing,
                    "spread": gap.spread,
                }
                for k, gap in self.gaps.items()
            },
        }


def certify(optimal: Optimal, k: int, question: str, answer: Answer) -> Certificate:
    """Write down the proof of a yes."""
    if answer.verdict != YES:
        raise BadCertificate(
            f"the answer is {answer.verdict}: only a yes has a certificate",
            fix="look at its witness",
        )
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
        list(
            zip(
                product.stacks.parent[:made].tolist(),
                product.stacks.symbol[:made].tolist(),
                strict=True,
            )
        ),
        list(
            zip(product.place.tolist(), states.state[:count].tolist(), node.tolist(), strict=True)
        ),
        product.expanded.astype(int).tolist(),
        optimal.values.lower.tolist(),
        optimal.values.upper.tolist(),
        below,
        above,
        {str(x): format_fraction(value) for x, value in optimal.exact.items()},
        np.where(optimal.tied_region, optimal.block, -1).tolist(),
        [
            (s, u, list(top), action)
            for x, action in answer.choice.items()
            for s, u, top in [class_of(product, x, k)]
        ],
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
    k    from the start    loss from the start
    4    no                at most 0.00666667
    5    yes               0
    <BLANKLINE>
    from the start: k = 5 is enough
    so: train with k = 5: a 5-policy is proved optimal from the start, so it loses nothing there; from other states it is not known. \
If it learns badly, use the agent pdrm.Summary(), which acts on the whole stack
    """
    found, product = report.optimal, report.optimal.product
    low, high = report.value_from_start
    count, bound = plural(len(found.asked), "state"), product.bound
    beyond = (
        ""
        if bound.height is None
        else f", stacks up to {bound.height} symbols ({bound.rule} beyond)"
    )
    longest = max(
        len(_format_answer(found_at_k[q]))
        for found_at_k in report.answers.values()
        for q in questions
    )
    width = max(18, 2 + longest)
    far = f"all {count}" if found.depth is None else f"{count} within {plural(found.depth, 'step')}"
    if found.depth == 0 and list(questions) == ["start"]:
        far = plural(len(found.asked), "start")
    rows = [
        f"{product.domain.name} with machine {product.machine.name}, discount {found.values.discount:g}, "
        f"no step limit{beyond}",
        f"{far}, {_format_explored(report)}{ENDED.get(report.ended, '')}; the optimal value from the start is {format_value(low, high)}",
        "",
        "k    "
        + "".join(f"{NAMES[question]:<{width}}" for question in questions)
        + "loss from the start",
    ]
    for k in list_shown(report, questions):
        found_at_k = report.answers[k]
        cells = (
            shade(f"{_format_answer(found_at_k[q]):<{width}}", found_at_k[q].verdict)
            for q in questions
        )
        rows.append(f"{k:<5}" + "".join(cells) + _format_loss(report, k))
    said = [f"{NAMES[question]}: {summarize(report, question, further)}" for question in questions]
    return [
        *rows,
        *explain_rows(report, questions),
        "",
        *said,
        f"so: {recommend(report, questions, further).text}",
    ]


def explain_no(report: KReport, questions: Sequence[str] = tuple(NAMES)) -> list[str]:
    """Why the most telling no is one, line by line: the situations that look alike; nothing where there is no no."""
    shown = report.find_no(questions)
    if shown is None:
        return []
    (k, question), luck = shown, not is_certain(report.optimal.product.domain)
    witness = report.witness(k, question)
    common = set(witness[0].actions).intersection(*(one.actions for one in witness))
    why = (
        ", and whatever is chosen for both fails later"
        if common
        else " and have no best action in common"
    )
    told = (f"  {format_situation(one, luck=luck)}" for one in witness)
    return ["", f"why not {NAMES[question]} at k = {k}: these look alike{why}", *told]


def list_shown(report: KReport, questions: Sequence[str] = tuple(NAMES)) -> list[int]:
    """The k to show: all that were asked for; else the first few, the largest, and those next to where an answer changes."""
    ks = list(report.answers)
    if report.beyond is None:
        return ks
    shown = {k for k in ks if k <= FIRST} | {*ks[-1:]}
    for question in questions:
        said = [_format_answer(report.answers[k][question]) for k in ks]
        for (low, one), (high, other) in pairwise(zip(ks, said, strict=True)):
            shown |= {low, high} if one != other else set()
    return sorted(shown)


def explain_rows(report: KReport, questions: Sequence[str] = tuple(NAMES)) -> list[str]:
    """What needs an explanation: rows for larger k, where they were not asked for; a yes that says nothing; a step limit that cuts off."""
    notes = []
    larger = [k for k in report.answers if k > FIRST] if report.beyond is not None else []
    if larger:
        *between, last = larger
        why = (
            "the first with which none" if last == report.beyond else "the largest with which some"
        )
        why = (
            f"{why} of the states asked about look alike"
            if report.optimal.depth
            else "as high as stacks were explored"
        )
        shown = list_shown(report, questions)
        near = [k for k in between if k in shown]
        halved = f"; {format_numbers(near)}: next to where the answers change" if near else ""
        left = [k for k in between if k not in shown]
        notes.append(
            f"(k = {last}: {why}{halved}{f'; {format_numbers(left)} tried, too' if left else ''})"
        )
    if any(found[question].vacuous for found in report.answers.values() for question in questions):
        notes.append(
            "(vacuous: no two of these states look alike with k symbols, so this yes says nothing)"
        )
    domain = report.optimal.product.domain
    if report.over_limit:
        notes.append(
            f"(in training an episode is cut off after {domain.step_limit:,} steps, and optimal play is not over by then: "
            "which k is enough may be different there)"
        )
    elif (
        report.over_limit is None
        and not is_certain(domain)
        and not _ends_in_time(report.optimal.product)
    ):
        notes.append(
            f"(in training an episode is cut off after {domain.step_limit:,} steps; moves are random, and it is not known how long optimal "
            "play takes: where many episodes end cut off, raise the step limit)"
        )
    return notes


def _ends_in_time(product: FiniteProduct) -> bool:
    """Whether every episode is over within the step limit, whatever is done: where all states were explored, and few."""
    limit = product.domain.step_limit
    if product.frontier.size or len(product) * limit > MOST_FOLLOWED:
        return False
    here = np.unique(product.starts)
    for _ in range(limit + 1):
        here = here[here != END]
        if not here.size:
            return True
        here = np.unique(product.next[here])
    return False


def recommend(
    report: KReport, questions: Sequence[str] = tuple(NAMES), further: Mapping[str, str] = FURTHER
) -> Recommendation:
    """Say which k to train with. One that is enough to act well from the start, or only near it, need not be enough to learn: a 0-policy has
    one row for all stacks, and their values chase each other. So it is 0 only where that is enough everywhere."""
    found, product = _choose(report, questions, further), report.optimal.product
    if report.capped:
        cap = plural(product.bound.height or 0, "symbol")
        text = f"{further[UNCAPPED]}: these answers are about the task capped at {cap} ({product.bound.rule} beyond), and training has no such cap"
        return replace(found, k=None, proved="nothing", loss=None, text=text, train=False)
    if (
        found.k is not None
        and choose_k(found.k, product.domain, rows=_count_rows(report, found.k)) is None
    ):
        why = found.text.partition(": ")[2].partition(". If ")[0]
        whole = further[SUMMARY if is_certain(product.domain) else WHOLE]
        text = f"train with {whole}: a table with k = {found.k} learns slowly. (For k = {found.k}: {why})"
        found = replace(found, k=None, proved="nothing", loss=0.0, text=text)
    found = replace(found, agent=choose_agent(found.k, product.domain))
    settings = choose_settings(product.domain, report.followed)
    if settings:
        why = explain_settings(product.domain, report.followed, settings, further[SETTING])
        found = replace(found, settings=settings, text=f"{found.text}. {why}")
    return found


def _count_rows(report: KReport, k: int) -> float:
    """How many rows a table has at most: those of all states; where not all were explored, one for each environment state, machine state and top of
    up to k symbols that there may be."""
    product = report.optimal.product
    if not product.frontier.size:
        return int(Classes(product, np.arange(len(product))).at(k).max(initial=-1)) + 1
    if k > MANY_SYMBOLS:
        return inf
    places = int((~product.domain.arrays.terminal).sum()) * len(product.machine.states)
    return places * sum(int(len(product.machine.stack) ** height) for height in range(k + 1))


def _choose(
    report: KReport, questions: Sequence[str], further: Mapping[str, str]
) -> Recommendation:
    everywhere = report.furthest("everywhere") if "everywhere" in questions else None
    certain = is_certain(report.optimal.product.domain)
    start, whole = report.furthest("start"), further[SUMMARY if certain else WHOLE]
    if everywhere is not None and (answer := report.answers[everywhere]["everywhere"]).reach == inf:
        far = "every stack" if answer.scope == EVERY_STACK else "all states"
        text = f"train with k = {everywhere}: proved enough for {far}, so it loses nothing. If it learns badly, use {whole}"
        return Recommendation(
            everywhere, str(answer.scope), 0.0, text, relies_on=(everywhere, "everywhere")
        )
    more = (
        _say_further(report, further) if report.ended != DECIDED and not _is_stuck(report) else ""
    )
    if start is not None:
        k = max(1, start)
        text = (
            f"train with k = {k}: {name_policy(start)} is proved optimal from the start, so it loses nothing there{_say_why(k, start)}; "
            f"from other states {_say_elsewhere(report, k, questions)}. If it learns badly, use {whole}"
        )
        return Recommendation(k, "start", 0.0, text, relies_on=(start, "start"))
    enough = ""
    shown = list_shown(report, questions)
    known = {at: loss for at in shown if (loss := _bound_loss(report, at)) is not None}
    none = min((at for at, loss in known.items() if loss <= NO_LOSS * report._scale), default=None)
    if none is not None:
        k = max(1, none)
        text = (
            f"train with k = {k}: {name_policy(none)} was followed from the start and loses nothing there (less than {NO_LOSS:g} of the value)"
            f"{_say_why(k, none)}; from other states {_say_elsewhere(report, k, questions)}. If it learns badly, use {whole}"
        )
        return Recommendation(k, "loss", known[none], text)
    if everywhere is not None:
        k, near = max(1, everywhere), report.answers[everywhere]["everywhere"]
        loss = min((one for other, one in known.items() if other <= k), default=None)
        if loss is not None and loss <= NEAR_LOSS * report._scale:
            text = (
                f"train with k = {k}: {_say_near(report, everywhere, near)}{_say_why(k, everywhere)}; "
                f"it loses {_format_share(report, loss)}. If that is not enough, {f'{more}, or ' if more else ''}use {whole}"
            )
            return Recommendation(k, DEPTH, loss, text, relies_on=(everywhere, "everywhere"))
        enough = f"{_say_near(report, everywhere, near)}; "
    return _choose_by_loss(report, shown, known, enough, more, whole)


def _choose_by_loss(
    report: KReport,
    shown: Sequence[int],
    known: Mapping[int, float],
    enough: str,
    more: str,
    whole: str,
) -> Recommendation:
    """Say what to train with where no k is known to be enough: one that loses little, or with chance one that may be enough, or the whole stack."""
    small = min(
        (at for at, loss in known.items() if at and loss <= SMALL_LOSS * report._scale),
        default=None,
    )
    if small is not None:
        judged = (
            "it is not enough"
            if report.answers[small]["start"].verdict == NO
            else "it is not known to be enough"
        )
        text = (
            f"train with k = {small}: {judged}, but loses {_format_share(report, known[small])}. "
            f"If that is too much, {f'{more}, or ' if more else ''}use {whole}"
        )
        return Recommendation(small, "loss", known[small], text)
    maybe = min(
        (at for at in shown if at and report.answers[at]["start"].verdict != NO), default=None
    )
    if (
        not is_certain(report.optimal.product.domain)
        and maybe is not None
        and choose_k(maybe, report.optimal.product.domain) is not None
    ):
        text = (
            f"train with k = {maybe}: it is the smallest above 0 that may be enough (without the stack it is hard to learn); "
            f"{enough}what it loses is not known. "
            f"If that is too much, {f'{more}, or ' if more else ''}use {whole}, which takes far more episodes"
        )
        return Recommendation(maybe, "nothing", None, text)
    best = min(known, key=lambda at: (known[at], at), default=None)
    costs = (
        "what one loses is not known"
        if best is None
        else f"k = {best} loses {_format_share(report, known[best])}"
    )
    text = f"train with {whole}: no k that was tried is known to be enough; {enough}{costs}"
    return Recommendation(None, "nothing", 0.0, text + (f". To know more, {more}" if more else ""))


def _say_near(report: KReport, k: int, answer: Answer) -> str:
    """What a yes for near states says."""
    beyond = "not beyond" if report.answers[k]["start"].verdict == NO else "beyond is not known"
    return f"k = {k} is proved enough within {plural(answer.depth or 0, 'step')} of the start ({beyond})"


def _is_stuck(report: KReport) -> bool:
    """Whether more time is hardly of use: the task is solved, what follows from that is said, and exploring decided next to nothing."""
    return (
        report.ended == TIME
        and report.solved is not None
        and report.optimal.decided_share < FEW_DECIDED
    )


def _say_further(report: KReport, further: Mapping[str, str]) -> str:
    """What may decide what is undecided."""
    (low, high), discount = report.value_from_start, report.optimal.values.discount
    wide = high - low > WIDE * report._scale and not is_certain(report.optimal.product.domain)
    if wide and discount > SMALL_DISCOUNT and DISCOUNT in further:
        return further[DISCOUNT]
    return further[STUCK] if _is_stuck(report) else further.get(report.ended, further[TIME])


def _say_why(k: int, enough: int) -> str:
    """Why more symbols are recommended than are enough."""
    return "" if k == enough else f" (but without the stack it is hard to learn, so k = {k})"


def _say_elsewhere(report: KReport, k: int, questions: Sequence[str]) -> str:
    """What is known of a k from other states than the start."""
    at = report.answers.get(k, {}).get("everywhere") if "everywhere" in questions else None
    if at is None or at.verdict == UNDECIDED or at.vacuous:
        return "it is not known"
    return (
        "it is not enough"
        if at.verdict == NO
        else f"it is enough within {plural(at.depth or 0, 'step')}"
    )


def _bound_loss(report: KReport, k: int) -> float | None:
    """What the best k-policy loses at most, where that is known: not where the policy that was found may also lose far less, or far more."""
    low, high = report.loss(k)
    return None if high > report._scale * (1 + NO_LOSS) and high - low > SURE * high else high


def _format_share(report: KReport, loss: float) -> str:
    """A loss, and of how much."""
    share = loss / report._scale
    percent = "less than 0.01%" if share < 1e-4 else f"{share:.2%}"
    return f"at most {loss:.4g} of {report.value_from_start[1]:.6g} from the start ({percent})"


def _format_explored(report: KReport) -> str:
    """How many states were explored, and how many of them there was time to judge."""
    judged = len(report.optimal.product)
    return (
        f"{judged:,} explored"
        if report.explored <= judged
        else f"{report.explored:,} explored, {judged:,} of them judged"
    )


def summarize(report: KReport, question: str, further: Mapping[str, str] = FURTHER) -> str:
    """Sum up the answers to one question; a k that is not known to be enough is not called one that is not."""
    answers = {k: found[question] for k, found in report.answers.items()}
    smallest = report.furthest(question)
    fails = [k for k, answer in answers.items() if answer.verdict == NO]
    empty = [k for k, answer in answers.items() if answer.vacuous]
    unknown = [k for k in answers if k not in fails and k not in empty]
    if smallest is not None:
        depth, every = answers[smallest].depth, answers[smallest].scope == EVERY_STACK
        far = (
            (", for every stack" * every)
            if depth is None
            else f", within {plural(depth, 'step')} of the start"
        )
        below = [k for k in unknown if k < smallest]
        parts = (
            ("undecided for k =", [k for k in below if answers[k].verdict != YES]),
            ("within fewer steps also k =", [k for k in below if answers[k].verdict == YES]),
        )
        rest = "; ".join(f"{words} {format_numbers(ks)}" for words, ks in parts if ks)
        return f"k = {smallest} is enough{far}" + (f" ({rest})" if rest else "")
    said = [_refuse(max(fails))] if fails else []  # what is not for k is not for fewer
    if unknown:
        said.append(f"undecided for k = {format_numbers(unknown)}")
    if empty:
        said.append(
            f"for k = {format_numbers(empty)} no two of these states look alike, so nothing is said"
        )
    elif unknown:
        said.append(_say_further(report, further))
    elif (
        question != "start"
        and report.optimal.depth != 0
        and report.beyond is not None
        and max(fails) >= report.beyond - 1
    ):
        most = plural(max(fails), "symbol")
        said.append(
            f"larger k cannot be judged: with more than {most} all states asked about look different"
        )
    return "; ".join(said)


def _refuse(k: int) -> str:
    return f"no k up to {k} is enough" if k else "k = 0 is not enough"


def _format_answer(answer: Answer) -> str:
    said = {
        DEPTH: f" (depth {answer.depth}{', vacuous' * answer.vacuous})",
        EVERY_STACK: ", for every stack",
    }
    return answer.verdict + said.get(answer.scope or "", "")


def _format_loss(report: KReport, k: int) -> str:
    high, scale = _bound_loss(report, k), report._scale
    if high is None:
        return "not known"
    if high <= NO_LOSS * scale:
        return "0"
    more = (
        " (more than all of it)"
        if high > scale * (1 + NO_LOSS)
        else " (all of it)" * (high >= scale * (1 - NO_LOSS))
    )
    return f"at most {high:.6g}{more}"
