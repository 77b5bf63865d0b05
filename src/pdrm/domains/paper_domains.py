"""The paper's domains, and Echo, by name. Each is built from a readable function of outcomes.

`lowest` and `highest` are the range of returns with the catalogue's machine, which normalises
curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple, overload

from pdrm.domains.finite_domain import (
    FLOOR,
    FiniteDomain,
    Label,
    Outcome,
    Picture,
    Scene,
    Start,
    from_outcomes,
)
from pdrm.domains.grids import (
    DIRECTIONS,
    Cell,
    GridMap,
    cell_name,
    grid_domain,
    load_shipped_map,
    show_rows,
)
from pdrm.errors import UnknownDomain, did_you_mean

# --- LetterEnv (Section 7.1): A shows on one cell and C on another. Every visit to A emits A and
# then, with probability 1/2, turns it into B for the rest of the episode.
#
# A state is the agent's cell and whether B shows.

LetterState = tuple[Cell, bool]
"""The agent's cell, and True if A has turned into B."""

LETTER_SHORTEST = {False: 10, True: 6}
"""Length of the shortest episode: A on the first visit, B on the second, then C twice (as the
printed machine requires); or with `turned_first`."""


def letter(
    step_limit: int = 300, *, turns: float = 0.5, turned_first: bool = False
) -> FiniteDomain:
    """Build LetterEnv. With the catalogue's machine, steps have reward -0.01, and the last has 1.

    Args:
        step_limit: Steps after which an episode is truncated.
        turns: The probability that a visit turns A into B; 0.1 in the repository of Bester et al.,
            which the paper cites.
        turned_first: As in that repository: A can turn into B before it is read, so it might never
            be read, and C shows only after A has turned.

    >>> letter().highest, letter(turned_first=True).highest
    (0.91, 0.95)
    """
    grid = load_shipped_map("letter", places="AC")
    (start,), (shows_a,), (shows_c,) = grid.starts, grid.places("A"), grid.places("C")

    def outcomes(state: LetterState, action: int) -> list[Outcome]:
        cell, turned = state
        after = grid.neighbour(cell, action)
        moved = after != cell
        if moved and after == shows_a and not turned:
            label_if_turned = frozenset("B" if turned_first else "A")
            return [
                Outcome((after, False), 1 - turns, frozenset("A")),
                Outcome((after, True), turns, label_if_turned),
            ]
        hidden = turned_first and not turned and after == shows_c
        event = {shows_a: "B", shows_c: "C"}.get(after) if moved and not hidden else None
        return [Outcome((after, turned), label=frozenset(event or ()))]

    states = {
        (cell, turned): f"{cell_name(cell)}; {'B' if turned else 'A'} shows"
        for turned in (False, True)
        for cell in grid.cells
    }
    scenes = (Scene(show_rows(grid)), Scene(show_rows(grid, {shows_a: "B"})))
    scene = tuple(int(turned) for _, turned in states)
    world = from_outcomes(
        "letter",
        states,
        DIRECTIONS,
        outcomes,
        [Start((start, False))],
        events=("A", "B", "C"),
        step_limit=step_limit,
        picture=Picture(scenes, scene, tuple(cell for cell, _ in states)),
    )
    shortest = LETTER_SHORTEST[turned_first]
    highest = round(1 - 0.01 * (shortest - 1), 2)
    return replace(world, machine="letter", lowest=-0.01 * step_limit, highest=highest)


# --- 1-TreasureMaze (Section 3 and 7.2): find the treasure, then retrace the path to the start.
#
# Every action emits its direction, also against a wall. Entering the treasure emits `t`, entering
# the start `x`.

MAZE_STEP_LIMITS = {5: 15, 10: 150, 20: 300}
"""By size. The paper prints 15 for 10×10 as well, too few to return; `step_limit=15` gives that."""


def treasure_maze(
    size: int, step_limit: int | None = None, *, grid: GridMap | None = None
) -> FiniteDomain:
    """Build the maze of size 5, 10 or 20, on the package's map or another.

    With the catalogue's machine, the lowest return is that of a wrong turn right after the treasure
    (1 − 1e5), and the highest that of the longest return path within the limit: 1 for the treasure
    and each step back, and 1e5 for the last. A limit too short to return does not change the range.

    >>> treasure_maze(5).highest
    100007.0
    """
    limit = MAZE_STEP_LIMITS[size] if step_limit is None else step_limit
    name = f"maze-{size}x{size}"
    if grid is None:
        grid = load_shipped_map(name, places="tx", start="x")
    places = {"t": "t", "x": "x"}
    world = grid_domain(name, grid, places, step_limit=limit, directions=True)
    return replace(world, machine="treasure-maze", lowest=1 - 1e5, highest=1e5 + limit // 2)


# --- MultipleTreasureMaze (Section 7.3): find the safe place, bring each treasure there, then
# return to the start.
#
# Treasures can be taken, one at a time, after visiting the safe place. Every action emits its
# direction. Entering a cell emits `s` (safe place), `t` (a treasure, then carried), `x` (start),
# and `T` with `s` for the last treasure. A state is the agent's cell and the progress so far.

MULTI_STEP_LIMITS = {10: 1_000, 20: 4_000}


class Treasures(NamedTuple):
    """The progress of an episode: safe place visited, treasures taken, one of them carried.

    >>> Treasures(safe=True, taken=frozenset({(1, 2)}), carrying=True).words(3)
    'carrying treasure 1 of 3'
    """

    safe: bool = False
    taken: frozenset[Cell] = frozenset()
    carrying: bool = False

    def words(self, treasures: int) -> str:
        """The progress as text, given the number of treasures."""
        if not self.safe:
            return "looking for the safe place"
        if self.carrying:
            return f"carrying treasure {len(self.taken)} of {treasures}"
        return f"{len(self.taken)} of {treasures} treasures safe"


def enter(letter: str, cell: Cell, progress: Treasures, treasures: int) -> tuple[Treasures, str]:
    """Return the progress after entering a cell with this letter, and the events, a letter each."""
    if letter == "s":
        last = progress.carrying and len(progress.taken) == treasures
        return progress._replace(safe=True, carrying=False), "sT" if last else "s"
    if letter == "t" and progress.safe and not progress.carrying and cell not in progress.taken:
        return Treasures(True, progress.taken | {cell}, carrying=True), "t"
    return progress, "x" if letter == "x" else ""


def multiple_treasure_maze(size: int, step_limit: int | None = None) -> FiniteDomain:
    """Build the maze of size 10 or 20.

    With the catalogue's machine, the lowest return is that of a wrong turn with the first treasure
    (2e3 − 1e5). The highest has 1e3 for the safe place, twice 1e3 for each treasure, 1e5 at the
    end, and 1 for every other step back, at most half of the limit.

    >>> multiple_treasure_maze(10).highest
    107496.0
    """
    name = f"multi-{size}x{size}"
    limit = MULTI_STEP_LIMITS[size] if step_limit is None else step_limit
    grid = load_shipped_map(name, places="xst", start="x")
    treasures = grid.places("t")
    count = len(treasures)

    def outcomes(state: tuple[Treasures, Cell], action: int) -> list[Outcome]:
        progress, cell = state
        after = grid.neighbour(cell, action)
        events = ""
        if after != cell:
            progress, events = enter(grid.at(after), after, progress, count)
        return [Outcome((progress, after), label=frozenset((*events, DIRECTIONS[action])))]

    stages = [Treasures()]

    for number in range(count + 1):
        for taken in combinations(treasures, number):
            stages.append(Treasures(True, frozenset(taken)))
            if taken:
                stages.append(Treasures(True, frozenset(taken), carrying=True))
    states = {
        (progress, cell): f"{cell_name(cell)}; {progress.words(count)}"
        for progress in stages
        for cell in grid.cells
    }
    scenes = [
        Scene(show_rows(grid, dict.fromkeys(stage.taken, FLOOR)), stage.words(count))
        for stage in stages
    ]
    scene = tuple(number for number in range(len(stages)) for _ in grid.cells)
    world = from_outcomes(
        name,
        states,
        DIRECTIONS,
        outcomes,
        [Start((Treasures(), cell)) for cell in grid.starts],
        events=(*DIRECTIONS, "s", "t", "T", "x"),
        step_limit=limit,
        picture=Picture(tuple(scenes), scene, grid.cells * len(stages)),
    )
    highest = 1e3 + 2e3 * count + 1e5 + limit // 2 - count - 1
    return replace(world, machine="multiple-treasure-maze", lowest=2e3 - 1e5, highest=highest)


# --- DeliverWorld (Section 7.4): visit location types in the order of a sequence, named at reset.
#
# The map has several places of each type, a step that ends on one emits its type, and every step
# has reward -1/2. The events `seq_1` … (8 deliveries) and `short_1` … (4 deliveries) name
# sequences. The machine defines their meaning.

PLACE_TYPES = {"M": "mall", "S": "store", "C": "cafe", "P": "post"}
DELIVER_SET = 64
"""Sequences of each length. The paper draws them from a set whose size it does not give."""
STEP_COST = 0.5


class Orders(NamedTuple):
    """The sequences of one length."""

    labels: Sequence[Label]
    """The labels that name them."""
    deliveries: int
    shortest: int
    """Length of the shortest episode of all, including the step off the last place."""


NUMBERS = range(1, DELIVER_SET + 1)
LONG = Orders([frozenset({f"seq_{number}"}) for number in NUMBERS], 8, 29)
SHORT = Orders([frozenset({f"short_{number}"}) for number in NUMBERS], 4, 15)


def deliver_8(step_limit: int = 2_000) -> FiniteDomain:
    """Eight deliveries, in training and in evaluation.

    >>> [deliver_8().labels[first] for first in deliver_8().arrays.start_label[:2]]
    [frozenset({'seq_1'}), frozenset({'seq_2'})]
    """
    return deliver_worlds(step_limit=step_limit)[0]


def deliver_4_8(step_limit: int = 2_000) -> FiniteDomain:
    """Four deliveries in training, eight in evaluation.

    >>> [test.name for test in deliver_4_8().tested_on]
    ['deliver-4-8, test']
    """
    return deliver_worlds(step_limit=step_limit)[1]


def deliver_worlds(
    long: Orders = LONG,
    short: Orders = SHORT,
    *,
    grid: GridMap | None = None,
    step_limit: int = 2_000,
) -> tuple[FiniteDomain, FiniteDomain]:
    """Build both domains: the map, with a sequence's label at reset, numbered in all sequences."""
    combined = grid_domain(
        "deliver",
        load_shipped_map("deliver", places=PLACE_TYPES) if grid is None else grid,
        PLACE_TYPES,
        step_limit=step_limit,
        standing=True,
        step_reward=-STEP_COST,
        start_labels=(*long.labels, *short.labels),
    )
    start_labels = [combined.labels[number] for number in combined.arrays.start_label]

    def world(name: str, orders: Orders) -> FiniteDomain:
        starts = [k for k, label in enumerate(start_labels) if label in orders.labels]
        return replace(
            combined.starting(*starts),
            name=name,
            machine="deliver",
            lowest=-STEP_COST * step_limit,
            # 1e3 for each delivery, and for stepping off the last place
            highest=1e3 * (orders.deliveries + 1) - STEP_COST * orders.shortest,
        )

    eight = world("deliver-8", long)
    test = replace(eight, name="deliver-4-8, test")
    return eight, replace(world("deliver-4-8", short), tests=(test,))


# --- PaintWorld (Appendix C): stains on the stack, and a price for soap.
#
# There is one state. Asking for i units has reward -i/(i+1) and emits `soap_i`. At reset `stains_n`
# is emitted, with n from 1 to 5 equally likely. Policies are evaluated on each n.

MAX_STAINS = 5
"""Maximum number of stains, and of units of soap in one request."""


def paint(step_limit: int = 5) -> FiniteDomain:
    """Build PaintWorld; start k has k + 1 stains.

    Highest return: one stain, and one unit for it. Lowest: five stains, four of them removed one by
    one and the last with all units.

    >>> world = paint()
    >>> world.arrays.reward.ravel().round(3).tolist(), [test.name for test in world.tests][:1]
    ([-0.5, -0.667, -0.75, -0.8, -0.833], ['paint, start 0'])
    """
    amounts = range(1, MAX_STAINS + 1)

    def outcomes(_: str, action: int) -> list[Outcome]:
        units = action + 1
        return [Outcome("floor", label=frozenset({f"soap_{units}"}), reward=-units / (units + 1))]

    world = from_outcomes(
        "paint",
        {"floor": "floor"},
        [f"ask_{units}" for units in amounts],
        outcomes,
        [Start("floor", 1 / MAX_STAINS, frozenset({f"stains_{n}"})) for n in amounts],
        events=(*(f"stains_{n}" for n in amounts), *(f"soap_{units}" for units in amounts)),
        step_limit=step_limit,
    )
    lowest = -(MAX_STAINS - 1) / 2 - MAX_STAINS / (MAX_STAINS + 1)
    world = replace(world, machine="paint", lowest=lowest, highest=-1 / 2)
    return replace(world, tests=tuple(world.starting(k) for k in range(MAX_STAINS)))


# --- Echo: a word of a's and b's, then `now`; the agent names the letters, the last one first.
#
# One stack symbol is enough to act optimally everywhere, yet no number of symbols determines the
# value of a state.


def echo(more: float = 0.75, step_limit: int = 50) -> FiniteDomain:
    """Build Echo. After each letter the word continues with probability `more`.

    Words have more/(1 − more) letters on average, and any length is possible. A truncated episode
    has return 0. Actions while listening have no effect.

    >>> echo().arrays.probability[0, 0].tolist()
    [0.375, 0.375, 0.25]
    """
    says = ("say_a", "say_b")

    def outcomes(state: str, action: int) -> list[Outcome]:
        if state == "speak":
            return [Outcome("speak", label=frozenset({says[action]}))]
        letters = [Outcome("listen", more / 2, frozenset(letter)) for letter in "ab"]
        return [*letters, Outcome("speak", 1 - more, frozenset({"now"}))]

    world = from_outcomes(
        "echo",
        {"listen": "listen", "speak": "speak"},
        says,
        outcomes,
        [Start("listen")],
        events=("a", "b", "now", *says),
        step_limit=step_limit,
    )
    return replace(world, machine="echo", lowest=0.0, highest=1.0)


# --- By name

BUILDERS: dict[str, Callable[..., FiniteDomain]] = {
    "letter": letter,
    "maze-5x5": partial(treasure_maze, 5),
    "maze-10x10": partial(treasure_maze, 10),
    "maze-20x20": partial(treasure_maze, 20),
    "multi-10x10": partial(multiple_treasure_maze, 10),
    "multi-20x20": partial(multiple_treasure_maze, 20),
    "deliver-8": deliver_8,
    "deliver-4-8": deliver_4_8,
    "paint": paint,
    "echo": echo,
}


def names() -> list[str]:
    """List the names of the catalogue, in the paper's order.

    >>> names()[:2]
    ['letter', 'maze-5x5']
    """
    return list(BUILDERS)


@overload
def domain(name: str, *, step_limit: int | None = None) -> FiniteDomain: ...
@overload
def domain() -> list[str]: ...
def domain(name: str | None = None, *, step_limit: int | None = None) -> FiniteDomain | list[str]:
    """Build a domain by name; without a name, list the names.

    Args:
        name: One of the names.
        step_limit: Steps after which an episode is truncated (default: the paper's).

    >>> domain("maze-10x10", step_limit=15).step_limit
    15
    >>> domain()[:2]
    ['letter', 'maze-5x5']
    """
    if name is None:
        return names()
    if name not in BUILDERS:
        fix = f"{did_you_mean(name, names())}; pdrm.load_domain reads a file"
        raise UnknownDomain(f"unknown domain `{name}`", fix=fix)
    build = BUILDERS[name]
    return build() if step_limit is None else build(step_limit=step_limit)
