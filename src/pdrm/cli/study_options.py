"""The options of every command that runs studies."""

import os
from pathlib import Path
from typing import Annotated

import typer

CORES = os.cpu_count() or 1
Seeds = Annotated[int | None, typer.Option("--seeds", help="How many seeds. [the study's]")]
Count = Annotated[int, typer.Option("--workers", help="Runs at a time.")]
Backend = Annotated[str, typer.Option("--backend", help="loky (this machine), dask or ray.")]
Address = Annotated[str | None, typer.Option("--address", help="Of a Dask scheduler or a Ray cluster that is there.")]
Memory = Annotated[float | None, typer.Option("--memory", help="Gigabytes that all runs may take at once.")]
Report = Annotated[Path, typer.Option("-o", "--output", help="The folder for runs, tables and the report.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
