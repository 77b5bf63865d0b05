"""Values: hand-made ones, intervals against exact fractions, open products against deeper ones."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from pdrm.analysis.exact import solve_exactly
from pdrm.analysis.values import bound_values
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import NoDiscount, PdrmError, UnboundedStep
from pdrm.language.loading import catalogue, parse
from pdrm.machines.configurations import Configuration
from pdrm.product.finite_product import Bound, FiniteProduct
from pdrm.product.rationals import read_chances, read_number
from tests.properties.random_domains import random_domain
from tests.properties.random_machines import random_machine


def built(name, bound=None, depth=None):
    where = domain(name)
    product = FiniteProduct(where, catalogue(where.machine), bound)
    product.explore(depth)
    return product


def test_paint_by_hand():
    product = built("paint")
    found = bound_values(product, 0.99)
    for n in range(1, 6):  # asking for all n at once is dearer by i/(i+1) only
        assert found.lower[n - 1] <= -n / (n + 1) <= found.upper[n - 1]
    assert found.width < 1e-10
    low, high = found.at_start(product)
    assert low <= -sum(n / (n + 1) for n in range(1, 6)) / 5 <= high


def test_echo_by_hand():
    product = built("echo", depth=12)
    found = bound_values(product, 0.9)
    speaking = [x for x in range(len(product)) if product.machine_state(x) == "speak"]
    for x in speaking:  # naming the letters one by one pays 1 with the last
        assert found.lower[x] <= 0.9 ** (len(product.stack(x)) - 2) <= found.upper[x]


def find_exact_values(product, discount):
    every = np.ones((len(product), product.next.shape[1]), bool)
    return solve_exactly(product, discount, np.arange(len(product)), every).value


def check_intervals_hold_the_exact_values(seed):
    random = Random(seed)
    machine = random_machine(random)
    where = random_domain(random, machine)
    discount = random.choice([0.0, 0.5, 0.9, 0.99])
    bound = Bound(random.randint(1, 3), random.choice(["block", "fail"]))
    try:
        product = FiniteProduct(where, machine, bound)
        product.explore()
    except PdrmError:
        return
    found = bound_values(product, discount)
    for x, value in find_exact_values(product, discount).items():
        assert Fraction(found.lower[x]) <= value <= Fraction(found.upper[x])
    assert found.width <= 1e-6 * max(
        1.0, np.abs(found.upper).max(initial=0.0), np.abs(product.reward).max(initial=0.0)
    )


def test_intervals_hold_the_exact_values():
    for seed in range(120):
        check_intervals_hold_the_exact_values(seed)


def test_exact_rewards_are_those_of_the_readable_step(monkeypatch):
    monkeypatch.setattr("pdrm.product.rationals.FIRST_ROOM", 2)  # the tables grow
    compared, silent = 0, 0
    for seed in range(400):
        random = Random(seed)
        machine = random_machine(random)
        where = random_domain(random, machine)
        try:
            product = FiniteProduct(where, machine)
            product.explore(2)
            exact = product.exact
            product.explore(4, most=200)
            exact = product.exact
        except PdrmError:
            continue
        for x in np.flatnonzero(product.expanded).tolist():
            here = Configuration(product.machine_state(x), product.stack(x))
            for at in np.argwhere(where.arrays.probability[product.place[x]] > 0).tolist():
                place = (int(product.place[x]), *at)
                step = machine.step(here, where.labels[where.arrays.label[place]])
                paid = sum(
                    (read_number(move.reward) for move in step.moves),
                    read_number(where.arrays.reward[place]),
                )
                assert exact.numbers[exact.reward[x, *at]] == paid
                assert abs(product.reward[x, *at] - paid) <= exact.rounding + 1e-18
                compared, silent = compared + 1, silent + (len(step.moves) > 1)
    assert compared > 2_000
    assert silent > 100


def check_open_intervals_hold_whatever_lies_beyond(seed):
    random = Random(seed)
    machine = random_machine(random)
    where = random_domain(random, machine)
    discount = random.choice([0.0, 0.5, 0.9])
    try:
        near, far = FiniteProduct(where, machine), FiniteProduct(where, machine)
        near.explore(2)
        far.explore(6, most=20_000)
        first, second = bound_values(near, discount), bound_values(far, discount)
    except PdrmError:
        return
    assert near.stacks.capacity > 0
    number = {(int(far.place[x]), far.machine_state(x), far.stack(x)): x for x in range(len(far))}
    for x in range(len(near)):
        y = number[int(near.place[x]), near.machine_state(x), near.stack(x)]
        assert first.lower[x] <= second.upper[y]
        assert second.lower[y] <= first.upper[x]


def test_open_intervals_hold_whatever_lies_beyond():
    for seed in range(120):
        check_open_intervals_hold_whatever_lies_beyond(seed)


def test_a_step_without_bound_is_refused_where_it_matters():
    text = "name m\nevents a b\nexclusive a b\nstack # A\nstart u\nfinal f\notherwise stay 0\nu -> u : a, z / A z, 0\n"
    text += "u -> w : b, z / z, 0\nw -> w : eps, A / eps, 1\nw -> f : eps, # / #, 1\n"
    machine = parse(text, "m.pdrm")
    where = from_arrays("one", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=5)
    product = FiniteProduct(where, machine)
    product.explore(3)
    with pytest.raises(UnboundedStep, match="--height 12 --rule block"):
        bound_values(product, 0.9)
    capped = FiniteProduct(where, machine, Bound(3, "block"))
    capped.explore()
    assert bound_values(capped, 0.9).width < 1e-6


def test_numbers_that_floats_stand_for():
    assert read_number(0.99) == Fraction(99, 100)
    assert read_number(1e5) == 100_000
    assert read_number(-5 / 6) == Fraction(-5, 6)
    assert read_number(0.1 + 0.2) == Fraction("0.30000000000000004")  # 3/10 rounds to another float
    assert read_number(2.0**0.5) == Fraction("1.4142135623730951")  # no small fraction is near
    assert read_number(12345.678901234567) == Fraction(
        "12345.678901234567"
    )  # many are near, by chance
    assert sum(read_chances(1 / 3, 1 / 3, 1 / 3)) == 1
    assert read_chances(0.9999999999999996, 4e-16)[0] == Fraction("0.9999999999999996")


def test_no_values_without_a_discount():
    for discount in (1.0, 1.5, -0.1, float("nan")):
        with pytest.raises(NoDiscount):
            bound_values(built("paint"), discount)


def check_a_capped_product_seen_in_part_is_bounded_too(seed, rule):
    """What is known by the top symbol holds for unbounded stacks only: under a cap, steps may end or be repeated."""
    random = Random(seed)
    machine = random_machine(random)
    where = random_domain(random, machine)
    try:
        near, whole = (FiniteProduct(where, machine, Bound(3, rule)) for _ in range(2))
        near.explore(2)
        whole.explore()
        first, second = bound_values(near, 0.5), bound_values(whole, 0.5)
    except PdrmError:
        return
    number = {
        (int(whole.place[x]), whole.machine_state(x), whole.stack(x)): x for x in range(len(whole))
    }
    for x in range(len(near)):
        y = number[int(near.place[x]), near.machine_state(x), near.stack(x)]
        assert first.lower[x] <= second.upper[y]
        assert second.lower[y] <= first.upper[x]


def test_a_capped_product_seen_in_part_is_bounded_too():
    for rule in ["block", "fail"]:
        for seed in range(40):
            check_a_capped_product_seen_in_part_is_bounded_too(seed, rule)
