"""Output of the commands: text (coloured only on a terminal) or JSON."""

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
"""Exit code if some runs failed."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
STANDARD = Path("-")
"""Standard input for reading, standard output for writing."""


def coloured(text: str, **style: Any) -> str:
    """Style the text, unless NO_COLOR is set or the terminal is dumb."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, **style)


def print_error(error: PdrmError) -> None:
    """Print an error to standard error, or with --json as JSON to standard output."""
    if "--json" in sys.argv:
        print_json({"ok": False, "errors": list(map(fault_record, error.errors))})
        return
    for single in error.errors:
        first, _, rest = str(single).partition("\n")
        typer.echo(f"{coloured(first, fg='red', bold=True)}\n{rest}".rstrip(), err=True)
    typer.echo(f"  more: pdrm explain {error.errors[0].code}", err=True)


def print_findings(findings: Sequence[Finding], *, err: bool = True) -> None:
    """Print warnings, and the command that explains the first one."""
    for finding in findings:
        typer.echo(str(finding), err=err)
    if findings:
        typer.echo(f"  more: pdrm explain {findings[0].code}", err=err)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Print warnings about tasks in the format of errors instead of Python's format."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TaskWarning)
        plain = warnings.showwarning

        def show(message: Warning | str, *details: Any) -> None:
            if isinstance(message, TaskWarning):
                print_findings([message.finding])
            else:
                plain(message, *details)

        warnings.showwarning = show  # type: ignore[assignment] # it passes all arguments on
        yield


def escape_unencodable() -> None:
    """Backslash-escape characters that standard output and error cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """Print a JSON value to standard output, in ASCII, which every encoding supports."""
    typer.echo(json.dumps(value, indent=2))


def next_command(command: str, *names: object) -> None:
    """Suggest the next command on standard error, unless `pdrm --quiet`.

    Each `{}` of the command is replaced by a name, quoted for the shell if necessary.
    """
    if "PDRM_QUIET" not in os.environ:
        text = command.format(*(quote(str(name)) for name in names)) if names else command
        typer.echo(coloured(f"next: {text}", dim=True), err=True)


def name_task(domain: object, machine: str | None, discount: float | None = None) -> str:
    """The command-line arguments of a task to train on."""
    arguments = quote(str(domain))
    if machine is not None:
        arguments += f" --machine {quote(machine)}"
    return arguments if discount is None else f"{arguments} --set discount={discount}"


def fault_record(fault: Finding | PdrmError) -> dict[str, Any]:
    """An error or a warning as JSON values, with its location."""
    where = fault.where or Where("")
    return {
        "code": fault.code,
        "file": where.file or None,
        "line": where.line or None,
        "column": where.column or None,
        "path": where.path,
        "message": fault.message,
        "fix": fault.fix,
    }
