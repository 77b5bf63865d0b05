"""Rules made in Python of NumPy numbers, lists and sets are as those read from a file; what is not a rule is refused."""

import numpy as np

from pdrm.language.json_form import to_json
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or
from pdrm.machines.rewards import number_text
from pdrm.machines.transitions import Otherwise, Transition
from tests.machines.small import counting, machine, reward_machine, rule, said

A, B = Event("A"), Event("B")
NUMBERS = [np.float64(-0.01), np.float32(-0.5), np.int64(3), 100_000, True]


def build(reward):
    otherwise = Otherwise("stay", None, reward)
    yield machine(rule(push=["#"], reward=reward), otherwise=otherwise)
    yield counting(
        CountingTransition("u", "f", A, ["-"], [np.int64(2)], reward), otherwise=otherwise
    )
    yield reward_machine(
        "r", ("A",), "u", ("f",), otherwise, (Transition.plain("u", "f", Exactly({"A"}), reward),)
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


def test_what_is_no_change_of_a_counter():
    for change in [1.5, 1.0, "1", 10**9, -(10**9), None]:
        told = said(CountingTransition, "u", "f", A, ("-",), (change,), 0)
        if isinstance(change, int):
            fix = "changes are at most 999,999,999"
            assert told == f"error[E0109]: a counter change by {change:.3g}\n  fix: {fix}"
        else:
            fix = "use an integer such as 1, 0 or -2"
            assert told == f"error[E0109]: `{change}` is not a counter change\n  fix: {fix}"


def test_what_is_no_reward():
    for reward in ["1", b"1", None, 10**400, [1.0, 2.0], 1j]:
        for call in (
            (Transition, "u", "f", A, "#", (), reward),
            (CountingTransition, "u", "f", A, ("-",), (0,), reward),
            (Transition.plain, "u", "f", A, reward),
            (Otherwise.stay, reward),
            (Otherwise.go, "u", reward),
        ):
            fix = "use a finite number such as 1 or -0.01"
            assert (
                said(*call)
                == f"error[E0103]: the reward {str(reward)[:40]!r} is not a number\n  fix: {fix}"
            )


def test_a_numpy_number_as_text():
    assert number_text(np.float64(-0.01)) == "-0.01"


def test_formulas_are_made_of_formulas():
    for part, shown in [
        (Exactly(frozenset("A")), "the label {A}"),
        (SILENT, "'eps'"),
        ("A" * 41, repr("A" * 40)),
        (None, "'None'"),
    ]:
        fix = "make it of Event, Not, And and Or"
        if isinstance(part, Exactly):
            fix = 'write what must be false as well: And((Event("a"), Not(Event("t"))))'
        for kind, parts in ((Not, part), (And, (A, part)), (Or, (part, B)), (And, [A, B, part])):
            assert (
                said(kind, parts)
                == f"error[E0110]: `{kind.__name__}` holds formulas, not {shown}\n  fix: {fix}"
            )


def test_parts_in_a_list_are_parts():
    assert And([A, B]) == And((A, B))
    assert hash(Or([A, Not(ALWAYS)])) == hash(Or((A, Not(ALWAYS))))
    assert Exactly({"A"}) == Exactly(frozenset("A"))
    assert hash(Exactly(["A"])) == hash(Exactly(frozenset("A")))
    fix = 'write Exactly({"a", "t"})'
    assert (
        said(Exactly, "AB")
        == f"error[E0110]: a label is a set of events, not the text 'AB'\n  fix: {fix}"
    )


def test_a_rule_reads_a_guard():
    for guard in ["A" * 41, None, frozenset("A")]:
        fix = 'use Event("a"), Exactly({"a", "t"}), And, Or, Not or SILENT'
        for call in (
            (Transition, "u", "f", guard, "#", (), 0),
            (Transition.plain, "u", "f", guard, 0),
            (CountingTransition, "u", "f", guard, ("-",), (0,), 0),
        ):
            assert (
                said(*call)
                == f"error[E0110]: a rule reads a guard, not {str(guard)[:40]!r}\n  fix: {fix}"
            )


def test_a_change_in_json_that_is_not_whole_is_shown_as_it_is():
    for change in ["1.5", "1e300"]:
        text = to_json(counting(CountingTransition("u", "f", A, ("-",), (7,), 0)))
        assert text.count("7") == 1
        assert f"`{change}` is not a counter change" in said(
            parse, text.replace("7", change), "task.json"
        )
