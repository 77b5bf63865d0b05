"""`pdrm bench`: what things cost, measured here and now, interleaved with the peers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import next_command, print_json
from pdrm.errors import BadSetting, MissingPackage, did_you_mean
from pdrm.progress import show_progress

if TYPE_CHECKING:
    from pdrm.bench.bench_record import Figures, Told

BENCHES = ("tabular", "analysis", "deep")


def bench(
    what: Annotated[
        str, typer.Argument(help="tabular, analysis or deep; without one, all that this computer can run.")
    ] = "",
    seconds: Annotated[float, typer.Option(help="How long each measures beside its peer, about.")] = 20.0,
    record: Annotated[
        Path | None,
        typer.Option(help="Write each bench's figures, with the machine and the versions, into this folder as JSON."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw how products grow (analysis): .svg, .png or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Measure speed, in turns with PyCRM (pyrewardmachines), Storm (stormpy) and Stable-Baselines3.

    Example: pdrm bench tabular --seconds 20
    """
    from pdrm.bench.bench_record import rounded
    from pdrm.files import ensure_folder

    chosen = _chosen(what, output)
    folder = None if record is None else ensure_folder(record, fix="choose another folder")
    found, left = _measured(chosen, seconds, folder)
    if not found or (what and left):
        raise next(iter(left.values()))
    if output is not None:
        _draw(found, output)
    if as_json:
        print_json(rounded({name: value for figures in found.values() for name, value in figures.items()}))
    else:
        _print(found)
    for name, error in left.items():
        typer.echo(f"left out: {name} ({error.message}; fix: {error.fix})", err=True)
    if not as_json:
        next_command(f"pdrm bench {list(found)[-1]} --json")


def _chosen(what: str, output: Path | None) -> tuple[str, ...]:
    """The benches that are asked for; faults are named before anything is measured."""
    from pdrm.drawing.plots import check_plot_format

    if what and what not in BENCHES:
        raise BadSetting(f"there is no bench `{what}`", fix=did_you_mean(what, BENCHES))
    if output is not None:
        check_plot_format(output)
        if what not in ("", "analysis"):
            raise BadSetting(f"bench {what} draws nothing", fix="pdrm bench analysis -o growth.svg")
    return (what,) if what else BENCHES


def _measured(
    chosen: tuple[str, ...], seconds: float, folder: Path | None
) -> tuple[dict[str, Figures], dict[str, MissingPackage]]:
    """The figures of each bench, recorded as each ends; and those that something is missing for."""
    from pdrm.bench.bench_record import recorded, write_record

    found: dict[str, Figures] = {}
    left: dict[str, MissingPackage] = {}
    with show_progress(len(chosen), "benches") as update:
        for number, name in enumerate(chosen):

            def told(what: str, done: float, name: str = name, number: int = number) -> None:
                update(number + done, f"{name}: {what}")

            try:
                kept, found[name] = measured(name, seconds, told)
            except MissingPackage as error:
                left[name] = error
                continue
            if folder is not None:
                path = write_record(recorded(kept, f"pdrm bench {name} --seconds {seconds:g}", found[name]), folder)
                typer.echo(f"wrote {path}", err=True)
    return found, left


def measured(name: str, seconds: float, told: Told) -> tuple[str, Figures]:
    """What the record of a bench is called, and its figures."""
    if name == "deep":
        import pdrm.product.jax_env  # noqa: F401 - says what to install where JAX is missing
        from pdrm.bench.deep_bench import bench_deep, record_name

        return record_name(), bench_deep(seconds, told)
    if name == "analysis":
        from pdrm.bench.analysis_bench import bench_analysis

        return name, bench_analysis(seconds, told)
    from pdrm.bench.tabular_bench import bench_tabular

    return name, bench_tabular(seconds, told)


def _print(found: dict[str, Figures]) -> None:
    from pdrm.bench.bench_tables import print_tables

    for name, figures in found.items():
        print_tables(name, figures)


def _draw(found: dict[str, Figures], output: Path) -> None:
    from pdrm.bench.analysis_bench import grown
    from pdrm.drawing.plots import draw_growth

    if "analysis" in found:
        draw_growth(grown(found["analysis"]), output)
        typer.echo(f"wrote {output}", err=True)
