"""LetterEnv (Section 7.1): A shows on one cell, C on another; every visit to A emits it and, half the time, turns it into B.

The turning happens after the visit, for the rest of the episode. A state is the agent's cell and whether B shows.
"""

from __future__ import annotations

from pdrm.domains.grid_map import DIRECTIONS, Cell, shipped_map
from pdrm.domains.gridworld import cell_name, shown_rows
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.domains.picture import Picture, Scene

Place = tuple[Cell, bool]
"""The agent's cell, and whether A has turned into B."""

SHORTEST = 10
"""Steps of the luckiest episode: A at the first visit, B at the second, then C twice (as the printed machine wants)."""


def letter(step_limit: int = 300) -> FiniteDomain:
    """The domain; with the catalogue's machine every step costs 0.01 and the last pays 1.

    >>> letter().highest
    0.91
    """
    grid = shipped_map("letter", places="AC")
    (start,), (shows_a,), (shows_c,) = grid.starts, grid.places("A"), grid.places("C")

    def outcomes(place: Place, action: int) -> list[Outcome]:
        cell, turned = place
        there = grid.beside(cell, action)
        if there == shows_a and there != cell and not turned:
            seen = frozenset("A")
            return [Outcome((there, False), 0.5, seen), Outcome((there, True), 0.5, seen)]
        event = {shows_a: "B", shows_c: "C"}.get(there) if there != cell else None
        return [Outcome((there, turned), label=frozenset(event or ()))]

    states = {
        (cell, turned): f"{cell_name(cell)}; {'B' if turned else 'A'} shows"
        for turned in (False, True)
        for cell in grid.cells
    }
    scenes = (Scene(shown_rows(grid)), Scene(shown_rows(grid, {shows_a: "B"})))
    return from_outcomes(
        "letter",
        states,
        DIRECTIONS,
        outcomes,
        [Start((start, False))],
        events=("A", "B", "C"),
        step_limit=step_limit,
        picture=Picture(scenes, tuple(int(turned) for _, turned in states), tuple(cell for cell, _ in states)),
        machine="letter",
        lowest=-0.01 * step_limit,
        highest=round(1 - 0.01 * (SHORTEST - 1), 2),
    )
