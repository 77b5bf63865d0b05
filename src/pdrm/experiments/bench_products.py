"""Products to measure solving on: LetterEnv, the 10×10 maze, and a slippery grid of brackets.

LetterEnv has very many small components, the maze hardly a cycle (it is searched forwards and retraced backwards), and the
brackets one component with nearly all states: every bracket that is opened can be closed, and pays, for ever.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from pdrm.domains.array_domain import from_arrays
from pdrm.domains.catalogue import domain
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.machines.catalogue import catalogue
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.text.files import parse
from pdrm.product.finite.arrays import Bound
from pdrm.product.finite.product import FiniteProduct

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
