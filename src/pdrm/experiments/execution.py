"""Running what is planned: workers (joblib's processes, a Dask or a Ray cluster), the order of runs, and failures."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from pdrm.errors import BadSetting, CannotWrite, MissingPackage, PdrmError, WorkersLost, did_you_mean
from pdrm.experiments.store import FAILURE, Store, perform
from pdrm.experiments.study import Study
from pdrm.files import write_atomically
from pdrm.learning.tabular.run import RunSpec

# --- The workers: joblib's loky processes on this machine, or a Dask or Ray cluster, by name. Each worker has one thread.
#
# Without an address, Dask and Ray start workers on this machine; with one, they use the cluster that is there, whose workers
# must see the same folder.

BACKENDS = ("loky", "dask", "ray")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
GIGABYTES_A_WORKER = 7.0
LEAST_GIGABYTES = 14.0
"""What runs may take at once unless told otherwise: so much a worker, as far as the machine has it, and at least this."""
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
            raise BadSetting(f"{self.count} workers", fix="give a whole number from 1 on, such as --workers 2")
        if self.backend not in BACKENDS:
            raise BadSetting(f"no backend is called `{self.backend}`", fix=did_you_mean(self.backend, BACKENDS))
        if self.address is not None and self.backend == "loky":
            fault = "loky runs on this machine and has no address"
            raise BadSetting(fault, fix="use --backend dask or --backend ray with an address")
        if self.gigabytes is not None and not self.gigabytes > 0:
            raise BadSetting(f"{self.gigabytes} gigabytes of memory", fix="give a number above 0, such as --memory 14")

    @property
    def memory(self) -> float:
        """The gigabytes that runs may take at once."""
        if self.gigabytes is not None:
            return self.gigabytes
        if self.address is not None:
            return inf
        return max(LEAST_GIGABYTES, min(GIGABYTES_A_WORKER * self.count, SHARE_OF_MEMORY * _gigabytes_here()))

    def at_most(self, tasks: int) -> Workers:
        """No more workers than there is to do. Two at least, if there were: a worker may die, and a single one is this process.

        >>> Workers(count=8).at_most(3).count, Workers(count=8).at_most(1).count, Workers(count=1).at_most(5).count
        (3, 2, 1)
        """
        return replace(self, count=min(self.count, max(2, tasks)))

    def ready(self) -> AbstractContextManager[None]:
        """Start or find the workers; joblib uses them inside."""
        return STARTED[self.backend](self)


@contextmanager
def _loky(workers: Workers) -> Iterator[None]:
    several: dict[str, Any] = {"inner_max_num_threads": 1, "initializer": _leave_with, "initargs": (os.getpid(),)}
    with joblib.parallel_config(backend="loky", n_jobs=workers.count, **(several if workers.count > 1 else {})):
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
                cluster = distributed.LocalCluster(n_workers=workers.count, processes=True, silence_logs=50, **limits)
            found = stack.enter_context(cluster)
        try:
            client = stack.enter_context(distributed.Client(found, set_as_default=False))
        except OSError as error:
            fix = "check --address, and that the scheduler runs"
            raise WorkersLost(f"no Dask scheduler answers at {found}: {error}", fix=fix) from error
        with joblib.parallel_config(backend="dask", client=client):
            yield


@contextmanager
def _ray(workers: Workers) -> Iterator[None]:
    ray = _package("ray", "ray")
    _package("ray.util.joblib", "ray").register_ray()
    chosen: dict[str, Any] = {"num_cpus": workers.count} if workers.address is None else {"address": workers.address}
    already = ray.is_initialized()
    if not already:
        with _one_thread():
            try:
                ray.init(include_dashboard=False, logging_level="ERROR", log_to_driver=False, **chosen)
            except (ConnectionError, ValueError) as error:
                fix = "check --address, and that the cluster runs"
                raise WorkersLost(f"no Ray cluster answers at {workers.address}: {error}", fix=fix) from error
    try:
        there = int(ray.cluster_resources().get("CPU", 1))  # fewer than asked for where a node is gone
        with joblib.parallel_config(backend="ray", n_jobs=min(workers.count, there)):
            yield
    finally:
        if not already:
            ray.shutdown()


STARTED: dict[str, Callable[[Workers], AbstractContextManager[None]]] = {"loky": _loky, "dask": _dask, "ray": _ray}


def _gigabytes_here() -> float:
    """The memory of this machine, where it can be asked."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return LEAST_GIGABYTES
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started meanwhile take one thread each."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _package(name: str, extra: str) -> Any:  # noqa: ANN401 - a module
    try:
        return import_module(name)
    except ImportError as error:
        fix = f"pip install 'pdrm[{extra}]'"
        raise MissingPackage(f"`--backend {extra}` needs the package {name.partition('.')[0]}", fix=fix) from error


# --- The order of runs: the longest first, and no more memory at once than there is.
#
# A chain is a list of runs that one worker does one after the other. Most are of one run; those that need much memory share a few
# chains, so that they never run side by side.


class Planned(NamedTuple):
    """A run to be done."""

    spec: RunSpec
    title: str
    """As the display shows it."""
    seconds: float | None
    """About how long it takes; None: not known."""
    gigabytes: float


Chain = list[Planned]
SECONDS_UNKNOWN = 1.0
"""What a run is taken to last where its line says nothing."""


def planned(studies: Iterable[Study]) -> list[Planned]:
    """The runs of some studies, each once, in the studies' order."""
    found: dict[str, Planned] = {}
    for study in studies:
        for panel, line, spec in study.runs():
            title = f"{panel.name} {line.name} seed {spec.seed}"
            found.setdefault(spec.id, Planned(spec, title, line.seconds, line.gigabytes))
    return list(found.values())


def chains(runs: list[Planned], workers: int, gigabytes: float) -> list[Chain]:
    """The runs in chains, the longest chain first: with a worker a chain, `gigabytes` of memory are enough, as far as the
    lines' guesses go and as far as the smallest runs allow it.

    >>> spec = Study.__new__  # any object will do here
    >>> runs = [Planned(spec, name, seconds, size) for name, seconds, size in (("a", 1, 9), ("b", 5, 1), ("c", 2, 9))]
    >>> [[run.title for run in chain] for chain in chains(runs, workers=2, gigabytes=12)]
    [['b'], ['c', 'a']]
    """
    lanes, light = _lanes(sorted({run.gigabytes for run in runs}), workers, gigabytes)
    longest_first = sorted(runs, key=lambda run: -_seconds([run]))
    heavy: list[Chain] = [[] for _ in range(lanes)]
    for run in longest_first:
        if run.gigabytes > light:
            min(heavy, key=_seconds).append(run)
    single = [[run] for run in longest_first if run.gigabytes <= light]
    return sorted([chain for chain in heavy if chain] + single, key=_seconds, reverse=True)


def _seconds(chain: Chain) -> float:
    return sum(SECONDS_UNKNOWN if run.seconds is None else run.seconds for run in chain)


def _lanes(sizes: list[float], workers: int, gigabytes: float) -> tuple[int, float]:
    """How many chains of heavy runs there may be at once, and up to which size a run is light."""
    if not sizes or workers * sizes[-1] <= gigabytes:
        return 1, sizes[-1] if sizes else 0.0
    for light in reversed(sizes[:-1]):
        beside = gigabytes - (workers - 1) * light
        if beside >= sizes[-1]:
            return max(1, min(workers, int((gigabytes - workers * light) // (sizes[-1] - light)))), light
    return 1, sizes[0]


# --- Running what is planned: through joblib, whatever the workers are, and to the end, whatever happens to some of the runs.
#
# A run that fails is reported and the others go on. Where a worker dies, joblib cannot say which run it had: each run that was
# under way is tried again by itself, and given up as failed when its worker has died `MOST_DEATHS` times. What is done is done:
# the store says.

MOST_DEATHS = 3


class Failure(NamedTuple):
    """A run that could not be done, and why."""

    run: Planned
    why: str

    @property
    def sentence(self) -> str:
        """The error's own sentence: the first line of ours, the last line of a traceback."""
        lines = self.why.strip().splitlines()
        return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def run_all(runs: list[Planned], store: Store, workers: Workers) -> list[Failure]:
    """Do every run that is not done; the failures are returned. Ctrl-C is passed on, and leaves everything to go on from."""
    failed: dict[str, Failure] = {}
    deaths: Counter[str] = Counter()
    in_vain = 0
    while pending := [run for run in runs if run.spec.id not in failed and not store.done(run.spec)]:
        began = time.time()
        suspects = [run for run in pending if deaths[run.spec.id]][:1]
        try:
            failed |= _round(suspects or pending, store, workers)
        except PdrmError:
            raise
        except Exception as error:
            under_way = [run for run in pending if store.begun_since(run.spec, began)]
            deaths.update(run.spec.id for run in under_way)
            in_vain = 0 if under_way else in_vain + 1
            if in_vain == MOST_DEATHS:
                fix = "try --workers 1, or look at the cluster's own log"
                raise WorkersLost(f"the workers die before they begin: {_sentence(error)}", fix=fix) from error
            why = f"its worker died {MOST_DEATHS} times (killed, or out of memory?): {_sentence(error)}"
            failed |= {run.spec.id: Failure(run, why) for run in suspects if deaths[run.spec.id] >= MOST_DEATHS}
    return [failed[run.spec.id] for run in runs if run.spec.id in failed]


def _round(pending: list[Planned], store: Store, workers: Workers) -> dict[str, Failure]:
    """Do what is pending, once; an exception means that a worker died."""
    found = chains(pending, workers.count, workers.memory)
    tasks = ([(run.spec, store.folder(run.spec)) for run in chain] for chain in found)
    with workers.at_most(len(found)).ready():
        outcomes = joblib.Parallel(batch_size=1)(joblib.delayed(performed)(task) for task in tasks)
    whys = zip([run for chain in found for run in chain], [why for outcome in outcomes for why in outcome], strict=True)
    return {run.spec.id: Failure(run, why) for run, why in whys if why}


def performed(task: list[tuple[RunSpec, Path]]) -> list[str]:
    """What a worker does: the runs of a chain, one after the other; for each, why it failed, or nothing."""
    return [_why(spec, folder) for spec, folder in task]


def _why(spec: RunSpec, folder: Path) -> str:
    try:
        perform(spec, folder)
    except Exception as error:
        why = str(error) if isinstance(error, PdrmError) else traceback.format_exc()
        with suppress(CannotWrite):
            write_atomically(folder / FAILURE, f"{why}\n".encode())
        return why
    return ""


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
