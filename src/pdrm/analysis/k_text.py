"""A report on k in words: what was looked at, a table of the answers, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pdrm.analysis.sufficient_k import NO, UNDECIDED, YES

if TYPE_CHECKING:
    from pdrm.analysis.check_k import KReport

NAMES = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}
"""The questions."""
FURTHER = "raise `most` or `depth`"
"""What may decide what is undecided."""

Shade = Callable[[str, str], str]
"""A cell's text and its verdict -> the text as it is shown."""


def lines(
    report: KReport,
    questions: Sequence[str] = tuple(NAMES),
    shade: Shade = lambda text, _verdict: text,
    further: str = FURTHER,
) -> list[str]:
    """The whole report.

    >>> from pdrm.analysis.check_k import check_k
    >>> for line in lines(check_k("paint", "paint", ks=(4, 5)), questions=["start"])[3:]:
    ...     print(line)
    k    from the start    loss of the best k-policy found
    4    no                0.00666667
    5    yes               0
    <BLANKLINE>
    from the start: k = 5 is enough
    """
    found, product = report.optimal, report.optimal.product
    low, high = found.values.at_start(product)
    count = f"{len(found.asked):,} states"
    far = f"all {count}" if found.depth is None else f"{count} within {found.depth} steps"
    rows = [
        f"{product.domain.name} with machine {product.machine.name}, discount {found.values.discount:g}, "
        f"no step limit{_rule(report)}",
        f"{far}, {len(product):,} looked at; the optimal value from the start is {value_text(low, high)}",
        "",
        "k    " + "".join(f"{NAMES[question]:<18}" for question in questions) + "loss of the best k-policy found",
    ]
    for k, answers in report.answers.items():
        cells = (shade(_cell(answers[q].verdict, answers[q].depth), answers[q].verdict) for q in questions)
        rows.append(f"{k:<5}" + "".join(cells) + _loss(*report.gaps[k].gap, scale=max(abs(low), abs(high), 1e-9)))
    return [*rows, "", *(f"{NAMES[question]}: {summary(report, question, further)}" for question in questions)]


def summary(report: KReport, question: str, further: str = FURTHER) -> str:
    """What the answers to one question come to: a k that is not known to be enough is not called one that is not.

    >>> from pdrm.analysis.check_k import check_k
    >>> summary(check_k("paint", "paint", ks=range(3)), "start")
    'no k tried is enough'
    """
    smallest = report.smallest(question)
    fails, unknown = (_with_verdict(report, question, verdict) for verdict in (NO, UNDECIDED))
    if smallest is not None:
        depth = report.answers[smallest][question].depth
        far = "" if depth is None else f", as far as {depth} steps from the start"
        below = [k for k in unknown if k < smallest]
        return f"k = {smallest} is enough{far}" + (f" (undecided for k = {numbers_text(below)})" if below else "")
    if not unknown:
        return "no k tried is enough"
    first = f"not enough for k = {numbers_text(fails)}; " if fails else ""
    return f"{first}undecided for k = {numbers_text(unknown)}; {further}"


def _with_verdict(report: KReport, question: str, verdict: str) -> list[int]:
    return [k for k, found in report.answers.items() if found[question].verdict == verdict]


def numbers_text(numbers: Iterable[int]) -> str:
    """Numbers in order, three or more neighbours as one run.

    >>> numbers_text([0, 1, 2, 3, 5, 6])
    '0…3, 5, 6'
    """
    ordered = list(numbers)
    breaks = [i for i, (a, b) in enumerate(pairwise(ordered), 1) if b != a + 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])]
    return ", ".join(f"{run[0]}…{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def value_text(low: float, high: float) -> str:
    """A value known to lie in an interval.

    >>> value_text(1.0, 1.0), value_text(1.0, 2.0)
    ('1', 'between 1 and 2')
    """
    wide = high - low > 1e-6 * max(1.0, abs(high))
    return f"between {low:.6g} and {high:.6g}" if wide else f"{(low + high) / 2:.6g}"


def _rule(report: KReport) -> str:
    bound = report.optimal.product.bound
    return "" if bound.height is None else f", stacks up to {bound.height} symbols ({bound.rule} beyond)"


def _cell(verdict: str, depth: int | None) -> str:
    text = verdict + (f" (depth {depth})" if verdict == YES and depth is not None else "")
    return f"{text:<18}"


def _loss(low: float, high: float, scale: float) -> str:
    if high <= 1e-9 * scale:
        return "0"
    return f"{high:.6g}" if high - low <= 1e-6 * scale else f"between {low:.6g} and {high:.6g}"
