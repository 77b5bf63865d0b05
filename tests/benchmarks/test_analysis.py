"""What Storm is measured on is our product: the same values, and the components that the bench says it has."""

import numpy as np

from benchmarks.analysis import bounded, brackets_grid, race_storm
from benchmarks.storm_product import SOUND, storm_product
from pdrm.analysis.graph_kernel import find_components
from pdrm.analysis.values import bound_values


def test_storm_solves_the_same_problem():
    for task, height in (("letter", 3), ("brackets", 2), ("maze", 4)):
        product = bounded(task, height)
        everyone = np.arange(len(product))
        model, ours = storm_product(product, 0.9), bound_values(product, 0.9)
        middle = (ours.lower + ours.upper) / 2
        for method in SOUND:
            found = model.solve(method, 1e-6, everyone).values
            assert np.all(found >= ours.lower - 1.1e-6), (task, method)
            assert np.all(found <= ours.upper + 1.1e-6), (task, method)
            assert np.abs(found - middle).max() <= 1.1e-6, (task, method)


def test_the_three_kinds_of_graphs():
    """Many small components; none that matters; nearly one."""
    sizes = {}
    for task, height in (("letter", 50), ("maze", 6), ("brackets", 6)):
        product = bounded(task, height)
        sizes[task] = np.diff(find_components(product.next.reshape(len(product), -1))[1]) / len(
            product
        )
    assert sizes["letter"].max() < 0.01 < len(sizes["letter"])
    assert len(sizes["maze"]) * sizes["maze"].max() == 1
    assert sizes["brackets"].max() > 0.99


def test_the_grid_of_brackets():
    grid = brackets_grid()
    assert grid.arrays.next[0].tolist() == [
        [0, 1],
        [1, 10],
        [10, 0],
        [0, 0],
    ]  # meant, or to the right of it
    assert np.bincount(grid.arrays.label.ravel(), minlength=5).min() > 0


def test_figures_of_one_product():
    figures, fastest = race_storm("letter", 4, SOUND, 0.0)
    assert sorted(fastest) == sorted(SOUND)
    assert figures["states"] == len(bounded("letter", 4))
    assert figures["storm_difference"] <= 2e-6
