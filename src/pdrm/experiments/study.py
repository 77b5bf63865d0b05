"""A study: tasks × agents × seeds, as data; run, recorded and kept in a folder.

`Study([task], [agents…], seeds=10)` is the short form. A figure of the paper has panels of its own, with a name, a colour and
settings for each line. `study.run(folder)` does what is not done yet, and writes `curves.csv` and `summary.csv`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.errors import (
    BadRunFolder,
    BadStudy,
    Interrupted,
    NotRecorded,
    PdrmError,
    UnknownName,
    did_you_mean,
)
from pdrm.experiments.curves import (
    CURVES,
    MAX_POLICY_BYTES,
    CurveRow,
    Curves,
    LineRow,
    Store,
    by_panel,
    curve_rows,
    curves_of,
    gather,
    line_rows,
    write_tables,
)
from pdrm.experiments.panel import (
    AgentLine,
    Panel,
    check_distinct,
    name_agents,
    name_tasks,
)
from pdrm.files import (
    MALFORMED,
    FilePath,
    describe_fault,
    ensure_folder,
    parse_json,
    write_atomically,
)
from pdrm.learning.execution import Failure, PlannedRun, Workers, train_all
from pdrm.learning.protocol import AgentLike
from pdrm.learning.run import Run, advise, count_last_tests
from pdrm.learning.run_folder import RunSpec, list_runs, read_spec, resolve_seeds
from pdrm.progress import is_shown, say
from pdrm.task import DomainLike, MachineLike, Task, task_for

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows

FOLDER_NAME = re.compile(r"\w[\w .+-]{0,98}\w|\w")
PLOT = "curves.svg"
"""The picture of all panels, next to the page."""
TEN_SEEDS = tuple(range(10))
"""The paper draws ten seeds and uses the same ones for every agent; these are ours."""


@dataclass(frozen=True, slots=True, repr=False)
class Study:
    """Tasks × agents × seeds; or panels that belong together, and their seeds. `run` runs it.

    >>> from pdrm.learning.agents import CpRM, QLearning
    >>> study = Study(["letter"], [QLearning(k=1, episodes=200), CpRM(k=1, episodes=200)], seeds=2)
    >>> [(line.name, spec.seed) for _, line, spec in study.runs()]
    [('q 1', 0), ('q 1', 1), ('cprm 1', 0), ('cprm 1', 1)]
    """

    tasks: Task | DomainLike | Sequence[Task | DomainLike] | Mapping[str, Task | DomainLike] = ()
    """Tasks, or domains that come with a machine (themselves, names or files): one, several, or several by the names that tables and
    plots show."""
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike] = ()
    """Settings such as `CpRM(k=1)`, names, or agents of your own; one, several, or several by name."""
    _: KW_ONLY
    seeds: int | Sequence[int] = TEN_SEEDS
    """The number of seeds (0, 1, …), or a list of them."""
    machine: MachineLike | None = None
    """Of all tasks, instead of their own."""
    success: str | Sequence[str] = ()
    """The final machine states that mean success, of all tasks (default: as `Task` has it)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of all agents, such as `{"k": 1, "episodes": 500}`."""
    name: str = "study"
    """Its name in files and folders."""
    title: str = ""
    """The title of its page."""
    figure: str = ""
    """The paper's figure, if that shows all panels in one plot: a colour per agent, a line style per panel."""
    panels: tuple[Panel, ...] = ()
    """Instead of tasks and agents."""

    def __post_init__(self) -> None:
        if not FOLDER_NAME.fullmatch(self.name):
            fix = "a folder is named after it: use up to 100 letters, digits, spaces and any of . _ - +"
            raise BadStudy(f"the study is called {self.name[:100]!r}", fix=fix)
        if not self.panels:
            object.__setattr__(self, "panels", self._make_panels())
            for panel, line in self.lines():
                panel.agent(line)  # refuses unknown agents and settings
        check_distinct("panels", [panel.name for panel in self.panels])
        for panel in self.panels:
            check_distinct(f"lines of panel `{panel.name}`", [line.name for line in panel.lines])
        object.__setattr__(self, "seeds", resolve_seeds(self.seeds))

    def _make_panels(self) -> tuple[Panel, ...]:
        """A panel for each task, with a line for each agent."""
        agents = _list(self.agents)
        tasks = [task_for(task, self.machine, self.success) for task in _list(self.tasks)]
        names = list(self.agents) if isinstance(self.agents, Mapping) else name_agents(agents)
        lines = tuple(
            AgentLine(name=name, agent=agent) for name, agent in zip(names, agents, strict=True)
        )
        titles = list(self.tasks) if isinstance(self.tasks, Mapping) else name_tasks(tasks)
        return tuple(
            Panel(name=name, domain=task, lines=lines, settings=dict(self.settings))
            for name, task in zip(titles, tasks, strict=True)
        )

    def __repr__(self) -> str:
        lines, seeds = list(self.lines()), self.seed_numbers
        counts = f"panels {len(self.panels)}, lines {len(lines)}, seeds {len(seeds)}"
        return f"<Study {self.name!r}: {counts}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        rows = []
        for panel, line in self.lines():
            agent = panel.agent(line)
            length = f"{agent.total:,} {agent.unit}"
            rows.append([panel.heading, line.name, agent.name, str(agent.k), length])
        heads = ["panel", "line", "agent", "k", "training"]
        return html("p", repr(self).strip("<>")) + table(heads, rows)

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds, one by one."""
        return resolve_seeds(self.seeds)

    @property
    def of_the_paper(self) -> bool:
        """True if the paper shows it."""
        return bool(self.figure) or any(panel.figure for panel in self.panels)

    def lines(self) -> Iterator[tuple[Panel, AgentLine]]:
        """Every line of the study, with its panel."""
        return ((panel, line) for panel in self.panels for line in panel.lines)

    def runs(self) -> Iterator[tuple[Panel, AgentLine, RunSpec]]:
        """Every run of the study."""
        for panel, line in self.lines():
            for spec in panel.specs(line, self.seed_numbers):
                yield panel, line, spec

    def check(self) -> None:
        """Raise what is wrong with a panel or a line, before anything runs."""
        for panel, line in self.lines():
            panel.specs(line, (0,))[0].check()

    def seeded(self, count: int | None) -> Study:
        """The same study with `count` seeds: its own first, then new ones (default: as it is)."""
        if count is None:
            return self
        resolve_seeds(count)
        own = self.seed_numbers
        more = (seed for seed in range(count + len(own)) if seed not in own)
        return replace(self, seeds=(*own, *more)[:count])

    def run(
        self,
        folder: FilePath | None = None,
        workers: Workers | int = 1,
        *,
        progress: bool | None = None,
    ) -> Results:
        """Run what is not done yet, in `folder`/runs, and write `folder`/curves.csv and summary.csv.

        Args:
            folder: Where to (default: one that is named after the study). Several studies may share a folder: its tables have
                all of them.
            workers: How many runs at a time, or `Workers`, here or on a cluster.
            progress: Show how it goes (default: on a terminal and in a notebook).
        """
        return run_study(self, self._place(folder), workers, progress=progress)

    def _place(self, folder: FilePath | None) -> Path:
        return Path(self.name if folder is None else folder)

    def results(self, folder: FilePath | None = None) -> Results:
        """The results recorded in the folder of `run`."""
        place = self._place(folder)
        lines = recorded([self], Store.below(place))
        if not lines:
            fault = f"{place} holds no run of study `{self.name}`"
            raise NotRecorded(fault, fix=f"study.run({str(place)!r})")
        return Results(place, lines, [])

    def report(self, folder: FilePath | None = None) -> Path:
        """Write the page about it, `index.html`, into the folder of `run`; returns its path."""
        return self.results(folder).report()

    def plot(self, folder: FilePath | None = None) -> Plot:
        """Draw the recorded curves as a figure of matplotlib, which shows itself in a notebook."""
        return self.results(folder).plot()


def _list(given: Any) -> Sequence[Any]:
    """One, or several."""
    if isinstance(given, Mapping):
        return tuple(given.values())
    return given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)


# --- Results


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Results:
    """The results of some studies: their recorded lines, and the runs that failed. `results["cprm"]` is a line."""

    folder: Path
    """The folder of the runs, the tables and the report."""
    lines: list[tuple[Study, Curves]]
    """A study, and the curves of one of its lines."""
    failures: list[Failure]
    """The runs that failed, and why."""

    @property
    def of_the_paper(self) -> bool:
        """True if the paper shows all of them."""
        return all(study.of_the_paper for study, _ in self.lines)

    def __iter__(self) -> Iterator[Curves]:
        return (curves for _, curves in self.lines)

    def __getitem__(self, name: str) -> Curves:
        """The curves of a line by its name, its agent's, or `"panel, line"`."""
        by_name = {f"{one.panel.name}, {one.line.name}": one for one in self}
        found = [
            one
            for full_name, one in by_name.items()
            if name in (full_name, one.line.name, one.line.agent_name)
        ]
        if len(found) != 1:
            count = "several lines" if found else "no line"
            raise UnknownName(f"there is {count} `{name}`", fix=did_you_mean(name, by_name))
        return found[0]

    def __repr__(self) -> str:
        runs = sum(len(curves.seeds) for curves in self)
        counts = f"lines {len(self.lines)}, runs {runs}, failed {len(self.failures)}"
        return f"<Results in {self.folder}: {counts}>"

    def table(self) -> Rows[LineRow]:
        """A row for each line: the results of its final evaluations."""
        from pdrm.drawing.rows import Rows

        rows = [line_rows(study, curves)[-1] for study, curves in self.lines]
        return Rows(len(rows), rows.__getitem__, self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for each line that no seed solves at the end: what to try. None for the paper's studies, which have claims instead."""
        found = []
        for study, one in self.lines:
            tests = count_last_tests(len(one.at))
            if not study.of_the_paper and not one.success[:, -tests:].any():
                advice = advise(one.panel.task, one.panel.agent(one.line))
                said = f"`{one.line.name}` on {one.panel.heading}: no seed solves it; try {advice}"
                found += [said] if advice else []
        return tuple(found)

    def frame(self) -> Any:
        """The table as a pandas `DataFrame`."""
        return self.table().frame()

    def curves(self) -> Rows[CurveRow]:
        """A row for each evaluation of each run, as in `curves.csv`: `results.curves().frame()` is the long form that seaborn and others
        plot."""
        from pdrm.drawing.rows import Rows

        rows = [row for study, curves in self.lines for row in curve_rows(study, curves)]
        return Rows(len(rows), rows.__getitem__)

    def plot(
        self,
        path: FilePath | None = None,
        *,
        x: str | None = None,
        y: str = "return",
    ) -> Plot:
        """Draw the curves, panel by panel, as a figure of matplotlib, which shows itself in a notebook.

        Args:
            path: Where to write it as well.
            x: "steps" or "episodes", for all lines (default: what each agent's training is counted in).
            y: "return" or "success".
        """
        from pdrm.drawing.plots import study_plot

        drawn = [[curves.to_plot(x, y) for curves in lines] for lines in by_panel(self)]
        return study_plot(drawn).saved(path)

    def report(self) -> Path:
        """Write the page about these studies, `index.html`, and `curves.svg`; returns its path."""
        from pdrm.experiments.study_report import write_own_report

        page = write_own_report(self.lines, self.folder)
        self.plot(page.with_name(PLOT))
        if not page.with_name(CURVES).exists():  # of runs that are compared
            write_tables(self.lines, self.folder)
        return page

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        failed = [html("p", f"failed: {one.run.title}: {one.sentence}") for one in self.failures]
        about = f"median and quartiles over the seeds, in {self.folder}"
        shown = picture(self.plot()._repr_png_(), "png", about)
        return self.table()._repr_html_() + shown + "".join(failed)


# --- Running studies


def plan(studies: Iterable[Study]) -> list[PlannedRun]:
    """The runs of some studies, each once, in the studies' order."""
    found: dict[str, PlannedRun] = {}
    for study in studies:
        for panel, line, spec in study.runs():
            title = f"{panel.name} {line.name} seed {spec.seed}"
            found.setdefault(spec.id, PlannedRun(spec, title))
    return list(found.values())


def run_study(
    study: Study | Sequence[Study],
    folder: FilePath,
    workers: Workers | int = 1,
    *,
    progress: bool | None = None,
) -> Results:
    """Run what is not done yet, in `folder`/runs, and write `folder`/curves.csv and summary.csv.

    Errors in a panel or a line are raised before anything runs. A run that fails is among the `failures`, and the
    others continue; `NotRecorded` if all of them fail and nothing is recorded.

    >>> import tempfile
    >>> from pdrm.learning.agents import QLearning
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run_study(Study(["letter"], [QLearning(k=1, episodes=200)], seeds=2), folder)
    ...     len(results["q"].runs)
    2
    >>> results.failures, [curves.returns.shape for _, curves in results.lines]
    ([], [(2, 2, 10)])
    """
    studies = [study] if isinstance(study, Study) else list(study)
    place, shown = Path(folder), is_shown() if progress is None else progress
    runs, store = plan(studies), Store.below(place)
    if not all(store.run(run.spec).done for run in runs):
        from pdrm.product.task_findings import warn_of_tasks

        for one in studies:
            one.check()
        warn_of_tasks(*{panel.task: None for one in studies for panel in one.panels})
    ensure_folder(store.root)
    try:
        outcome = train_all(runs, store.root, workers, largest_policy=MAX_POLICY_BYTES, shown=shown)
    except KeyboardInterrupt:
        done = sum(store.run(run.spec).done for run in runs)
        said = f"stopped; {done:,} of {len(runs):,} runs are done, kept in {place}"
        raise Interrupted(f"{said}: the same command resumes") from None
    failures, lines = outcome.failures, recorded(studies, store)
    if failures and not lines:
        first = failures[0]
        fault = f"all {len(runs)} runs failed, so nothing is recorded. {first.run.title}: {first.sentence}"
        fix = getattr(first.error, "fix", "") or "correct it, and run it again"
        raise NotRecorded(fault, fix=fix) from first.error
    kept = save_studies(studies, place)
    write_tables(recorded(kept, store) if kept else lines, place)
    results = Results(place, lines, failures)
    if progress is not False:
        for failure in failures:
            say(f"failed: {failure.run.title}: {failure.sentence}")
        for note in results.notes:
            say(note)
    return results


def recorded(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies that have runs, in order."""
    return [
        (study, curves)
        for study in studies
        for panel, line in study.lines()
        if (curves := curves_of(panel, line, study.seed_numbers, store)) is not None
    ]


def compare_runs(folders: Iterable[Path]) -> list[tuple[Study, Curves]]:
    """The lines of the runs in some folders, as of a study: a panel for each task, a line for each agent."""
    every = [Run.load(run) for folder in folders for run in list_runs(folder) or [folder]]
    found = {run.spec.id: run for run in sorted(every, key=lambda run: run.spec.seed)}
    tasks = list(dict.fromkeys(run.spec.task for run in found.values()))
    lines = []
    for name, task in zip(name_tasks(tasks), tasks, strict=True):
        mine = [run for run in found.values() if run.spec.task == task]
        agents = list(dict.fromkeys(run.spec.agent for run in mine))
        study = Study({name: task}, agents, name="runs")
        (panel,) = study.panels
        for line, agent in zip(panel.lines, agents, strict=True):
            curves = gather(panel, line, [run for run in mine if run.spec.agent == agent])
            lines += [] if curves is None else [(study, curves)]
    return lines


# --- Which studies a folder is about: kept next to the runs, so that their tables, curves and page can be made again.
#
# Tasks and agents are those of the runs, whose folders are named.

STUDIES = "studies.json"


def save_studies(studies: Sequence[Study], folder: Path) -> list[Study]:
    """Write what the studies are, in addition to those that the folder holds; returns all of them. The paper's are known without:
    what is kept of earlier ones is then removed, and none is returned."""
    if all(study.of_the_paper for study in studies):
        (folder / STUDIES).unlink(missing_ok=True)
        return []
    try:
        kept = {study.name: study for study in load_studies(folder)}
    except BadRunFolder:
        kept = {}
    kept |= {study.name: study for study in studies}
    records = list(map(_record_study, kept.values()))
    text = json.dumps(records, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / STUDIES, text.encode())
    return list(kept.values())


def _record_study(study: Study) -> dict[str, Any]:
    panels = [
        {
            "name": panel.name,
            "title": panel.title,
            "figure": panel.figure,
            "success": panel.task.success,
            "lines": [
                {
                    "name": line.name,
                    "colour": line.colour,
                    "ours": line.ours,
                    "runs": [spec.name for spec in panel.specs(line, study.seed_numbers)],
                }
                for line in panel.lines
            ],
        }
        for panel in study.panels
    ]
    about = {"name": study.name, "title": study.title, "figure": study.figure}
    return {**about, "seeds": study.seed_numbers, "panels": panels}


def load_studies(folder: Path) -> list[Study]:
    """The studies kept in a folder, as far as their runs are there."""
    path, store = folder / STUDIES, Store.below(folder)
    if not path.exists():
        return []
    found = []
    try:
        for record in parse_json(path.read_bytes()):
            panels = [_read_panel(panel, store) for panel in record.pop("panels")]
            if there := tuple(panel for panel in panels if panel is not None):
                found.append(Study(panels=there, **record))
    except (*MALFORMED, PdrmError) as error:
        fault = f"{path} is damaged: {describe_fault(error)}"
        fix = "study.run(folder), or pdrm run STUDY.toml, writes it again"
        raise BadRunFolder(fault, fix=fix) from error
    return found


def _read_panel(record: dict[str, Any], store: Store) -> Panel | None:
    """The panel, with the lines of which a run is there."""
    lines = []
    success = tuple(record.pop("success"))
    for line in record.pop("lines"):
        places = [store.root / name for name in line.pop("runs")]
        place = next((one for one in places if one.is_dir()), None)
        with suppress(BadRunFolder):  # of an agent or environment of somebody's own
            if place is not None:
                spec = read_spec(place)
                lines.append(AgentLine(agent=spec.agent, **line))
                task = task_for(spec.task, success=success)
    return Panel(domain=task, lines=tuple(lines), **record) if lines else None
