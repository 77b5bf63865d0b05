"""A counting automaton's compiled step equals the readable one: state, counters, reward, moves."""

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np

from pdrm.errors import EndlessSilentMoves, UndefinedMove
from pdrm.machines.conversions import pushdown_to_counting
from pdrm.machines.counting import (
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingTransition,
)
from pdrm.machines.guards import Event
from pdrm.machines.tables import tabulate_counting
from pdrm.machines.transitions import Otherwise
from pdrm.product.explore_kernel import BEYOND, begin_exploring, count, explore
from pdrm.product.observation import FullStack
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
    limited = replace(machine, most_silent=most)
    for label in labels:
        values = np.array(counters, np.int64)
        after, paid, moves = count(table, states.index(state), values, number(label), most)
        try:
            step = limited.step(CountingConfiguration(state, counters), label)
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


def test_counters_beyond_64_bits_are_refused(monkeypatch):
    """With a limit that one step exceeds, because rules reach the real limit too slowly."""
    monkeypatch.setattr("pdrm.product.explore_kernel.MAX_VALUE", 10**8)
    up = CountingTransition("u", "u", Event("A"), ("-",), (999_999_999,), 0)
    machine = CountingRewardAutomaton("m", ("A",), 1, "u", (), Otherwise.error(), (up,))
    explored = begin_exploring(machine, [frozenset("A")], FullStack())
    assert explore(explored, explored.start, 0)[0] == BEYOND
