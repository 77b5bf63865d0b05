"""Rules made in Python of NumPy numbers, lists and sets are as those read from a file; what is no rule is refused."""

import numpy as np
import pytest

from pdrm.errors import BadNumber, BadReward, BadSetting, BadShape
from pdrm.machines.counting import CountingTransition
from pdrm.machines.guard import ALWAYS, SILENT, And, Event, Exactly, Not, Or
from pdrm.machines.reward_machine import RewardMachine, RewardTransition
from pdrm.machines.table import tabulate
from pdrm.machines.text.files import parse
from pdrm.machines.text.json_form import to_json
from pdrm.machines.text.writer import to_text
from pdrm.machines.transition import Otherwise, Transition, number_text
from tests.machines.small import counting, machine, rule

A, B = Event("A"), Event("B")
NUMBERS = [np.float64(-0.01), np.float32(-0.5), np.int64(3), 100_000, True]


def made(reward):
    otherwise = Otherwise("stay", None, reward)
    yield machine(rule(push=["#"], reward=reward), otherwise=otherwise)
    yield counting(CountingTransition("u", "f", A, ["-"], [np.int64(2)], reward), otherwise=otherwise)
    yield RewardMachine("r", ("A",), "u", ("f",), otherwise, (RewardTransition("u", "f", Exactly({"A"}), reward),))


@pytest.mark.parametrize("reward", NUMBERS)
def test_what_is_saved_can_be_loaded(reward):
    for built in made(reward):
        assert type(built.transitions[0].reward) is float
        assert built.transitions[0].reward == reward
        assert type(built.otherwise.reward) is float
        for text in (to_text(built), to_json(built)):
            assert parse(text) == built
            assert hash(parse(text).transitions) == hash(built.transitions)


@pytest.mark.parametrize("change", [99_999, 100_000, -1_000_000, 999_999_999])
def test_large_changes_of_counters_can_be_loaded(change):
    built = counting(CountingTransition("u", "f", A, ("-",), (change,), 0))
    assert parse(to_json(built)) == built
    assert parse(to_text(built)) == built


@pytest.mark.parametrize("change", [1.5, 1.0, "1", 10**9, -(10**9), None])
def test_what_is_no_change_of_a_counter(change):
    with pytest.raises(BadNumber) as caught:
        CountingTransition("u", "f", A, ("-",), (change,), 0)
    assert caught.value.fix


@pytest.mark.parametrize("reward", ["1", b"1", None, 10**400, [1.0, 2.0], 1j])
def test_what_is_no_reward(reward):
    makers = [
        lambda: Transition("u", "f", A, "#", (), reward),
        lambda: CountingTransition("u", "f", A, ("-",), (0,), reward),
        lambda: RewardTransition("u", "f", A, reward),
        lambda: Otherwise.stay(reward),
        lambda: Otherwise.go("u", reward),
    ]
    for make in makers:
        with pytest.raises(BadReward) as caught:
            make()
        assert caught.value.fix


def test_a_numpy_number_as_text():
    assert number_text(np.float64(-0.01)) == "-0.01"


@pytest.mark.parametrize("part", [Exactly(frozenset("A")), SILENT, "A", None])
def test_formulas_are_made_of_formulas(part):
    for make in (lambda: Not(part), lambda: And((A, part)), lambda: Or((part, B)), lambda: And([A, B, part])):
        with pytest.raises(BadShape, match="holds formulas") as caught:
            make()
        assert caught.value.fix


def test_parts_in_a_list_are_parts():
    assert And([A, B]) == And((A, B))
    assert hash(Or([A, Not(ALWAYS)])) == hash(Or((A, Not(ALWAYS))))
    assert Exactly({"A"}) == Exactly(frozenset("A"))
    assert hash(Exactly(["A"])) == hash(Exactly(frozenset("A")))
    with pytest.raises(BadShape, match="set of events"):
        Exactly("AB")


@pytest.mark.parametrize("guard", ["A", None, frozenset("A")])
def test_a_rule_reads_a_guard(guard):
    for make in (
        lambda: rule(guard=guard),
        lambda: RewardTransition("u", "f", guard, 0),
        lambda: CountingTransition("u", "f", guard, ("-",), (0,), 0),
    ):
        with pytest.raises(BadShape, match="reads a guard"):
            make()


def test_tables_are_made_of_pushdown_machines():
    others = [*made(0)][1:]
    for other in (*others, "letter", None):
        with pytest.raises(BadSetting, match="tables are made of pushdown reward machines") as caught:
            tabulate(other, [frozenset("A")])
        assert "reward_machine_to_pushdown" in caught.value.fix
