"""Readings: what each of the paper's figures is if what the paper leaves open is decided otherwise.

A figure as it is by default is in `paper_figures.py`, with the argument for it in `docs/paper-notes.md`. A reading changes one
choice, and the claims about that figure are judged again. What came of readings that were run on the author's computer is in
`recorded/readings.json`, and is shown where nothing else is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.grids import GridMap, grid_domain, load_shipped_map, parse_map
from pdrm.domains.paper_domains import (
    MAZE_STEP_LIMITS,
    PLACE_TYPES,
    domain,
    letter_of_the_repository,
)
from pdrm.errors import UnknownStudy, did_you_mean
from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.paper.claims import HOLDS, NOT_RUN, Evidence, Judged
from pdrm.experiments.paper.generated_tasks import (
    deliver_tasks,
    draw_maze,
    draw_sequences,
    rate_maze,
    sequences_of,
)
from pdrm.experiments.paper.paper_agents import READ
from pdrm.experiments.paper.paper_claims import judge_claims, judge_physics
from pdrm.experiments.paper.paper_figures import SECONDS, STUDIES, WATER, WATER_READINGS
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.files import ensure_folder, parse_json, write_atomically
from pdrm.language.loading import catalogue, catalogue_text
from pdrm.learning.agents import PAPER_SETTINGS
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.task import Task

Change = Callable[[Panel], Panel]


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure, with one choice made otherwise."""

    name: str
    figure: str
    """The study of the default reading."""
    about: str
    """What is otherwise, in a sentence."""
    change: Change
    """A panel of the default reading -> the panel of this one; the same where nothing changes."""
    rate: Callable[[], Iterable[str]] = tuple
    """How hard what was generated is, a line each; none where nothing was."""

    @property
    def study(self) -> Study:
        """What is run. Panels that do not change share their runs with the default reading."""
        (default,) = (study for study in STUDIES if study.name == self.figure)
        panels = tuple(self.change(panel) for panel in default.panels)
        return replace(
            default,
            name=f"{self.figure} {self.name}",
            title=f"{default.title}, {self.name}",
            panels=panels,
        )


# --- The changes that readings make to a panel: another task, another setting of some lines.


def _with_task(panel: Panel, task: Task) -> Panel:
    """Another task under the same name, learnt with the same settings."""
    success = panel.success or task.success
    settings = PAPER_SETTINGS.get(panel.name, {})
    return replace(
        panel,
        domain=Task(task.domain, task.machine, success=success),
        settings={**settings, **panel.settings},
    )


def _with_domain(name: str, make: Callable[[], FiniteDomain], panel: Panel) -> Panel:
    return _with_task(panel, Task(make())) if panel.name == name else panel


def _with_otherwise(text: str, panel: Panel) -> Panel:
    """The same machine with another answer to a label that no rule reads."""
    machine = catalogue_text(str(panel.task.machine.name)).replace(
        "otherwise stay 0", f"otherwise {text}"
    )
    return replace(panel, machine=machine)


def _with_setting(agents: tuple[str, ...], settings: Mapping[str, Any], panel: Panel) -> Panel:
    """Some agents with other settings."""
    return replace(
        panel,
        lines=tuple(_set(line, settings) if line.agent in agents else line for line in panel.lines),
    )


def _set(line: Line, settings: Mapping[str, Any]) -> Line:
    return replace(line, settings={**line.settings, **settings})


def _with_reading(agents: tuple[str, ...], settings: Mapping[str, Any], panel: Panel) -> Panel:
    """Some agents as the kernels have them for a reading."""
    lines = tuple(
        replace(_set(line, settings), agent=READ[line.agent_name]) if line.agent in agents else line
        for line in panel.lines
    )
    return replace(panel, lines=lines)


def _at_python_speed(panel: Panel) -> Panel:
    """Exhaustive counterfactuals within what a plain Python program updates in the printed time."""
    budget = round(PYTHON_UPDATES * SECONDS[panel.name.removeprefix("maze-")])
    exhaustive = [line for line in panel.lines if "updates_per_episode" in line.settings]
    lines = tuple(
        _set(line, {"updates_per_episode": budget}) if line in exhaustive else line
        for line in panel.lines
    )
    return replace(panel, lines=lines)


def _on_maze(seed: int, panel: Panel) -> Panel:
    """A generated maze; the 5×5 one is printed in the paper and stays."""
    size = int(panel.name.partition("x")[2])
    if size not in TREASURES:
        return panel
    default = domain(panel.name)
    grid = draw_maze(size, seed, away=TREASURES[size])
    made = grid_domain(
        panel.name,
        grid,
        {"t": "t", "x": "x"},
        step_limit=MAZE_STEP_LIMITS[size],
        directions=True,
        machine=default.machine,
        lowest=default.lowest,
        highest=default.highest,
    )
    return _with_task(panel, Task(made))


def _rate_mazes(seed: int) -> Iterator[str]:
    """How hard the generated mazes are."""
    for size, away in TREASURES.items():
        found = rate_maze(draw_maze(size, seed, away=away), MAZE_STEP_LIMITS[size])
        ends = f"{found.dead_ends} dead end" + "s" * (found.dead_ends != 1)
        chance = f"a random walk finds the treasure in {found.found_by_chance:.1%} of the episodes"
        yield f"{size}×{size}: {found.cells} cells, {ends}, {found.shortest} steps at best; {chance}"


def _delivering(tasks: Callable[[], tuple[Task, Task]], panel: Panel) -> Panel:
    return _with_task(panel, tasks()[panel.name == "deliver-4-8"])


@cache
def four_sequences() -> tuple[Task, Task]:
    """DeliverWorld with the sequences that we first chose by hand."""
    return deliver_tasks(*sequences_of(catalogue("deliver-four")))


@cache
def drawn_sequences(count: int, seed: int) -> tuple[Task, Task]:
    """DeliverWorld with another set of sequences."""
    return deliver_tasks(draw_sequences(8, count, seed), draw_sequences(4, count, seed))


@cache
def drawn_places(seed: int) -> tuple[Task, Task]:
    """DeliverWorld with the same sequences on another map."""
    return deliver_tasks(*sequences_of(catalogue("deliver")), draw_places(seed))


def draw_places(seed: int) -> GridMap:
    """A map of DeliverWorld: the places of the catalogue's, each put anywhere.

    >>> len(draw_places(1).cells) == len(load_shipped_map("deliver", places=PLACE_TYPES).cells)
    True
    """
    known, rng = load_shipped_map("deliver", places=PLACE_TYPES), Rng(seed_streams(seed, 1))
    cells, rows = list(known.cells), [["."] * len(row) for row in known.rows]
    letters = ["@", *(letter for letter in PLACE_TYPES for _ in known.places(letter))]
    for letter in letters:
        row, column = cells.pop(rng.below(len(cells)))
        rows[row][column] = letter
    return parse_map("\n".join(map("".join, rows)), places=PLACE_TYPES)


def _nothing_left(figure: str) -> list[Reading]:
    """What else may happen where the machine has nothing left to retrace."""
    return [
        Reading(
            "end",
            figure,
            f"{NOTHING_LEFT}the episode ends and pays 0",
            partial(_with_otherwise, "go lost 0"),
        ),
        Reading(
            "lose",
            figure,
            f"{NOTHING_LEFT}the task is lost (−1e5)",
            partial(_with_otherwise, "go lost -1e5"),
        ),
    ]


# --- All of them. A new one is one more entry.

PYTHON_UPDATES = 45_000
"""Updates a second of a plain Python program."""
TREASURES = {10: 15, 20: 24}
"""How far the treasure of a generated maze is: as far as that of ours."""
SETS, SET_SEEDS, MAZES, MAPS = (4, 16, 64), range(1, 6), range(1, 21), range(1, 6)
NOTHING_LEFT = "with nothing left to retrace, "
SLOW_RATES = {
    name: PAPER_SETTINGS["deliver-8"][name]
    for name in ("learning_rate", "epsilon_decay", "epsilon_least")
}

READINGS: tuple[Reading, ...] = (
    Reading(
        "repository",
        "letter",
        "the environment of the repository that the paper names: A may turn into B before it is read, and C shows only after that",
        partial(_with_domain, "letter", letter_of_the_repository),
    ),
    Reading(
        "repository-0.1",
        "letter",
        "the same, with the repository's probability of 0.1 in place of the paper's ½",
        partial(_with_domain, "letter", partial(letter_of_the_repository, 0.1)),
    ),
    Reading(
        "first-tie",
        "letter",
        "of several best actions the first is taken, unless all are worth 0, as in the learners of that repository",
        partial(_with_reading, ("q", "cprm", "cra-q", "cra-cql"), {"ties": "first"}),
    ),
    Reading(
        "limit-ends",
        "letter",
        "Q-learning takes an episode that the limit cuts off for one that has ended, as in that repository",
        partial(_with_reading, ("q", "cra-q"), {"limit_ends": True}),
    ),
    Reading(
        "counters-0-19",
        "letter",
        "CQL imagines with the counters 0 to 19 from the first step on, observed or not, as in that repository",
        partial(_with_reading, ("cra-cql",), {"counter_values": 20}),
    ),
    *_nothing_left("maze"),
    Reading(
        "limit-15",
        "maze",
        "10×10 with the printed limit of 15 steps",
        partial(_with_domain, "maze-10x10", partial(domain, "maze-10x10", step_limit=15)),
    ),
    Reading(
        "python",
        "maze",
        "exhaustive CpRM at 45,000 updates a second, not a million",
        _at_python_speed,
    ),
    *(
        Reading(
            f"maze-{n}",
            "maze",
            f"generated mazes of 10×10 and 20×20, seed {n}",
            partial(_on_maze, n),
            partial(_rate_mazes, n),
        )
        for n in MAZES
    ),
    *_nothing_left("multi"),
    Reading(
        "four",
        "deliver",
        "the four sequences of 8, and five of 4, that we first chose",
        partial(_delivering, four_sequences),
    ),
    *(
        Reading(
            f"set-{count}-{seed}",
            "deliver",
            f"{count} sequences of each length, drawn with seed {seed}",
            partial(_delivering, partial(drawn_sequences, count, seed)),
        )
        for count in SETS
        for seed in SET_SEEDS
    ),
    *(
        Reading(
            f"map-{n}",
            "deliver",
            f"the places put elsewhere, seed {n}",
            partial(_delivering, partial(drawn_places, n)),
        )
        for n in MAPS
    ),
    Reading(
        "r-plus-1000",
        "deliver",
        "options are paid r⁺ = 1,000, as much as a delivery, for being achieved",
        partial(_with_setting, ("hrm",), {"r_plus": 1_000.0}),
    ),
    Reading(
        "slow",
        "paint",
        "the rates of DeliverWorld, not those of the mazes",
        partial(_with_setting, ("q",), SLOW_RATES),
    ),
)


def reading_of(figure: str, name: str) -> Reading:
    """The reading of a figure by its name.

    >>> reading_of("letter", "repository").about[:15]
    'the environment'
    """
    known = {reading.name: reading for reading in READINGS if reading.figure == figure}
    if name not in known:
        fix = (
            did_you_mean(name, known)
            if known
            else "pdrm claims --readings lists those of every figure"
        )
        if name in about_readings(figure):  # physics are studies of their own
            fix = f"pdrm reproduce {figure}-{name}"
        raise UnknownStudy(f"figure `{figure}` has no reading `{name}`", fix=fix)
    return known[name]


# --- What came of them: by the runs in a folder, or else as it came with the package.

RECORDED = Path(__file__).parent / "recorded" / "readings.json"
RUN_HERE = "readings.json"
"""In a folder of runs: the names of the readings that were run there."""
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Cell:
    """A claim under a reading: a claim's record as `Judged.record` gives it, and whether it came with the package."""

    figure: str
    reading: str
    record: Mapping[str, Any]
    came_with_package: bool

    @property
    def verdict(self) -> str:
        """Whether the claim holds."""
        return str(self.record["verdict"])

    @property
    def parts(self) -> tuple[int, int]:
        """How many of its parts hold, and how many it has."""
        return sum(bool(part["holds"]) for part in self.record["parts"]), len(self.record["parts"])


def judge_reading(
    reading: Reading | None, figure: str, folder: Path, seeds: int | None = None
) -> list[Judged]:
    """The claims about a figure under a reading (None: the default), by the runs in a folder.

    Where a claim compares two figures, both are taken under the reading of that name, if both have one.
    """
    studies = (
        () if reading is None else tuple(one.study for one in READINGS if one.name == reading.name)
    )
    return judge_claims(Evidence(folder, seeds, studies), {figure})


def cells(folder: Path, seeds: int | None = None) -> list[Cell]:
    """Every claim about a figure under every reading that something is known of."""
    recorded: dict[str, dict[str, list[dict[str, Any]]]] = parse_json(RECORDED.read_bytes())
    found, here = list[Cell](), run_here(folder)
    for figure, reading in _each():
        name = DEFAULT if reading is None else reading.name
        run = reading is None or f"{figure} {name}" in here
        own = _own(reading, figure, folder, seeds) if run else []
        known = own or recorded.get(figure, {}).get(name, [])
        found += [Cell(figure, name, record, not own) for record in known]
    return [*found, *_water_cells(folder, seeds)]


def _water_cells(folder: Path, seeds: int | None) -> list[Cell]:
    """The claims about Figure 5, by default and with other physics and rewards: by runs in the folder, or those that came with the package."""
    found = []
    for study in (WATER, *WATER_READINGS):
        evidence = Evidence(folder, seeds, (study,))
        default = study is WATER
        judged = judge_claims(evidence, {WATER.name}) if default else judge_physics(study, evidence)
        name = DEFAULT if default else study.name.removeprefix("water-")
        known = [one for one in judged if one.parts]
        found += [Cell(WATER.name, name, one.record(), bool(one.recorded_on)) for one in known]
    return found


def count_holding(found: Iterable[Cell], claim: str) -> str:
    """Under how many of the readings that were run a claim holds.

    >>> record = {"id": "paint", "verdict": "holds", "parts": []}
    >>> count_holding([Cell("paint", name, record, False) for name in ("default", "slow")], "paint")
    '2 of 2'
    """
    verdicts = [
        cell.verdict for cell in found if cell.record["id"] == claim and cell.verdict != NOT_RUN
    ]
    return f"{verdicts.count(HOLDS)} of {len(verdicts)}"


def about_readings(figure: str) -> dict[str, str]:
    """The readings of a figure by name, and what each is about.

    >>> about_readings("water")["large-scaled"]
    'WaterWorld, large, rewards of a thousandth'
    """
    if figure == WATER.name:
        return {study.name.removeprefix("water-"): study.title for study in WATER_READINGS}
    return {one.name: one.about for one in READINGS if one.figure == figure}


def _each() -> Iterator[tuple[str, Reading | None]]:
    for study in STUDIES:
        yield study.name, None
        yield from ((study.name, reading) for reading in READINGS if reading.figure == study.name)


def _own(
    reading: Reading | None, figure: str, folder: Path, seeds: int | None
) -> list[dict[str, Any]]:
    """The records of the claims that runs in the folder judge; none: nothing was run there."""
    if not Store.below(folder).root.exists():
        return []
    judged = judge_reading(reading, figure, folder, seeds)
    return [one.record() for one in judged] if any(one.verdict != NOT_RUN for one in judged) else []


def run_here(folder: Path) -> list[str]:
    """The readings that were run in a folder: `letter repository`."""
    path = folder / RUN_HERE
    found = parse_json(path.read_bytes()) if path.exists() else []
    return [str(name) for name in found] if isinstance(found, list) else []


def note_run(reading: Reading, folder: Path) -> None:
    """Note that a reading is run in a folder."""
    names = dict.fromkeys((*run_here(folder), f"{reading.figure} {reading.name}"))
    write_atomically(
        ensure_folder(folder) / RUN_HERE, (json.dumps(list(names), indent=1) + "\n").encode()
    )


def readings_record(found: Iterable[Cell]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Cells as JSON values: by figure and reading."""
    record: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell in found:
        record.setdefault(cell.figure, {}).setdefault(cell.reading, []).append(dict(cell.record))
    return record
