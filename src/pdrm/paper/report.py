"""The report of the paper's figures: one self-contained page, which begins with the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.drawing.markup import Markup, html, join, picture, table
from pdrm.drawing.plots import EpisodeStep, episode_plot, overview_plot, panel_plot, plot_bytes
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
    bullets,
    by_study,
    details,
    figure_svg,
    making_section,
    page,
    plain_name,
    study_section,
)
from pdrm.files import RUN_RECORD, FilePath, ensure_folder, write_atomically
from pdrm.language.loading import catalogue, catalogue_names, catalogue_text
from pdrm.learning.agents import CountingQ
from pdrm.learning.run_folder import POLICY, list_runs
from pdrm.paper.claims import judge_claims
from pdrm.paper.claims_section import claims_section, readings_section
from pdrm.paper.evidence import DOES_NOT_HOLD, HOLDS, NOT_RUN, Evidence, JudgedClaim
from pdrm.paper.facts import theory_facts
from pdrm.paper.figures import EVERY, NOTES, STUDIES, study
from pdrm.paper.readings import cells
from pdrm.paper.recorded import known_lines

PREFERRED = ("1-pdRM", "1-CpRM, deduplicated (ours)", "1-CpRM", "pdRM")
"""The agents whose episode is shown first, among those that end best."""
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
    introduction = INTRODUCTION + _counts(judged, lines)
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


def _counts(judged: Sequence[JudgedClaim], lines: Lines) -> Markup:
    """The number of claims that hold, and of runs that were made here."""
    verdicts = [one.verdict for one in judged]
    counts = {name: verdicts.count(name) for name in (HOLDS, DOES_NOT_HOLD, NOT_RUN)}
    counts["runs"] = sum(len(curves.seeds) for _, curves in lines if curves.origin is None)
    boxes = (html("div", html("b", f"{count:,}"), name) for name, count in counts.items())
    return html("div", *boxes, class_="count")


# --- The row of the paper's figures


def paper_figures(study: Study, lines: Sequence[Curves], folder: Path) -> list[Markup]:
    """The paper's figures of a study, with the paper's agents alone: one plot for each panel, or for all as the paper has it."""
    panels = by_panel(curves for curves in lines if not curves.line.ours)
    drawn = [[curves.to_plot() for curves in mine] for mine in panels]
    svgs: dict[str, bytes] = {}
    if study.figure and len(panels) > 1:
        stem = folder / plain_name(f"{study.name}-overview")
        svgs[f"{study.figure}: {study.title}"] = figure_svg(stem, partial(overview_plot, drawn))
    else:
        for mine, shown in zip(panels, drawn, strict=True):
            panel = mine[0].panel
            stem = folder / plain_name(f"{panel.name}-paper")
            caption = f"{panel.figure or study.figure}: {panel.task.name}"
            svgs[caption] = figure_svg(stem, partial(panel_plot, shown))
    return [
        html("a", picture(svg, "svg", caption), href=f"#{anchor(study)}")
        for caption, svg in svgs.items()
    ]


# --- A greedy episode of the best seed on each map, with the stack along it.


def _episodes_section(lines: Sequence[Curves]) -> Section:
    panels = by_panel(one for one in lines if one.runs and not one.panel.task.continuous)
    said = (
        "One greedy episode each, of the seed that ended best. The colour is the machine's state."
    )
    return Section("paths", "What was learnt", html("p", said) + join(map(_episode, panels)))


def _episode(lines: Sequence[Curves]) -> Markup:
    def rank(curves: Curves) -> tuple[bool, float, int]:
        name = curves.line.name
        place = PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)
        return curves.final_success.max() < 1, -round(curves.final_scores.max(), 2), place

    for curves in sorted(lines, key=rank):
        run = curves.runs[int(np.argmax(curves.final_returns))]
        spec = run.spec
        if isinstance(spec.agent, CountingQ) or not (run.folder / POLICY).exists():
            continue
        moments = run.episode()
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


# --- What can be proved: which k is enough, how large tables get, and the paper's machines.

SIZES = ("full policy", "1-policy", "CRA policy")
QUESTIONS = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}


def k_section(facts: dict[str, Any]) -> Section:
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


def _smallest(answers: dict[str, Any], question: str) -> Markup:
    said = {k: found[question] for k, found in answers.items()}
    enough = [k for k, answer in said.items() if answer == "yes"]
    if enough:
        return badge(f"k = {enough[0]}", "holds")
    refused = [k for k, answer in said.items() if answer == "no"]
    if len(refused) == len(said):
        return badge("none of 0…5", "fails")
    return badge(f"not k = {', '.join(refused)}" if refused else "undecided")


def sizes_section(facts: dict[str, Any]) -> Section:
    """The number of rows of each kind of policy."""
    rows = []
    for name, record in facts["sizes"].items():
        found = {size["what"]: size for size in record["sizes"]}
        cells = []
        for what in SIZES:
            star = "" if found[what]["within"] in (None, record["steps"]) else "*"
            cells += [_power(found[what]["bound"]), f"{found[what]['reachable']:,}{star}"]
        holds = "yes" if record["holds"] else "no"
        rows.append([html("code", name), f"{record['steps']:,}", *cells, holds])
    body = html(
        "p",
        "Rows of tables for an episode of the domain's length: the bound by the theorems of Section 5, and what can be "
        "reached (by a k-policy, in episodes of any length). A star: counted within the first steps only, because the whole would not fit.",
    )
    columns = [f"{what}: {part}" for what in SIZES for part in ("bound", "reachable")]
    heads = ["domain", "steps", *columns, "all within"]
    shown = body + table(heads, rows, range(1, len(heads) - 1))
    return Section("sizes", "How large policies get", shown)


def _power(bound: dict[str, Any] | None) -> str:
    if bound is None:
        return "none"
    if bound["exact"] is not None and bound["exact"] < 10**7:
        return f"{bound['exact']:,}"
    return Markup("10") + html("sup", f"{bound['log10']:.1f}")


def machines_section() -> Section:
    """Every machine of the catalogue: its drawing, undefined cases and text."""
    names = catalogue_names()
    links = join((html("a", name, href=f"#{name}") for name in names), " ")
    return Section("machines", "The machines", html("p", links) + join(map(_machine_part, names)))


def _machine_part(name: str) -> Markup:
    machine = catalogue(name)
    text = catalogue_text(name)
    lines = (line for line in text.splitlines() if line.startswith("//"))
    comment = " ".join(line.removeprefix("//").strip() for line in lines)
    findings = [finding.message for finding in machine.findings()]
    return join(
        [
            html("h3", name, id=name),
            html("p", comment),
            draw(machine).html(),
            details("Where no rule applies", bullets(findings)) if findings else "",
            details(f"{name}.pdrm", html("pre", text)),
        ]
    )
