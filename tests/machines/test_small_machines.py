"""Small machines in full: their steps, tables, stacks and texts as known by hand."""

import math

import numpy as np

from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or, label_text
from pdrm.machines.rewards import number_text
from pdrm.machines.stacks import OK, Stacks
from pdrm.machines.step_kernel import begin, step
from pdrm.machines.tables import step_table, tabulate
from pdrm.machines.transitions import Otherwise, Transition
from tests.machines.small import UP, counting, machine, reward_machine, rule, said

A = frozenset("A")


def test_a_start_without_rules_is_a_state_only_where_there_are_none():
    assert reward_machine("r", ("A",), "u", (), Otherwise.stay(0), ()).states == ("u",)
    going = Transition.plain("v", "u", Event("A"), 0)
    assert (
        said(reward_machine, "r", ("A",), "u", (), Otherwise.stay(0), (going,)).count(
            "`u` is not a state"
        )
        == 2
    )
    back = Transition.plain("u", "v", Event("A"), 0)
    assert reward_machine("r", ("A",), "u", (), Otherwise.stay(0), (going, back)).states == (
        "u",
        "v",
    )


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


def test_machines_and_runs_say_what_they_are():
    one = machine(rule(top="z", push=("X", "z"), reward=0.5))
    assert repr(one) == "<PushdownRewardMachine 'm': 2 states, 1 rule>"
    assert repr(counting(UP)) == "<CountingRewardAutomaton 'c': 2 states, 1 rule>"
    assert (
        repr(reward_machine("r", ("A",), "u", (), Otherwise.stay(0), ()))
        == "<PushdownRewardMachine 'r': 1 state, 0 rules>"
    )
    assert repr(one.run("A")) == "<Run on 1 label: ended in f, X #; reward 0.5>"
    assert repr(one.run("B -")) == "<Run on 2 labels: not ended in u, #; reward 0>"
    assert repr(counting(UP).run("A")) == "<Run on 1 label: not ended in u, [1]; reward 0>"


def test_formulas_as_text():
    a, b = Event("a"), Event("b")
    assert [
        str(guard)
        for guard in (
            Not(And((a, b))),
            Not(Not(a)),
            Not(Or((a, b))),
            Not(ALWAYS),
            Or(),
            And((Or((a, b)), a)),
        )
    ] == [
        "!(a & b)",
        "!!a",
        "!(a | b)",
        "!(true)",
        "false",
        "(a | b) & a",
    ]
    assert str(Or((Or((a, b)), And((a, b)), Or(), ALWAYS))) == "(a | b) | a & b | false | true"
    assert str(And((And((a, b)), Or(), ALWAYS, Not(a)))) == "(a & b) & false & true & !a"
    assert [str(SILENT), str(Exactly(frozenset())), label_text("ta")] == ["eps", "{}", "{a, t}"]


def test_the_table_of_a_small_machine():
    small = machine(
        rule(guard=Exactly(A), top="z", push=("X", "z"), target="u", reward=1),
        rule(guard=SILENT, source="v", target="f", top="X", push=(), reward=0.5),
        rule(guard=Exactly(frozenset("B")), top="#", push=("X",), target="v"),
        otherwise=Otherwise.go("f", -2),
    )
    table = tabulate(small, [A, frozenset("B")])
    assert small.states == ("u", "v")
    # moves: begin, otherwise, push X, replace # by X, pop X
    assert table.target.tolist() == [0, 2, 0, 1, 2]
    assert table.pops.tolist() == [0, 0, 0, 1, 1]
    assert table.pushes.tolist() == [1, 0, 1, 1, 0]
    assert table.push.tolist() == [[1], [0], [2], [2], [0]]
    assert table.reward.tolist() == [0, -2, 1, 0, 0.5]
    assert table.move.tolist() == [
        [[1, 2, 2], [1, 3, 1]],
        [[1, 1, 1], [1, 1, 1]],
        [[-1, -1, -1], [-1, -1, -1]],
    ]
    assert table.silent.tolist() == [[-1, -1, -1], [-1, -1, 4], [-1, -1, -1]]
    assert (table.start, table.bottom, table.first_final) == (0, 1, 2)
    assert [part.dtype for part in table[:7]] == [np.int32] * 6 + [np.float64]


def test_a_rule_that_does_what_the_beginning_does():
    """It leads to the start, pays 0 and puts the bottom symbol on the stack: it is move number 0 of the table, as that is."""
    again = machine(rule(target="u", top="eps", push=("#",)), otherwise=Otherwise.error())
    table = tabulate(again, [A])
    assert table.move[0].tolist() == [[0, 0, 0]]
    stacks = Stacks.empty(2)
    state, node, paid, status = begin(table, stacks)
    state, node, paid, status = step(table, stacks, state, node, 0)
    assert (state, stacks.stack_of(node), paid, status) == (0, (1, 1), 0.0, OK)
    assert step_table(table, 0, (1,), 0) == (0, (1, 1), 0.0)


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
