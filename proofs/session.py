"""One session of proofs: go on from what is recorded, record every check, and say in the end what holds."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pdrm.errors import CannotWrite
from proofs.budget import duration
from proofs.display import Display, again
from proofs.pool import outcomes
from proofs.proof import Proof
from proofs.record import Record, fresh_record, load, missing, save
from proofs.shares import MOST_WRONG, Shares
from proofs.source import Sources

if TYPE_CHECKING:
    from rich.console import Console


class Session:
    """The proofs whose packages are there, and their records."""

    def __init__(self, console: Console, proofs: Sequence[Proof], folder: Path, *, fresh: bool = False) -> None:
        self.console, self.folder, self.source = console, folder, Sources()
        self.proofs = {proof.name: proof for proof in proofs if self._present(proof)}
        self.digests = {name: self.source.digest(proof) for name, proof in self.proofs.items()}
        recorded = fresh_record if fresh else self._recorded
        self.records = {name: recorded(proof, self.digests[name]) for name, proof in self.proofs.items()}
        self.begun = datetime.now(UTC).isoformat(timespec="seconds")

    def run(self, budget: float, workers: int) -> int:
        """Run them for so many seconds at most; 1 if anything is wrong, 130 if interrupted."""
        earlier, code = sum(record.cases for record in self.records.values()), 0
        self._say(f"{earlier:,} cases of earlier sessions count (those of another source do not)")
        shares, deadline = Shares(self.proofs, self.records), time.monotonic() + budget
        with self._alone():
            found = outcomes(shares, workers, deadline, {"NUMBA_CACHE_DIR": str(self._kernels())})
            try:
                with closing(found), Display(self.console, shares, budget, workers) as display:
                    for outcome in found:
                        self.records[outcome.name].add(outcome, self.begun)
                        save(self.proofs[outcome.name], self.records[outcome.name], self.folder)
                        display.came(outcome)
            except KeyboardInterrupt:
                code = 130
        self._sum_up()
        return 1 if any(record.wrong for record in self.records.values()) else code

    def _sum_up(self) -> None:
        """A line a proof, how to repeat what went wrong, and which source changed meanwhile."""
        for name, proof in self.proofs.items():
            self._say(verdict(proof, self.records[name]))
        for name, proof in self.proofs.items():
            for seed in self.records[name].wrong:
                self._say(f"wrong: to see it again, {again(proof, seed)}")
        now = Sources()
        changed = [name for name, proof in self.proofs.items() if now.digest(proof) != self.digests[name]]
        if changed:
            self._say(f"their source changed meanwhile, so these cases count no more: {', '.join(changed)}")

    def _recorded(self, proof: Proof, source: str) -> Record:
        return load(proof, source, self.folder)

    def _present(self, proof: Proof) -> bool:
        for package in missing(proof):
            self._say(f"left out {proof.name}: {package} is not installed (`make prove` installs it)")
            return False
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two sessions at once would replace each other's records."""
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                fault = f"another session is recording in {self.folder}"
                raise CannotWrite(fault, fix="wait for it to end, or stop it: it keeps what it did") from None
            yield

    def _kernels(self) -> Path:
        """Where Numba keeps what it compiles for this very source."""
        kernels = self.folder / f"kernels-{self.source.kernels()}"
        for old in set(self.folder.glob("kernels-*")) - {kernels}:
            shutil.rmtree(old, ignore_errors=True)
        return kernels

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False)


def verdict(proof: Proof, record: Record) -> str:
    """One line: does the promise hold, on how many cases, in how much time."""
    word, cases = "holds", f"{record.cases:,} {proof.unit}"
    if record.wrong:
        word = "wrong"
    elif record.cases < proof.target:
        word, cases = "so far" if record.cases else "untried", f"{record.cases:,} of {proof.target:,} {proof.unit}"
    wrong = f"{len(record.wrong)} wrong{' (stopped)' if len(record.wrong) >= MOST_WRONG else ''}"
    beside = f" ({proof.say(record.counts)})" if record.counts else ""
    return f"{word:<7} {proof.name:<14} {cases}, {wrong}, {duration(record.seconds)} of one process. {proof.promise}{beside}"
