"""The whole report: claims first, then every figure, what was learnt, what can be proved, the machines, how it was made; and the
page of one's own study."""

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
from pdrm.drawing.plots import EpisodeStep, episode_plot, plot_bytes, write_plot
from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Curves
from pdrm.experiments.paper.claims import DOES_NOT_HOLD, HOLDS, NOT_RUN, Evidence, Judged
from pdrm.experiments.paper.paper_claims import judge_claims, water_17, water_20
from pdrm.experiments.paper.paper_figures import EVERY, FOUND, STUDIES, SUMMARY, WATER_TUNED
from pdrm.experiments.paper.paper_readings import cells
from pdrm.experiments.paper.recorded import known_lines
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study, load_studies, recorded
from pdrm.files import ensure_folder, write_atomically
from pdrm.learning.agents import CountingQ
from pdrm.learning.run_folder import POLICY
from pdrm.report.page import Section, bullets, details, page
from pdrm.report.study_section import anchor, processor_seconds_of, seconds_of, study_section
from pdrm.report.theory_section import k_section, machines_section, sizes_section, theory_facts
from pdrm.report.verdicts import claims_section, readings_section

PAGE, FIGURES, CURVES = "index.html", "figures", "curves.svg"
PREFERRED = ("1-pdRM", "1-CpRM, deduplicated (ours)", "1-CpRM", "pdRM")
"""Whose episode is shown, of those that end best."""
PACKAGES = ("numpy", "numba", "gymnasium", "joblib", "matplotlib", "lark", "pygraphviz")
DEEP_PACKAGES = ("jax", "optax")
"""Where networks were trained."""
OWN_RULES = Markup(
    '<p class="lead">The curves are medians over the seeds, the bands go from the 25th to the 75th percentile; a test counts by the '
    "mean of its episodes. <em>Achieved</em>: on how many seeds every episode of the final test achieved the task, and the "
    "share of all episodes of these tests that did. <em>To learn</em>: training until the median return is 90 % of the way from "
    "the lowest return there is to the best final median of the panel.</p>"
)
INTRODUCTION = Markup(
    '<p class="lead">A reward machine pays an agent for a task that takes many steps; a <em>pushdown</em> one has a stack, so tasks '
    "can nest, be retraced, or be delivered in order. This page is the paper's experiments, run again from nothing by "
    "one command (WaterWorld: recorded on a GPU, if not run here), and what they say about its claims.</p>"
)

Lines = Sequence[tuple[Study, Curves]]


def write_report(
    lines: Lines, judged: Sequence[Judged], evidence: Evidence, *, theory: bool = True
) -> Path:
    """Write the page and the figures as files, into the folder of the evidence; the lines, and nothing else, are on it."""
    folder, store = evidence.folder, evidence.store
    figures = ensure_folder(folder / FIGURES)
    studies = _by_study(lines)
    sections = [claims_section(judged, {study.name: anchor(study) for study, _ in studies})]
    beside = _find_beside(evidence)
    for study, mine in studies:
        own = beside if study.name in {one.name for one in STUDIES} else None
        sections.append(
            study_section(study, mine, store, figures, _by_our_settings(study, evidence), own)
        )
    sections.append(_episodes_section([curves for _, curves in lines], store))
    if theory:
        sections.append(readings_section(cells(folder, evidence.seeds)))
        facts = theory_facts(folder)
        sections += [k_section(facts), sizes_section(facts)]
    sections += [
        machines_section(),
        _making_section(lines, store, ["claims.json"], html("code", "make reproduce")),
    ]
    text = page(
        "Pushdown reward machines, reproduced", INTRODUCTION + _counts(judged, lines), sections
    )
    write_atomically(folder / PAGE, text.encode())
    return folder / PAGE


def write_own_report(lines: Lines, store: Store, folder: Path) -> list[Path]:
    """Write `curves.svg` and `index.html` from what is recorded of studies of one's own; returns the files."""
    figures = ensure_folder(folder / FIGURES)
    studies = _by_study(lines)
    panels = [
        [one for one in mine if one.panel is panel]
        for study, mine in studies
        for panel in study.panels
    ]
    write_plot(
        study_plot([[one.to_plot() for one in some] for some in panels if some]), folder / CURVES
    )
    sections = [study_section(study, mine, store, figures) for study, mine in studies]
    sections.append(
        _making_section(lines, store, [CURVES], html("code", f"pdrm report -o {folder}"))
    )
    title = ", ".join(study.title or study.name for study, _ in studies)
    write_atomically(folder / PAGE, page(title, OWN_RULES, sections).encode())
    return [folder / CURVES, folder / PAGE]


def write_page(
    folder: str | os.PathLike[str] = "report", *, seeds: int | None = None, theory: bool = True
) -> Path:
    """Write the page about the runs in a folder, as `pdrm report` does; nothing is run. Returns its path.

    folder: where a study or the paper's figures were run. seeds: the first so many of each; None: all. theory: whether the paper's
    report says what can be proved.

    >>> import tempfile, pdrm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pdrm.Study(["letter"], ["q"], seeds=1, settings={"episodes": 100}).run(folder)
    ...     write_page(folder).name
    'index.html'
    """
    place = Path(folder)
    evidence = Evidence(place, seeds)
    if own := load_studies(place, evidence.store):
        lines = recorded([study.seeded(seeds) for study in own], evidence.store)
        if not lines:
            raise NotRecorded(
                f"no run of the study in {place} is done",
                fix="study.run(folder), or pdrm run STUDY.toml",
            )
        return write_own_report(lines, evidence.store, place)[-1]
    lines = known_lines([study.seeded(seeds) for study in EVERY], evidence.store)
    if all(curves.origin is not None for _, curves in lines):
        fault = f"{place} holds no runs of the paper's figures, and no study of your own"
        raise NotRecorded(
            fault, fix="study.run(folder), pdrm reproduce letter --seeds 2, or pdrm run STUDY.toml"
        )
    return write_report(lines, judge_claims(evidence), evidence, theory=theory)


def _by_study(lines: Lines) -> list[tuple[Study, list[Curves]]]:
    studies = {study.name: study for study, _ in lines}
    return [
        (study, [curves for of, curves in lines if of.name == name])
        for name, study in studies.items()
    ]


def _find_beside(evidence: Evidence) -> dict[str, Curves]:
    """By the name of the task: the agent that is ours, to be drawn into the paper's figures."""
    lines = known_lines([FOUND.seeded(evidence.seeds)], evidence.store)
    return {curves.panel.task.name: curves for _, curves in lines if curves.line.name == SUMMARY}


def _counts(judged: Sequence[Judged], lines: Lines) -> Markup:
    """How many claims hold, and how many runs were made here."""
    boxes = [
        (verdict, sum(one.verdict == verdict for one in judged))
        for verdict in (HOLDS, DOES_NOT_HOLD, NOT_RUN)
    ]
    boxes.append(("runs", sum(len(curves.seeds) for _, curves in lines if curves.origin is None)))
    return html(
        "div",
        *(html("div", html("b", f"{count:,}"), name) for name, count in boxes),
        class_="count",
    )


def _by_our_settings(study: Study, evidence: Evidence) -> Markup:
    """What the rules of Figure 5's claims say of the tuned agents."""
    if study.name != WATER_TUNED.name or len(study.panels) < len(WATER_TUNED.panels):
        return Markup("")
    rules = zip((water_17, water_20), study.panels, strict=True)
    parts = [part for rule, panel in rules for part in rule(evidence, panel.name)]
    said = (f"{'holds' if part.holds else 'does not hold'}: {part.text}" for part in parts)
    return details("what the paper says of Figure 5, by these runs", bullets(said))


# --- What was learnt, to look at: a greedy episode of the best seed on each map, with the stack along it.


def _episodes_section(lines: Sequence[Curves], store: Store) -> Section:
    here = [
        curves for curves in lines if curves.origin is None and not curves.panel.task.continuous
    ]
    panels = dict.fromkeys(curves.panel.name for curves in here)
    parts = [
        _episode([curves for curves in here if curves.panel.name == panel], store)
        for panel in panels
    ]
    said = html(
        "p",
        "One greedy test episode each, of the seed that ended best. The colour is the machine's state.",
    )
    return Section("paths", "What was learnt", join([said, *parts]))


def _episode(lines: Sequence[Curves], store: Store) -> Markup:
    order = {name: place for place, name in enumerate(PREFERRED)}
    ranked = sorted(lines, key=lambda curves: order.get(curves.line.name, len(order)))
    achieving = [curves for curves in ranked if curves.final_success.max() == 1]
    for curves in (
        sorted(achieving, key=lambda curves: -round(curves.final_scores.max(), 2)) or ranked
    ):
        spec = curves.specs[int(np.argmax(curves.final_returns))]
        if (
            spec.agent.deep
            or isinstance(spec.agent, CountingQ)
            or not (store.folder(spec) / POLICY).exists()
        ):
            continue
        moments = store.run(spec).episode()
        shown = [
            EpisodeStep(one.state, one.configuration.state, one.configuration.stack)
            for one in moments
        ]
        title = (
            f"{curves.panel.heading}: {curves.line.name}, seed {spec.seed}; {len(moments) - 1} steps, "
            f"return {sum(one.reward for one in moments):g}, ended in {moments[-1].configuration.state}"
        )
        return picture(plot_bytes(episode_plot(spec.task.finite, shown), "svg"), "svg", title)
    return Markup("")


# --- How a report was made: versions, machine, time, and where its numbers are.


def _making_section(lines: Lines, store: Store, files: Sequence[str], again: Markup) -> Section:
    here = [curves for _, curves in lines if curves.origin is None]
    timings = [store.run(spec).timing for curves in here for spec in curves.specs]
    seconds, busy = sum(map(seconds_of, timings)), sum(map(processor_seconds_of, timings))
    when = sorted(timing["finished"] for timing in timings)
    deep = any(curves.panel.agent(curves.line).deep for curves in here)
    packages = (*PACKAGES, *(DEEP_PACKAGES if deep else ()))
    data = [html("a", name, href=name) for name in ("curves.csv", "summary.csv", *files)]
    data.append(html("code", "figures/") + " (PDF, PNG and SVG)")
    data.append(html("code", "runs/") + " (a folder per run: spec, curve, policy)")
    rows = [
        ["pdrm", __version__],
        [
            "Python",
            f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        ],
        ["packages", ", ".join(f"{name} {version(name)}" for name in packages)],
        [
            "runs",
            f"{len(timings):,}; {busy / 60:.1f} minutes of processor time, {seconds / 60:.1f} minutes by the clock, one after the other",
        ],
        ["made", f"{when[0]} to {when[-1]}" if when else "–"],
        ["data", join(data, ", ")],
        ["again", again + ": what is done is not repeated"],
    ]
    return Section("making", "How it was made", table(["", ""], rows) + _profile(here, store))


def _profile(lines: Sequence[Curves], store: Store) -> Markup:
    """Where the processor's time went: for each panel, and for each of its lines, what takes longest first."""
    took = [
        (sum(processor_seconds_of(store.run(spec).timing) for spec in one.specs), one)
        for one in lines
    ]
    whole = sum(seconds for seconds, _ in took)
    if not whole:
        return Markup("")
    panels = dict.fromkeys((one.panel.name for one in lines), 0.0)
    for seconds, one in took:
        panels[one.panel.name] += seconds
    rows = []
    for panel, total in sorted(panels.items(), key=lambda pair: -pair[1]):
        rows.append([html("b", panel), "all", "", "", f"{total:.1f} s", f"{total / whole:.1%}"])
        own = sorted(
            (pair for pair in took if pair[1].panel.name == panel), key=lambda pair: -pair[0]
        )
        for seconds, one in own:
            runs = len(one.seeds)
            each = f"{seconds / runs:.2f} s"
            rows.append(
                ["", one.line.name, f"{runs}", each, f"{seconds:.1f} s", f"{seconds / whole:.1%}"]
            )
    heads = ["panel", "agent", "seeds", "a run", "all its runs", "of all"]
    return html("p", "Where the processor's time went:") + table(heads, rows)
