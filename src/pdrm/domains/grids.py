"""Grids: a map read from text, and the domain of an agent that moves on it, up, down, left and right.

In a map `#` is a wall, `.` floor, `@` a start on floor, and any other character a place; a line that begins with `//` is a
comment, and beyond the edge is wall. Errors are reported with file, line and column. The cells that the agent enters emit
events: the paper's mazes and DeliverWorld are such domains, and so is a user's own map, in a few lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pdrm.domains.finite_domain import (
    FLOOR,
    WALL,
    FiniteDomain,
    Label,
    Outcome,
    Picture,
    Scene,
    Start,
    from_outcomes,
)
from pdrm.errors import (
    BadDomainSetting,
    NoStart,
    NotUtf8,
    RaggedMap,
    TooLarge,
    UnknownPlace,
    UnreachablePlace,
    Where,
    did_you_mean,
)
from pdrm.files import MAX_CELLS, MAX_TEXT_BYTES, FilePath, read_bytes

START = "@"
SIGNS = (WALL, FLOOR, START)
"""Characters that are not places."""
COMMENT = "//"
DIRECTIONS = ("u", "d", "l", "r")
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))
"""The two directions at right angles to each."""
STEP_LIMIT = 300
"""The default."""
Cell = tuple[int, int]
"""Row and column, from 0."""


@dataclass(frozen=True, slots=True)
class GridMap:
    r"""A checked map: its rows, its cells that are not walls (in reading order), and those at which an episode may start.

    >>> grid = parse_map("@.t\n##.", places="t")
    >>> grid.cells
    ((0, 0), (0, 1), (0, 2), (1, 2))
    >>> grid.neighbour((0, 2), 1), grid.neighbour((0, 0), 1), grid.places("t")
    ((1, 2), (0, 0), ((0, 2),))
    """

    rows: tuple[str, ...]
    cells: tuple[Cell, ...]
    starts: tuple[Cell, ...]

    def at(self, cell: Cell) -> str:
        """The character of a cell; beyond the edge is wall."""
        row, column = cell
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[0])
        return self.rows[row][column] if inside else WALL

    def neighbour(self, cell: Cell, action: int) -> Cell:
        """The cell that a move leads to: the neighbour, or the same cell when a wall is in the way."""
        there = (cell[0] + STEPS[action][0], cell[1] + STEPS[action][1])
        return cell if self.at(there) == WALL else there

    def places(self, letter: str) -> tuple[Cell, ...]:
        """The cells that show a letter."""
        return tuple(cell for cell in self.cells if self.at(cell) == letter)

    def distances(self, origin: Cell) -> dict[Cell, int]:
        """The moves from one cell to each that can be reached."""
        steps, frontier = {origin: 0}, [origin]
        for cell in frontier:  # grows while it is read: breadth first
            for action in range(len(STEPS)):
                there = self.neighbour(cell, action)
                if there not in steps:
                    steps[there] = steps[cell] + 1
                    frontier.append(there)
        return steps


def read_map(
    path: FilePath, *, places: Collection[str] = (), start: Collection[str] = ()
) -> GridMap:
    """The map in a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rooms.txt"
    ...     _ = file.write_text("@.k")
    ...     read_map(file, places="k").rows
    ('@.k',)
    """
    text = decode_map(read_bytes(Path(path), MAX_TEXT_BYTES), str(path))
    return parse_map(text, places=places, start=start, file=str(path))


def decode_map(data: bytes, file: str) -> str:
    """The text of a map's file, or `NotUtf8`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = f"{file}: byte {error.start} is not UTF-8 text"
        raise NotUtf8(fault, fix="save the file as UTF-8") from error


def load_shipped_map(
    name: str, *, places: Collection[str] = (), start: Collection[str] = ()
) -> GridMap:
    """A map that comes with the package."""
    return read_map(Path(__file__).parent / "maps" / f"{name}.txt", places=places, start=start)


def parse_map(
    text: str, *, places: Collection[str] = (), start: Collection[str] = (), file: str = "<map>"
) -> GridMap:
    r"""The map that a text draws; `places` are the characters with a meaning, `start` those of them at which an episode starts.

    >>> rooms = parse_map("#####\n#@.k#\n#####", places="k")
    >>> rooms.starts, rooms.places("k")
    (((1, 1),), ((1, 3),))
    """
    lines = enumerate(map(str.rstrip, text.splitlines()), 1)
    drawn = [(number, line) for number, line in lines if line and not line.startswith(COMMENT)]
    rows = tuple(line for _, line in drawn)

    def where(row: int, column: int) -> Where:
        number, line = drawn[row]
        return Where(file, number, column + 1, line)

    if not rows:
        raise RaggedMap(f"{file} contains no map", fix="draw at least one row")
    if sum(map(len, rows)) > MAX_CELLS:
        fault = f"{file} has {len(rows)} rows; {MAX_CELLS:,} cells are the most"
        raise TooLarge(fault, where=where(0, 0), fix="give its arrays instead: from_arrays")
    width = len(rows[0])
    known = {*SIGNS, *places}
    for r, row in enumerate(rows):
        if len(row) != width:
            fault = f"this row has {len(row)} characters and the first has {width}"
            fix = f"fill the shorter with `{WALL}` or `{FLOOR}`, or cut the longer"
            raise RaggedMap(fault, where=where(r, min(width, len(row))), fix=fix)
        for c, letter in enumerate(row):
            if letter not in known:
                fix = f"the map may hold {' '.join(sorted(known))}"
                raise UnknownPlace(f"`{letter}` has no meaning", where=where(r, c), fix=fix)
    if missing := sorted({*places, *start} - set("".join(rows))):
        fault = f"{file} has no `{missing[0]}`"
        raise UnknownPlace(fault, fix="draw it, or leave it out of the places", word=missing[0])
    cells = [(r, c) for r, row in enumerate(rows) for c in range(width) if row[c] != WALL]
    starts = [(r, c) for r, c in cells if rows[r][c] == START or rows[r][c] in start]
    if not starts:
        fix = f"put `{START}` on a floor cell, or say that an episode may begin at a place: start k"
        raise NoStart(f"{file} has no start", where=where(0, 0), fix=fix)
    grid = GridMap(rows, tuple(cells), tuple(starts))
    _check_reachable(grid, where)
    return grid


def _check_reachable(grid: GridMap, where: Callable[[int, int], Where]) -> None:
    """Every place can be reached from every start."""
    for origin in grid.starts:
        near = grid.distances(origin)
        for cell in grid.cells:
            if grid.at(cell) != FLOOR and cell not in near:
                fault = f"`{grid.at(cell)}` cannot be reached from the start at {cell_name(origin)}"
                fix = "open a wall, or remove the place"
                raise UnreachablePlace(fault, where=where(*cell), fix=fix)


# --- The domain of a map


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
) -> FiniteDomain:
    """The domain of an agent that moves on a map.

    Args:
        name: The domain's name.
        grid: The map's text, or a map that was parsed.
        places: The event that each letter of the map emits when the agent enters it.
        start: Letters of a text at which an episode may begin, besides `@`.
        step_limit: Steps after which an episode is truncated.
        directions: Every action emits its direction, also against a wall.
        standing: A place emits its event on every step that ends there, not only on entering.
        bump: The label of a step against a wall (default: as other steps).
        step_reward: The environment's own reward of each step.
        slip: The probability that a step goes to one of the two sides, each equally likely; 2/3 is
            Gymnasium's FrozenLake. The label is that of the way it goes.
        start_labels: The labels of which one is emitted at reset, each equally likely (None for no label).

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine`, `lowest` and `highest`.

    >>> kitchen = grid_domain("kitchen", "@.c", {"c": "coffee"}, step_limit=20)
    >>> kitchen.states, kitchen.labels[kitchen.arrays.label[1, 3, 0]]
    (3, frozenset({'coffee'}))
    """
    if isinstance(grid, str):
        grid = parse_map(grid, places={*places, *start}, start=start)
    elif start:
        fault = f"map `{name}` was parsed with its starts"
        raise BadDomainSetting(fault, fix="parse_map(text, places=…, start=…)")
    bumped = None if bump is None else frozenset(bump)

    def move(cell: Cell, way: int, chance: float) -> Outcome:
        there = grid.neighbour(cell, way)
        events = {DIRECTIONS[way]} if directions else set[str]()
        if (standing or there != cell) and grid.at(there) in places:
            events.add(places[grid.at(there)])
        label = frozenset(events) if there != cell or bumped is None else bumped
        return Outcome(there, chance, label, step_reward)

    def outcomes(cell: Cell, action: int) -> list[Outcome]:
        ways = {action: 1 - slip, **dict.fromkeys(SIDES[action], slip / 2)}
        return [move(cell, way, chance) for way, chance in ways.items() if chance > 0]

    chance = 1 / (len(grid.starts) * len(start_labels))
    starts = [Start(cell, chance, first) for cell in grid.starts for first in start_labels]
    labels = (bumped, *start_labels)
    told = (event for label in labels if label is not None for event in sorted(label))
    events = dict.fromkeys((*(DIRECTIONS if directions else ()), *places.values(), *told))
    return from_outcomes(
        name,
        {cell: cell_name(cell) for cell in grid.cells},
        DIRECTIONS,
        outcomes,
        starts,
        events=tuple(events),
        step_limit=step_limit,
        picture=Picture((Scene(show_rows(grid)),), (0,) * len(grid.cells), grid.cells),
    )


def cell_name(cell: Cell) -> str:
    """A cell in words."""
    return f"row {cell[0]}, column {cell[1]}"


def show_rows(grid: GridMap, shows: Mapping[Cell, str] | None = None) -> tuple[str, ...]:
    """The map without its start signs, and with other characters at the cells in `shows`."""
    rows = [list(row.replace(START, FLOOR)) for row in grid.rows]
    for (row, column), letter in (shows or {}).items():
        rows[row][column] = letter
    return tuple("".join(row) for row in rows)


# --- A map file: the map, and above it settings, one per line: words with blanks between them, which a row of a map never has.
#
#     step_limit  50        // steps an episode may take
#     place       k key     // entering a cell that shows k emits the event `key`
#     start       k         // an episode may begin there (and at `@`)
#     directions  yes       // every move emits its direction: u, d, l or r
#     slip        0.2       // the probability that a move goes astray, to one of the two sides
#
# Each setting is an option of `grid_domain`. A character that no `place` names emits itself.


class MapWord(NamedTuple):
    """A word of a map file, and its place."""

    text: str
    where: Where


def parse_map_file(text: str, name: str, file: str = "<map>") -> FiniteDomain:
    r"""The domain that a map file describes; `name` is used if it gives none.

    >>> rooms = parse_map_file("step_limit 50\nplace k key\n#####\n#@.k#\n#####", "rooms")
    >>> rooms.name, rooms.states, rooms.events, rooms.step_limit
    ('rooms', 3, ('key',), 50)
    """
    rows, settings, sources = list[str](), list[list[MapWord]](), dict[str, Where]()
    for number, line in enumerate(text.splitlines(), 1):
        code = "" if line.startswith(COMMENT) else line.partition(f" {COMMENT}")[0].rstrip()
        words = [
            MapWord(word[0], Where(file, number, word.start() + 1, line, len(word[0])))
            for word in re.finditer(r"\S+", code)
        ]
        # A setting leaves an empty row, so that lines keep their numbers.
        rows.append(code if len(words) == 1 else "")
        if len(words) > 1:
            settings.append(words)
        else:
            words = [MapWord(code[c], Where(file, number, c + 1, line)) for c in range(len(code))]
        for word in words:
            sources.setdefault(word.text, word.where)
    if "directions" in sources:
        sources = dict.fromkeys(DIRECTIONS, sources["directions"]) | sources
    given, places = dict[str, Any](), dict[str, str]()
    for keyword, *words in settings:
        noted = places if keyword.text == "place" else given
        called, value = _read_setting(keyword, [word.text for word in words])
        if called in noted:
            fault = f"`{called}` is set twice"
            raise BadDomainSetting(fault, where=keyword.where, fix="set it once")
        noted[called] = value
    drawn = "".join(rows)
    emits = {letter: letter for letter in drawn if letter not in SIGNS} | places
    clash = [letter for letter, event in emits.items() if event in DIRECTIONS]
    if given.get("directions") and clash:
        fault = f"{file}: `{clash[0]}` emits `{emits[clash[0]]}`, which is also a direction"
        raise BadDomainSetting(fault, fix=f"place {clash[0]} EVENT")
    own = {field: given.pop(field) for field in ("machine", "lowest", "highest") if field in given}
    try:
        grid = parse_map("\n".join(rows), places=emits, start=given.pop("start", ""), file=file)
        made = grid_domain(given.pop("name", name), grid, emits, **given)
        return replace(made, sources=sources, **own)
    except (BadDomainSetting, UnknownPlace) as error:
        where = error.where or sources.get(error.word)
        raise type(error)(error.message, where=where, fix=error.fix) from error


def _read_setting(keyword: MapWord, words: list[str]) -> tuple[str, Any]:
    """The name and the value of a setting; a place goes by its letter."""
    name = keyword.text
    if name not in SETTINGS:
        fault = f"`{name}` is neither a setting nor a row of the map"
        hint = did_you_mean(name, SETTINGS)
        fix = (
            f"{hint} Floor is drawn as `{FLOOR}`, not as a blank; a comment starts with `{COMMENT}`"
        )
        raise BadDomainSetting(fault, where=keyword.where, fix=fix)
    read, example = SETTINGS[name]
    try:
        value = read(*words)
    except (ValueError, TypeError, KeyError):
        fault = f"`{name}` cannot be `{' '.join(words)[:60]}`"
        raise BadDomainSetting(fault, where=keyword.where, fix=f"{name} {example}") from None
    return value if name == "place" else (name, value)


def _read_place(letter: str, event: str) -> tuple[str, str]:
    if len(letter) != 1 or letter in SIGNS:
        raise ValueError
    return letter, event


def _read_letters(*letters: str) -> tuple[str, ...]:
    if any(len(letter) != 1 for letter in letters):
        raise ValueError
    return letters


def _read_number(word: str, least: float = -inf, most: float = inf) -> float:
    value = float(word)
    if not least <= value <= most or not isfinite(value):
        raise ValueError
    return value


SWITCH = {"no": False, "yes": True}

SETTINGS: dict[str, tuple[Callable[..., Any], str]] = {
    "name": (str, "my-rooms"),
    "step_limit": (int, "100"),
    "place": (_read_place, "k key"),
    "start": (_read_letters, "x"),
    "directions": (SWITCH.__getitem__, "yes"),
    "standing": (SWITCH.__getitem__, "yes"),
    "slip": (partial(_read_number, least=0, most=1), "0.2"),
    "bump": (lambda *events: events, "ouch"),
    "step_reward": (_read_number, "-0.1"),
    "machine": (str, "treasure-maze"),
    "lowest": (_read_number, "-1"),
    "highest": (_read_number, "1"),
}
"""How the words after a setting are read, and an example of them."""
