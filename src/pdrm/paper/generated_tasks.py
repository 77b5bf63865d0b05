"""Tasks from a seed: sets of delivery sequences, and maps. Each has a solution.

The catalogue's DeliverWorld is `draw_sequences` with seed 0, written to `deliver.pdrm` once; the others are for readings of the
paper, which says neither how many sequences there are nor what the larger maps look like.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import TypeVar

from pdrm.domains.grids import STEPS, Cell, GridMap, load_shipped_map, parse_map
from pdrm.domains.paper_domains import PLACE_TYPES, Orders, deliver_worlds
from pdrm.language.document import AnyMachine
from pdrm.language.loading import parse
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.machines.guards import Label, label_text
from pdrm.task import Task, pushdown_machine

A = TypeVar("A")

# --- Sequences of deliveries

TYPES = tuple(PLACE_TYPES.values())
LONG, SHORT = 8, 4
"""Deliveries of a sequence: in evaluations, and in the training of DeliverWorld-4-8."""
Places = tuple[str, ...]
"""The types of places to visit, the first first."""


def draw_sequences(length: int, count: int, seed: int) -> tuple[Places, ...]:
    """Draw n different sequences, with every type of place equally likely.

    >>> draw_sequences(4, 2, seed=0)
    (('mall', 'store', 'mall', 'post'), ('cafe', 'cafe', 'post', 'post'))
    """
    rng, found = Rng(seed_streams(seed, 1)), dict[Places, None]()
    while len(found) < count:
        found[tuple(TYPES[rng.below(len(TYPES))] for _ in range(length))] = None
    return tuple(found)


def sequence_labels(kind: str, count: int) -> list[Label]:
    """The labels of n sequences: the event `kind`, and the binary digits of the number that are 1.

    >>> [sorted(label) for label in sequence_labels("short", 4)]
    [['short'], ['bit_0', 'short'], ['bit_1', 'short'], ['bit_0', 'bit_1', 'short']]
    """
    digits = range(count.bit_length())
    return [
        frozenset({kind, *(f"bit_{digit}" for digit in digits if number >> digit & 1)})
        for number in range(count)
    ]


def deliver_machine(long: Sequence[Places], short: Sequence[Places]) -> str:
    """DeliverWorld's machine with these sequences, as text."""
    named = [*zip(sequence_labels("long", len(long)), long, strict=True)]
    named += zip(sequence_labels("short", len(short)), short, strict=True)
    events = " ".join((*TYPES, *sorted(frozenset[str]().union(*(label for label, _ in named)))))
    rules = "\n".join(
        f"wait -> deliver : {label_text(label)}, # / {' '.join(places)} #, 0"
        for label, places in named
    )
    return f"""name      deliver
events    {events}
exclusive {" ".join(TYPES)}
stack     # {" ".join(TYPES)}
start     wait
final     done
otherwise stay 0

{rules}

for place in {" ".join(TYPES)}:
    deliver -> deliver : {{place}}, place / eps, 1e3
deliver -> done : {{}}, # / #, 1e3
"""


def deliver_tasks(
    long: Sequence[Places], short: Sequence[Places], grid: GridMap | None = None
) -> tuple[Task, Task]:
    """DeliverWorld-8 and DeliverWorld-4-8 with these sequences, on a map (default: the catalogue's).

    >>> from pdrm.language.loading import catalogue
    >>> eight, four_eight = deliver_tasks(*sequences_of(catalogue("deliver-four")))
    >>> eight.name, len(eight.finite.arrays.start_label), four_eight.finite.highest
    ('deliver-8', 4, 4990.0)
    """
    where = load_shipped_map("deliver", places=PLACE_TYPES) if grid is None else grid
    machine = parse(deliver_machine(long, short))

    def orders(kind: str, sequences: Sequence[Places]) -> Orders:
        shortest = min(fewest_steps(where, places) for places in sequences)
        return Orders(sequence_labels(kind, len(sequences)), len(sequences[0]), shortest)

    worlds = deliver_worlds(orders("long", long), orders("short", short), grid=where)
    eight, four_eight = (Task(world, machine, success="done") for world in worlds)
    return eight, four_eight


def sequences_of(machine: AnyMachine) -> tuple[tuple[Places, ...], tuple[Places, ...]]:
    """The long and the short sequences of a DeliverWorld machine.

    >>> from pdrm.language.loading import catalogue
    >>> sequences_of(catalogue("deliver"))[1][0] == draw_sequences(4, 64, seed=0)[0]
    True
    """
    pushed = [rule.push[:-1] for rule in pushdown_machine(machine).rules_from[machine.start]]
    long = tuple(places for places in pushed if len(places) == LONG)
    return long, tuple(places for places in pushed if len(places) == SHORT)


def fewest_steps(grid: GridMap, places: Places) -> int:
    """Steps of the shortest episode that delivers in this order, with the step off the last place."""
    letters = {event: letter for letter, event in PLACE_TYPES.items()}
    best = dict.fromkeys(grid.starts, 0)
    for place in places:
        # Standing on the place already, it takes two steps to step off and on again.
        best = {
            cell: min(steps + (distances(grid, at)[cell] or 2) for at, steps in best.items())
            for cell in grid.places(letters[place])
        }
    return min(best.values()) + 1


distances = lru_cache(maxsize=1_000)(GridMap.distances)
"""The moves from a cell to each other, worked out once for all sequences."""


def draw_places(seed: int) -> GridMap:
    """A map of DeliverWorld: the places of the catalogue's, each put anywhere.

    >>> len(draw_places(1).cells) == len(load_shipped_map("deliver", places=PLACE_TYPES).cells)
    True
    """
    known = load_shipped_map("deliver", places=PLACE_TYPES)
    rng, cells = Rng(seed_streams(seed, 1)), list(known.cells)
    letters = ["@", *(kind for kind in PLACE_TYPES for _ in known.places(kind))]
    shown = {cells.pop(rng.below(len(cells))): letter for letter in letters}
    return _draw(len(known.rows), known.cells, shown)


# --- Maps of mazes

OPENED = 0.15
"""The share of the walls between two cells that are opened, which makes loops."""


def draw_maze(size: int, seed: int, *, away: int) -> GridMap:
    """A maze of `size` × `size` with its start on the left and a treasure `away` steps from it.

    Cells are carved by a depth-first walk, which reaches all of them; then walls between two of them are opened at random.

    >>> maze = draw_maze(10, 3, away=15)
    >>> maze.distances(maze.starts[0])[maze.places("t")[0]]
    15
    """
    rng = Rng(seed_streams(seed, 1))
    while True:
        floor = _carve(size, rng)
        start = min(floor)
        grid = _draw(size, floor, {start: "x"})
        steps = grid.distances(start)
        ends = [cell for cell in grid.cells if steps.get(cell) == away]
        if ends:
            return _draw(size, floor, {start: "x", _pick(ends, rng): "t"})


def _carve(size: int, rng: Rng) -> set[Cell]:
    """The floor of a maze."""
    start = (_pick(range(1, size - 1, 2), rng), 1)
    floor, way = {start}, [start]
    while way:
        row, column = way[-1]
        beyond = [
            ((row + down, column + right), (row + 2 * down, column + 2 * right))
            for down, right in STEPS
            if 0 < row + 2 * down < size - 1 and 0 < column + 2 * right < size - 1
        ]
        fresh = [pair for pair in beyond if pair[1] not in floor]
        if not fresh:
            way.pop()
            continue
        wall, cell = _pick(fresh, rng)
        floor |= {wall, cell}
        way.append(cell)
    between = [
        (r, c)
        for r, c in product(range(1, size - 1), repeat=2)
        if (r, c) not in floor
        and ({(r, c - 1), (r, c + 1)} <= floor or {(r - 1, c), (r + 1, c)} <= floor)
    ]
    for _ in range(round(OPENED * len(between))):
        floor.add(between.pop(rng.below(len(between))))
    return floor


def _pick(several: Sequence[A], rng: Rng) -> A:
    return several[rng.below(len(several))]


def _draw(size: int, floor: Collection[Cell], shown: Mapping[Cell, str]) -> GridMap:
    """A square map with the letters that some cells show; it starts at the first of them."""
    rows = [
        "".join(shown.get((r, c), ".") if (r, c) in floor else "#" for c in range(size))
        for r in range(size)
    ]
    start, *_ = shown.values()
    return parse_map("\n".join(rows), places=set(shown.values()), start=start)
