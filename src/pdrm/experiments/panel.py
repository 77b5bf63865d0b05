"""Panels and lines: what a figure shows. A panel is a task, a line an agent that learns it.

Nothing here runs. A line with a seed is a `RunSpec`, whose hash names the run; so two studies that ask for the same run share
it, and a study that is changed only runs what is new in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pdrm.errors import BadStudy
from pdrm.learning.protocol import AgentLike, AnyAgent, ThirdPartyAgent, agent_for
from pdrm.learning.run_folder import RunSpec
from pdrm.learning.settings import field_values
from pdrm.task import DomainLike, MachineLike, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLine:
    """An agent in a panel: one line of a figure.

    >>> AgentLine(name="1-pdRM", agent="q", k=1).key
    '1-pdRM'
    """

    name: str
    """Its name in the legend."""
    agent: AgentLike
    """Its name (q, cprm, hrm, cra-q, cra-cql, ppo, rppo, dqn, sac), all its settings, or an agent of your own."""
    k: int | str | None = None
    """Stack symbols that are seen (default: the agent's own)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the usual ones for the domain."""
    colour: str = ""
    """Lines of equal colour keys are drawn in one colour, in every panel (default: the name is the key)."""
    ours: bool = False
    """Not in the paper."""

    @property
    def key(self) -> str:
        """The colour key."""
        return self.colour or self.name

    @property
    def agent_name(self) -> str:
        """The agent's name."""
        return self.agent if isinstance(self.agent, str) else self.agent.name


def name_agents(agents: Sequence[AgentLike]) -> list[str]:
    """Lines are called after their agents: `cprm`, or `cprm 1` if settings are given; if that is not enough, with what differs.

    >>> from pdrm.learning.agents import CpRM, QLearning
    >>> name_agents(["q", QLearning(k=2), CpRM(learning_rate=0.1), CpRM(learning_rate=0.5)])
    ['q', 'q 2', 'cprm 1, learning_rate=0.1', 'cprm 1, learning_rate=0.5']
    """
    made = [agent_for(one) for one in agents]
    own = [field_values(one.agent if isinstance(one, ThirdPartyAgent) else one) for one in made]
    names = [
        given if isinstance(given, str) else f"{one.name} {one.k}"
        for given, one in zip(agents, made, strict=True)
    ]
    found = []
    for name, fields in zip(names, own, strict=True):
        alike = [other for other, called in zip(own, names, strict=True) if called == name]
        differs = [
            f", {setting}={value}"
            for setting, value in fields.items()
            if any(other.get(setting) != value for other in alike)
        ]
        found.append(name + "".join(differs))
    return found


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes: a task, and the agents that learn it.

    >>> maze = Panel(name="maze", domain="maze-5x5", lines=(AgentLine(name="1-pdRM", agent="q", k=1),))
    >>> [spec.seed for spec in maze.specs(maze.lines[0], seeds=(3, 14))]
    [3, 14]
    >>> Panel(name="mine", domain="maze-5x5", machine="treasure-maze", lines=maze.lines).task.success
    ('home',)
    """

    name: str
    domain: DomainLike | Task
    """A task; or a domain, its name in the catalogue, or the path of its file."""
    lines: tuple[AgentLine, ...]
    title: str = ""
    figure: str = ""
    """The paper's figure."""
    machine: MachineLike | None = None
    """A machine, its text, the path of its file, or its name in the catalogue (default: the one that the domain comes with)."""
    success: str | tuple[str, ...] = ()
    """The final machine states that mean success (default: as `Task` has it)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For all lines, unless a line says otherwise."""

    @cached_property
    def task(self) -> Task:
        """The task, built when it is first asked for."""
        if isinstance(self.domain, Task):
            return self.domain
        return Task(self.domain, self.machine, success=self.success)

    @property
    def heading(self) -> str:
        """Its title, or its name."""
        return self.title or self.name

    def line(self, name: str) -> AgentLine:
        """The line of this name."""
        return next(line for line in self.lines if line.name == name)

    def agent(self, line: AgentLine) -> AnyAgent:
        """The agent of a line, with its settings for this task."""
        given = {**self.settings, **line.settings}
        if line.k is not None:
            given["k"] = line.k
        return agent_for(line.agent, given).resolved(self.task)

    def specs(self, line: AgentLine, seeds: Sequence[int]) -> list[RunSpec]:
        """The runs of a line, one per seed."""
        agent = self.agent(line)
        return [RunSpec(self.task, agent, seed) for seed in seeds]


def name_tasks(tasks: Sequence[Task]) -> list[str]:
    """Panels are called after their domains; if that is not enough, with the machine.

    >>> name_tasks([Task("letter"), Task("maze-5x5"), Task("letter", "letter-counting")])
    ['letter, letter', 'maze-5x5', 'letter-counting, letter']
    """
    count = Counter(task.name for task in tasks)
    return [
        f"{task.machine.name}, {task.name}" if count[task.name] > 1 else task.name for task in tasks
    ]


def check_distinct(what: str, found: Sequence[str]) -> None:
    """Raise unless there are some, all named and all differently."""
    if not found or not all(found) or len(set(found)) < len(found):
        fix = "give at least one, each with a name of its own"
        raise BadStudy(f"the {what} are called {', '.join(found) or 'nothing'}", fix=fix)
