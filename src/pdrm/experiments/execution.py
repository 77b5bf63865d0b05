"""Running what is planned: workers (joblib's processes, a Dask or a Ray cluster), the order of runs, and failures."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from pdrm.errors import (
    BadSetting,
    CannotWrite,
    MissingPackage,
    PdrmError,
    WorkersLost,
    did_you_mean,
)
from pdrm.experiments.store import LARGEST_POLICY, Store
from pdrm.files import write_atomically
from pdrm.learning.run_loop import FAILURE, RunSpec, execute

# --- The workers: joblib's loky processes on this machine, or a Dask or Ray cluster, by name. Each worker has one thread.
#
# Without an address, Dask and Ray start workers on this machine; with one, they use the cluster that is there, whose workers
# must see the same folder.

BACKENDS = ("loky", "dask", "ray")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
GIGABYTES_PER_WORKER = 7.0
LEAST_GIGABYTES = 14.0
"""What runs may take at once by default: so much per worker, as far as the machine has it, and at least this."""
SHARE_OF_MEMORY = 0.6
PARENT_WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """How many workers, of which kind, and how much memory they share.

    >>> Workers(count=2).backend
    'loky'
    """

    count: int = 1
    backend: str = "loky"
    address: str | None = None
    """Of a Dask scheduler or a Ray cluster."""
    gigabytes: float | None = None
    """What the runs may take at once; None: what this machine can give, or no limit where there is an address."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise BadSetting(
                f"{self.count} workers",
                fix="give a positive integer, such as workers=2 (--workers 2)",
            )
        if self.backend not in BACKENDS:
            raise BadSetting(
                f"no backend is called `{self.backend}`", fix=did_you_mean(self.backend, BACKENDS)
            )
        if self.address is not None and self.backend == "loky":
            fault = "loky runs on this machine and has no address"
            raise BadSetting(
                fault, fix='with an address use backend="dask" or "ray" (--backend dask)'
            )
        if self.gigabytes is not None and not self.gigabytes > 0:
            raise BadSetting(
                f"{self.gigabytes} gigabytes of memory",
                fix="give a number above 0, such as gigabytes=14 (--memory 14)",
            )

    @property
    def memory(self) -> float:
        """The gigabytes that runs may take at once."""
        if self.gigabytes is not None:
            return self.gigabytes
        if self.address is not None:
            return inf
        return max(
            LEAST_GIGABYTES,
            min(GIGABYTES_PER_WORKER * self.count, SHARE_OF_MEMORY * _gigabytes_here()),
        )

    def at_most(self, tasks: int) -> Workers:
        """No more workers than there are tasks, but two at least, if there were: a worker may die, and a single one is this process.

        >>> Workers(count=8).at_most(3).count, Workers(count=8).at_most(1).count, Workers(count=1).at_most(5).count
        (3, 2, 1)
        """
        return replace(self, count=min(self.count, max(2, tasks)))

    def ready(self) -> AbstractContextManager[None]:
        """Start or find the workers; joblib uses them inside."""
        return STARTED[self.backend](self)


@contextmanager
def _loky(workers: Workers) -> Iterator[None]:
    several: dict[str, Any] = {
        "inner_max_num_threads": 1,
        "initializer": _leave_with,
        "initargs": (os.getpid(),),
    }
    with joblib.parallel_config(
        backend="loky", n_jobs=workers.count, **(several if workers.count > 1 else {})
    ):
        yield


def _leave_with(parent: int) -> None:
    """End this worker when its parent has died: nobody waits for it any more."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(workers: Workers) -> Iterator[None]:
    distributed = _package("distributed", "dask")
    with ExitStack() as stack:
        found = workers.address
        if found is None:
            limits = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
            with _one_thread():
                cluster = distributed.LocalCluster(
                    n_workers=workers.count, processes=True, silence_logs=50, **limits
                )
            found = stack.enter_context(cluster)
        try:
            client = stack.enter_context(distributed.Client(found, set_as_default=False))
        except OSError as error:
            fix = "check the address (--address), and that the scheduler runs"
            raise WorkersLost(f"no Dask scheduler answers at {found}: {error}", fix=fix) from error
        with joblib.parallel_config(backend="dask", client=client):
            yield


@contextmanager
def _ray(workers: Workers) -> Iterator[None]:
    ray = _package("ray", "ray")
    _package("ray.util.joblib", "ray").register_ray()
    chosen: dict[str, Any] = (
        {"num_cpus": workers.count} if workers.address is None else {"address": workers.address}
    )
    already = ray.is_initialized()
    if not already:
        with _one_thread():
            try:
                ray.init(
                    include_dashboard=False, logging_level="ERROR", log_to_driver=False, **chosen
                )
            except (ConnectionError, ValueError) as error:
                fix = "check the address (--address), and that the cluster runs"
                raise WorkersLost(
                    f"no Ray cluster answers at {workers.address}: {error}", fix=fix
                ) from error
    try:
        there = int(
            ray.cluster_resources().get("CPU", 1)
        )  # fewer than asked for where a node is gone
        with joblib.parallel_config(backend="ray", n_jobs=min(workers.count, there)):
            yield
    finally:
        if not already:
            ray.shutdown()


STARTED: dict[str, Callable[[Workers], AbstractContextManager[None]]] = {
    "loky": _loky,
    "dask": _dask,
    "ray": _ray,
}


def _gigabytes_here() -> float:
    """The memory of this machine, where it can be asked."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return LEAST_GIGABYTES
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started meanwhile take one thread each."""
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)


def _package(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        fault = f"`--backend {extra}` needs the package {name.partition('.')[0]}"
        raise MissingPackage(fault, fix=f"pip install 'pdrm[{extra}]'") from error


# --- Running what is planned: through joblib, whatever the workers are, and to the end, whatever happens to some of the runs.
#
# Runs that JAX can train side by side are one job; a table is a job by itself. Tables are begun before networks, because they are done
# in seconds and show early whether a study is right; among either, the longest first. A run that fails is reported and the others go on. Where a worker dies, joblib cannot say which run it had: each run that was under way is tried
# again by itself, and given up as failed when its worker has died `MOST_DEATHS` times. What is done is done: the store says.

MOST_DEATHS = 3
SECONDS_UNKNOWN = 1.0
"""What a run is taken to last where nothing is known."""


class Planned(NamedTuple):
    """A run to be done."""

    spec: RunSpec
    title: str
    """As the display shows it."""
    seconds: float | None = None
    """About how long it takes; None: not known."""
    gigabytes: float = 0.5
    """About how much memory it takes at most."""

    @property
    def guess(self) -> float:
        """The seconds it is taken to last."""
        return SECONDS_UNKNOWN if self.seconds is None else self.seconds


Batch = list[Planned]
"""Runs that are trained side by side; of tabular agents one."""
Job = list[Batch]


class Failure(NamedTuple):
    """A run that could not be done, and why."""

    run: Planned
    why: str

    @property
    def sentence(self) -> str:
        """The error's own sentence: the first line of ours, the last line of a traceback."""
        lines = self.why.strip().splitlines()
        return lines[-1] if lines[0].startswith("Traceback") else lines[0]


class Keeping(NamedTuple):
    """What is kept of runs beside their results."""

    largest_policy: int | None = LARGEST_POLICY
    """Bytes; None: every policy is kept."""
    log: str | None = None
    """The tool that tests are logged to: tensorboard or wandb."""


def run_all(
    runs: list[Planned], store: Store, workers: Workers, keeping: Keeping | None = None
) -> list[Failure]:
    """Do every run that is not done; the failures are returned. Ctrl-C is passed on, and leaves everything to go on from."""
    kept = Keeping() if keeping is None else keeping
    failed: dict[str, Failure] = {}
    deaths: Counter[str] = Counter()
    in_vain = 0
    while pending := [
        run for run in runs if run.spec.id not in failed and not store.done(run.spec)
    ]:
        began = time.time()
        suspects = [run for run in pending if deaths[run.spec.id]][:1]
        asked = suspects or pending
        try:
            failed |= _do(asked, store, workers, kept)
        except PdrmError:
            raise
        except Exception as error:
            under_way = [run for run in pending if store.begun_since(run.spec, began)]
            deaths.update(run.spec.id for run in under_way)
            in_vain = 0 if under_way else in_vain + 1
            if in_vain == MOST_DEATHS:
                fix = "try workers=1 (--workers 1), or look at the cluster's own log"
                raise WorkersLost(
                    f"the workers die before they begin: {_sentence(error)}", fix=fix
                ) from error
            why = f"its worker died {MOST_DEATHS} times (killed, or out of memory?): {_sentence(error)}"
            failed |= {
                run.spec.id: Failure(run, why)
                for run in suspects
                if deaths[run.spec.id] >= MOST_DEATHS
            }
        else:
            if not any(run.spec.id in failed or store.done(run.spec) for run in asked):
                fault = f"the workers have finished, and nothing of it is in {store.root}"
                raise WorkersLost(fault, fix="let all workers see the same folder")
    return [failed[run.spec.id] for run in runs if run.spec.id in failed]


def _do(
    pending: list[Planned], store: Store, workers: Workers, keeping: Keeping
) -> dict[str, Failure]:
    """Do what is pending, once; an exception means that a worker died."""
    jobs = plan_jobs(pending, workers)
    # Workers that were started for an earlier study may be in another folder.
    tasks = (
        [[(run.spec, store.folder(run.spec).absolute()) for run in batch] for batch in job]
        for job in jobs
    )
    with workers.at_most(len(jobs)).ready():
        whys = joblib.Parallel(batch_size=1)(
            joblib.delayed(perform)(task, keeping) for task in tasks
        )
    batches = zip(chain.from_iterable(jobs), chain.from_iterable(whys), strict=True)
    return {run.spec.id: Failure(run, why) for batch, why in batches if why for run in batch}


def plan_jobs(runs: list[Planned], workers: Workers) -> list[Job]:
    """What each worker takes in one piece: tables first, then networks, of either the longest first. Runs that JAX trains side by side
    are one batch. A job is one batch; but batches too large to run on all workers at once share as many jobs as fit side by side, one
    batch after the other."""
    batches: dict[str, Batch] = {}
    for run in runs:
        batches.setdefault(run.spec.batch, []).append(run)
    largest = max(map(_gigabytes, batches.values()), default=0.0)
    beside = (workers.memory - largest) / max(1, workers.count - 1)
    fits = workers.count * largest <= workers.memory
    heavy = [batch for batch in batches.values() if not fits and _gigabytes(batch) > beside]
    heavy.sort(key=lambda batch: _rank([batch]))
    at_once = min(len(heavy), max(1, int(workers.memory // largest))) if heavy else 0
    jobs = [heavy[first::at_once] for first in range(at_once)]
    jobs += [[batch] for batch in batches.values() if batch not in heavy]
    return sorted(jobs, key=_rank)


def _rank(job: Job) -> tuple[bool, float]:
    """When a job's turn is: after those of smaller rank."""
    return job[0][0].spec.agent.deep, -sum(map(_seconds, job))


def _gigabytes(batch: Batch) -> float:
    return max(run.gigabytes for run in batch)


def _seconds(batch: Batch) -> float:
    return sum(run.guess for run in batch)


def perform(job: list[list[tuple[RunSpec, Path]]], keeping: Keeping) -> list[str]:
    """What a worker does: the batches of a job, one after the other; for each, why it failed, or nothing."""
    return [_perform_batch(batch, keeping) for batch in job]


def _perform_batch(runs: list[tuple[RunSpec, Path]], keeping: Keeping) -> str:
    specs, folders = [spec for spec, _ in runs], [folder for _, folder in runs]
    try:
        if keeping.log is None:
            execute(specs, folders, largest_policy=keeping.largest_policy)
        else:
            from pdrm.experiments.sinks import log_tests

            with log_tests(keeping.log, runs) as watch:
                execute(specs, folders, watch, largest_policy=keeping.largest_policy)
    except Exception as error:
        why = str(error) if isinstance(error, PdrmError) else traceback.format_exc()
        for folder in folders:
            with suppress(CannotWrite):
                write_atomically(folder / FAILURE, f"{why}\n".encode())
        return why
    return ""


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
