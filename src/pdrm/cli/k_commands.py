"""`pdrm check-k`: what the best k-policy loses, for each k; and `pdrm verify`, which checks a saved certificate."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.arguments import MachineName, complete_domain
from pdrm.cli.output import (
    INTERRUPTED,
    Json,
    coloured,
    end_with_json,
    next_command,
    print_json,
    warn_of_task,
)
from pdrm.errors import BadSetting, ConflictingOptions, PdrmError

if TYPE_CHECKING:
    from pdrm.analysis.k_report import KReport

COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}


def check_k(
    domain: Annotated[
        str | None,
        typer.Argument(
            help="A domain of the catalogue, or a domain's file.", autocompletion=complete_domain
        ),
    ] = None,
    domain_file: Annotated[
        Path | None, typer.Option("--domain", help="The same, for a file.")
    ] = None,
    machine: MachineName = None,
    k: Annotated[
        str | None,
        typer.Option("--k", help="The k to ask about: 0..4, or 0,1,5. [0..4, and upwards]"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="The time to search; then the best bounds so far.")
    ] = 60.0,
    depth: Annotated[
        int | None, typer.Option(help="Explore the states within so many steps only.")
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="γ, below 1. [the paper's for its domains, else 0.99]")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="`start`: ask only what is lost from the start.")
    ] = None,
    height: Annotated[int | None, typer.Option(help="The highest stack that is explored.")] = None,
    rule: Annotated[
        str,
        typer.Option(help="Beyond --height: open, block or fail (the last two change the task)."),
    ] = "open",
    most: Annotated[int, typer.Option(help="States to explore at most.")] = 1_500_000,
    memory: Annotated[float, typer.Option(help="GiB for them at most.")] = 4.0,
    draw: Annotated[Path | None, typer.Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write a proof of the recommended k (JSON).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound what the best policy that sees the top k symbols loses, for each k.

    Stopped by --seconds or Ctrl-C, it prints what is known by then.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    if (domain is None) == (domain_file is None):
        raise ConflictingOptions(
            "name one domain", fix="pdrm check-k maze-5x5, or --domain map.txt --machine task.pdrm"
        )
    from pdrm.analysis.k_search import run_search, start_search
    from pdrm.product.finite_product import Bound
    from pdrm.task import Task

    _check_paths(draw, certificate)
    place = str(domain_file if domain is None else domain)
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
    for path in _write(report, draw, certificate, (place, machine)):
        if not as_json:
            typer.echo(f"wrote {path}")
    if not as_json:
        named = quote(place) + ("" if machine is None else f" --machine {quote(machine)}")
        _say_next(report, named, discount)
    if stopped:
        typer.echo("stopped; this is what was known by then", err=True)
        raise typer.Exit(INTERRUPTED)


def _check_paths(draw: Path | None, certificate: Path | None) -> None:
    """Refuse files that cannot be written, before all the work."""
    from pdrm.files import check_writable

    if draw is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(draw)
    for path in (draw, certificate):
        if path is not None:
            check_writable(path)


def _write(
    report: KReport, draw: Path | None, certificate: Path | None, task: tuple[str, str | None]
) -> list[Path]:
    """Write the picture and the certificate that were asked for."""
    if draw is not None:
        report.draw().save(draw)
    if certificate is not None:
        files = _find_files(certificate, *task)
        replace(report.certificate(), files=files).save(certificate)
    return [path for path in (draw, certificate) if path is not None]


def _find_files(certificate: Path, place: str, machine: str | None) -> dict[str, str]:
    """The files of a task, relative to the certificate's folder; or their names in the catalogue."""
    folder, found = certificate.absolute().parent, {}
    for name, where in (("domain", place), ("machine", machine)):
        if where is not None:
            is_file = Path(where).is_file()
            found[name] = os.path.relpath(Path(where).absolute(), folder) if is_file else where
    return found


def read_ks(text: str) -> list[int]:
    """The k that are asked about: 0..4, or 0,1,5, or 3.

    >>> read_ks("0..2"), read_ks("5")
    ([0, 1, 2], [5])
    """
    first, dots, last = text.partition("..")
    parts = [first, last] if dots else text.split(",")
    if not all(
        part.strip().isascii() and part.strip().isdecimal() and len(part) < 5 for part in parts
    ):
        raise BadSetting(
            f"--k {text[:40]!r} is not a list of numbers of symbols", fix="--k 0..4, or --k 0,1,5"
        )
    found = [int(part) for part in parts]
    if dots and found[0] > found[1]:
        raise BadSetting(f"--k {text} is empty", fix=f"--k {found[1]}..{found[0]}")
    return list(range(found[0], found[1] + 1)) if dots else found


def _say_next(report: KReport, named: str, discount: float | None) -> None:
    """The training that is recommended."""
    own = "" if discount is None else f" --discount {discount:g}"
    if report.capped:
        next_command(f"pdrm check-k {named}{own}")
        return
    agent = (
        ""
        if not report.certain
        else " --agent summary"
        if report.recommended is None
        else " --agent cprm"
    )
    seen = (
        f" --k {report.recommended}"
        if report.recommended is not None
        else ""
        if agent
        else " --k full"
    )
    next_command(f"pdrm train {named}{agent}{seen}{own}")


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="What `pdrm check-k … --certificate FILE` wrote.")
    ],
    domain: Annotated[
        str | None, typer.Option(help="The domain, or its file. [the one it names]")
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
        if not as_json:
            raise
        end_with_json(error)
    if as_json:
        about = load_certificate(certificate).describe()
        print_json({"ok": True, "errors": [], "says": said, **about})
        return
    typer.echo(coloured(f"{certificate}: it holds", fg="green", bold=True))
    typer.echo(f"  {said}")
