"""`python -m proofs [NAME …] [--budget 5m] [--workers N] [--fresh]`: run the proofs, resume them, say what holds."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from proofs.pool import MOST_WRONG, PROOFS, outcomes, proof_of
from proofs.proof import Proof
from proofs.record import FOLDER, Record, load, save, source_hash

UNITS = {"s": 1, "m": 60, "h": 3600}
QUIET_SECONDS = 10.0
"""Between two lines of progress where there is no terminal to redraw."""


class Show(Protocol):
    """Shows how far a proof is."""

    def __call__(self, name: str) -> None: ...


def main() -> int:
    """Run the proofs asked for; 1 if any is wrong, 130 if interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asked = _arguments()
    console = Console(highlight=False, soft_wrap=True)
    proofs = {name: proof_of(name) for name in asked.names if _present(name, console)}
    sources = {name: source_hash(proof.about) for name, proof in proofs.items()}
    _single_threaded(source_hash(tuple(sorted({folder for proof in proofs.values() for folder in proof.about}))))
    records = {name: Record(sources[name]) if asked.fresh else load(name, sources[name]) for name in proofs}
    earlier = sum(record.cases for record in records.values())
    console.print(f"{earlier:,} cases done before count (those of another state of the source do not)", markup=False)
    deadline = time.monotonic() + asked.budget
    interrupted = False
    try:
        with _shown(console, proofs, records) as show:
            for outcome in outcomes(proofs, records, asked.workers, deadline):
                records[outcome.name].add(outcome.seed, outcome.cases, outcome.seconds, outcome.message, outcome.counts)
                save(outcome.name, records[outcome.name])
                if outcome.message:
                    console.print(f"wrong   {outcome.name}, seed {outcome.seed}:\n{outcome.message}", markup=False)
                show(outcome.name)
    except KeyboardInterrupt:
        interrupted = True
    for name, proof in proofs.items():
        console.print(verdict(proof, records[name]), markup=False)
    if any(record.wrong for record in records.values()):
        return 1
    return 130 if interrupted else 0


def verdict(proof: Proof, record: Record) -> str:
    """One line: does the claim hold, on how many cases, in how much time of one core."""
    word, cases = "holds", f"{record.cases:,} cases"
    if record.wrong:
        word = "wrong"
    elif record.cases < proof.target:
        word, cases = "so far", f"{record.cases:,} of {proof.target:,} cases"
    wrong = f"{len(record.wrong)} wrong{' (stopped)' if len(record.wrong) >= MOST_WRONG else ''}"
    time_taken = f"{_duration(record.seconds)} of one core"
    beside = f" ({proof.say(record.counts)})" if record.counts else ""
    return f"{word:<7} {proof.name:<14} {cases}, {wrong}   {time_taken}   {proof.claim}{beside}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proofs", description="Run the long proofs; stop and resume at will."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all): {', '.join(PROOFS)}")
    parser.add_argument("--budget", type=_seconds, default=float("inf"), help="stop after this time: 30s, 5m, 8h")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    asked = parser.parse_args()
    asked.names = [name.replace("_", "-") for name in asked.names]
    unknown = [name for name in asked.names if name not in PROOFS]
    if unknown:
        parser.error(f"no proof is called {unknown[0]}; there are {', '.join(PROOFS)}")
    if asked.workers < 1:
        parser.error("--workers takes 1 or more")
    asked.names = list(dict.fromkeys(asked.names)) or list(PROOFS)
    return asked


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"`{text}` is no time: write 30s, 5m or 8h")
    return float(found[1]) * UNITS[found[2]]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"


def _present(name: str, console: Console) -> bool:
    module = PROOFS[name].partition(":")[0]
    if find_spec(module) is None:
        console.print(f"absent  {name:<14} there is no {module.replace('.', '/')}.py", markup=False)
        return False
    return True


def _single_threaded(source: str) -> None:
    """Workers inherit this. Kernels are compiled for this very source: Numba's own cache looks at one file's date only."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    kernels = FOLDER / f"kernels-{source}"
    for old in set(FOLDER.glob("kernels-*")) - {kernels}:
        shutil.rmtree(old, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(kernels)


@contextmanager
def _shown(console: Console, proofs: dict[str, Proof], records: dict[str, Record]) -> Iterator[Show]:
    """One bar a proof on a terminal, else a line now and then."""
    if not console.is_terminal:
        last = dict.fromkeys(proofs, time.monotonic())

        def line(name: str) -> None:
            if time.monotonic() - last[name] > QUIET_SECONDS:
                last[name] = time.monotonic()
                console.print(verdict(proofs[name], records[name]), markup=False)

        yield line
        return
    columns = TextColumn("{task.description:<14}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as progress:
        tasks = {
            name: progress.add_task(name, total=proof.target, completed=min(records[name].cases, proof.target))
            for name, proof in proofs.items()
        }
        yield lambda name: progress.update(tasks[name], completed=min(records[name].cases, proofs[name].target))


if __name__ == "__main__":
    sys.exit(main())
