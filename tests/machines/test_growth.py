"""How a step grows the stack (m and e of Section 5, and the constants beside them): by hand, and as the readable machine does."""

from itertools import product
from random import Random

from pdrm.language.loading import parse
from pdrm.machines.configurations import Configuration
from pdrm.machines.stack_bounds import stack_growth
from tests.properties.random_machines import random_machine

HEAD = "events a b\nexclusive a b\nstack # A B\nstart u\nfinal f\nstates u v w\n"
TALL = 3

BY_HAND = {  # added, silent pushes, height before the first label, most added by a step
    "otherwise stay 0\nu -> u : a, z / A z, 0\n": (1, 0, 1, 1),
    "otherwise stay 0\nu -> u : a, z / B A z, 0\nu -> u : b, A / eps, 0\n": (2, 0, 1, 2),
    "otherwise stay 0\nu -> u : a, # / #, 0\nu -> f : b, # / eps, 0\n": (0, 0, 1, 0),
    # before the first label
    "otherwise stay 0\nu -> v : eps, # / A A #, 0\nv -> w : eps, A / B B A, 0\nw -> f : a, B / eps, 0\n": (
        2,
        2,
        5,
        0,
    ),
    # a push, and two silent ones above it; they stop at A, which stands above B
    "otherwise stay 0\nu -> v : a, # / A #, 0\nv -> v : eps, A / B B, 0\nv -> u : eps, B / A A A, 0\n": (
        2,
        2,
        1,
        4,
    ),
    # the silent moves pop what was pushed and one symbol more, and push on what they uncover
    "otherwise stay 0\nu -> v : a, z / A z, 0\nv -> w : eps, A / eps, 0\nw -> u : eps, # / A A A #, 0\n": (
        3,
        1,
        1,
        3,
    ),
    # a label pops one, a silent move another, and the bottom below them grows by four
    "otherwise stay 0\nu -> u : a, z / A z, 0\nu -> v : b, A / eps, 0\nv -> w : eps, A / eps, 0\nw -> u : eps, # / A A A A #, 0\n": (
        *(4, 1, 1, 2),
    ),
    # what falls to otherwise pushes silently, from a state of its own, on any stack, and on the empty one
    "otherwise go v 0\nu -> u : a, # / eps, 0\nv -> w : eps, eps / A B, 0\nw -> u : a, A / A, 0\n": (
        2,
        1,
        1,
        2,
    ),
    # no way to push in the end: what a rule pushes is popped at once
    "otherwise stay 0\nu -> v : a, # / A A #, 0\nv -> v : eps, A / eps, 0\nv -> u : eps, # / #, 0\n": (
        2,
        0,
        1,
        0,
    ),
    # each A that is popped makes two symbols, which are popped in turn: no e, but a step adds no more than one label does
    "otherwise stay 0\nu -> u : a, z / A z, 0\nu -> v : b, z / z, 0\nv -> w : eps, A / B B, 0\nw -> w : eps, B / eps, 0\n"
    "w -> v : eps, A / A, 0\nw -> u : eps, # / #, 0\nv -> u : eps, # / #, 0\n": (1, None, 1, 1),
}


def growth_seen(machine, begin, labels):
    """The most symbols that a step adds, and the most silent moves of it that push, from these configurations on."""
    here, seen, most, pushing = set(begin), set(begin), 0, 0
    for _ in range(labels):
        after = set()
        for one, label in product(here, machine.alphabet.labels()):
            undefined = (
                machine.otherwise.action == "error"
                and machine.rule(one.state, label, one.top) is None
            )
            if (
                one.state not in machine.final
                and not undefined
                and machine.rule(one.state, None, one.top) is None
            ):
                step = machine.step(one, label)
                most = max(most, len(step.after.stack) - len(one.stack))
                pushing = max(pushing, count_pushes(step.moves[1:]))
                after.add(step.after)
        here = after - seen
        seen |= here
    return most, pushing


def count_pushes(moves):
    return sum(len(move.after.stack) > len(move.before.stack) for move in moves)


def test_growth_known_by_hand_is_what_the_readable_machine_does():
    for rules, expected in BY_HAND.items():
        machine = parse(HEAD + rules)
        growth = stack_growth(machine)
        assert (growth.added, growth.silent_pushes, growth.begun, growth.step) == expected, rules
        assert growth.symbols == 3
        assert [growth.longest(labels) for labels in (0, 2)] == [
            growth.begun,
            growth.begun + 2 * growth.step,
        ]
        begun = machine.begin()
        assert len(begun.after.stack) == growth.begun
        assert growth_seen(machine, [begun.after], 4)[0] == growth.step, rules
        stacks = [
            stack for height in range(TALL + 1) for stack in product(machine.stack, repeat=height)
        ]
        anywhere = [Configuration(state, stack) for state in machine.states for stack in stacks]
        pushing = max(count_pushes(begun.moves), growth_seen(machine, anywhere, 1)[1])
        assert growth.silent_pushes in (pushing, None), rules


def test_no_random_machine_grows_faster():
    for seed in range(40):
        machine = random_machine(Random(seed))
        growth = stack_growth(machine)
        begun = machine.begin()
        most, pushing = growth_seen(machine, [begun.after], 3)
        assert most <= growth.step
        assert (
            growth.silent_pushes is None
            or max(pushing, count_pushes(begun.moves)) <= growth.silent_pushes
        )
