"""Training on workers: `train_all` takes specs and a folder, and runs them with joblib.

The workers are this process, joblib's loky processes, or a Dask or Ray cluster by name. Each has
one thread. Runs that JAX can train side by side are one job, and a table is a job of its own.
Tables are trained before networks, because they take seconds and show early if a study is right.
A failed run is reported, and the others continue.
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

    Without an address, Dask and Ray start workers on this machine. With an address, they use a
    cluster, whose workers must have access to the same folder.

    >>> Workers(count=2).backend
    'loky'
    """

    count: int = 1
    backend: str = "loky"
    address: str | None = None
    """The address of a Dask scheduler or a Ray cluster."""

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
    options: dict[str, Any] = {}
    if workers.count > 1:
        options = {"inner_max_num_threads": 1}
        options |= {"initializer": _exit_with_parent, "initargs": (os.getpid(),)}
    with joblib.parallel_config(backend="loky", n_jobs=workers.count, **options):
        yield


def _exit_with_parent(parent: int) -> None:
    """End this worker after its parent has died."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(workers: Workers) -> Iterator[None]:
    distributed = load_package("distributed", "'pdrm[dask]'")
    with ExitStack() as stack:
        cluster: Any = workers.address
        if cluster is None:
            limits = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
            local = distributed.LocalCluster(n_workers=workers.count, silence_logs=50, **limits)
            cluster = stack.enter_context(local)
        client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield


@contextmanager
def _ray(workers: Workers) -> Iterator[None]:
    ray = load_package("ray", "'pdrm[ray]'")
    load_package("ray.util.joblib", "'pdrm[ray]'").register_ray()
    with ExitStack() as stack:
        if not ray.is_initialized():
            size = {"num_cpus": workers.count} if workers.address is None else {}
            quiet = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
            ray.init(address=workers.address, **size, **quiet)
            stack.callback(ray.shutdown)
        available = int(ray.cluster_resources().get("CPU", 1))  # fewer if a node is gone
        jobs = min(workers.count, available)
        stack.enter_context(joblib.parallel_config(backend="ray", n_jobs=jobs))
        yield


# --- Batches


class PlannedRun(NamedTuple):
    """A run to train."""

    spec: RunSpec
    title: str
    """Its name in the display."""


Batch = list[PlannedRun]
"""Runs that are trained side by side, or one run of a tabular agent."""


def in_batches(runs: Sequence[PlannedRun]) -> list[Batch]:
    """Split runs into batches in their order, tables before networks."""
    batches: dict[Hashable, Batch] = {}
    for run in sorted(runs, key=lambda run: run.spec.agent.deep):
        batches.setdefault(run.spec.batch, []).append(run)
    return list(batches.values())


# --- Training
#
# If a worker dies, joblib does not report its run. Each run that had been started is then tried
# again alone, and fails if its worker has died `MAX_DEATHS` times. A run with a result is never
# repeated.

MAX_DEATHS = 3


class Failure(NamedTuple):
    """A failed run, and the reason."""

    run: PlannedRun
    error: Exception
    """The error. That of a third-party agent in another process is its traceback."""

    @property
    def sentence(self) -> str:
        """The error in one line: the first of a `PdrmError`, the last of a traceback."""
        if isinstance(self.error, PdrmError):
            return str(self.error).splitlines()[0]
        return "".join(traceback.format_exception_only(self.error)).strip().splitlines()[-1]


class TrainingOutcome(NamedTuple):
    """The results of some runs."""

    failures: list[Failure]
    policies: dict[str, Policy]
    """Policies that cannot be saved in a file, by run ids (only if trained in this process)."""


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
    """Train every run that is not done, each in its folder in `root`.

    Ctrl-C is passed on. Stopped runs can be resumed.

    Args:
        runs: The runs.
        root: The folder with the folders of the runs.
        workers: Their number, here or on a cluster (default: one, this process).
        largest_policy: Maximum size of a policy that is kept, in bytes (default: no limit).
        log: The logging tool for evaluations: tensorboard or wandb.
        watch: Called after every evaluation, if the worker is this process.
        shown: Show a progress bar.
    """
    chosen = Workers(count=workers) if isinstance(workers, int) else workers
    if log is not None:
        check_choice("log", log, SINKS)
    # Absolute, because workers of an earlier study can have another working folder.
    folder = ensure_folder(root).absolute()
    job = Job(folder, largest_policy, log, watch, chosen.in_process)
    failures: list[Failure] = []
    policies: dict[str, Policy] = {}
    deaths: Counter[str] = Counter()

    def progress_file(run: PlannedRun) -> Path:
        return folder / run.spec.name / PROGRESS

    with _show(runs, root) if shown else nullcontext():
        while True:
            failed = {failure.run.spec.id for failure in failures}
            pending = [run for run in runs if run.spec.id not in failed and not job.has_done(run)]
            if not pending:
                return TrainingOutcome(failures, policies)
            suspects = [run for run in pending if deaths[run.spec.id]]
            next_runs = suspects[:1] or pending
            for run in next_runs:
                progress_file(run).unlink(missing_ok=True)
            try:
                results = _train_batches(in_batches(next_runs), chosen, job)
                for batch, (unsaved, error) in results:
                    policies |= unsaved
                    reason = error or WorkersLost("its worker has finished without a result")
                    failures += [Failure(run, reason) for run in batch if not job.has_done(run)]
            except (PdrmError, KeyboardInterrupt):
                raise
            except Exception as error:
                died = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
                started = [run for run in next_runs if progress_file(run).exists()]
                if not started:
                    fault = (
                        f"no {chosen.backend} workers answer, or they die before they start: {died}"
                    )
                    fix = "check the address, try workers=1, or look at the cluster's log"
                    raise WorkersLost(fault, fix=fix) from error
                deaths.update(run.spec.id for run in started)
                reason = WorkersLost(f"its worker died (killed, or out of memory?): {died}")
                hopeless = [run for run in started if deaths[run.spec.id] >= MAX_DEATHS]
                failures += [Failure(run, reason) for run in hopeless]


BatchResult = tuple[dict[str, Policy], Exception | None]
"""The result of a batch: unsaved policies (only in this process), and the error or None."""


class Job(NamedTuple):
    """The settings that all batches share."""

    root: Path
    largest_policy: int | None
    log: str | None
    watch: Watch | None
    in_process: bool

    def has_done(self, run: PlannedRun) -> bool:
        """Return True if a run is done."""
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
            return {}, RuntimeError(traceback.format_exc())  # the error may not be picklable
        return policies if self.in_process else {}, None


def _train_batches(
    batches: list[Batch], workers: Workers, job: Job
) -> list[tuple[Batch, BatchResult]]:
    """Train batches in parallel. An exception means that a worker died."""
    # At most one worker per batch, but at least two: a single worker is this process, which a run
    # could end.
    needed = replace(workers, count=min(workers.count, max(2, len(batches))))
    start = {"loky": _loky, "dask": _dask, "ray": _ray}[workers.backend]
    with start(needed):
        results: Any = joblib.Parallel(batch_size=1)(
            joblib.delayed(job.train)([run.spec for run in batch]) for batch in batches
        )
    return list(zip(batches, results, strict=True))


# --- The progress display. It reads the folders of the runs, so it works with every backend.

SECONDS_BETWEEN_LOOKS = 0.5
SHOWN_RUNS = 2
SECONDS_TO_COMPILE = 3.0
"""Seconds without progress after which the display mentions compilation."""


class Display:
    """The progress of several runs."""

    def __init__(self, runs: Sequence[PlannedRun], root: Path) -> None:
        self.runs = runs
        self.root = root
        self.start_time = time.monotonic()
        self.initial_work = sum(progress.share for progress in self._read())
        """Progress at the start, in (fractional) runs."""

    def _read(self) -> list[RunProgress]:
        return [read_progress(self.root / run.spec.name) for run in self.runs]

    def look(self) -> tuple[float, str]:
        """The progress in (fractional) runs, and a note for the progress bar."""
        progress_of = self._read()
        work = sum(progress.share for progress in progress_of)
        done = sum(progress.share == 1 for progress in progress_of)
        total = len(progress_of)
        parts = [f"{done:,} of {total:,} runs done"]
        for run, progress in zip(self.runs, progress_of, strict=True):
            if progress.last_return is not None and len(parts) <= SHOWN_RUNS:
                parts.append(f"{run.title}: return {format_return(progress.last_return)}")
        elapsed = time.monotonic() - self.start_time
        new_work = work - self.initial_work
        if new_work <= 0 and elapsed > SECONDS_TO_COMPILE:
            parts.append(COMPILING)
        elif new_work > 0 and work < total:
            parts.append(f"about {duration((total - work) * elapsed / new_work)} left")
        return work, "; ".join(parts)


@contextmanager
def _show(runs: Sequence[PlannedRun], root: Path) -> Iterator[None]:
    """Show the progress of the runs until the end of the block."""
    display = Display(runs, root)
    stop = threading.Event()
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
