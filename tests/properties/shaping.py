"""Shaping changes no optimal action: on random products, the sets of optimal actions with shaped rewards and without are equal.

Both are found by policy iteration in fractions. What is added to a step is what the package adds, `Potential.reward`, as the very
fraction that its floating-point potentials are. The potentials themselves are what they say: at random configurations, of any
height, the value is the best that one label and the value after it come to, by the readable machine and every label there is; no
more than that, where a machine has more lines than are kept. And they are those of the solver for whole stacks, for a domain of one
state whose actions are the labels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from pdrm.analysis.whole_stack import WholeStack
from pdrm.analysis.whole_stack_kernel import World, evaluate
from pdrm.errors import UndefinedMove
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import tabulate
from pdrm.machines.transitions import Configuration
from pdrm.product.shaping import (
    MAX_LINES,
    MachineOperators,
    Potential,
    Shaping,
    cover_moves,
)
from tests.properties.k_policies import Truth
from tests.properties.plain_product import END, Case, Key, Plain, Way
from tests.properties.random_machines import described, random_machine
from tests.properties.random_products import random_case

PRODUCTS = 100
MAX_STATES = 12
RULES = ("block", "fail", "none", "none")
DISCOUNTS = (None, 0.5, 0.95)
SCALES, SHIFTS = (1.0, 1.0, -1.0, 0.01), (0.0, 0.0, 3.0, -7.5)
CONFIGURATIONS, HIGHEST = 5, 30
"""Of each machine; and how high their stacks are."""
NEAR = 1e-9


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Compare random products with themselves, shaped."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        case, plain = random_case(random, RULES, MAX_STATES)
        if plain.closed and len(case.domain.actions) > 1:
            counted += compare(random, case, plain)
            thinned = check_values(random, random_machine(random), random.choice((0.3, 0.9, 0.99)))
            counted["machines with too many lines"] += thinned
            counted += compare_with_solver(
                random, random_machine(random), random.choice((0.3, 0.9, 0.99))
            )
    return counted


def compare(random: Random, case: Case, plain: Plain) -> Counter[str]:
    """One product, with one way to shape it; raises where an optimal action is lost or won."""
    shaping = Shaping(
        float(case.discount), random.choice(DISCOUNTS), random.choice(SCALES), random.choice(SHIFTS)
    )
    potential = shaping.of(
        case.machine, case.domain.find_labels() if random.random() < 0.5 else None
    )
    shaped = replace(plain, ways=[
        [[way._replace(paid=way.paid + add(case, plain, potential, key, way)) for way in ways] for ways in actions]
        for key, actions in zip(plain.states, plain.ways, strict=True)
    ])  # fmt: skip
    own, other = Truth(plain, case.discount), Truth(shaped, case.discount)
    assert own.optimal == other.optimal, f"{case}\n{shaping}\n{own.optimal = }\nnot {other.optimal}"
    moved = [before != after for before, after in zip(plain.ways, shaped.ways, strict=True)]
    return Counter({"cases": 1, "states": len(moved), "states with other rewards": sum(moved)})


def add(case: Case, plain: Plain, potential: Potential, before: Key, way: Way) -> Fraction:
    """What the package adds to a step, with its floats taken as the fractions they are."""
    over = way.after == END
    _, state, stack = before if over else plain.key(way.after)
    here, there = (
        Fraction(potential.potential(*before[1:])),
        Fraction(potential.potential(state, stack)),
    )
    paid = potential.reward(before[1:], (state, stack), over=over)
    exact = (0 if over else case.discount * there) - here
    assert abs(paid - float(exact)) <= NEAR * (1 + abs(here) + abs(there)), (
        f"{case}\n{paid} is not {float(exact)}"
    )
    return exact


def check_values(random: Random, machine: PushdownRewardMachine, discount: float) -> bool:
    """The values of random configurations by one label more; raises where they differ. Whether some lines were left out."""
    potential, final = Shaping(discount).of(machine), machine.final
    labels, thinned = list(machine.alphabet.labels()), is_thinned(potential.operators)
    for _ in range(CONFIGURATIONS):
        stack = tuple(random.choices(machine.stack, k=random.randint(0, HIGHEST)))
        here = Configuration(random.choice(machine.states), stack)
        if machine.rule(here.state, None, here.top) is not None:
            continue  # a silent move comes first: no step begins here
        found, value = [], potential.value(here.state, here.stack)
        for label in labels:
            try:
                step = machine.step(here, label)
            except UndefinedMove:
                continue
            later = (
                0.0
                if step.after.state in final
                else potential.value(step.after.state, step.after.stack)
            )
            found.append(step.reward + discount * later)
        best = max(found, default=0.0)
        said = f"{described(machine)}\n{discount = }, {here}: {value = }, by one label more {best}"
        assert value <= best + NEAR * (1 + abs(value) + abs(best)), said
        assert thinned or value >= best - NEAR * (1 + abs(value) + abs(best)), said
    return thinned


def is_thinned(operators: MachineOperators) -> bool:
    """Return True if some exit has as many lines as are kept."""
    lines = operators.gain > -np.inf
    exits = operators.exit_state
    same = (exits[..., np.newaxis] == exits[..., np.newaxis, :]) & lines[..., np.newaxis, :]
    return bool(same.sum(axis=-1).max() >= MAX_LINES)


def compare_with_solver(
    random: Random, machine: PushdownRewardMachine, discount: float
) -> Counter[str]:
    """The values of random configurations by the operators of a domain with one state, where the agent chooses the label."""
    potential, labels = Shaping(discount).of(machine), cover_moves(machine)
    table = tabulate(machine, labels)
    actions = np.arange(len(labels), dtype=np.int32)[np.newaxis]
    world = World(np.zeros_like(actions), actions, np.zeros(actions.shape), np.zeros(1, np.bool_))
    solver, counted = WholeStack(world, table, discount, precision=1e-12), Counter[str]()
    if not labels or is_thinned(potential.operators):
        return Counter({"machines without values to compare": 1})
    for _ in range(CONFIGURATIONS):
        stack = tuple(random.choices(machine.stack, k=random.randint(0, HIGHEST)))
        u, symbols = (
            random.choice(range(table.first_final)),
            tuple(machine.stack.index(z) + 1 for z in stack),
        )
        worth = find_continuation(solver, u, symbols)
        if (
            solver.undefined is not None
        ):  # Potentials are 0 if no label can be read, and the solver has no value there.
            return Counter({"machines with undefined moves": 1})
        value, slack = (
            discount * potential.value(machine.states[u], stack),
            solver.error_at(len(stack)),
        )
        near = slack + NEAR * (1 + abs(value))
        said = f"{described(machine)}\n{discount = }, {machine.states[u]}, {stack}: {value = }, of the solver {worth}"
        assert abs(value - worth) <= near, said
        counted["values like the solver's"] += 1
    return counted


def find_continuation(solver: WholeStack, u: int, symbols: tuple[int, ...]) -> float:
    """What a configuration adds to the value of the one a step earlier, in a world of one state."""
    if u >= solver.table.first_final:
        return 0.0
    stack = np.array((*symbols, 0), np.int32)
    solver.find(0, u, int(stack[0]))
    while np.isnan(value := evaluate(solver.table, solver.ranges, solver.operators, u, stack)):
        solver.find(0, u, int(stack[0]))  # heads were met for the first time
    return float(value)
