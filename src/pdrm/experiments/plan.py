"""The order of runs: the longest first, and no more memory at once than there is.

A chain is a list of runs that one worker does one after the other. Most are of one run; those that need much memory share a few
chains, so that they never run side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pdrm.experiments.study import Study
from pdrm.learning.tabular.run import RunSpec


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
