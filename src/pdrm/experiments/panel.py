"""Panels and lines: what a figure shows. A panel is a task, a line an agent that learns it.

Nothing here runs. A line with a seed is a `RunSpec`, whose hash names the run; so two studies that ask for the same run share
it, and a study that is changed only runs what is new in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import inf, nan
from numbers import Real
from typing import Any

from pdrm.domains.paper_domains import names
from pdrm.domains.water import SIDES
from pdrm.errors import BadStudy
from pdrm.learning.agents import agent_for
from pdrm.learning.run_loop import RunSpec
from pdrm.learning.settings import Agent, check_agent
from pdrm.task import DomainLike, MachineLike, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An agent in a panel: one line of a figure.

    >>> Line(name="1-pdRM", agent="q", k=1).key
    '1-pdRM'
    """

    name: str
    """As the legend shows it."""
    agent: str | Agent
    """Its name (q, cprm, hrm, cra-q, cra-cql, ppo, rppo, dqn, sac), or all its settings."""
    k: int | str | None = None
    """Stack symbols that are seen; None: the agent's own."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the paper's settings for the domain."""
    colour: str = ""
    """Lines of equal colour keys are drawn in one colour, in every panel; nothing: the name is the key."""
    ours: bool = False
    """Not in the paper."""
    seconds: float | None = None
    """About how long one run takes: the longest are begun first (tables before networks), and the time left is guessed from it; None:
    not known."""
    gigabytes: float = 0.5
    """About how much memory one run takes at most: too large ones are not run side by side."""

    def __post_init__(self) -> None:
        check_texts(name=self.name, colour=self.colour)
        for name, value, least in (("seconds", self.seconds, 0), ("gigabytes", self.gigabytes, 0)):
            number = nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
            if not least <= number < inf and not (name == "seconds" and value is None):
                raise BadStudy(
                    f"{name} is {value!r}, but must be a number from {least} on",
                    fix=f"{name} = 1.0",
                )
        if not isinstance(self.settings, Mapping) or not isinstance(self.agent, str | Agent):
            raise BadStudy(
                f"line `{self.name}` has no agent, or settings that are no table", fix='agent = "q"'
            )

    @property
    def key(self) -> str:
        """The colour key."""
        return self.colour or self.name

    @property
    def agent_name(self) -> str:
        """The agent's name."""
        return self.agent if isinstance(self.agent, str) else self.agent.name


def name_agents(agents: Sequence[str | Agent]) -> list[str]:
    """What lines are called after their agents: `cprm`, or `cprm 1` where settings are given; where that is not enough, with what
    differs.

    >>> from pdrm.learning.agents import CpRM, QLearning
    >>> name_agents(["q", QLearning(k=2), CpRM(learning_rate=0.1), CpRM(learning_rate=0.5)])
    ['q', 'q 2', 'cprm 1, learning_rate=0.1', 'cprm 1, learning_rate=0.5']
    """
    names = [one if isinstance(one, str) else f"{check_agent(one).name} {one.k}" for one in agents]
    alike = {
        name: [one for one, other in zip(agents, names, strict=True) if other == name]
        for name in names
    }
    return [
        f"{name}{_describe_difference(one, alike[name])}"
        for one, name in zip(agents, names, strict=True)
    ]


def _describe_difference(agent: str | Agent, alike: Sequence[str | Agent]) -> str:
    """The settings of an agent in which some of these differ; nothing where none does."""
    if isinstance(agent, str):
        return ""
    names = [
        one.name for one in fields(agent) if len({getattr(other, one.name) for other in alike}) > 1
    ]
    return "".join(f", {name}={getattr(agent, name)}" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One set of axes: a task, and the agents that learn it.

    >>> maze = Panel(name="maze", domain="maze-5x5", lines=(Line(name="1-pdRM", agent="q", k=1),))
    >>> [spec.seed for spec in maze.specs(maze.lines[0], seeds=(3, 14))]
    [3, 14]
    >>> Panel(name="mine", domain="maze-5x5", machine="treasure-maze", lines=maze.lines).task.success
    ('home',)
    """

    name: str
    domain: DomainLike | Task
    """A task; or a domain, its name in the catalogue, or the path of its file."""
    lines: tuple[Line, ...]
    title: str = ""
    figure: str = ""
    """Where the paper shows it."""
    machine: MachineLike | None = None
    """A machine, its text, the path of its file, or its name in the catalogue; None: the one that the domain comes with."""
    success: str | tuple[str, ...] = ()
    """The final machine states that mean the task was achieved; none given: as `Task` has it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For all lines, unless a line says otherwise."""
    _task: list[Task] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_texts(name=self.name, title=self.title, figure=self.figure)
        for state in (self.success,) if isinstance(self.success, str) else self.success:
            check_texts(success=state)
        listed = isinstance(self.domain, str) and (self.domain in names() or self.domain in SIDES)
        if not listed or self.machine is not None:
            self.task

    @property
    def task(self) -> Task:
        """The task; that of a domain of the catalogue is built when it is first asked for."""
        if not self._task:
            if isinstance(self.domain, Task):
                self._task.append(self.domain)
            elif isinstance(self.domain, str) and self.machine is None and self.domain in names():
                self._task.append(_catalogue_task(self.domain, self.success))
            else:
                self._task.append(Task(self.domain, self.machine, success=self.success))
        return self._task[0]

    @property
    def heading(self) -> str:
        """Its title; without one its name, after that of the machine where it is only the domain's name, and the machine another."""
        if self.title or self.name != self.task.name or self.task.text is None:
            return self.title or self.name
        machine = self.task.machine.name
        return self.name if machine == self.name else f"{machine}, {self.name}"

    def line(self, name: str) -> Line:
        """The line of this name."""
        return next(line for line in self.lines if line.name == name)

    def agent(self, line: Line) -> Agent:
        """The agent of a line, with its settings for this task."""
        given = {**self.settings, **line.settings} | ({} if line.k is None else {"k": line.k})
        if isinstance(line.agent, Agent):
            return replace(line.agent, **given)
        return agent_for(self.task, line.agent, given)

    def specs(self, line: Line, seeds: Sequence[int]) -> list[RunSpec]:
        """The runs of a line, one per seed."""
        agent = self.agent(line)
        return [RunSpec(self.task, agent, seed) for seed in seeds]


def name_tasks(tasks: Sequence[Task]) -> list[str]:
    """What panels are called after their tasks: by the domain; where that is not enough, with the machine.

    >>> name_tasks([Task("letter"), Task("maze-5x5"), Task("letter", "letter-counting")])
    ['letter, letter', 'maze-5x5', 'letter-counting, letter']
    """
    names = [task.name for task in tasks]
    return [
        f"{task.machine.name}, {task.name}" if names.count(task.name) > 1 else task.name
        for task in tasks
    ]


@cache
def _catalogue_task(name: str, success: str | tuple[str, ...]) -> Task:
    """Built once: panels of several studies share it."""
    return Task(name, success=success)


def check_texts(**given: object) -> None:
    """Raise unless each is a text that a file can hold.

    >>> check_texts(title="a maze", name=3)
    Traceback (most recent call last):
    ...
    pdrm.errors.BadStudy: error[E1101]: name is 3, but must be a text
      fix: name = "letter"
    """
    for name, value in given.items():
        if not isinstance(value, str) or any("\ud800" <= sign <= "\udfff" for sign in value):
            raise BadStudy(f"{name} is {value!r}, but must be a text", fix=f'{name} = "letter"')


def check_distinct(what: str, found: list[str]) -> None:
    """Raise unless there are some, all named and all differently."""
    if not found:
        raise BadStudy(f"there are no {what}", fix="give at least one")
    twice = next((name for name in found if found.count(name) > 1), None)
    if not all(found) or twice is not None:
        fault = (
            f"one of the {what} has no name"
            if twice is None
            else f"two of the {what} are called `{twice}`"
        )
        raise BadStudy(fault, fix="leave one out, or give each a name of its own")
