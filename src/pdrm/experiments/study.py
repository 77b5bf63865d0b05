"""A study: tasks × agents × seeds as data, which is run and recorded in a folder.

`Study([task], [agents…], seeds=10)` is the short form. The figures of the paper are given as
panels, with a name, a colour and settings for each line. `study.run(folder)` does the missing runs,
and writes `curves.csv` and `summary.csv`.
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
from pdrm.learning.run import Run, advise, count_last_evaluations
from pdrm.learning.run_folder import RunSpec, list_runs, read_spec, resolve_seeds
from pdrm.progress import is_shown, say
from pdrm.task import DomainLike, MachineLike, Task, task_for

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows

FOLDER_NAME = re.compile(r"\w[\w .+-]{0,98}\w|\w")
PLOT = "curves.svg"
"""The plot of all panels, next to the page."""
TEN_SEEDS = tuple(range(10))
"""Default seeds. The paper uses the same ten seeds for every agent, but does not give them."""


@dataclass(frozen=True, slots=True, repr=False)
class Study:
    """Tasks × agents × seeds, or panels × seeds. `run` runs it.

    >>> from pdrm.learning.agents import CpRM, QLearning
    >>> study = Study(["letter"], [QLearning(k=1, episodes=200), CpRM(k=1, episodes=200)], seeds=2)
    >>> [(line.name, spec.seed) for _, line, spec in study.runs()]
    [('q 1', 0), ('q 1', 1), ('cprm 1', 0), ('cprm 1', 1)]
    """

    tasks: Task | DomainLike | Sequence[Task | DomainLike] | Mapping[str, Task | DomainLike] = ()
    """A task or a domain that has a machine (an object, name or file), a list of these, or a
    mapping from the names in tables and plots."""
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike] = ()
    """An agent such as `CpRM(k=1)`, its name or your own agent, a list of these, or a mapping from
    the names in tables and plots."""
    _: KW_ONLY
    seeds: int | Sequence[int] = TEN_SEEDS
    """The number of seeds (0, 1, …), or a list of them."""
    machine: MachineLike | None = None
    """The machine of all tasks (default: the domain's)."""
    success: str | Sequence[str] = ()
    """The final machine states that mean success in all tasks (default: as for `Task`)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all agents, such as `{"k": 1, "episodes": 500}`."""
    name: str = "study"
    """The name in files and folders."""
    title: str = ""
    """The title of the page."""
    figure: str = ""
    """The paper's figure, if it shows all panels in one plot: a colour per agent, a style per
    panel."""
    panels: tuple[Panel, ...] = ()
    """Panels, used instead of tasks, agents, settings, machine and success."""

    def __post_init__(self) -> None:
        if not FOLDER_NAME.fullmatch(self.name):
            fix = "use up to 100 letters, digits, spaces and any of . _ - + (it names a folder)"
            raise BadStudy(f"invalid name of a study: {self.name[:100]!r}", fix=fix)
        if not self.panels:
            object.__setattr__(self, "panels", self._make_panels())
            for panel, line in self.lines():
                panel.agent(line)  # raises for unknown agents and settings
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
        lines = list(self.lines())
        counts = f"panels {len(self.panels)}, lines {len(lines)}, seeds {len(self.seed_numbers)}"
        return f"<Study {self.name!r}: {counts}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        rows = []
        for panel, line in self.lines():
            agent = panel.agent(line)
            length = f"{agent.total:,} {agent.unit}"
            rows.append([panel.heading, line.name, agent.name, str(agent.k), length])
        headings = ["panel", "line", "agent", "k", "training"]
        return html("p", repr(self).strip("<>")) + table(headings, rows)

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The list of seeds."""
        return resolve_seeds(self.seeds)

    @property
    def of_the_paper(self) -> bool:
        """True for figures of the paper."""
        return bool(self.figure) or any(panel.figure for panel in self.panels)

    def lines(self) -> Iterator[tuple[Panel, AgentLine]]:
        """The lines of the study, with their panels."""
        return ((panel, line) for panel in self.panels for line in panel.lines)

    def runs(self) -> Iterator[tuple[Panel, AgentLine, RunSpec]]:
        """The runs of the study."""
        for panel, line in self.lines():
            for spec in panel.specs(line, self.seed_numbers):
                yield panel, line, spec

    def check(self) -> None:
        """Raise any error in a panel or a line, before anything runs."""
        for panel, line in self.lines():
            panel.specs(line, (0,))[0].check()

    def seeded(self, count: int | None) -> Study:
        """The study with its first `count` seeds, or additional new ones (default: unchanged)."""
        if count is None:
            return self
        resolve_seeds(count)
        seeds = self.seed_numbers
        more = (seed for seed in range(count + len(seeds)) if seed not in seeds)
        return replace(self, seeds=(*seeds, *more)[:count])

    def run(
        self,
        folder: FilePath | None = None,
        workers: Workers | int = 1,
        *,
        progress: bool | None = None,
    ) -> Results:
        """Do the missing runs in `folder/runs`, and write `folder/curves.csv` and `summary.csv`.

        Args:
            folder: The output folder (default: the study's name). Several studies can share a
                folder and its tables.
            workers: The number of parallel runs, or `Workers`, here or on a cluster.
            progress: Show progress (default: on a terminal and in a notebook).
        """
        return run_study(self, self._folder(folder), workers, progress=progress)

    def _folder(self, folder: FilePath | None) -> Path:
        return Path(self.name if folder is None else folder)

    def results(self, folder: FilePath | None = None) -> Results:
        """The results recorded in the folder of `run`."""
        path = self._folder(folder)
        lines = recorded_lines([self], Store.below(path))
        if not lines:
            fault = f"the folder {path} contains no run of study `{self.name}` with these settings"
            raise NotRecorded(fault, fix=f"study.run({str(path)!r})")
        return Results(path, lines, [])

    def report(self, folder: FilePath | None = None) -> Path:
        """Write the page `index.html` into the folder of `run`, and return its path."""
        return self.results(folder).report()

    def plot(self, folder: FilePath | None = None) -> Plot:
        """Plot the recorded curves with Matplotlib. Notebooks display the plot."""
        return self.results(folder).plot()


def _list(given: Any) -> Sequence[Any]:
    """The values of a mapping, a sequence as it is, and any other value as a tuple."""
    if isinstance(given, Mapping):
        return tuple(given.values())
    return given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)


# --- Results


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Results:
    """The results of studies: their recorded lines and failed runs. `results["cprm"]` is a line."""

    folder: Path
    """The folder of the runs, the tables and the report."""
    lines: list[tuple[Study, Curves]]
    """Pairs of a study and the curves of one of its lines."""
    failures: list[Failure]
    """The failed runs with their errors."""

    @property
    def of_the_paper(self) -> bool:
        """True if all studies are figures of the paper."""
        return all(study.of_the_paper for study, _ in self.lines)

    def __iter__(self) -> Iterator[Curves]:
        return (curves for _, curves in self.lines)

    def __getitem__(self, name: str) -> Curves:
        """The curves of a line by its name, its agent's name, or `"panel, line"`."""
        by_name = {f"{curves.panel.name}, {curves.line.name}": curves for curves in self}
        matches = [
            curves
            for full_name, curves in by_name.items()
            if name in (full_name, curves.line.name, curves.line.agent_name)
        ]
        if len(matches) != 1:
            fault = f"several lines match `{name}`" if matches else f"no line is called `{name}`"
            raise UnknownName(fault, fix=did_you_mean(name, by_name))
        return matches[0]

    def __repr__(self) -> str:
        runs = sum(len(curves.seeds) for curves in self)
        counts = f"lines {len(self.lines)}, runs {runs}, failed {len(self.failures)}"
        return f"<Results in {self.folder}: {counts}>"

    def table(self) -> Rows[LineRow]:
        """The results of the final evaluations, a row for each line."""
        from pdrm.drawing.rows import Rows

        rows = [line_rows(study, curves)[-1] for study, curves in self.lines]
        return Rows(len(rows), rows.__getitem__, self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for each line without runs, or without a success in the last evaluations.

        Empty for studies of the paper.
        """
        notes = []
        recorded = {(curves.panel.name, curves.line.name) for curves in self}
        studies = {study.name: study for study, _ in self.lines if not study.of_the_paper}
        for study in studies.values():
            for panel, agent_line in study.lines():
                if (panel.name, agent_line.name) not in recorded:
                    notes.append(f"`{agent_line.name}` on {panel.heading}: no run is recorded")
        for study, curves in self.lines:
            last = count_last_evaluations(len(curves.at))
            if study.of_the_paper or curves.success[:, -last:].any():
                continue
            panel = curves.panel
            advice = advise(panel.task, panel.agent(curves.line))
            if advice:
                line = f"`{curves.line.name}` on {panel.heading}"
                notes.append(f"{line}: no seed solves it; try {advice}")
        return tuple(notes)

    def frame(self) -> Any:
        """The table as a pandas `DataFrame`."""
        return self.table().frame()

    def curves(self) -> Rows[CurveRow]:
        """A row for each evaluation of each run, as in `curves.csv`.

        `results.curves().frame()` is in long form, for seaborn and similar libraries.
        """
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
        """Plot the curves of each panel with Matplotlib. Notebooks display the plot.

        Args:
            path: A file to write the plot to (optional).
            x: "steps" or "episodes" for all lines (default: each agent's unit of training).
            y: "return" or "success".
        """
        from pdrm.drawing.plots import study_plot

        drawn = [[curves.to_plot(x, y) for curves in lines] for lines in by_panel(self)]
        return study_plot(drawn).saved(path)

    def report(self) -> Path:
        """Write the page `index.html` and `curves.svg`, and return the path of the page."""
        from pdrm.experiments.study_report import write_own_report

        page = write_own_report(self.lines, self.folder, self.notes)
        self.plot(page.with_name(PLOT))
        if not page.with_name(CURVES).exists():  # compared runs have no tables yet
            write_tables(self.lines, self.folder)
        return page

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        failures = [html("p", _failure_text(failure)) for failure in self.failures]
        caption = f"median and quartiles over the seeds, in {self.folder}"
        plot = picture(self.plot()._repr_png_(), "png", caption)
        return self.table()._repr_html_() + plot + "".join(failures)


# --- Running studies


def plan(studies: Iterable[Study]) -> list[PlannedRun]:
    """The runs of some studies without duplicates, in the studies' order."""
    runs: dict[str, PlannedRun] = {}
    for study in studies:
        for panel, line, spec in study.runs():
            title = f"{panel.name} {line.name} seed {spec.seed}"
            runs.setdefault(spec.id, PlannedRun(spec, title))
    return list(runs.values())


def run_study(
    study: Study | Sequence[Study],
    folder: FilePath,
    workers: Workers | int = 1,
    *,
    progress: bool | None = None,
) -> Results:
    """Do the missing runs in `folder/runs`, and write `folder/curves.csv` and `summary.csv`.

    Errors in a panel or a line are raised before anything runs. If a run fails, the others
    continue, and the result lists it in `failures`. `NotRecorded` if all runs fail.

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
    path = Path(folder)
    shown = is_shown() if progress is None else progress
    runs = plan(studies)
    store = Store.below(path)
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
        kept_runs = f"{done:,} of {len(runs):,} runs are done, kept in {path}"
        raise Interrupted(f"stopped; {kept_runs}: the same command resumes") from None
    failures = outcome.failures
    lines = recorded_lines(studies, store)
    if failures and not lines:
        first = failures[0]
        fault = f"all {len(runs)} runs failed, so nothing is recorded. {first.run.title}: {first.sentence}"
        fix = getattr(first.error, "fix", "") or "fix the error and run it again"
        raise NotRecorded(fault, fix=fix) from first.error
    kept = save_studies(studies, path)
    write_tables(recorded_lines(kept, store) if kept else lines, path)
    results = Results(path, lines, failures)
    if progress is not False:
        for failure in failures:
            say(_failure_text(failure))
        for note in results.notes:
            say(note)
    return results


def _failure_text(failure: Failure) -> str:
    return f"failed: {failure.run.title}: {failure.sentence}"


def recorded_lines(studies: Iterable[Study], store: Store) -> list[tuple[Study, Curves]]:
    """The lines of the studies that have finished runs, in order."""
    return [
        (study, curves)
        for study in studies
        for panel, line in study.lines()
        if (curves := curves_of(panel, line, study.seed_numbers, store)) is not None
    ]


def compare_runs(folders: Iterable[Path]) -> list[tuple[Study, Curves]]:
    """The lines of the runs in some folders: a study for each task, a line for each agent."""
    loaded = [Run.load(run) for folder in folders for run in list_runs(folder) or [folder]]
    by_id = {run.spec.id: run for run in sorted(loaded, key=lambda run: run.spec.seed)}
    tasks = list(dict.fromkeys(run.spec.task for run in by_id.values()))
    lines = []
    for name, task in zip(name_tasks(tasks), tasks, strict=True):
        runs = [run for run in by_id.values() if run.spec.task == task]
        agents = list(dict.fromkeys(run.spec.agent for run in runs))
        study = Study({name: task}, agents, name="runs")
        (panel,) = study.panels
        for line, agent in zip(panel.lines, agents, strict=True):
            curves = gather(panel, line, [run for run in runs if run.spec.agent == agent])
            if curves is not None:
                lines.append((study, curves))
    return lines


# --- The studies of a folder, kept next to the runs to make their tables, curves and page again
#
# The file contains the folders of the runs, whose specs give the tasks and agents.

STUDIES = "studies.json"


def save_studies(studies: Sequence[Study], folder: Path) -> list[Study]:
    """Merge these studies into `studies.json` and return all of its studies.

    The paper's studies need no file: it is removed, and the result is empty.
    """
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
    return {
        "name": study.name,
        "title": study.title,
        "figure": study.figure,
        "seeds": study.seed_numbers,
        "panels": panels,
    }


def load_studies(folder: Path) -> list[Study]:
    """The studies of a folder, with the panels and lines that have runs."""
    path = folder / STUDIES
    if not path.exists():
        return []
    store = Store.below(folder)
    studies = []
    try:
        for record in parse_json(path.read_bytes()):
            panels = [_read_panel(panel, store) for panel in record.pop("panels")]
            existing = tuple(panel for panel in panels if panel is not None)
            if existing:
                studies.append(Study(panels=existing, **record))
    except (*MALFORMED, PdrmError) as error:
        fault = f"{path} is damaged: {describe_fault(error)}"
        fix = "study.run(folder), or pdrm run STUDY.toml, writes it again"
        raise BadRunFolder(fault, fix=fix) from error
    return studies


def _read_panel(record: dict[str, Any], store: Store) -> Panel | None:
    """The panel with the lines that have runs, or None if no line has one."""
    lines = []
    success = tuple(record.pop("success"))
    for line in record.pop("lines"):
        folders = [store.root / name for name in line.pop("runs")]
        folder = next((folder for folder in folders if folder.is_dir()), None)
        if folder is None:
            continue
        with suppress(BadRunFolder):  # the spec of your own agent or environment cannot be read
            spec = read_spec(folder)
            lines.append(AgentLine(agent=spec.agent, **line))
            task = task_for(spec.task, success=success)
    return Panel(domain=task, lines=tuple(lines), **record) if lines else None
