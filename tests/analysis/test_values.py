"""Values: hand-made ones, and open products against deeper ones."""

from random import Random

import numpy as np
import pytest

from pdrm.analysis.value_iteration import bound_values
from pdrm.domains.finite_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import NoDiscount, PdrmError
from pdrm.language.loading import catalogue, parse
from pdrm.product.finite_kernel import FiniteProduct
from tests.properties.random_domains import random_domain
from tests.properties.random_machines import random_machine


def built(name, depth=None):
    where = domain(name)
    product = FiniteProduct(where, catalogue(where.machine))
    product.explore(depth)
    return product


def test_paint_by_hand():
    product = built("paint")
    found = bound_values(product, 0.99)
    for n in range(1, 6):  # asking for all n at once is dearer by i/(i+1) only
        assert found.lower[n - 1] <= -n / (n + 1) <= found.upper[n - 1]
    assert found.width < 1e-10
    value = -sum(n / (n + 1) for n in range(1, 6)) / 5
    assert abs(product.average_over_starts(found.lower) - value) < 1e-10


def test_echo_by_hand():
    product = built("echo", depth=12)
    found = bound_values(product, 0.9)
    speaking = [x for x in range(len(product)) if product.machine_state(x) == "speak"]
    for x in speaking:  # naming the letters one by one pays 1 with the last
        assert found.lower[x] <= 0.9 ** (len(product.stack(x)) - 2) <= found.upper[x]


def check_open_intervals_hold_whatever_lies_beyond(seed):
    random = Random(seed)
    machine = random_machine(random)
    where = random_domain(random, machine)
    discount = random.choice([0.0, 0.5, 0.9])
    try:
        near, far = FiniteProduct(where, machine), FiniteProduct(where, machine)
        near.explore(2)
        far.explore(6, max_states=20_000)
        first, second = bound_values(near, discount), bound_values(far, discount)
    except PdrmError:
        return
    assert near.stacks.capacity > 0
    number = {
        (int(far.env_state[x]), far.machine_state(x), far.stack(x)): x for x in range(len(far))
    }
    for x in range(len(near)):
        y = number[int(near.env_state[x]), near.machine_state(x), near.stack(x)]
        assert first.lower[x] <= second.upper[y]
        assert second.lower[y] <= first.upper[x]


def test_open_intervals_hold_whatever_lies_beyond():
    for seed in range(120):
        check_open_intervals_hold_whatever_lies_beyond(seed)


def test_paid_silent_pops_are_bounded_by_the_height():
    text = "name m\nevents a b\nexclusive a b\nstack # A\nstart u\nfinal f\notherwise stay 0\nu -> u : a, z / A z, 0\n"
    text += "u -> w : b, z / z, 0\nw -> w : eps, A / eps, 1\nw -> f : eps, # / #, 1\n"
    where = from_arrays("one", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=5)
    product = FiniteProduct(where, parse(text, "m.pdrm"))
    product.explore(40)
    found = bound_values(product, 0.5)
    for x in np.flatnonzero(product.expanded)[:5].tolist():  # throw now, or push n more first
        pushed = len(product.stack(x)) - 1
        best = max(0.5**n * (pushed + n + 1) for n in range(30))
        assert found.lower[x] <= best <= found.upper[x]
    assert found.upper[0] - found.lower[0] < 1e-6


def test_no_values_without_a_discount():
    for discount in (1.0, 1.5, -0.1, float("nan")):
        with pytest.raises(NoDiscount):
            bound_values(built("paint"), discount)


def test_alternating_choices_end():
    """A product in which extrapolation after every round alternated between two choices."""
    machine = parse(
        "events a b c d\nstack # A\nstates s u t\nstart s\nfinal over\notherwise go t -1\n"
        "s -> u : c, # / eps, 1\nu -> t : c | b, z / A, -10"
    )
    world = from_arrays(
        "turns",
        [[[3, 2, 3], [0, 3, 0]], [[2, 3, 2], [3, 0, 2]], [[0, 2, 0], [3, 2, 1]], [[3, 3, 2], [2, 3, 1]]],
        [[[1, 0, 0], [1, 1, 1]], [[1, 1, 1], [0, 0, 0]], [[0, 1, 0], [0, 1, 0]], [[0, 0, 0], [0, 0, 1]]],
        [("b", "d"), ("c",)],
        step_limit=100,
        probability=[
            [[0, 1, 0], [0, 1, 0]],
            [[1 / 3, 2 / 3, 0], [0.375, 0.375, 0.25]],
            [[0.375, 0.375, 0.25], [0.1, 0.9, 0]],
            [[0.1, 0.9, 0], [0.1, 0.9, 0]],
        ],
        reward=[
            [[0.2, 0, 0], [0, -0.01, 0]],
            [[0.3, 0, 1 / 3], [-1, 2, 0]],
            [[10, 0.3, -0.3], [1 / 3, -0.3, 10]],
            [[1, -10, 0], [-1, 1, 1 / 3]],
        ],
    )  # fmt: skip
    product = FiniteProduct(world, machine)
    product.explore()
    assert bound_values(product, 8998192055486251 / 9007199254740992).width < 1e-3
