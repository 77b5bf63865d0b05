"""The answers to the three questions for some k, each found when it is asked for: on an explored product, beyond it, and by carrying over.

`Answers.ask` tries the k that are given, or goes upwards to the smallest that is enough. What is open then may be a yes for nearer states
(`ask_nearer`), a yes for every stack (`ask_every_stack`) or a no far away (`ask_higher`); and what is known of one k or question says something
about others (`carry_over`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from pdrm.analysis.optimal import Optimal
from pdrm.analysis.sufficient_k.certificate import StackCertificate
from pdrm.analysis.sufficient_k.every_stack import EveryStack
from pdrm.analysis.sufficient_k.high_witness import HighWitnesses
from pdrm.analysis.sufficient_k.questions import (
    MOST_K,
    NO,
    QUESTIONS,
    UNDECIDED,
    YES,
    Answer,
    Classes,
    answer_questions,
)
from pdrm.analysis.time_limit import limit_time, time_left
from pdrm.task import Task

FIRST = 4
"""Without k given, all up to this are tried."""
FIRST_KS = range(FIRST + 1)
"""Unless some k are given, these are tried, and then larger ones up to the smallest that is enough."""
SHARED = 3
"""Looking for a pair of situations may take one of so many parts of the time that is left."""


@dataclass(slots=True)
class Solved:
    """The task's solution with the whole stack in view, found when it is first needed and there is time."""

    task: Task
    discount: float
    high: HighWitnesses | None = None
    value: tuple[float, float] | None = None
    """The interval of the optimal value from the start."""

    def solve(self) -> HighWitnesses | None:
        """What looks for witnesses of any height, if it can be had."""
        if self.high is None:
            self.high = HighWitnesses.of(self.task, self.discount)
            if self.high is not None:
                value, error = self.high.solution.start_value, self.high.solution.error
                self.value = value - error, value + error
        return self.high


class Answers:
    """The answers for some k, each found when it is asked for."""

    def __init__(
        self, optimal: Optimal, *, short: bool, all_asked: bool = True, early: Answers | None = None
    ) -> None:
        """`short`: fewer states than were meant to be asked about. Then a yes about states none of which look alike, which
        says nothing, does not count. `all_asked`: no depth was given. `early`: what was answered about the same states, all there are,
        with less known of them."""
        self.optimal, self.short, self.all_asked, self.early = optimal, short, all_asked, early
        self.classes: Classes = (
            Classes(optimal.product, optimal.asked) if early is None else early.classes
        )
        self.found: dict[int, dict[str, Answer]] = {}
        self.high: HighWitnesses | None = None
        """What finds a no from the start far beyond the product, where the task is solved."""
        self.cut: set[int] = set()
        """The k for which time was up before something was decided."""

    @cached_property
    def beyond(self) -> int:
        """The first k at which no two states look alike. Where only the start is asked about, as many symbols as the highest stack has that was
        explored: a policy that is optimal from there meets others."""
        if self.optimal.depth == 0:
            product = self.optimal.product
            return min(MOST_K, Classes(product, np.arange(len(product))).height)
        return self.classes.count_to_tell_apart()

    def at(self, k: int) -> dict[str, Answer]:
        """The answers for one k; when time is up, for a few at least: all but the search from the start is quick."""
        if len(self.found) > len(FIRST_KS) and time_left() <= 0 and k not in self.found:
            self.found[k] = dict.fromkeys(QUESTIONS, Answer(UNDECIDED))
            self.cut.add(k)
        before = {} if self.early is None else self.early.found.get(k, {})
        settled = {
            question: one
            for question, one in before.items()
            if one.verdict != UNDECIDED and one.depth is None
        }
        if k not in self.found:
            new = len(settled) < len(QUESTIONS)
            start = self._refuse_from_start(k) if new else None
            answers = (
                answer_questions(self.optimal, k, self.classes.at(k), start) if new else {}
            ) | settled
            if self.classes.tells_apart(k):
                empty = Answer(UNDECIDED) if self.short else None
                answers = {
                    q: one if one.depth is None else empty or replace(one, vacuous=True)
                    for q, one in answers.items()
                }
            self.found[k] = answers
            if time_left() <= 0 and answers["start"].verdict == UNDECIDED:
                self.cut.add(k)
        return self.found[k]

    @property
    def cut_short(self) -> bool:
        """Whether more time may decide what is undecided for some k."""
        return any(self.found[k]["start"].verdict == UNDECIDED for k in self.cut)

    def _refuse_from_start(self, k: int) -> Answer | None:
        """The no from the start, if there is one: following the optimal actions takes far less than a search of the product. The more symbols are
        seen, the harder it is to find one."""
        if self.high is None or any(
            one["start"].verdict != NO for at, one in self.found.items() if at < k
        ):
            return None
        with limit_time(time_left() / 4):
            clash = self.high.find_from_start(k)
        return None if clash is None else Answer(NO, situations=clash)

    def ask(self, ks: Sequence[int] | None, questions: Sequence[str] = QUESTIONS) -> None:
        """Answer for some k; without any, upwards to the smallest that is enough for these questions."""
        if ks is None:
            self._look_upwards(questions)
        for left, k in zip(range(len(ks or ()), 0, -1), ks or (), strict=True):
            with limit_time(time_left() / left):
                self.at(k)

    def ask_nearer(self) -> None:
        """What is undecided may be a yes for states that are nearer: then it is, to that depth; from the start there is no such yes."""
        for question in ("same_values", "everywhere"):
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
                0
            ):  # for the search from the start, which takes longest and is not asked for
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
        return [
            k
            for k, answer in asked.items()
            if answer.verdict == UNDECIDED or answer.depth is not None
        ]

    def ask_higher(self, solved: Solved, *, every_state: bool) -> None:
        """What is open may be a no farther away than any product reaches: from the start first, because that takes least, and what fails
        there fails everywhere. Unless all states are asked about, only from the start."""
        high = self.high = (
            solved.solve() if any(self.list_open(question) for question in QUESTIONS) else None
        )
        if high is None:
            return
        for k in self.list_open("start"):
            refused = self._refuse_from_start(k)
            if refused is None:
                break
            self.found[k]["start"] = refused
        _carry_to_stronger(self.found, all_asked=self.all_asked)
        asked = [
            (question, k)
            for question in ("everywhere", "same_values")
            for k in self.list_open(question)
        ]
        for left, (question, k) in zip(
            range(len(asked), 0, -1), asked if every_state else (), strict=False
        ):
            with limit_time(time_left() / min(left, SHARED)):
                pair = high.find(question, k) if time_left() > 0 else None
            if pair is not None:
                self.found[k][question] = Answer(NO, situations=pair)

    def carry_over(self) -> None:
        """Let the answers for one k or question count for others."""
        carry_over(self.found, all_asked=self.all_asked)

    def ask_every_stack(self, task: Task) -> None:
        """What is open may be a yes for every stack; and then it is for every larger k. With a depth, only what is open from the start."""
        questions = ("everywhere", "same_values", "start") if self.all_asked else ("start",)
        asked = {question: ks for question in questions if (ks := self.list_open(question))}
        if not asked:
            return
        every = EveryStack.of(task, self.optimal.values.discount)
        for question, ks in asked.items() if every else ():
            proof: StackCertificate | None = None
            for k in ks:
                proof = proof or (
                    self.found[k]["everywhere"].proof if question == "start" else None
                )
                proof = proof or (every.prove(question, k) if every and time_left() > 0 else None)
                if proof is not None:
                    self.found[k][question] = Answer(YES, proof=proof)

    def _look_upwards(self, questions: Sequence[str]) -> None:
        """Find the smallest k that is enough, for each question.

        What is enough for k is enough for k + 1: beyond the first few, the largest k of use is tried, and then halfway.
        """
        top = self.beyond
        if self.optimal.depth:
            top -= 1  # a yes where all look different says nothing, unless these are all states there are
        for k in FIRST_KS:
            if k > max(top, 0) and (self.optimal.depth is None or self._enough(k - 1, "start")):
                break  # from the start, states that are not asked about count, too
            self.at(k)
            if all(self._enough(k, question) for question in questions):
                return
        if top >= len(FIRST_KS):
            for question in questions:
                if (
                    time_left() > 0
                    and not self._enough(FIRST_KS[-1], question)
                    and self._enough(top, question)
                ):
                    self._halve(question, len(FIRST_KS), top)
            if self.high is not None and not self._enough(top, "start"):
                self._find_last_no(top)

    def _find_last_no(self, top: int) -> None:
        """Find the largest k that is refused from the start, where none is known to be enough."""
        low, high = FIRST_KS[-1], top
        while self.at(low)["start"].verdict == NO and high - low > 1 and time_left() > 0:
            k = (low + high) // 2
            with limit_time(time_left() / ((high - low).bit_length() + 1)):
                low, high = (k, high) if self.at(k)["start"].verdict == NO else (low, k)

    def _halve(self, question: str, low: int, high: int) -> None:
        """Find the smallest k from `low` on that is enough, where `high` is. What is undecided takes all the time that it is given, so each k has a
        share; then the first below those that are enough has half of what is left, and while it is enough, the next."""
        while low < high:
            k = (low + high) // 2
            with limit_time(time_left() / ((high - low).bit_length() + 1)):
                low, high = (low, k) if self._enough(k, question) else (k + 1, high)
        while (k := high - 1) in self.cut and time_left() > 0:
            self.cut.discard(k)
            del self.found[k]
            with limit_time(time_left() / 2):
                if not self._enough(k, question):
                    return
            high = k

    def _enough(self, k: int, question: str) -> bool:
        answer = self.at(k)[question]
        return answer.verdict == YES and answer.depth in (None, self.optimal.depth)


def carry_over(found: dict[int, dict[str, Answer]], *, all_asked: bool) -> None:
    """What is enough for k is enough for more symbols, as far as it was proved; what is not enough for k is not for fewer; and what is a no to
    one question is a no to those that ask for more. `all_asked`: no depth was given."""
    ks = sorted(found)
    _carry_to_stronger(found, all_asked=all_asked)
    for question in QUESTIONS:
        best, at = Answer(UNDECIDED), 0
        for k in ks:
            own = found[k][question]
            if own.verdict != NO and (
                best.reach > own.reach or (own.vacuous and best.reach == own.reach)
            ):
                found[k][question] = replace(best, found_at=at)
            elif own.verdict == YES and not own.vacuous:
                best, at = own, k if own.found_at is None else own.found_at
        refused = None
        for k in reversed(ks):
            own = found[k][question]
            if own.verdict == NO:
                refused = own
            elif refused is not None and own.reach < inf:
                seen = tuple(replace(one, seen=one.stack[:k]) for one in refused.situations)
                found[k][question] = replace(refused, situations=seen)


def _carry_to_stronger(found: dict[int, dict[str, Answer]], *, all_asked: bool) -> None:
    """Where no policy is optimal from the start, none is everywhere; and where states that look alike have no best action in common, they do
    not have the same. If only near states are asked about, a policy may fail from the start beyond them."""
    implied = ([("start", "everywhere")] if all_asked else []) + [("everywhere", "same_values")]
    for answers in found.values():
        for weaker, stronger in implied:
            if answers[weaker].verdict == NO != answers[stronger].verdict:
                answers[stronger] = answers[weaker]
