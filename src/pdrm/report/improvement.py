"""How sure it is that the best agent of a panel is better than the others (Agarwal et al., 2021), in the report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pdrm.experiments.curves import Curves
from pdrm.experiments.statistics import Numbers, probability_of_improvement_interval
from pdrm.report.html import details, table

HEADS = ("agent", "ends better", "95 % interval")


def improvement_table(lines: Sequence[Curves]) -> str:
    """For each agent, how likely one of its runs ends better than one of the agent with the highest median; nothing where
    there is nobody to compare it with."""
    best = max(lines, key=lambda curves: curves.final_median)
    others = [curves for curves in lines if curves is not best]
    if not others:
        return ""
    rows = [_row(curves, best) for curves in others]
    name = escape(best.line.name)
    said = (
        f"<p>How likely a run of the agent ends with a higher return than one of {name}, which has the highest median; equal "
        "returns count half, so 50 % is a draw. The interval is a bootstrap over the seeds.</p>"
    )
    return details(f"who ends better than {best.line.name}", said + table(HEADS, rows, numbers=(1, 2)))


def _row(curves: Curves, best: Curves) -> list[str]:
    found = probability_of_improvement_interval([_finals(curves)], [_finals(best)])
    value, low, high = (f"{100 * share:.0f} %" for share in found)
    several = min(len(curves.seeds), len(best.seeds)) > 1
    return [escape(curves.line.name), value, f"{low} – {high}" if several else "–"]


def _finals(curves: Curves) -> Numbers:
    """[S]: for each seed, the mean return of its final test."""
    finals: Numbers = curves.returns[:, -1].mean(axis=1)
    return finals
