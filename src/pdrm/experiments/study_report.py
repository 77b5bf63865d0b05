"""The report of studies of your own: one self-contained page, and one picture of all panels."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from pdrm import __version__
from pdrm.drawing.curve_plots import CurveLine, study_plot
from pdrm.drawing.markup import Markup, html, join, table
from pdrm.experiments.curves import Curves, TitledStudy
from pdrm.experiments.page import Section, page
from pdrm.experiments.store import Store
from pdrm.experiments.study_section import seconds_of, study_section
from pdrm.files import ensure_folder, write_atomically

PAGE, FIGURES, CURVES = "index.html", "figures", "curves.svg"
PACKAGES = ("numpy", "numba", "gymnasium", "joblib", "matplotlib", "pygraphviz")
RULES = Markup(
    '<p class="lead">The curves are medians over the seeds, the bands go from the 25th to the 75th percentile; an evaluation counts '
    "by the mean of its episodes. <em>Success</em> is the share of the last evaluation's episodes that complete the task.</p>"
)
AnyStudy = TypeVar("AnyStudy", bound=TitledStudy)


def write_own_report(
    lines: Sequence[tuple[AnyStudy, Curves]], store: Store, folder: Path
) -> list[Path]:
    """Write `curves.svg` and `index.html` about studies of your own, and return the files."""
    figures = ensure_folder(folder / FIGURES)
    studies = by_study(lines)
    panels: dict[tuple[str, str], list[CurveLine]] = {}
    for study, curves in lines:
        place = study.name, curves.panel.name
        panels.setdefault(place, []).append(curves.to_plot())
    study_plot(list(panels.values())).save(folder / CURVES)
    sections = [
        study_section(study, mine, store, figures, with_tasks=True) for study, mine in studies
    ]
    sections.append(making_section(lines, store, f"pdrm report {folder}"))
    title = ", ".join(study.title or study.name for study, _ in studies)
    write_atomically(folder / PAGE, page(title, RULES, sections).encode())
    return [folder / CURVES, folder / PAGE]


def by_study(lines: Sequence[tuple[AnyStudy, Curves]]) -> list[tuple[AnyStudy, list[Curves]]]:
    """Each study once, with all its lines."""
    found: dict[str, tuple[AnyStudy, list[Curves]]] = {}
    for study, curves in lines:
        found.setdefault(study.name, (study, []))[1].append(curves)
    return list(found.values())


def making_section(lines: Sequence[tuple[AnyStudy, Curves]], store: Store, again: str) -> Section:
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
