"""Bounds on the stack: valid for the readable machine, and exact if known by hand."""

from itertools import product
from random import Random

from pdrm.language.loading import parse
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.heads import (
    max_pops_per_step,
    max_stack_height,
    relevant_depth,
    stack_growth,
)
from pdrm.machines.transitions import Configuration
from tests.properties.random_counting import pushdown_machine
from tests.properties.random_machines import random_machine

HEAD = "events a b\nexclusive a b\nstack # A B\nstart u\nfinal f\nstates u v w\n"


def machines(count):
    for seed in range(count):
        yield (random_machine if seed % 2 else pushdown_machine)(Random(seed))


def step_of(machine, here, label):
    """The readable step, or None if it is undefined."""
    if here.state in machine.final:
        return None
    if machine.otherwise.action == "error" and machine.rule(here.state, label, here.top) is None:
        return None
    return machine.step(here, label)


def heights(machine, labels):
    """The maximum height of the stack for all words of a length, also between silent moves."""
    begun = machine.begin()
    highest, here = max(1, *(len(move.after.stack) for move in begun.moves), 0), {begun.after}
    for _ in range(labels):
        read = product(here, machine.alphabet.labels())
        steps = [step for one, label in read if (step := step_of(machine, one, label))]
        highest = max([highest, *(len(move.after.stack) for step in steps for move in step.moves)])
        here = {step.after for step in steps}
    return highest


def test_no_stack_is_higher():
    for machine in machines(60):
        for labels in range(4):
            assert max_stack_height(machine, labels, most=10_000) >= heights(machine, labels)


def test_heights_known_by_hand():
    for rules, expected in [
        ("u -> u : a, z / A z, 0\n", [1, 2, 3, 4]),
        ("u -> v : a, z / A A A z, 0\nv -> u : b, z / z, 0\n", [1, 4, 4, 7]),
        ("u -> v : a, z / A A A z, 0\n", [1, 4, 4, 4]),
        ("u -> u : a, z / B A z, 0\nu -> u : eps, B / eps, 0\n", [1, 3, 4, 5]),
        ("u -> u : eps, # / A B, 0\nu -> v : a, A / eps, 0\nv -> v : b, B / A A, 0\n", [2] * 4),
    ]:
        machine = parse(f"{HEAD}otherwise stay 0\n{rules}")
        assert [max_stack_height(machine, labels, most=100) for labels in range(4)] == expected
        assert [heights(machine, labels) for labels in range(4)] == expected
    machine = parse(HEAD + "otherwise stay 0\nu -> u : a, z / A A A z, 0\n")
    assert max_stack_height(machine, 10**9, most=50) == 50


def test_stacks_that_agree_at_the_top_give_the_same_experience():
    for machine in machines(60):
        if max_pops_per_step(machine) is None:
            continue
        told, seen = [relevant_depth(machine, k) for k in range(3)], {}
        for stack, state in product(product(machine.stack, repeat=4), machine.states):
            if machine.rule(state, None, stack[0]) is not None:
                continue
            for label in machine.alphabet.labels():
                step = step_of(machine, Configuration(state, stack), label)
                for k, matter in enumerate(told):
                    known = step and (step.after.state, step.reward, step.after.stack[:k])
                    assert seen.setdefault((k, stack[:matter], state, label), known) == known


def test_pops_known_by_hand():
    stay, go = "otherwise stay 0\n", "otherwise go v 0\n"
    two = "v -> w : eps, A / eps, 0\nw -> f : eps, B / eps, 0\n"
    for rules, pops in [
        (stay + "u -> u : a, z / A z, 0\n", 0),
        (stay + "u -> u : a, A / B, 0\n", 1),
        (stay + "u -> v : a, z / z, 0\nv -> v : eps, A / eps, 0\n", None),
        (stay + "u -> v : a, z / z, 0\n" + two, 2),
        (f"{stay}u -> v : a, z / B z, 0\nv -> w : eps, B / eps, 0\nw -> f : eps, A / eps, 0\n", 1),
        (go + "u -> u : a, A / A, 0\n" + two, 2),
    ]:
        assert max_pops_per_step(parse(HEAD + rules)) == pops
    long = parse("events a\ncounters 1\nstart u\notherwise stay 0\nu -> u : a, [1] / [-1000], 0\n")
    assert max_pops_per_step(counting_to_pushdown(long)) == 1000


GROWTH = {  # symbols added, silent pushes, height before the first label, most added by a step
    "otherwise stay 0\nu -> u : a, z / A z, 0\n": (1, 0, 1, 1),
    "otherwise stay 0\nu -> u : a, z / B A z, 0\nu -> u : b, A / eps, 0\n": (2, 0, 1, 2),
    "otherwise stay 0\nu -> u : a, # / #, 0\nu -> f : b, # / eps, 0\n": (0, 0, 1, 0),
    # before the first label
    "otherwise stay 0\nu -> v : eps, # / A A #, 0\nv -> w : eps, A / B B A, 0\n"
    "w -> f : a, B / eps, 0\n": (2, 2, 5, 0),
    # a push, and two silent ones above it
    "otherwise stay 0\nu -> v : a, # / A #, 0\nv -> v : eps, A / B B, 0\n"
    "v -> u : eps, B / A A A, 0\n": (2, 2, 1, 4),
    # the silent moves pop what was pushed and one symbol more, and push on what they uncover
    "otherwise stay 0\nu -> v : a, z / A z, 0\nv -> w : eps, A / eps, 0\n"
    "w -> u : eps, # / A A A #, 0\n": (3, 1, 1, 3),
    # `otherwise` leads to silent pushes
    "otherwise go v 0\nu -> u : a, # / eps, 0\nv -> w : eps, eps / A B, 0\n"
    "w -> u : a, A / A, 0\n": (2, 1, 1, 2),
}


def growth_seen(machine, labels):
    """The maximum number of symbols that a step adds, within a number of labels."""
    here, most = {machine.begin().after}, 0
    for _ in range(labels):
        after = set()
        for one, label in product(here, machine.alphabet.labels()):
            if step := step_of(machine, one, label):
                most = max(most, len(step.after.stack) - len(one.stack))
                after.add(step.after)
        here = after
    return most


def test_growth_known_by_hand():
    for rules, expected in GROWTH.items():
        machine = parse(HEAD + rules)
        growth = stack_growth(machine)
        assert (growth.added, growth.silent_pushes, growth.begun, growth.step) == expected, rules
        assert growth.longest(2) == growth.begun + 2 * growth.step
        assert len(machine.begin().after.stack) == growth.begun
        assert growth_seen(machine, 4) == growth.step, rules


def test_no_random_machine_grows_faster():
    for seed in range(40):
        machine = random_machine(Random(seed))
        assert growth_seen(machine, 3) <= stack_growth(machine).step
