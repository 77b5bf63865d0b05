"""A study in the report: its curves, the numbers behind them, the settings, and how each was made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pdrm.drawing.plots import plot_bytes
from pdrm.experiments.curves import Curves, learnt_at, training_to_learn
from pdrm.experiments.panel import Panel
from pdrm.experiments.statistics import Numbers, interquartile_mean_interval, probability_of_improvement_interval
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files import write_atomically
from pdrm.learning.run import RunSpec
from pdrm.report.curve_plots import overview_plot, panel_plot
from pdrm.report.page import Section, details, number, picture, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- How sure it is that the best agent of a panel is better than the others (Agarwal et al., 2021), in the report.

IMPROVEMENT_HEADS = ("agent", "ends better", "95 % interval")


def improvement_table(lines: Sequence[Curves]) -> str:
    """For each agent, how likely one of its runs ends better than one of the agent with the highest median; nothing where
    there is nobody to compare it with."""
    best = max(lines, key=lambda curves: curves.final_median)
    others = [curves for curves in lines if curves is not best]
    if not others:
        return ""
    rows = [_improvement_row(curves, best) for curves in others]
    name = escape(best.line.name)
    said = (
        f"<p>How likely a run of the agent ends with a higher return than one of {name}, which has the highest median; equal "
        "returns count half, so 50 % is a draw. The interval is a bootstrap over the seeds.</p>"
    )
    return details(f"who ends better than {best.line.name}", said + table(IMPROVEMENT_HEADS, rows, numbers=(1, 2)))


def _improvement_row(curves: Curves, best: Curves) -> list[str]:
    found = probability_of_improvement_interval([_finals(curves)], [_finals(best)])
    value, low, high = (f"{100 * share:.0f} %" for share in found)
    several = min(len(curves.seeds), len(best.seeds)) > 1
    return [escape(curves.line.name), value, f"{low} – {high}" if several else "–"]


def _finals(curves: Curves) -> Numbers:
    """[S]: for each seed, the mean return of its final test."""
    finals: Numbers = curves.returns[:, -1].mean(axis=1)
    return finals


# --- A study in the report: its curves, the numbers behind them, the settings, and how each was made.

FILES = ("pdf", "png")
HEADS = (
    "agent",
    "k",
    "return, median",
    "25 % – 75 %",
    "mapped, IQM",
    "95 % interval",
    "achieved",
    "episodes",
    "rows",
    "seconds",
)


def anchor(study: Study) -> str:
    """Where the study is on the page."""
    return f"study-{_plain_name(study.name)}"


def study_section(study: Study, lines: Sequence[Curves], store: Store, folder: Path) -> Section:
    """A study's figures, also written as files to a folder."""
    panels = [(panel, [curves for curves in lines if curves.panel.name == panel.name]) for panel in study.panels]
    shown = [(panel, curves) for panel, curves in panels if curves]
    parts = []
    if len(shown) > 1 and study.figure:
        paper = [[curves for curves in mine if not curves.line.ours] for _, mine in shown]
        parts.append(
            _plot(
                overview_plot(paper), f"{study.name}-overview", folder, f"{study.figure}: the paper's agents, all maps"
            )
        )
    parts += [_panel(panel, mine, store, folder) for panel, mine in shown]
    dashed = " Solid lines are the paper's agents, dashed ones ours." if any(one.line.ours for one in lines) else ""
    seeds = f'<p class="soft">{escape(_seeds(study) + dashed)}</p>'
    return Section(anchor(study), study.title or study.name, seeds + "".join(parts))


def _seeds(study: Study) -> str:
    if len(study.seed_numbers) == 1:
        return f"One seed ({study.seed_numbers[0]}): no interval can be given."
    return f"{len(study.seed_numbers)} seeds, the same for every agent: {', '.join(map(str, study.seed_numbers))}."


def _panel(panel: Panel, lines: Sequence[Curves], store: Store, folder: Path) -> str:
    figure = f" ({panel.figure})" if panel.figure else ""
    plot = _plot(panel_plot(lines), panel.name, folder, f"{panel.title or panel.name}{figure}: median and quartiles")
    rows = [_row(curves, lines, store) for curves in lines]
    numbers = table(HEADS, rows, numbers=range(2, len(HEADS)))
    made = details("settings, and how each run was made", _settings(lines, store))
    return (
        f"<h3>{escape(panel.title or panel.name)}{escape(figure)}</h3>{plot}{numbers}{improvement_table(lines)}{made}"
    )


def _plot(figure: Figure, name: str, folder: Path, caption: str) -> str:
    for kind in FILES:
        write_atomically(folder / f"{_plain_name(name)}.{kind}", plot_bytes(figure, kind))
    return picture(plot_bytes(figure, "svg"), "svg", caption, escape(caption))


def _plain_name(name: str) -> str:
    """A name for a file or a place on the page."""
    return re.sub(r"[^\w.-]+", "-", name)


def _row(curves: Curves, lines: Sequence[Curves], store: Store) -> list[str]:
    low, middle, high = (float(part[-1]) for part in curves.quartiles(curves.returns))
    iqm, below, above = interquartile_mean_interval([curves.final_scores])
    known, several = bool(np.isfinite(curves.lowest)), len(curves.seeds) > 1
    specs = _specs(curves)
    runs = [store.run(spec) for spec in specs]
    return [
        escape(curves.line.name),
        str(specs[0].agent.k),
        number(middle),
        f"{number(low)} – {number(high)}" if several else "–",
        number(iqm) if known else "–",
        f"{number(below)} – {number(above)}" if known and several else "–",
        f"{int((curves.final_success == 1).sum())} of {len(curves.seeds)}",
        number(_episodes(curves, lines)),
        number(float(np.median([run.result["rows"] for run in runs]))) if "rows" in runs[0].result else "–",
        f"{np.median([run.timing['seconds'] for run in runs]):.1f}",
    ]


def _episodes(curves: Curves, lines: Sequence[Curves]) -> float | None:
    """Training episodes until the median return is 90 % of the way to the panel's best."""
    if not np.isfinite(curves.lowest):
        return None
    return training_to_learn(curves, learnt_at([one for one in lines if not one.line.ours] or lines))


def _specs(curves: Curves) -> list[RunSpec]:
    return curves.panel.specs(curves.line, curves.seeds)


def _settings(lines: Sequence[Curves], store: Store) -> str:
    every = {curves.line.name: _specs(curves)[0].agent.record() for curves in lines}
    names = list(dict.fromkeys(name for settings in every.values() for name in settings))
    common = {name: every[lines[0].line.name].get(name) for name in names}
    shared = {name: value for name, value in common.items() if all(s.get(name) == value for s in every.values())}
    said = ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in shared.items() if value is not None)
    rows = []
    for curves in lines:
        own = {n: v for n, v in every[curves.line.name].items() if n not in shared and v is not None}
        ids = " ".join(f"<code>{spec.id}</code>" for spec in _specs(curves))
        differs = escape(", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in own.items()))
        rows.append([escape(curves.line.name), f"<code>{curves.line.agent_name}</code>", differs, ids])
    versions = {store.run(spec).timing["pdrm"] for curves in lines for spec in _specs(curves)}
    made = f"pdrm {', '.join(sorted(versions))}; each run's folder is named after its id, the hash of its settings."
    return f"<p>All: {escape(said)}. {escape(made)}</p>" + table(["agent", "learner", "differs in", "runs"], rows)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
