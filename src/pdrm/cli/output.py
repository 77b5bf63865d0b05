"""Output of the commands: text for people (coloured only on a terminal), JSON for programs."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pdrm.errors import BadRunFolder, BadSetting, Finding, PdrmError, TaskWarning, Where

if TYPE_CHECKING:
    from pdrm.task import Task

FAILED = 1
"""The exit code of a command some of whose runs failed."""
INTERRUPTED = 130
STANDARD_OUTPUT = Path("-")
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def check_integer(option: str, value: int, least: int, most: int, example: int) -> None:
    """Refuse a number out of its range."""
    if not least <= value <= most:
        fault = f"--{option} takes an integer from {least} to {most:,}"
        raise BadSetting(fault, fix=f"--{option} {example}")


def coloured(text: str, **style: Any) -> str:
    """Style the text, unless NO_COLOR or a dumb terminal asks for plain text."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, **style)


def print_error(error: PdrmError) -> None:
    """Print the error on standard error, with the command that explains it."""
    for number, one in enumerate(error.errors):
        if number:
            typer.echo(err=True)
        first, _, rest = str(one).partition("\n")
        typer.echo(coloured(first, fg="red", bold=True), err=True)
        if rest:
            typer.echo(rest, err=True)
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
    """Print one JSON value on standard output, in characters that its encoding has."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf_8")
    typer.echo(json.dumps(value, indent=2, ensure_ascii=plain))


def next_command(command: str, *names: object) -> None:
    """Print the next useful command as the last line, on standard error so that pipes stay clean.

    `names` replace each `{}` of the command, quoted if the shell needs it. `pdrm --quiet` prints none.
    """
    if "PDRM_QUIET" in os.environ:
        return
    said = command.format(*(quote(str(name)) for name in names)) if names else command
    typer.echo(coloured(f"next: {said}", dim=True), err=True)


def name_runs(runs: list[Path] | None) -> list[Path]:
    """The runs that were given (default: those in `runs`); a missing one is answered with close matches."""
    from pdrm.learning.run_folder import SPEC

    for folder in runs or ():
        if folder.exists():
            continue
        others = {file.parent.name: file.parent for file in folder.parent.glob(f"*/{SPEC}")}
        if others:
            closest = get_close_matches(folder.name, others, n=3, cutoff=0)
            named = ", ".join(str(others[name]) for name in closest)
            raise BadRunFolder(f"there is no run {folder}", fix=f"closest matches: {named}")
    return runs or [Path("runs")]


def end_with_json(error: PdrmError, **more: Any) -> NoReturn:
    """Print all errors for programs, and end the command with exit code 2."""
    errors = [
        {
            "code": one.code,
            "file": None if one.where is None else one.where.file,
            **_place(one.where),
            "message": one.message,
            "fix": one.fix,
        }
        for one in error.errors
    ]
    print_json({"ok": False, "errors": errors, **more})
    raise typer.Exit(2) from error


def warn_of_task(task: Task, *, quiet: bool) -> list[dict[str, Any]]:
    """Warn once of likely mistakes in a task, unless `quiet`; return the warnings as JSON records."""
    from pdrm.product.task_findings import inspect_task

    own = not (task.catalogued and task.text is None)
    findings = inspect_task(task) if own else []
    task.warned = True
    print_findings(findings if not quiet else ())
    return [finding_record(finding) for finding in findings]


def finding_record(finding: Finding) -> dict[str, Any]:
    """One warning for programs."""
    return {"code": finding.code, **_place(finding.where), "message": finding.message}


def _place(where: Where | None) -> dict[str, int | str | None]:
    """Line and column, or for a value in JSON the keys that lead to it."""
    if where is not None and where.line:
        return {"line": where.line, "column": where.column}
    path = {} if where is None else {"path": where.path}
    return {"line": None, "column": None, **path}
