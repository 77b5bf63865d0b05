"""A study in the report: its curves, the numbers behind them, the settings, and how each run was made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.drawing.curve_plots import overview_plot, panel_plot
from pdrm.drawing.markup import Markup, html, join, number, picture, table
from pdrm.experiments.curves import Curves, Origin, learnt_at, training_to_learn
from pdrm.experiments.panel import Panel
from pdrm.experiments.paper.paper_figures import NOTES
from pdrm.experiments.statistics import (
    interquartile_mean_interval,
    probability_of_improvement_interval,
)
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.learning.guest import AnyAgent
from pdrm.report.page import Section, badge, details
from pdrm.report.plot_cache import read_or_draw

NOTHING = "–"
FEWEST_SEEDS = 5
"""Of either agent: a bootstrap of fewer, which often all agree, would give an interval of nothing."""
NOT_IN_THE_PAPER = "summary (ours, not in the paper)"
"""The line that is drawn beside those of the paper's figures."""


def anchor(study: Study) -> str:
    """Where the study is on the page."""
    return f"study-{_plain_name(study.name)}"


def study_section(
    study: Study,
    lines: Sequence[Curves],
    store: Store,
    folder: Path,
    more: str = "",
    beside: Mapping[str, Curves] | None = None,
) -> Section:
    """A study's figures, also written as files to a folder; `more` stands at its end. beside: by the name of a task, what is ours and
    not one of the study's lines, but drawn among them."""
    panels = [
        (panel, [curves for curves in lines if curves.panel.name == panel.name])
        for panel in study.panels
    ]
    shown = [(panel, mine) for panel, mine in panels if mine]
    parts = [html("p", note) for note in (NOTES.get(study.name),) if note]
    parts += [_origins(study, lines)] if any(curves.origin for curves in lines) else []
    parts.append(html("p", _seeds(lines), class_="soft"))
    if len(shown) > 1 and study.figure:
        paper = [[curves.to_plot() for curves in mine if not curves.line.ours] for _, mine in shown]
        caption = f"{study.figure}: the paper's agents, all maps"
        drawn = read_or_draw(
            folder / _plain_name(f"{study.name}-overview"), paper, partial(overview_plot, paper)
        )
        parts.append(picture(drawn, "svg", caption))
    extra = {} if beside is None else beside
    parts += [
        _panel(panel, mine, store, folder, extra.get(panel.task.name)) for panel, mine in shown
    ]
    return Section(anchor(study), study.title or study.name, join([*parts, more]))


def _origins(study: Study, lines: Sequence[Curves]) -> Markup:
    """Where the numbers of runs come from that were not made here."""
    found = {curves.line.name: curves.origin for curves in lines if curves.origin is not None}
    origins: list[Origin] = list(dict.fromkeys(found.values()))
    devices = ", ".join(sorted({origin.device for origin in origins}))
    steps, seconds = sum(one.timesteps for one in origins), sum(one.seconds for one in origins)
    which = (
        "" if len(found) == len({curves.line.name for curves in lines}) else f"{', '.join(found)}: "
    )
    said = f" {which}Not run here: recorded on {devices}, {steps / 1e6:,.0f} million steps in {seconds:,.0f} s. "
    commands = (
        html("div", html("code", command))
        for command in dict.fromkeys(one.command for one in origins)
    )
    again = html("code", f"pdrm reproduce {study.name}")
    versions = ", ".join(sorted({origin.version for origin in origins}))
    return html("p", badge("recorded"), said, again, " makes your own runs.") + details(
        f"the command that made the record, in version {versions}", *commands
    )


def _seeds(lines: Sequence[Curves]) -> str:
    """The seeds, and what dashes mean."""
    seeds = max((curves.seeds for curves in lines), key=len)
    dashed = (
        " Solid lines are the paper's agents, dashed ones ours."
        if any(one.line.ours for one in lines)
        else ""
    )
    if len(seeds) == 1:
        return f"One seed ({seeds[0]}): no interval can be given.{dashed}"
    return f"{len(seeds)} seeds, the same for every agent: {', '.join(map(str, seeds))}.{dashed}"


def _panel(
    panel: Panel, lines: Sequence[Curves], store: Store, folder: Path, beside: Curves | None
) -> Markup:
    title = panel.heading + (f" ({panel.figure})" if panel.figure else "")
    drawn = [one.to_plot() for one in lines]
    drawn += [] if beside is None else [replace(beside.to_plot(), name=NOT_IN_THE_PAPER)]
    plot = read_or_draw(folder / _plain_name(panel.name), [drawn], partial(panel_plot, drawn))
    return join(
        (
            html("h3", title),
            picture(plot, "svg", f"{title}: median and quartiles"),
            _results(lines, store, beside),
            _notes(lines),
            _beside(beside),
            _improvements(lines),
            details("settings, and how each run was made", _settings(lines, store)),
        )
    )


def _plain_name(name: str) -> str:
    """A name for a file or a place on the page."""
    return re.sub(r"[^\w.-]+", "-", name)


# --- The numbers behind the curves


def _results(lines: Sequence[Curves], store: Store, beside: Curves | None) -> Markup:
    heads = [
        "agent",
        "k",
        "return (quartiles)",
        "normalised return (95 % interval)",
        "achieved (episodes)",
    ]
    heads += [f"{_unit(lines) or 'training'} to learn", "rows", "seconds"]
    rows = [_result(curves, lines, store) for curves in lines]
    rows += [] if beside is None else [[NOT_IN_THE_PAPER, *_result(beside, lines, store)[1:]]]
    return table(heads, rows, numbers=range(2, len(heads)))


def _beside(curves: Curves | None) -> Markup:
    """Where the line that is not one of the study's comes from."""
    if curves is None:
        return Markup("")
    made = "made here" if curves.origin is None else f"recorded on {curves.origin.device}"
    said = (
        f"{NOT_IN_THE_PAPER}: the diamond is where its training ended, after {number(float(curves.at[-1]))} {curves.unit}, and the dotted line goes "
        f"on from there. It is not one of this study's lines, and no claim is judged by it. {len(curves.seeds)} runs, {made}; "
    )
    return html("p", said, html("code", "pdrm reproduce ours"), " makes your own.", class_="soft")


def _result(curves: Curves, lines: Sequence[Curves], store: Store) -> list[str]:
    low, middle, high = (float(part[-1]) for part in curves.quartiles(curves.returns))
    runs = [] if curves.origin else [store.run(spec) for spec in curves.specs]
    rows = [run.result["rows"] for run in runs if "rows" in run.result]
    return [
        curves.line.name,
        str(curves.panel.agent(curves.line).k),
        _interval(curves, middle, low, high),
        _interval(curves, *interquartile_mean_interval([curves.final_scores]))
        if curves.scaled
        else NOTHING,
        f"{curves.achieving} of {len(curves.seeds)} ({100 * curves.final_success.mean():.0f} %)",
        _training(curves, lines) if curves.scaled else NOTHING,
        number(float(np.median(rows))) if rows else NOTHING,
        f"{np.median([seconds_of(run.timing) for run in runs]):.1f}" if runs else NOTHING,
    ]


def _interval(curves: Curves, value: float, low: float, high: float) -> str:
    """A value and its interval, which needs more than one seed."""
    return (
        f"{number(value)} ({number(low)} – {number(high)})"
        if len(curves.seeds) > 1
        else number(value)
    )


def _training(curves: Curves, lines: Sequence[Curves]) -> str:
    """Training until the median return is 90 % of the way to the panel's best."""
    found = training_to_learn(
        curves, learnt_at([one for one in lines if not one.line.ours] or lines)
    )
    return (
        "never"
        if found is None
        else f"{number(found)} {'' if _unit(lines) else curves.unit}".rstrip()
    )


def _unit(lines: Sequence[Curves]) -> str:
    """What all lines count training in; nothing: some count episodes and others timesteps."""
    units = {curves.unit for curves in lines}
    return units.pop() if len(units) == 1 else ""


def seconds_of(timing: dict[str, Any]) -> float:
    """A run's share of the time of those that were trained side by side with it."""
    return float(timing["seconds"]) / int(timing.get("side_by_side", 1))


def processor_seconds_of(timing: dict[str, Any]) -> float:
    """What a run took of the processor; of those trained side by side, its share. By the clock where it was not measured."""
    return float(timing.get("processor_seconds", timing["seconds"])) / int(
        timing.get("side_by_side", 1)
    )


def _notes(lines: Sequence[Curves]) -> Markup:
    """What the columns are, and why some cells are empty."""
    unscaled = (
        f"{NOTHING} under “normalised return” and “to learn”: they need the lowest and the highest return of the task, and the domain "
        "does not give them (lines “lowest” and “highest” of a map, or the arguments of that name in Python)."
    )
    elsewhere = f"{NOTHING} under “seconds”: the runs were made elsewhere, side by side; their time is given above."
    notes = (
        (
            True,
            "Returns are medians, normalised returns (−1 the lowest that the task allows, 1 the highest) interquartile means.",
        ),
        (any(len(curves.seeds) == 1 for curves in lines), "An interval needs more than one seed."),
        (not all(curves.scaled for curves in lines), unscaled),
        (
            any(curves.panel.agent(curves.line).deep for curves in lines),
            f"{NOTHING} under “rows”: a network has none.",
        ),
        (any(curves.origin for curves in lines), elsewhere),
    )
    return html("p", " ".join(note for applies, note in notes if applies), class_="soft")


def _improvements(lines: Sequence[Curves]) -> Markup:
    """How sure it is that the best agent of a panel is better than the others (Agarwal et al., 2021): for each agent, how likely
    one of its runs ends better than one of the agent with the highest median; nothing where there is nobody to compare with."""
    best = max(lines, key=lambda curves: curves.final_median)
    others = [curves for curves in lines if curves is not best]
    if not others:
        return Markup("")
    said = (
        f"How likely a run of the agent ends with a higher return than one of {best.line.name}, which has the highest median; equal "
        f"returns count half, so 50 % is a draw. The interval is a bootstrap over the seeds, of which it takes at least {FEWEST_SEEDS}."
    )
    rows = [_improvement(curves, best) for curves in others]
    shown = table(("agent", "ends better", "95 % interval"), rows, numbers=(1, 2))
    return details(f"who ends better than {best.line.name}", html("p", said), shown)


def _improvement(curves: Curves, best: Curves) -> list[str]:
    found = probability_of_improvement_interval([curves.final_returns], [best.final_returns])
    value, low, high = (f"{100 * share:.0f} %" for share in found)
    several = min(len(curves.seeds), len(best.seeds)) >= FEWEST_SEEDS
    return [curves.line.name, value, f"{low} – {high}" if several else NOTHING]


# --- The settings, and how each run was made


def _settings(lines: Sequence[Curves], store: Store) -> Markup:
    every = {curves.line.name: _list_settings(curves.panel.agent(curves.line)) for curves in lines}
    first, *others = every.values()
    shared = {
        name: value
        for name, value in first.items()
        if all(one.get(name) == value for one in others)
    }
    own = [curves for curves in lines if curves.origin is None]
    versions = sorted({store.run(spec).timing["pdrm"] for curves in own for spec in curves.specs})
    made = f" pdrm {', '.join(versions)}; each run's folder is named after its id, the hash of its settings."
    rows = [
        [
            curves.line.name,
            html("code", curves.line.agent_name),
            _listed(
                {
                    name: value
                    for name, value in every[curves.line.name].items()
                    if name not in shared
                }
            ),
            "recorded"
            if curves.origin
            else join((html("code", spec.id) for spec in curves.specs), " "),
        ]
        for curves in lines
    ]
    all_share = f"All: {_listed(shared)}." if shared else ""
    said = html("p", f"{all_share}{made if own else ''}".strip())
    return said + table(["agent", "learner", "differs in", "runs"], rows)


def _list_settings(agent: AnyAgent) -> dict[str, Any]:
    """An agent's settings; of somebody else's agent, its fields."""
    record = agent.record()
    return {
        name: value
        for name, value in {**record, **record.pop("fields", {})}.items()
        if name not in ("class", "source", "fields")
    }


def _listed(settings: dict[str, Any]) -> str:
    shown = (
        (name.replace("_", " "), value) for name, value in settings.items() if value is not None
    )
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in shown
    )
