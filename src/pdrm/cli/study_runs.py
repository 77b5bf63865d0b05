"""What `pdrm run` and `pdrm reproduce` share: the runs with their display, and how they end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from pdrm.cli.study_display import Watched, duration, shown
from pdrm.experiments.backends import Workers
from pdrm.experiments.execute import Failure, run_all
from pdrm.experiments.plan import planned
from pdrm.experiments.reproduce import Outcome, recorded_outcome, store_in
from pdrm.experiments.study import Study
from pdrm.files.folder import made

FAILED = 1
"""The exit code of a command some of whose runs failed."""
INTERRUPTED = 130


def run_shown(studies: Sequence[Study], folder: Path, workers: Workers) -> Outcome:
    """Do the runs, show how they go, write the tables; Ctrl-C ends the command and leaves everything to go on from."""
    store, runs = store_in(made(folder)), planned(studies)
    watched = Watched(runs, store, workers.at_most(len(runs)).count)
    to_do = len(runs) - len(watched.before)
    if watched.before:
        typer.echo(f"{len(watched.before):,} of {len(runs):,} runs were done before", err=True)
    failures: list[Failure] = []
    if to_do:
        guess = watched.seconds_left()
        typer.echo(f"{to_do:,} runs to do" + ("" if guess is None else f", about {duration(guess)}"), err=True)
        try:
            with shown(watched):
                failures = run_all(runs, store, workers)
        except KeyboardInterrupt:
            typer.echo(f"stopped; what was done is in {folder}, and the same command goes on from there", err=True)
            raise typer.Exit(INTERRUPTED) from None
    _tell(failures)
    return recorded_outcome(studies, folder, failures)


def end_if_failed(failures: Sequence[Failure]) -> None:
    """End the command with its exit code if a run failed."""
    if failures:
        raise typer.Exit(FAILED)


def _tell(failures: Sequence[Failure]) -> None:
    """Say which runs failed, if any."""
    if failures:
        typer.echo(f"{len(failures)} runs failed; the same command tries them again:", err=True)
    for failure in failures:
        typer.echo(f"  {failure.run.title}: {failure.sentence}", err=True)
