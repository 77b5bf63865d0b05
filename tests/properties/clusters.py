"""The same study leaves the same files on one worker, on two, on a Dask cluster that loses a worker midway, and on a Ray
cluster of two nodes that loses one midway."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from pdrm.experiments.study import run_study
from pdrm.learning.execution import Workers
from tests.properties.small_study import check_same, small_study, undisturbed

RESULTS_BEFORE = 1
"""Results that are in when a worker or node is lost: there are more runs to come, and some are under way."""


def check(seed: int) -> int:
    """The study on one kind of workers."""
    name, run = list(KINDS.items())[seed % len(KINDS)]
    undisturbed()
    with TemporaryDirectory() as folder:
        run(Path(folder))
        check_same(Path(folder), name)
    return 1


def _run(folder: Path, workers: Workers) -> None:
    outcome = run_study(small_study(folder), folder, workers)
    assert not outcome.failures, outcome.failures


def _dask(folder: Path) -> None:
    from distributed import LocalCluster

    limits = {
        "threads_per_worker": 1,
        "memory_limit": 0,
        "dashboard_address": None,
        "silence_logs": 50,
    }
    with LocalCluster(n_workers=2, **limits) as cluster:
        victim = psutil.Process(next(iter(cluster.workers.values())).pid)
        with _Midway(folder, lambda: victim.send_signal(signal.SIGKILL)):
            _run(folder, Workers(count=2, backend="dask", address=cluster.scheduler_address))


def _ray(folder: Path) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        node = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        with _Midway(folder, lambda: cluster.remove_node(node, allow_graceful=False)):
            _run(folder, Workers(count=2, backend="ray", address=cluster.address))
    finally:
        cluster.shutdown()


class _Midway:
    """Does something as soon as a few results are in, and makes sure that it was done before the end."""

    def __init__(self, folder: Path, act: Callable[[], object]) -> None:
        self.folder, self.act, self.left = folder, act, 0
        self.thread = threading.Thread(target=self._wait_and_act, daemon=True)

    def _wait_and_act(self) -> None:
        while len(self._results()) < RESULTS_BEFORE:
            time.sleep(0.01)
        self.left = 8 - len(self._results())
        self.act()

    def _results(self) -> list[Path]:
        return list(self.folder.glob("runs/*/result.json"))

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.thread.join(timeout=60)
            assert self.left > 0, "nothing was left to do when the worker was lost"


KINDS: dict[str, Callable[[Path], None]] = {
    "one worker": lambda folder: _run(folder, Workers(count=1)),
    "two workers": lambda folder: _run(folder, Workers(count=2)),
    "Dask, a worker killed": _dask,
    "Ray, a node lost": _ray,
}
