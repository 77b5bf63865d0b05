"""`pdrm run`: a study of one's own, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.output import next_command, print_json
from pdrm.cli.study_options import CORES, Address, AsJson, Backend, Count, Memory, Seeds

if TYPE_CHECKING:
    from pdrm.experiments.curves import Curves


def run(
    study: Annotated[Path, typer.Argument(help="A study: a .toml file, or a .py file that sets STUDY.")],
    seeds: Seeds = None,
    workers: Count = CORES,
    backend: Backend = "loky",
    address: Address = None,
    memory: Memory = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The folder for runs and tables. [runs/NAME]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a study; stop with Ctrl-C, go on with the same command.

    Example: pdrm run study.toml --seeds 5 --workers 4
    """
    from pdrm.cli.study_runs import end_if_failed, run_shown
    from pdrm.experiments.backends import Workers
    from pdrm.experiments.files import load_study
    from pdrm.experiments.reproduce import store_in
    from pdrm.experiments.tables import CURVES, SUMMARY
    from pdrm.report.own_study import write_own_report

    chosen = Workers(count=workers, backend=backend, address=address, gigabytes=memory)
    asked = load_study(study).seeded(seeds)
    outcome = run_shown([asked], output or Path("runs") / asked.name, chosen)
    drawn = write_own_report(outcome.lines, store_in(outcome.folder), outcome.folder) if outcome.lines else []
    rows = [_row(curves) for _, curves in outcome.lines]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            typer.echo(
                f"{row['panel']:<16}{row['line']:<30}final median return {row['final_median']:<12g}"
                f"success {row['final_success']:.0%} of {row['seeds']} seeds' final tests"
            )
        for path in (outcome.folder / CURVES, outcome.folder / SUMMARY, *drawn):
            typer.echo(f"wrote {path}")
    end_if_failed(outcome.failures)
    if not as_json:
        next_command(f"pdrm replay {next(iter(sorted((outcome.folder / 'runs').iterdir())))}")


def _row(curves: Curves) -> dict[str, Any]:
    return {
        "panel": curves.panel.name,
        "line": curves.line.name,
        "seeds": len(curves.seeds),
        "final_median": curves.final_median,
        "final_success": float(curves.final_success.mean()),
    }
