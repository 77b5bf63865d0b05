"""1-TreasureMaze (Section 3 and 7.2): find the treasure, then retrace the path to the start.

Every action emits its direction, also against a wall; `t` and `x` are emitted on entering the treasure and the start.
"""

from __future__ import annotations

from pdrm.domains.grid_map import shipped_map
from pdrm.domains.gridworld import grid_domain
from pdrm.domains.labelled_mdp import FiniteDomain

STEP_LIMITS = {5: 15, 10: 150, 20: 300}
"""By size. The paper prints 15 for 10×10 too, which no way there and back fits in: `step_limit=15` gives that."""


def treasure_maze(size: int, step_limit: int | None = None) -> FiniteDomain:
    """The maze of that size (5, 10 or 20).

    With the catalogue's machine the worst is a wrong turn right after the treasure (1 − 1e5), the best the longest way
    there and back that the limit allows: a point for the treasure and each step back, and 1e5 for the last. This is the
    scale of the task; a limit too short for any way there and back does not change it.

    >>> treasure_maze(5).highest
    100007.0
    """
    limit = STEP_LIMITS[size] if step_limit is None else step_limit
    name = f"maze-{size}x{size}"
    return grid_domain(
        name,
        shipped_map(name, places="tx", start="x"),
        {"t": "t", "x": "x"},
        step_limit=limit,
        directions=True,
        machine="treasure-maze",
        lowest=1 - 1e5,
        highest=1e5 + limit // 2,
    )
