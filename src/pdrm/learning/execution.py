"""The one way to train: `train_all` takes specs and a folder, and hands them to joblib, whatever the workers are.

The workers are this process or joblib's loky processes, or a Dask or Ray cluster by name; each has one thread. Runs that JAX can
train side by side are one job; a table is a job by itself. Tables are begun before networks, because they are done in seconds and
show early if a study is right. A run that fails is reported, and the others continue.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from pdrm.errors import BadSetting, PdrmError, WorkersLost
from pdrm.files import ensure_folder
from pdrm.lazy import load_package
from pdrm.learning.evaluation import format_return
from pdrm.learning.protocol import Policy
from pdrm.learning.run_folder import PROGRESS, RunProgress, RunSpec, is_done, read_progress
from pdrm.learning.run_loop import SINKS, Watch, train_batch
from pdrm.learning.settings import check_choice, check_count
from pdrm.progress import COMPILING, duration, show_progress

# --- The workers

BACKENDS = ("loky", "dask", "ray")
PARENT_WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """The number and kind of workers.

    Without an address, Dask and Ray start workers on this machine; with one, they use the cluster that is there, whose workers
    must see the same folder.

    >>> Workers(count=2).backend
    'loky'
    """

    count: int = 1
    backend: str = "loky"
    address: str | None = None
    """Of a Dask scheduler or a Ray cluster."""

    def __post_init__(self) -> None:
        check_count("workers", self.count, 1)
        check_choice("backend", self.backend, BACKENDS)
        if self.address is not None and self.backend == "loky":
            raise BadSetting("loky runs on this machine and has no address", fix='backend="dask"')

    @property
    def in_process(self) -> bool:
        """True if the only worker is this process."""
        return self.count == 1 and self.backend == "loky"


@contextmanager
def _loky(workers: Workers) -> Iterator[None]:
    several: dict[str, Any] = {}
    if workers.count > 1:
        several = {"inner_max_num_threads": 1}
        several |= {"initializer": _leave_with, "initargs": (os.getpid(),)}
    with joblib.parallel_config(backend="loky", n_jobs=workers.count, **several):
        yield


def _leave_with(parent: int) -> None:
    """End this worker when its parent has died."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(workers: Workers) -> Iterator[None]:
    distributed = load_package("distributed", "'pdrm[dask]'")
    with ExitStack() as stack:
        found: Any = workers.address
        if found is None:
            limits = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
            local = distributed.LocalCluster(n_workers=workers.count, silence_logs=50, **limits)
            found = stack.enter_context(local)
        client = stack.enter_context(distributed.Client(found, set_as_default=False))
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield


@contextmanager
def _ray(workers: Workers) -> Iterator[None]:
    ray = load_package("ray", "'pdrm[ray]'")
    load_package("ray.util.joblib", "'pdrm[ray]'").register_ray()
    with ExitStack() as stack:
        if not ray.is_initialized():
            own = {"num_cpus": workers.count} if workers.address is None else {}
            quiet = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
            ray.init(address=workers.address, **own, **quiet)
            stack.callback(ray.shutdown)
        there = int(ray.cluster_resources().get("CPU", 1))  # fewer than asked for if a node is gone
        stack.enter_context(joblib.parallel_config(backend="ray", n_jobs=min(workers.count, there)))
        yield


# --- The runs to be done


class PlannedRun(NamedTuple):
    """A run to be done."""

    spec: RunSpec
    title: str
    """Its name in the display."""


Batch = list[PlannedRun]
"""Runs that are trained side by side; of tabular agents one."""


def in_batches(runs: Sequence[PlannedRun]) -> list[Batch]:
    """Split runs into batches, in their order, but tables before networks."""
    batches: dict[Hashable, Batch] = {}
    for run in sorted(runs, key=lambda run: run.spec.agent.deep):
        batches.setdefault(run.spec.batch, []).append(run)
    return list(batches.values())


# --- Training
#
# If a worker dies, joblib cannot say which run it had: each run that was under way is tried again by itself, and given up as failed
# when its worker has died `MAX_DEATHS` times. A run with a result is never repeated.

MAX_DEATHS = 3


class Failure(NamedTuple):
    """A run that could not be done, and why."""

    run: PlannedRun
    error: Exception
    """Ours, or somebody's agent's; in another process than this one the latter's traceback, as an error of ours."""

    @property
    def sentence(self) -> str:
        """The error's own sentence: the first line of ours, the last line of a traceback."""
        if isinstance(self.error, PdrmError):
            return str(self.error).splitlines()[0]
        return "".join(traceback.format_exception_only(self.error)).splitlines()[-1]


class TrainingOutcome(NamedTuple):
    """The results of some runs."""

    failures: list[Failure]
    policies: dict[str, Policy]
    """By the ids of their runs: those of agents that cannot be kept in a file, if the worker was this process."""


def train_all(
    runs: Sequence[PlannedRun],
    root: Path,
    workers: Workers | int = 1,
    *,
    largest_policy: int | None = None,
    log: str | None = None,
    watch: Watch | None = None,
    shown: bool = False,
) -> TrainingOutcome:
    """Train every run that is not done, each in its folder in `root`. Ctrl-C is passed on, and all can be resumed.

    Args:
        runs: What to train.
        root: Where the folders of the runs are.
        workers: How many at a time, here or on a cluster (default: one after the other, in this process).
        largest_policy: Bytes of a policy beyond which only its hash is kept (default: all are kept).
        log: The tool that evaluations are logged to: tensorboard or wandb.
        watch: Called after every evaluation, if the worker is this process.
        shown: Show a progress bar.
    """
    chosen = Workers(count=workers) if isinstance(workers, int) else workers
    if log is not None:
        check_choice("log", log, SINKS)
    # Absolute: workers that were started for an earlier study may be in another folder.
    place = ensure_folder(root).absolute()
    job = Job(place, largest_policy, log, watch, chosen.in_process)
    failures: list[Failure] = []
    policies: dict[str, Policy] = {}
    deaths: Counter[str] = Counter()

    def begun(run: PlannedRun) -> Path:
        return place / run.spec.name / PROGRESS

    with _show(runs, root) if shown else nullcontext():
        while True:
            given_up = {failure.run.spec.id for failure in failures}
            pending = [run for run in runs if run.spec.id not in given_up and not job.has_done(run)]
            if not pending:
                return TrainingOutcome(failures, policies)
            suspects = [run for run in pending if deaths[run.spec.id]]
            asked = suspects[:1] or pending
            for run in asked:
                begun(run).unlink(missing_ok=True)
            try:
                for batch, (own, error) in _train_batches(in_batches(asked), chosen, job):
                    policies |= own
                    why = error or WorkersLost("its worker has finished, and left nothing")
                    failures += [Failure(run, why) for run in batch if not job.has_done(run)]
            except (PdrmError, KeyboardInterrupt):
                raise
            except Exception as error:
                died = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
                struck = [run for run in asked if begun(run).exists()]
                if not struck:
                    fault = (
                        f"no {chosen.backend} workers answer, or they die before they begin: {died}"
                    )
                    fix = "check the address, try workers=1, or look at the cluster's own log"
                    raise WorkersLost(fault, fix=fix) from error
                deaths.update(run.spec.id for run in struck)
                why = WorkersLost(f"its worker died (killed, or out of memory?): {died}")
                hopeless = [run for run in struck if deaths[run.spec.id] >= MAX_DEATHS]
                failures += [Failure(run, why) for run in hopeless]


BatchResult = tuple[dict[str, Policy], Exception | None]
"""What came of a batch: the policies that no file holds, if the worker was this process; and why it failed."""


class Job(NamedTuple):
    """The part of the work that all batches share."""

    root: Path
    largest_policy: int | None
    log: str | None
    watch: Watch | None
    in_process: bool

    def has_done(self, run: PlannedRun) -> bool:
        """Return True if a run has its result."""
        return is_done(self.root / run.spec.name)

    def train(self, specs: list[RunSpec]) -> BatchResult:
        """Train a batch, in a worker."""
        folders = [self.root / spec.name for spec in specs]
        try:
            with ExitStack() as stack:
                watch = self.watch
                if self.log is not None:
                    from pdrm.learning.sinks import log_evaluations

                    watch = stack.enter_context(log_evaluations(self.log, specs, folders))
                policies = train_batch(specs, folders, watch, largest_policy=self.largest_policy)
        except Exception as error:
            if self.in_process or isinstance(error, PdrmError):
                return {}, error
            return {}, RuntimeError(traceback.format_exc())  # the error may not be one to pickle
        return policies if self.in_process else {}, None


def _train_batches(
    batches: list[Batch], workers: Workers, job: Job
) -> list[tuple[Batch, BatchResult]]:
    """Train batches, as many at a time as there are workers; an exception means that a worker died."""
    # No more workers than batches, but not one alone: that would be this process, which a run could end.
    started = replace(workers, count=min(workers.count, max(2, len(batches))))
    start = {"loky": _loky, "dask": _dask, "ray": _ray}[workers.backend]
    with start(started):
        attempts: Any = joblib.Parallel(batch_size=1)(
            joblib.delayed(job.train)([run.spec for run in batch]) for batch in batches
        )
    return list(zip(batches, attempts, strict=True))


# --- The progress display, read from the folders of the runs, so that it works with every backend

SECONDS_BETWEEN_LOOKS = 0.5
SHOWN_RUNS = 2
SECONDS_TO_COMPILE = 3.0
"""After which it is said why nothing has happened yet."""


class Display:
    """The progress of the runs: how many are done, and how far others are."""

    def __init__(self, runs: Sequence[PlannedRun], root: Path) -> None:
        self.runs, self.root = runs, root
        self.began = time.monotonic()
        self.before = sum(progress.share for progress in self._read())
        """The runs that were done when it began, with parts of others."""

    def _read(self) -> list[RunProgress]:
        return [read_progress(self.root / run.spec.name) for run in self.runs]

    def look(self) -> tuple[float, str]:
        """The runs that are done, with parts of others, and a note: done, under way and left."""
        found = self._read()
        work, total = sum(progress.share for progress in found), len(found)
        parts = [f"{sum(progress.share == 1 for progress in found):,} of {total:,} runs done"]
        for run, progress in zip(self.runs, found, strict=True):
            if progress.last_return is not None and len(parts) <= SHOWN_RUNS:
                parts.append(f"{run.title}: return {format_return(progress.last_return)}")
        elapsed, gained = time.monotonic() - self.began, work - self.before
        if gained <= 0 and elapsed > SECONDS_TO_COMPILE:
            parts.append(COMPILING)
        elif gained > 0 and work < total:
            parts.append(f"about {duration((total - work) * elapsed / gained)} left")
        return work, "; ".join(parts)


@contextmanager
def _show(runs: Sequence[PlannedRun], root: Path) -> Iterator[None]:
    """Show the progress of the runs until the end of the block."""
    display, stop = Display(runs, root), threading.Event()
    with show_progress(len(runs), "runs") as update:

        def watch() -> None:
            while not stop.wait(SECONDS_BETWEEN_LOOKS):
                update(*display.look())

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            update(*display.look())
