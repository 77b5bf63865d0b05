"""Statistics against values computed by hand."""

import numpy as np
import pytest

from pdrm.experiments.statistics import (
    bootstrap,
    episodes_to,
    interquartile_mean,
    interquartile_mean_interval,
    probability_of_improvement,
    quartiles,
)


def test_quartiles_are_interpolated():
    found = quartiles(np.array([[1.0, 10.0], [2.0, 10.0], [4.0, 10.0], [8.0, 50.0]]))
    assert found.low.tolist() == [1.75, 10.0]
    assert found.median.tolist() == [3.0, 10.0]
    assert found.high.tolist() == [5.0, 20.0]


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([7.0], 7.0),
        ([1.0, 2.0, 9.0], 4.0),
        ([9.0, 1.0, 2.0, 100.0], 5.5),
        (list(range(10)), 4.5),
        ([0.0, 8.0, 0.0, 8.0, 8.0, 0.0, 8.0, 8.0], 6.0),  # of 0 0 0 8 8 8 8 8, the middle 0 8 8 8
    ],
)
def test_the_interquartile_mean_drops_whole_runs(values, mean):
    assert interquartile_mean(np.array(values)) == mean


def test_probability_of_improvement_counts_pairs():
    ours, others = np.array([3.0, 1.0]), np.array([2.0, 1.0, 0.0])
    # 3 beats all three; 1 beats 0, ties with 1, loses to 2
    assert probability_of_improvement([ours], [others]) == pytest.approx((3 + 1 + 0.5) / 6)
    assert probability_of_improvement([ours, ours], [others, ours + 9]) == pytest.approx(4.5 / 12)
    assert probability_of_improvement([others], [ours]) == pytest.approx(1 - 4.5 / 6)


def test_intervals_are_stratified_and_repeatable():
    low, high = np.zeros(5), np.ones(5) * 10
    # within each stratum all runs are equal: drawing within strata changes nothing, drawing across them would
    assert bootstrap([low, high], lambda strata: np.concatenate(strata, axis=-1).mean(axis=-1))[
        :
    ] == (5.0, 5.0, 5.0)
    runs = [np.arange(10.0), np.arange(10.0) ** 2]
    first, second = interquartile_mean_interval(runs), interquartile_mean_interval(runs)
    assert first == second
    assert first.low < first.value < first.high
    assert interquartile_mean_interval(runs, seed=1) != first


def test_the_interval_of_a_mean_is_about_right():
    runs = np.random.default_rng(3).normal(size=400)
    found = bootstrap([runs], lambda strata: strata[0].mean(axis=-1))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 / 20, rel=0.15)


def test_episodes_to_a_threshold():
    values = np.array([-1.0, 0.5, 0.2, 0.9])
    assert episodes_to([100, 200, 300, 400], values, 0.5) == 200
    assert episodes_to([100, 200, 300, 400], values, 0.91) is None
