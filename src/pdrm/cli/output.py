"""Output of the commands: text for people (coloured only on a terminal), JSON for programs."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from pdrm.errors import Finding, PdrmError, TaskWarning, Where

FAILED = 1
"""The exit code of a command some of whose runs failed."""
INTERRUPTED = 130
STANDARD = Path("-")
"""Standard input where a file is read, standard output where one is written."""


def coloured(text: str, **style: Any) -> str:
    """Style the text, unless NO_COLOR or a dumb terminal asks for plain text."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, **style)


def print_error(error: PdrmError) -> None:
    """Print the error on standard error, with the command that explains it; with --json on standard output for programs."""
    if "--json" in sys.argv:
        print_json({"ok": False, "errors": list(map(fault_record, error.errors))})
        return
    for one in error.errors:
        first, _, rest = str(one).partition("\n")
        typer.echo(f"{coloured(first, fg='red', bold=True)}\n{rest}".rstrip(), err=True)
    typer.echo(f"  more: pdrm explain {error.errors[0].code}", err=True)


def print_findings(findings: Sequence[Finding], *, err: bool = True) -> None:
    """Print warnings, and once the command that explains them."""
    for finding in findings:
        typer.echo(str(finding), err=err)
    if findings:
        typer.echo(f"  more: pdrm explain {findings[0].code}", err=err)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Print warnings about a task on standard error as errors are, not as Python prints a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TaskWarning)
        plain = warnings.showwarning

        def show(message: Warning | str, *details: Any) -> None:
            if isinstance(message, TaskWarning):
                print_findings([message.finding])
            else:
                plain(message, *details)

        warnings.showwarning = show  # type: ignore[assignment] # it passes on whatever it is given
        yield


def write_any_text() -> None:
    """Escape what the encoding of standard output and error lacks: a name must not fail a message."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """Print one JSON value on standard output, in ASCII, which every encoding has."""
    typer.echo(json.dumps(value, indent=2))


def next_command(command: str, *names: object) -> None:
    """Print the next useful command as the last line, on standard error so that pipes stay clean.

    `names` replace each `{}` of the command, quoted if the shell needs it. `pdrm --quiet` prints none.
    """
    if "PDRM_QUIET" not in os.environ:
        said = command.format(*(quote(str(name)) for name in names)) if names else command
        typer.echo(coloured(f"next: {said}", dim=True), err=True)


def name_task(domain: object, machine: str | None, discount: float | None = None) -> str:
    """The arguments that name a task to train on, as the shell reads them."""
    named = quote(str(domain))
    if machine is not None:
        named += f" --machine {quote(machine)}"
    return named if discount is None else f"{named} --set discount={discount}"


def fault_record(one: Finding | PdrmError) -> dict[str, Any]:
    """An error or a warning for programs, with its line and column, or for a value in JSON the path that leads to it."""
    where = one.where or Where("")
    return {
        "code": one.code,
        "file": where.file or None,
        "line": where.line or None,
        "column": where.column or None,
        "path": where.path,
        "message": one.message,
        "fix": one.fix,
    }
