"""MultipleTreasureMaze (Section 7.3): find the safe place, bring each treasure there, then return to the start.

Nothing is found before the safe place has been visited, and one treasure is carried at a time. Every action emits its
direction; entering emits `s` (safe place), `t` (a treasure, then carried), `x` (start), and `T` with `s` when the last
treasure is brought. A state is the agent's cell and what has happened so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from pdrm.domains.grid_map import DIRECTIONS, Cell, GridMap, shipped_map
from pdrm.domains.gridworld import cell_name, shown_rows
from pdrm.domains.labelled_mdp import FiniteDomain, Label
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.domains.picture import FLOOR, Picture, Scene

STEP_LIMITS = {10: 1_000, 20: 4_000}


@dataclass(frozen=True, slots=True)
class Progress:
    """What has happened: whether the safe place was visited, which treasures were taken, whether one is carried.

    >>> Progress(safe=True, taken=frozenset({(1, 2)}), carrying=True).words(3)
    'carrying treasure 1 of 3'
    """

    safe: bool = False
    taken: frozenset[Cell] = frozenset()
    carrying: bool = False

    def words(self, treasures: int) -> str:
        """The progress in words, where there are so many treasures."""
        if not self.safe:
            return "looking for the safe place"
        if self.carrying:
            return f"carrying treasure {len(self.taken)} of {treasures}"
        return f"{len(self.taken)} of {treasures} treasures safe"


def enter(grid: GridMap, treasures: frozenset[Cell], progress: Progress, there: Cell) -> tuple[Progress, Label]:
    """What entering a cell changes, and the events it emits."""
    letter = grid.at(there)
    if letter == "s":
        events = {"s", "T"} if progress.carrying and progress.taken == treasures else {"s"}
        return replace(progress, safe=True, carrying=False), frozenset(events)
    if letter == "t" and progress.safe and not progress.carrying and there not in progress.taken:
        return replace(progress, taken=progress.taken | {there}, carrying=True), frozenset("t")
    return progress, frozenset("x" if letter == "x" else ())


def multiple_treasure_maze(size: int, step_limit: int | None = None) -> FiniteDomain:
    """The maze of that size (10 or 20).

    With the catalogue's machine the worst is a wrong turn with the first treasure (2e3 − 1e5). The best pays 1e3 for the
    safe place and twice for each treasure, 1e5 at the end, and 1 for every other step back, half of the limit at most.

    >>> multiple_treasure_maze(10).highest
    107496.0
    """
    name = f"multi-{size}x{size}"
    limit = STEP_LIMITS[size] if step_limit is None else step_limit
    grid = shipped_map(name, places="xst", start="x")
    treasures = frozenset(grid.places("t"))

    def outcomes(place: tuple[Progress, Cell], action: int) -> list[Outcome]:
        progress, cell = place
        there = grid.beside(cell, action)
        progress, events = enter(grid, treasures, progress, there) if there != cell else (progress, frozenset())
        return [Outcome((progress, there), label=events | {DIRECTIONS[action]})]

    stages = _stages(grid.places("t"))
    count = len(treasures)
    states = {
        (progress, cell): f"{cell_name(cell)}; {progress.words(count)}" for progress in stages for cell in grid.cells
    }
    return from_outcomes(
        name,
        states,
        DIRECTIONS,
        outcomes,
        [Start((Progress(), cell)) for cell in grid.starts],
        events=(*DIRECTIONS, "s", "t", "T", "x"),
        step_limit=limit,
        picture=_picture(grid, stages),
        machine="multiple-treasure-maze",
        lowest=2e3 - 1e5,
        highest=1e3 + 2e3 * count + 1e5 + limit // 2 - count - 1,
    )


def _stages(treasures: tuple[Cell, ...]) -> list[Progress]:
    """Every progress there can be, in the order of the number of treasures taken."""
    stages = [Progress()]
    for number in range(len(treasures) + 1):
        for taken in combinations(treasures, number):
            stages += [Progress(True, frozenset(taken), carrying) for carrying in (False, True)[: number + 1]]
    return stages


def _picture(grid: GridMap, stages: list[Progress]) -> Picture:
    count = len(grid.places("t"))
    scenes = [
        Scene(shown_rows(grid, dict.fromkeys(progress.taken, FLOOR)), progress.words(count)) for progress in stages
    ]
    scene = tuple(number for number in range(len(stages)) for _ in grid.cells)
    return Picture(tuple(scenes), scene, grid.cells * len(stages))
