"""`pdrm claims`: what the paper says, and what the recorded runs say about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import coloured, next_command, print_json
from pdrm.cli.study_options import AsJson, Report, Seeds
from pdrm.errors import NotRecorded

if TYPE_CHECKING:
    from pdrm.experiments.claims.claim import Judged, Part

COLOURS = {"holds": "green", "does not hold": "red", "not run": "yellow"}


def claims(
    output: Report = Path("report"),
    seeds: Seeds = None,
    details: Annotated[bool, typer.Option("--details", help="The numbers of every part.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge the paper's claims by the runs that are recorded.

    Example: pdrm claims --details
    """
    from pdrm.experiments.claims.evidence import Evidence
    from pdrm.experiments.claims.register import judged
    from pdrm.experiments.reproduce import store_in

    evidence = Evidence(store_in(output), output, seeds)
    if not evidence.anything:
        raise NotRecorded(f"{output} holds no runs of the paper's figures", fix="pdrm reproduce letter --seeds 2")
    found = judged(evidence)
    if as_json:
        print_json([one.record() for one in found])
        return
    print_claims(found, details=details)
    missing = next((one.claim.figure for one in found if one.verdict == "not run"), "")
    next_command(f"pdrm reproduce {missing}" if missing else "pdrm claims --details")


def print_claims(found: Sequence[Judged], *, details: bool) -> None:
    """A line a claim, one for too few seeds, one for what was chosen after seeing results, and one a part that fails (or, with
    details, every part)."""
    for one in found:
        typer.echo(f"{coloured(f'{one.verdict:<14}', fg=COLOURS[one.verdict])} {one.claim.id:<14} {one.claim.text}")
        if one.too_few:
            typer.echo(f"{'':<15}judged by {one.too_few} only")
        if one.claim.afterwards:
            typer.echo(f"{'':<15}chosen after seeing results: {one.claim.afterwards}")
        for part in one.parts:
            if details or not part.holds:
                typer.echo(f"{'':<15}{'holds' if part.holds else 'fails'}: {part.text} ({_numbers(part)})")


def _numbers(part: Part) -> str:
    return ", ".join(
        f"{name} {'never' if value is None else f'{value:g}' if isinstance(value, float) else value}"
        for name, value in part.numbers.items()
        if not isinstance(value, dict | list)
    )
