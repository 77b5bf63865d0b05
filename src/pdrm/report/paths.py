"""What was learnt, to look at: a greedy episode of the best seed on each map, with the stack along it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from pdrm.drawing.episode import Shown, episode_plot
from pdrm.drawing.plot_file import plot_bytes
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.learning.tabular.evaluation import Trained
from pdrm.report.html import picture
from pdrm.report.page import Section

PREFERRED = ("1-pdRM", "1-CpRM, deduplicated (ours)", "1-CpRM", "pdRM")
"""Whose way is shown, of those that end best."""


def paths_section(lines: Sequence[Curves], store: Store) -> Section:
    """A way on each map."""
    panels = dict.fromkeys(curves.panel.name for curves in lines)
    parts = [_path([curves for curves in lines if curves.panel.name == panel], store) for panel in panels]
    body = "<p>One greedy test episode each, of the seed that ended best. The colour is the machine's state.</p>"
    return Section("paths", "What was learnt", body + "".join(parts))


def _path(lines: Sequence[Curves], store: Store) -> str:
    order = {name: place for place, name in enumerate(PREFERRED)}
    ranked = sorted(lines, key=lambda curves: order.get(curves.line.name, len(order)))
    achieving = [curves for curves in ranked if curves.final_success.max() == 1]
    for curves in sorted(achieving, key=lambda curves: -round(curves.final_scores.max(), 2)) or ranked:
        seed = int(np.argmax(curves.final_scores if np.isfinite(curves.lowest) else curves.returns[:, -1].mean(axis=1)))
        spec = curves.panel.specs(curves.line, curves.seeds)[seed]
        if store.result(spec)["policy_kept"]:
            trained = Trained.load(store.folder(spec))
            if trained.counts:
                continue
            moments = list(trained.episode(np.random.default_rng(0)))
            shown = [Shown(one.state, one.configuration.state, one.configuration.stack) for one in moments]
            paid = sum(one.reward for one in moments)
            title = (
                f"{curves.panel.title or curves.panel.name}: {curves.line.name}, seed {spec.seed}; "
                f"{len(moments) - 1} steps, return {paid:g}, ended in {moments[-1].configuration.state}"
            )
            return picture(plot_bytes(episode_plot(trained.domain, shown), "svg"), "svg", title, escape(title))
    return ""
