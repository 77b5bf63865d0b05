"""The report of studies of one's own: their curves in one picture, and a page with the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from pdrm.drawing.plot_file import write_plot
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files.folder import made
from pdrm.files.whole_file import write
from pdrm.report.figures import study_section
from pdrm.report.making import making_section
from pdrm.report.page import page
from pdrm.report.plots import study_plot

CURVES, PAGE, FIGURES = "curves.svg", "index.html", "figures"
RULES = (
    '<p class="lead">The curves are medians over the seeds, the bands go from the 25th to the 75th percentile; a test counts by the '
    "mean of its episodes. <em>Achieved</em>: on how many seeds every episode of the final test achieved the task. "
    "<em>Episodes</em>: in training, until the median return is 90 % of the way from the lowest return there is to the best final "
    "median of the panel.</p>"
)
DATA = (
    '<a href="curves.csv">curves.csv</a>, <a href="summary.csv">summary.csv</a>, <a href="curves.svg">curves.svg</a>, '
    "<code>figures/</code> (PDF and PNG), <code>runs/</code> (a folder a run: spec, curve, policy)"
)


def write_own_report(lines: Sequence[tuple[Study, Curves]], store: Store, folder: Path) -> list[Path]:
    """Write `curves.svg` and `index.html` from what is recorded of some studies; returns the files."""
    made(folder / FIGURES)
    studies = {study.name: study for study, _ in lines}
    mine = {name: [curves for study, curves in lines if study.name == name] for name in studies}
    shown = [_of(panel.name, mine[name]) for name, study in studies.items() for panel in study.panels]
    write_plot(study_plot([curves for curves in shown if curves]), folder / CURVES)
    sections = [study_section(study, mine[name], store, folder / FIGURES) for name, study in studies.items()]
    again = f"<code>pdrm report -o {escape(str(folder))}</code>: from what is recorded"
    sections.append(making_section(lines, store, DATA, again))
    title = ", ".join(study.title or study.name for study in studies.values())
    write(folder / PAGE, page(title, RULES, sections).encode())
    return [folder / CURVES, folder / PAGE]


def _of(panel: str, lines: Sequence[Curves]) -> list[Curves]:
    return [curves for curves in lines if curves.panel.name == panel]
