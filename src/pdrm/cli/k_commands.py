"""`pdrm check-k`: what the best k-policy loses, for each k; and `pdrm verify`, which checks a saved certificate."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from pdrm.cli.arguments import Discount, Json, MachineName, complete_domain, read_ks
from pdrm.cli.output import (
    INTERRUPTED,
    coloured,
    end_with_json,
    name_task,
    next_command,
    print_json,
    warn_of_task,
)
from pdrm.errors import ConflictingOptions, PdrmError

if TYPE_CHECKING:
    from pdrm.analysis.k_report import KReport

COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}


def check_k(
    domain: Annotated[
        str | None,
        Argument(help="A domain of the catalogue, or its file.", autocompletion=complete_domain),
    ] = None,
    domain_file: Annotated[str | None, Option("--domain", help="The same, for a file.")] = None,
    machine: MachineName = None,
    k: Annotated[
        str | None, Option("--k", help="The k to ask about: 0..4, or 0,1,5. [0..4, and upwards]")
    ] = None,
    seconds: Annotated[
        float, Option(help="The time to search; then the best bounds so far.")
    ] = 60.0,
    depth: Annotated[
        int | None, Option(help="Explore the states within so many steps only.")
    ] = None,
    discount: Discount = None,
    from_: Annotated[
        str | None, Option("--from", help="`start`: ask only what is lost from the start.")
    ] = None,
    height: Annotated[int | None, Option(help="The highest stack that is explored.")] = None,
    rule: Annotated[
        str,
        Option(help="Beyond --height: open, block or fail (the last two change the task)."),
    ] = "open",
    most: Annotated[int, Option(help="States to explore at most.")] = 1_500_000,
    memory: Annotated[float, Option(help="GiB for them at most.")] = 4.0,
    draw: Annotated[Path | None, Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[
        Path | None, Option(help="Write a proof of the recommended k (JSON).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound what the best policy that sees the top k symbols loses, for each k.

    Stopped by --seconds or Ctrl-C, it prints what is known by then.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    place = domain or domain_file
    if place is None or None not in (domain, domain_file):
        fix = "pdrm check-k maze-5x5, or --domain map.txt --machine task.pdrm"
        raise ConflictingOptions("name one domain", fix=fix)
    from pdrm.analysis.k_search import run_search, start_search
    from pdrm.product.finite_product import Bound
    from pdrm.task import Task

    written = _check_paths(draw, certificate)
    task, ks = Task(place, machine), None if k is None else read_ks(k)
    search = start_search(task, ks, discount, depth, from_, Bound(height, rule), most, memory)
    warned = warn_of_task(task, quiet=as_json)
    begun = monotonic()
    report, stopped = run_search(search, seconds, quiet=as_json)
    if as_json:
        spent = round(monotonic() - begun, 3)
        print_json({**report.record(), "warnings": warned, "seconds": spent, "stopped": stopped})
    else:
        for line in report.lines(lambda text, verdict: coloured(text, fg=COLOURS[verdict])):
            typer.echo(line)
    if draw is not None:
        report.draw().save(draw)
    if certificate is not None:
        files = {
            name: _name_from(certificate, where)
            for name, where in (("domain", place), ("machine", machine))
            if where is not None
        }
        replace(report.certificate(), files=files).save(certificate)
    for path in written:
        typer.echo(f"wrote {path}", err=as_json)
    if not as_json:
        _say_next(report, place, machine, discount)
    if stopped:
        typer.echo("stopped; this is what was known by then", err=True)
        raise typer.Exit(INTERRUPTED)


def _check_paths(draw: Path | None, certificate: Path | None) -> list[Path]:
    """The files to write; those that cannot be written are refused before all the work."""
    from pdrm.files import check_writable

    if draw is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(draw)
    paths = [path for path in (draw, certificate) if path is not None]
    for path in paths:
        check_writable(path)
    return paths


def _name_from(certificate: Path, name: str) -> str:
    """A file of the task, relative to the certificate's folder; or a name of the catalogue."""
    is_file = Path(name).is_file()
    return os.path.relpath(name, certificate.parent) if is_file else name


def _say_next(report: KReport, place: str, machine: str | None, discount: float | None) -> None:
    """The training that is recommended."""
    task = name_task(place, machine, discount)
    if report.capped:
        next_command(f"pdrm check-k {task}")
        return
    agent = " --agent cprm" if report.certain else ""
    k = f" --k {report.recommended}"
    if report.recommended is None:
        agent, k = (" --agent summary", "") if report.certain else ("", " --k full")
    next_command(f"pdrm train {task}{agent}{k}")


def verify(
    certificate: Annotated[Path, Argument(help="What `pdrm check-k … --certificate FILE` wrote.")],
    domain: Annotated[
        str | None, Option(help="The domain, or its file. [the one it names]")
    ] = None,
    machine: MachineName = None,
    as_json: Json = False,
) -> None:
    """Check a certificate of `pdrm check-k`, and print what it proves.

    Every step is taken with the readable machine and computed in fractions. Exit code 2: it proves nothing.

    Example: pdrm verify proof.json
    """
    from pdrm.analysis.certificate import load_certificate
    from pdrm.analysis.checker import verify as check

    try:
        said = check(certificate, domain, machine)
    except PdrmError as error:
        if as_json:
            end_with_json(error)
        raise
    if as_json:
        about = load_certificate(certificate).describe()
        print_json({"ok": True, "errors": [], "says": said, **about})
    else:
        typer.echo(coloured(f"{certificate}: it holds", fg="green", bold=True))
        typer.echo(f"  {said}")
