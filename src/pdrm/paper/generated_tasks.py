"""Randomly generated tasks: sets of delivery sequences, and maps. All of them have a solution.

The paper gives neither the number of sequences nor the larger maps. The catalogue's `deliver.pdrm`
was generated with `draw_sequences` and seed 0. All others are for readings of the paper.
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
LONG = 8
"""Deliveries of a sequence in evaluations."""
SHORT = 4
"""Deliveries of a sequence in the training of DeliverWorld-4-8."""
Places = tuple[str, ...]
"""The types of places to visit, in order."""


def draw_sequences(length: int, count: int, seed: int) -> tuple[Places, ...]:
    """Draw `count` different sequences, uniformly over the types of places.

    >>> draw_sequences(4, 2, seed=0)
    (('mall', 'store', 'mall', 'post'), ('cafe', 'cafe', 'post', 'post'))
    """
    rng = Rng(seed_streams(seed, 1))
    sequences = dict[Places, None]()
    while len(sequences) < count:
        sequences[tuple(TYPES[rng.below(len(TYPES))] for _ in range(length))] = None
    return tuple(sequences)


def sequence_labels(kind: str, count: int) -> list[Label]:
    """The labels that number the sequences: the event `kind`, and the binary digits that are 1.

    >>> [sorted(label) for label in sequence_labels("short", 4)]
    [['short'], ['bit_0', 'short'], ['bit_1', 'short'], ['bit_0', 'bit_1', 'short']]
    """
    digits = range(count.bit_length())
    return [
        frozenset({kind, *(f"bit_{digit}" for digit in digits if number >> digit & 1)})
        for number in range(count)
    ]


def deliver_machine(long: Sequence[Places], short: Sequence[Places]) -> str:
    """The text of DeliverWorld's machine with these sequences."""
    orders = [
        *zip(sequence_labels("long", len(long)), long, strict=True),
        *zip(sequence_labels("short", len(short)), short, strict=True),
    ]
    order_events = frozenset[str]().union(*(label for label, _ in orders))
    events = " ".join((*TYPES, *sorted(order_events)))
    rules = "\n".join(
        f"wait -> deliver : {label_text(label)}, # / {' '.join(places)} #, 0"
        for label, places in orders
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
    """DeliverWorld-8 and DeliverWorld-4-8 with these sequences, on a map (default: the
    catalogue's).

    >>> from pdrm.language.loading import catalogue
    >>> eight, four_eight = deliver_tasks(*sequences_of(catalogue("deliver-four")))
    >>> eight.name, len(eight.finite.arrays.start_label), four_eight.finite.highest
    ('deliver-8', 4, 4990.0)
    """
    city = load_shipped_map("deliver", places=PLACE_TYPES) if grid is None else grid
    machine = parse(deliver_machine(long, short))

    def orders(kind: str, sequences: Sequence[Places]) -> Orders:
        shortest = min(fewest_steps(city, places) for places in sequences)
        return Orders(sequence_labels(kind, len(sequences)), len(sequences[0]), shortest)

    worlds = deliver_worlds(orders("long", long), orders("short", short), grid=city)
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
    """Length of the shortest episode that delivers in this order and leaves the last place."""
    letters = {event: letter for letter, event in PLACE_TYPES.items()}
    best = dict.fromkeys(grid.starts, 0)
    for place in places:
        # An agent that already stands on the place needs two steps: off it, and back.
        best = {
            cell: min(steps + (distances(grid, at)[cell] or 2) for at, steps in best.items())
            for cell in grid.places(letters[place])
        }
    return min(best.values()) + 1


distances = lru_cache(maxsize=1_000)(GridMap.distances)
"""The number of moves from a cell to every other cell, cached for all sequences."""


def draw_places(seed: int) -> GridMap:
    """A map of DeliverWorld with the places of the catalogue's map at random cells.

    >>> len(draw_places(1).cells) == len(load_shipped_map("deliver", places=PLACE_TYPES).cells)
    True
    """
    original = load_shipped_map("deliver", places=PLACE_TYPES)
    rng = Rng(seed_streams(seed, 1))
    cells = list(original.cells)
    letters = ["@", *(letter for letter in PLACE_TYPES for _ in original.places(letter))]
    shown = {cells.pop(rng.below(len(cells))): letter for letter in letters}
    return _draw(len(original.rows), original.cells, shown)


# --- Maps of mazes

OPENED_SHARE = 0.15
"""The share of the walls between two cells that are opened, to create loops."""


def draw_maze(size: int, seed: int, *, away: int) -> GridMap:
    """A maze of `size` × `size` with its start on the left and a treasure `away` steps from it.

    A randomised depth-first search carves the cells. Then random walls between two cells are
    opened.

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
    floor = {start}
    path = [start]
    while path:
        row, column = path[-1]
        neighbours = [
            ((row + down, column + right), (row + 2 * down, column + 2 * right))
            for down, right in STEPS
            if 0 < row + 2 * down < size - 1 and 0 < column + 2 * right < size - 1
        ]
        unvisited = [(wall, cell) for wall, cell in neighbours if cell not in floor]
        if not unvisited:
            path.pop()
            continue
        wall, cell = _pick(unvisited, rng)
        floor |= {wall, cell}
        path.append(cell)
    walls = [
        (r, c)
        for r, c in product(range(1, size - 1), repeat=2)
        if (r, c) not in floor
        and ({(r, c - 1), (r, c + 1)} <= floor or {(r - 1, c), (r + 1, c)} <= floor)
    ]
    for _ in range(round(OPENED_SHARE * len(walls))):
        floor.add(walls.pop(rng.below(len(walls))))
    return floor


def _pick(items: Sequence[A], rng: Rng) -> A:
    return items[rng.below(len(items))]


def _draw(size: int, floor: Collection[Cell], shown: Mapping[Cell, str]) -> GridMap:
    """A square map with letters on some cells. The first letter is the start."""
    rows = [
        "".join(shown.get((r, c), ".") if (r, c) in floor else "#" for c in range(size))
        for r in range(size)
    ]
    start, *_ = shown.values()
    return parse_map("\n".join(rows), places=set(shown.values()), start=start)
