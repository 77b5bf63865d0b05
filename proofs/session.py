"""One session of proofs: go on from what is recorded, share the time, record every check, and say in the end what holds."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

from pdrm.errors import CannotWrite
from proofs.proof import CheckResult, Proof
from proofs.record import Record, load, missing, save
from proofs.source import COMPILED, Sources
from proofs.workers import Worker, run_checks

if TYPE_CHECKING:
    from rich.console import Console

MOST_WRONG = 3
"""Failed checks after which a proof is not tried further: by then it is the program that is wrong."""
QUIET_SECONDS = 30.0
"""Between two lines where there is no terminal on which to redraw the table."""


def duration(seconds: float) -> str:
    """A time, short.

    >>> duration(0.4), duration(72), duration(8 * 3600)
    ('0s', '1m12s', '8h00m')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


class Progress:
    """How far one proof is: its record, and what it has had in this session."""

    def __init__(self, proof: Proof, record: Record) -> None:
        self.proof, self.record = proof, record
        self.begun = self.running = 0
        self.seconds = 0.0
        done = set(record.done)
        self._seeds = (seed for seed in count() if seed not in done)

    def begin(self) -> tuple[Proof, int]:
        """A check that was not tried yet."""
        self.begun += 1
        self.running += 1
        return self.proof, next(self._seeds)

    def end(self, result: CheckResult, session: str) -> None:
        """Count a check that came back."""
        self.running -= 1
        self.seconds += result.seconds
        self.record.add(result, session)

    @property
    def expected(self) -> float:
        """Seconds that its next check should take; 0 before the first."""
        return self.record.seconds / max(1, len(self.record.done))

    @property
    def had(self) -> float:
        """Seconds of this session that it has had, checks under way included, for each unit of its share."""
        return (self.seconds + self.running * self.expected) / self.proof.share

    @property
    def finished(self) -> bool:
        """Whether it needs no more checks than those under way."""
        coming = self.running * self.record.cases / max(1, len(self.record.done))
        return (
            self.record.cases + coming >= self.proof.target or len(self.record.wrong) >= MOST_WRONG
        )

    @property
    def verdict(self) -> str:
        """Whether the promise holds, in a word or two."""
        if self.record.wrong:
            return "wrong" if len(self.record.wrong) < MOST_WRONG else "wrong, stopped"
        return (
            "holds"
            if self.record.cases >= self.proof.target
            else "so far"
            if self.record.cases
            else "untried"
        )

    def row(self) -> list[str]:
        """It in the table."""
        record, proof = self.record, self.proof
        of = f" of {proof.target:,}" if record.cases < proof.target else ""
        speed = record.cases / max(1e-9, record.seconds)
        shown = f"{speed:,.0f} /s" if speed >= 100 else f"{speed:.2g} /s"
        return [proof.name, self.verdict, f"{record.cases:,}{of}", str(len(record.wrong)), shown]


def choose(everyone: Sequence[Progress], left: float) -> Progress | None:
    """Who is served next, with so many seconds to go: everyone once, then whoever has had the least time for its share.

    So all get the time that their shares say, and one that is finished leaves its own to the others. A check that would not end in time, judged by
    those before it, is not begun.
    """
    fitting = [one for one in everyone if not one.finished and one.expected <= left]
    return min(fitting, key=lambda one: (one.begun > 0, one.had), default=None)


class Session:
    """The proofs whose packages are there, and their records."""

    def __init__(self, console: Console, proofs: Sequence[Proof], folder: Path) -> None:
        self.console, self.folder, self.sources = console, folder, Sources()
        self.name = datetime.now(UTC).isoformat(timespec="seconds")
        present = [proof for proof in proofs if not missing(proof)]
        self.all = {
            proof.name: Progress(proof, load(proof, self.sources, folder)) for proof in present
        }
        for proof in proofs:
            for package in missing(proof):
                self._say(
                    f"left out {proof.name}: {package} is not installed (`make prove` installs it)"
                )

    def run(self, budget: float, workers: int) -> int:
        """Run them for so many seconds at most; 1 if anything is wrong, 130 if interrupted."""
        self._say(
            f"{self._cases():,} cases of earlier sessions count (those of another source do not)"
        )
        self.begun, self.budget, code = time.monotonic(), budget, 0
        with self._alone(), self._workers(workers) as found:
            try:
                with Live(
                    console=self.console,
                    get_renderable=self.table,
                    refresh_per_second=2,
                    transient=True,
                ):
                    self._follow(run_checks(self._next, found))
            except KeyboardInterrupt:
                code = 130
        self.console.print(self.table())
        now = Sources()
        changed = [
            name
            for name, one in self.all.items()
            if now.digest(one.proof.parts) != one.record.source
        ]
        if changed:
            self._say(
                f"their source changed meanwhile, so these cases no longer count: {', '.join(changed)}"
            )
        wrong = [one.proof.again(seed) for one in self.all.values() for seed in one.record.wrong]
        for command in wrong:
            self._say(f"wrong: to see it again, {command}")
        return 1 if wrong else code

    def _next(self) -> tuple[Proof, int] | None:
        chosen = choose(list(self.all.values()), self.begun + self.budget - time.monotonic())
        return chosen.begin() if chosen else None

    def _follow(self, results: Iterator[CheckResult]) -> None:
        """Record every result, show a wrong one at once and in full, and say now and then how far we are."""
        told = self.begun
        for result in results:
            one = self.all[result.name]
            one.end(result, self.name)
            save(one.proof, one.record, self.folder)
            if result.message:
                self._say(f"wrong   {result.name}, seed {result.seed}:\n{result.message}")
            if not self.console.is_terminal and time.monotonic() - told > QUIET_SECONDS:
                told = time.monotonic()
                self._say(self.title())

    def table(self) -> Table:
        """A row per proof; those under way are bold."""
        table = Table(
            title=self.title(), title_justify="left", title_style="", box=None, pad_edge=False
        )
        for heading in ("proof", "", "tried", "wrong", "speed"):
            table.add_column(
                heading, justify="right" if heading in ("wrong", "speed") else "left", no_wrap=True
            )
        for one in self.all.values():
            style = "red" if one.record.wrong else "bold" if one.running else ""
            table.add_row(*one.row(), style=style)
        return table

    def title(self) -> str:
        """All of it in a line."""
        passed = duration(time.monotonic() - self.begun)
        until = "" if self.budget == float("inf") else f" of {duration(self.budget)}"
        wrong = sum(len(one.record.wrong) for one in self.all.values())
        return f"{passed}{until}, {self._cases():,} cases, {wrong} wrong (Ctrl-C keeps them)"

    def _cases(self) -> int:
        return sum(one.record.cases for one in self.all.values())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two sessions at once would replace each other's records."""
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                fault = f"another session is recording in {self.folder}"
                raise CannotWrite(
                    fault, fix="wait for it to end, or stop it: it keeps what it did"
                ) from None
            yield

    @contextmanager
    def _workers(self, count: int) -> Iterator[list[Worker]]:
        """Processes with a cache of kernels for this very source: Numba's own looks at the date of one file only."""
        kernels = self.folder / f"kernels-{self.sources.digest(COMPILED)}"
        for old in set(self.folder.glob("kernels-*")) - {kernels}:
            shutil.rmtree(old, ignore_errors=True)
        logs = (self.folder / f"worker-{number}.log" for number in range(count))
        workers = [Worker(log, {"NUMBA_CACHE_DIR": str(kernels)}) for log in logs]
        try:
            yield workers
        finally:
            for worker in workers:
                worker.stop()

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False)
