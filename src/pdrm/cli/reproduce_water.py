"""`pdrm reproduce water`: WaterWorld's deep agents on whatever device JAX sees; what `pdrm.cli.reproduce` hands over to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pdrm.cli.study_runs import INTERRUPTED
from pdrm.cli.train_deep import prepare_jax
from pdrm.errors import BadSetting
from pdrm.experiments.paper.water import FIGURES, Program
from pdrm.experiments.study import MOST_SEEDS, too_many_seeds
from pdrm.experiments.water_records import OWN

if TYPE_CHECKING:
    from pdrm.experiments.water_runs import Told

SEEDS = 10


def reproduce_water(names: Sequence[str], seeds: int | None, output: Path) -> None:
    """Train and test the agents of some studies; records go to the report's folder."""
    count = SEEDS if seeds is None else seeds
    if count < 1:
        raise BadSetting("--seeds takes a whole number from 1 on", fix="--seeds 2")
    if count > MOST_SEEDS:
        raise too_many_seeds(count)
    prepare_jax()
    from pdrm.experiments.water_runs import programs_of, record
    from pdrm.learning.deep.device import device_name, on_accelerator

    for name in names:
        programs = programs_of(FIGURES[name], tuple(range(count)))
        steps = sum(run.total_timesteps for program in programs for run in program.runs)
        typer.echo(f"{name}: {steps / 1e6:,.0f} million steps on {device_name()}", err=True)
        if not on_accelerator():
            typer.echo("  without a GPU this takes hours; Ctrl-C stops it, and the same command goes on", err=True)
        command = f"pdrm reproduce {name} --seeds {count}"
        try:
            with _shown() as told:
                record(FIGURES[name], programs, output / OWN, command, told)
        except KeyboardInterrupt:
            typer.echo(
                f"stopped; what was done is in {output / OWN}, and the same command goes on from there", err=True
            )
            raise typer.Exit(INTERRUPTED) from None
        typer.echo(f"wrote {output / OWN}/water-{FIGURES[name]}-*.csv")


@contextmanager
def _shown() -> Iterator[Told]:
    """A bar a program on a terminal; elsewhere a line a test."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:
        tasks = {}

        def told(program: Program, timesteps: int, longest: int) -> None:
            if program.name not in tasks:
                text = f"{program.name}, {len(program.runs)} runs side by side"
                tasks[program.name] = bars.add_task(text, total=longest, completed=timesteps)
            bars.update(tasks[program.name], completed=timesteps)

        yield told


def _line(program: Program, timesteps: int, longest: int) -> None:
    typer.echo(f"{program.name}: {timesteps:,} of {longest:,} steps, {len(program.runs)} runs side by side", err=True)
