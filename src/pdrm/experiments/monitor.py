"""How the runs of a study go, while they go. What is shown is read from the store, so it is the same whatever the workers are and
wherever they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pdrm.experiments.execution import Planned
from pdrm.experiments.store import Store
from pdrm.learning.curve import format_return
from pdrm.progress import duration, say, show_progress

SECONDS_BETWEEN_LOOKS = 0.5
SHOWN_RUNS = 2
SECONDS_WITHOUT_NEWS = 3.0
"""After which it is said why."""


@dataclass(slots=True)
class Monitor:
    """What is known about the runs: done (now and before), under way and how far, failed, and how long the rest may take."""

    runs: list[Planned]
    store: Store
    workers: int
    began: float = field(default_factory=time.time)
    done: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    under_way: list[Planned] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    """How far each run under way is, from 0 to 1."""
    returns: dict[str, float] = field(default_factory=dict)
    resumed: dict[str, float] = field(default_factory=dict)
    """How far the runs that go on were, when it began."""

    def __post_init__(self) -> None:
        self.look()
        self.before = set(self.done)
        for run in self.runs:
            if run.spec.id not in self.done and self.store.kept(run.spec):
                self._note(run)
        self.resumed = dict(self.shares)

    def look(self) -> list[Planned]:
        """Look at the store; returns the runs that have failed since the last look."""
        left = [run for run in self.runs if run.spec.id not in self.done]
        self.done |= {run.spec.id for run in left if self.store.done(run.spec)}
        begun = [run for run in left if self.store.begun_since(run.spec, self.began)]
        messages = {run.spec.id: self.store.failure(run.spec) for run in begun}
        new = [run for run in begun if messages[run.spec.id] and run.spec.id not in self.failed]
        self.failed |= {run.spec.id: messages[run.spec.id] for run in new}
        self.under_way = [run for run in begun if not messages[run.spec.id]]
        for run in self.under_way:
            self._note(run)
        return new

    def _note(self, run: Planned) -> None:
        """Note how far a run is; before the first test of this sitting, as far as it was."""
        found = self.store.progress(run.spec)
        if found:
            self.shares[run.spec.id] = found["done"] / found["total"]
            self.returns[run.spec.id] = found["return"]

    @property
    def amount(self) -> float:
        """How many runs are done, those begun by their share."""
        return len(self.done) + sum(
            share for name, share in self.shares.items() if name not in self.done | {*self.failed}
        )

    def seconds_left(self) -> float | None:
        """A guess from what was done since the beginning; before that, from the lines' own guesses; None: nothing is known."""
        guessed = any(run.seconds is not None for run in self.runs)
        work = {
            run.spec.id: run.guess if guessed else float(run.spec.agent.total) for run in self.runs
        }
        work = {name: value * (1 - self.resumed.get(name, 0.0)) for name, value in work.items()}
        part = sum(work[run.spec.id] * self._share_now(run.spec.id) for run in self.under_way)
        now = sum(work[name] for name in self.done - self.before)
        rest = (
            sum(
                value
                for name, value in work.items()
                if name not in self.done and name not in self.failed
            )
            - part
        )
        if now or any(
            self.shares.get(run.spec.id, 0.0) > self.resumed.get(run.spec.id, 0.0)
            for run in self.under_way
        ):
            return max(0.0, rest) * (time.time() - self.began) / (now + part)
        return rest / self.workers if guessed else None

    def _share_now(self, name: str) -> float:
        """How much is done of what was left of a run when it began."""
        if name not in self.shares:
            return 0.5
        before = self.resumed.get(name, 0.0)
        return max(0.0, self.shares[name] - before) / (1 - before) if before < 1 else 1.0

    def words(self) -> str:
        """Under way, failed and left, in words."""
        paid = {name: f" (return {format_return(gained)})" for name, gained in self.returns.items()}
        shown = ", ".join(
            f"{run.title}{paid.get(run.spec.id, '')}" for run in self.under_way[:SHOWN_RUNS]
        )
        more = (
            f" and {len(self.under_way) - SHOWN_RUNS} more"
            if len(self.under_way) > SHOWN_RUNS
            else ""
        )
        left = self.seconds_left()
        parts = (
            f"{len(self.done):,} of {len(self.runs):,} run{'s' * (len(self.runs) != 1)} done",
            f"running {shown}{more}" if shown else "",
            f"{len(self.failed)} failed" if self.failed else "",
            ""
            if left is None or len(self.done) == len(self.runs)
            else f"about {duration(left)} left",
            self._explain_wait(),
        )
        return "; ".join(part for part in parts if part)

    def _explain_wait(self) -> str:
        """Why nothing may have happened yet."""
        waits = self.under_way and not self.shares and self.done == self.before
        late = time.time() - self.began > SECONDS_WITHOUT_NEWS
        return (
            "the first run after an installation is compiled first, for up to a minute"
            if waits and late
            else ""
        )


@contextmanager
def monitor(
    runs: list[Planned], store: Store, workers: int, *, quiet: bool = False, announce: bool = False
) -> Iterator[None]:
    """Show how the runs go until the end of the block; `announce`: first say how many there are to do."""
    watched, stop = Monitor(runs, store, workers), threading.Event()
    if announce and not quiet:
        done, left = len(watched.done), watched.seconds_left()
        if done:
            say(
                f"{done:,} of {len(runs):,} run{'s' * (len(runs) != 1)} {'were' if done != 1 else 'was'} done before"
            )
        if done < len(runs):
            rest = len(runs) - done
            resumed = (
                f", {len(watched.resumed)} of them from where they were stopped"
                if watched.resumed
                else ""
            )
            about = "" if left is None else f", about {duration(left)}"
            say(f"{rest:,} run{'s' * (rest != 1)} to do{resumed}{about}")
    with show_progress(len(runs), "runs", quiet=quiet) as update:

        def look() -> None:
            for run in watched.look():
                say(f"failed: {run.title}\n{watched.failed[run.spec.id]}")
            update(watched.amount, watched.words())

        def watch() -> None:
            while not stop.wait(SECONDS_BETWEEN_LOOKS):
                look()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            look()
