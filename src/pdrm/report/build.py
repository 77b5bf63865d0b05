"""The whole report: claims first, then every figure, what was learnt, what can be proved; and the page of one's own study."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from pdrm.drawing.plots import EpisodeStep, episode_plot, plot_bytes, write_plot
from pdrm.experiments.claims import DOES_NOT_HOLD, HOLDS, NOT_RUN, Judged
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files import ensure_folder, write_atomically
from pdrm.language.loading import catalogue_names
from pdrm.learning.agents import CountingQ
from pdrm.learning.run import POLICY
from pdrm.report.curve_plots import study_plot
from pdrm.report.page import Section, making_section, page, picture
from pdrm.report.study_section import anchor, study_section
from pdrm.report.theory_section import k_section, machine_section, sizes_section, theory_facts
from pdrm.report.verdicts import claims_section
from pdrm.report.water_section import ANCHOR as WATER
from pdrm.report.water_section import water_section

# --- The report of studies of one's own: their curves in one picture, and a page with the numbers behind them.

CURVES, OWN_PAGE, OWN_FIGURES = "curves.svg", "index.html", "figures"
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
    ensure_folder(folder / OWN_FIGURES)
    studies = {study.name: study for study, _ in lines}
    mine = {name: [curves for study, curves in lines if study.name == name] for name in studies}
    shown = [_of(panel.name, mine[name]) for name, study in studies.items() for panel in study.panels]
    write_plot(study_plot([curves for curves in shown if curves]), folder / CURVES)
    sections = [study_section(study, mine[name], store, folder / OWN_FIGURES) for name, study in studies.items()]
    again = f"<code>pdrm report -o {escape(str(folder))}</code>: from what is recorded"
    sections.append(making_section(lines, store, DATA, again))
    title = ", ".join(study.title or study.name for study in studies.values())
    write_atomically(folder / OWN_PAGE, page(title, RULES, sections).encode())
    return [folder / CURVES, folder / OWN_PAGE]


def _of(panel: str, lines: Sequence[Curves]) -> list[Curves]:
    return [curves for curves in lines if curves.panel.name == panel]


# --- What was learnt, to look at: a greedy episode of the best seed on each map, with the stack along it.

PREFERRED = ("1-pdRM", "1-CpRM, deduplicated (ours)", "1-CpRM", "pdRM")
"""Whose way is shown, of those that end best."""


def paths_section(lines: Sequence[Curves], store: Store) -> Section:
    """A way on each map."""
    panels = dict.fromkeys(curves.panel.name for curves in lines)
    parts = [_path([curves for curves in lines if curves.panel.name == panel], store) for panel in panels]
    body = "<p>One greedy test episode each, of the seed that ended best. The colour is the machine's state.</p>"
    return Section("paths", "What was learnt", body + "".join(parts))


def _path(lines: Sequence[Curves], store: Store) -> str:
    order = {name: place for place, name in enumerate(PREFERRED)}
    ranked = sorted(lines, key=lambda curves: order.get(curves.line.name, len(order)))
    achieving = [curves for curves in ranked if curves.final_success.max() == 1]
    for curves in sorted(achieving, key=lambda curves: -round(curves.final_scores.max(), 2)) or ranked:
        seed = int(np.argmax(curves.final_scores if np.isfinite(curves.lowest) else curves.returns[:, -1].mean(axis=1)))
        spec = curves.panel.specs(curves.line, curves.seeds)[seed]
        if (store.folder(spec) / POLICY).exists() and not isinstance(spec.agent, CountingQ):
            moments = store.run(spec).episode()
            shown = [EpisodeStep(one.state, one.configuration.state, one.configuration.stack) for one in moments]
            paid = sum(one.reward for one in moments)
            title = (
                f"{curves.panel.title or curves.panel.name}: {curves.line.name}, seed {spec.seed}; "
                f"{len(moments) - 1} steps, return {paid:g}, ended in {moments[-1].configuration.state}"
            )
            return picture(plot_bytes(episode_plot(spec.task.finite, shown), "svg"), "svg", title, escape(title))
    return ""


# --- The whole report: claims first, then every figure, what was learnt, what can be proved, the machines, how it was made.

PAGE, FIGURES = "index.html", "figures"


def write_report(
    lines: Sequence[tuple[Study, Curves]], judged: Sequence[Judged], store: Store, folder: Path, *, theory: bool = True
) -> Path:
    """Write the page and the figures as files; what is recorded, and nothing else, is on it."""
    ensure_folder(folder / FIGURES)
    studies = {study.name: study for study, _ in lines}
    mine = {name: [curves for study, curves in lines if study.name == name] for name in studies}
    anchors = {name: anchor(study) for name, study in studies.items()}
    water = water_section(folder, folder / FIGURES) if any(one.claim.figure == "water" for one in judged) else None
    anchors |= {"water": WATER} if water else {}
    sections = [claims_section(judged, anchors)]
    sections += [study_section(study, mine[name], store, folder / FIGURES) for name, study in studies.items()]
    sections += [water] if water else []
    sections.append(paths_section([curves for _, curves in lines], store))
    if theory:
        facts = theory_facts(folder)
        sections += [k_section(facts), sizes_section(facts)]
    sections += [_machines(), _making(lines, store)]
    write_atomically(
        folder / PAGE, page("Pushdown reward machines, reproduced", _introduction(judged, lines), sections).encode()
    )
    return folder / PAGE


def _introduction(judged: Sequence[Judged], lines: Sequence[tuple[Study, Curves]]) -> str:
    counts = {verdict: sum(one.verdict == verdict for one in judged) for verdict in (HOLDS, DOES_NOT_HOLD, NOT_RUN)}
    runs = sum(len(curves.seeds) for _, curves in lines)
    boxes = [*counts.items(), ("runs", runs)]
    shown = "".join(f"<div><b>{count:,}</b>{escape(name)}</div>" for name, count in boxes)
    return (
        '<p class="lead">A reward machine pays an agent for a task that takes many steps; a <em>pushdown</em> one has a stack, so tasks '
        "can nest, be retraced, or be delivered in order. This page is the paper's experiments, run again from nothing by "
        "one command (WaterWorld: recorded on a GPU, if not run here), and what they say about its claims.</p>"
        f'<div class="count">{shown}</div>'
    )


def _machines() -> Section:
    parts = [machine_section(name) for name in catalogue_names()]
    links = " ".join(f'<a href="#{escape(part.anchor)}">{escape(part.heading)}</a>' for part in parts)
    body = "".join(f'<h3 id="{escape(part.anchor)}">{escape(part.heading)}</h3>{part.body}' for part in parts)
    return Section("machines", "The machines", f"<p>{links}</p>{body}")


def _making(lines: Sequence[tuple[Study, Curves]], store: Store) -> Section:
    data = (
        '<a href="curves.csv">curves.csv</a>, <a href="summary.csv">summary.csv</a>, <a href="claims.json">claims.json</a>, '
        "<code>figures/</code> (PDF and PNG), <code>runs/</code> (a folder a run: spec, curve, policy)"
    )
    return making_section(lines, store, data, "<code>make reproduce</code>: what is done is not repeated")
