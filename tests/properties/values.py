"""Values of random products compared with Storm's: inside the reported interval, and within 1e-6.

A closed product is solved by Storm in rational numbers, which must lie inside the intervals, and by
Storm's sound method in floats, which must lie within 1e-6 of their middles. For an open product,
Storm solves a much larger one, with the smallest and with the largest possible reward beyond its
frontier. No such bounds are at hand for steps with silent moves, so the larger product must be
closed then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from random import Random

from pdrm.analysis.value_iteration import bound_values
from pdrm.product.finite_kernel import FiniteProduct
from tests.properties.plain_product import (
    END,
    Case,
    Plain,
    fraction,
    keys,
    most_paid,
    plain_product,
)
from tests.properties.random_products import LARGE, REWARDS, random_case
from tests.properties.storm import Bounds, exact_solution, sound_solution

PRODUCTS = 100
MAX_STATES = 200
FURTHER = 400
"""States of the product that an open one is compared with, about."""
CLOSE = Fraction(1, 10**6)
RULES = ("block", "fail", "open", "none")


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Compare intervals on random products.

    Products with large rewards are not counted, because their values are close only relatively.
    """
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        large = random.random() < 0.1
        case, plain = random_case(random, RULES, MAX_STATES, LARGE if large else REWARDS)
        found = compared_closed(case, plain) if plain.closed else compared_open(case)
        if large:
            found = Counter({"with large rewards": found["cases"]})
        counted += found
    return counted


def compared_closed(case: Case, plain: Plain) -> Counter[str]:
    """Every value is inside its interval and close to Storm's."""
    product = explored(case, plain)
    found = bound_values(product, float(case.discount))
    truth, storm = exact_solution(plain, case.discount), sound_solution(plain, case.discount)
    rounding = Fraction(found.slack) / (1 - case.discount)  # grows with unreachable rewards, too
    close = CLOSE * max(1, most_paid(plain) / (1 - case.discount) / 10_000) + rounding
    for x, y in enumerate(numbers(product, plain)):
        lower, upper = Fraction(float(found.lower[x])), Fraction(float(found.upper[x]))
        assert lower <= truth[y] <= upper, (
            f"{case}\n{plain.key(y)}: {truth[y]} is not in [{lower}, {upper}]"
        )
        if not isfinite(storm[y].upper - storm[y].lower):
            continue
        middle, theirs = (lower + upper) / 2, Fraction(storm[y].lower + storm[y].upper) / 2
        assert abs(middle - theirs) <= close, (
            f"{case}\n{plain.key(y)}: {float(middle)}, Storm {float(theirs)}"
        )
    start = at_start(plain, truth)
    ends = (found.lower - found.slack, found.upper + found.slack)
    lower, upper = (Fraction(product.average_over_starts(value)) for value in ends)
    assert lower <= start <= upper, f"{case}\nfrom the start: {start} is not in [{lower}, {upper}]"
    return Counter({"cases": 1, "states": len(plain.states), "closed": 1})


def compared_open(case: Case) -> Counter[str]:
    """Every interval meets Storm's interval; counted if that is narrow at the start."""
    further = plain_product(replace(case, height=None), FURTHER)
    silent = any(rule.silent for rule in case.machine.transitions)
    if silent and not further.closed:
        return Counter()
    product = case.product()
    product.explore(max_states=MAX_STATES)
    found = bound_values(product, float(case.discount))
    worst, best = (bracket(case, further, sign) for sign in (-1, 1))
    narrow = True
    for x, key in enumerate(keys(product)):
        if key in further.states:
            y = further.states[key]
            lower, upper = worst[y].lower, best[y].upper
            rounding = 1e-9 * max(1.0, abs(lower), abs(upper))
            apart = found.lower[x] > upper + rounding or found.upper[x] < lower - rounding
            shown = f"{key}: [{found.lower[x]}, {found.upper[x]}], Storm [{lower}, {upper}]"
            assert not apart, f"{case}\n{shown}"
            narrow = narrow and (x not in product.starts or upper - lower <= CLOSE)
    return Counter({"cases": int(narrow), "states": len(product) * narrow})


def bracket(case: Case, further: Plain, sign: int) -> list[Bounds]:
    """Storm's values if steps beyond the frontier have the smallest (-1) or largest (1) reward."""
    arrays, machine = case.domain.arrays, case.machine
    own = [fraction(reward) for reward in arrays.reward[arrays.probability > 0].tolist()]
    paid = [fraction(rule.reward) for rule in (*machine.transitions, machine.otherwise)]
    step = sign * (max(sign * reward for reward in own) + max(sign * reward for reward in paid))
    value = sign * max(sign * step, sign * step / (1 - case.discount))
    return sound_solution(
        further, case.discount, {y: value for y, ways in enumerate(further.ways) if not ways}
    )


def explored(case: Case, plain: Plain) -> FiniteProduct:
    """The package's product, which must have the same states."""
    product = case.product()
    product.explore()
    assert not product.frontier.size, f"{case}\nfrontier: {product.frontier}"
    assert set(keys(product)) == set(plain.states), (
        f"{case}\n{keys(product)}, not {list(plain.states)}"
    )
    return product


def numbers(product: FiniteProduct, plain: Plain) -> list[int]:
    """[x]: the number of a state in the plain product."""
    return [plain.states[key] for key in keys(product)]


def at_start(plain: Plain, truth: Sequence[Fraction]) -> Fraction:
    """The value from the start."""
    return sum(
        (way.chance * (way.paid + _value(truth, way.after)) for way in plain.starts), Fraction(0)
    )


def _value(truth: Sequence[Fraction], x: int) -> Fraction:
    return Fraction(0) if x == END else truth[x]
