"""The report of the paper's figures: one self-contained page, which begins with the pictures."""

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
from pdrm.experiments.study import Results, Study, compare_runs, load_studies, recorded
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
    '<p class="lead">The experiments of the paper, run again from nothing by one command (WaterWorld: recorded on a GPU, if not run '
    "here), and the verdicts on its claims.</p>"
)

Lines = Sequence[tuple[Study, Curves]]


def write_report(
    lines: Lines, judged: Sequence[JudgedClaim], evidence: Evidence, *, theory: bool = True
) -> Path:
    """Write the page about the paper's figures into the folder of the evidence, with these lines alone."""
    folder = evidence.folder
    figures = ensure_folder(folder / FIGURES)
    studies = by_study(lines)
    shown = [(of, mine) for of, mine in studies if of.name in (*STUDIES, "water")]
    row = [figure for of, mine in shown for figure in paper_figures(of, mine, figures)]
    sections = [
        Section("figures", "The paper's figures", html("div", *row, class_="row")),
        claims_section(judged, {of.name: anchor(of) for of, _ in studies}),
        *(study_section(of, mine, figures, note=NOTES.get(of.name, "")) for of, mine in studies),
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
    return write_results(find_results([Path(folder)], seeds), seeds, theory=theory)


def write_results(results: Results, seeds: int | None, *, theory: bool) -> Path:
    """Write the page about some results, of the paper's figures or of your own."""
    if not results.of_the_paper:
        return results.report()
    evidence = Evidence(results.folder, seeds)
    return write_report(results.lines, judge_claims(evidence), evidence, theory=theory)


def find_results(folders: Sequence[Path], seeds: int | None) -> Results:
    """The results in the folder of a study or of the paper's figures; or those of the runs in some folders, to compare."""
    place = folders[0]
    evidence = Evidence(place, seeds)
    own = load_studies(place) if len(folders) == 1 else []
    lines: list[tuple[Study, Curves]] = []
    if own:
        lines = recorded([one.seeded(seeds) for one in own], evidence.store)
    elif len(folders) == 1 and evidence.anything:
        lines = known_lines([study(name).seeded(seeds) for name in EVERY], evidence.store)
    elif any(map(list_runs, folders)):
        place = place.parent if (place / RUN_RECORD).exists() else place
        lines = compare_runs(folders)
    if not lines:
        fault = f"{place} holds no runs that are done, of the paper's figures or of your own"
        raise NotRecorded(fault, fix="pdrm reproduce letter --seeds 2, or pdrm run STUDY.toml")
    return Results(place, lines, [])


def _counts(judged: Sequence[JudgedClaim]) -> Markup:
    """The number of claims that hold, do not hold and were not run."""
    verdicts = [one.verdict for one in judged]
    boxes = (
        html("div", html("b", f"{verdicts.count(name)}"), name)
        for name in (HOLDS, DOES_NOT_HOLD, NOT_RUN)
    )
    return html("div", *boxes, class_="count")


# --- The row of the paper's figures


def paper_figures(study: Study, lines: Sequence[Curves], folder: Path) -> list[Markup]:
    """The paper's figures of a study, with the paper's agents alone: one plot for each panel, or for all as the paper has it."""
    panels = by_panel(curves for curves in lines if not curves.line.ours)
    drawn = [[curves.to_plot() for curves in mine] for mine in panels]
    plots: list[tuple[str, str, partial[Plot]]] = []
    if study.figure:
        caption = f"{study.figure}: {study.title}"
        plots.append((f"{study.name}-overview", caption, partial(overview_plot, drawn)))
    else:
        for mine, shown in zip(panels, drawn, strict=True):
            panel = mine[0].panel
            caption = f"{panel.figure}: {panel.task.name}"
            plots.append((f"{panel.name}-paper", caption, partial(study_plot, [shown])))
    return [
        html(
            "a", picture(figure_svg(folder / name, plot), "svg", caption), href=f"#{anchor(study)}"
        )
        for name, caption, plot in plots
    ]


# --- A greedy episode of the best seed on each map, with the stack along it.


def _episodes_section(lines: Sequence[Curves]) -> Section:
    panels = by_panel(one for one in lines if one.runs and not one.panel.task.continuous)
    said = (
        "One greedy episode each, of the seed that ended best. The colour is the machine's state."
    )
    return Section("paths", "What was learnt", html("p", said) + join(map(_episode, panels)))


def _episode(lines: Sequence[Curves]) -> Markup:
    best = [(curves, curves.runs[int(np.argmax(curves.final_returns))]) for curves in lines]
    playable = [
        (curves, run)
        for curves, run in best
        if not isinstance(run.spec.agent, CountingQ) and (run.folder / POLICY).exists()
    ]
    if not playable:
        return Markup("")
    curves, run = max(playable, key=lambda one: one[0].final_returns.max())
    moments = run.episode()
    shown = [
        EpisodeStep(one.state, one.configuration.state, one.configuration.stack) for one in moments
    ]
    paid = sum(one.reward for one in moments)
    title = (
        f"{curves.panel.heading}: {curves.line.name}, seed {run.spec.seed}; {len(moments) - 1} "
        f"steps, return {paid:g}, ended in {shown[-1].state}"
    )
    return picture(plot_bytes(episode_plot(run.spec.task.finite, shown), "svg"), "svg", title)


# --- What can be proved: which k is enough, how large tables get, and the paper's machines.

QUESTIONS = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}


def k_section(facts: Mapping[str, Any]) -> Section:
    """The smallest k that is enough."""
    rows = [
        [html("code", name), *(_smallest(answers, question) for question in QUESTIONS)]
        for name, answers in facts["k"].items()
    ]
    body = Markup(
        "<p>The smallest k for which a policy that sees the top k symbols is enough, of k = 0…5. <em>Same values</em> is the paper's "
        "Proposition 1; <em>everywhere</em>: some k-policy is optimal from every state; <em>from the start</em>: from the start. "
        "Discounted, without a step limit, stacks unbounded; every answer is proved.</p>"
    )
    shown = body + table(["domain", *QUESTIONS.values()], rows)
    return Section("which-k", "Which k is enough", shown)


def _smallest(answers: Mapping[str, Any], question: str) -> Markup:
    said = {k: found[question] for k, found in answers.items()}
    enough = [k for k, answer in said.items() if answer == "yes"]
    return badge(f"k = {enough[0]}", "holds") if enough else badge(", ".join(said.values()))


def sizes_section(facts: Mapping[str, Any]) -> Section:
    """The number of rows of each kind of policy."""
    about = html(
        "p",
        "Rows of tables for an episode of the domain's length: the bound by the theorems of Section 5, and what can be "
        "reached (by a k-policy, in episodes of any length).",
    )
    shown = about + join(Sizes(record)._repr_html_() for record in facts["sizes"].values())
    return Section("sizes", "How large policies get", shown)


def machines_section() -> Section:
    """Every machine of the catalogue: its drawing and its text."""
    names = catalogue_names()
    links = join((html("a", name, href=f"#{name}") for name in names), " ")
    parts = [
        html("h3", name, id=name)
        + draw(catalogue(name)).html()
        + details(f"{name}.pdrm", html("pre", catalogue_text(name)))
        for name in names
    ]
    return Section("machines", "The machines", html("p", links) + join(parts))
