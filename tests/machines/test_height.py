"""The highest stack within so many labels: never below what the readable machine reaches, and exact where it can be seen."""

from itertools import product
from random import Random

from pdrm.language.loading import parse
from pdrm.machines.stack_bounds import highest_stack
from tests.properties.random_counting import pushdown_machine
from tests.properties.random_machines import random_machine

HEAD = "events a b\nexclusive a b\nstack # A B\nstart u\nfinal f\nstates u v w\notherwise stay 0\n"


def heights(machine, labels):
    """The highest of the stacks met by all words of so many labels, those between silent moves included."""
    begun = machine.begin()
    highest, here = max(1, *(len(move.after.stack) for move in begun.moves), 0), {begun.after}
    for _ in range(labels):
        after = set()
        for one, label in product(here, machine.alphabet.labels()):
            undefined = (
                machine.otherwise.action == "error"
                and machine.rule(one.state, label, one.top) is None
            )
            if one.state in machine.final or undefined:
                continue
            step = machine.step(one, label)
            highest = max([highest, *(len(move.after.stack) for move in step.moves)])
            after.add(step.after)
        here = after
    return highest


def test_no_stack_is_higher():
    for seed in range(60):
        machine = random_machine(Random(seed)) if seed % 2 else pushdown_machine(Random(seed))
        for labels in range(4):
            assert highest_stack(machine, labels, most=10_000) >= heights(machine, labels)


def test_heights_known_by_hand():
    for rules, after in [
        ("u -> u : a, z / A z, 0\n", [1, 2, 3, 4]),
        (
            "u -> v : a, z / A A A z, 0\nv -> u : b, z / z, 0\n",
            [1, 4, 4, 7],
        ),  # every other label pushes
        ("u -> v : a, z / A A A z, 0\n", [1, 4, 4, 4]),  # once
        (
            "u -> v : a, z / A A A z, 0\nv -> w : eps, A / eps, 0\nw -> f : eps, A / eps, 0\n",
            [1, 4, 4, 4],
        ),
        (
            "u -> u : a, z / B A z, 0\nu -> u : eps, B / eps, 0\n",
            [1, 3, 4, 5],
        ),  # between silent moves, one more
        (
            "u -> u : eps, # / A B, 0\nu -> v : a, A / eps, 0\nv -> v : b, B / A A, 0\n",
            [2, 2, 2, 2],
        ),  # below what goes
    ]:
        machine = parse(HEAD + rules)
        assert [highest_stack(machine, labels, most=100) for labels in range(4)] == after
        assert [heights(machine, labels) for labels in range(4)] == after


def test_it_looks_no_further_than_asked():
    machine = parse(HEAD + "u -> u : a, z / A A A z, 0\n")
    assert highest_stack(machine, 10**9, most=50) == 50


def test_labels_that_pop_are_not_counted():
    machine = parse(HEAD + "u -> v : a, # / eps, 0\nv -> w : eps, eps / A A A, 0\n")
    assert [highest_stack(machine, labels, most=100) for labels in range(3)] == [3, 3, 3]
    assert [heights(machine, labels) for labels in range(3)] == [1, 3, 3]
