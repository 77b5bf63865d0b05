"""The report: one self-contained page, of the paper's figures or of a study of your own. It begins with the pictures."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from pdrm import __version__
from pdrm.drawing.curve_plots import study_plot
from pdrm.drawing.markup import Markup, html, join, picture, table
from pdrm.drawing.plots import EpisodeStep, episode_plot, plot_bytes
from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study, load_studies, recorded
from pdrm.files import ensure_folder, write_atomically
from pdrm.learning.agents import CountingQ
from pdrm.learning.run_folder import POLICY
from pdrm.paper.claims import judge_claims
from pdrm.paper.claims_section import claims_section, readings_section
from pdrm.paper.evidence import DOES_NOT_HOLD, HOLDS, NOT_RUN, Evidence, JudgedClaim
from pdrm.paper.figures import EVERY, STUDIES, study
from pdrm.paper.page import Section, page
from pdrm.paper.readings import cells
from pdrm.paper.recorded import known_lines
from pdrm.paper.study_section import (
    anchor,
    paper_figures,
    seconds_of,
    study_section,
    with_optimum,
)
from pdrm.paper.theory_section import k_section, machines_section, sizes_section, theory_facts

PAGE, FIGURES, CURVES = "index.html", "figures", "curves.svg"
PREFERRED = ("1-pdRM", "1-CpRM, deduplicated (ours)", "1-CpRM", "pdRM")
"""The agents whose episode is shown first, among those that end best."""
PACKAGES = ("numpy", "numba", "gymnasium", "joblib", "matplotlib", "lark", "pygraphviz")
OWN_RULES = Markup(
    '<p class="lead">The curves are medians over the seeds, the bands go from the 25th to the 75th percentile; an evaluation counts '
    "by the mean of its episodes. <em>Success</em> is the share of the last evaluation's episodes that complete the task.</p>"
)
INTRODUCTION = Markup(
    '<p class="lead">The experiments of the paper, run again from nothing by one command (WaterWorld: recorded on a GPU, if not run '
    "here), and the verdicts on its claims.</p>"
)

Lines = Sequence[tuple[Study, Curves]]


def write_report(
    lines: Lines, judged: Sequence[JudgedClaim], evidence: Evidence, *, theory: bool = True
) -> Path:
    """Write the page about the paper's figures into the folder of the evidence, with these lines alone."""
    folder = evidence.folder
    store = evidence.store
    figures = ensure_folder(folder / FIGURES)
    studies = _by_study(lines)
    shown = [(of, mine) for of, mine in studies if of.name in (*STUDIES, "water")]
    row = [figure for of, mine in shown for figure in paper_figures(of, mine, figures)]
    sections = [
        Section("figures", "The paper's figures", html("div", *row, class_="row")),
        claims_section(judged, {of.name: anchor(of) for of, _ in studies}),
        *(study_section(of, mine, store, figures) for of, mine in studies),
        _episodes_section([curves for _, curves in lines], store),
    ]
    if theory:
        facts = theory_facts(folder)
        sections.append(readings_section(cells(folder, evidence.seeds)))
        sections += [k_section(facts), sizes_section(facts)]
    sections += [machines_section(), _making_section(lines, store, "make reproduce")]
    introduction = INTRODUCTION + _counts(judged, lines)
    text = page("Pushdown reward machines, reproduced", introduction, sections)
    write_atomically(folder / PAGE, text.encode())
    return folder / PAGE


def write_own_report(lines: Lines, store: Store, folder: Path) -> list[Path]:
    """Write `curves.svg` and `index.html` about studies of your own, and return the files."""
    figures = ensure_folder(folder / FIGURES)
    studies = _by_study(lines)
    panels = [
        [with_optimum(curves) for curves in mine if curves.panel is panel]
        for of, mine in studies
        for panel in of.panels
    ]
    study_plot([panel for panel in panels if panel]).save(folder / CURVES)
    sections = [study_section(of, mine, store, figures, with_tasks=True) for of, mine in studies]
    sections.append(_making_section(lines, store, f"pdrm report {folder}"))
    title = ", ".join(of.title or of.name for of, _ in studies)
    write_atomically(folder / PAGE, page(title, OWN_RULES, sections).encode())
    return [folder / CURVES, folder / PAGE]


def write_page(
    folder: str | os.PathLike[str] = "report", *, seeds: int | None = None, theory: bool = True
) -> Path:
    """Write the page about the runs in a folder, as `pdrm report` does, without running anything.

    Args:
        folder: The folder of a study, or of the paper's figures.
        seeds: Only the first n seeds of each line (default: all).
        theory: Add the sections about what can be proved to the paper's report.

    Returns:
        The path of the page.

    >>> import tempfile, pdrm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pdrm.Study(["letter"], ["q"], seeds=1, settings={"episodes": 100}).run(folder)
    ...     write_page(folder).name
    'index.html'
    """
    place = Path(folder)
    evidence = Evidence(place, seeds)
    if own := load_studies(place, evidence.store):
        lines = recorded([one.seeded(seeds) for one in own], evidence.store)
        if not lines:
            fault = f"no run of the study in {place} is done"
            raise NotRecorded(fault, fix="study.run(folder), or pdrm run STUDY.toml")
        return write_own_report(lines, evidence.store, place)[-1]
    lines = known_lines([study(name).seeded(seeds) for name in EVERY], evidence.store)
    if all(curves.origin is not None for _, curves in lines):
        fault = f"{place} holds no runs of the paper's figures, and no study of your own"
        raise NotRecorded(fault, fix="pdrm reproduce letter --seeds 2, or pdrm run STUDY.toml")
    return write_report(lines, judge_claims(evidence), evidence, theory=theory)


def _by_study(lines: Lines) -> list[tuple[Study, list[Curves]]]:
    found: dict[str, tuple[Study, list[Curves]]] = {}
    for of, curves in lines:
        found.setdefault(of.name, (of, []))[1].append(curves)
    return list(found.values())


def _counts(judged: Sequence[JudgedClaim], lines: Lines) -> Markup:
    """The number of claims that hold, and of runs that were made here."""
    verdicts = [one.verdict for one in judged]
    counts = {name: verdicts.count(name) for name in (HOLDS, DOES_NOT_HOLD, NOT_RUN)}
    counts["runs"] = sum(len(curves.seeds) for _, curves in lines if curves.origin is None)
    boxes = (html("div", html("b", f"{count:,}"), name) for name, count in counts.items())
    return html("div", *boxes, class_="count")


# --- A greedy episode of the best seed on each map, with the stack along it.


def _episodes_section(lines: Sequence[Curves], store: Store) -> Section:
    panels: dict[str, list[Curves]] = {}
    for curves in lines:
        if curves.origin is None and not curves.panel.task.continuous:
            panels.setdefault(curves.panel.name, []).append(curves)
    said = (
        "One greedy episode each, of the seed that ended best. The colour is the machine's state."
    )
    shown = (_episode(mine, store) for mine in panels.values())
    return Section("paths", "What was learnt", html("p", said) + join(shown))


def _episode(lines: Sequence[Curves], store: Store) -> Markup:
    def rank(curves: Curves) -> tuple[bool, float, int]:
        name = curves.line.name
        place = PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)
        return curves.final_success.max() < 1, -round(curves.final_scores.max(), 2), place

    for curves in sorted(lines, key=rank):
        spec = curves.specs[int(np.argmax(curves.final_returns))]
        tabular = not (spec.agent.deep or isinstance(spec.agent, CountingQ))
        if not tabular or not (store.folder(spec) / POLICY).exists():
            continue
        moments = store.run(spec).episode()
        shown = [
            EpisodeStep(one.state, one.configuration.state, one.configuration.stack)
            for one in moments
        ]
        paid = sum(one.reward for one in moments)
        title = (
            f"{curves.panel.heading}: {curves.line.name}, seed {spec.seed}; {len(moments) - 1} "
            f"steps, return {paid:g}, ended in {shown[-1].state}"
        )
        return picture(plot_bytes(episode_plot(spec.task.finite, shown), "svg"), "svg", title)
    return Markup("")


def _making_section(lines: Lines, store: Store, again: str) -> Section:
    """Versions, computer, time, and the files with the numbers."""
    here = [curves for _, curves in lines if curves.origin is None]
    timings = [store.run(spec).timing for curves in here for spec in curves.specs]
    minutes = sum(map(seconds_of, timings)) / 60
    when = sorted(timing["finished"] for timing in timings)
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    files = [html("a", name, href=name) for name in ("curves.csv", "summary.csv")]
    rows = [
        ["pdrm", __version__],
        ["Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"],
        ["packages", packages],
        ["runs", f"{len(timings):,}; {minutes:.1f} minutes, one after the other"],
        ["made", f"{when[0]} to {when[-1]}" if when else "–"],
        ["data", join([*files, html("code", "figures/"), html("code", "runs/")], ", ")],
        ["again", html("code", again) + ": finished runs are not repeated"],
    ]
    return Section("making", "How it was made", table(["", ""], rows))
