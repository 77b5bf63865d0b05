"""How a study's runs go, while they go: one bar on a terminal, a line now and then elsewhere.

What it shows is read from the store, so it is the same whatever the workers are and wherever they are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pdrm.experiments.plan import SECONDS_UNKNOWN, Planned
from pdrm.experiments.store import Store

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
