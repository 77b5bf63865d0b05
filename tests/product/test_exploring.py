"""Configurations found as they are met are the readable machine's, however little room there is at first."""

from random import Random

import pytest

from pdrm.errors import EndlessSilentMoves, PdrmError
from pdrm.language.loading import parse
from pdrm.machines.tables import tabulate
from pdrm.product import exploration
from pdrm.product.counters import Counters
from pdrm.product.exploration import UNKNOWN, Explored
from pdrm.product.explore_kernel import (
    NO_ROOM,
    UNDEFINED_LABEL,
    UNEXPLORED,
    explore,
    first_configuration,
)
from pdrm.product.views import FullStack, TopK
from tests.properties.random_machines import random_machine


class Walk:
    """A machine explored from the start, with room made where there is none."""

    def __init__(self, machine, view, capacity=1):
        self.machine, self.labels = machine, list(machine.alphabet.labels())
        self.states = (*machine.states, *machine.final)
        self.explored = Explored.new(tabulate(machine, self.labels), view, 1, capacity)
        self.refused = 0

    def ask(self, what, *arguments):
        while (answer := what(self.explored, *arguments))[0] == NO_ROOM:
            self.explored, self.refused = self.explored.grow(), self.refused + 1
        return answer

    def configuration(self, number):
        found = self.explored.configurations
        symbols = self.explored.stacks.stack_of(int(found.node[number]))
        return self.states[found.state[number]], tuple(
            self.machine.stack[symbol - 1] for symbol in symbols
        )


def check_a_walk_is_the_readable_one(seed, view):
    chance = Random(seed)
    walk = Walk(random_machine(chance), view)
    machine, seen = walk.machine, {}
    begun = machine.begin()
    number, paid = walk.ask(first_configuration)
    here = begun.after
    assert paid == begun.reward
    for _ in range(40):
        assert walk.configuration(number) == (here.state, here.stack)
        key = int(walk.explored.configurations.seen[number])
        assert seen.setdefault((here.state, view.of(here.stack)), key) == key
        if here.state in machine.final:
            break
        label = chance.randrange(len(walk.labels))
        try:
            step = machine.step(here, walk.labels[label])
        except PdrmError:
            assert walk.ask(explore, number, label)[0] == UNDEFINED_LABEL
            break
        before, (number, paid), here = number, walk.ask(explore, number, label), step.after
        assert paid == step.reward
        if before < len(walk.explored.configurations.after):
            assert walk.explored.configurations.after[before, label] == number
            assert walk.explored.configurations.paid[before, label] == step.reward
    assert len(set(seen.values())) == len(seen)
    assert walk.refused


def test_a_walk_is_the_readable_one(monkeypatch):
    monkeypatch.setattr(exploration, "MOST_KEPT", 8)
    for seed in range(30):
        for view in [FullStack(), TopK(0), TopK(2)]:
            check_a_walk_is_the_readable_one(seed, view)


COUNT = """events A B
counters 1
start u
final end
otherwise stay 0
u -> u    : {A}, [-] / [+3], 1
u -> down : {B}, [1] / [0], 0
down -> down : eps, [1] / [-1], 1
down -> u    : eps, [0] / [0], 0
"""


def found(counters, explored, here, label):
    """Ask as a kernel does: where the answer is not known yet, `Counters.find` looks for it."""
    assert explore(explored, here, label)[0] == UNEXPLORED
    explored = counters.find(explored)
    after, _ = explore(explored, here, label)
    assert after not in (UNKNOWN, UNEXPLORED)
    return explored, after


def test_counters_are_found_when_they_are_asked_for():
    counters = Counters(parse(COUNT), [frozenset("A"), frozenset("B")])
    explored = counters.begin()
    explored, up = found(counters, explored, 0, 0)
    explored, down = found(counters, explored, up, 1)
    assert (down, counters.vectors(explored)) == (0, [(0,), (3,)])
    made = explored.configurations
    assert (made.paid[up, 1], made.moves[up, 1]) == (3, 5)


def test_a_step_of_more_moves_than_an_episode_has_is_not_made():
    counters = Counters(parse(COUNT), [frozenset("A"), frozenset("B")], operations=4)
    explored = counters.begin()
    explored, up = found(counters, explored, 0, 0)
    explored, same = found(counters, explored, up, 1)
    assert (same, explored.configurations.moves[up, 1], explored.configurations.paid[up, 1]) == (
        up,
        5,
        0,
    )


def test_silent_moves_without_end_are_an_error_where_operations_are_not_counted(monkeypatch):
    monkeypatch.setattr("pdrm.product.counters.MOST_SILENT_MOVES", 1_000)
    machine = parse(
        COUNT.replace("down -> down : eps, [1] / [-1], 1", "down -> down : eps, [1] / [0], 1")
    )
    counters = Counters(machine, [frozenset("A"), frozenset("B")])
    explored, up = found(counters, counters.begin(), 0, 0)
    explore(explored, up, 1)
    with pytest.raises(
        EndlessSilentMoves, match=r"more than 1,000 silent moves after one label at u, \[3\]"
    ):
        counters.find(explored)
