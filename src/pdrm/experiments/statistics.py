"""Statistics over seeds: medians and quartiles as in the paper's figures, and interquartile means,
stratified bootstrap intervals and probabilities of improvement, which suit few runs (Agarwal et
al., 2021).

Scores are given as strata: an array for each task, with a score for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Strata = Sequence[Numbers]
RESAMPLES = 2_000
CONFIDENCE_LEVEL = 0.95


class Quartiles(NamedTuple):
    """The 25th percentile, the median and the 75th percentile."""

    low: Numbers
    median: Numbers
    high: Numbers


class Interval(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


def quartiles(values: Numbers) -> Quartiles:
    """The quartiles along the first axis, interpolated linearly.

    >>> [float(part) for part in quartiles(np.array([4.0, 1.0, 2.0, 3.0, 5.0]))]
    [2.0, 3.0, 4.0]
    """
    return Quartiles(*np.percentile(values, (25, 50, 75), axis=0))


def interquartile_mean(values: Numbers) -> Numbers:
    """The mean along the last axis without the lowest and highest quarter (rounded down).

    >>> float(interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0])))
    1.5
    """
    ordered = np.sort(values, axis=-1)
    cut = values.shape[-1] // 4
    means: Numbers = ordered[..., cut : values.shape[-1] - cut].mean(axis=-1)
    return means


def bootstrap(strata: Strata, statistic: Callable[[Strata], Numbers], seed: int = 0) -> Interval:
    """A statistic and its percentile interval. Runs are resampled within each stratum.

    Args:
        strata: The scores.
        statistic: Maps strata of shape [..., runs] to values of shape [...]. It is called once for
            all resamples.
        seed: The seed of the resampling.

    >>> constant = [np.ones(5), np.ones(3)]
    >>> bootstrap(constant, lambda strata: np.concatenate(strata, axis=-1).mean(axis=-1))
    Interval(value=1.0, low=1.0, high=1.0)
    """
    rng = np.random.default_rng(seed)
    resamples = [
        stratum[rng.integers(len(stratum), size=(RESAMPLES, len(stratum)))] for stratum in strata
    ]
    bounds = (50 * (1 - CONFIDENCE_LEVEL), 50 * (1 + CONFIDENCE_LEVEL))
    low, high = np.percentile(statistic(resamples), bounds)
    return Interval(float(statistic(strata)), float(low), float(high))


def interquartile_mean_interval(strata: Strata, seed: int = 0) -> Interval:
    """The interquartile mean of all runs, with its stratified bootstrap interval."""
    return bootstrap(strata, lambda runs: interquartile_mean(np.concatenate(runs, axis=-1)), seed)


def probability_of_improvement(ours: Strata, others: Strata) -> Numbers:
    """The probability that a run of the first agent is better than a run of the second.

    Ties count half. The result is the mean over the tasks.

    >>> float(probability_of_improvement([np.array([1.0, 2.0])], [np.array([1.0, 0.0])]))
    0.875
    """
    pairs = [(x[..., :, None], y[..., None, :]) for x, y in zip(ours, others, strict=True)]
    means: Numbers = np.mean(
        [((x > y) + 0.5 * (x == y)).mean(axis=(-2, -1)) for x, y in pairs], axis=0
    )
    return means


def episodes_to(
    episodes: Sequence[int] | npt.NDArray[np.int64], values: Numbers, threshold: float
) -> int | None:
    """The first episode at which a curve reaches the threshold, or None.

    >>> episodes_to([100, 200, 300], np.array([0.0, 0.9, 0.5]), 0.8)
    200
    """
    reached = np.flatnonzero(values >= threshold)
    return int(episodes[int(reached[0])]) if len(reached) else None


def share_interval(count: int, of: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, given `count` successes in `of` trials.

    >>> [round(end, 2) for end in share_interval(6, 10)]
    [0.31, 0.83]
    """
    share = count / of
    middle = share + z * z / (2 * of)
    spread = z * float(np.sqrt(share * (1 - share) / of + z * z / (4 * of * of)))
    scale = 1 + z * z / of
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
