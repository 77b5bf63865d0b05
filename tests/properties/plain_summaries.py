"""The operators of stack symbols once more, readable: sweeps over dictionaries of lines, without tolerance.

For every environment state, machine state and top symbol the best c of each exit and t; and a constant. One sweep puts every operator in
place of what one move makes of all of them. Lines longer than some steps are left out, and what they may be worth at most is part of the comparison.
Operators of a world whose moves become known one after the other, as a learner notes them, must at the end be those that are found at once.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random

import numpy as np

from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.analysis.whole_stack_kernel import NONE, World
from pdrm.machines.tables import Table, run_silent_table, tabulate
from pdrm.product.finite_kernel import Floats
from pdrm.task import Task
from tests.properties.plain_product import Case
from tests.properties.summaries import draw_case

PRODUCTS = 20
SWEEPS = 240
LONGEST = 60
"""Steps of a line."""
MAX_LINES = 4_000
DISCOUNT = 0.6
"""What is later than the longest line matters by 5e-14."""
CLOSE = 1e-7
LOOKS = 0.3
"""The number of queries of values between two moves that become known."""
CONFIGURATIONS = 6
MAZES = 6
HIGHEST = 12
"""The maximum height of queried stacks."""

Exit = tuple[int, int]
Head = tuple[int, int, int]
Lines = dict[Exit, dict[int, float]]
Operator = tuple[float, Lines]
Asked = tuple[int, int, tuple[int, ...]]
"""A configuration whose value is queried."""


class TooMany(Exception):
    """More lines than this way of counting is meant for."""


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Compare the operators of random products, at random worth of what lies below."""
    random, counted, maze = Random(seed), Counter[str](), Task("maze-5x5")
    for _ in range(MAZES):  # random domains are so small that hardly anything is two moves away
        compare_noted(
            random,
            world_of(maze.finite.arrays),
            tabulate(maze.pushdown, maze.finite.labels),
            [(0, 0, (1,))],
        )
    while counted["cases"] < products:
        case, _ = draw_case(random, most=2)
        if WholeStack(
            *_parts(case), DISCOUNT
        ).silent_moves.grows:  # the readable one takes too long
            continue
        try:
            compare(random, case)
            parts = _parts(case)
            compare_noted(random, *parts, [_draw(random, *parts) for _ in range(CONFIGURATIONS)])
            counted["cases"] += 1
        except TooMany:
            counted["too many lines"] += 1
    return counted


def _parts(case: Case) -> tuple[World, Table]:
    return world_of(case.domain.arrays), tabulate(case.machine, case.domain.labels)


def compare(random: Random, case: Case) -> None:
    """The operators of all heads are as high as the readable ones, wherever the value below is in its range."""
    world, table = _parts(case)
    fast = WholeStack(world, table, DISCOUNT, precision=1e-12)
    shape = fast.shape[:2]
    ends = fast.ranges.low.reshape(shape), fast.ranges.high.reshape(shape)
    plain = sweep(world, table, ends[0])
    for (s, u, z), (constant, lines) in plain.items():
        below = random_below(random, *ends)
        high = max(
            [
                constant,
                *(c + DISCOUNT**t * below[e] for e, ways in lines.items() for t, c in ways.items()),
            ]
        )
        fast_high = height(fast, (s, u, z), below, DISCOUNT)
        slack = CLOSE * max(1.0, abs(high), float(np.abs(below).max()))
        assert abs(fast_high - high) <= slack, f"{case}\n{(s, u, z)}: {fast_high}, readable {high}"


def random_below(random: Random, low: Floats, high: Floats) -> Floats:
    """[place, state]: random values of what lies below, within their ranges."""
    generator = np.random.default_rng(random.getrandbits(32))
    return low + generator.random(low.shape) * (high - low)


def height(fast: WholeStack, head: Head, below: Floats, discount: float) -> float:
    """The value of an operator, if this lies below."""
    constant, lines = fast.read(*head)
    return max([constant, *(c + discount**t * float(below[s, u]) for t, c, s, u in lines)])


def compare_noted(random: Random, world: World, table: Table, asked: list[Asked]) -> None:
    """The values of a world that becomes known move by move, looked at in between, are those of the world that is known from the start."""
    unknown, most = np.full_like(world.next, NONE), float(np.abs(world.reward).max())
    known = World(
        unknown,
        np.zeros_like(world.label),
        np.zeros_like(world.reward),
        np.zeros_like(world.terminal),
    )
    slow = WholeStack(known, table, DISCOUNT, precision=1e-12, largest_unknown=most)
    moves = [(s, a) for s, a in np.ndindex(*world.next.shape) if not world.terminal[s]]
    for s, a in random.sample(moves, len(moves)):
        for new, old in zip(known[:3], world[:3], strict=True):
            new[s, a] = old[s, a]
        after = int(world.next[s, a])
        known.terminal[after] = world.terminal[after]
        slow.note(s)
        slow.note(after)
        if random.random() < LOOKS:
            best(slow, *random.choice(asked))
    once = WholeStack(world, table, DISCOUNT, precision=1e-12)
    values = [best(slow, *one) for one in asked]  # all of them before any other query
    slack = slow.error_at(HIGHEST) + once.error_at(HIGHEST)
    for (place, state, stack), found in zip(asked, values, strict=True):
        if (
            world.terminal[place] and not known.terminal[place]
        ):  # no move leads there, so it was never known
            continue
        other = best(once, place, state, stack)
        assert abs(found - other) <= slack, (
            f"{world}\n{(place, state, stack)}: {found} move by move, at once {other}"
        )


def best(solver: WholeStack, place: int, state: int, stack: tuple[int, ...]) -> float:
    """The value of a configuration."""
    state, stack, paid = run_silent_table(solver.table, state, stack)
    if state >= solver.table.first_final or solver.world.terminal[place]:
        return paid
    values = solver.action_values(place, state, stack)
    return paid + (0.0 if np.isnan(values).all() else float(np.nanmax(values)))


def _draw(random: Random, world: World, table: Table) -> Asked:
    """An environment state, a machine state that is not final, a stack."""
    stack = tuple(random.choices(range(1, table.move.shape[2]), k=random.randint(0, HIGHEST)))
    return random.randrange(len(world.terminal)), random.randrange(table.first_final), stack


def sweep(world: World, table: Table, low: Floats) -> dict[Head, Operator]:
    """The operators of all heads, after enough sweeps that what is missing hardly matters."""
    places, symbols = len(world.terminal), table.move.shape[2]
    heads = [
        (s, u, z) for s in range(places) for u in range(table.first_final) for z in range(symbols)
    ]
    found: dict[Head, Operator] = {head: (float(low[head[:2]]), {}) for head in heads}
    for _ in range(SWEEPS):
        before, found = found, {head: move_once(world, table, found, head, low) for head in heads}
        if found == before:
            break
    return found


def move_once(
    world: World, table: Table, found: dict[Head, Operator], head: Head, low: Floats
) -> Operator:
    """What one move at a head makes of the operators."""
    s, u, z = head
    silent = int(table.silent[u, z])
    if silent < 0 and world.terminal[s]:
        return 0.0, {}
    constant, lines = float(low[s, u]), Lines()  # no value is less than its bound
    for a in range(1 if silent >= 0 else world.next.shape[1]):
        move = silent if silent >= 0 else int(table.move[u, world.label[s, a], z])
        place, time = (s, 0) if silent >= 0 else (int(world.next[s, a]), 1)
        state, paid = int(table.target[move]), float(table.reward[move])
        pushed = (*table.push[move, : table.pushes[move]][::-1].tolist(), *(z,)[table.pops[move] :])
        r = DISCOUNT**time * (paid + (0.0 if silent >= 0 else float(world.reward[s, a])))
        other, ways = follow(found, table, place, state, pushed)
        constant = max(constant, r + DISCOUNT**time * other)
        for e, found_ways in ways.items():
            into = lines.setdefault(e, {})
            for t, c in found_ways.items():
                if t + time <= LONGEST:
                    into[t + time] = max(into.get(t + time, -inf), r + DISCOUNT**time * c)
    return constant, lines


def follow(
    found: dict[Head, Operator], table: Table, place: int, state: int, symbols: tuple[int, ...]
) -> Operator:
    """The lines of several symbols on top of each other."""
    constant, lines = -inf, {(place, state): {0: 0.0}}
    for symbol in symbols:
        after = Lines()
        for (s, u), ways in lines.items():
            if u >= table.first_final:
                constant = max([constant, *ways.values()])
                continue
            other, further = found[s, u, symbol]
            for t, c in ways.items():
                constant = max(constant, c + DISCOUNT**t * other)
                for e, more in further.items():
                    into = after.setdefault(e, {})
                    for later, gain in more.items():
                        into[t + later] = max(into.get(t + later, -inf), c + DISCOUNT**t * gain)
        lines = after
        if sum(map(len, lines.values())) > MAX_LINES:
            raise TooMany
    for (s, u), ways in list(lines.items()):
        if u >= table.first_final:
            constant = max([constant, *ways.values()])
            del lines[s, u]
    return constant, lines
