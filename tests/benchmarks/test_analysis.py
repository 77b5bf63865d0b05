"""What Storm is measured on is our product: the same values, and the components that the bench says it has."""

import numpy as np

from benchmarks.analysis import DISCOUNT, bounded, race_storm, solve
from benchmarks.storm_product import SOUND, storm_product


def test_storm_solves_the_same_problem():
    for task, height in (("letter", 3), ("brackets", 2), ("maze", 4)):
        product = bounded(task, height)
        everyone = np.arange(len(product))
        model, ours = storm_product(product, DISCOUNT), solve(product)
        for method in SOUND:
            found = model.solve(method, 1e-6, everyone).values
            assert np.all(found >= ours.lower - 1.1e-6), (task, method)
            assert np.all(found <= ours.upper + 1.1e-6), (task, method)
            middle = (ours.lower + ours.upper) / 2
            assert np.abs(found - middle).max() <= 2.1e-6, (task, method)


def test_figures_of_one_product():
    figures, fastest = race_storm("letter", 4, SOUND, 0.0)
    assert sorted(fastest) == sorted(SOUND)
    assert figures["states"] == len(bounded("letter", 4))
    assert figures["storm_difference"] <= 2e-6
