"""What solving a product costs: beside Storm on the same numbers, and as the bound of the stack grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import median
from time import process_time as clock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.analysis.values import Values, values
from pdrm.bench.bench_record import Figures, Told
from pdrm.bench.storm_product import SOUND, StormProduct, loaded, storm_product
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.paper_domains import domain
from pdrm.drawing.plots import GrowthPoint
from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue, parse
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.finite_kernel import Bound
from pdrm.product.finite_product import FiniteProduct

# --- Products to measure solving on: LetterEnv, the 10×10 maze, and a slippery grid of brackets.
#
# LetterEnv has very many small components, the maze hardly a cycle (it is searched forwards and retraced backwards), and the
# brackets one component with nearly all states: every bracket that is opened can be closed, and pays, for ever.

SIDE = 10
SLIP = 0.2
"""How likely a step is to go to the right of where it was meant to."""
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Clockwise."""
MEMORY = 12 * 2**30

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


def bounded(task: str, height: int) -> FiniteProduct:
    """A task's product with stacks up to a height; a step that would exceed it pays and changes nothing.

    >>> len(bounded("letter", 3)), len(bounded("maze", 3)), len(bounded("brackets", 3))
    (166, 21, 588)
    """
    product = FiniteProduct(*_task(task), Bound(height, "block"), MEMORY)
    product.explore()
    return product


@cache
def _task(task: str) -> tuple[FiniteDomain, PushdownRewardMachine]:
    machine = {"letter": catalogue("letter"), "maze": catalogue("treasure-maze"), "brackets": parse(BRACKETS)}[task]
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - those named here are
    return {"letter": domain("letter"), "maze": domain("maze-10x10")}.get(task) or brackets_grid(), machine


def brackets_grid() -> FiniteDomain:
    """A grid on which a third of the cells show brackets, drawn once and for all."""
    kind = np.zeros(SIDE * SIDE, np.int64)
    cells = np.random.default_rng(0).permutation(SIDE * SIDE)
    for number, some in enumerate(np.array_split(cells[: len(cells) // 3], 4), start=1):
        kind[some] = number
    place = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), axis=1)
    moved = np.clip(place[:, None] + np.array(MOVES), 0, SIDE - 1) @ (SIDE, 1)
    following = np.stack([moved, np.roll(moved, -1, axis=1)], axis=2)
    return from_arrays(
        "brackets",
        following,
        kind[following],
        [(), ("open_1",), ("close_1",), ("open_2",), ("close_2",)],
        probability=np.broadcast_to([1 - SLIP, SLIP], following.shape),
        step_limit=100,
    )


# --- What solving a product costs: beside Storm on the same numbers, and as the bound of the stack grows.
#
# Both solve to the same absolute precision with a guarantee, in turns, in one process; a time is the median of its rounds,
# seconds are the processor's. Ours takes in all from the product's arrays to the intervals, Storm's one call of its model
# checker on a model built before. Of Storm's sound methods the fastest counts: all are tried at the smallest size, the two
# fastest there at the middle one, and the faster of these at the largest.

Heights = Mapping[str, Sequence[int]]
"""Task -> highest stacks."""

SIZES: Heights = {"letter": (300, 3_000, 35_000), "brackets": (7, 11, 15)}
"""Three of them, for about ten thousand, two hundred thousand and over two million states."""
NAMES = ("small", "middle", "large")
GROWTH: Heights = {"letter": (2, 5, 10, 20, 50, 100, 200, 500, 1_000), "maze": range(2, 11), "brackets": range(2, 12)}
"""Those that growth is measured at."""
DISCOUNT = 0.99
PRECISION = 1e-6
COMPARED = 2_000
"""States whose values are compared with Storm's."""
LONGEST = 3_600


class Measured(NamedTuple):
    """One product: what it took, the methods of Storm's by their speed, and the figures."""

    methods: list[str]
    figures: Figures


def bench_analysis(seconds: float, told: Told, sizes: Heights | None = None, growth: Heights | None = None) -> Figures:
    """All figures; small products are repeated for `seconds` in all, about, large ones take what they take."""
    if not 0 < seconds <= LONGEST:
        raise BadSetting(f"{seconds:g} seconds are no time to measure in", fix="use --seconds 20")
    sizes, growth = sizes or SIZES, growth or GROWTH
    loaded()  # says what to install where Storm is missing, before anything is measured
    told("the kernels are compiled", 0.0)
    for task in sizes:
        values(bounded(task, 2), DISCOUNT, PRECISION)
    figures: Figures = {}
    for number, (task, heights) in enumerate(sizes.items()):
        methods: Sequence[str] = SOUND
        for name, height in zip(NAMES, heights, strict=True):
            done = 0.9 * (number + NAMES.index(name) / len(NAMES)) / len(sizes)
            told(f"{task} with stacks up to {height:,}, beside Storm", done)
            found = beside_storm(task, height, methods, seconds / (3 * len(sizes)))
            methods = found.methods[: 2 if name == "small" else 1]
            figures |= {f"{figure}_{task}_{name}": value for figure, value in found.figures.items()}
    for worst in ("storm_time_ratio", "storm_difference"):
        figures[worst] = max(value for name, value in figures.items() if name.startswith(worst))
    told("growth with the stack's bound", 0.9)
    return figures | measured_growth(growth)


def beside_storm(task: str, height: int, methods: Sequence[str], seconds: float) -> Measured:
    """One product solved in turns, at least once each, until the seconds are over."""
    build_s, product = _built(task, height)
    began = clock()
    model = storm_product(product, DISCOUNT)
    handed_s = clock() - began
    compared = np.random.default_rng(0).integers(0, len(product), COMPARED)
    ours, theirs = list[float](), {method: list[float]() for method in (*methods, "unsound")}
    apart, began = 0.0, clock()
    while not ours or clock() - began < seconds:
        taken, found = _solved(product)
        ours.append(taken)
        for method, times in theirs.items():
            taken, difference = _storm(model, method, found, compared)
            times.append(taken)
            apart = apart if method == "unsound" else max(apart, difference)
    medians = {method: median(times) for method, times in theirs.items()}
    fastest = sorted(methods, key=lambda method: medians[method])
    figures = {
        "bound": float(height),
        "states": float(len(product)),
        "components": float(found.components),
        "sweeps": float(found.sweeps),
        "build_s": build_s,
        "solve_s": median(ours),
        "storm_s": medians[fastest[0]],
        "storm_unsound_s": medians["unsound"],
        "storm_handed_over_s": handed_s,
        "storm_time_ratio": median(ours) / medians[fastest[0]],
        "storm_unsound_time_ratio": median(ours) / medians["unsound"],
        "storm_difference": apart,
        "bytes_per_state": bytes_per_state(product),
    }
    return Measured(fastest, figures)


def _built(task: str, height: int) -> tuple[float, FiniteProduct]:
    began = clock()
    product = bounded(task, height)
    return clock() - began, product


def _solved(product: FiniteProduct) -> tuple[float, Values]:
    began = clock()
    found = values(product, DISCOUNT, PRECISION)
    return clock() - began, found


def _storm(model: StormProduct, method: str, found: Values, states: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Storm's seconds, and how far its values are from ours at most."""
    sound = method != "unsound"
    taken, value = model.solve(method if sound else SOUND[0], PRECISION, states, sound=sound)
    middle = (found.lower[states] + found.upper[states]) / 2
    return taken, float(np.abs(value - middle).max())


def bytes_per_state(product: FiniteProduct) -> float:
    """Memory of a product divided by its states: their arrays, the stacks', and the room to grow.

    >>> bytes_per_state(bounded("letter", 300)) < 300
    True
    """
    used = sum(array.nbytes for array in (*product.states, *product.stacks))
    return used / len(product)


def grown(figures: Figures) -> dict[str, list[GrowthPoint]]:
    """What `measured_growth` found, by task, lowest stacks first.

    >>> grown({"growth_states_maze_8": 21845, "growth_build_s_maze_8": 0.01, "growth_solve_s_maze_8": 0.002})
    {'maze': [GrowthPoint(height=8, states=21845, build_s=0.01, solve_s=0.002)]}
    """
    found: dict[str, list[GrowthPoint]] = {}
    for name, states in figures.items():
        if name.startswith("growth_states_"):
            which = name.removeprefix("growth_states_")
            task, _, height = which.rpartition("_")
            seconds = (figures[f"growth_{part}_s_{which}"] for part in ("build", "solve"))
            found.setdefault(task, []).append(GrowthPoint(int(height), int(states), *seconds))
    return found


def measured_growth(heights: Heights) -> Figures:
    """States, and the least of three times to build and to solve, by task and height."""
    figures: Figures = {}
    for task, some in heights.items():
        for height in some:
            built = [_built(task, height) for _ in range(3)]
            product, name = built[0][1], f"{task}_{height}"
            figures[f"growth_states_{name}"] = len(product)
            figures[f"growth_build_s_{name}"] = min(taken for taken, _ in built)
            figures[f"growth_solve_s_{name}"] = min(_solved(product)[0] for _ in range(3))
    return figures
