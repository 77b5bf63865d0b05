"""A yes for every stack. That it is right is a proof (`tests/properties/every_stack.py`)."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

import pdrm
from pdrm.analysis import load_certificate
from pdrm.analysis.sufficient_k import stack_checker
from pdrm.analysis.sufficient_k.certificate import EVERY_STACK
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.sufficient_k.every_stack import EveryStack, is_never_less
from pdrm.analysis.sufficient_k.k_report import format_report
from pdrm.analysis.time_limit import limit_time
from pdrm.domains.array_domain import from_arrays
from pdrm.product.summaries.exact_operators import ExactOperator, Powers
from pdrm.task import Task

KEYS = """
name keys
events key door
exclusive key door
stack # K
start u
final out
otherwise stay -0.1
u -> u : key, z / K z, 0
u -> u : door, # / #, -1
u -> out : door, K / eps, 5
"""
LIFT = """
name lift
events more less
exclusive more less
stack # B
start u
final done
otherwise stay 0
u -> u : more, z / B z, PAY
u -> u : less, B / eps, 1
u -> done : less, # / #, 1
"""


def room(*events):
    return pdrm.domains.from_arrays(
        "room",
        next=[[0, 0]],
        label=[[1, 2]],
        labels=[(), *((event,) for event in events)],
        actions=events,
        step_limit=20,
    )


@pytest.fixture(scope="module")
def echo():
    return check_k("echo", k=[0, 1, 3])


def test_echo_needs_one_symbol_however_high_the_stack(echo):
    for question in ("everywhere", "start"):
        assert [echo.answers[k][question].scope for k in (0, 1, 3)] == [
            None,
            EVERY_STACK,
            EVERY_STACK,
        ]
    assert echo.loss(1) == (0.0, 0.0)
    assert echo.record()["scopes"]["1"] == {"everywhere": "every stack", "start": "every stack"}
    assert echo.record()["k"]["1"]["everywhere"] == "yes"
    rows = format_report(echo)
    assert rows[5].split("  ")[-1].strip() == "0"
    assert "yes, for every stack" in rows[5]
    assert "everywhere: k = 1 is enough, for every stack" in rows
    assert "yes, for every stack" in echo._repr_html_()


def test_a_certificate_is_saved_read_and_checked(echo, tmp_path):
    task, proof = Task("echo"), echo.certificate(3, "start")
    assert proof.k == 1  # what is enough with one symbol is enough with three
    proof.save(tmp_path / "proof.json")
    read = load_certificate(tmp_path / "proof.json")
    assert find_fault(task.finite, task.pushdown, read) is None
    assert (
        read.describe()
        == proof.describe()
        == "some 1-policy is optimal from every state, with every stack"
    )
    damaged = (tmp_path / "proof.json").read_text().replace('"0"', '"1e9"', 1)
    (tmp_path / "proof.json").write_text(damaged)
    with pytest.raises(pdrm.PdrmError, match="not a fraction"):
        load_certificate(tmp_path / "proof.json")


def test_the_checker_says_what_is_wrong(echo):
    task, proof = Task("echo"), echo.certificate(1, "everywhere")
    said = {
        "in (1, 1, (2,)) action 0 may be better than action 1": {
            "views": [(s, u, seen, 1) for s, u, seen, _ in proof.views]
        },
        "the view (1, 1, (3,)) is missing": {
            "views": [view for view in proof.views if view[2] != [3] or not view[0]]
        },
        "it is about another task": {"domain": "paint"},
        "the discount is out of range": {"discount": 1.0},
        "there is no such question": {"question": "why"},
        "k is below 0": {"k": -1},
        "views that look like (1, 1, (2,)) differ": {"k": 0},
        "the operator at (1, 1, 2) is too low": {
            "operators": [(*row[:4], [] if row[2] == 2 else row[4]) for row in proof.operators]
        },
        "the operator at (1, 1, 1) is too high": {
            "operators": [
                (*row[:3], "2" if row[2] == 1 else row[3], row[4]) for row in proof.operators
            ],
            "ranges": [(*row[:4], "2") for row in proof.ranges],
        },
        "the worth at (1, 1, 2) may be more than its range says": {
            "ranges": [(*row[:4], "1/2" if row[2] == 2 else row[4]) for row in proof.ranges]
        },
        "what happens in (0, 0, (1,)) depends on chance": {"question": "same_values"},
        "symbol 3 may lie below symbol 2": {"below": [(1, [0]), (2, [1, 2]), (3, [1, 2, 3])]},
        "heads with an operator and heads with a range differ": {"ranges": proof.ranges[1:]},
        "it is damaged": {"operators": [None]},
    }
    for fault, changed in said.items():
        found = find_fault(task.finite, task.pushdown, replace(proof, **changed))
        assert str(found).startswith(fault)


def test_a_key_and_a_door():
    task = Task(room("key", "door"), pdrm.parse(KEYS))
    every = EveryStack.of(task, 0.9)
    assert [every.prove("same_values", k) is not None for k in (0, 1, 2)] == [False, True, True]
    proof = every.prove("same_values", 1)
    assert find_fault(task.finite, task.pushdown, proof) is None
    assert proof.describe() != every.prove("everywhere", 1).describe()


def test_outcomes_that_are_the_same_and_starts_without_a_chance_change_nothing():
    chances = [[[0.333333333] * 3] * 2] * 2
    thrice = (
        [[[place] * 3] * 2 for place in (0, 1)],
        [[[1] * 3, [2] * 3]] * 2,
        [(), ("key",), ("door",)],
    )
    where = from_arrays(
        "thrice", *thrice, step_limit=20, probability=chances, start={0: 1.0, 1: 0.0}
    )
    task = Task(where, pdrm.parse(KEYS))
    every = EveryStack.of(task, 0.9)
    assert [every.prove("same_values", k) is not None for k in (0, 1)] == [False, True]
    assert find_fault(task.finite, task.pushdown, every.prove("same_values", 1)) is None


def test_a_claim_of_one_value_is_refused_where_it_depends_on_what_is_below():
    task = Task(room("more", "less"), pdrm.parse(LIFT.replace("PAY", "0")))
    proof = EveryStack.of(task, 0.9).prove("everywhere", 1)
    found = find_fault(task.finite, task.pushdown, replace(proof, question="same_values"))
    assert "depend on what is below" in str(found)


def test_two_ways_to_compare_operators_agree():
    """The one that looks for a proof, and the checker's, which shares no code with it; and a yes holds wherever one looks."""
    random, power, checked, yes = (
        Random(5),
        Powers(Fraction(1, 2)),
        stack_checker.Powers(Fraction(1, 2)),
        0,
    )
    exits = [(0, 0), (1, 0)]
    for _ in range(120):
        box = {
            e: (Fraction(low), Fraction(low + random.randint(0, 6)))
            for e in exits
            for low in [random.randint(-3, 3)]
        }
        one, other = (
            ExactOperator(
                random.choice((None, Fraction(random.randint(-4, 4), 2))),
                {
                    e: {t: Fraction(random.randint(-6, 6), 2) for t in random.sample(range(3), 2)}
                    for e in exits[: random.randint(0, 2)]
                },
            )
            for _ in range(2)
        )
        if any(operator.constant is None and not operator.lines for operator in (one, other)):
            continue
        said = is_never_less(one, other, box, power)
        low, high = ({e: ends[side] for e, ends in box.items()} for side in (0, 1))
        heights = [
            stack_checker.Height(
                [] if operator.constant is None else [operator.constant],
                [
                    stack_checker.Way(e, t, c)
                    for e, ways in operator.lines.items()
                    for t, c in ways.items()
                ],
            )
            for operator in (other, one)
        ]
        assert stack_checker.is_covered(*heights, low, high, checked) == said
        points = [
            [low + (high - low) * Fraction(part, 4) for part in range(5)]
            for low, high in box.values()
        ]
        for pair in product(*points) if said else ():
            worth = dict(zip(exits, pair, strict=True))
            assert one.at(worth, power) >= other.at(worth, power)
        yes += said
    assert 10 < yes < 110


def test_pushing_for_ever_or_popping_whatever_is_below():
    """A pop pays 1, with nothing left it ends the episode. A push that pays more is best for ever; one that pays less only to pop again."""
    for pay, enough in (("0", 1), ("0.5", 1), ("1", 0), ("2", 0)):
        task = Task(room("more", "less"), pdrm.parse(LIFT.replace("PAY", pay)))
        every = EveryStack.of(task, 0.9)
        proofs = [every.prove("everywhere", k) for k in (0, 1, 2)]
        assert [k for k in (0, 1, 2) if proofs[k]] == list(range(enough, 3)), pay
        assert find_fault(task.finite, task.pushdown, proofs[2]) is None
        assert (every.prove("same_values", 0) is not None) is (
            pay == "2"
        )  # at 1 a pop is as good as a push, if there is one


def test_without_time_or_with_too_many_numbers_there_is_no_answer(monkeypatch):
    with limit_time(0):
        assert EveryStack.of(Task("echo"), 0.99) is None
    every = EveryStack.of(Task("echo"), 0.99)
    monkeypatch.setattr("pdrm.analysis.sufficient_k.every_stack.MOST_VIEWS", 2)
    assert every.prove("everywhere", 1) is None
    monkeypatch.setattr("pdrm.product.summaries.exact_operators.MOST_NUMBERS", 2)
    assert EveryStack.of(Task("echo"), 0.99) is None
    assert EveryStack.of(Task("echo"), 0.0) is None
