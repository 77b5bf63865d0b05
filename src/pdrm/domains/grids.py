"""Grids: a map read from text, and the domain of an agent that moves on it, up, down, left and right.

In a map `#` is a wall, `.` floor, `@` a start on floor, and any other character a place; a line that begins with `//` is a
comment, and beyond the edge is wall. Errors are reported with file, line and column. The cells that the agent enters emit
events: the paper's mazes and DeliverWorld are such domains, and so is a user's own map, in a few lines.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Unpack

from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain, Label, Picture, Scene
from pdrm.domains.outcomes import OptionalFields, Outcome, Start, from_outcomes
from pdrm.errors import (
    BadDomainSetting,
    NoStart,
    NotUtf8,
    RaggedMap,
    TooLarge,
    UnknownPlace,
    UnreachablePlace,
    Where,
    WrongKind,
    check_words,
)
from pdrm.files import read_bytes
from pdrm.limits import LARGEST_TEXT, MOST_CELLS

START = "@"
DIRECTIONS = ("u", "d", "l", "r")
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))
"""Of each direction, the two at right angles to it."""
LARGEST = 1_000
"""Rows or columns of a map at most."""
STEP_LIMIT = 300
"""Of a map that does not say."""
Cell = tuple[int, int]
"""Row and column, from 0."""


@dataclass(frozen=True, slots=True)
class GridMap:
    r"""A checked map: its rows, the cells one can stand on (in reading order), and where an episode may start.

    >>> grid = parse_map("@.t\n##.", places="t")
    >>> grid.cells
    ((0, 0), (0, 1), (0, 2), (1, 2))
    >>> grid.beside((0, 2), 1), grid.beside((0, 0), 1), grid.places("t")
    ((1, 2), (0, 0), ((0, 2),))
    """

    rows: tuple[str, ...]
    cells: tuple[Cell, ...]
    starts: tuple[Cell, ...]

    def at(self, cell: Cell) -> str:
        """The character of a cell, walls included, wall beyond the edge."""
        row, column = cell
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[0])
        return self.rows[row][column] if inside else WALL

    def beside(self, cell: Cell, action: int) -> Cell:
        """Where a move leads: the neighbour, or the same cell when a wall is in the way."""
        there = (cell[0] + STEPS[action][0], cell[1] + STEPS[action][1])
        return cell if self.at(there) == WALL else there

    def places(self, letter: str) -> tuple[Cell, ...]:
        """The cells that show a letter."""
        return tuple(cell for cell in self.cells if self.at(cell) == letter)

    def distances(self, origin: Cell) -> dict[Cell, int]:
        """How many moves each cell is from another; cells that cannot be reached are left out."""
        steps, frontier = {origin: 0}, [origin]
        for cell in frontier:  # grows while it is read: breadth first
            for action in range(len(STEPS)):
                there = self.beside(cell, action)
                if there not in steps:
                    steps[there] = steps[cell] + 1
                    frontier.append(there)
        return steps


def read_map(
    path: str | os.PathLike[str], *, places: Collection[str] = (), start: Collection[str] = ()
) -> GridMap:
    """The map in a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rooms.txt"
    ...     _ = file.write_text("@.k")
    ...     read_map(file, places="k").rows
    ('@.k',)
    """
    file = Path(path)
    try:
        text = read_bytes(file, LARGEST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotUtf8(
            f"{file}: byte {error.start} is not UTF-8 text", fix="save the file as UTF-8"
        ) from error
    return parse_map(text, places=places, start=start, file=str(file))


def load_shipped_map(
    name: str, *, places: Collection[str] = (), start: Collection[str] = ()
) -> GridMap:
    """A map that comes with the package."""
    text = files("pdrm.domains").joinpath("maps", f"{name}.txt").read_text(encoding="utf-8")
    return parse_map(text, places=places, start=start, file=f"{name}.txt")


def parse_map(
    text: str, *, places: Collection[str] = (), start: Collection[str] = (), file: str = "<map>"
) -> GridMap:
    r"""The map that a text draws; `places` are the characters with a meaning, `start` those of them where one starts.

    >>> rooms = parse_map("#####\n#@.k#\n#####", places="k")
    >>> rooms.starts, rooms.places("k")
    (((1, 1),), ((1, 3),))
    """
    lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("//")]
    if sum(len(line) for _, line in lines) > MOST_CELLS:
        raise TooLarge(
            f"a map of more than {MOST_CELLS:,} cells",
            where=Where(file),
            fix="give its arrays instead: from_arrays",
        )
    _check_shape(lines, file)
    known = {WALL, FLOOR, START, *places}
    for row, (_, line) in enumerate(lines):
        for column, letter in enumerate(line):
            if letter not in known:
                fix = f"the map may hold {' '.join(f'`{one}`' for one in sorted(known))}"
                raise UnknownPlace(
                    f"`{letter}` has no meaning", where=_where(lines, (row, column), file), fix=fix
                )
    rows = tuple(line for _, line in lines)
    cells = tuple(
        (r, c) for r, row in enumerate(rows) for c, letter in enumerate(row) if letter != WALL
    )
    starts = tuple((r, c) for r, c in cells if rows[r][c] == START or rows[r][c] in start)
    missing = sorted({*places, *start} - set("".join(rows)))
    if missing:
        raise UnknownPlace(
            f"{file} has no `{missing[0]}`", fix="draw it, or leave it out of the places"
        )
    if not starts:
        shown = next((letter for letter in "".join(rows) if letter not in (WALL, FLOOR)), "")
        also = (
            f", or say that one begins at `{shown}`: `start {shown}` (in Python start={shown!r})"
            if shown
            else ""
        )
        fix = f"put `{START}` on a floor cell{also}"
        raise NoStart(f"{file} has no start", where=_where(lines, (0, 0), file), fix=fix)
    grid = GridMap(rows, cells, starts)
    for origin in starts:
        _check_reachable(grid, origin, lines, file)
    return grid


def _where(lines: Sequence[tuple[int, str]], cell: Cell, file: str) -> Where:
    number, text = lines[cell[0]]
    return Where(file, number, cell[1] + 1, text)


def _check_shape(lines: Sequence[tuple[int, str]], file: str) -> None:
    if not lines:
        raise RaggedMap(f"{file} contains no map", fix="draw at least one row")
    width = Counter(len(line) for _, line in lines).most_common(1)[0][0]
    if max(width, len(lines)) > LARGEST:
        fault = f"{file} has {len(lines)} rows and {width} columns; {LARGEST} is the most"
        raise TooLarge(fault, where=_where(lines, (0, 0), file))
    for row, (_, line) in enumerate(lines):
        if len(line) != width:
            place = _where(lines, (row, min(width, len(line))), file)
            fix = f"fill it with `{WALL}` or `{FLOOR}`" if len(line) < width else "cut it"
            raise RaggedMap(
                f"this row has {len(line)} characters and most have {width}", where=place, fix=fix
            )


def _check_reachable(
    grid: GridMap, origin: Cell, lines: Sequence[tuple[int, str]], file: str
) -> None:
    near = grid.distances(origin)
    for cell in grid.cells:
        if grid.at(cell) != FLOOR and cell not in near:
            message = f"`{grid.at(cell)}` cannot be reached from the start at row {origin[0]}, column {origin[1]}"
            raise UnreachablePlace(
                message, where=_where(lines, cell, file), fix="open a wall, or remove the place"
            )


# --- The domain of a map


GRID_OPTIONS = (
    "start",
    "step_limit",
    "directions",
    "standing",
    "bump",
    "step_reward",
    "slip",
    "start_labels",
    "more_events",
)


def grid_domain(
    name: str,
    grid: GridMap | str,
    places: Mapping[str, str],
    *,
    start: Collection[str] = (),
    step_limit: int = STEP_LIMIT,
    directions: bool = False,
    standing: bool = False,
    bump: Iterable[str] | None = None,
    step_reward: float = 0.0,
    slip: float = 0.0,
    start_labels: Sequence[Label | None] = (None,),
    more_events: Sequence[str] = (),
    **words: Unpack[OptionalFields],
) -> FiniteDomain:
    """The domain in which `places` says which event each letter of the map emits when the agent enters it.

    grid: the map's text, or a map that was parsed. start: letters of a text where an episode may begin, besides `@`.

    Options: `directions`, every action emits its direction, also against a wall; `standing`, a place emits its event on
    every step that ends there, not only on entering; `bump`, what a step against a wall emits in place of all that
    (None: no difference); `slip`, how likely a step goes to one of the two sides, each equally likely, instead of the way it
    was meant (2/3 is Gymnasium's FrozenLake; the label is that of the way it goes); `start_labels`, one of which is emitted at reset, each equally likely (None: nothing is).

    >>> kitchen = grid_domain("kitchen", "@.c", {"c": "coffee"}, step_limit=20)
    >>> kitchen.states, kitchen.labels[kitchen.arrays.label[1, 3, 0]]
    (3, frozenset({'coffee'}))
    """
    check_words("grid_domain", words, (*OptionalFields.__annotations__, *GRID_OPTIONS))
    if isinstance(grid, str):
        grid = parse_map(grid, places={*places, *start}, start=start)
    elif not isinstance(grid, GridMap):
        fix = "grid_domain(name, text, places), or pdrm.domains.load_domain(path) where it is in a file"  # type: ignore[unreachable] # or is it?
        raise WrongKind(f"{str(grid)[:40]!r} is neither a map's text nor a parsed map", fix=fix)
    elif start:
        raise BadDomainSetting(
            f"map `{name}` was parsed with its starts", fix="parse_map(text, places=…, start=…)"
        )
    for letter in places:
        if not grid.places(letter):
            fault = f"`{letter}` has an event, `{places[letter]}`, but is not on the map"
            raise UnknownPlace(fault, fix="put it on the map, or take it out of the places")
    check_slip(slip)
    bumped = None if bump is None else frozenset(bump)
    own = (*(DIRECTIONS if directions else ()), *places.values(), *sorted(bumped or ()))

    def label(cell: Cell, there: Cell, action: int) -> Label:
        if there == cell and bumped is not None:
            return bumped
        event = places.get(grid.at(there)) if standing or there != cell else None
        return frozenset(
            ({DIRECTIONS[action]} if directions else set()) | ({event} if event else set())
        )

    def go(cell: Cell, way: int, probability: float) -> Outcome:
        there = grid.beside(cell, way)
        return Outcome(there, probability, label(cell, there, way), step_reward)

    def outcomes(cell: Cell, action: int) -> list[Outcome]:
        ways = {action: 1 - slip, **dict.fromkeys(SIDES[action], slip / 2)}
        return [go(cell, way, chance) for way, chance in ways.items() if chance > 0]

    chance = 1 / (len(grid.starts) * len(start_labels))
    starts = [Start(cell, chance, label) for cell in grid.starts for label in start_labels]
    states = {cell: cell_name(cell) for cell in grid.cells}
    words.setdefault(
        "picture", Picture((Scene(show_rows(grid)),), (0,) * len(grid.cells), grid.cells)
    )
    events = tuple(dict.fromkeys((*own, *more_events)))
    return from_outcomes(
        name, states, DIRECTIONS, outcomes, starts, events=events, step_limit=step_limit, **words
    )


def check_slip(slip: float) -> None:
    """Raise unless it is a probability."""
    if not 0 <= slip <= 1:
        raise BadDomainSetting(
            f"`slip` is {slip:g}, not a probability from 0 to 1",
            fix="slip 0.2 (in Python slip=0.2)",
        )


def cell_name(cell: Cell) -> str:
    """A cell in words."""
    return f"row {cell[0]}, column {cell[1]}"


def show_rows(grid: GridMap, shows: Mapping[Cell, str] | None = None) -> tuple[str, ...]:
    """The map without its start signs, and with other characters where `shows` says so."""
    rows = [list(row.replace(START, FLOOR)) for row in grid.rows]
    for (row, column), letter in (shows or {}).items():
        rows[row][column] = letter
    return tuple("".join(row) for row in rows)
