"""`pdrm reproduce`: the paper's tabular figures, the tables and claims from them, and the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import next_command
from pdrm.cli.study_options import CORES, Address, Backend, Count, Memory, Report, Seeds

if TYPE_CHECKING:
    from pdrm.experiments.claims.claim import Judged
    from pdrm.experiments.reproduce import Outcome

CLAIMS = "claims.json"


def reproduce(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="letter, maze, multi, deliver, paint, a panel such as maze-5x5; or water, water-tuned, water-strict, "
            "water-off-policy (deep agents). [all but water]"
        ),
    ] = None,
    seeds: Seeds = None,
    workers: Count = CORES,
    backend: Backend = "loky",
    address: Address = None,
    memory: Memory = None,
    output: Report = Path("report"),
) -> None:
    """Run the paper's experiments, judge its claims, write the report.

    Stop with Ctrl-C, go on with the same command. Example: pdrm reproduce letter --seeds 2
    """
    from pdrm.cli.claims import print_claims
    from pdrm.cli.study_runs import end_if_failed, run_shown
    from pdrm.experiments.backends import Workers
    from pdrm.experiments.paper.figures import figures
    from pdrm.experiments.paper.water import FIGURES

    named = figure or []
    deep = [name for name in named if name in FIGURES]
    tabular = [name for name in named if name not in FIGURES]
    chosen = Workers(count=workers, backend=backend, address=address, gigabytes=memory)
    studies = figures(tabular, seeds) if tabular or not deep else []
    if deep:
        from pdrm.cli.reproduce_water import reproduce_water

        reproduce_water(deep, seeds, output)
    outcome = run_shown(studies, output, chosen)
    names = {study.name for study in studies} | ({"water"} if deep else set())
    found = _judged(output, seeds, names if named else None)
    print_claims(found, details=False)
    _write_page(output, outcome, found, theory=not named)
    for name in ("curves.csv", "summary.csv", CLAIMS, "index.html"):
        typer.echo(f"wrote {output / name}")
    end_if_failed(outcome.failures)
    next_command("pdrm claims --details")


def _judged(output: Path, seeds: int | None, names: set[str] | None) -> Sequence[Judged]:
    """The claims by what is recorded (those about the figures that were asked for), also written as JSON."""
    from pdrm.experiments.claims.evidence import Evidence
    from pdrm.experiments.claims.register import judged
    from pdrm.experiments.reproduce import store_in
    from pdrm.files.whole_file import write

    found = judged(Evidence(store_in(output), output, seeds), names)
    text = json.dumps([one.record() for one in found], indent=1, ensure_ascii=False)
    write(output / CLAIMS, f"{text}\n".encode())
    return found


def _write_page(output: Path, outcome: Outcome, found: Sequence[Judged], *, theory: bool) -> None:
    """The report; what can be proved is part of the whole paper's only, since it takes a minute."""
    from pdrm.experiments.reproduce import store_in
    from pdrm.report.build import write_report

    if theory:
        typer.echo("proving which k is enough, counting tables (once)")
    write_report(outcome.lines, found, store_in(output), output, theory=theory)
