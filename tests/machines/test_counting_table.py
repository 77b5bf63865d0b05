"""A counting automaton's table, read in plain Python, makes the automaton's own steps."""

from random import Random

import numpy as np
import pytest

from pdrm.errors import EndlessSilentMoves, UndefinedMove, UnknownEvent
from pdrm.language.loading import catalogue, parse
from pdrm.machines.counting import (
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingTransition,
)
from pdrm.machines.guards import Event
from pdrm.machines.tables import IS_ANY, IS_NOT_ZERO, IS_ZERO, tabulate_counting
from pdrm.machines.transitions import Otherwise
from tests.properties.random_counting import counting_automaton

MOST = 50


def step(table, state, counters, label):
    """The first rule whose tests hold, for the label and then for silent moves: state, counters, pay and moves."""
    column, paid, moves, counters = label, 0.0, 0, list(counters)
    while moves <= MOST + 1:
        rules = range(table.first[state, column], table.first[state, column + 1])
        holds = {
            IS_ZERO: lambda value: value == 0,
            IS_NOT_ZERO: lambda value: value > 0,
            IS_ANY: lambda _: True,
        }
        fitting = [
            r
            for r in rules
            if all(holds[int(t)](v) for t, v in zip(table.test[r], counters, strict=True))
        ]
        if not fitting:
            return state, tuple(counters), paid, moves
        counters = [
            max(0, value + int(change))
            for value, change in zip(counters, table.change[fitting[0]], strict=True)
        ]
        state, column, moves = int(table.target[fitting[0]]), table.silent, moves + 1
        paid += float(table.reward[fitting[0]])
    return None


def test_random_automata():
    for seed in range(40):
        chance = Random(seed)
        machine = counting_automaton(chance)
        labels = list(machine.alphabet.labels())
        states, table = (*machine.states, *machine.final), tabulate_counting(machine, labels)
        assert table.first[len(machine.states) :, :].tolist() == [
            [len(table.target)] * (len(labels) + 2)
        ] * len(machine.final)
        for number, state in enumerate(machine.states):
            for position, label in enumerate(labels):
                counters = tuple(chance.choice((0, 1, 3)) for _ in range(machine.counters))
                found = step(table, number, counters, position)
                try:
                    own = machine.step(CountingConfiguration(state, counters), label, MOST)
                except UndefinedMove:
                    assert found[3] == 0
                except EndlessSilentMoves:
                    assert found is None
                else:
                    assert found == (
                        states.index(own.after.state),
                        own.after.counters,
                        own.reward,
                        own.moves,
                    )


def test_the_tables_of_a_small_automaton():
    machine = parse(
        "name m\nevents A\ncounters 2\nstart u\nfinal f\notherwise go f -1\n"
        "u -> u : A, [0, -] / [+1, -3], 2\nu -> v : !A, [1, 0] / [0, 0], 0.5\nv -> f : eps, [-, -] / [0, +1], 0\n"
    )
    table = tabulate_counting(machine, [frozenset(), frozenset("A")])
    assert table.first.tolist() == [[0, 2, 4, 4], [4, 5, 6, 7], [7, 7, 7, 7]]
    assert table.test.tolist() == [[1, 0], [2, 2], [0, 2], [2, 2], [2, 2], [2, 2], [2, 2]]
    assert table.change.tolist() == [[0, 0], [0, 0], [1, -3], [0, 0], [0, 0], [0, 0], [0, 1]]
    assert table.target.tolist() == [1, 2, 0, 2, 2, 2, 2]
    assert table.reward.tolist() == [0.5, -1, 2, -1, -1, -1, 0]
    assert table.silent == 2
    kinds = [part.dtype for part in table[:5]]
    assert kinds == [np.int32, np.int32, np.int64, np.int32, np.float64]


def test_an_automaton_without_rules_has_empty_tables():
    machine = parse("name m\nevents A\ncounters 2\nstart u\notherwise error\n")
    table = tabulate_counting(machine, [frozenset("A")])
    assert (table.first.tolist(), table.test.shape, table.change.shape) == (
        [[0, 0, 0]],
        (0, 2),
        (0, 2),
    )
    assert [part.dtype for part in table[:5]] == [
        np.int32,
        np.int32,
        np.int64,
        np.int32,
        np.float64,
    ]


def test_rewards_that_are_whole_numbers_are_floats_in_the_table():
    up = CountingTransition("u", "u", Event("A"), ("-",), (1,), 2)
    machine = CountingRewardAutomaton("m", ("A",), 1, "u", (), Otherwise.error(), (up,))
    assert tabulate_counting(machine, [frozenset("A")]).reward.dtype == np.float64


def test_labels_are_the_automatons():
    with pytest.raises(UnknownEvent):
        tabulate_counting(catalogue("letter-cra"), [frozenset("Z")])
