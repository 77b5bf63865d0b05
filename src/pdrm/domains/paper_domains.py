"""The paper's domains, and Echo: each as a readable function of what can happen, and all of them by name.

A domain says which returns its episodes can have with the catalogue's machine (`lowest`, `highest`); curves are normalised
by them.
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

# --- LetterEnv (Section 7.1): A shows on one cell, C on another; every visit to A emits it and, half the time, turns it into B.
#
# The turning happens after the visit, for the rest of the episode. A state is the agent's cell and whether B shows.

Place = tuple[Cell, bool]
"""The agent's cell, and whether A has turned into B."""

LETTER_SHORTEST = {False: 10, True: 6}
"""Steps of the luckiest episode: A at the first visit, B at the second, then C twice (as the printed machine requires); and if A
turns first."""


def letter(
    step_limit: int = 300, *, turns: float = 0.5, turned_first: bool = False
) -> FiniteDomain:
    """The domain; with the catalogue's machine every step costs 0.01 and the last pays 1.

    Args:
        step_limit: Steps after which an episode is truncated.
        turns: The probability that a visit turns A into B; in the repository of Bester et al., which the paper names, 0.1.
        turned_first: As in that repository: A may turn into B before it is read, so that it may never be read, and C shows
            only once it has turned.

    >>> letter().highest, letter(turned_first=True).highest
    (0.91, 0.95)
    """
    grid = load_shipped_map("letter", places="AC")
    (start,), (shows_a,), (shows_c,) = grid.starts, grid.places("A"), grid.places("C")

    def outcomes(place: Place, action: int) -> list[Outcome]:
        cell, turned = place
        there = grid.neighbour(cell, action)
        if there == shows_a and there != cell and not turned:
            seen, then = frozenset("A"), frozenset("B" if turned_first else "A")
            return [Outcome((there, False), 1 - turns, seen), Outcome((there, True), turns, then)]
        hidden = turned_first and not turned and there == shows_c
        event = {shows_a: "B", shows_c: "C"}.get(there) if there != cell and not hidden else None
        return [Outcome((there, turned), label=frozenset(event or ()))]

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
# Every action emits its direction, also against a wall; `t` and `x` are emitted on entering the treasure and the start.

MAZE_STEP_LIMITS = {5: 15, 10: 150, 20: 300}
"""By size. The paper prints 15 for 10×10 too, which no way there and back fits in: `step_limit=15` gives that."""


def treasure_maze(
    size: int, step_limit: int | None = None, *, grid: GridMap | None = None
) -> FiniteDomain:
    """The maze of that size (5, 10 or 20), on the map that comes with the package or another.

    With the catalogue's machine the worst is a wrong turn right after the treasure (1 − 1e5), the best the longest way
    there and back that the limit allows: a point for the treasure and each step back, and 1e5 for the last. This is the
    scale of the task; a limit too short for any way there and back does not change it.

    >>> treasure_maze(5).highest
    100007.0
    """
    limit = MAZE_STEP_LIMITS[size] if step_limit is None else step_limit
    name = f"maze-{size}x{size}"
    drawn = load_shipped_map(name, places="tx", start="x") if grid is None else grid
    places = {"t": "t", "x": "x"}
    world = grid_domain(name, drawn, places, step_limit=limit, directions=True)
    return replace(world, machine="treasure-maze", lowest=1 - 1e5, highest=1e5 + limit // 2)


# --- MultipleTreasureMaze (Section 7.3): find the safe place, bring each treasure there, then return to the start.
#
# Nothing is found before the safe place has been visited, and one treasure is carried at a time. Every action emits its
# direction; entering emits `s` (safe place), `t` (a treasure, then carried), `x` (start), and `T` with `s` when the last
# treasure is brought. A state is the agent's cell and what has happened so far.

MULTI_STEP_LIMITS = {10: 1_000, 20: 4_000}


class Treasures(NamedTuple):
    """The progress of an episode: the safe place was visited, these treasures were taken, one is carried.

    >>> Treasures(safe=True, taken=frozenset({(1, 2)}), carrying=True).words(3)
    'carrying treasure 1 of 3'
    """

    safe: bool = False
    taken: frozenset[Cell] = frozenset()
    carrying: bool = False

    def words(self, treasures: int) -> str:
        """The progress in words, given the number of treasures."""
        if not self.safe:
            return "looking for the safe place"
        if self.carrying:
            return f"carrying treasure {len(self.taken)} of {treasures}"
        return f"{len(self.taken)} of {treasures} treasures safe"


def enter(letter: str, there: Cell, progress: Treasures, treasures: int) -> tuple[Treasures, str]:
    """The progress after a cell with this letter is entered, and the events that this emits, a letter each."""
    if letter == "s":
        last = progress.carrying and len(progress.taken) == treasures
        return progress._replace(safe=True, carrying=False), "sT" if last else "s"
    if letter == "t" and progress.safe and not progress.carrying and there not in progress.taken:
        return Treasures(True, progress.taken | {there}, carrying=True), "t"
    return progress, "x" if letter == "x" else ""


def multiple_treasure_maze(size: int, step_limit: int | None = None) -> FiniteDomain:
    """The maze of that size (10 or 20).

    With the catalogue's machine the worst is a wrong turn with the first treasure (2e3 − 1e5). The best pays 1e3 for the
    safe place and twice for each treasure, 1e5 at the end, and 1 for every other step back, half of the limit at most.

    >>> multiple_treasure_maze(10).highest
    107496.0
    """
    name = f"multi-{size}x{size}"
    limit = MULTI_STEP_LIMITS[size] if step_limit is None else step_limit
    grid = load_shipped_map(name, places="xst", start="x")
    treasures = grid.places("t")
    count, stages = len(treasures), [Treasures()]

    def outcomes(place: tuple[Treasures, Cell], action: int) -> list[Outcome]:
        progress, cell = place
        there = grid.neighbour(cell, action)
        events = ""
        if there != cell:
            progress, events = enter(grid.at(there), there, progress, count)
        return [Outcome((progress, there), label=frozenset((*events, DIRECTIONS[action])))]

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
        Scene(show_rows(grid, dict.fromkeys(one.taken, FLOOR)), one.words(count)) for one in stages
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


# --- DeliverWorld (Section 7.4): visit location types in the order that a sequence, named at reset, gives.
#
# The map holds several places of each type, and a step that ends on one emits its type; every step costs ½. The events
# `seq_1` … (8 deliveries) and `short_1` … (4 deliveries) name sequences; what they mean is the machine's business.

PLACE_TYPES = {"M": "mall", "S": "store", "C": "cafe", "P": "post"}
DELIVER_SET = 64
"""Sequences of each length. The paper says that the sequence is drawn from a set, and not how large that is."""
STEP_COST = 0.5


class Orders(NamedTuple):
    """The sequences of one length."""

    labels: Sequence[Label]
    """The labels that name them."""
    deliveries: int
    shortest: int
    """Steps of the shortest episode of all of them, with the step off the last place."""


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
    """Both domains: the map, starting with the label of a sequence. Labels are numbered by every sequence there is."""
    every = grid_domain(
        "deliver",
        load_shipped_map("deliver", places=PLACE_TYPES) if grid is None else grid,
        PLACE_TYPES,
        step_limit=step_limit,
        standing=True,
        step_reward=-STEP_COST,
        start_labels=(*long.labels, *short.labels),
    )
    first_labels = [every.labels[first] for first in every.arrays.start_label]

    def world(name: str, orders: Orders) -> FiniteDomain:
        chosen = [k for k, first in enumerate(first_labels) if first in orders.labels]
        return replace(
            every.starting(*chosen),
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
# There is one state. Asking for i units costs i/(i+1) and emits `soap_i`; at reset `stains_n` is emitted, n from 1 to 5
# equally likely. It is tested on each n.

MAX_STAINS = 5
"""Stains, and units of soap in one request, at most."""


def paint(step_limit: int = 5) -> FiniteDomain:
    """The domain; start k has k + 1 stains.

    The cheapest episode asks for one unit for one stain; the dearest wipes off four of five stains singly and asks for
    all the soap there is for the last.

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


# --- Echo: nature says a word of a's and b's and then `now`; the agent names the letters, the last one first.
#
# One symbol of the stack is enough to act well everywhere, yet no number of symbols tells the value of a state.


def echo(more: float = 0.75, step_limit: int = 50) -> FiniteDomain:
    """The domain; after each letter nature continues with probability `more`, so words have more/(1 − more) letters on average.

    A word can be any length; a truncated episode pays nothing. Actions while listening have no effect.

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
    """The names of the catalogue, in the paper's order.

    >>> names()[:2]
    ['letter', 'maze-5x5']
    """
    return list(BUILDERS)


@overload
def domain(name: str, *, step_limit: int | None = None) -> FiniteDomain: ...
@overload
def domain() -> list[str]: ...
def domain(name: str | None = None, *, step_limit: int | None = None) -> FiniteDomain | list[str]:
    """A domain by name; without a name, the names there are.

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
