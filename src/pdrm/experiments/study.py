"""A study: tasks × agents × seeds, as data; run, recorded and kept in a folder.

`Study([task], [agents…], seeds=10)` is the short form. A figure of the paper has panels of its own, with a name, a colour and
settings for each line. `study.run(folder)` does what is not done yet, and writes `curves.csv` and `summary.csv`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pdrm.errors import BadRunFolder, BadStudy, Interrupted, NotRecorded, PdrmError, WrongKind
from pdrm.experiments.curves import Curves, curves_of
from pdrm.experiments.panel import Line, Panel, check_distinct, check_texts, name_agents, name_tasks
from pdrm.experiments.statistics import interquartile_mean
from pdrm.experiments.store import Store
from pdrm.files import MALFORMED, describe_fault, ensure_folder, parse_json, write_atomically
from pdrm.lazy import borrow
from pdrm.learning.advice import advise, count_last_tests, is_judged
from pdrm.learning.agents import read_agent, resolve_seeds
from pdrm.learning.run_loop import DOMAIN, FAILURE, RunSpec, read_spec
from pdrm.learning.settings import Agent
from pdrm.progress import is_shown, say
from pdrm.task import DomainLike, MachineLike, Task, tuple_of

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows
    from pdrm.experiments.execution import Failure, Planned, Workers

FOLDER_NAME = re.compile(r"\w[\w .+-]{0,98}\w|\w")
"""What a study may be called."""
TEN_SEEDS = tuple(range(10))
"""The paper draws ten seeds and uses the same ones for every agent; these are ours."""


@dataclass(frozen=True, slots=True, repr=False)
class Study:
    """Tasks × agents × seeds; or panels that belong together, and their seeds.

    tasks: tasks, or domains that come with a machine (themselves, names or files). agents: settings such as `CpRM(k=1)`, or names.
    Of either one, a list, or a dictionary with what the tables and plots call them, such as `{"slow": CpRM(learning_rate=0.1)}`.
    seeds: how many (0, 1, …), or which. machine, success: as for `Task`, of all tasks.
    settings: of all agents, such as `{"k": 1, "episodes": 500}`. name, title: as its folder and its page call it. panels: in place of
    tasks and agents. `run` runs it, `plot`, `table` and `report` show what came out.

    >>> from pdrm.learning.agents import CpRM, QLearning
    >>> study = Study(["letter"], [QLearning(k=1, episodes=200), CpRM(k=1, episodes=200)], seeds=2)
    >>> [(line.name, spec.seed) for _, line, spec in study.runs()]
    [('q 1', 0), ('q 1', 1), ('cprm 1', 0), ('cprm 1', 1)]
    """

    tasks: Task | DomainLike | Sequence[Task | DomainLike] | Mapping[str, Task | DomainLike] = ()
    """Tasks, or domains that come with a machine: themselves, their names or files; one, several, or several by name."""
    agents: Agent | str | Sequence[Agent | str] | Mapping[str, Agent | str] = ()
    """Settings such as `CpRM(k=1)`, or names, which have the paper's settings where the domain is the paper's; one, several, or
    several by name."""
    _: KW_ONLY
    seeds: int | Sequence[int] = TEN_SEEDS
    """How many (0, 1, …), or which."""
    machine: MachineLike | None = None
    """Of all tasks, in place of their own."""
    success: str | Sequence[str] = ()
    """The final machine states that mean success, of all tasks; none: as `Task` has it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of all agents, such as `{"k": 1, "episodes": 500}`."""
    name: str = "study"
    """As files and folders call it."""
    title: str = ""
    """As its page calls it."""
    figure: str = ""
    """Where the paper shows all panels in one plot, if it does: a colour per agent, a line style per panel."""
    panels: tuple[Panel, ...] = ()
    """In place of tasks and agents."""

    def __post_init__(self) -> None:
        check_texts(name=self.name, title=self.title, figure=self.figure)
        if not FOLDER_NAME.fullmatch(self.name):
            fix = "a folder is named after it: use up to 100 letters, digits, spaces and any of . _ - +"
            raise BadStudy(f"the study is called {self.name[:100]!r}", fix=fix)
        if not self.panels:
            object.__setattr__(self, "panels", self._make_panels())
            for panel, line in self.lines():
                panel.agent(line)  # which refuses an agent or a setting that there is not
        check_distinct("panels", [panel.name for panel in self.panels])
        for panel in self.panels:
            check_distinct(f"lines of panel `{panel.name}`", [line.name for line in panel.lines])
        object.__setattr__(self, "seeds", resolve_seeds(self.seeds))

    def _make_panels(self) -> tuple[Panel, ...]:
        """A panel for each task, with a line for each agent, called as they are given or after what they are."""
        given, agents = _list(self.tasks), _list(self.agents)
        _check_places(given, agents)
        tasks = [self._task(task) for task in given]
        own = name_agents(agents)  # which refuses what is no agent
        lines = tuple(
            Line(name=name, agent=agent)
            for name, agent in zip(_names(self.agents) or own, agents, strict=True)
        )
        panels = zip(_names(self.tasks) or name_tasks(tasks), tasks, strict=True)
        return tuple(
            Panel(name=name, domain=task, lines=lines, settings=dict(self.settings))
            for name, task in panels
        )

    def _task(self, given: Task | DomainLike) -> Task:
        """A task, with the study's machine and success in place of its own."""
        if isinstance(given, Task) and self.machine is None:
            return (
                Task(given, given.machine, success=tuple_of(self.success))
                if self.success
                else given
            )
        return Task(given, self.machine, success=tuple_of(self.success))

    def __repr__(self) -> str:
        panels, lines, seeds = len(self.panels), len(list(self.lines())), len(self.seed_numbers)
        parts = ((panels, "panel"), (lines, "line"), (seeds, "seed"))
        return f"<Study {self.name!r}: {', '.join(f'{count} {what}' + 's' * (count != 1) for count, what in parts)}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        rows = []
        for panel, line in self.lines():
            agent = panel.agent(line)
            rows.append(
                [
                    panel.heading,
                    line.name,
                    agent.name,
                    str(agent.k),
                    f"{agent.total:,} {agent.unit}",
                ]
            )
        heads = ["panel", "line", "agent", "k", "training"]
        seeds = f"{self.title or self.name}; seeds {', '.join(map(str, self.seed_numbers))}"
        return html("p", seeds) + table(heads, rows)

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds, one by one."""
        return resolve_seeds(self.seeds)

    @property
    def of_the_paper(self) -> bool:
        """Whether the paper shows it."""
        return bool(self.figure) or any(panel.figure for panel in self.panels)

    def lines(self) -> Iterator[tuple[Panel, Line]]:
        """Every line of the study, with its panel."""
        return ((panel, line) for panel in self.panels for line in panel.lines)

    def runs(self) -> Iterator[tuple[Panel, Line, RunSpec]]:
        """Every run of the study."""
        return (
            (panel, line, spec)
            for panel, line in self.lines()
            for spec in panel.specs(line, self.seed_numbers)
        )

    def check(self) -> None:
        """Raise what is wrong with a panel or a line, before anything runs."""
        for panel, line in self.lines():
            panel.specs(line, (0,))[0].check()

    def seeded(self, count: int | None) -> Study:
        """The same study with `count` seeds: its own first, then new ones. None: as it is."""
        if count is None:
            return self
        resolve_seeds(count)
        own = self.seed_numbers
        more = (seed for seed in range(count + len(own)) if seed not in own)
        return replace(self, seeds=(*own, *more)[:count])

    def run(
        self,
        folder: str | os.PathLike[str] | None = None,
        workers: Workers | int = 1,
        *,
        progress: bool | None = None,
    ) -> Results:
        """Run what is not done yet, in `folder`/runs, and write `folder`/curves.csv and summary.csv.

        folder: where to; None: one that is named after the study. Several studies may share a folder: its tables have all of them.
        workers: how many runs at a time, or `Workers`, here or on a cluster. progress: whether to show how it goes; None: on a terminal
        and in a notebook.
        """
        return run_study(self, self._place(folder), workers, progress=progress)

    def _place(self, folder: str | os.PathLike[str] | None) -> Path:
        return Path(self.name if folder is None else folder)

    def results(self, folder: str | os.PathLike[str] | None = None) -> Results:
        """What was recorded of it. folder: where `run` has been; None: as for `run`."""
        place = self._place(folder)
        lines = recorded([self], Store.below(place))
        if not lines:
            raise NotRecorded(
                f"{place} holds no run of study `{self.name}`", fix=f"study.run({str(place)!r})"
            )
        return Results(place, lines, [])

    def report(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Write the page about it, `index.html`; returns its path. folder: where `run` has been; None: as for `run`."""
        return self.results(folder).report()

    def table(self, folder: str | os.PathLike[str] | None = None) -> Rows[ResultRow]:
        """A row for each line: how its final tests went. folder: where `run` has been; None: as for `run`."""
        return self.results(folder).table()

    def plot(self, folder: str | os.PathLike[str] | None = None) -> Plot:
        """The recorded curves as a figure of matplotlib, which shows itself in a notebook. folder: where `run` has been; None: as
        for `run`."""
        return self.results(folder).plot()


def _list(given: Any) -> Sequence[Any]:
    """One, or several."""
    if isinstance(given, Mapping):
        return tuple(given.values())
    return given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)


def _names(given: object) -> list[str]:
    """What the tasks or agents are called, where that is said."""
    return list(given) if isinstance(given, Mapping) else []


def _check_places(tasks: Sequence[object], agents: Sequence[object]) -> None:
    """Refuse agents in the place of the tasks, and tasks in that of the agents."""
    for one, wrong in (*((task, Agent) for task in tasks), *((agent, Task) for agent in agents)):
        if isinstance(one, wrong) or (isinstance(one, type) and issubclass(one, wrong)):
            what, place = ("an agent", "tasks") if wrong is Agent else ("a task", "agents")
            fix = "the tasks come first: pdrm.Study([task], [pdrm.CpRM(k=1), …])"
            raise WrongKind(f"{one!r} is {what}, and stands among the {place}", fix=fix)


# --- Running studies


class ResultRow(NamedTuple):
    """What became of one line: over its seeds, and the episodes of their final tests."""

    study: str
    panel: str
    line: str
    seeds: int
    training: int
    """Before the final test, in the agent's unit."""
    return_25: float
    return_50: float
    return_75: float
    """Quartiles over the seeds of the final test's mean return."""
    success: float
    """The share of these episodes that achieved the task."""

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return self._asdict()


class CurveRow(NamedTuple):
    """A test of a run: means over its episodes."""

    study: str
    panel: str
    line: str
    agent: str
    k: int | str
    ours: str
    """Whether it is not in the paper: yes or no."""
    seed: int
    at: int
    """Training before it, in the agent's unit."""
    mean_return: float
    """`return` in `curves.csv`, and in a frame."""
    normalised: float
    """From -1, the lowest return that the task allows, to 1, the highest; nan where the domain does not give them."""
    steps: float
    success: float

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return dict(zip(CURVE_COLUMNS, self, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Results:
    """What came of some studies: their recorded lines, and the runs that failed."""

    folder: Path
    """Where the runs, the tables and the report are."""
    lines: list[tuple[Study, Curves]]
    """What was recorded: a study, and the curves of one of its lines."""
    failures: list[Failure]
    """The runs that failed, and why."""

    def __repr__(self) -> str:
        counts = {
            "line": len(self.lines),
            "run": sum(len(curves.seeds) for _, curves in self.lines),
        }
        failed = f", {len(self.failures)} failed" if self.failures else ""
        said = ", ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items())
        unlearnt = f", {len(self.notes)} never achieved" if self.notes else ""
        return f"<Results in {self.folder}: {said}{failed}{unlearnt}>"

    def table(self) -> Rows[ResultRow]:
        """A row for each line: how its final tests went."""
        from pdrm.drawing.rows import Rows

        def make(number: int) -> ResultRow:
            study, curves = self.lines[number]
            low, middle, high = (float(part[-1]) for part in curves.quartiles(curves.returns))
            panel, line, done = curves.panel.name, curves.line.name, int(curves.at[-1])
            success = float(curves.final_success.mean())
            return ResultRow(
                study.name, panel, line, len(curves.seeds), done, low, middle, high, success
            )

        return Rows(len(self.lines), make, self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for each line that no seed achieves at the end: what to try. None for the paper's studies, which have claims instead."""
        return tuple(
            note
            for study, curves in self.lines
            if not study.of_the_paper and (note := _note_failure(curves))
        )

    def frame(self) -> Any:
        """The table as a pandas `DataFrame`, where pandas is installed."""
        return self.table().frame()

    def curves(self) -> Rows[CurveRow]:
        """A row for each test of each run, as in `curves.csv`: `results.curves().frame()` is the long form that seaborn and others
        plot."""
        from pdrm.drawing.rows import Rows

        rows = [
            CurveRow(*_describe_line(study, curves), *row)
            for study, curves in self.lines
            for row in _curves(curves)
        ]
        return Rows(len(rows), rows.__getitem__)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Plot:
        """The curves, panel by panel, as a figure of matplotlib, which shows itself in a notebook. path: where to write it as well."""
        from pdrm.drawing.curve_plots import CurveLine, study_plot

        panels: dict[tuple[str, str], list[CurveLine]] = {}
        for study, curves in self.lines:
            panels.setdefault((study.name, curves.panel.name), []).append(curves.to_plot())
        return study_plot(list(panels.values())).saved(path)

    def report(self) -> Path:
        """Write the page about these studies, `index.html`, and `curves.svg`; returns its path. `pdrm report` and
        `pdrm.paper.write_page` write that of all studies in the folder."""
        if all(study.of_the_paper for study, _ in self.lines):
            page: Path = borrow("write_page")(self.folder)
        else:
            page = borrow("write_own_report")(self.lines, Store.below(self.folder), self.folder)[-1]
        return page

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        failed = [html("p", f"failed: {one.run.title}: {one.sentence}") for one in self.failures]
        shown = picture(
            self.plot()._repr_png_(),
            "png",
            f"median and quartiles over the seeds, in {self.folder}",
        )
        return self.table()._repr_html_() + shown + "".join(failed)


def plan(studies: Iterable[Study]) -> list[Planned]:
    """The runs of some studies, each once, in the studies' order."""
    from pdrm.experiments.execution import Planned

    found: dict[str, Planned] = {}
    for study in studies:
        for panel, line, spec in study.runs():
            title = f"{panel.name} {line.name} seed {spec.seed}"
            found.setdefault(spec.id, Planned(spec, title, line.seconds, line.gigabytes))
    return list(found.values())


def run_study(
    study: Study | Sequence[Study],
    folder: str | os.PathLike[str],
    workers: Workers | int = 1,
    *,
    progress: bool | None = None,
) -> Results:
    """Run what is not done yet, in `folder`/runs, and write `folder`/curves.csv and summary.csv.

    progress: whether to show how it goes; None: on a terminal and in a notebook. Lines that no seed achieves are named at the end,
    unless it is False.

    What is wrong with a panel or a line is raised before anything runs. A run that fails is among the `failures`, and the
    others go on; `NotRecorded` if all of them fail and nothing is recorded.

    >>> import tempfile
    >>> from pdrm.learning.agents import QLearning
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run_study(Study(["letter"], [QLearning(k=1, episodes=200)], seeds=2), folder)
    >>> results.failures, [curves.returns.shape for _, curves in results.lines]
    ([], [(2, 2, 10)])
    """
    from pdrm.experiments.execution import Workers, run_all
    from pdrm.experiments.monitor import monitor

    studies = [study] if isinstance(study, Study) else list(study)
    chosen = Workers(count=workers) if isinstance(workers, int) else workers
    place, shown = Path(folder), is_shown() if progress is None else progress
    runs, store = plan(studies), Store.below(place)
    if not all(store.done(run.spec) for run in runs):
        from pdrm.product.task_findings import warn_of_tasks

        for one in studies:
            one.check()
        warn_of_tasks(*{panel.task: None for one in studies for panel in one.panels})
    ensure_folder(place)
    try:
        with monitor(runs, store, chosen.at_most(len(runs)).count, quiet=not shown, announce=True):
            failures = run_all(runs, store, chosen)
    except KeyboardInterrupt:
        done = f"{sum(store.done(run.spec) for run in runs):,} of {len(runs):,} runs are done"
        raise Interrupted(
            f"stopped; {done}, kept in {place}: the same line goes on from there"
        ) from None
    lines = recorded(studies, store)
    if failures and not lines:
        first = failures[0]
        fault = f"all {len(runs)} runs failed, so nothing is recorded. {first.run.title}: {first.sentence}"
        raise NotRecorded(
            fault, fix=f"see {store.folder(first.run.spec) / FAILURE}, then run it again"
        )
    kept = save_studies(studies, place, store)
    write_tables(recorded(kept, store) if kept else lines, place)
    results = Results(place, lines, failures)
    if progress is not False:
        for note in results.notes:
            say(note)
    return results


def _note_failure(curves: Curves) -> str:
    """That no seed of a line achieves the task in its last tests, and what to try; nothing where one does."""
    task, agent = curves.panel.task, curves.panel.agent(curves.line)
    if not is_judged(task, agent) or curves.success[:, -count_last_tests(len(curves.at)) :].any():
        return ""
    return f"`{curves.line.name}` on {curves.panel.heading}: no seed achieves it; try {advise(task, agent).fix}"


# --- Everything recorded, as tidy tables: `curves.csv` has a row per test of a run, `summary.csv` a row per test of a line.

CURVES, SUMMARY = "curves.csv", "summary.csv"
COLUMNS = ("study", "panel", "line", "agent", "k", "ours")
CURVE_COLUMNS = (*COLUMNS, "seed", "at", "return", "normalised", "steps", "success")
SUMMARY_COLUMNS = (
    *COLUMNS,
    *("seeds", "at", "return_25", "return_50", "return_75"),
    *("normalised_25", "normalised_50", "normalised_75", "normalised_iqm", "success"),
)


def recorded(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies that have runs, in order."""
    every = ((study, panel, line) for study in studies for panel, line in study.lines())
    found = (
        (study, curves_of(panel, line, study.seed_numbers, store)) for study, panel, line in every
    )
    return [(study, curves) for study, curves in found if curves is not None]


def write_tables(lines: list[tuple[Study, Curves]], folder: Path) -> None:
    """Write both tables."""
    for name, columns, rows in (
        (CURVES, CURVE_COLUMNS, _curves),
        (SUMMARY, SUMMARY_COLUMNS, _summary),
    ):
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(columns)
        for study, curves in lines:
            about = _describe_line(study, curves)
            table.writerows([*about, *map(_write, row)] for row in rows(curves))
        write_atomically(folder / name, text.getvalue().encode())


def _describe_line(study: Study, curves: Curves) -> tuple[str, str, str, str, int | str, str]:
    """The columns that both tables begin with."""
    panel, line = curves.panel, curves.line
    ours = "yes" if line.ours else "no"
    return study.name, panel.name, line.name, line.agent_name, panel.agent(line).k, ours


def _write(value: float) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _curves(curves: Curves) -> Iterator[list[Any]]:
    """Means over the episodes of a test."""
    means = [
        values.mean(axis=2)
        for values in (curves.returns, curves.normalised, curves.steps, curves.success)
    ]
    for s, seed in enumerate(curves.seeds):
        for t, at in enumerate(curves.at.tolist()):
            yield [seed, at, *(float(values[s, t]) for values in means)]


def _summary(curves: Curves) -> Iterator[list[Any]]:
    raw, normalised = curves.quartiles(curves.returns), curves.quartiles(curves.normalised)
    scores, success = curves.normalised.mean(axis=2), curves.success.mean(axis=(0, 2))
    for t, at in enumerate(curves.at.tolist()):
        values = [
            *(part[t] for part in (*raw, *normalised)),
            interquartile_mean(scores[:, t]),
            success[t],
        ]
        yield [len(curves.seeds), at, *map(float, values)]


# --- Which studies a folder is about: kept beside the runs, so that their tables, curves and page can be made again from there.
#
# Domains of one's own are not in it: each run's folder has its own.

STUDIES = "studies.json"
ABOUT = ("name", "title", "figure")
LINE = ("name", "colour", "ours", "seconds", "gigabytes")


def save_studies(studies: Sequence[Study], folder: Path, store: Store) -> list[Study]:
    """Write what the studies are, beside those that the folder holds; returns all of them. The paper's are known without: what is
    kept of earlier ones then goes, and none is returned."""
    if all(study.of_the_paper for study in studies):
        (folder / STUDIES).unlink(missing_ok=True)
        return []
    kept: list[Study] = []
    with suppress(BadRunFolder):  # what is damaged is written again
        kept = load_studies(folder, store)
    for study in studies:
        _keep(study, kept)
    record = [_study(study, store) for study in kept]
    write_atomically(
        folder / STUDIES, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()
    )
    return kept


def _keep(study: Study, kept: list[Study]) -> None:
    """Add a study to those that are kept. One that grew or shrank is the same study, as large as it ever was; another one of the
    same name gets a number."""
    asked, number, name = _ids(study), 1, study.name
    while (
        place := next((place for place, one in enumerate(kept) if one.name == name), None)
    ) is not None:
        before = _ids(kept[place])
        if before <= asked or asked <= before:
            kept[place] = replace(
                study if before <= asked else kept[place], name=name, title=study.title
            )
            return
        number += 1
        name = f"{study.name} {number}"
    if number > 1:
        say(
            f"another study called `{study.name}` is in this folder: in its tables this one is `{name}`"
        )
    kept.append(replace(study, name=name))


def _ids(study: Study) -> set[str]:
    return {spec.id for _, _, spec in study.runs()}


def load_studies(folder: Path, store: Store) -> list[Study]:
    """The studies kept in a folder, as far as their domains are there; none: nothing is kept."""
    path = folder / STUDIES
    if not path.exists():
        return []
    try:
        found = [_read_study(record, store) for record in parse_json(path.read_bytes())]
    except (*MALFORMED, PdrmError) as error:
        fault = f"{path} is damaged: {describe_fault(error)}"
        raise BadRunFolder(
            fault, fix="study.run(folder), or pdrm run STUDY.toml, writes it again"
        ) from error
    return [study for study in found if study is not None]


def _study(study: Study, store: Store) -> dict[str, Any]:
    own = {name: getattr(study, name) for name in ABOUT}
    seeds = study.seed_numbers
    return {
        **own,
        "seeds": seeds,
        "panels": [_panel(panel, seeds, store) for panel in study.panels],
    }


def _panel(panel: Panel, seeds: Sequence[int], store: Store) -> dict[str, Any]:
    """One's own domain is that of the panel's runs, whose folders are named."""
    lines = [(line, panel.agent(line)) for line in panel.lines]
    return {
        **{name: getattr(panel, name) for name in ABOUT},
        "domain": panel.task.name if panel.task.catalogued else None,
        "machine": panel.task.text,
        "success": panel.task.success,
        "lines": [
            {
                **{name: getattr(line, name) for name in LINE},
                "agent": agent.name,
                "settings": agent.record(),
            }
            for line, agent in lines
        ],
        "runs": [
            store.folder(spec).name for line in panel.lines for spec in panel.specs(line, seeds)
        ],
    }


def _read_study(record: dict[str, Any], store: Store) -> Study | None:
    found = [_read_panel(panel, store) for panel in record.pop("panels")]
    panels = tuple(panel for panel in found if panel is not None)
    return Study(panels=panels, **{**record, "seeds": tuple(record["seeds"])}) if panels else None


def _read_panel(record: dict[str, Any], store: Store) -> Panel | None:
    runs, domain = record.pop("runs"), record.pop("domain")
    if domain is None:
        at = next(
            (store.root / name for name in runs if (store.root / name / DOMAIN).exists()), None
        )
        domain = None if at is None else read_spec(at).task.domain
    if domain is None:
        return None
    lines = tuple(
        Line(**line, agent=read_agent(agent, settings))
        for line in record.pop("lines")
        for agent, settings in ((line.pop("agent"), line.pop("settings")),)
    )
    return Panel(domain=domain, lines=lines, **{**record, "success": tuple(record["success"])})
