"""A study is data: panels (a domain each) of lines (an agent each), and the seeds that all of them share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pdrm.domains.domain_files import find_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.paper_domains import domain
from pdrm.domains.paper_domains import names as domain_names
from pdrm.errors import BadRunFolder, BadSetting, BadStudy, PdrmError, did_you_mean
from pdrm.experiments.store import Store
from pdrm.files import means_name, write_atomically
from pdrm.language.loading import catalogue_names, catalogue_text, parse
from pdrm.language.source import decode, read_bytes
from pdrm.language.writer import to_text
from pdrm.learning.tabular.agents import machine_for, settings_for
from pdrm.learning.tabular.run import DOMAIN, RunSpec, spec_of
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.task import MachineLike

# --- A machine as the text that runs are recorded with: given as text, as an object, as a file or as a name of the catalogue.

KINDS: tuple[type, ...] = (PushdownRewardMachine, RewardMachine, CountingRewardAutomaton)


def machine_text(machine: MachineLike, folder: Path = Path()) -> str:
    """The machine's text, once it has been read without a fault; files are looked for in the folder.

    What has more than one line, or begins with a brace, is a machine's text itself.

    >>> machine_text("letter") == machine_text(text_of("letter")) == text_of("letter")
    True
    """
    if isinstance(machine, str | os.PathLike):
        return _read_machine(machine, folder)
    if isinstance(machine, KINDS):
        return to_text(machine)
    fix = "give a machine, its text, the path of a .pdrm file, or a name of the catalogue"
    raise BadSetting(f"{machine!r} is no machine", fix=fix)


def _read_machine(machine: str | os.PathLike[str], folder: Path) -> str:
    if isinstance(machine, str) and ("\n" in machine or machine.lstrip().startswith("{")):
        parse(machine)
        return machine
    if means_name(machine, catalogue_names(), folder):
        return catalogue_text(str(machine))
    file = folder / machine
    text = decode(read_bytes(file), str(file))
    parse(text, str(file))
    return text


# --- A study is data: panels (a domain each) of lines (an agent each), and the seeds that all of them share.
#
# Nothing here runs. A line with a seed is a `RunSpec` of the learner, whose hash names the run; so two studies that ask for the
# same run share it, and a study that is changed only runs what is new in it.

TEN_SEEDS = tuple(range(10))
"""The paper draws ten seeds and uses the same ones for every agent; these are ours."""
MOST_SEEDS = 100_000
"""More is a slip of the keyboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An agent in a panel: one line of a figure.

    >>> Line(name="1-pdRM", agent="q", k="1").key
    '1-pdRM'
    """

    name: str
    """As the legend shows it."""
    agent: str
    """q, cprm, hrm, cra-q or cra-cql."""
    k: str = "1"
    """Stack symbols that are seen: a number, or `full`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the paper's settings for the domain."""
    colour: str = ""
    """Lines of equal colour keys are drawn in one colour, in every panel; nothing: the name is the key."""
    ours: bool = False
    """Not in the paper."""
    seconds: float | None = None
    """About how long one run takes: the longest are begun first, and the time left is guessed from it; None: not known."""
    gigabytes: float = 0.5
    """About how much memory one run takes at most: too large ones are not run side by side."""

    @property
    def key(self) -> str:
        """The colour key."""
        return self.colour or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One set of axes: a domain, and the agents that learn in it.

    >>> maze = Panel(name="maze", domain="maze-5x5", lines=(Line(name="1-pdRM", agent="q", k="1"),))
    >>> [spec.seed for spec in maze.specs(maze.lines[0], seeds=(3, 14))]
    [3, 14]
    >>> Panel(name="mine", domain="maze-5x5", machine="treasure-maze", lines=maze.lines).achieved()
    ('home', 'lost')
    """

    name: str
    domain: str | FiniteDomain
    """A name of the catalogue, the path of a file, or a domain."""
    lines: tuple[Line, ...]
    title: str = ""
    figure: str = ""
    """Where the paper shows it."""
    machine: MachineLike | None = None
    """A machine, its text, the path of its file, or its name in the catalogue; None: the catalogue's for this domain. A file is
    read when the panel is made, a faulty one refused; the panel keeps the text."""
    success: tuple[str, ...] = ()
    """The final machine states that mean the task was achieved; none given: all of them."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For all lines, unless a line says otherwise."""

    def __post_init__(self) -> None:
        if self.machine is not None:
            object.__setattr__(self, "machine", machine_text(self.machine))

    @property
    def text(self) -> str | None:
        """The machine's text; None: the catalogue's for this domain."""
        return None if self.machine is None else str(self.machine)

    def world(self) -> FiniteDomain:
        """The domain."""
        if isinstance(self.domain, FiniteDomain):
            return self.domain
        return _of_the_catalogue(self.domain) if self.domain in domain_names() else find_domain(self.domain)

    def line(self, name: str) -> Line:
        """The line of this name."""
        return next(line for line in self.lines if line.name == name)

    def specs(self, line: Line, seeds: Sequence[int]) -> list[RunSpec]:
        """The runs of a line, one a seed."""
        given = {**self.settings, **line.settings}
        if isinstance(self.domain, str) and self.domain in domain_names():
            name, own, settings = self.domain, None, settings_for(self.domain, line.agent, given)
        else:
            own = self.world()
            name, settings = own.name, settings_for("", line.agent, given)
        return [RunSpec(name, line.agent, line.k, settings, seed, self.text, own) for seed in seeds]

    def achieved(self) -> tuple[str, ...]:
        """The final machine states that mean success; one that the machine does not have is refused."""
        machine = machine_for(self.world(), "q", self.text)
        for state in self.success:
            if state not in machine.final:
                fault = f"`{state}` is no final state of machine `{machine.name}`"
                raise BadStudy(fault, fix=did_you_mean(state, machine.final))
        return self.success or machine.final


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Panels that belong together, and their seeds.

    >>> line = Line(name="1-pdRM", agent="q", k="1", settings={"episodes": 200})
    >>> study = Study(name="mine", panels=(Panel(name="letter", domain="letter", lines=(line,)),), seeds=(0, 1))
    >>> [spec.seed for _, _, spec in study.runs()]
    [0, 1]
    """

    name: str
    panels: tuple[Panel, ...]
    title: str = ""
    figure: str = ""
    """Where the paper shows all panels in one plot, if it does: a colour an agent, a line style a panel."""
    seeds: tuple[int, ...] = TEN_SEEDS

    def __post_init__(self) -> None:
        _distinct("panels", [panel.name for panel in self.panels])
        for panel in self.panels:
            _distinct(f"lines of panel `{panel.name}`", [line.name for line in panel.lines])
        if len(self.seeds) > MOST_SEEDS:
            raise too_many_seeds(len(self.seeds))
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise BadStudy(f"the seeds are {list(self.seeds)}", fix="give different whole numbers from 0 on")

    @property
    def of_the_paper(self) -> bool:
        """Whether the paper shows it."""
        return bool(self.figure) or any(panel.figure for panel in self.panels)

    def runs(self) -> Iterator[tuple[Panel, Line, RunSpec]]:
        """Every run of the study."""
        for panel in self.panels:
            for line in panel.lines:
                for spec in panel.specs(line, self.seeds):
                    yield panel, line, spec

    def check(self) -> None:
        """Raise what is wrong with a panel or a line, before anything runs: each line's first run is built."""
        for panel in self.panels:
            panel.achieved()
            for line in panel.lines:
                panel.specs(line, self.seeds[:1])[0].training()

    def seeded(self, count: int | None) -> Study:
        """The same study with the first so many of its seeds, or with more of the same kind."""
        if count is None:
            return self
        if count < 1:
            raise BadStudy(f"{count} seeds", fix="give a whole number from 1 on, such as --seeds 5")
        if count > MOST_SEEDS:
            raise too_many_seeds(count)
        more = (seed for seed in range(count + len(self.seeds)) if seed not in self.seeds)
        return replace(self, seeds=(*self.seeds, *more)[:count])


def too_many_seeds(count: int) -> BadStudy:
    """What is said of so many."""
    return BadStudy(f"{count:,} seeds are too many", fix=f"give at most {MOST_SEEDS:,}, such as --seeds 5")


@cache
def _of_the_catalogue(name: str) -> FiniteDomain:
    """Built once: the large mazes take a second."""
    return domain(name)


def _distinct(what: str, found: list[str]) -> None:
    """Raise unless there are some, all named and all differently."""
    if not found:
        raise BadStudy(f"there are no {what}", fix="give at least one")
    if not all(found) or len(set(found)) < len(found):
        raise BadStudy(f"the {what} are called {found}", fix="give each a name of its own")


# --- Which studies a folder is about: kept beside the runs, so that their tables, curves and page can be made again from there.
#
# Domains of one's own are not in it: each run's folder has its own.

STUDIES = "studies.json"
PANEL = ("name", "title", "figure")
LINE = ("name", "agent", "k", "colour", "ours", "seconds", "gigabytes")


def keep_studies(studies: Sequence[Study], folder: Path, store: Store) -> None:
    """Write what the studies are. The paper's are known without: what is kept of earlier ones then goes."""
    if all(study.of_the_paper for study in studies):
        (folder / STUDIES).unlink(missing_ok=True)
        return
    record = [_study(study, store) for study in studies]
    write_atomically(folder / STUDIES, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def kept_studies(folder: Path, store: Store) -> list[Study]:
    """The studies kept in a folder, as far as their domains are there; none: nothing is kept."""
    path = folder / STUDIES
    if not path.exists():
        return []
    try:
        found = [_read_study(record, store) for record in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PdrmError) as error:
        raise BadRunFolder(f"{path} is damaged: {error}", fix="pdrm run STUDY writes it again") from error
    return [study for study in found if study is not None]


def _study(study: Study, store: Store) -> dict[str, Any]:
    panels = [_panel(panel, study.seeds, store) for panel in study.panels]
    own = {"name": study.name, "title": study.title, "figure": study.figure, "seeds": study.seeds}
    return {**own, "panels": panels}


def _panel(panel: Panel, seeds: Sequence[int], store: Store) -> dict[str, Any]:
    """One's own domain (None here) is that of the panel's runs, whose folders are named."""
    specs = {line.name: panel.specs(line, seeds) for line in panel.lines}
    settings = {name: asdict(found[0].settings) for name, found in specs.items()}
    first = next(iter(specs.values()))[0]
    return {
        **{name: getattr(panel, name) for name in PANEL},
        "domain": first.domain if first.own is None else None,
        "machine": panel.text,
        "success": panel.success,
        "lines": [
            {**{name: getattr(line, name) for name in LINE}, "settings": settings[line.name]} for line in panel.lines
        ],
        "runs": [store.folder(spec).name for found in specs.values() for spec in found],
    }


def _read_study(record: dict[str, Any], store: Store) -> Study | None:
    found = [_read_panel(panel, store) for panel in record.pop("panels")]
    panels = tuple(panel for panel in found if panel is not None)
    return Study(panels=panels, **{**record, "seeds": tuple(record["seeds"])}) if panels else None


def _read_panel(record: dict[str, Any], store: Store) -> Panel | None:
    runs, domain = record.pop("runs"), record.pop("domain")
    if domain is None:
        at = next((store.root / name for name in runs if (store.root / name / DOMAIN).exists()), None)
        domain = None if at is None else spec_of(at).own
    if domain is None:
        return None
    lines = tuple(Line(**line) for line in record.pop("lines"))
    return Panel(domain=domain, lines=lines, **{**record, "success": tuple(record["success"])})
