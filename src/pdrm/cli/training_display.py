"""Training runs on the terminal: one bar a seed, with the return, ε, the speed and the size of the table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pdrm.experiments.sinks import known_sink, sink_for, together
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.run import Result, RunSpec, Watch, execute, is_done
from pdrm.learning.tabular.training import Test


def run_all(
    specs: list[RunSpec], folders: list[Path], workers: int, *, log: str | None = None, quiet: bool
) -> list[Result]:
    """Execute the runs, one after the other or several at a time; the results are the same."""
    done = [is_done(folder) for folder in folders]
    logged = partial(_logged, log if log is None else known_sink(log))
    console = Console(stderr=True, highlight=False)
    if workers > 1 and len(specs) > 1:
        with ProcessPoolExecutor(min(workers, len(specs)), mp_context=get_context("spawn")) as pool:
            results = list(pool.map(partial(_unless_stopped, logged), specs, folders))
    elif quiet or not console.is_terminal:
        results = [logged(spec, folder) for spec, folder in zip(specs, folders, strict=True)]
    else:
        results = _with_bars(specs, folders, console, log)
    if not quiet:
        for result, folder, before in zip(results, folders, done, strict=True):
            last = result.tests[-1]
            typer.echo(
                f"seed {result.spec.seed}: {last.episode:,} episodes, final test return {last.returns.mean():g}, "
                f"{result.rows:,} table rows {'(done before) ' if before else ''}-> {folder}"
            )
    return results


_STOPPED = threading.Event()
"""In a worker: Ctrl-C was pressed, and runs that were handed to it already are not begun."""


def _unless_stopped(run: Callable[[RunSpec, Path], Result], spec: RunSpec, folder: Path) -> Result:
    if _STOPPED.is_set():
        raise KeyboardInterrupt
    try:
        return run(spec, folder)
    except KeyboardInterrupt:
        _STOPPED.set()
        raise


def _logged(log: str | None, spec: RunSpec, folder: Path, watch: Watch | None = None) -> Result:
    """Execute a run, and log its tests with the tool of that name; a run that is done has none left to log."""
    watches = [] if watch is None else [watch]
    if log is None or is_done(folder):
        return execute(spec, folder, watch)
    with sink_for(log, folder, folder.name, spec.record()) as sink:
        return execute(spec, folder, together(*watches, sink))


def _with_bars(specs: list[RunSpec], folders: list[Path], console: Console, log: str | None) -> list[Result]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:
        results = []
        for spec, folder in zip(specs, folders, strict=True):
            task = bars.add_task(f"seed {spec.seed}", total=spec.settings.episodes, note="")
            results.append(_logged(log, spec, folder, _Watch(bars, task)))
        return results


class _Watch:
    """Moves a bar after every test."""

    def __init__(self, bars: Progress, task: TaskID) -> None:
        self.bars, self.task = bars, task
        self.began, self.before = time.monotonic(), 0

    def __call__(self, training: AnyTraining, tests: list[Test]) -> None:
        """Show where a run stands."""
        steps = int(training.progress.whole[at.ALL_STEPS])
        self.before = self.before or steps
        speed = (steps - self.before) / max(1e-9, time.monotonic() - self.began)
        note = (
            f"return {tests[-1].returns.mean():g}  ε {training.progress.real[at.EPSILON]:.3f}  "
            f"{speed / 1e6:.1f} M steps/s  {int(training.values.index.used[0]):,} rows"
        )
        self.bars.update(self.task, completed=training.episodes, note=note)
