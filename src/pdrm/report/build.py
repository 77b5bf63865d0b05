"""The whole report: claims first, then every figure, what was learnt, what can be proved, the machines, how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from pdrm.experiments.claims.claim import DOES_NOT_HOLD, HOLDS, NOT_RUN, Judged
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files.folder import made
from pdrm.files.whole_file import write
from pdrm.machines.catalogue import names
from pdrm.report.claims import claims_section
from pdrm.report.figures import anchor, study_section
from pdrm.report.machines import machine_section
from pdrm.report.making import making_section
from pdrm.report.page import Section, page
from pdrm.report.paths import paths_section
from pdrm.report.theory import k_section, sizes_section, theory_facts
from pdrm.report.water import ANCHOR as WATER
from pdrm.report.water import water_section

PAGE, FIGURES = "index.html", "figures"


def write_report(
    lines: Sequence[tuple[Study, Curves]], judged: Sequence[Judged], store: Store, folder: Path, *, theory: bool = True
) -> Path:
    """Write the page and the figures as files; what is recorded, and nothing else, is on it."""
    made(folder / FIGURES)
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
    write(folder / PAGE, page("Pushdown reward machines, reproduced", _introduction(judged, lines), sections).encode())
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
    parts = [machine_section(name) for name in names()]
    links = " ".join(f'<a href="#{escape(part.anchor)}">{escape(part.heading)}</a>' for part in parts)
    body = "".join(f'<h3 id="{escape(part.anchor)}">{escape(part.heading)}</h3>{part.body}' for part in parts)
    return Section("machines", "The machines", f"<p>{links}</p>{body}")


def _making(lines: Sequence[tuple[Study, Curves]], store: Store) -> Section:
    data = (
        '<a href="curves.csv">curves.csv</a>, <a href="summary.csv">summary.csv</a>, <a href="claims.json">claims.json</a>, '
        "<code>figures/</code> (PDF and PNG), <code>runs/</code> (a folder a run: spec, curve, policy)"
    )
    return making_section(lines, store, data, "<code>make reproduce</code>: what is done is not repeated")
