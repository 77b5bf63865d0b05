"""A study is data: panels (a domain each) of lines (an agent each), and the seeds that all of them share.

Nothing here runs. A line with a seed is a `RunSpec` of the learner, whose hash names the run; so two studies that ask for the
same run share it, and a study that is changed only runs what is new in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pdrm.domains.catalogue import domain, names
from pdrm.domains.files import find_domain
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadStudy, did_you_mean
from pdrm.experiments.machine_text import machine_text
from pdrm.learning.tabular.agents import machine_for, settings_for
from pdrm.learning.tabular.run import RunSpec
from pdrm.product.any_machine import MachineLike

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
        return _of_the_catalogue(self.domain) if self.domain in names() else find_domain(self.domain)

    def line(self, name: str) -> Line:
        """The line of this name."""
        return next(line for line in self.lines if line.name == name)

    def specs(self, line: Line, seeds: Sequence[int]) -> list[RunSpec]:
        """The runs of a line, one a seed."""
        given = {**self.settings, **line.settings}
        if isinstance(self.domain, str) and self.domain in names():
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
