"""`pdrm bench`: what things cost, measured here and now, in turns with the peers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import Json, next_command, print_json
from pdrm.errors import BadSetting, MissingPackage, UnknownChoice, did_you_mean
from pdrm.progress import show_progress

if TYPE_CHECKING:
    from pdrm.bench.bench_record import Record


def bench(
    what: Annotated[
        str,
        typer.Argument(
            help="tabular, analysis or deep; without one, all that this computer can run."
        ),
    ] = "",
    seconds: Annotated[
        float, typer.Option(help="About how long each measures beside its peer.")
    ] = 20.0,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Write each bench's figures, with the machine and the versions, into this folder as JSON."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Draw how products grow (analysis): .svg, .png or .pdf."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure speed, in turns with PyCRM (pyrewardmachines), Storm (stormpy) and Stable-Baselines3.

    Example: pdrm bench tabular --seconds 20
    """
    from pdrm.bench.bench_display import plot_growth, print_tables
    from pdrm.files import ensure_folder

    chosen = _choose(what, output)
    folder = None if record is None else ensure_folder(record, fix="choose another folder")
    found, missing = _measure(chosen, seconds, folder)
    if not found or (what and missing):
        raise next(iter(missing.values()))
    if output is not None and "analysis" in found:
        from pdrm.drawing.plots import write_plot

        write_plot(plot_growth(found["analysis"].rows), output)
        typer.echo(f"wrote {output}", err=True)
    if as_json:
        print_json(
            {figure: value for one in found.values() for figure, value in one.figures.items()}
        )
    else:
        for one in found.values():
            print_tables(one)
    for name, absent in missing.items():
        typer.echo(f"left out: {name} ({absent.message}; fix: {absent.fix})", err=True)
    if not as_json:
        next_command(f"pdrm bench {list(found)[-1]} --json")


def _choose(what: str, output: Path | None) -> tuple[str, ...]:
    """The benches that are asked for; mistakes are reported before anything is measured."""
    from pdrm.bench.bench_record import BENCHES

    if what and what not in BENCHES:
        raise UnknownChoice(f"there is no bench `{what}`", fix=did_you_mean(what, BENCHES))
    if output is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(output)
        if what not in ("", "analysis"):
            raise BadSetting(f"bench {what} draws nothing", fix="pdrm bench analysis -o growth.svg")
    return (what,) if what else BENCHES


def _measure(
    chosen: tuple[str, ...], seconds: float, folder: Path | None
) -> tuple[dict[str, Record], dict[str, MissingPackage]]:
    """The record of each bench, written as each ends; and the benches that a package is missing for."""
    from pdrm.bench.bench_record import run_bench, write_record

    found: dict[str, Record] = {}
    missing: dict[str, MissingPackage] = {}
    with show_progress(len(chosen), "benches") as update:
        for number, name in enumerate(chosen):

            def on_progress(what: str, done: float, name: str = name, number: int = number) -> None:
                update(number + done, f"{name}: {what}")

            try:
                found[name] = run_bench(name, seconds, on_progress)
            except MissingPackage as error:
                missing[name] = error
                continue
            if folder is not None:
                typer.echo(f"wrote {write_record(found[name], folder)}", err=True)
    return found, missing
