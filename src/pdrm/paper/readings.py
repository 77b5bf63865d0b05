"""Alternative readings of the paper: its figures with one underspecified choice changed.

The default reading of each figure is in `figures`, and `docs/paper-notes.md` justifies it. A
reading changes one choice, and the claims about its figure are judged again.
`recorded/readings.json` contains the verdicts of runs made before the release. They are shown
unless a folder has its own runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.paper_domains import domain, letter, treasure_maze
from pdrm.errors import UnknownStudy, did_you_mean
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study
from pdrm.files import ensure_folder, parse_json, write_atomically
from pdrm.language.loading import catalogue, catalogue_text
from pdrm.learning.settings import PAPER_SETTINGS
from pdrm.paper.claims import judge_claims, judge_physics
from pdrm.paper.figures import SECONDS, STUDIES, WATER_READINGS, study
from pdrm.paper.generated_tasks import (
    LONG,
    SHORT,
    TYPES,
    deliver_tasks,
    draw_maze,
    draw_places,
    draw_sequences,
    sequences_of,
)
from pdrm.paper.judging import HOLDS, NOT_RUN, Evidence, JudgedClaim
from pdrm.paper.paper_agents import PAPER_AGENTS
from pdrm.task import Task

Change = Callable[[Panel], Panel]
Choices = dict[str, tuple[str, Change]]
"""Readings by name: a description of the choice, and the change."""


@dataclass(frozen=True, slots=True)
class PaperReading:
    """A figure with one choice changed."""

    name: str
    figure: str
    """The study of the default reading."""
    about: str
    """A description of the choice."""
    change: Change
    """Maps the panels of the default reading to the panels of this reading."""

    @property
    def study(self) -> Study:
        """The study to run. Unchanged panels share their runs with the default reading."""
        default = study(self.figure)
        return replace(
            default,
            name=f"{self.figure} {self.name}",
            title=f"{default.title}, {self.name}",
            panels=tuple(map(self.change, default.panels)),
        )


# --- Changes of a panel: another task, another machine, other settings of some lines


def _with_task(panel: Panel, task: Task) -> Panel:
    """Replace the task, but keep the paper's settings for the panel."""
    settings = {**PAPER_SETTINGS.get(panel.name, {}), **panel.settings}
    return replace(panel, domain=task, settings=settings)


def _only(name: str, change: Change) -> Change:
    """Change only one panel."""
    return lambda panel: change(panel) if panel.name == name else panel


def _domain(name: str, make: Callable[[], FiniteDomain]) -> Change:
    """Replace the domain of the panel with this name."""
    return _only(name, lambda panel: _with_task(panel, Task(make())))


def _otherwise(text: str) -> Change:
    """Replace the machine's `otherwise stay 0`."""

    def change(panel: Panel) -> Panel:
        machine = catalogue_text(str(panel.task.machine.name))
        return replace(panel, machine=machine.replace("otherwise stay 0", f"otherwise {text}"))

    return change


def _settings(
    names: Collection[str], settings: Mapping[str, Any], *, paper_agents: bool = False
) -> Change:
    """Change settings of some lines, given by their names or the names of their agents.

    With `paper_agents`, use the agents of that module, which have more settings.
    """

    def change_line(line: AgentLine) -> AgentLine:
        if line.name not in names and line.agent_name not in names:
            return line
        agent = PAPER_AGENTS[line.agent_name] if paper_agents else line.agent
        return replace(line, agent=agent, settings={**line.settings, **settings})

    return lambda panel: replace(panel, lines=tuple(map(change_line, panel.lines)))


def _at_python_speed(panel: Panel) -> Panel:
    """Limit exhaustive counterfactuals to the speed of plain Python in the printed time."""
    budget = round(PYTHON_UPDATES_PER_SECOND * SECONDS[panel.name.removeprefix("maze-")])
    return _settings(("CpRM", "1-CpRM"), {"updates_per_episode": budget})(panel)


def _maze(seed: int) -> Change:
    """Generated mazes. The 5×5 maze, which the paper prints, is unchanged."""

    def change(panel: Panel) -> Panel:
        size = int(panel.name.partition("x")[2])
        if size not in TREASURE_DISTANCE:
            return panel
        grid = draw_maze(size, seed, away=TREASURE_DISTANCE[size])
        return _with_task(panel, Task(treasure_maze(size, grid=grid)))

    return change


def _deliver(draw: Callable[[], tuple[Task, Task]]) -> Change:
    """Other tasks for DeliverWorld-8 and DeliverWorld-4-8."""
    tasks = cache(draw)
    order = ("deliver-8", "deliver-4-8")
    return lambda panel: _with_task(panel, tasks()[order.index(panel.name)])


def _drawn_sequences(count: int, seed: int) -> tuple[Task, Task]:
    """DeliverWorld with other sequences."""
    short = min(count, len(TYPES) ** SHORT)
    return deliver_tasks(draw_sequences(LONG, count, seed), draw_sequences(SHORT, short, seed))


def _nine_deliveries() -> tuple[Task, Task]:
    """DeliverWorld with nine deliveries in evaluations, as in Appendix E."""
    _, short = sequences_of(catalogue("deliver"))
    return deliver_tasks(draw_sequences(9, len(short), 0), short)


def _drawn_places(seed: int) -> tuple[Task, Task]:
    """DeliverWorld with the same sequences on another map."""
    return deliver_tasks(*sequences_of(catalogue("deliver")), draw_places(seed))


# --- The readings by figure and name

PYTHON_UPDATES_PER_SECOND = 45_000
TREASURE_DISTANCE = {10: 15, 20: 24}
"""The distance of the treasure in generated mazes by size, as in the catalogue's mazes."""

SETS = (*product((4, 16, 64), range(1, 6)), *product((256, 1_024), range(1, 3)))
"""Numbers of sequences of DeliverWorld, with seeds."""

SLOW_RATES = {
    name: PAPER_SETTINGS["deliver-8"][name]
    for name in ("learning_rate", "epsilon_decay", "epsilon_least")
}

FIRST_TIE: tuple[str, Change] = (
    "ties between best actions go to the first one, unless all values are 0, as in the learners of "
    "the repository that the paper names",
    _settings(("q", "cprm", "cra-q", "cra-cql"), {"ties": "first"}, paper_agents=True),
)
LETTER: Choices = {
    "repository": (
        "the environment of the repository that the paper names: A can turn into B before it is read, "
        "and C appears only after that",
        _domain("letter", partial(letter, turned_first=True)),
    ),
    "repository-0.1": (
        "`repository` with its probability of 0.1 instead of the paper's ½",
        _domain("letter", partial(letter, turned_first=True, turns=0.1)),
    ),
    "first-tie": FIRST_TIE,
    "limit-ends": (
        "Q-learning treats truncated episodes as terminated, as in that repository",
        _settings(("q", "cra-q"), {"limit_ends": True}, paper_agents=True),
    ),
    "counters-0-19": (
        "CQL uses counter values 0 to 19 from the first step on, observed or not, as in that "
        "repository, and larger values (which that repository omits) once they are observed",
        _settings(("cra-cql",), {"counter_values": 20}, paper_agents=True),
    ),
}
REPOSITORY_CHOICES = ("repository", "first-tie", "limit-ends", "counters-0-19")


def _all_of_the_repository(panel: Panel) -> Panel:
    for name in REPOSITORY_CHOICES:
        _, change = LETTER[name]
        panel = change(panel)
    return panel


LETTER["repository-all"] = (
    "all choices of the repository together, with the paper's probability of ½",
    _all_of_the_repository,
)
NOTHING_LEFT: Choices = {
    "end": (
        "with nothing left to retrace, the episode ends with reward 0",
        _otherwise("go lost 0"),
    ),
    "lose": (
        "with nothing left to retrace, the task is lost (−1e5)",
        _otherwise("go lost -1e5"),
    ),
}
MAZE: Choices = {
    "first-tie": FIRST_TIE,
    "limit-15": (
        "10×10 with the printed limit of 15 steps",
        _domain("maze-10x10", partial(domain, "maze-10x10", step_limit=15)),
    ),
    "python": ("exhaustive CpRM at 45,000 updates per second, not a million", _at_python_speed),
    **{
        f"maze-{seed}": (f"generated mazes of 10×10 and 20×20, seed {seed}", _maze(seed))
        for seed in range(1, 21)
    },
}
DELIVER: Choices = {
    "four": (
        "our first choice: four sequences of 8 deliveries and five of 4",
        _deliver(lambda: deliver_tasks(*sequences_of(catalogue("deliver-four")))),
    ),
    **{
        f"set-{count}-{seed}": (
            f"{count:,} sequences of each length (or all possible ones), drawn with seed {seed}",
            _deliver(partial(_drawn_sequences, count, seed)),
        )
        for count, seed in SETS
    },
    **{
        f"map-{seed}": (
            f"the places at random cells, seed {seed}",
            _deliver(partial(_drawn_places, seed)),
        )
        for seed in range(1, 6)
    },
    "nine": (
        "DeliverWorld-4-8 is evaluated with nine deliveries",
        _only("deliver-4-8", _deliver(_nine_deliveries)),
    ),
    "first-tie": FIRST_TIE,
    "r-plus-alone": (
        "the only reward of an option is r⁺, for achieving it",
        _settings(("hrm",), {"option_pay": 0.0}, paper_agents=True),
    ),
    "r-plus-1000": (
        "the reward for achieving an option is r⁺ = 1,000, as for a delivery",
        _settings(("hrm",), {"r_plus": 1_000.0}),
    ),
}
PAINT: Choices = {
    "slow": (
        "the rates of DeliverWorld instead of the rates of the mazes",
        _settings(("q",), SLOW_RATES),
    ),
    "first-tie": FIRST_TIE,
}
BY_FIGURE = {
    "letter": LETTER,
    "maze": {**NOTHING_LEFT, **MAZE},
    "multi": {**NOTHING_LEFT, "first-tie": FIRST_TIE},
    "deliver": DELIVER,
    "paint": PAINT,
}
READINGS = tuple(
    PaperReading(name, figure, about, change)
    for figure, readings in BY_FIGURE.items()
    for name, (about, change) in readings.items()
)


def reading_of(figure: str, name: str) -> PaperReading:
    """The reading of a figure by name.

    >>> reading_of("letter", "repository").about[:15]
    'the environment'
    """
    known = {reading.name: reading for reading in READINGS if reading.figure == figure}
    if name not in known:
        fix = did_you_mean(name, known) if known else "pdrm claims --readings lists the readings"
        raise UnknownStudy(f"figure `{figure}` has no reading `{name}`", fix=fix)
    return known[name]


def about_readings(figure: str) -> dict[str, str]:
    """The readings of a figure by name, with descriptions.

    >>> about_readings("water")["large-scaled"]
    'WaterWorld, large, rewards of a thousandth'
    """
    if figure == "water":
        return {name.removeprefix("water-"): study(name).title for name in WATER_READINGS}
    return {reading.name: reading.about for reading in READINGS if reading.figure == figure}


# --- The verdicts under each reading: from the runs in a folder, otherwise as recorded

RECORDED = Path(__file__).parent / "recorded" / "readings.json"
RUN_HERE = "readings.json"
"""A file in a folder of runs, with the names of the readings that were run there."""
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Cell:
    """The verdict on a claim under a reading."""

    figure: str
    reading: str
    record: Mapping[str, Any]
    came_with_package: bool

    @property
    def basis(self) -> str:
        """The number of parts that hold, and of seeds, as text."""
        parts = self.record["parts"]
        seeds = self.record["seeds"]
        holding = f"{sum(bool(part['holds']) for part in parts)} of {len(parts)} parts"
        return holding if seeds is None else f"{holding}, seeds: {seeds}"


def judge_reading(
    figure: str, name: str, folder: Path, seeds: int | None = None
) -> list[JudgedClaim]:
    """Judge the claims about a figure under a reading by the runs in a folder.

    A claim that compares two figures uses the reading of this name for both, if both have one.
    """
    if figure == "water" and name != DEFAULT:
        physics = study(f"water-{name}")
        return judge_physics(physics, Evidence(folder, seeds, (physics,)))
    studies = [reading.study for reading in READINGS if reading.name == name]
    return judge_claims(Evidence(folder, seeds, studies), {figure})


def cells(folder: Path, seeds: int | None = None) -> list[Cell]:
    """The verdicts on all claims under all readings that were run in the folder or are recorded."""
    recorded: dict[str, dict[str, list[dict[str, Any]]]] = parse_json(RECORDED.read_bytes())
    names_here = run_here(folder)
    found: list[Cell] = []
    for figure in (*STUDIES, "water"):
        for name in (DEFAULT, *about_readings(figure)):
            judged: list[JudgedClaim] = []
            if name == DEFAULT or figure == "water" or f"{figure} {name}" in names_here:
                judged = judge_reading(figure, name, folder, seeds)
            if any(claim.parts for claim in judged):
                found += [Cell(figure, name, c.record(), bool(c.recorded_on)) for c in judged]
            else:
                records = recorded.get(figure, {}).get(name, [])
                found += [Cell(figure, name, record, True) for record in records]
    return found


def count_holding(cells: Iterable[Cell], claim: str) -> str:
    """The number of readings under which a claim holds, of those that were run.

    >>> record = {"id": "paint", "verdict": "holds", "parts": []}
    >>> count_holding([Cell("paint", name, record, False) for name in ("default", "slow")], "paint")
    '2 of 2'
    """
    verdicts = [cell.record["verdict"] for cell in cells if cell.record["id"] == claim]
    judged = [verdict for verdict in verdicts if verdict != NOT_RUN]
    return f"{judged.count(HOLDS)} of {len(judged)}"


def run_here(folder: Path) -> list[str]:
    """The readings that were run in a folder, such as `letter repository`."""
    path = folder / RUN_HERE
    return [str(name) for name in parse_json(path.read_bytes())] if path.exists() else []


def note_run(reading: PaperReading, folder: Path) -> None:
    """Record that a reading is run in a folder."""
    names = dict.fromkeys((*run_here(folder), f"{reading.figure} {reading.name}"))
    text = json.dumps(list(names), indent=1) + "\n"
    write_atomically(ensure_folder(folder) / RUN_HERE, text.encode())


def readings_record(cells: Iterable[Cell]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Cells as JSON values, by figure and reading."""
    record: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell in cells:
        record.setdefault(cell.figure, {}).setdefault(cell.reading, []).append(dict(cell.record))
    return record
