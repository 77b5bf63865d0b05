"""Small machines in full: their steps, tables, stacks and texts as known by hand."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from pdrm.errors import BadReward
from pdrm.language.loading import catalogue
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.checks.pushdown_analysis import Head, _follow_silent_moves
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import pushdown_to_counting, reward_machine_to_pushdown
from pdrm.machines.counting import CountingConfiguration
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or, label_text
from pdrm.machines.reward_machine import RewardConfiguration, RewardMachine, RewardTransition
from pdrm.machines.rewards import number_text, read_decimal, reward_of
from pdrm.machines.stacks import OK, Stacks
from pdrm.machines.step_kernel import begin, step
from pdrm.machines.tables import step_table, tabulate
from pdrm.machines.transitions import Otherwise, Transition
from tests.machines.small import UP, counting, machine, rule, said
from tests.properties.random_machines import random_machine
from tests.properties.words_kernel import Runs, Words

A = frozenset("A")


def test_a_translated_reward_machine_keeps_the_places_of_its_rules():
    from pdrm.language.loading import parse

    rules = parse("events A\nstart u\nfinal f\notherwise stay 0\nu -> f : A, 1\n").transitions
    plain = reward_machine_to_pushdown(
        RewardMachine("r", ("A",), "u", ("f",), Otherwise.stay(0), rules)
    )
    assert [(one, str(one.where)) for one in plain.transitions] == [
        (Transition("u", "f", Event("A"), "eps", (), 1), "<text>:5:1")
    ]


def test_rules_of_the_catalogue_have_their_places():
    assert {rule.where.file for rule in catalogue("letter").transitions} == {"letter.pdrm"}


def test_a_start_without_rules_is_a_state_only_where_there_are_none():
    assert RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), ()).states == ("u",)
    going = RewardTransition("v", "u", Event("A"), 0)
    assert (
        said(RewardMachine, "r", ("A",), "u", (), Otherwise.stay(0), (going,)).count(
            "`u` is not a state"
        )
        == 2
    )
    back = RewardTransition("u", "v", Event("A"), 0)
    assert RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), (going, back)).states == (
        "u",
        "v",
    )


def test_a_step_says_all_there_is_to_know():
    plain = RewardMachine("r", ("A",), "u", ("f",), Otherwise.go("f", 2), ())
    begun, step = plain.begin(), plain.step(RewardConfiguration("u"), A)
    assert (begun.label, begun.before, begun.rule, begun.after, begun.reward) == (
        None,
        RewardConfiguration("u"),
        None,
        RewardConfiguration("u"),
        0.0,
    )
    assert (step.label, step.before, step.rule, step.after, step.reward) == (
        A,
        RewardConfiguration("u"),
        None,
        RewardConfiguration("f"),
        2.0,
    )
    counter = counting(UP).step(CountingConfiguration("u", (3,)), frozenset())
    assert (counter.label, counter.before, counter.rule, counter.moves) == (
        frozenset(),
        CountingConfiguration("u", (3,)),
        None,
        1,
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


def test_numbers_keep_the_digits_that_they_were_written_with():
    for text in (
        "0.30000000000000001",
        "-123456789012345678901",
        "1.00000000000000000001e-7",
        "2e-400",
        "12345678901234567e5",
    ):
        number = read_decimal(text)
        assert (float(number), number.exact) == (float(text), Fraction(text))
        assert read_decimal(number_text(number)).exact == number.exact
        copy = pickle.loads(pickle.dumps(number))
        assert (copy, copy.exact) == (number, number.exact)
    written = "-0.30000000000000001", "3e-400", "12345678901234567890", "0.1234567890123456"
    assert tuple(number_text(read_decimal(text)) for text in written) == written
    assert number_text(reward_of(Fraction(1, 3))) == "0.3333333333333333"  # it has no decimal
    assert reward_of(Fraction(1, 10**1001)).digits == ""  # none that could be read again
    assert reward_of(Fraction(10**1001 + 1, 10**995)).digits == ""


def test_rewards_of_other_kinds_are_floats_or_know_what_they_were():
    plain = [
        reward_of(value) for value in (Decimal("0.1"), np.float32(0.5), True, np.int64(3), 2**53)
    ]
    assert plain == [0.1, 0.5, 1.0, 3.0, 2.0**53]
    assert [type(value) for value in plain[:4]] == [float] * 4
    kept = [
        reward_of(value) for value in (Decimal("0.30000000000000001"), 2**53 + 1, Fraction(1, 3))
    ]
    assert [value.exact for value in kept] == [
        Fraction("0.30000000000000001"),
        2**53 + 1,
        Fraction(1, 3),
    ]
    assert reward_of(kept[0]) is kept[0]
    assert math.isinf(reward_of(Decimal("inf")))
    for value in ("1", b"1", None, 1j, 10**400, [1]):
        assert "E0103" in said(reward_of, value), value
    for text in ("0." + "1" * 1_000, "1e-2001"):
        with pytest.raises(BadReward, match="too long or too small") as caught:
            read_decimal(text)
        assert caught.value.fix


def test_machines_and_runs_say_what_they_are():
    one = machine(rule(top="z", push=("X", "z"), reward=0.5))
    assert repr(one) == "<PushdownRewardMachine 'm': 2 states, 1 rule>"
    assert repr(counting(UP)) == "<CountingRewardAutomaton 'c': 2 states, 1 rule>"
    assert (
        repr(RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), ()))
        == "<RewardMachine 'r': 1 state, 0 rules>"
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


def test_words_are_packed():
    words = Words.of([[1, 2], [], [3]])
    runs = Runs.room(words)
    assert (
        words.labels.dtype
        == runs.state.dtype
        == runs.node.dtype
        == runs.read.dtype
        == runs.status.dtype
        == "int32"
    )
    assert words.offsets.tolist() == [0, 2, 2, 3]
    assert [len(part) for part in runs] == [6, 6, 6, 3, 3]
    assert all(not part.any() for part in runs)


def test_a_simulation_keeps_the_name_and_the_events():
    simulated = pushdown_to_counting(machine(exclusive=(("A", "B"),)))
    assert (simulated.name, simulated.events, simulated.counters, simulated.exclusive) == (
        "m",
        ("A", "B"),
        2,
        (("A", "B"),),
    )


def test_room_is_made_only_where_it_is_needed():
    stacks = Stacks.empty(2, 3)
    assert stacks.room() is stacks
    assert stacks.room(2) is stacks
    node = stacks.node_of((1,))
    assert stacks.room() is stacks
    larger = stacks.room(2)
    assert (larger.capacity, larger.node_of((1,)), int(larger.made[0])) == (6, node, 2)
    assert stacks.room(9).capacity == 11
    assert (Stacks.empty(1).capacity, len(stacks.made)) == (1024, 1)
    assert [part.dtype for part in larger] == [np.int32] * 4 + [np.int64]


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


def test_configurations_as_text():
    assert [str(Configuration("u", stack)) for stack in ((), ("A", "#"))] == [
        "u, (empty)",
        "u, A #",
    ]


def test_a_guard_of_two_thousand_cases_is_the_largest():
    """5 · 5 · 5 · 2 · 2 · 2 · 2 cases, and one more."""
    names = iter(f"e{i}" for i in range(99))
    parts = [Or(tuple(Event(next(names)) for _ in range(size))) for size in (5, 5, 5, 2, 2, 2, 2)]
    sigma = Alphabet(tuple(f"e{i}" for i in range(30)))
    assert len(sigma.cubes(And(tuple(parts)))) == 2_000
    parts[0] = Or((*parts[0].parts, Event("e29")))
    assert "splits into more than 2,000 cases" in said(sigma.cubes, And(tuple(parts)))


def test_how_silent_moves_end_by_following_them():
    """From each head alone: its symbol is popped in some state, or the moves stop above it; the empty stack is never popped."""
    for seed in range(40):
        silent = random_machine(Random(seed))
        found = _follow_silent_moves(silent)
        assert set(found.moves) >= {
            Head(state, top) for state in silent.states for top in (*silent.stack, None)
        }
        for head in found.moves:
            state, stack = head.state, [] if head.top is None else [head.top]
            while (move := silent.rule(state, None, stack[0] if stack else None)) is not None:
                stack[:1] = move.replacement(stack[0] if stack else None)
                state = move.target
                if not stack and head.top is not None:
                    break
            popped = head.top is not None and not stack
            assert found.popped[head] == ({state} if popped else set())
