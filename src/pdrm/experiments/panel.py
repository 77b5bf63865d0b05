"""The panels and lines of a figure. A panel is a task, a line is an agent that learns it.

Nothing here runs. A line with a seed is a `RunSpec`, whose hash names the run. So studies share
equal runs, and a changed study only runs what is new.
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
    """The name in the legend."""
    agent: AgentLike
    """A name (`pdrm agents` lists them), an agent with all its settings, or your own agent."""
    k: int | str | None = None
    """Number of stack symbols that the policy sees (default: the agent's)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the defaults for the domain."""
    colour: str = ""
    """Lines with equal colour keys have the same colour in all panels (default: the name)."""
    ours: bool = False
    """Not in the paper."""

    @property
    def key(self) -> str:
        """The colour key."""
        return self.colour or self.name

    @property
    def agent_name(self) -> str:
        """The name of the agent, also if `agent` is an object."""
        return self.agent if isinstance(self.agent, str) else self.agent.name


def name_agents(agents: Sequence[AgentLike]) -> list[str]:
    """Name lines after their agents: `cprm`, or `cprm 1` with settings. Add differing settings to
    names that clash.

    >>> from pdrm.learning.agents import CpRM, QLearning
    >>> name_agents(["q", QLearning(k=2), CpRM(learning_rate=0.1), CpRM(learning_rate=0.5)])
    ['q', 'q 2', 'cprm 1, learning_rate=0.1', 'cprm 1, learning_rate=0.5']
    """
    names = []
    settings = []
    for like in agents:
        agent = agent_for(like)
        names.append(like if isinstance(like, str) else f"{agent.name} {agent.k}")
        settings.append(field_values(agent.agent if isinstance(agent, ThirdPartyAgent) else agent))
    unique_names = []
    for name, fields in zip(names, settings, strict=True):
        same_name = [
            other for other, other_name in zip(settings, names, strict=True) if other_name == name
        ]
        differing = [
            f", {setting}={value}"
            for setting, value in fields.items()
            if any(other.get(setting) != value for other in same_name)
        ]
        unique_names.append(name + "".join(differing))
    return unique_names


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes: a task, and the agents that learn it.

    >>> line = AgentLine(name="1-pdRM", agent="q", k=1)
    >>> maze = Panel(name="maze", domain="maze-5x5", lines=(line,))
    >>> [spec.seed for spec in maze.specs(line, seeds=(3, 14))]
    [3, 14]
    >>> maze.task.success
    ('home',)
    """

    name: str
    domain: DomainLike | Task
    """A task, or a domain, its name in the catalogue, or the path of its file."""
    lines: tuple[AgentLine, ...]
    title: str = ""
    figure: str = ""
    """The paper's figure."""
    machine: MachineLike | None = None
    """A machine, its text, the path of its file, or its name in the catalogue (default: the
    domain's machine)."""
    success: str | tuple[str, ...] = ()
    """The final machine states that mean success (default: as for `Task`)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all lines. The settings of a line have priority."""

    @cached_property
    def task(self) -> Task:
        """The task, built on first use."""
        if isinstance(self.domain, Task):
            return self.domain
        return Task(self.domain, self.machine, success=self.success)

    @property
    def heading(self) -> str:
        """The title, or the name if it has none."""
        return self.title or self.name

    def line(self, name: str) -> AgentLine:
        """The line with this name."""
        return next(line for line in self.lines if line.name == name)

    def agent(self, line: AgentLine) -> AnyAgent:
        """The agent of a line, with its settings for this task."""
        settings = {**self.settings, **line.settings}
        if line.k is not None:
            settings["k"] = line.k
        return agent_for(line.agent, settings).resolved(self.task)

    def specs(self, line: AgentLine, seeds: Sequence[int]) -> list[RunSpec]:
        """The runs of a line, one per seed."""
        agent = self.agent(line)
        return [RunSpec(self.task, agent, seed) for seed in seeds]


def name_tasks(tasks: Sequence[Task]) -> list[str]:
    """Name panels after their domains, and also after their machines if names clash.

    >>> name_tasks([Task("letter"), Task("maze-5x5"), Task("letter", "letter-counting")])
    ['letter, letter', 'maze-5x5', 'letter-counting, letter']
    """
    count = Counter(task.name for task in tasks)
    return [
        f"{task.machine.name}, {task.name}" if count[task.name] > 1 else task.name for task in tasks
    ]


def check_distinct(what: str, names: Sequence[str]) -> None:
    """Raise unless there are names, none empty and none twice."""
    if not names or not all(names) or len(set(names)) < len(names):
        fix = "give at least one, each with its own name"
        raise BadStudy(f"the names of the {what} are: {', '.join(names) or 'none'}", fix=fix)
