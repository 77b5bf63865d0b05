"""The table of `check_k`: bounds on the loss of the best deterministic k-policy, for each k."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from pdrm.analysis.certificate import Certificate
from pdrm.analysis.k_policy import KPolicy, Row
from pdrm.analysis.regret import OpenInterval
from pdrm.analysis.values import Interval
from pdrm.analysis.witness import Followed, Member
from pdrm.errors import BadSetting, DoesNotApply
from pdrm.product.finite_product import Bound
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows

YES, NO, UNDECIDED = "yes", "no", "undecided"
QUESTIONS = ("same_values", "everywhere", "start")
HEADS = ("k", "the best deterministic k-policy loses", "in one step, at worst", "its table", "")
SHADES = {YES: "#14532d", NO: "#b91c1c", UNDECIDED: "#a16207"}
SMALL_LOSS = 0.01
"""A k that loses at most this share of the value is recommended if none is known to be enough."""
MOST_TO_LEARN, FEW_ROWS = 2, 2_000
"""A table with more symbols in view and more rows learns slowly."""


@dataclass(frozen=True, slots=True)
class KRow:
    """The bounds of one k in words."""

    k: int
    same_values: str
    everywhere: str
    start: str
    loss: str
    regret: str

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return asdict(self)


@dataclass(slots=True)
class KAnswer:
    """The answer for one k."""

    k: int
    loss: Interval
    """The loss of the best deterministic k-policy from the start."""
    regret: OpenInterval = (0.0, None)
    """Its loss in one step, in the worst class of states."""
    spread: OpenInterval = (0.0, None)
    """The spread of values, or of the losses of actions, among states that look alike."""
    steps: int | None = 0
    """The states within this many steps were explored (None if all were)."""
    every_stack: bool = False
    """True if the upper bound of the regret holds for every stack, reachable or not."""
    policy: dict[Row, str] = field(default_factory=dict)
    """The best k-policy found: the action of each class that it reaches."""
    witness: tuple[Member, ...] = ()
    """States that look alike and have no best action in common; or two that differ in their values."""

    def narrow(
        self,
        loss: OpenInterval = (0.0, None),
        regret: OpenInterval = (0.0, None),
        spread: OpenInterval = (0.0, None),
    ) -> None:
        """Sharpen bounds by others that hold as well."""
        low, high = _take_sharper(self.loss, loss)
        self.loss = low, inf if high is None else high
        self.regret = _take_sharper(self.regret, regret)
        self.spread = _take_sharper(self.spread, spread)

    def judge(self, tolerance: float, step_tolerance: float) -> dict[str, str]:
        """The verdict on each question; each implies the next."""
        asked = [
            (self.spread, step_tolerance),
            (self.regret, step_tolerance),
            (self.loss, tolerance),
        ]
        found = [judge(*one) for one in asked]
        for place, implied, verdict in ((1, 0, YES), (2, 1, YES), (1, 2, NO), (0, 1, NO)):
            if found[place] == UNDECIDED and found[implied] == verdict:
                found[place] = verdict
        return dict(zip(QUESTIONS, found, strict=True))


def _take_sharper(one: OpenInterval, other: OpenInterval) -> OpenInterval:
    """Both bounds, each the sharper of two."""
    highs = [float(high) for high in (one[1], other[1]) if high is not None]
    return float(max(one[0], other[0])), min(highs, default=None)


def judge(bounds: OpenInterval, tolerance: float) -> str:
    """Yes if the number is within the tolerance, no if it is above.

    >>> judge((0.0, 1e-12), 1e-9), judge((0.1, None), 1e-9), judge((0.0, None), 1e-9)
    ('yes', 'no', 'undecided')
    """
    low, high = bounds
    if tolerance == inf:  # nothing is proved about the values
        return UNDECIDED
    if high is not None and high <= tolerance:
        return YES
    return NO if low > tolerance else UNDECIDED


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KReport:
    """The answers for each k. Printed, it is the table that `pdrm check-k` shows.

    >>> from pdrm.analysis.k_search import check_k
    >>> report = check_k("paint", k=[4, 5])
    >>> report.k, round(report.loss[4][0], 6), report.verdicts[5]["start"]
    (5, 0.006667, 'yes')
    """

    task: Task
    discount: float
    bound: Bound
    value: Interval
    """The optimal value from the start, with the whole stack in view."""
    tolerance: float
    """Losses from the start up to this count as none."""
    step_tolerance: float
    """The same for regret and spread."""
    answers: dict[int, KAnswer]
    certain: bool
    """True if moves have no chance."""
    ended: str
    """The reason the search ended: `decided`, `time`, `states` or `stopped`."""
    states: int
    """Product states explored."""
    followed: Followed | None
    prove: Callable[[int, str], Certificate] = field(repr=False)
    """Makes a certificate for a k and a question."""

    @property
    def loss(self) -> dict[int, Interval]:
        """The loss of the best deterministic k-policy from the start, for each k."""
        return {k: answer.loss for k, answer in self.answers.items()}

    @property
    def verdicts(self) -> dict[int, dict[str, str]]:
        """Yes, no or undecided for each k and question."""
        return {
            k: answer.judge(self.tolerance, self.step_tolerance)
            for k, answer in self.answers.items()
        }

    def smallest(self, question: str) -> int | None:
        """The smallest k that is proved enough."""
        if question not in QUESTIONS:
            raise BadSetting(
                f"unknown question `{question}`", fix=f"use one of {', '.join(QUESTIONS)}"
            )
        return min(
            (k for k, found in self.verdicts.items() if found[question] == YES), default=None
        )

    @property
    def k(self) -> int | None:
        """The smallest k that is proved enough from the start."""
        return self.smallest("start")

    @property
    def complete(self) -> bool:
        """True if every question is answered yes or no."""
        return all(UNDECIDED not in found.values() for found in self.verdicts.values())

    @property
    def optimal_steps(self) -> int | None:
        """The steps of optimal play from the start; None if that is not known, or if it never ends."""
        return self.followed.steps if self.followed is not None and self.followed.ends else None

    @property
    def over_limit(self) -> bool | None:
        """True if optimal play takes longer than the domain's step limit, which is not part of the problem."""
        return None if self.followed is None else self.followed.exceeds(self.task.finite.step_limit)

    @property
    def capped(self) -> bool:
        """True if stacks were capped, which makes it another task."""
        return self.bound.rule != "open"

    @property
    def recommended(self) -> int | None:
        """The k to train with; None for the whole stack.

        One that is enough from the start alone is at least 1: without the stack, values of different stacks share a row.
        """
        verdicts, (low, high) = self.verdicts, self.value
        most = SMALL_LOSS * max(low, -high, 0.0)  # of what the value is proved to be at least
        groups = (
            [k for k, found in verdicts.items() if found["everywhere"] == YES],
            [max(1, k) for k, found in verdicts.items() if found["start"] == YES],
            [k for k, (_, lost) in self.loss.items() if k and lost <= most],
        )
        chosen = next((min(group) for group in groups if group), None)
        if chosen is None or chosen <= MOST_TO_LEARN or not self.certain:
            return chosen
        few = self.states <= FEW_ROWS and all(one.steps is None for one in self.answers.values())
        return chosen if few else None

    def answer(self, k: int) -> KAnswer:
        """The answer for one k."""
        if k not in self.answers:
            fix = f"ask about k = {k!r} as well"
            raise BadSetting(f"k = {k!r} was not asked about", fix=fix)
        return self.answers[k]

    def witness(self, k: int) -> tuple[Member, ...]:
        """States that look alike with k symbols and have no best action in common, up to one for each action.

        If there are none, two whose values or best actions differ; empty if none are known.
        """
        return self.answer(k).witness

    def policy(self, k: int) -> KPolicy:
        """The best k-policy found. It acts, is saved and evaluated as any other policy."""
        actions = self.task.finite.actions
        return KPolicy(k, actions, dict(self.answer(k).policy))

    def certificate(self, k: int | None = None, question: str | None = None) -> Certificate:
        """A proof of what a k-policy loses at most, which `pdrm.verify` checks.

        Args:
            k: The k (default: the recommended one).
            question: "start" or "everywhere" (default: everywhere if that is proved to be nothing).
        """
        best = self.recommended
        first = best if best in self.answers else next(iter(self.answers))
        answer = self.answer(first if k is None else k)
        verdict = self.verdicts[answer.k]["everywhere"]
        asked = question or ("everywhere" if verdict == YES else "start")
        if asked not in QUESTIONS[1:]:
            raise BadSetting(f"`{asked}` cannot be certified", fix="use start or everywhere")
        if self.bound != Bound():
            raise DoesNotApply(
                "stacks are bounded, and certificates are about all", fix="leave `height` out"
            )
        return self.prove(answer.k, asked)

    def draw(self, path: str | os.PathLike[str] | None = None, *, k: int | None = None) -> Plot:
        """Draw a witness.

        Args:
            path: Where to write it as well (.svg, .png, .pdf).
            k: Of which k (default: of the largest that has one with no best action in common, else of the largest that has one).
        """
        from pdrm.drawing.plots import Situation, witness_plot

        found = [one for one, answer in self.answers.items() if answer.witness and k in (None, one)]
        if not found:
            raise DoesNotApply("there is no witness to draw", fix="print the report")
        chosen = max([one for one in self._list_conflicts() if one in found] or found)
        drawn = [
            Situation(
                one.place, one.state, one.stack, len(one.seen), one.describe_way(),
                " or ".join(one.actions), _format_value(one.value),
            )
            for one in self.answers[chosen].witness
        ]  # fmt: skip
        title = f"{self.task.name}: these look alike with k = {chosen}"
        return witness_plot(self.task.finite, drawn, title).saved(path)

    def table(self) -> Rows[KRow]:
        """The answers as rows, one for each k; `.frame()` makes a pandas frame of them."""
        from pdrm.drawing.rows import Rows

        rows = [
            KRow(int(k), **self.verdicts[int(k)], loss=loss, regret=regret)
            for k, loss, regret, *_ in self._cells()
        ]
        return Rows(len(rows), rows.__getitem__)

    def __repr__(self) -> str:
        enough = "not known" if self.k is None else str(self.k)
        return f"<KReport of {self.task.name} with {self.task.pushdown.name}: smallest k from the start {enough}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, colour: Callable[[str, str], str] = lambda text, _: text) -> list[str]:
        """The printed report; `colour`: gives a text the colour of a verdict."""
        found = [self._headline(), *self._list_rows(colour), *self._list_notes()]
        if telling := self._list_conflicts():
            k = max(telling)
            found.append(f"these look alike with k = {k}:")
            found += [f"  {one}" for one in self.answers[k].witness]
        return found

    def _list_conflicts(self) -> list[int]:
        """Each k of which the witness has no best action in common."""
        return [
            k
            for k, answer in self.answers.items()
            if answer.witness
            and not set.intersection(*(set(one.actions) for one in answer.witness))
        ]

    def _headline(self) -> str:
        head = (
            f"{self.task.name} with machine {self.task.pushdown.name}, discount {self.discount:g}"
        )
        said = f"{head}: the optimal value is {_format_value(self.value)}"
        if self.followed is not None and self.followed.ends:
            said += f", optimal play takes {self.followed.steps:,} step{'s' * (self.followed.steps != 1)}"
        elif self.followed is not None and self.followed.ends is False:
            said += ", optimal play never ends"
        return said

    def _cells(self) -> list[tuple[str, str, str, str, str]]:
        """The rows under `HEADS`."""
        chosen = None if self.capped else self.recommended
        return [
            (
                str(k),
                self._format_loss(k),
                self._format_regret(k),
                f"{len(answer.policy):,} rows",
                "<- train with this" * (k == chosen),
            )
            for k, answer in self.answers.items()
        ]

    def _list_rows(self, colour: Callable[[str, str], str]) -> list[str]:
        rows = [HEADS, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = [
            [cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows
        ]
        for found, cells in zip(self.verdicts.values(), padded[1:], strict=True):
            cells[1] = colour(cells[1], found["start"])
            cells[2] = colour(cells[2], found["everywhere"])
        return ["  ".join(cells).rstrip() for cells in padded]

    def _list_notes(self) -> list[str]:
        notes = [
            f"up to {self.tolerance:.2g} from the start, {self.step_tolerance:.2g} in one step, counts as nothing"
        ]
        if self.capped:
            notes.append(
                f"these are about the task with stacks of up to {self.bound.height} symbols ({self.bound.rule} beyond)"
            )
        if self.over_limit:
            notes.append(
                f"an episode is truncated after {self.task.finite.step_limit:,} steps, before optimal play is over:"
                " raise the step limit, or change what the task pays"
            )
        if self.recommended is None and not self.capped:
            how = "the agent `summary`" if self.certain else "k = full"
            notes.append(f"train with the whole stack ({how})")
        alike = [k for k, answer in self.answers.items() if answer.spread[0] <= self.step_tolerance]
        best = self.recommended
        if best in self.answers and best not in alike and (safe := [k for k in alike if k > best]):
            notes.append(
                f"if it learns badly: k = {min(safe)}, where no states that look alike were found to differ"
            )
        return notes

    def _format_loss(self, k: int) -> str:
        low, high = self.answers[k].loss
        if self.verdicts[k]["start"] == YES:
            return "nothing, proved"
        if low <= self.tolerance:
            low = 0.0
        if not isfinite(high):
            return f"{low:.4g} or more" if low else "not known"
        return _format_range(low, high, self.tolerance)

    def _format_regret(self, k: int) -> str:
        answer = self.answers[k]
        (low, high), verdict = answer.regret, self.verdicts[k]["everywhere"]
        if verdict == YES:
            return "nothing, for every stack" if answer.every_stack else "nothing, proved"
        if low <= self.step_tolerance:
            if high is not None:
                return f"at most {high:.4g}"
            if not answer.steps or self.followed is None:  # not explored, or values only bounded
                return "not known"
            return f"0 within {answer.steps:,} steps"
        return (
            f"{low:.4g} or more" if high is None else _format_range(low, high, self.step_tolerance)
        )

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture, table
        from pdrm.drawing.plots import plot_bytes

        rows = []
        for (k, loss, regret, size, mark), found in zip(
            self._cells(), self.verdicts.values(), strict=True
        ):
            styles = [
                f"color: {SHADES[found[one]]}; font-weight: 600" for one in ("start", "everywhere")
            ]
            rows.append(
                [
                    k,
                    html("span", loss, style=styles[0]),
                    html("span", regret, style=styles[1]),
                    size,
                    mark,
                ]
            )
        whole = [html("p", self._headline()), table(HEADS, rows)]
        whole += [html("p", note) for note in self._list_notes()]
        plot = plot_bytes(self.plot(), "svg")
        whole.append(
            picture(plot, "svg", "loss", "What the best deterministic k-policy loses, by k.")
        )
        if self._list_conflicts():
            drawn = plot_bytes(self.draw(), "svg")
            whole.append(picture(drawn, "svg", "witness", "Why not: these look alike."))
        return "".join(whole)

    def plot(self) -> Plot:
        """The loss by k: a bar between its bounds."""
        from pdrm.drawing.plots import loss_plot

        return loss_plot(list(self.loss.items()), f"{self.task.name}: loss of the best k-policy")

    def record(self) -> dict[str, Any]:
        """The report as JSON values."""
        rows = {
            str(k): {
                **self.verdicts[k],
                "loss": _list_bounds(answer.loss),
                "regret": _list_bounds(answer.regret),
                "spread": _list_bounds(answer.spread),
                "steps": answer.steps,
                "every_stack": answer.every_stack,
                "rows": len(answer.policy),
            }
            for k, answer in self.answers.items()
        }
        return {
            "domain": self.task.name,
            "machine": self.task.pushdown.name,
            "discount": self.discount,
            "height": self.bound.height,
            "rule": self.bound.rule,
            "value": _list_bounds(self.value),
            "tolerance": self.tolerance,
            "step_tolerance": self.step_tolerance,
            "optimal_steps": self.optimal_steps,
            "over_limit": self.over_limit,
            "k": rows,
            "recommended": self.recommended,
            "witnesses": {
                str(k): [one.record() for one in answer.witness]
                for k, answer in self.answers.items()
            },
            "states": self.states,
            "ended": self.ended,
        }


def _list_bounds(bounds: OpenInterval) -> list[float | None]:
    """Two bounds as JSON values; one that is not known is null."""
    return [bound if bound is not None and isfinite(bound) else None for bound in bounds]


def _format_value(value: Interval) -> str:
    low, high = value
    if not isfinite(high - low):
        return "not known yet"
    if high - low > 1e-6 * max(1.0, abs(high)):
        return f"between {low:.6g} and {high:.6g}"
    return "0" if low <= 0 <= high else f"{(low + high) / 2:.6g}"


def _format_range(low: float, high: float, tolerance: float) -> str:
    """Two bounds, or one number if they are equal."""
    if high - low <= max(tolerance, 1e-4 * abs(high)):
        return f"{(low + high) / 2:.4g}"
    return f"{low:.4g} to {high:.4g}"
