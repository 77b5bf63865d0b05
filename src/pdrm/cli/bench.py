"""`pdrm bench`: what things cost, measured here and now, interleaved with the peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pdrm.cli.output import next_command, print_json
from pdrm.errors import BadSetting, did_you_mean

Figures = dict[str, float]
Told = Callable[[str], None]
"""Called with what is measured next."""

BENCHES = ("tabular", "analysis")


def bench(
    what: Annotated[str, typer.Argument(help="tabular or analysis; without one, all there are.")] = "",
    seconds: Annotated[float, typer.Option(help="How long to measure beside a peer, about.")] = 20.0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw how products grow (analysis): .svg, .png or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Measure speed, in turns with PyCRM (pyrewardmachines) and Storm (stormpy).

    Example: pdrm bench tabular --seconds 20
    """
    from rich.console import Console

    from pdrm.drawing.plot_file import check_plot_format

    if what and what not in BENCHES:
        raise BadSetting(f"there is no bench `{what}`", fix=did_you_mean(what, BENCHES))
    chosen = (what,) if what else BENCHES
    if output is not None:
        check_plot_format(output)
        if "analysis" not in chosen:
            raise BadSetting(f"bench {what} draws nothing", fix="pdrm bench analysis -o growth.svg")
    figures: Figures = {}
    with Console(stderr=True).status("measuring") as status:
        for name in chosen:
            figures |= measured(name, seconds, lambda part: status.update(f"measuring: {part}"))
    if output is not None:
        _draw(figures, output)
    if as_json:
        print_json({name: float(f"{value:.6g}") for name, value in figures.items()})
        return
    _print(chosen, figures)
    if output is not None:
        typer.echo(f"wrote {output}")
    next_command(f"pdrm bench {chosen[-1]} --json")


def measured(name: str, seconds: float, told: Told) -> Figures:
    """The figures of one bench."""
    if name == "analysis":
        from pdrm.experiments.bench_analysis import bench_analysis

        return bench_analysis(seconds, told)
    from pdrm.experiments.bench_tabular import bench_tabular

    return bench_tabular(seconds, told)


def _print(chosen: tuple[str, ...], figures: Figures) -> None:
    from pdrm.cli.bench_tables import print_analysis, print_tabular

    for name in chosen:
        (print_analysis if name == "analysis" else print_tabular)(figures)
        typer.echo()


def _draw(figures: Figures, output: Path) -> None:
    from pdrm.drawing.growth import draw_growth
    from pdrm.experiments.bench_analysis import grown

    draw_growth(grown(figures), output)
