"""What Storm is measured on is our product: the same values, and the components that the bench says it has."""

import numpy as np
import pytest

from pdrm.analysis.exact import exact_values
from pdrm.analysis.graph_kernel import components
from pdrm.analysis.values import values
from pdrm.bench.analysis_bench import beside_storm, bounded, brackets_grid, measured_growth
from pdrm.bench.storm_product import SOUND, storm_product


@pytest.mark.parametrize(("task", "height"), [("letter", 3), ("brackets", 2), ("maze", 4)])
@pytest.mark.parametrize("method", SOUND)
def test_storm_solves_the_same_problem(task, height, method):
    product = bounded(task, height)
    everyone = np.arange(len(product))
    found = storm_product(product, 0.9).solve(method, 1e-6, everyone)
    ours = values(product, 0.9)
    assert np.all(found.values >= ours.lower - 1.1e-6)
    assert np.all(found.values <= ours.upper + 1.1e-6)
    exact = exact_values(product, 0.9, everyone, np.ones(product.next.shape[:2], np.bool_))
    truth = np.array([float(exact.value[x]) for x in range(len(product))])
    assert np.abs(found.values - truth).max() <= 1.1e-6


def test_the_three_kinds_of_graphs():
    """Many small components; none that matters; nearly one."""
    sizes = {}
    for task, height in (("letter", 50), ("maze", 6), ("brackets", 6)):
        product = bounded(task, height)
        sizes[task] = np.diff(components(product.next.reshape(len(product), -1))[1]) / len(product)
    assert sizes["letter"].max() < 0.01 < len(sizes["letter"])
    assert len(sizes["maze"]) * sizes["maze"].max() == 1
    assert sizes["brackets"].max() > 0.99


def test_the_grid_of_brackets():
    grid = brackets_grid()
    assert grid.arrays.next[0].tolist() == [[0, 1], [1, 10], [10, 0], [0, 0]]  # meant, or to the right of it
    assert np.bincount(grid.arrays.label.ravel(), minlength=5).min() > 0


def test_figures_of_one_product():
    found = beside_storm("letter", 4, SOUND, 0.0)
    assert sorted(found.methods) == sorted(SOUND)
    assert found.figures["states"] == len(bounded("letter", 4))
    assert found.figures["storm_difference"] <= 2e-6


def test_growth_counts_states():
    grown = measured_growth({"maze": (3, 4)})
    assert grown["growth_states_maze_4"] == 4 * grown["growth_states_maze_3"] + 1
