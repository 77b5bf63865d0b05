"""Small machines: steps, tables, stacks and texts known by hand."""

import math

from pdrm.language.loading import catalogue
from pdrm.machines.guards import SILENT, Event
from pdrm.machines.transitions import Configuration, Otherwise, number_text
from tests.machines.small import machine, plain_rule, reward_machine, rule, said

A = frozenset("A")


def test_a_start_without_rules_is_a_state_only_if_no_state_has_rules():
    assert reward_machine("r", ("A",), "u", (), Otherwise.stay(0), ()).states == ("u",)
    going = plain_rule("v", "u", Event("A"), 0)
    back = plain_rule("u", "v", Event("A"), 0)
    assert "E0201" in said(reward_machine, "r", ("A",), "u", (), Otherwise.stay(0), (going,))
    both = reward_machine("r", ("A",), "u", (), Otherwise.stay(0), (going, back))
    assert both.states == ("u", "v")


def test_numbers_as_text():
    for value, text in [
        (0.0, "0"),
        (-0.0, "0"),
        (10_000, "10000"),
        (100_000, "1e5"),
        (-1_200_000, "-12e5"),
        (1e15, "1e15"),
        (123_456_789_012_345_680.0, "1.2345678901234568e17"),
        (1e16, "1e16"),
        (1e22, "1e22"),
        (2.5e-7, "2.5e-7"),
        (1e-300, "1e-300"),
        (0.5, "0.5"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ]:
        assert number_text(value) == text
        assert float(text) == value or math.isnan(value)


def test_the_moves_of_a_step_follow_each_other():
    moving = machine(
        rule(target="v", top="#", push=("X", "#"), reward=1),
        rule(source="v", guard=SILENT, top="X", push=(), reward=0.5),
        otherwise=Otherwise.go("v", 2),
    )
    step = moving.step(Configuration("u", ("#",)), A)
    places = [
        Configuration("u", ("#",)),
        Configuration("v", ("X", "#")),
        Configuration("f", ("#",)),
    ]
    assert [(move.before, move.after, move.reward) for move in step.moves] == [
        (places[0], places[1], 1),
        (places[1], places[2], 0.5),
    ]
    (move,) = moving.step(places[0], frozenset("B")).moves
    assert (move.rule, move.before, move.after, move.reward) == (
        None,
        places[0],
        Configuration("v", ("#",)),
        2,
    )
    assert (step.label, step.before) == (A, places[0])


def test_sizes_and_runs_in_a_line():
    letter = catalogue("letter")
    assert letter.size_text == "3 states (1 final), 9 rules"
    assert letter.size_text in repr(letter)
    assert repr(letter.run("A")).startswith("<MachineRun on 1 label: not ended in u0, A #; ")
    plain = reward_machine("r", ("A",), "u", (), Otherwise.stay(0), ())
    assert repr(plain.run("A A")) == "<MachineRun on 2 labels: not ended in u; reward 0>"
