"""The figures of WaterWorld, from the runs recorded with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from pdrm.drawing.plots import INK, STYLED, colours
from pdrm.paper import figures
from pdrm.paper.recorded import recorded_curves

if TYPE_CHECKING:
    from pdrm.experiments.curves import Curves
    from pdrm.experiments.study import Study


@STYLED
def water_plot(name: str) -> Figure:
    """Returns of the recorded agents of a study, next to each other for its maps."""
    study = figures.study(name)
    panels = [_recorded(study, panel.name) for panel in study.panels]
    lines = {curves: curves.to_plot() for panel in panels for curves in panel}
    shades = colours(lines.values())
    figure = Figure(figsize=(4.3 * len(panels) if len(panels) > 1 else 6.4, 3.8))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for curves in panel:
            line = lines[curves]
            low, middle, high = (values / 1e3 for values in curves.quartiles(curves.returns))
            at, colour = line.at / 1e6, shades[line.key]
            axes.plot(at, middle, color=colour, linewidth=1.6, label=line.name)
            axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axhline(panel[0].highest / 1e3, color=INK, linestyle=":", linewidth=0.6)
        axes.set(title=panel[0].panel.heading, xlabel="training steps, millions")
        axes.set(xlim=(0, None), ylim=(0, 122))
        axes.grid()
    figure.axes[0].set_ylabel("return of an evaluation episode, thousands")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def _recorded(study: Study, name: str) -> list[Curves]:
    found = (
        recorded_curves(study, panel, line) for panel, line in study.lines() if panel.name == name
    )
    return [curves for curves in found if curves is not None]
