"""The report of the paper's figures: a self-contained page with figures, verdicts and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.analysis.sizes import Sizes
from pdrm.drawing.markup import Markup, html, join, picture, table
from pdrm.drawing.plots import (
    EpisodeStep,
    Plot,
    episode_plot,
    overview_plot,
    plot_bytes,
    study_plot,
)
from pdrm.drawing.render import draw
from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves, by_panel
from pdrm.experiments.study import Results, Study, compare_runs, load_studies, recorded_lines
from pdrm.experiments.study_report import (
    FIGURES,
    PAGE,
    Section,
    anchor,
    badge,
    by_study,
    details,
    figure_svg,
    making_section,
    page,
    study_section,
)
from pdrm.files import RUN_RECORD, FilePath, ensure_folder, write_atomically
from pdrm.language.loading import catalogue, catalogue_names, catalogue_text
from pdrm.learning.agents import CountingQ
from pdrm.learning.run_folder import POLICY, list_runs
from pdrm.paper.claims import judge_claims
from pdrm.paper.claims_section import claims_section, readings_section
from pdrm.paper.facts import theory_facts
from pdrm.paper.figures import EVERY, NOTES, STUDIES, study
from pdrm.paper.judging import DOES_NOT_HOLD, HOLDS, NOT_RUN, Evidence, JudgedClaim
from pdrm.paper.readings import cells
from pdrm.paper.recorded import known_lines

INTRODUCTION = Markup(
    '<p class="lead">The experiments of the paper, reproduced by one command (WaterWorld: recorded '
    "on a GPU, unless run here), and the verdicts on its claims.</p>"
)

Lines = Sequence[tuple[Study, Curves]]


def write_report(
    lines: Lines, judged: Sequence[JudgedClaim], evidence: Evidence, *, theory: bool = True
) -> Path:
    """Write the page about these lines of the paper's figures into the folder of the evidence."""
    folder = evidence.folder
    figures = ensure_folder(folder / FIGURES)
    studies = by_study(lines)
    row = [
        figure
        for shown, curves in studies
        if shown.name in (*STUDIES, "water")
        for figure in paper_figures(shown, curves, figures)
    ]
    sections = [
        Section("figures", "The paper's figures", html("div", *row, class_="row")),
        claims_section(judged, {shown.name: anchor(shown) for shown, _ in studies}),
        *(
            study_section(shown, curves, figures, NOTES.get(shown.name))
            for shown, curves in studies
        ),
        _episodes_section([curves for _, curves in lines]),
    ]
    if theory:
        facts = theory_facts(folder)
        sections.append(readings_section(cells(folder, evidence.seeds)))
        sections += [k_section(facts), sizes_section(facts)]
    sections += [machines_section(), making_section(lines)]
    introduction = INTRODUCTION + _counts(judged)
    text = page("Pushdown reward machines, reproduced", introduction, sections)
    write_atomically(folder / PAGE, text.encode())
    return folder / PAGE


def write_page(
    folder: FilePath = "report", *, seeds: int | None = None, theory: bool = True
) -> Path:
    """Write the page about the runs in a folder, as `pdrm report` does. Nothing is run.

    Args:
        folder: The folder of a study, or of the paper's figures.
        seeds: Use only the first n seeds of each line (default: all).
        theory: Add the provable facts to the paper's report.

    Returns:
        The path of the page.

    >>> import tempfile, pdrm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pdrm.Study(["letter"], ["q"], seeds=1, settings={"episodes": 100}).run(folder)
    ...     write_page(folder).name
    'index.html'
    """
    return write_results(find_results([Path(folder)], seeds), seeds, theory=theory)


def write_results(results: Results, seeds: int | None, *, theory: bool) -> Path:
    """Write the page about results of the paper's figures or of your own studies."""
    if not results.of_the_paper:
        return results.report()
    evidence = Evidence(results.folder, seeds)
    return write_report(results.lines, judge_claims(evidence), evidence, theory=theory)


def find_results(folders: Sequence[Path], seeds: int | None) -> Results:
    """The results of a study, of the paper's figures, or of runs in several folders to compare."""
    folder = folders[0]
    evidence = Evidence(folder, seeds)
    own_studies = load_studies(folder) if len(folders) == 1 else []
    lines: list[tuple[Study, Curves]] = []
    if own_studies:
        lines = recorded_lines([study.seeded(seeds) for study in own_studies], evidence.store)
    elif len(folders) == 1 and evidence.has_runs:
        lines = known_lines([study(name).seeded(seeds) for name in EVERY], evidence.store)
    elif any(map(list_runs, folders)):
        if (folder / RUN_RECORD).exists():
            folder = folder.parent
        lines = compare_runs(folders)
    if not lines:
        fault = f"{folder} contains no finished runs"
        raise NotRecorded(fault, fix="pdrm reproduce letter --seeds 2, or pdrm run STUDY.toml")
    return Results(folder, lines, [])


def _counts(judged: Sequence[JudgedClaim]) -> Markup:
    """The number of claims with each verdict."""
    verdicts = [claim.verdict for claim in judged]
    boxes = (
        html("div", html("b", f"{verdicts.count(name)}"), name)
        for name in (HOLDS, DOES_NOT_HOLD, NOT_RUN)
    )
    return html("div", *boxes, class_="count")


# --- The row of the paper's figures


def paper_figures(study: Study, lines: Sequence[Curves], folder: Path) -> list[Markup]:
    """The paper's figures of a study, without our agents: one plot per panel, or an overview."""
    panels = by_panel(curves for curves in lines if not curves.line.ours)
    plotted = [[curves.to_plot() for curves in panel_lines] for panel_lines in panels]
    plots: list[tuple[str, str, partial[Plot]]] = []
    if study.figure:
        caption = f"{study.figure}: {study.title}"
        plots.append((f"{study.name}-overview", caption, partial(overview_plot, plotted)))
    else:
        for panel_lines, plot_lines in zip(panels, plotted, strict=True):
            panel = panel_lines[0].panel
            caption = f"{panel.figure}: {panel.task.name}"
            plots.append((f"{panel.name}-paper", caption, partial(study_plot, [plot_lines])))
    link = f"#{anchor(study)}"
    return [
        html("a", picture(figure_svg(folder / name, plot), "svg", caption), href=link)
        for name, caption, plot in plots
    ]


# --- A greedy episode of the best seed on each map, with the stack along it


def _episodes_section(lines: Sequence[Curves]) -> Section:
    finite = (curves for curves in lines if curves.runs and not curves.panel.task.continuous)
    episodes = map(_episode, by_panel(finite))
    caption = "A greedy episode of the best seed of each panel. Colours are machine states."
    return Section("paths", "Learnt policies", html("p", caption) + join(episodes))


def _episode(lines: Sequence[Curves]) -> Markup:
    best = [(curves, curves.runs[int(np.argmax(curves.final_returns))]) for curves in lines]
    playable = [
        (curves, run)
        for curves, run in best
        if not isinstance(run.spec.agent, CountingQ) and (run.folder / POLICY).exists()
    ]
    if not playable:
        return Markup("")
    curves, run = max(playable, key=lambda line: line[0].final_returns.max())
    moments = run.episode()
    steps = [
        EpisodeStep(moment.state, moment.configuration.state, moment.configuration.stack)
        for moment in moments
    ]
    episode_return = sum(moment.reward for moment in moments)
    title = (
        f"{curves.panel.heading}: {curves.line.name}, seed {run.spec.seed}; {len(moments) - 1} "
        f"steps, return {episode_return:g}, ended in {steps[-1].state}"
    )
    return picture(plot_bytes(episode_plot(run.spec.task.finite, steps), "svg"), "svg", title)


# --- Provable facts: sufficient k, table sizes, and the paper's machines

QUESTIONS = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}


def k_section(facts: Mapping[str, Any]) -> Section:
    """The smallest sufficient k."""
    rows = [
        [html("code", name), *(_smallest(answers, question) for question in QUESTIONS)]
        for name, answers in facts["k"].items()
    ]
    body = Markup(
        "<p>The smallest k = 0…5 for which a policy that sees the top k symbols is sufficient. "
        "<em>Same values</em> is the paper's Proposition 1. <em>Everywhere</em>: a k-policy is "
        "optimal from every state. <em>From the start</em>: a k-policy is optimal from the start. "
        "Values are discounted, without a step limit and with unbounded stacks. All answers are "
        "proved.</p>"
    )
    body += table(["domain", *QUESTIONS.values()], rows)
    return Section("which-k", "Sufficient k", body)


def _smallest(answers: Mapping[str, Any], question: str) -> Markup:
    by_k = {k: answer[question] for k, answer in answers.items()}
    sufficient = [k for k, answer in by_k.items() if answer == "yes"]
    if sufficient:
        return badge(f"k = {sufficient[0]}", "holds")
    return badge(", ".join(by_k.values()))


def sizes_section(facts: Mapping[str, Any]) -> Section:
    """The number of table rows of each kind of policy."""
    body = html(
        "p",
        "Table rows for episodes of the domain's length: the bounds of the theorems in Section 5, "
        "and the reachable rows (for k-policies: in episodes of any length).",
    )
    body += join(Sizes(record)._repr_html_() for record in facts["sizes"].values())
    return Section("sizes", "Policy sizes", body)


def machines_section() -> Section:
    """The drawings and texts of the catalogue's machines."""
    names = catalogue_names()
    links = join((html("a", name, href=f"#{name}") for name in names), " ")
    parts = [
        html("h3", name, id=name)
        + draw(catalogue(name)).html()
        + details(f"{name}.pdrm", html("pre", catalogue_text(name)))
        for name in names
    ]
    return Section("machines", "The machines", html("p", links) + join(parts))
