"""Machines from NumPy numbers, lists and sets equal machines from files; wrong types are refused."""

import numpy as np

from pdrm.language.json_form import to_json
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or
from pdrm.machines.transitions import Otherwise, Transition
from tests.machines.small import counting, machine, plain_rule, reward_machine, rule, said

A, B = Event("A"), Event("B")
NUMBERS = [np.float64(-0.01), np.float32(-0.5), np.int64(3), 100_000, True]


def build(reward):
    otherwise = Otherwise("stay", None, reward)
    yield machine(rule(push=["#"], reward=reward), otherwise=otherwise)
    yield counting(
        CountingTransition("u", "f", A, ["-"], [np.int64(2)], reward), otherwise=otherwise
    )
    yield reward_machine(
        "r", ("A",), "u", ("f",), otherwise, (plain_rule("u", "f", Exactly({"A"}), reward),)
    )


def test_what_is_saved_can_be_loaded():
    for reward in NUMBERS:
        for built in build(reward):
            assert type(built.transitions[0].reward) is float
            assert built.transitions[0].reward == reward
            assert type(built.otherwise.reward) is float
            for text in (to_text(built), to_json(built)):
                assert parse(text) == built
                assert hash(parse(text).transitions) == hash(built.transitions)


def test_large_changes_of_counters_can_be_loaded():
    for change in [99_999, 100_000, -1_000_000, 999_999_999]:
        built = counting(CountingTransition("u", "f", A, ("-",), (change,), 0))
        assert parse(to_json(built)) == built
        assert parse(to_text(built)) == built


WRONG = [
    *(
        ("E0109", (CountingTransition, "u", "f", A, ("-",), (change,), 0))
        for change in (1.5, 1.0, "1", 10**9, -(10**9), None)
    ),
    *(
        ("E0103", call)
        for reward in ("1", b"1", None, 10**400, [1.0, 2.0], 1j)
        for call in (
            (Transition, "u", "f", A, "#", (), reward),
            (CountingTransition, "u", "f", A, ("-",), (0,), reward),
            (plain_rule, "u", "f", A, reward),
            (Otherwise.stay, reward),
            (Otherwise.go, "u", reward),
        )
    ),
    *(
        ("E0110", call)
        for part in (Exactly(frozenset("A")), SILENT, "A" * 41, None)
        for call in ((Not, part), (And, (A, part)), (Or, (part, B)), (And, [A, B, part]))
    ),
    *(
        ("E0110", call)
        for guard in ("A" * 41, None, frozenset("A"))
        for call in (
            (Transition, "u", "f", guard, "#", (), 0),
            (plain_rule, "u", "f", guard, 0),
            (CountingTransition, "u", "f", guard, ("-",), (0,), 0),
        )
    ),
    ("E0110", (Exactly, "AB")),
    *(
        ("E0110", (reward_machine, "m", events, "u", ("f",), Otherwise.stay(0), ()))
        for events in ("ab", 3, (1, 2), None)
    ),
    *(
        ("E0110", (reward_machine, "m", ("a", "b"), "u", ("f",), Otherwise.stay(0), (), exclusive))
        for exclusive in (("a", "b"), ["a", "b"], "ab", 3, ((1, 2),))
    ),
]


def test_what_has_the_wrong_type_is_refused():
    for code, call in WRONG:
        assert said(*call).startswith(f"error[{code}]"), call


def test_lists_are_as_good_as_tuples():
    rules = [plain_rule("u", "d", Event("a"), 1)]
    lists = ["a", "b"], "u", ["d"], Otherwise.stay(0), rules, [["a", "b"]], ["u"]
    tuples = ("a", "b"), "u", ("d",), Otherwise.stay(0), tuple(rules), (("a", "b"),), ("u",)
    assert hash(reward_machine("m", *lists)) == hash(reward_machine("m", *tuples))
    assert And([A, B]) == And((A, B))
    assert hash(Or([A, Not(ALWAYS)])) == hash(Or((A, Not(ALWAYS))))
    assert Exactly({"A"}) == Exactly(frozenset("A"))
    assert hash(Exactly(["A"])) == hash(Exactly(frozenset("A")))
