"""Optimal values with the whole stack, compared with brute force in fractions and with one step of the readable machine.

The product of a random deterministic domain and a random machine is walked through by the readable machine up to a number of states. Its values
are found exactly, by policy iteration in fractions, twice: as if what lies beyond were worth the least that anything can be worth, and
the most. The solver's value must lie between the two, up to the error that it proves; where they meet it must be equal to that. With stacks drawn at random,
up to a height of 1,000, each value must be the best of what one step of the readable machine leads to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from pdrm.analysis.solving import Solution, find_solution
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration, Stack
from pdrm.task import Task
from tests.properties.plain_product import END, Case, Plain, fraction, plain_product
from tests.properties.random_machines import random_machine
from tests.properties.random_products import DISCOUNTS, LARGE, REWARDS, plainly_paid, random_domain

PRODUCTS = 40
MAX_STATES = 60
STACKS = 6
"""Random stacks for each product."""
HIGHEST = 1_000
RELATIVE = 1e-9


def check(seed: int, products: int = PRODUCTS, most: int = MAX_STATES) -> Counter[str]:
    """Compare the solutions of random deterministic products."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        case, plain = draw_case(random, most)
        solution = find_solution(Task(case.domain, case.machine), float(case.discount))
        counted += compare_values(case, plain, solution)
        counted += compare_steps(random, case, solution)
        counted["cases"] += 1
    return counted


def draw_case(random: Random, most: int) -> tuple[Case, Plain]:
    """A random deterministic product, walked through."""
    while True:
        rewards = LARGE if random.random() < 0.1 else REWARDS
        machine = plainly_paid(random, random_machine(random), rewards)
        domain = remove_chance(random, random_domain(random, machine))
        case = Case(domain, machine, None, random.choice(DISCOUNTS))
        plain = plain_product(case, most)
        if plain.states:
            return case, plain


def remove_chance(random: Random, domain: FiniteDomain) -> FiniteDomain:
    """The domain in which one outcome of every action always happens, listed at a place of its own."""
    arrays = domain.arrays
    chance = np.zeros(arrays.probability.shape)
    drawn = np.random.default_rng(random.getrandbits(32)).integers(
        0, chance.shape[2], chance.shape[:2]
    )
    np.put_along_axis(chance, drawn[..., np.newaxis], 1.0, axis=2)
    return replace(domain, arrays=arrays._replace(probability=chance))


# --- Beside the brute force


def compare_values(case: Case, plain: Plain, solution: Solution) -> Counter[str]:
    """Every value is between the exact ones with the least and with the most beyond, up to the proved error."""
    extent = bound_values(case, solution)
    if extent is None and not plain.closed:
        return Counter({"open, with endless silent pay": 1})
    lower = solve_exactly(plain, case.discount, -(extent or 0))
    upper = lower if plain.closed else solve_exactly(plain, case.discount, extent or Fraction(0))
    counted: Counter[str] = Counter()
    for (s, u, stack), x in plain.states.items():
        error = Fraction(solution.error_at(len(stack)))
        value = Fraction(solution.value(s, u, stack))
        shown = f"{case}\n{(s, u, stack)}: {float(value)} ± {float(error)}, not in [{float(lower[x])}, {float(upper[x])}]"
        assert lower[x] - error <= value <= upper[x] + error, shown
        counted["values"] += 1
        if lower[x] == upper[x]:
            counted["decided exactly"] += 1
            best = find_best(plain, x, case.discount, lower, upper)
            if best is not None:
                names = {case.domain.actions[action] for action in best}
                found = set(solution.actions(s, u, stack))
                assert names <= found, f"{case}\n{(s, u, stack)}: actions {found}, not {names}"
                counted["sets of actions"] += 1
                counted["sets of actions with more than the optimal ones"] += found != names
    return counted


def bound_values(case: Case, solution: Solution) -> Fraction | None:
    """No value is farther from 0; None where silent moves may pay more the higher the stack is."""
    silent_moves = solution.solver.silent_moves
    if silent_moves.grows:
        return None
    paid = [
        abs(fraction(rule.reward)) for rule in (*case.machine.transitions, case.machine.otherwise)
    ]
    own = [abs(fraction(reward)) for reward in case.domain.arrays.reward.ravel().tolist()]
    return (max(own) + (1 + silent_moves.per_step) * max(paid)) / (1 - case.discount)


def solve_exactly(plain: Plain, discount: Fraction, beyond: Fraction) -> list[Fraction]:
    """[state]: the optimal value, where states that were not looked beyond are worth `beyond`: policy iteration in fractions."""
    chosen = [0] * len(plain.ways)
    while True:
        value = follow_policy(plain, discount, chosen, beyond)
        better = False
        for x, rows in enumerate(plain.ways):
            worth = [
                sum((way.paid + discount * _worth(value, way.after)) * way.chance for way in ways)
                for ways in rows
            ]
            if worth and max(worth) > value[x]:
                chosen[x], better = worth.index(max(worth)), True
        if not better:
            return value


def follow_policy(
    plain: Plain, discount: Fraction, chosen: list[int], beyond: Fraction
) -> list[Fraction]:
    """[state]: the value of always choosing so. Every action has one outcome, so a way ends, or goes round for ever."""
    value: list[Fraction | None] = [None if rows else beyond for rows in plain.ways]
    for begin in range(len(value)):
        way, place, x = list[int](), dict[int, int](), begin
        while x != END and value[x] is None and x not in place:
            place[x] = len(way)
            way.append(x)
            x = _next(plain, chosen, x)[1]
        if x != END and value[x] is None:  # round and round
            paid, power = Fraction(0), Fraction(1)
            for y in way[place[x] :]:
                paid, power = paid + power * _next(plain, chosen, y)[0], power * discount
            value[x] = paid / (1 - power)
            way = [*way[: place[x]], *way[place[x] + 1 :]]
        for y in reversed(way):
            paid, after = _next(plain, chosen, y)
            value[y] = paid + discount * _worth(value, after)
    return [one for one in value if one is not None]


def find_best(
    plain: Plain, x: int, discount: Fraction, lower: list[Fraction], upper: list[Fraction]
) -> set[int] | None:
    """The optimal actions, where every action's value is known exactly."""
    worth = []
    for ((_, paid, after),) in (ways for ways in plain.ways[x]):
        if after != END and lower[after] != upper[after]:
            return None
        worth.append(paid + discount * _worth(lower, after))
    return {action for action, one in enumerate(worth) if one == max(worth)} if worth else None


def _next(plain: Plain, chosen: list[int], x: int) -> tuple[Fraction, int]:
    ((_, paid, after),) = plain.ways[x][chosen[x]]
    return paid, after


def _worth(value: list[Fraction] | list[Fraction | None], x: int) -> Fraction:
    return Fraction(0) if x == END else value[x] or Fraction(0)


# --- Beside one step of the readable machine


def compare_steps(random: Random, case: Case, solution: Solution) -> Counter[str]:
    """With random stacks, a value is the best of what one step leads to."""
    counted: Counter[str] = Counter()
    for _ in range(STACKS):
        s, u, stack = draw_configuration(random, case.domain, case.machine)
        if case.machine.rule(u, None, stack[0] if stack else None) is not None:
            continue  # a step begins after its silent moves
        value, best = solution.value(s, u, stack), best_step(case, solution, s, u, stack)
        slack = RELATIVE * max(abs(value), abs(best), 1.0)
        assert abs(value - best) <= slack, (
            f"{case}\n{(s, u, stack)}: {value}, and one step later {best}"
        )
        counted["random stacks"] += 1
    return counted


def draw_configuration(
    random: Random, domain: FiniteDomain, machine: PushdownRewardMachine
) -> tuple[int, str, Stack]:
    """A random environment state, machine state and stack, of any height up to the highest."""
    height = random.choice((0, 1, 2, 3, 10, 100, HIGHEST))
    stack = tuple(random.choices(machine.stack, k=random.randint(height // 2, height)))
    return random.randrange(domain.states), random.choice(machine.states), stack


def best_step(case: Case, solution: Solution, s: int, u: str, stack: Stack) -> float:
    """The best of what one step leads to, taken by the readable machine."""
    arrays = case.domain.arrays
    if arrays.terminal[s]:
        return 0.0
    found = []
    for action in range(len(case.domain.actions)):
        place = (s, action, int(arrays.probability[s, action].argmax()))
        step = case.machine.step(Configuration(u, stack), case.domain.labels[arrays.label[place]])
        after, s2 = step.after, int(arrays.next[place])
        over = after.state in case.machine.final or arrays.terminal[s2]
        later = 0.0 if over else solution.value(s2, after.state, after.stack)
        found.append(float(arrays.reward[place]) + step.reward + float(case.discount) * later)
    return max(found)
