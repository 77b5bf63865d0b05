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

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows

YES, NO, UNDECIDED = "yes", "no", "undecided"
QUESTIONS = ("same_values", "everywhere", "start")
HEADS = ("k", "the best deterministic k-policy loses", "in one step, at worst", "its table", "")
SHADES = {YES: "#14532d", NO: "#b91c1c", UNDECIDED: "#a16207"}
SMALL_LOSS = 0.01
"""A k that loses at most this share of the value is recommended if none is known to be enough."""
MAX_TO_LEARN, FEW_ROWS = 2, 2_000
"""A table with more symbols in view and more rows learns slowly."""
UNSAID = "not known"
UNKNOWN = (0.0, inf)
"""The bounds of a loss of which nothing is known."""


class KRow(NamedTuple):
    """The bounds of one k in words."""

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
    """Its loss in one step, in the worst class of states."""
    spread: Interval = UNKNOWN
    """The spread of values, or of the losses of actions, among states that look alike."""
    found: LossBounds | None = None
    """The best k-policy found."""
    proof: Certificate | None = None
    """The proof that this k is enough for every stack, reachable or not."""
    witness: tuple[WitnessState, ...] = ()
    """States that look alike and have no best action in common; or two that differ in their values."""

    @property
    def policy(self) -> dict[PolicyKey, str]:
        """The best k-policy found: the action of each class that it reaches."""
        return {} if self.found is None else self.found.rows()

    @property
    def conflicts(self) -> bool:
        """True if the states of the witness have no best action in common."""
        best = [set(one.actions) for one in self.witness]
        return bool(best) and not set.intersection(*best)

    def narrow(
        self, loss: Interval = UNKNOWN, regret: Interval = UNKNOWN, spread: Interval = UNKNOWN
    ) -> None:
        """Sharpen bounds by others that hold as well."""
        self.loss = intersect(self.loss, loss)
        self.regret = intersect(self.regret, regret)
        self.spread = intersect(self.spread, spread)

    def judge(self, tolerance: float, step_tolerance: float) -> dict[str, str]:
        """The verdict on each question; each implies the next."""
        found = [
            judge(self.spread, step_tolerance),
            judge(self.regret, step_tolerance),
            judge(self.loss, tolerance),
        ]
        for place, implied, verdict in ((1, 0, YES), (2, 1, YES), (1, 2, NO), (0, 1, NO)):
            if found[place] == UNDECIDED and found[implied] == verdict:
                found[place] = verdict
        return dict(zip(QUESTIONS, found, strict=True))


def intersect(one: Interval, other: Interval) -> Interval:
    """Both bounds, each the sharper of two."""
    return max(one[0], other[0]), min(one[1], other[1])


def judge(bounds: Interval, tolerance: float) -> str:
    """Yes if the number is within the tolerance, no if it is above; nothing is proved if that is infinite.

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
    """The optimal value from the start, with the whole stack in view."""
    tolerance: float = 0.0
    """Losses from the start up to this count as none."""
    step_tolerance: float = 0.0
    """The same for regret and spread."""
    steps: int | None = 0
    """Regret and spread are about the states within this many steps (None: about all)."""
    values: ValuedProduct | None = None
    """The states that were explored."""
    followed: OptimalPlay = OptimalPlay(0, None)
    ended: str = "time"
    """The reason the search ended: `decided`, `time`, `states` or `stopped`."""

    @property
    def states(self) -> int:
        """Product states explored."""
        return 0 if self.values is None else len(self.values.product)

    @property
    def certain(self) -> bool:
        """True if moves have no chance."""
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
        """Yes, no or undecided for each k and question."""
        return {
            k: answer.judge(self.tolerance, self.step_tolerance)
            for k, answer in self.answers.items()
        }

    def smallest(self, question: str) -> int | None:
        """The smallest k that is proved enough."""
        if question not in QUESTIONS:
            fix = f"use one of {', '.join(QUESTIONS)}"
            raise BadSetting(f"unknown question `{question}`", fix=fix)
        enough = (k for k, found in self.verdicts.items() if found[question] == YES)
        return min(enough, default=None)

    @property
    def k(self) -> int | None:
        """The smallest k that is proved enough from the start."""
        return self.smallest("start")

    @property
    def recommended(self) -> int | None:
        """The k to train with; None for the whole stack.

        One that is enough from the start alone is at least 1: without the stack, values of different stacks share a row.
        """
        verdicts = self.verdicts
        proved_size = max(self.value[0], -self.value[1], 0.0)
        enough = (
            [k for k, found in verdicts.items() if found["everywhere"] == YES]
            or [max(1, k) for k, found in verdicts.items() if found["start"] == YES]
            or [k for k, (_, lost) in self.loss.items() if k and lost <= SMALL_LOSS * proved_size]
        )
        chosen = min(enough, default=None)
        if chosen is None or chosen <= MAX_TO_LEARN or not self.certain:
            return chosen
        return chosen if self.steps is None and self.states <= FEW_ROWS else None

    def answer(self, k: int) -> KAnswer:
        """The answer for one k."""
        if k not in self.answers:
            fix = f"ask about k = {k!r} as well"
            raise BadSetting(f"k = {k!r} was not asked about", fix=fix)
        return self.answers[k]

    def witness(self, k: int) -> tuple[WitnessState, ...]:
        """States that look alike with k symbols and have no best action in common, up to one for each action.

        If there are none, two whose values differ; empty if none are known.
        """
        return self.answer(k).witness

    def policy(self, k: int) -> KPolicy:
        """The best k-policy found. It acts, is saved and evaluated as any other policy."""
        actions = self.task.finite.actions
        return KPolicy(k, actions, self.answer(k).policy)

    def certificate(self, k: int | None = None, question: str | None = None) -> Certificate:
        """A proof of what a k-policy loses at most, which `pdrm.verify` checks.

        Args:
            k: The k (default: the recommended one).
            question: "start" or "everywhere" (default: everywhere if that is proved to be nothing).
        """
        best = self.recommended
        enough = [k for k, found in self.verdicts.items() if YES in found.values()]
        first = best if best in self.answers else min(enough, default=next(iter(self.answers)))
        answer = self.answer(first if k is None else k)
        verdict = self.verdicts[answer.k]["everywhere"]
        asked = question or ("everywhere" if verdict == YES else "start")
        if asked not in QUESTIONS[1:]:
            raise BadSetting(f"`{asked}` cannot be certified", fix="use start or everywhere")
        if self.height is not None:
            raise DoesNotApply(
                "stacks are bounded, and certificates are about all", fix="leave `height` out"
            )
        if self.values is None or answer.found is None:
            raise DoesNotApply(f"nothing is known of k = {answer.k} yet", fix="search longer")
        try:
            if asked == "start":
                return certify_start(self.task, self.values, answer.found)
            return answer.proof or certify_everywhere(self.task, self.values, answer.k)
        except BadCertificate as error:
            raise DoesNotApply(error.message, fix="ask about another k or question") from None

    def draw(self, path: FilePath | None = None, *, k: int | None = None) -> Plot:
        """Draw a witness.

        Args:
            path: Where to write it as well (.svg, .png, .pdf).
            k: Of which k (default: of the largest that has one with no best action in common, else of the largest that has one).
        """
        from pdrm.drawing.plots import Situation, witness_plot

        shown = [one for one in self.answers.values() if one.witness and k in (None, one.k)]
        if not shown:
            raise DoesNotApply("there is no witness to draw", fix="print the report")
        chosen = max(shown, key=lambda one: (one.conflicts, one.k))
        drawn = [
            Situation(
                one.env_state, one.state, one.stack, len(one.seen), one.describe_way(),
                " or ".join(one.actions), _format_value(one.value),
            )
            for one in chosen.witness
        ]  # fmt: skip
        title = f"{self.task.name}: these look alike with k = {chosen.k}"
        return witness_plot(self.task.finite, drawn, title).saved(path)

    def table(self) -> Rows[KRow]:
        """The answers as rows, one for each k; `.frame()` makes a pandas frame of them."""
        from pdrm.drawing.rows import Rows

        rows = [
            KRow(k, **found, loss=self._format_loss(k), regret=self._format_regret(k))
            for k, found in self.verdicts.items()
        ]
        return Rows(len(rows), rows.__getitem__)

    def __repr__(self) -> str:
        enough = "not known" if self.k is None else str(self.k)
        return f"<KReport of {self.task.name} with {self.task.pushdown.name}: smallest k from the start {enough}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, colour: Callable[[str, str], str] = lambda text, _: text) -> list[str]:
        """The printed report; `colour`: gives a text the colour of a verdict."""
        table = ["  ".join(cells).rstrip() for cells in self._list_cells(colour)]
        found = [self._headline(), *table, *self._list_notes()]
        if telling := [answer for answer in self.answers.values() if answer.conflicts]:
            found.append(f"these look alike with k = {telling[-1].k}:")
            found += [f"  {one}" for one in telling[-1].witness]
        return found

    def _headline(self) -> str:
        machine = self.task.pushdown.name
        said = f"{self.task.name} with machine {machine}, discount {self.discount:g}:"
        said += f" the optimal value is {_format_value(self.value)}"
        if self.followed.ends:
            plural = "s" * (self.followed.steps != 1)
            said += f", optimal play takes {self.followed.steps:,} step{plural}"
        elif self.followed.ends is False:
            said += ", optimal play never ends"
        return said

    def _list_cells(self, colour: Callable[[str, str], str]) -> list[list[str]]:
        """The heads of the table and its rows, each column of one width."""
        answers, best = self.table(), self.recommended
        cells: list[Sequence[str]] = [HEADS]
        for one in answers:
            size = f"{len(self.answers[one.k].policy):,} rows"
            mark = "<- train with this" * (one.k == best)
            cells.append([str(one.k), one.loss, one.regret, size, mark])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = [list(map(str.ljust, row, widths)) for row in cells]
        for row, one in zip(rows[1:], answers, strict=True):
            row[1] = colour(row[1], one.start)
            row[2] = colour(row[2], one.everywhere)
        return rows

    def _list_notes(self) -> list[str]:
        notes = [
            f"losses below {self.tolerance:.2g} (from the start) and {self.step_tolerance:.2g} (in one step) count as nothing"
        ]
        limit = self.task.finite.step_limit
        if self.followed.exceeds(limit):
            notes.append(
                f"an episode is truncated after {limit:,} steps, before optimal play is over:"
                " raise the step limit, or change what the task pays"
            )
        if self.recommended is None:
            how = "the agent `summary`" if self.certain else "k = full"
            longer = "" if self.ended == "decided" else "search longer, or "
            notes.append(f"no k is known to be enough: {longer}train with the whole stack ({how})")
        alike = [k for k, answer in self.answers.items() if answer.spread[0] <= self.step_tolerance]
        best = self.recommended
        if best in self.answers and best not in alike and (safe := [k for k in alike if k > best]):
            notes.append(
                f"if it learns badly, try k = {min(safe)}: no states that look alike to it were found to differ in value"
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
        found = _format_bounds(answer.regret, self.step_tolerance)
        if found == UNSAID and self.steps and isinstance(self.values, SolvedValues):
            return f"0 within {self.steps:,} steps"
        return found

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture, table
        from pdrm.drawing.plots import plot_bytes

        def colour(text: str, verdict: str) -> str:
            return html("span", text, style=f"color: {SHADES[verdict]}; font-weight: 600")

        heads, *rows = self._list_cells(colour)
        whole = [html("p", self._headline()), table(heads, rows)]
        whole += [html("p", note) for note in self._list_notes()]
        plot = plot_bytes(self.plot(), "svg")
        caption = "What the best deterministic k-policy loses, by k."
        whole.append(picture(plot, "svg", "loss", caption))
        if any(answer.conflicts for answer in self.answers.values()):
            drawn = plot_bytes(self.draw(), "svg")
            whole.append(picture(drawn, "svg", "witness", "Why not: these look alike."))
        return "".join(whole)

    def plot(self) -> Plot:
        """The loss by k: a bar between its bounds."""
        from pdrm.drawing.plots import loss_plot

        losses = [
            (k, (0.0, 0.0) if found["start"] == YES else self.loss[k])
            for k, found in self.verdicts.items()
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
                str(k): [one._asdict() for one in answer.witness]
                for k, answer in self.answers.items()
            },
            "states": self.states,
            "ended": self.ended,
        }


def _list_bounds(bounds: Interval) -> list[float | None]:
    """Two bounds as JSON values; one that is not known is null."""
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
        return f"{low:.4g} or more" if low else UNSAID
    if high - low <= max(tolerance, 1e-4 * abs(high)):
        return f"{(low + high) / 2:.4g}"
    return f"{low:.4g} to {high:.4g}"
