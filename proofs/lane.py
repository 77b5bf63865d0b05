"""A process that runs checks one after the other, in a session of its own: Ctrl-C reaches it only through `stop`.

A check that ends its process (a crash in compiled code, say) is tried once more in a fresh one before it counts as wrong.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from tempfile import NamedTemporaryFile

import psutil  # type: ignore[import-untyped]  # ships no types

from proofs.checked import Checked, checked
from proofs.proof import Proof

LONGEST = 1_800.0
"""Seconds after which a check counts as one that never ends."""
PATIENCE = 10.0
"""Seconds that a check has to tidy up when it is stopped."""
IDLE_PATIENCE = 1.0
"""The same, for a process without a check: some packages take long to leave."""
MOST_SAID = 2_000
"""Characters that are shown of what a check printed before it died."""
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class Lane:
    """One such process, and the check it is at."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = {**ONE_THREAD, **environment}
        self.task: tuple[Proof, int] | None = None
        self._begun, self._died = 0.0, False
        self._said = NamedTemporaryFile()  # noqa: SIM115 - what a check prints, shown where it dies: closed by `stop`
        self._open()

    def give(self, proof: Proof, seed: int) -> None:
        """Have it run a check."""
        if not self.process.is_alive():  # killed while it waited
            self._anew()
        self.task, self._begun = (proof, seed), time.monotonic()
        self.connection.send((proof.name, proof.check, seed))

    @property
    def overdue(self) -> bool:
        """Whether its check takes longer than any should."""
        return self.task is not None and time.monotonic() - self._begun > LONGEST

    def answer(self) -> Checked | None:
        """The outcome, once there is one; None where the process died and the check is tried again."""
        assert self.task is not None
        proof, seed = self.task
        seconds = time.monotonic() - self._begun
        if self.overdue:
            return self._failed(proof, seed, f"it had not ended after {seconds:.0f} seconds")
        try:
            outcome: Checked = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(PATIENCE)
            if self._died:
                return self._failed(
                    proof, seed, f"its process ended with {self.process.exitcode}, twice{self._last_words()}"
                )
            self._anew()
            self._died = True
            self.give(proof, seed)
            return None
        self.task, self._died = None, False
        return outcome

    def stop(self) -> None:
        """End the process and whatever it started."""
        self._end()
        self._said.close()

    def _end(self) -> None:
        try:
            family = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            family = []
        self.connection.close()  # which ends it, if it waits for a check
        if self.task:
            self.process.terminate()
        self.process.join(PATIENCE if self.task else IDLE_PATIENCE)
        if self.process.is_alive():
            self.process.kill()
        for one in family:
            _kill(one)
        self.process.join()

    def _failed(self, proof: Proof, seed: int, message: str) -> Checked:
        seconds = time.monotonic() - self._begun
        self._anew()
        self.task, self._died = None, False
        return Checked(proof.name, seed, 0, seconds, message, {})

    def _last_words(self) -> str:
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip()
        return f":\n{said[-MOST_SAID:]}" if said else ""

    def _anew(self) -> None:
        self._end()
        self._open()

    def _open(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._said.truncate(0)
        self.process = context.Process(target=_serve, args=(theirs, self.environment, self._said.name))
        kept = signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is started now is deaf to Ctrl-C from the beginning
        try:
            self.process.start()
        finally:
            signal.signal(signal.SIGINT, kept)
        theirs.close()


def _serve(connection: Connection, environment: Mapping[str, str], said: str) -> None:
    """Run what is asked for until the other side is gone; what is printed on the way would tear the display."""
    printed = os.open(said, os.O_WRONLY | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.environ.update(environment)  # before any check imports what reads it
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        while True:
            connection.send(checked(*connection.recv()))
    except (KeyboardInterrupt, EOFError, OSError):
        return


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.killpg(0, signal.SIGKILL)


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        return
