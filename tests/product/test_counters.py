"""A counting automaton's compiled step is the readable one: state, counters, rewards and moves."""

from itertools import combinations
from random import Random

import numpy as np
import pytest

from pdrm.errors import BadSetting, EndlessSilentMoves, UndefinedMove
from pdrm.language.loading import parse
from pdrm.machines.conversions import pushdown_to_counting
from pdrm.machines.counting import (
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingTransition,
)
from pdrm.machines.guards import Event
from pdrm.machines.tables import tabulate_counting
from pdrm.machines.transitions import Otherwise
from pdrm.product.counters import Counters
from pdrm.product.explore_kernel import UNDEFINED_LABEL, count
from tests.properties.random_counting import counting_automaton, pushdown_machine


def labels_of(machine):
    """The labels that no exclusion forbids."""
    events = machine.events
    sets = [
        frozenset(chosen)
        for size in range(len(events) + 1)
        for chosen in combinations(events, size)
    ]
    return [
        label for label in sets if all(len(label & set(group)) < 2 for group in machine.exclusive)
    ]


def assert_same_step(machine, labels, state, counters, most):
    number = labels.index
    table, states = tabulate_counting(machine, labels), (*machine.states, *machine.final)
    for label in labels:
        values = np.array(counters, np.int64)
        after, paid, moves = count(table, states.index(state), values, number(label), most)
        try:
            step = machine.step(CountingConfiguration(state, counters), label, most)
        except UndefinedMove:
            assert moves == 0
        except EndlessSilentMoves:
            assert moves == most + 2
        else:
            assert (states[after], tuple(values.tolist())) == (
                step.after.state,
                step.after.counters,
            )
            assert (paid, moves) == (step.reward, step.moves)


def check_random_automata(seed):
    rng = Random(seed)
    machine = counting_automaton(rng) if seed % 2 else pushdown_to_counting(pushdown_machine(rng))
    for _ in range(5):
        counters = tuple(rng.choice((0, 1, 2, 5, 40, 600)) for _ in range(machine.counters))
        assert_same_step(
            machine,
            labels_of(machine),
            rng.choice(machine.states),
            counters,
            rng.choice((0, 1, 30, 300, 5_000)),
        )


def test_random_automata():
    for seed in range(60):
        check_random_automata(seed)


def test_a_label_without_a_rule_is_kept_as_that():
    machine = parse(
        "name m\nevents A\ncounters 1\nstart u\nfinal v\notherwise error\nu -> v : {A}, [-] / [0], 0\n"
    )
    counters = Counters(machine, [frozenset(), frozenset("A")])
    explored = counters.find(counters.begin())
    assert explored.configurations.after[0].tolist() == [UNDEFINED_LABEL, -1]


def test_counters_beyond_64_bits_are_refused(monkeypatch):
    """With a limit that one step passes: rules add at most 999,999,999, and the real one takes years to reach."""
    monkeypatch.setattr("pdrm.product.counters.LARGEST_VALUE", 10**8)
    up = CountingTransition("u", "u", Event("A"), ("-",), (999_999_999,), 0)
    machine = CountingRewardAutomaton("m", ("A",), 1, "u", (), Otherwise.error(), (up,))
    counters = Counters(machine, [frozenset("A")])
    with pytest.raises(BadSetting, match="64 bits"):
        counters.find(counters.begin())
