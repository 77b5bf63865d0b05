"""Progress of long work: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pdrm.bench.bench_record import Told
from pdrm.experiments.execution import SECONDS_UNKNOWN, Planned
from pdrm.experiments.sinks import known_sink, sink_for, together
from pdrm.experiments.store import Store
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.run import Result, RunSpec, Watch, execute, is_done
from pdrm.learning.tabular.training import Test

# --- How a study's runs go, while they go: one bar on a terminal, a line now and then elsewhere.
#
# What it shows is read from the store, so it is the same whatever the workers are and wherever they are.

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_LINES = 15.0
SHOWN_RUNS = 2


@dataclass(slots=True)
class Watched:
    """What is known about the runs: done (now and before), under way, failed, and how long the rest may take."""

    runs: list[Planned]
    store: Store
    workers: int
    began: float = field(default_factory=time.time)
    done: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    under_way: list[Planned] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.look()
        self.before = set(self.done)

    def look(self) -> list[Planned]:
        """Look at the store; returns the runs that have failed since the last look."""
        left = [run for run in self.runs if run.spec.id not in self.done]
        self.done |= {run.spec.id for run in left if self.store.done(run.spec)}
        begun = [run for run in left if self.store.begun_since(run.spec, self.began)]
        messages = {run.spec.id: self.store.failure(run.spec) for run in begun}
        new = [run for run in begun if messages[run.spec.id] and run.spec.id not in self.failed]
        self.failed |= {run.spec.id: messages[run.spec.id] for run in new}
        self.under_way = [run for run in begun if not messages[run.spec.id]]
        return new

    def seconds_left(self) -> float | None:
        """A guess from how long the runs done so far took, those under way being half done; before the first is done, from the
        lines' own guesses; None: nothing is known. Where no line has a guess, runs count by
        their episodes."""
        guessed = any(run.seconds is not None for run in self.runs)
        work = {
            run.spec.id: (SECONDS_UNKNOWN if run.seconds is None else run.seconds)
            if guessed
            else float(run.spec.settings.episodes)
            for run in self.runs
        }
        half = sum(work[run.spec.id] for run in self.under_way) / 2
        now = sum(work[name] for name in self.done - self.before)
        rest = sum(value for name, value in work.items() if name not in self.done and name not in self.failed) - half
        if now:
            return rest * (time.time() - self.began) / (now + half)
        return rest / self.workers if guessed else None

    def words(self) -> str:
        """Under way, failed and left, in words."""
        shown = ", ".join(run.title for run in self.under_way[:SHOWN_RUNS])
        more = f" and {len(self.under_way) - SHOWN_RUNS} more" if len(self.under_way) > SHOWN_RUNS else ""
        parts = [f"running {shown}{more}" if shown else "", f"{len(self.failed)} failed" if self.failed else ""]
        left = self.seconds_left()
        return "; ".join(part for part in (*parts, "" if left is None else f"about {duration(left)} left") if part)


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(12), duration(200)
    ('12 s', '3 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def shown(watched: Watched) -> Iterator[None]:
    """Show how the runs go until the end of the block."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    stop = threading.Event()
    with _bar(console, watched) as show:

        def watch() -> None:
            while not stop.wait(SECONDS_BETWEEN_LOOKS):
                _tell_failures(console, watched)
                show(False)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            _tell_failures(console, watched)
            show(True)


def _tell_failures(console: Console, watched: Watched) -> None:
    for run in watched.look():
        console.print(f"failed: {run.title}\n{watched.failed[run.spec.id]}", markup=False)


class Show:
    """Shows what is known: a line now and then."""

    def __init__(self, console: Console, watched: Watched) -> None:
        self.console, self.watched, self.last = console, watched, time.monotonic()

    def __call__(self, at_last: bool) -> None:
        """Show it, if it is time or the last time."""
        if at_last or time.monotonic() - self.last > SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            watched = self.watched
            rest = "" if at_last else f"; {watched.words()}"
            self.console.print(f"{len(watched.done):,} of {len(watched.runs):,} runs done{rest}", markup=False)


@contextmanager
def _bar(console: Console, watched: Watched) -> Iterator[Show]:
    if not console.is_terminal:
        yield Show(console, watched)
        return
    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as bars:
        task = bars.add_task("", total=len(watched.runs), completed=len(watched.done))

        class Bar(Show):
            def __call__(self, at_last: bool) -> None:
                words = "" if at_last else watched.words()
                bars.update(task, completed=len(watched.done), description=words)

        yield Bar(console, watched)


# --- Training runs on the terminal: one bar a seed, with the return, ε, the speed and the size of the table.


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
        steps = int(training.progress.ints[at.ALL_STEPS])
        self.before = self.before or steps
        speed = (steps - self.before) / max(1e-9, time.monotonic() - self.began)
        note = (
            f"return {tests[-1].returns.mean():g}  ε {training.progress.floats[at.EPSILON]:.3f}  "
            f"{speed / 1e6:.1f} M steps/s  {int(training.values.index.used[0]):,} rows"
        )
        self.bars.update(self.task, completed=training.episodes, note=note)


# --- How benches go, while they go: a bar on a terminal, a line for each part elsewhere.


@contextmanager
def measuring(benches: Sequence[str]) -> Iterator[Callable[[str], Told]]:
    """Show how the benches go until the end of the block; what it gives makes a bench's own `told`."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda name: lambda what, done: console.print(f"{name}: {done:4.0%} {what}")
        return
    columns = (TextColumn("{task.fields[name]:>8}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=len(benches), name="")

        def of(name: str) -> Told:
            number = benches.index(name)
            return lambda what, done: bars.update(task, completed=number + done, name=name, description=what)

        yield of
