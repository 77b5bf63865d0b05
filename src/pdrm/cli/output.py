"""What the commands print: text for people (coloured only on a terminal), JSON for programs."""

from __future__ import annotations

import json
from typing import Any

import typer

from pdrm.errors import Finding, PdrmError


def print_error(error: PdrmError) -> None:
    """The error on standard error, with the command that explains it."""
    for number, one in enumerate(error.errors):
        if number:
            typer.echo(err=True)
        first, _, rest = str(one).partition("\n")
        typer.secho(first, fg="red", bold=True, err=True)
        if rest:
            typer.echo(rest, err=True)
    codes = dict.fromkeys(one.code for one in error.errors)
    typer.echo(f"  more: pdrm explain {next(iter(codes))}", err=True)


def print_json(value: Any) -> None:  # noqa: ANN401 - JSON is any value
    """One JSON value on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def next_command(command: str) -> None:
    """What one would do next, as the last line; on standard error, so that pipes stay clean."""
    typer.secho(f"next: {command}", dim=True, err=True)


def error_record(error: PdrmError) -> dict[str, Any]:
    """One error for programs."""
    line, column = (error.where.line, error.where.column) if error.where is not None else (None, None)
    return {"code": error.code, "line": line, "column": column, "message": error.message, "fix": error.fix}


def finding_record(finding: Finding) -> dict[str, Any]:
    """One warning for programs."""
    line, column = (finding.where.line, finding.where.column) if finding.where is not None else (None, None)
    return {"code": finding.code, "line": line, "column": column, "message": finding.message}
