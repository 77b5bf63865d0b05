"""What exact numbers depend on: how floats are read, sums that round, chances of 0, a discount of 0, depths, large components."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.analysis import bounded
from pdrm.analysis.optimal import find_optimal
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.values import bound_values
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.language.json_form import to_json
from pdrm.language.loading import catalogue, parse
from pdrm.language.writer import to_text
from pdrm.product.finite_product import FiniteProduct

STAY = "name m\nevents a b\nexclusive a b\nstack # A\nstart u\nfinal end\notherwise stay {0}\nu -> end : a, eps / eps, {1}\nu -> end : b, eps / eps, {2}\n"


def test_rewards_that_floats_add_up_wrongly_still_tie():
    """0.1 and 0.2 by the environment and the machine are 0.3, as another action pays at once."""
    machine = parse(STAY.format(0, 0.2, 0.3))
    where = from_arrays(
        "d", [[0, 0]], [[0, 1]], [("a",), ("b",)], reward=[[0.1, 0.0]], step_limit=9
    )
    found = find_optimal(FiniteProduct(where, machine), 0.9)
    assert found.exact[0] == Fraction(3, 10)
    assert found.surely[0] == 0b11


NEARLY = (
    "name m\nevents a b\nexclusive a b\nstack # A\nstart u\nfinal end\notherwise stay 0\n"
    "u -> v : a, # / A #, 0\nu -> v : b, # / #, 0\nv -> end : a, # / #, 0.3\nv -> end : b, # / #, {0}\n"
    "v -> end : a, A / A, {0}\nv -> end : b, A / A, 0.3\n"
)
"""After a the better action is a, after b it is b: by very little."""


def test_rewards_are_what_was_written_whatever_a_rule_pays_that_never_applies():
    where = from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9)
    for reward in ("0.3000012345678", "0.30000000000000001", "0.3000000000000000000000000000001"):
        for far in ("", "far -> end : a, # / #, 1e10\n", "far -> end : a, # / #, 1e250\n"):
            for machine in (
                written := parse(NEARLY.format(reward) + far),
                parse(to_text(written)),
                parse(to_json(written)),
            ):
                report = check_k(where, machine, k=[0], discount=0.9)
                assert [answer.verdict for answer in report.answers[0].values()] == [
                    "no",
                    "no",
                    "yes",
                ]
                assert find_fault(where, machine, report.certificate(0, "start")) is None


def test_the_discount_is_below_1_however_near():
    """To wait pays nothing, whatever a discount of 1 would say of values that are never paid out."""
    where = from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9)
    machine = parse(STAY.format(0, 0, 1).replace("u -> end : a, eps / eps, 0\n", ""))
    for discount in (0.99, 0.9999999999999996, 0.9999999999999999):
        report = check_k(where, machine, k=[0], discount=discount)
        proof = report.certificate(0, "everywhere")
        assert report.optimal.exact[0] == 1
        assert find_fault(where, machine, proof) is None
        forged = replace(
            proof, exact={"0": "100"}, lower=[100.0], upper=[100.0], choice=[(0, 0, [], 0)]
        )
        assert "exact value" in find_fault(where, machine, forged)
        assert "stand for" in find_fault(
            where, machine, replace(forged, guesses={repr(discount): "1"})
        )


def test_a_chain_of_silent_moves_rounds_by_no_more_than_is_known():
    """Two hundred times 0.1 are 20, and less in floats: the interval holds the true value."""
    chain = "".join(f"u{i} -> u{i + 1} : eps, z / z, 0.1\n" for i in range(200))
    text = f"name m\nevents a\nstack #\nstart u\nfinal u200\notherwise stay 0\nu -> u0 : a, z / z, 0\n{chain}"
    where, machine = from_arrays("d", [[0]], [[0]], [("a",)], step_limit=9), parse(text)
    report = check_k(where, machine, k=[0])
    values = report.optimal.values
    assert report.optimal.exact[0] == 20
    assert values.lower[0] <= 20 <= values.upper[0]
    assert find_fault(where, machine, report.certificate(0, "everywhere")) is None


def test_a_number_that_was_computed_is_guessed_and_the_certificate_says_so():
    where = from_arrays(
        "d", [[0, 0]], [[0, 1]], [("a",), ("b",)], reward=[[1 / 3, 0.0]], step_limit=9
    )
    machine = parse(STAY.format(0, 0, 0))
    report = check_k(where, machine, k=[0])
    proof = report.certificate(0, "everywhere")
    assert report.optimal.exact[0] == Fraction(1, 3)
    assert proof.guesses == {"0.3333333333333333": "1/3"}
    assert find_fault(where, machine, proof) is None
    assert find_fault(where, machine, replace(proof, guesses={})) is not None
    assert "stand for" in find_fault(
        where, machine, replace(proof, guesses={"0.3333333333333333": "1/4"})
    )
    assert "not computed" in find_fault(
        where, machine, replace(proof, guesses={**proof.guesses, "0.5": "1/2"})
    )


def test_probabilities_that_fall_short_of_1_are_taken_to_sum_to_it():
    machine = parse(STAY.format(1, 0, 0))
    where = from_arrays(
        "d",
        [[[0] * 3]],
        [[[0] * 3]],
        [()],
        step_limit=9,
        probability=[[[0.333333333] * 3]],
        events=["a", "b"],
    )
    report = check_k(where, machine, k=[0])
    assert report.optimal.exact[0] == 100
    assert report.optimal.values.lower[0] <= 100 <= report.optimal.values.upper[0]
    assert find_fault(where, machine, report.certificate(0, "everywhere")) is None


def test_a_start_without_a_chance_is_no_start():
    where = from_arrays(
        "d", [[0], [1]], [[0], [0]], [()], step_limit=9, start={0: 1.0, 1: 0.0}, events=["a", "b"]
    )
    product = FiniteProduct(where, parse(STAY.format(1, 0, 0)))
    product.explore()
    assert product.place.tolist() == [0]


def test_with_a_discount_of_0_only_the_first_action_counts_from_the_start():
    """Two states that look alike want different actions, but the second is met after the first step only."""
    text = "name m\nevents a b\nstack # A\nstart u\notherwise stay 0\nu -> u : a, # / A #, 1\nu -> u : b, A / A, 1\n"
    where = from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9)
    verdicts = {}
    for discount in (0.0, 0.5):
        report = check_k(where, parse(text), k=[0], discount=discount)
        verdicts[discount] = tuple(answer.verdict for answer in report.answers[0].values())
    assert verdicts == {0.0: ("no", "no", "yes"), 0.5: ("no", "no", "no")}


@pytest.mark.compiled
def test_a_yes_to_a_depth_does_not_become_a_yes_about_all():
    """Within 3 steps all states have the same value; not so further on, though the whole product was explored."""
    where, machine = domain("maze-5x5"), catalogue("treasure-maze")
    near = check_k(where, machine, k=[0], depth=3, height=7, rule="block")
    answer = near.answers[0]["everywhere"]
    assert (answer.verdict, answer.depth) == ("yes", 3)
    assert not near.optimal.product.frontier.size
    assert find_fault(where, machine, near.certificate(0, "everywhere")) is None
    whole = check_k(where, machine, k=[0], height=7, rule="block")
    assert whole.answers[0]["everywhere"].verdict == "no"


def test_a_step_that_pops_all_there_is_can_be_certified():
    text = (
        "name m\nevents a b\nstack # A\nstart u\nfinal end\notherwise stay 0\n"
        "u -> u : a, z / A z, 0\nu -> v : b, A / eps, 1\nv -> v : eps, A / eps, 0\nv -> end : eps, # / #, 0\n"
    )
    where, machine = (
        from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9),
        parse(text),
    )
    report = check_k(where, machine, k=[1], depth=2)
    assert report.optimal.product.frontier.size
    assert report.answers[1]["everywhere"].verdict == "yes"
    assert find_fault(where, machine, report.certificate(1, "everywhere")) is None


def solved(product, discount):
    """Optimal values by policy iteration with one linear system for all states."""
    everyone, policy = np.arange(len(product)), np.zeros(len(product), np.int64)
    chance = product.probability[product.place]
    leads = np.zeros((*product.next.shape[:2], len(product)))
    for o in range(product.next.shape[2]):
        np.add.at(
            leads,
            (everyone[:, None], np.arange(4), product.next[:, :, o]),
            discount * chance[:, :, o],
        )
    paid = (chance * product.reward).sum(axis=2)
    while True:
        value = np.linalg.solve(
            np.eye(len(product)) - leads[everyone, policy], paid[everyone, policy]
        )
        q = paid + leads @ value
        if np.all(q.max(axis=1) <= value + 1e-12 * (1 + abs(value))):
            return value
        policy = q.argmax(axis=1)


def test_a_large_component_is_solved_to_the_precision_that_is_asked_for():
    product = bounded("brackets", 3)
    truth = solved(product, 0.99)
    for precision in (1e-3, 1e-6, 1e-9):
        found = bound_values(product, 0.99, precision)
        assert found.width <= 2.1 * precision
        assert found.sweeps > 10 + 20  # choosing, then keeping actions
        assert np.all(found.lower <= truth + 1e-11)
        assert np.all(truth - 1e-11 <= found.upper)
