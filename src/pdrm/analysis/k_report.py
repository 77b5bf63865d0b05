"""The table of `check_k`: bounds on the loss of the best deterministic k-policy, for each k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from pdrm.analysis.best_policy import LossBounds
from pdrm.analysis.certificate import Certificate
from pdrm.analysis.certify import certify_everywhere, certify_start
from pdrm.analysis.k_policy import KPolicy, PolicyKey
from pdrm.analysis.values import Interval, SolvedValues, ValuedProduct
from pdrm.analysis.whole_stack import check_deterministic
from pdrm.analysis.witness import OptimalPlay, WitnessState
from pdrm.errors import BadCertificate, BadSetting, DoesNotApply, StochasticMoves
from pdrm.files import FilePath
from pdrm.task import Task
from pdrm.wording import plural

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows

YES, NO, UNDECIDED = "yes", "no", "undecided"
QUESTIONS = ("same_values", "everywhere", "start")
HEADINGS = ("k", "the best deterministic k-policy loses", "in one step, at worst", "its table", "")
SHADES = {YES: "#14532d", NO: "#b91c1c", UNDECIDED: "#a16207"}
SMALL_LOSS = 0.01
"""The relative loss up to which a k is recommended if none is known to be enough."""
MAX_LEARNABLE_K, MAX_LEARNABLE_STATES = 2, 2_000
"""A table that sees more symbols of a task with more states learns slowly."""
NOT_KNOWN = "not known"
UNKNOWN = (0.0, inf)
"""The bounds of an unknown loss."""


class KRow(NamedTuple):
    """The verdicts and bounds of one k as text."""

    k: int
    same_values: str
    everywhere: str
    start: str
    loss: str
    regret: str

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return self._asdict()


@dataclass(slots=True)
class KAnswer:
    """The answer for one k."""

    k: int
    loss: Interval = UNKNOWN
    """The loss of the best deterministic k-policy from the start."""
    regret: Interval = UNKNOWN
    """The loss in one step, in the worst class of states."""
    spread: Interval = UNKNOWN
    """The maximum difference of values, or of actions' losses, among states that look alike."""
    best: LossBounds | None = None
    """The best k-policy found."""
    proof: Certificate | None = None
    """The proof that this k is enough for every stack, reachable or not."""
    witness: tuple[WitnessState, ...] = ()
    """States that look alike without a common best action; or two with different values."""

    @property
    def policy(self) -> dict[PolicyKey, str]:
        """The actions of the best k-policy found, for the classes that it reaches."""
        return {} if self.best is None else self.best.rows()

    @property
    def conflicts(self) -> bool:
        """True if the witness has states without a common best action."""
        best = [set(state.actions) for state in self.witness]
        return bool(best) and not set.intersection(*best)

    def narrow(
        self, loss: Interval = UNKNOWN, regret: Interval = UNKNOWN, spread: Interval = UNKNOWN
    ) -> None:
        """Intersect the bounds with others."""
        self.loss = intersect(self.loss, loss)
        self.regret = intersect(self.regret, regret)
        self.spread = intersect(self.spread, spread)

    def judge(self, tolerance: float, step_tolerance: float) -> dict[str, str]:
        """The verdict on each question.

        A yes implies a yes to the questions after it, a no implies a no to the questions before it.
        """
        same_values = judge(self.spread, step_tolerance)
        everywhere = judge(self.regret, step_tolerance)
        start = judge(self.loss, tolerance)
        if everywhere == UNDECIDED and same_values == YES:
            everywhere = YES
        if start == UNDECIDED and everywhere == YES:
            start = YES
        if everywhere == UNDECIDED and start == NO:
            everywhere = NO
        if same_values == UNDECIDED and everywhere == NO:
            same_values = NO
        return {"same_values": same_values, "everywhere": everywhere, "start": start}


def intersect(first: Interval, second: Interval) -> Interval:
    """The numbers in both intervals."""
    return max(first[0], second[0]), min(first[1], second[1])


def judge(bounds: Interval, tolerance: float) -> str:
    """Yes if the number is at most the tolerance, no if it is above, else undecided.

    An infinite tolerance decides nothing.

    >>> judge((0.0, 1e-12), 1e-9), judge((0.1, inf), 1e-9), judge((0.0, inf), 1e-9)
    ('yes', 'no', 'undecided')
    """
    low, high = bounds
    if high <= tolerance < inf:
        return YES
    return NO if low > tolerance else UNDECIDED


@dataclass(slots=True, eq=False, repr=False)
class KReport:
    """The answers for each k. Printed, it is the table that `pdrm check-k` shows.

    >>> from pdrm.analysis.k_search import check_k
    >>> report = check_k("paint", k=[4, 5])
    >>> report.k, round(report.loss[4][0], 6), report.verdicts[5]["start"]
    (5, 0.006667, 'yes')
    """

    task: Task
    discount: float
    answers: dict[int, KAnswer]
    height: int | None = None
    """The highest stack that is explored."""
    value: Interval = (-inf, inf)
    """The optimal value from the start, for policies that see the whole stack."""
    tolerance: float = 0.0
    """Losses from the start up to this count as 0."""
    step_tolerance: float = 0.0
    """Regrets and spreads up to this count as 0."""
    steps: int | None = 0
    """Regret and spread cover the states within this many steps (None: all states)."""
    values: ValuedProduct | None = None
    """The explored product."""
    followed: OptimalPlay = OptimalPlay(0, None)
    ended: str = "time"
    """The reason the search ended: `decided`, `time`, `states` or `stopped`."""

    @property
    def states(self) -> int:
        """The number of explored product states."""
        return 0 if self.values is None else len(self.values.product)

    @property
    def certain(self) -> bool:
        """True if the moves are deterministic."""
        try:
            check_deterministic(self.task.finite)
        except StochasticMoves:
            return False
        return True

    @property
    def loss(self) -> dict[int, Interval]:
        """The loss of the best deterministic k-policy from the start, for each k."""
        return {k: answer.loss for k, answer in self.answers.items()}

    @property
    def verdicts(self) -> dict[int, dict[str, str]]:
        """`yes`, `no` or `undecided` for each k and question."""
        return {
            k: answer.judge(self.tolerance, self.step_tolerance)
            for k, answer in self.answers.items()
        }

    def smallest(self, question: str) -> int | None:
        """The smallest k that is proved to be enough, or None."""
        if question not in QUESTIONS:
            fix = f"use one of {', '.join(QUESTIONS)}"
            raise BadSetting(f"unknown question `{question}`", fix=fix)
        enough = (k for k, verdict in self.verdicts.items() if verdict[question] == YES)
        return min(enough, default=None)

    @property
    def k(self) -> int | None:
        """The smallest k that is proved to be enough from the start, or None."""
        return self.smallest("start")

    @property
    def recommended(self) -> int | None:
        """The k to train with; None for the whole stack.

        A k that is only enough from the start is raised to at least 1, because with k = 0 the
        values of all stacks share a row.
        """
        verdicts = self.verdicts.items()
        max_loss = SMALL_LOSS * max(self.value[0], -self.value[1], 0.0)
        enough = (
            [k for k, verdict in verdicts if verdict["everywhere"] == YES]
            or [max(1, k) for k, verdict in verdicts if verdict["start"] == YES]
            or [k for k, (_, high) in self.loss.items() if k and high <= max_loss]
        )
        best = min(enough, default=None)
        if best is None or best <= MAX_LEARNABLE_K or not self.certain:
            return best
        explored = self.steps is None
        return best if explored and self.states <= MAX_LEARNABLE_STATES else None

    def answer(self, k: int) -> KAnswer:
        """The answer for one k."""
        if k not in self.answers:
            fix = f"include k = {k!r} in the call of check_k"
            raise BadSetting(f"the report has no k = {k!r}", fix=fix)
        return self.answers[k]

    def witness(self, k: int) -> tuple[WitnessState, ...]:
        """States that look alike with k symbols and have no common best action.

        If none are known, two states that look alike with different values, or nothing.
        """
        return self.answer(k).witness

    def policy(self, k: int) -> KPolicy:
        """The best k-policy found. It can be used, saved and evaluated like any other policy."""
        return KPolicy(k, self.task.finite.actions, self.answer(k).policy)

    def certificate(self, k: int | None = None, question: str | None = None) -> Certificate:
        """A proof of an upper bound on the loss of a k-policy. `pdrm.verify` checks it.

        Args:
            k: The k (default: the recommended k).
            question: "start" or "everywhere" (default: "everywhere" if this k is proved to be
                enough there, otherwise "start").
        """
        answer = self.answer(self._default_certified_k() if k is None else k)
        verdict = self.verdicts[answer.k]["everywhere"]
        question = question or ("everywhere" if verdict == YES else "start")
        if question not in QUESTIONS[1:]:
            raise BadSetting(f"`{question}` cannot be certified", fix="use start or everywhere")
        if self.height is not None:
            raise DoesNotApply(
                "certificates are for all stacks, and `height` limits them",
                fix="leave `height` out",
            )
        if self.values is None or answer.best is None:
            raise DoesNotApply(f"nothing is known of k = {answer.k} yet", fix="search longer")
        try:
            if question == "start":
                return certify_start(self.task, self.values, answer.best)
            return answer.proof or certify_everywhere(self.task, self.values, answer.k)
        except BadCertificate as error:
            raise DoesNotApply(error.message, fix="use another k or question") from None

    def _default_certified_k(self) -> int:
        """The recommended k, else the smallest k with any yes, else the first k."""
        recommended = self.recommended
        if recommended in self.answers:
            return recommended
        enough = [k for k, verdict in self.verdicts.items() if YES in verdict.values()]
        return min(enough, default=next(iter(self.answers)))

    def draw(self, path: FilePath | None = None, *, k: int | None = None) -> Plot:
        """Draw a witness.

        Args:
            path: A file to write (.svg, .png, .pdf).
            k: The k (default: the largest with conflicting states, else with any witness).
        """
        from pdrm.drawing.plots import Situation, witness_plot

        answers = [
            answer for answer in self.answers.values() if answer.witness and k in (None, answer.k)
        ]
        if not answers:
            raise DoesNotApply("no witness was found", fix="print the report")
        answer = max(answers, key=lambda answer: (answer.conflicts, answer.k))
        situations = [
            Situation(
                state.env_state, state.state, state.stack, len(state.seen), state.describe_way(),
                " or ".join(state.actions), _format_value(state.value),
            )
            for state in answer.witness
        ]  # fmt: skip
        title = f"{self.task.name}: these look alike with k = {answer.k}"
        return witness_plot(self.task.finite, situations, title).saved(path)

    def table(self) -> Rows[KRow]:
        """The answers as rows, one for each k; `.frame()` returns a pandas DataFrame."""
        from pdrm.drawing.rows import Rows

        rows = [
            KRow(k, **verdict, loss=self._format_loss(k), regret=self._format_regret(k))
            for k, verdict in self.verdicts.items()
        ]
        return Rows(len(rows), rows.__getitem__)

    def __repr__(self) -> str:
        enough = "not known" if self.k is None else str(self.k)
        task = f"{self.task.name} with {self.task.pushdown.name}"
        return f"<KReport of {task}: smallest k from the start {enough}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, colour: Callable[[str, str], str] = lambda text, _: text) -> list[str]:
        """The printed report; `colour(text, verdict)` colours a text by its verdict."""
        if not any(answer.best or answer.loss != UNKNOWN for answer in self.answers.values()):
            return [self._headline(), "no bound was found in this time: search longer"]
        table = ["  ".join(cells).rstrip() for cells in self._list_cells(colour)]
        lines = [self._headline(), *table, *self._list_notes()]
        conflicting = [answer for answer in self.answers.values() if answer.conflicts]
        if conflicting:
            answer = conflicting[-1]
            lines.append(f"these look alike with k = {answer.k}:")
            lines += [f"  {state}" for state in answer.witness]
        return lines

    def _headline(self) -> str:
        task = f"{self.task.name} with machine {self.task.pushdown.name}"
        headline = (
            f"{task}, discount {self.discount:g}: the optimal value is {_format_value(self.value)}"
        )
        if self.followed.ends:
            headline += f", optimal play takes {plural(self.followed.steps, 'step')}"
        elif self.followed.ends is False:
            headline += ", optimal play never ends"
        return headline

    def _list_cells(self, colour: Callable[[str, str], str]) -> list[list[str]]:
        """The headings and rows of the table, padded to the widths of the columns."""
        table, recommended = self.table(), self.recommended
        cells: list[Sequence[str]] = [HEADINGS]
        for row in table:
            policy = self.answers[row.k].policy
            size = plural(len(policy), "row") if policy else "-"
            mark = "<- train with this" if row.k == recommended else ""
            cells.append([str(row.k), row.loss, row.regret, size, mark])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        padded = [list(map(str.ljust, row, widths)) for row in cells]
        for texts, row in zip(padded[1:], table, strict=True):
            texts[1] = colour(texts[1], row.start)
            texts[2] = colour(texts[2], row.everywhere)
        return padded

    def _list_notes(self) -> list[str]:
        notes = [
            f"losses below {self.tolerance:.2g} (from the start) and {self.step_tolerance:.2g}"
            " (in one step) count as nothing"
        ]
        limit = self.task.finite.step_limit
        if self.followed.ends is False and self.task.pushdown.final:
            notes.append("optimal play never ends: check that ending the task is worth it")
        elif self.followed.exceeds(limit):
            notes.append(
                f"an episode is truncated after {limit:,} steps, before optimal play is over:"
                " raise the step limit, or change the rewards of the task"
            )
        recommended = self.recommended
        if recommended is None:
            agent = "the agent `summary`" if self.certain else "k = full"
            longer = "" if self.ended == "decided" else "search longer, or "
            notes.append(
                f"no k is known to be enough: {longer}train with the whole stack ({agent})"
            )
        if recommended in self.answers:
            alike = [
                k
                for k, answer in self.answers.items()
                if k >= recommended and answer.spread[0] <= self.step_tolerance
            ]
            if alike and recommended not in alike:
                notes.append(
                    f"if learning is slow, try k = {min(alike)}: no states that it cannot"
                    " distinguish were found to differ in value"
                )
        return notes

    def _format_loss(self, k: int) -> str:
        if self.verdicts[k]["start"] == YES:
            return "nothing, proved"
        return _format_bounds(self.answers[k].loss, self.tolerance)

    def _format_regret(self, k: int) -> str:
        answer = self.answers[k]
        if self.verdicts[k]["everywhere"] == YES:
            return "nothing, for every stack" if answer.proof is not None else "nothing, proved"
        text = _format_bounds(answer.regret, self.step_tolerance)
        if text == NOT_KNOWN and self.steps and isinstance(self.values, SolvedValues):
            return f"0 within {self.steps:,} steps"
        return text

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture, table
        from pdrm.drawing.plots import plot_bytes

        def colour(text: str, verdict: str) -> str:
            return html("span", text, style=f"color: {SHADES[verdict]}; font-weight: 600")

        headings, *rows = self._list_cells(colour)
        parts = [html("p", self._headline()), table(headings, rows)]
        parts += [html("p", note) for note in self._list_notes()]
        plot = plot_bytes(self.plot(), "svg")
        parts.append(picture(plot, "svg", "loss", "Loss of the best deterministic k-policy, by k."))
        if any(answer.conflicts for answer in self.answers.values()):
            witness = plot_bytes(self.draw(), "svg")
            parts.append(picture(witness, "svg", "witness", "Why not: these look alike."))
        return "".join(parts)

    def plot(self) -> Plot:
        """The loss by k: a bar between its bounds."""
        from pdrm.drawing.plots import loss_plot

        losses = [
            (k, (0.0, 0.0) if verdict["start"] == YES else self.loss[k])
            for k, verdict in self.verdicts.items()
        ]
        return loss_plot(losses, f"{self.task.name}: loss of the best k-policy")

    def record(self) -> dict[str, Any]:
        """The report as JSON values."""
        rows = {
            str(k): {
                **self.verdicts[k],
                "loss": _list_bounds(answer.loss),
                "regret": _list_bounds(answer.regret),
                "spread": _list_bounds(answer.spread),
                "steps": self.steps,
                "every_stack": answer.proof is not None,
                "rows": len(answer.policy),
            }
            for k, answer in self.answers.items()
        }
        return {
            "domain": self.task.name,
            "machine": self.task.pushdown.name,
            "discount": self.discount,
            "height": self.height,
            "value": _list_bounds(self.value),
            "tolerance": self.tolerance,
            "step_tolerance": self.step_tolerance,
            "optimal_steps": self.followed.total,
            "over_limit": self.followed.exceeds(self.task.finite.step_limit),
            "k": rows,
            "recommended": self.recommended,
            "witnesses": {
                str(k): [state._asdict() for state in answer.witness]
                for k, answer in self.answers.items()
            },
            "states": self.states,
            "ended": self.ended,
        }


def _list_bounds(bounds: Interval) -> list[float | None]:
    """Two bounds as JSON values; unknown bounds are null."""
    return [bound if isfinite(bound) else None for bound in bounds]


def _format_value(value: Interval) -> str:
    low, high = value
    if not isfinite(high - low):
        return "not known yet"
    if high - low > 1e-6 * max(1.0, abs(high)):
        return f"between {low:.6g} and {high:.6g}"
    return "0" if low <= 0 <= high else f"{(low + high) / 2:.6g}"


def _format_bounds(bounds: Interval, tolerance: float) -> str:
    """Two bounds, or one number if they are equal."""
    low, high = bounds
    if low <= tolerance:
        low = 0.0
    if high == inf:
        return f"{low:.4g} or more" if low else NOT_KNOWN
    if high - low <= max(tolerance, 1e-4 * abs(high)):
        return f"{(low + high) / 2:.4g}"
    return f"{low:.4g} to {high:.4g}"
