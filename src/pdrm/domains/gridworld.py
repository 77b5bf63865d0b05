"""A domain on a map: the agent moves up, down, left and right, and the cells it enters emit events.

The paper's mazes and DeliverWorld are such domains; so is a user's own map, in a few lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

from pdrm.domains.grid_map import DIRECTIONS, START, Cell, GridMap
from pdrm.domains.labelled_mdp import FiniteDomain, Label
from pdrm.domains.outcomes import Outcome, Start, Words, from_outcomes
from pdrm.domains.picture import FLOOR, Picture, Scene
from pdrm.errors import UnknownPlace


@dataclass(frozen=True, slots=True)
class _Emission:
    """Which events a step emits; see `grid_domain`."""

    places: Mapping[str, str]
    directions: bool
    standing: bool
    bump: Label | None

    @property
    def events(self) -> tuple[str, ...]:
        return (*(DIRECTIONS if self.directions else ()), *self.places.values(), *sorted(self.bump or ()))

    def label(self, grid: GridMap, cell: Cell, there: Cell, action: int) -> Label:
        """The label of a step from `cell` to `there`, which is the same cell when a wall was in the way."""
        if there == cell and self.bump is not None:
            return self.bump
        event = self.places.get(grid.at(there)) if self.standing or there != cell else None
        return frozenset(({DIRECTIONS[action]} if self.directions else set()) | ({event} if event else set()))


def grid_domain(  # noqa: PLR0913 - named options, each with a default
    name: str,
    grid: GridMap,
    places: Mapping[str, str],
    *,
    step_limit: int,
    directions: bool = False,
    standing: bool = False,
    bump: Iterable[str] | None = None,
    step_reward: float = 0.0,
    start_labels: Sequence[Label | None] = (None,),
    more_events: Sequence[str] = (),
    **words: Unpack[Words],
) -> FiniteDomain:
    """The domain in which `places` says which event each letter of the map emits when the agent enters it.

    Options: `directions`, every action emits its direction, also against a wall; `standing`, a place emits its event on
    every step that ends there, not only on entering; `bump`, what a step against a wall emits in place of all that
    (None: no difference); `start_labels`, one of which is emitted at reset, each equally likely (None: nothing is).

    >>> from pdrm.domains.grid_map import parse_map
    >>> kitchen = grid_domain("kitchen", parse_map("@.c", places="c"), {"c": "coffee"}, step_limit=20)
    >>> kitchen.states, kitchen.labels[kitchen.arrays.label[1, 3, 0]]
    (3, frozenset({'coffee'}))
    """
    for letter in places:
        if not grid.places(letter):
            fault = f"`{letter}` has an event, `{places[letter]}`, but is not on the map"
            raise UnknownPlace(fault, fix="put it on the map, or take it out of the places")
    emits = _Emission(places, directions, standing, None if bump is None else frozenset(bump))

    def outcomes(cell: Cell, action: int) -> list[Outcome]:
        there = grid.beside(cell, action)
        return [Outcome(there, label=emits.label(grid, cell, there, action), reward=step_reward)]

    chance = 1 / (len(grid.starts) * len(start_labels))
    starts = [Start(cell, chance, label) for cell in grid.starts for label in start_labels]
    states = {cell: cell_name(cell) for cell in grid.cells}
    words.setdefault("picture", cell_picture(grid))
    events = tuple(dict.fromkeys((*emits.events, *more_events)))
    return from_outcomes(name, states, DIRECTIONS, outcomes, starts, events=events, step_limit=step_limit, **words)


def cell_name(cell: Cell) -> str:
    """A cell in words."""
    return f"row {cell[0]}, column {cell[1]}"


def shown_rows(grid: GridMap, shows: Mapping[Cell, str] | None = None) -> tuple[str, ...]:
    """The map without its start signs, and with other characters where `shows` says so."""
    rows = [list(row.replace(START, FLOOR)) for row in grid.rows]
    for (row, column), letter in (shows or {}).items():
        rows[row][column] = letter
    return tuple("".join(row) for row in rows)


def cell_picture(grid: GridMap) -> Picture:
    """The picture of a domain whose states are the cells of the map."""
    return Picture((Scene(shown_rows(grid)),), (0,) * len(grid.cells), grid.cells)
