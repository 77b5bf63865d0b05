"""Readings: the paper's figures if something that the paper leaves open is decided otherwise.

A figure as it is by default is in `figures`, with the argument for it in `docs/paper-notes.md`. A reading changes one choice, and
the claims about that figure are judged again. Readings that were run on the author's computer are in `recorded/readings.json`,
and shown unless a folder holds its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
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
"""Readings by name: the choice in a sentence, and the change."""


@dataclass(frozen=True, slots=True)
class PaperReading:
    """A figure with one choice made otherwise."""

    name: str
    figure: str
    """The study of the default reading."""
    about: str
    """The choice, in a sentence."""
    change: Change
    """A panel of the default reading -> the panel of this one."""

    @property
    def study(self) -> Study:
        """The study that is run. Panels that do not change share their runs with the default reading."""
        default = study(self.figure)
        return replace(
            default,
            name=f"{self.figure} {self.name}",
            title=f"{default.title}, {self.name}",
            panels=tuple(map(self.change, default.panels)),
        )


# --- The changes that readings make to a panel: another task, another machine, other settings of some lines.


def _with_task(panel: Panel, task: Task) -> Panel:
    """Another task under the same name, learnt with the same settings."""
    settings = {**PAPER_SETTINGS.get(panel.name, {}), **panel.settings}
    return replace(panel, domain=task, settings=settings)


def _only(name: str, change: Change) -> Change:
    """The change of one panel."""
    return lambda panel: change(panel) if panel.name == name else panel


def _domain(name: str, make: Callable[[], FiniteDomain]) -> Change:
    """Another domain of this name."""
    return _only(name, lambda panel: _with_task(panel, Task(make())))


def _otherwise(text: str) -> Change:
    """The same machine with another answer to a label that no rule reads."""

    def change(panel: Panel) -> Panel:
        machine = catalogue_text(str(panel.task.machine.name))
        return replace(panel, machine=machine.replace("otherwise stay 0", f"otherwise {text}"))

    return change


def _settings(names: Collection[str], settings: Mapping[str, Any], *, read: bool = False) -> Change:
    """Some lines, or all lines of some agents, with other settings; read: as `paper_agents` has them, which have more settings."""

    def line(one: AgentLine) -> AgentLine:
        if one.name not in names and one.agent not in names:
            return one
        agent = PAPER_AGENTS[one.agent_name] if read else one.agent
        return replace(one, agent=agent, settings={**one.settings, **settings})

    return lambda panel: replace(panel, lines=tuple(map(line, panel.lines)))


def _at_python_speed(panel: Panel) -> Panel:
    """Exhaustive counterfactuals within the updates of a plain Python program in the printed time."""
    budget = round(PYTHON_UPDATES * SECONDS[panel.name.removeprefix("maze-")])
    return _settings(("CpRM", "1-CpRM"), {"updates_per_episode": budget})(panel)


def _maze(seed: int) -> Change:
    """Generated mazes; the 5×5 one is printed in the paper and stays."""

    def change(panel: Panel) -> Panel:
        size = int(panel.name.partition("x")[2])
        if size not in TREASURES:
            return panel
        grid = draw_maze(size, seed, away=TREASURES[size])
        return _with_task(panel, Task(treasure_maze(size, grid=grid)))

    return change


def _deliver(draw: Callable[[], tuple[Task, Task]]) -> Change:
    """Another DeliverWorld-8 and DeliverWorld-4-8, drawn once."""
    tasks = cache(draw)
    return lambda panel: _with_task(panel, tasks()[panel.name == "deliver-4-8"])


def _drawn_sequences(count: int, seed: int) -> tuple[Task, Task]:
    """DeliverWorld with another set of sequences."""
    short = min(count, len(TYPES) ** SHORT)
    return deliver_tasks(draw_sequences(LONG, count, seed), draw_sequences(SHORT, short, seed))


def _nine_deliveries() -> tuple[Task, Task]:
    """DeliverWorld with nine deliveries in evaluations, as many sequences as by default."""
    short = sequences_of(catalogue("deliver"))[1]
    return deliver_tasks(draw_sequences(NINE, len(short), 0), short)


def _drawn_places(seed: int) -> tuple[Task, Task]:
    """DeliverWorld with the same sequences on another map."""
    return deliver_tasks(*sequences_of(catalogue("deliver")), draw_places(seed))


# --- All of them, by figure and name: the choice in a sentence, and the change.

PYTHON_UPDATES = 45_000
"""Updates a second of a plain Python program."""
TREASURES = {10: 15, 20: 24}
"""The distance of the treasure of a generated maze, by size: that of ours."""
SETS, SET_SEEDS, MAZES, MAPS = (4, 16, 64), range(1, 6), range(1, 21), range(1, 6)
LARGE_SETS, LARGE_SET_SEEDS = (256, 1_024), range(1, 3)
NINE = 9
"""Deliveries in the evaluations of DeliverWorld-4-8, by Appendix E."""
SLOW_RATES = {
    name: PAPER_SETTINGS["deliver-8"][name]
    for name in ("learning_rate", "epsilon_decay", "epsilon_least")
}

FIRST_TIE: tuple[str, Change] = (
    "of several best actions the first is taken, unless all are worth 0, as in the learners of the "
    "repository that the paper names",
    _settings(("q", "cprm", "cra-q", "cra-cql"), {"ties": "first"}, read=True),
)
LETTER: Choices = {
    "repository": (
        "the environment of the repository that the paper names: A may turn into B before it is read, "
        "and C shows only after that",
        _domain("letter", partial(letter, turned_first=True)),
    ),
    "repository-0.1": (
        "the same, with the repository's probability of 0.1 instead of the paper's ½",
        _domain("letter", partial(letter, turned_first=True, turns=0.1)),
    ),
    "first-tie": FIRST_TIE,
    "limit-ends": (
        "Q-learning takes an episode that the limit truncates for one that has ended, as in "
        "that repository",
        _settings(("q", "cra-q"), {"limit_ends": True}, read=True),
    ),
    "counters-0-19": (
        "CQL learns about the counters 0 to 19 from the first step on, observed or not, as in "
        "that repository; about larger ones, which that repository leaves out, once they are observed",
        _settings(("cra-cql",), {"counter_values": 20}, read=True),
    ),
}
ALL = ("repository", "first-tie", "limit-ends", "counters-0-19")
LETTER["repository-all"] = (
    "all of the repository's choices together, with its probability of ½",
    lambda panel: reduce(lambda changed, name: LETTER[name][1](changed), ALL, panel),
)
NOTHING_LEFT: Choices = {
    "end": (
        "with nothing left to retrace, the episode ends and pays 0",
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
    "python": ("exhaustive CpRM at 45,000 updates a second, not a million", _at_python_speed),
    **{f"maze-{n}": (f"generated mazes of 10×10 and 20×20, seed {n}", _maze(n)) for n in MAZES},
}
DELIVER: Choices = {
    "four": (
        "the four sequences of 8, and five of 4, that we first chose",
        _deliver(lambda: deliver_tasks(*sequences_of(catalogue("deliver-four")))),
    ),
    **{
        f"set-{count}-{seed}": (
            f"{count:,} sequences of each length, or all there are, drawn with seed {seed}",
            _deliver(partial(_drawn_sequences, count, seed)),
        )
        for count, seed in (*product(SETS, SET_SEEDS), *product(LARGE_SETS, LARGE_SET_SEEDS))
    },
    **{
        f"map-{n}": (f"the places put elsewhere, seed {n}", _deliver(partial(_drawn_places, n)))
        for n in MAPS
    },
    "nine": (
        "DeliverWorld-4-8 is evaluated with nine deliveries",
        _only("deliver-4-8", _deliver(_nine_deliveries)),
    ),
    "first-tie": FIRST_TIE,
    "r-plus-alone": (
        "options are paid r⁺ for being achieved, and nothing else",
        _settings(("hrm",), {"option_pay": 0.0}, read=True),
    ),
    "r-plus-1000": (
        "options are paid r⁺ = 1,000, as much as a delivery, for being achieved",
        _settings(("hrm",), {"r_plus": 1_000.0}),
    ),
}
PAINT: Choices = {
    "slow": (
        "the rates of DeliverWorld, not those of the mazes",
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
    """The reading of a figure by its name.

    >>> reading_of("letter", "repository").about[:15]
    'the environment'
    """
    known = {reading.name: reading for reading in READINGS if reading.figure == figure}
    if name not in known:
        fix = did_you_mean(name, known) if known else "list them: pdrm claims --readings"
        raise UnknownStudy(f"figure `{figure}` has no reading `{name}`", fix=fix)
    return known[name]


def about_readings(figure: str) -> dict[str, str]:
    """The readings of a figure by name, each with the choice that it makes.

    >>> about_readings("water")["large-scaled"]
    'WaterWorld, large, rewards of a thousandth'
    """
    if figure == "water":
        return {name.removeprefix("water-"): study(name).title for name in WATER_READINGS}
    return {one.name: one.about for one in READINGS if one.figure == figure}


# --- Their verdicts: by the runs in a folder, or else as recorded with the package.

RECORDED = Path(__file__).parent / "recorded" / "readings.json"
RUN_HERE = "readings.json"
"""In a folder of runs: the names of the readings that were run there."""
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Cell:
    """A claim under a reading, as the record of its verdict, and whether it came with the package."""

    figure: str
    reading: str
    record: Mapping[str, Any]
    came_with_package: bool

    @property
    def verdict(self) -> str:
        """The verdict."""
        return str(self.record["verdict"])

    @property
    def rests(self) -> str:
        """The number of its parts that hold, and of the seeds, as text."""
        parts = self.record["parts"]
        seeds = self.record["seeds"]
        holding = f"{sum(bool(part['holds']) for part in parts)} of {len(parts)} parts"
        return holding if seeds is None else f"{holding}, seeds: {seeds}"


def judge_reading(
    figure: str, name: str, folder: Path, seeds: int | None = None
) -> list[JudgedClaim]:
    """Judge the claims about a figure under a reading, or by default, by the runs in a folder.

    If a claim compares two figures, both are taken under the reading of that name, if both have one.
    """
    if figure == "water" and name != DEFAULT:
        physics = study(f"water-{name}")
        return judge_physics(physics, Evidence(folder, seeds, (physics,)))
    studies = [one.study for one in READINGS if one.name == name]
    return judge_claims(Evidence(folder, seeds, studies), {figure})


def cells(folder: Path, seeds: int | None = None) -> list[Cell]:
    """Every claim about a figure under every reading that was run in the folder or is recorded."""
    recorded: dict[str, dict[str, list[dict[str, Any]]]] = parse_json(RECORDED.read_bytes())
    here = run_here(folder)
    found: list[Cell] = []
    for figure in (*STUDIES, "water"):
        for name in (DEFAULT, *about_readings(figure)):
            own: list[JudgedClaim] = []
            if name == DEFAULT or figure == "water" or f"{figure} {name}" in here:
                own = judge_reading(figure, name, folder, seeds)
            if any(one.parts for one in own):
                found += [Cell(figure, name, one.record(), bool(one.recorded_on)) for one in own]
            else:
                known = recorded.get(figure, {}).get(name, [])
                found += [Cell(figure, name, record, True) for record in known]
    return found


def count_holding(found: Iterable[Cell], claim: str) -> str:
    """The number of the readings that were run under which a claim holds.

    >>> record = {"id": "paint", "verdict": "holds", "parts": []}
    >>> count_holding([Cell("paint", name, record, False) for name in ("default", "slow")], "paint")
    '2 of 2'
    """
    verdicts = [cell.verdict for cell in found if cell.record["id"] == claim]
    run = [verdict for verdict in verdicts if verdict != NOT_RUN]
    return f"{run.count(HOLDS)} of {len(run)}"


def run_here(folder: Path) -> list[str]:
    """The readings that were run in a folder: `letter repository`."""
    path = folder / RUN_HERE
    return [str(name) for name in parse_json(path.read_bytes())] if path.exists() else []


def note_run(reading: PaperReading, folder: Path) -> None:
    """Note that a reading is run in a folder."""
    names = dict.fromkeys((*run_here(folder), f"{reading.figure} {reading.name}"))
    text = json.dumps(list(names), indent=1) + "\n"
    write_atomically(ensure_folder(folder) / RUN_HERE, text.encode())


def readings_record(found: Iterable[Cell]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Cells as JSON values: by figure and reading."""
    record: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell in found:
        record.setdefault(cell.figure, {}).setdefault(cell.reading, []).append(dict(cell.record))
    return record
