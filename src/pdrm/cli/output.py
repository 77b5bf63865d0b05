"""What the commands print: text for people (coloured only on a terminal), JSON for programs."""

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
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def check_integer(option: str, value: int, least: int, most: int, example: int) -> None:
    """Refuse a number out of its range."""
    if not least <= value <= most:
        raise BadSetting(
            f"--{option} takes an integer from {least} to {most:,}", fix=f"--{option} {example}"
        )


def coloured(text: str, **style: Any) -> str:
    """The text in a style, where colours are wanted (NO_COLOR and dumb terminals want none)."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, **style)


def print_error(error: PdrmError) -> None:
    """The error on standard error, with the command that explains it."""
    for number, one in enumerate(error.errors):
        if number:
            typer.echo(err=True)
        said, mark, fix = str(one).rpartition("\n  fix: ")
        first, _, rest = f"{said}{mark}{fix}".partition("\n")
        typer.echo(coloured(first, fg="red", bold=True), err=True)
        if rest:
            typer.echo(rest, err=True)
    typer.echo(f"  more: pdrm explain {error.errors[0].code}", err=True)


def print_findings(findings: Sequence[Finding], *, err: bool = True) -> None:
    """Warnings, and once the command that explains them."""
    for finding in findings:
        typer.echo(str(finding), err=err)
    codes = list(dict.fromkeys(finding.code for finding in findings))
    if codes:
        others = f" (or {', '.join(codes[1:])})" if codes[1:] else ""
        typer.echo(f"  more: pdrm explain {codes[0]}{others}", err=err)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Have warnings about a task printed on standard error as errors are, not as Python prints a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TaskWarning)
        plain, told = warnings.showwarning, set[str]()

        def show(message: Warning | str, *details: Any) -> None:
            if isinstance(message, TaskWarning):
                typer.echo(str(message), err=True)
                if message.code not in told:
                    typer.echo(f"  more: pdrm explain {message.code}", err=True)
                told.add(message.code)
            else:
                plain(message, *details)

        warnings.showwarning = show  # type: ignore[assignment] # it passes on whatever it is given
        yield


def write_any_text() -> None:
    """Have what an encoding has no sign for written as an escape, on standard output and error: a message that names a file
    or a machine must not fail for that name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """One JSON value on standard output, in signs that its encoding has."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf_8")
    typer.echo(json.dumps(value, indent=2, ensure_ascii=plain))


def next_command(command: str, *names: object) -> None:
    """What one would do next, as the last line; on standard error, so that pipes stay clean.

    names: what stands for each `{}` of the command; quoted where the shell needs it.
    """
    said = command.format(*(quote(str(name)) for name in names)) if names else command
    typer.echo(coloured(f"next: {said}", dim=True), err=True)


NEAREST = 3
"""Runs that are named where the one that is asked for is not there."""


def name_runs(runs: list[Path] | None) -> list[Path]:
    """The runs that were given, by default those in `runs`: one is loaded, of several the error names the last. Where a run is missing and
    others are beside it, the error names the nearest."""
    from pdrm.learning.run_folder import SPEC

    for folder in runs or ():
        beside = (
            {}
            if folder.exists()
            else {file.parent.name: file.parent for file in folder.parent.glob(f"*/{SPEC}")}
        )
        nearest = get_close_matches(folder.name, beside, n=NEAREST, cutoff=0)
        if nearest:
            named = ", ".join(str(beside[name]) for name in nearest)
            raise BadRunFolder(
                f"there is no run {folder}", fix=f"the nearest that there are: {named}"
            )
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
    """Print on standard error what is more often a mistake in a task, unless JSON is printed, which is to have it; the records for that. Only once: the
    library is not to warn of it again."""
    from pdrm.product.task_findings import inspect_task

    own = not (task.catalogued and task.text is None)  # the catalogue's have nothing of it
    findings = inspect_task(task) if own else []
    task.warned = True
    print_findings(findings if not quiet else ())
    return [finding_record(finding) for finding in findings]


def finding_record(finding: Finding) -> dict[str, Any]:
    """One warning for programs."""
    return {"code": finding.code, **_place(finding.where), "message": finding.message}


def _place(where: Where | None) -> dict[str, int | str | None]:
    """Line and column, or for a value in JSON the keys that lead to it."""
    if where is None or not where.line:
        return {"line": None, "column": None, **({"path": where.path} if where is not None else {})}
    return {"line": where.line, "column": where.column}
