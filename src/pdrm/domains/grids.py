"""Grids: maps read from text, and the domain of an agent that moves up, down, left and right.

In a map, `#` is a wall, `.` is floor, `@` is a start on floor, and any other character (a letter)
marks a place. Lines that start with `//` are comments, and everything beyond the edge is wall.
Errors have file, line and column. Places emit events when the agent enters them. The paper's mazes
and DeliverWorld are such domains, and your own map takes a few lines.
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
"""Characters that do not mark places."""
COMMENT = "//"
DIRECTIONS = ("u", "d", "l", "r")
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))
"""The two directions perpendicular to each direction."""
STEP_LIMIT = 300
"""The default step limit."""
Cell = tuple[int, int]
"""Row and column, from 0."""


@dataclass(frozen=True, slots=True)
class GridMap:
    r"""A checked map: its rows, its cells other than walls (in reading order), and its start cells.

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
        """The next cell in a direction, or the same cell if the next is a wall."""
        row, column = cell
        rows, columns = STEPS[action]
        neighbour = (row + rows, column + columns)
        return cell if self.at(neighbour) == WALL else neighbour

    def places(self, letter: str) -> tuple[Cell, ...]:
        """The cells with a letter."""
        return tuple(cell for cell in self.cells if self.at(cell) == letter)

    def distances(self, origin: Cell) -> dict[Cell, int]:
        """The distance in moves from a cell to every reachable cell."""
        distance = {origin: 0}
        queue = [origin]
        for cell in queue:  # grows during the loop: breadth first
            for action in range(len(STEPS)):
                neighbour = self.neighbour(cell, action)
                if neighbour not in distance:
                    distance[neighbour] = distance[cell] + 1
                    queue.append(neighbour)
        return distance


def read_map(
    path: FilePath, *, places: Collection[str] = (), start: Collection[str] = ()
) -> GridMap:
    """Read a map from a file.

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
    """Decode a map's file; raise `NotUtf8` if it is not text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = f"{file}: byte {error.start} is not UTF-8 text"
        raise NotUtf8(fault, fix="save the file as UTF-8") from error


def load_shipped_map(
    name: str, *, places: Collection[str] = (), start: Collection[str] = ()
) -> GridMap:
    """Read a map of the package."""
    return read_map(Path(__file__).parent / "maps" / f"{name}.txt", places=places, start=start)


def parse_map(
    text: str, *, places: Collection[str] = (), start: Collection[str] = (), file: str = "<map>"
) -> GridMap:
    r"""Parse a map. `places` are the letters of places, `start` the letters where episodes start.

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
        fault = f"{file} has {len(rows)} rows; a map has at most {MAX_CELLS:,} cells"
        raise TooLarge(fault, where=where(0, 0), fix="give its arrays instead: from_arrays")
    width = len(rows[0])
    known = {*SIGNS, *places}
    for r, row in enumerate(rows):
        if len(row) != width:
            fault = f"this row has {len(row)} characters and the first has {width}"
            fix = f"fill the shorter row with `{WALL}` or `{FLOOR}`, or cut the longer one"
            raise RaggedMap(fault, where=where(r, min(width, len(row))), fix=fix)
        for c, letter in enumerate(row):
            if letter not in known:
                fix = f"the map can contain {' '.join(sorted(known))}"
                raise UnknownPlace(f"`{letter}` has no meaning", where=where(r, c), fix=fix)
    if missing := sorted({*places, *start} - set("".join(rows))):
        fault = f"{file} has no `{missing[0]}`"
        raise UnknownPlace(fault, fix="draw it, or leave it out of the places", word=missing[0])
    cells = [(r, c) for r, row in enumerate(rows) for c in range(width) if row[c] != WALL]
    starts = [(r, c) for r, c in cells if rows[r][c] == START or rows[r][c] in start]
    if not starts:
        fix = f"put `{START}` on a floor cell, or start episodes at a place: start k"
        raise NoStart(f"{file} has no start", where=where(0, 0), fix=fix)
    grid = GridMap(rows, tuple(cells), tuple(starts))
    _check_reachable(grid, where)
    return grid


def _check_reachable(grid: GridMap, where: Callable[[int, int], Where]) -> None:
    """Check that every place can be reached from every start."""
    for start in grid.starts:
        reachable = grid.distances(start)
        for cell in grid.cells:
            if grid.at(cell) != FLOOR and cell not in reachable:
                fault = f"`{grid.at(cell)}` cannot be reached from the start at {cell_name(start)}"
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
    """Build the domain of an agent that moves on a map.

    Args:
        name: The name of the domain.
        grid: The map's text, or a parsed map.
        places: The event that each letter of the map emits when the agent enters it.
        start: Letters at which episodes can start, in addition to `@`, if `grid` is a text.
        step_limit: Steps after which an episode is truncated.
        directions: Emit the direction of every action, also against a wall.
        standing: Emit a place's event on every step that ends there, not only on entering.
        bump: The label of a step against a wall (default: as for other steps).
        step_reward: The environment's reward of each step.
        slip: The probability of a step to one of the two sides, each equally likely; 2/3 is
            Gymnasium's FrozenLake. The label is that of the actual direction.
        start_labels: The labels emitted at reset, each equally likely (None for no label).

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine` and `highest`.

    >>> kitchen = grid_domain("kitchen", "@.c", {"c": "coffee"}, step_limit=20)
    >>> kitchen.states, kitchen.labels[kitchen.arrays.label[1, 3, 0]]
    (3, frozenset({'coffee'}))
    """
    if isinstance(grid, str):
        grid = parse_map(grid, places={*places, *start}, start=start)
    elif start:
        fault = f"map `{name}` was parsed with its starts"
        raise BadDomainSetting(fault, fix="parse_map(text, places=…, start=…)")
    bump_label = None if bump is None else frozenset(bump)

    def move(cell: Cell, direction: int, chance: float) -> Outcome:
        after = grid.neighbour(cell, direction)
        moved = after != cell
        events = {DIRECTIONS[direction]} if directions else set[str]()
        if (standing or moved) and grid.at(after) in places:
            events.add(places[grid.at(after)])
        label = frozenset(events) if moved or bump_label is None else bump_label
        return Outcome(after, chance, label, step_reward)

    def outcomes(cell: Cell, action: int) -> list[Outcome]:
        chances = {action: 1 - slip, **dict.fromkeys(SIDES[action], slip / 2)}
        return [
            move(cell, direction, chance) for direction, chance in chances.items() if chance > 0
        ]

    chance = 1 / (len(grid.starts) * len(start_labels))
    starts = [Start(cell, chance, label) for cell in grid.starts for label in start_labels]
    other_labels = (label for label in (bump_label, *start_labels) if label is not None)
    other_events = (event for label in other_labels for event in sorted(label))
    events = dict.fromkeys((*(DIRECTIONS if directions else ()), *places.values(), *other_events))
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
    """A cell as text."""
    return f"row {cell[0]}, column {cell[1]}"


def show_rows(grid: GridMap, shows: Mapping[Cell, str] | None = None) -> tuple[str, ...]:
    """The map without its starts, and with the letters in `shows` at their cells."""
    rows = [list(row.replace(START, FLOOR)) for row in grid.rows]
    for (row, column), letter in (shows or {}).items():
        rows[row][column] = letter
    return tuple("".join(row) for row in rows)


# --- A map file: settings, one per line, and the map. The words of a setting are separated by
# blanks, which a row of a map never contains.
#
#     step_limit  50        // steps after which an episode is truncated
#     place       k key     // entering a cell that shows k emits the event `key`
#     start       k         // an episode can start there (and at `@`)
#     directions  yes       // every move emits its direction: u, d, l or r
#     slip        0.2       // the probability that a move goes to one of the two sides
#
# Each setting is an option of `grid_domain`. A letter that no `place` names emits itself.


class MapWord(NamedTuple):
    """A word of a map file, and its location."""

    text: str
    where: Where


def parse_map_file(text: str, name: str, file: str = "<map>") -> FiniteDomain:
    r"""Parse a map file; `name` is used if it contains none.

    >>> rooms = parse_map_file("step_limit 50\nplace k key\n#####\n#@.k#\n#####", "rooms")
    >>> rooms.name, rooms.states, rooms.events, rooms.step_limit
    ('rooms', 3, ('key',), 50)
    """
    rows = list[str]()
    settings = list[list[MapWord]]()
    sources = dict[str, Where]()
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
    options = dict[str, Any]()
    places = dict[str, str]()
    for keyword, *words in settings:
        target = places if keyword.text == "place" else options
        called, value = _read_setting(keyword, [word.text for word in words])
        if called in target:
            fault = f"`{called}` is set twice"
            raise BadDomainSetting(fault, where=keyword.where, fix="set it once")
        target[called] = value
    emits = {letter: letter for letter in "".join(rows) if letter not in SIGNS} | places
    clash = [letter for letter, event in emits.items() if event in DIRECTIONS]
    if options.get("directions") and clash:
        fault = f"{file}: `{clash[0]}` emits `{emits[clash[0]]}`, which is also a direction"
        raise BadDomainSetting(fault, fix=f"place {clash[0]} EVENT")
    domain_fields = {
        field: options.pop(field) for field in {"machine", "lowest", "highest"} & options.keys()
    }
    try:
        grid = parse_map("\n".join(rows), places=emits, start=options.pop("start", ""), file=file)
        domain = grid_domain(options.pop("name", name), grid, emits, **options)
        return replace(domain, sources=sources, **domain_fields)
    except (BadDomainSetting, UnknownPlace) as error:
        where = error.where or sources.get(error.word)
        raise type(error)(error.message, where=where, fix=error.fix) from error


def _read_setting(keyword: MapWord, words: list[str]) -> tuple[str, Any]:
    """Return the name and the value of a setting; the name of a place is its letter."""
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


def _read_number(word: str, low: float = -inf, high: float = inf) -> float:
    value = float(word)
    if not low <= value <= high or not isfinite(value):
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
    "slip": (partial(_read_number, low=0, high=1), "0.2"),
    "bump": (lambda *events: events, "ouch"),
    "step_reward": (_read_number, "-0.1"),
    "machine": (str, "treasure-maze"),
    "lowest": (_read_number, "-1"),
    "highest": (_read_number, "1"),
}
"""A function that reads the words of each setting, and an example of them."""
