"""Checks in worker processes, each with one thread and in a session of its own: Ctrl-C reaches them only through us.

A check that ends its process (a crash in compiled code, say) is tried once more in a fresh one before it counts as wrong.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # ships no types

from proofs.proof import CheckResult, Proof, run_check

PATIENCE = 5.0
"""Seconds that a check has to tidy up when it is stopped."""
MOST_SAID = 2_000
"""Characters that are shown of what a check printed before its process died."""
ONE_THREAD = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
    ),
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class Worker:
    """One process, and the file that takes what its checks print: on the terminal it would tear the display."""

    def __init__(self, log: Path, environment: Mapping[str, str]) -> None:
        self.log, self.environment = log, {**ONE_THREAD, **environment}
        self._start()

    def _start(self) -> None:
        self.log.write_bytes(b"")
        begin = (str(self.log), self.environment)
        self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, begin)
        self.pid = self.pool.submit(os.getpid)

    def submit(self, proof: Proof, seed: int) -> Future[CheckResult]:
        """Have it run a check."""
        return self.pool.submit(run_check, proof, seed)

    def restart(self) -> str:
        """Replace the process, which died; returns the last that it printed."""
        printed = self.log.read_text(errors="replace").strip()
        self.pool.shutdown()
        self._start()
        return printed[-MOST_SAID:]

    def stop(self) -> None:
        """End the process and whatever it started; a check under way has a moment to tidy up."""
        with suppress(BrokenProcessPool, psutil.Error):
            process = psutil.Process(self.pid.result())
            family = process.children(recursive=True)
            process.terminate()
            too_late = threading.Timer(PATIENCE, process.kill)
            too_late.start()
            self.pool.shutdown(cancel_futures=True)
            too_late.cancel()
            for one in family:
                with suppress(psutil.Error):
                    one.kill()
        self.pool.shutdown()


def run_checks(
    next_check: Callable[[], tuple[Proof, int] | None], workers: list[Worker]
) -> Generator[CheckResult]:
    """The results of checks as they come, until `next_check` has none to give and those under way have ended."""
    idle, tried_before = list(workers), set[tuple[str, int]]()
    running: dict[Future[CheckResult], tuple[Worker, Proof, int]] = {}
    while True:
        while idle and (check := next_check()) is not None:
            worker = idle.pop()
            running[worker.submit(*check)] = (worker, *check)
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            worker, proof, seed = running.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool:
                printed = worker.restart()
                if (proof.name, seed) not in tried_before:
                    tried_before.add((proof.name, seed))
                    running[worker.submit(proof, seed)] = worker, proof, seed
                    continue
                result = CheckResult(
                    proof.name, seed, 0, 0.0, f"its process died, twice:\n{printed}", {}
                )
            idle.append(worker)
            yield result


def _begin(log: str, environment: Mapping[str, str]) -> None:
    os.environ.update(environment)  # before any check imports what reads it
    printed = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    faulthandler.enable()
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.killpg(0, signal.SIGKILL)
