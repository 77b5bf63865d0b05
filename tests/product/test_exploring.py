"""Explored configurations equal the readable machine's, whatever the initial capacity."""

from random import Random

from pdrm.errors import PdrmError
from pdrm.language.loading import parse
from pdrm.product import explore_kernel
from pdrm.product.explore_kernel import (
    ENDED,
    ENDLESS,
    NO_ROOM,
    UNDEFINED_LABEL,
    begin_exploring,
    explore,
    see,
)
from pdrm.product.observation import FullStack, TopK
from tests.properties.random_machines import random_machine


class Walk:
    """A machine explored from the start, which grows if necessary."""

    def __init__(self, machine, view, capacity=1):
        self.machine, self.labels = machine, list(machine.alphabet.labels())
        self.states = (*machine.states, *machine.final)
        self.explored = begin_exploring(machine, self.labels, view, capacity=capacity)
        self.refused = 0

    def ask(self, what, *arguments):
        while (answer := what(self.explored, *arguments))[0] == NO_ROOM:
            self.explored, self.refused = self.explored.grow(), self.refused + 1
        return answer

    def configuration(self, number):
        node, state = divmod(int(number), self.explored.states)
        symbols = self.explored.stacks.stack_of(node)
        return self.states[state], tuple(self.machine.stack[symbol - 1] for symbol in symbols)


def check_a_walk_is_the_readable_one(seed, view):
    chance = Random(seed)
    walk = Walk(random_machine(chance), view)
    machine, seen = walk.machine, {}
    begun = machine.begin()
    number, paid = walk.explored.start, walk.explored.start_reward
    here = begun.after
    assert paid == begun.reward
    for _ in range(40):
        assert walk.configuration(number) == (here.state, here.stack)
        see(walk.explored, number // walk.explored.states)
        key = int(walk.explored.seen[number])
        if here.state in machine.final:
            assert key == ENDED
            break
        assert seen.setdefault((here.state, view.of(here.stack)), key) == key
        label = chance.randrange(len(walk.labels))
        try:
            step = machine.step(here, walk.labels[label])
        except PdrmError:
            assert walk.ask(explore, number, label)[0] == UNDEFINED_LABEL
            break
        before, (number, paid), here = number, walk.ask(explore, number, label), step.after
        assert paid == step.reward
        if before < walk.explored.after.shape[1]:
            assert walk.explored.after[label, before] == number
            assert walk.explored.reward[label, before] == step.reward
    assert len(set(seen.values())) == len(seen)
    return walk.refused


def test_a_walk_is_the_readable_one(monkeypatch):
    monkeypatch.setattr(explore_kernel, "MAX_KEPT", 64)
    refused = 0
    for seed in range(30):
        for view in [FullStack(), TopK(0), TopK(2)]:
            refused += check_a_walk_is_the_readable_one(seed, view)
    assert refused > 30


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


LABELS = [frozenset("A"), frozenset("B")]


def test_counters_are_explored():
    explored = begin_exploring(parse(COUNT), LABELS, FullStack())
    up, _ = explore(explored, explored.start, 0)
    down, paid = explore(explored, up, 1)
    assert explored.counters[: explored.stacks.made[0]].tolist() == [[0], [3]]
    assert (down, paid, explored.moves[1, up]) == (explored.start, 3, 5)


def test_a_step_of_more_moves_than_an_episode_has_is_not_made():
    explored = begin_exploring(parse(COUNT), LABELS, FullStack(), operations=4)
    up, _ = explore(explored, explored.start, 0)
    assert explore(explored, up, 1) == (up, 0)
    assert explored.moves[1, up] == 5


def test_silent_moves_without_end_are_found_if_operations_are_not_counted():
    endless = COUNT.replace("down -> down : eps, [1] / [-1], 1", "down -> down : eps, [1] / [0], 1")
    explored = begin_exploring(parse(endless), LABELS, FullStack())
    up, _ = explore(explored, explored.start, 0)
    assert explore(explored, up, 1) == (ENDLESS, 0)
