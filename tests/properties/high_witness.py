"""Witnesses at any height: on random deterministic products, a no that two situations prove is what trying all policies gives.

The products are finite and solved by policy iteration in fractions. Both situations must be reached by their words, and every action that is
optimal there must be among those that are named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np

from pdrm.analysis.solving import find_solution
from pdrm.analysis.sufficient_k.high_witness import HighWitnesses
from pdrm.analysis.sufficient_k.questions import Situation
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.language.loading import parse_word
from pdrm.product.finite_product import Bound
from pdrm.task import Task
from tests.properties.exactness import Truth
from tests.properties.plain_product import Case, plain_product
from tests.properties.random_machines import random_machine
from tests.properties.random_products import DISCOUNTS, REWARDS, plainly_paid, random_domain

PRODUCTS = 40
MOST_STATES = 20
MOST_POLICIES = 3_000
KS = range(3)
TRIES = 8


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Look for witnesses in random products that are finite and have several stacks."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        machine = plainly_paid(random, random_machine(random), REWARDS)
        domain = without_chance(random_domain(random, machine))
        case = Case(domain, machine, Bound(), random.choice(DISCOUNTS[1:]))
        plain = plain_product(case, MOST_STATES)
        if (
            plain.closed
            and len(domain.actions) > 1
            and len({stack for _, _, stack in plain.states}) > 1
        ):
            counted += compare(random, case, Truth(plain, case.discount))
    return counted


def without_chance(domain: FiniteDomain) -> FiniteDomain:
    """The domain with the first outcome that has a chance in place of all."""
    arrays = domain.arrays
    first = (arrays.probability > 0).argmax(axis=2)[..., np.newaxis]
    following, label, reward = (
        np.ascontiguousarray(np.take_along_axis(array, first, axis=2))
        for array in (arrays.next, arrays.label, arrays.reward)
    )
    alone = arrays._replace(
        next=following, label=label, reward=reward, probability=np.ones(following.shape)
    )
    return replace(domain, arrays=alone)


def compare(random: Random, case: Case, truth: Truth) -> Counter[str]:
    """Every no about one product; raises at one that is wrong."""
    solution = find_solution(Task(case.domain, case.machine), float(case.discount))
    high, counted = (
        HighWitnesses(solution, Random(random.getrandbits(31)), tries=TRIES),
        Counter[str](cases=1),
    )
    for k in KS:
        groups: dict[object, list[int]] = {}
        for x, (s, u, stack) in enumerate(truth.plain.states):
            groups.setdefault((s, u, stack[:k]), []).append(x)
        common = all(
            np.bitwise_and.reduce([truth.optimal[x] for x in group]) for group in groups.values()
        )
        same = all(
            len({(truth.value[x], truth.optimal[x]) for x in group}) == 1
            for group in groups.values()
        )
        for question, enough in (("everywhere", common), ("same_values", same)):
            pair = high.find(question, k)
            counted.update({"answered no": int(not enough), "witnesses": int(pair is not None)})
            assert pair is None or not enough, f"{case}\n{k = }, {question}: {pair}, and it is true"
            for one in pair or ():
                check_situation(case, truth, one)
        if (
            len(case.domain.actions) ** len(truth.plain.states) <= MOST_POLICIES
        ):  # all of them are tried
            enough, clash = truth.answers(k)["start"], high.find_from_start(k)
            counted.update({"from the start no": int(not enough), "proved": int(clash is not None)})
            assert clash is None or not enough, (
                f"{case}\n{k = }, from the start: {clash}, and it is true"
            )
            for one in clash or ():
                check_situation(case, truth, one)
    return counted


def check_situation(case: Case, truth: Truth, one: Situation) -> None:
    """It is a state of the product, its word leads there, and no optimal action is left out."""
    x = truth.plain.states.get((one.place, one.state, one.stack))
    assert x is not None, f"{case}\n{one} cannot be reached"
    ended = case.machine.run(parse_word(one.word)).after
    assert (ended.state, ended.stack) == (one.state, one.stack), (
        f"{case}\n`{one.word}` leads to {ended}, not to {one}"
    )
    names = {name for a, name in enumerate(case.domain.actions) if truth.optimal[x] >> a & 1}
    assert names <= set(one.actions), f"{case}\n{one}, and optimal are {names}"
    assert one.value[0] <= truth.value[x] <= one.value[1], (
        f"{case}\n{one}, and its value is {float(truth.value[x])}"
    )
