"""Time to solve a product, compared with Storm on the same numbers.

Both solve to the same guaranteed absolute precision, in turns, in one process. A time is the median
of the rounds in processor seconds. The time of pdrm includes everything from the product's arrays
to the intervals. Storm's time is one call of its model checker on a model built before. The fastest
of Storm's sound methods counts: all are tried at the smallest size, the two fastest of these at the
middle size, and the faster of these at the largest.

The products: LetterEnv has very many small components, and the maze almost no cycles (it is
searched forwards and retraced backwards). The brackets have one component with nearly all states:
opening and closing brackets can be repeated, with rewards, forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from statistics import median
from time import process_time as clock
from typing import ParamSpec, TypeVar

import numpy as np

from benchmarks import Figures, OnProgress
from benchmarks.storm_product import SOUND, storm_product
from pdrm.analysis.top_bounds import FrontierBounds
from pdrm.analysis.value_iteration import ValueBounds, bound_values, sort_states
from pdrm.domains.finite_domain import FiniteDomain, from_arrays
from pdrm.product.finite_kernel import END, FiniteProduct, States
from pdrm.product.hash_kernel import Index
from pdrm.task import Task

SIDE = 10
SLIP = 0.2
"""Probability that a step on the brackets' grid goes to the right of its direction."""
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Clockwise."""
MEMORY = 12 * 2**30

TASKS = {"letter": "letter", "maze": "maze-10x10"}
Heights = Mapping[str, Sequence[int]]
"""Stack bounds of each task."""
SIZES: Heights = {"letter": (300, 3_000, 35_000), "brackets": (7, 11, 15)}
"""About ten thousand, two hundred thousand and over two million states."""
NAMES = ("small", "middle", "large")
TRIED = (len(SOUND), 2, 1)
"""How many of Storm's methods are tried at each size."""
DISCOUNT = 0.99
PRECISION = 1e-6
COMPARED = 2_000
"""Number of states whose values are compared with Storm's."""

BRACKETS = """
name      brackets
events    open_1 close_1 open_2 close_2
exclusive open_1 close_1 open_2 close_2
stack     # 1 2
start     read
otherwise stay 0
read -> read : open_1,  z / 1 z, 0
read -> read : open_2,  z / 2 z, 0
read -> read : close_1, 1 / eps, 1
read -> read : close_2, 2 / eps, 1
"""

P = ParamSpec("P")
T = TypeVar("T")


def bench_analysis(seconds: float, on_progress: OnProgress) -> Iterator[Figures]:
    """All figures. Small products are solved for about `seconds` in all, large ones once."""
    on_progress("compiling the kernels")
    for task in SIZES:
        solve(bounded(task, 2))
    ratio = difference = 0.0
    for task, heights in SIZES.items():
        methods = list(SOUND)
        for size, height, tried in zip(NAMES, heights, TRIED, strict=True):
            on_progress(f"{task} with stacks up to {height:,}, compared with Storm")
            share = seconds / (len(NAMES) * len(SIZES))
            figures, methods = race_storm(task, height, methods[:tried], share)
            yield {f"{name}_{task}_{size}": value for name, value in figures.items()}
            ratio = max(ratio, figures["storm_time_ratio"])
            difference = max(difference, figures["storm_difference"])
    yield {"storm_time_ratio": ratio, "storm_difference": difference}


def race_storm(
    task: str, height: int, methods: Sequence[str], seconds: float
) -> tuple[Figures, list[str]]:
    """Solve a product in turns with Storm, for the given time but at least once.

    Returns:
        The figures, and Storm's methods, fastest first.
    """
    build_s, product = timed(bounded, task, height)
    handed_over_s, model = timed(storm_product, product, DISCOUNT)
    compared = np.random.default_rng(0).integers(0, len(product), COMPARED)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {method: [] for method in methods}
    difference = 0.0
    started = clock()
    while not ours or clock() - started < seconds:
        time, bounds = timed(solve, product)
        ours.append(time)
        middle = (bounds.lower[compared] + bounds.upper[compared]) / 2
        for method, times in theirs.items():
            solved = model.solve(method, PRECISION, compared)
            times.append(solved.seconds)
            difference = max(difference, float(np.abs(solved.values - middle).max()))
    medians = {method: median(times) for method, times in theirs.items()}
    fastest = sorted(methods, key=medians.__getitem__)
    solve_s = median(ours)
    storm_s = medians[fastest[0]]
    figures: Figures = {
        "bound": height,
        "states": len(product),
        "components": len(sort_states(product, DISCOUNT).first) - 1,
        "build_s": build_s,
        "solve_s": solve_s,
        "storm_s": storm_s,
        "storm_handed_over_s": handed_over_s,
        "storm_time_ratio": solve_s / storm_s,
        "storm_difference": difference,
        "bytes_per_state": bytes_per_state(product),
    }
    return figures, fastest


def timed(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[float, T]:
    """Call a function; return the processor seconds and the result."""
    started = clock()
    result = function(*args, **kwargs)
    return clock() - started, result


def solve(product: FiniteProduct) -> ValueBounds:
    """Bounds of the values, starting from those for all stacks (bounds by top symbol do not hold in
    a product with a cap)."""
    initial = FrontierBounds(product, DISCOUNT).bound_every_policy(0)
    return bound_values(product, DISCOUNT, PRECISION, initial=initial)


def bytes_per_state(product: FiniteProduct) -> float:
    """Memory of a product per state: its arrays, those of the stacks, and their reserve.

    >>> bytes_per_state(bounded("letter", 300)) < 300
    True
    """
    return sum(
        array.nbytes for array in (*product.states.index, *product.states[1:], *product.stacks)
    ) / len(product)


def bounded(task: str, height: int) -> FiniteProduct:
    """A task's product with bounded stacks. A step that would exceed the bound gives its reward and
    changes nothing.

    >>> len(bounded("letter", 3)), len(bounded("maze", 3)), len(bounded("brackets", 3))
    (166, 21, 588)
    """
    found = _find_task(task)
    product = FiniteProduct(found.finite, found.pushdown, height, MEMORY)
    product.explore()
    states, kept = product.states, np.flatnonzero(product.expanded)
    number = np.full(len(product) + 1, END, np.int32)  # the last is that of END
    number[kept] = np.arange(len(kept))
    following = states.next[kept]
    after = number[following]
    blocked = (following != END) & (after == END)
    after = np.where(blocked, number[kept][:, np.newaxis, np.newaxis], after)
    columns = {name: getattr(states, name)[kept] for name in states._fields[1:]}
    index = Index.from_keys(states.index.key[kept], len(kept))
    product.states = States(index, **(columns | {"next": after}))
    return product


@cache
def _find_task(name: str) -> Task:
    return Task(brackets_grid(), BRACKETS) if name == "brackets" else Task(TASKS[name])


def brackets_grid() -> FiniteDomain:
    """A slippery grid with brackets on a third of the cells, chosen with a fixed seed."""
    kind = np.zeros(SIDE * SIDE, np.int64)
    cells = np.random.default_rng(0).permutation(SIDE * SIDE)
    for number, some in enumerate(np.array_split(cells[: len(cells) // 3], 4), start=1):
        kind[some] = number
    position = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), axis=1)
    moved = np.clip(position[:, None] + np.array(MOVES), 0, SIDE - 1) @ (SIDE, 1)
    following = np.stack([moved, np.roll(moved, -1, axis=1)], axis=2)
    return from_arrays(
        "brackets",
        following,
        kind[following],
        [(), ("open_1",), ("close_1",), ("open_2",), ("close_2",)],
        probability=np.broadcast_to([1 - SLIP, SLIP], following.shape),
        step_limit=100,
    )
