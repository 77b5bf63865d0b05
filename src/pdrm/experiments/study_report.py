"""The report of studies: a self-contained page with the curves, results and settings of each
study."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np

from pdrm import __version__
from pdrm.drawing.markup import Markup, html, join, listing, number, picture, table
from pdrm.drawing.plots import Plot, plot_bytes, study_plot
from pdrm.drawing.render import draw
from pdrm.drawing.rows import Cells
from pdrm.errors import WrongKind
from pdrm.experiments.curves import (
    Curves,
    TitledStudy,
    by_panel,
    learnt_at,
    training_to_learn,
)
from pdrm.experiments.statistics import interquartile_mean_interval, quartiles
from pdrm.files import ensure_folder, write_atomically
from pdrm.task import Task

# --- The page: plain HTML with its style inside, for screens, phones and paper, without scripts


def details(summary: str, *body: str) -> Markup:
    """A collapsible block.

    >>> details("more", html("p", "this"))
    '<details><summary>more</summary><p>this</p></details>'
    """
    return html("details", html("summary", summary), *body)


def badge(text: str, kind: str = "none") -> Markup:
    """A short coloured label; `kind` is `holds`, `fails` or `none`."""
    return html("span", text, class_=f"badge {kind}")


def bullets(items: Iterable[str]) -> Markup:
    """A bullet list."""
    return html("ul", *(html("li", item) for item in items))


STYLE = """
:root { --ink: #262a33; --soft: #6b6f78; --line: #e2dfd8; --paper: #fff; --wash: #f7f6f2; --link: #0b5c8f; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; max-width: 66rem; margin: 0 auto;
  padding: 1.2rem; color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { font-size: 2rem; line-height: 1.15; margin: .4rem 0; } h2 { font-size: 1.45rem; margin: 0 0 .6rem; }
h3 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; }
a { color: var(--link); } p { max-width: 46rem; }
.lead { font-size: 1.1rem; } .soft { color: var(--soft); font-size: .92rem; }
nav { border-bottom: 1px solid var(--line); padding: .5rem 0; display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
nav a { text-decoration: none; }
section { border-top: 1px solid var(--line); padding: 1.4rem 0; }
section:first-of-type { border-top: 0; }
figure { margin: .8rem 0; } figure img, figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
.wide { overflow-x: auto; margin: .6rem 0; } table { border-collapse: collapse; font-size: .92rem; }
th { text-align: left; font-weight: 600; border-bottom: 1.5px solid var(--ink); }
td, th { padding: .3rem .9rem .3rem 0; vertical-align: top; } tbody tr { border-bottom: 1px solid var(--line); }
td.n { white-space: nowrap; } .n { text-align: right; font-variant-numeric: tabular-nums; }
.row { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .6rem 1rem; }
.row figure { margin: 0; } .row img { width: 100%; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 1rem 1.6rem; }
pre { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; background: var(--wash); padding: .8rem; overflow-x: auto; }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--link); }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .85rem; white-space: nowrap; }
.holds { background: #d9f0dd; color: #14532d; } .fails { background: #fbe0dc; color: #7f1d1d; }
.none { background: #ecebe6; color: #55585f; }
.count { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; } .count div { background: var(--wash); border-radius: .6rem;
  padding: .6rem 1rem; } .count b { display: block; font-size: 1.5rem; }
@media print { nav { display: none; } section { break-inside: auto; } figure, tr { break-inside: avoid; } body { font-size: 11pt; } }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page."""

    anchor: str
    heading: str
    body: Markup


def page(title: str, introduction: Markup, sections: Sequence[Section]) -> str:
    """The whole page.

    >>> "<h1>Machines</h1><p>All of them.</p>" in page("Machines", html("p", "All of them."), [])
    True
    """
    head = html(
        "head",
        html("meta", charset="utf-8"),
        html("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html("title", title),
        html("link", rel="icon", href="data:,"),
        html("style", Markup(STYLE)),
    )
    links = (html("a", part.heading, href=f"#{part.anchor}") for part in sections)
    parts = (
        html("section", html("h2", part.heading), part.body, id=part.anchor) for part in sections
    )
    body = html(
        "body",
        html("header", html("h1", title), introduction),
        html("nav", join(links, " ")),
        html("main", *parts),
    )
    return f"<!doctype html>{html('html', head, body, lang='en')}\n"


PAGE = "index.html"
FIGURES = "figures"
PACKAGES = ("numpy", "numba", "gymnasium", "joblib", "matplotlib", "pygraphviz")
INTRODUCTION = Markup(
    '<p class="lead">Curves are medians over the seeds, with bands from the 25th to the 75th '
    "percentile, of the mean over each evaluation's episodes. <em>Success</em> is the share of the "
    "last evaluation's episodes that complete the task.</p>"
)
AnyStudy = TypeVar("AnyStudy", bound=TitledStudy)


def plain_name(name: str) -> str:
    """The name without special characters, for files and anchors."""
    return re.sub(r"[^\w.-]+", "-", name)


def anchor(study: TitledStudy) -> str:
    """The anchor of a study on the page."""
    return f"study-{plain_name(study.name)}"


def figure_svg(stem: Path, make: partial[Plot]) -> bytes:
    """The SVG of a figure. It is also written as .svg and .pdf, and reused while its data is the
    same."""
    digest = joblib.hash(make.args)
    svg = stem.with_name(f"{stem.name}.svg")
    if svg.exists() and digest.encode() in svg.read_bytes():
        return svg.read_bytes()
    figure = make()
    data = plot_bytes(figure, "svg", about=digest)
    write_atomically(svg.with_suffix(".pdf"), plot_bytes(figure, "pdf"))
    write_atomically(svg, data)
    return data


# --- The section of a study


def study_section(
    study: TitledStudy,
    lines: Sequence[Curves],
    folder: Path,
    note: str | None = None,
    *,
    with_tasks: bool = False,
) -> Section:
    """The curves and tables of a study.

    Args:
        study: Its name and title.
        lines: Its recorded lines.
        folder: The folder to which the figures are also written.
        note: The first paragraph.
        with_tasks: Start each panel with its map and machine.
    """
    parts = [html("p", note)] if note else []
    parts += [_origins(study, lines), html("p", _seeds(lines), class_="soft")]
    for panel_lines in by_panel(lines):
        task = draw_task(panel_lines[0].panel.task) if with_tasks else Markup("")
        parts.append(_panel(panel_lines, folder, task))
    return Section(anchor(study), study.title or study.name, join(parts))


def draw_task(task: Task) -> Markup:
    """The map (if the domain has a picture) and the machine."""
    drawings = [draw(task.machine).html()]
    with suppress(WrongKind):  # an environment without a picture
        drawings.insert(0, draw(task.domain).html())
    return html("div", *(html("div", drawing) for drawing in drawings), class_="side")


def _origins(study: TitledStudy, lines: Sequence[Curves]) -> Markup:
    """The lines that were recorded elsewhere, with their devices."""
    devices = {curves.line.name: curves.recorded_on for curves in lines if curves.recorded_on}
    if not devices:
        return Markup("")
    origin = f" {', '.join(devices)}: on {', '.join(sorted(set(devices.values())))}. "
    command = html("code", f"pdrm reproduce {study.name}")
    return html("p", badge("recorded"), origin, command, " makes your own runs.")


def _seeds(lines: Sequence[Curves]) -> str:
    seeds = max((curves.seeds for curves in lines), key=len)
    ours = any(curves.line.ours for curves in lines)
    dashed = " Solid lines are the paper's agents, dashed lines are ours." if ours else ""
    if len(seeds) == 1:
        return f"One seed ({seeds[0]}), so no intervals.{dashed}"
    return f"{len(seeds)} seeds, the same for every agent: {', '.join(map(str, seeds))}.{dashed}"


def _panel(lines: Sequence[Curves], folder: Path, task: Markup) -> Markup:
    panel = lines[0].panel
    title = panel.heading + (f" ({panel.figure})" if panel.figure else "")
    plotted = [curves.to_plot() for curves in lines]
    svg = figure_svg(folder / plain_name(panel.name), partial(study_plot, [plotted]))
    cells = Cells.from_records(results(lines))
    sources = [listing(cells.markdown()), listing(cells.latex())]
    return join(
        [
            html("h3", title),
            task,
            picture(svg, "svg", f"{title}: median and quartiles"),
            table(*cells),
            details("the table in Markdown and LaTeX", *sources),
            details("settings", _settings(lines)),
        ]
    )


# --- The table of results


def results(lines: Sequence[Curves]) -> list[dict[str, Any]]:
    """The rows of the table of results, one for each line."""
    reference = [curves for curves in lines if not curves.line.ours] or lines
    return [
        {
            "agent": curves.line.name,
            "k": str(curves.panel.agent(curves.line).k),
            "return (quartiles)": _interval(curves, *map(float, quartiles(curves.final_returns))),
            "success": f"{curves.final_success.mean():.0%}",
            "seeds with success 100 %": f"{curves.achieving} of {len(curves.seeds)}",
            **_scaled(curves, reference),
            **_costs(curves),
        }
        for curves in lines
    ]


def _interval(curves: Curves, low: float, value: float, high: float) -> str:
    """A value with its interval, if there are several seeds."""
    if len(curves.seeds) == 1:
        return number(value)
    return f"{number(value)} ({number(low)} – {number(high)})"


def _scaled(curves: Curves, reference: Sequence[Curves]) -> dict[str, str]:
    """The interquartile mean of normalised returns, and the training needed to learn the task.

    Both need the range of returns. The reference lines define when the task counts as learnt.
    """
    if not curves.scaled:
        return {}
    learnt = training_to_learn(curves, learnt_at(reference))
    value, low, high = interquartile_mean_interval([curves.normalised[:, -1].mean(axis=1)])
    return {
        "normalised (95 % interval)": _interval(curves, low, value, high),
        f"{curves.unit} to learn": "never" if learnt is None else number(learnt),
    }


def _costs(curves: Curves) -> dict[str, Any]:
    """Medians of the number of table rows and of the seconds, unless the runs came with the
    package."""
    if not curves.runs:
        return {}
    rows = [run.result["rows"] for run in curves.runs if "rows" in run.result]
    seconds = [seconds_of(run.timing) for run in curves.runs]
    return {
        "table rows": float(np.median(rows)) if rows else None,
        "seconds": round(float(np.median(seconds)), 1),
    }


def seconds_of(timing: dict[str, Any]) -> float:
    """The training time of a run; of runs trained in one batch, an equal share."""
    return float(timing["seconds"]) / int(timing.get("side_by_side", 1))


def _settings(lines: Sequence[Curves]) -> Markup:
    """The settings of each agent and the ids of its runs."""
    rows = []
    for curves in lines:
        ids = " ".join(run.spec.id for run in curves.runs) or "recorded"
        record = curves.panel.agent(curves.line).record()
        settings = [f"{name}={value}" for name, value in record.items() if value is not None]
        rows.append([curves.line.name, ", ".join(settings), html("code", ids)])
    return table(["agent", "settings", "runs"], rows)


# --- The whole page


def write_own_report(
    lines: Sequence[tuple[AnyStudy, Curves]], folder: Path, notes: Sequence[str] = ()
) -> Path:
    """Write `index.html` about your own studies, with some notes at the top; return its path."""
    figures = ensure_folder(folder / FIGURES)
    studies = by_study(lines)
    sections = [study_section(study, curves, figures, with_tasks=True) for study, curves in studies]
    sections.append(making_section(lines))
    title = ", ".join(study.title or study.name for study, _ in studies)
    write_atomically(
        folder / PAGE,
        page(title, INTRODUCTION + join(html("p", note) for note in notes), sections).encode(),
    )
    return folder / PAGE


def by_study(lines: Sequence[tuple[AnyStudy, Curves]]) -> list[tuple[AnyStudy, list[Curves]]]:
    """The studies, each with all its lines."""
    groups = [list(group) for _, group in groupby(lines, key=lambda line: line[0].name)]
    return [(group[0][0], [curves for _, curves in group]) for group in groups]


def making_section(lines: Sequence[tuple[AnyStudy, Curves]]) -> Section:
    """Versions, computer, time, and the data files."""
    timings = [run.timing for _, curves in lines for run in curves.runs]
    minutes = sum(map(seconds_of, timings)) / 60
    finished = sorted(timing["finished"] for timing in timings)
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    files = [html("a", name, href=name) for name in ("curves.csv", "summary.csv")]
    rows = [
        ["pdrm", __version__],
        ["Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"],
        ["packages", packages],
        ["runs", f"{len(timings):,}, {minutes:.1f} minutes in total"],
        ["finished", f"{finished[0]} to {finished[-1]}" if finished else "–"],
        ["data", join([*files, html("code", "figures/"), html("code", "runs/")], ", ")],
    ]
    return Section("making", "Versions and data", table(["", ""], rows))
