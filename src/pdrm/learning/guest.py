"""Agents of others as a run sees them: how long they train, and what identifies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UnknownSetting, WrongKind, did_you_mean
from pdrm.learning.agents import kind_of
from pdrm.learning.protocol import Agent
from pdrm.learning.settings import TESTS_PER_RUN, BuiltInAgent, check_count, vars_of
from pdrm.learning.usual_settings import PAPER_SETTINGS
from pdrm.task import Task, hash_source

EPISODES, TIMESTEPS = 10_000, 100_000
"""The length of training if neither the agent nor the task says it: in finite domains, and in others."""
SCHEDULE = ("episodes", "total_timesteps", "test_every", "test_episodes")


@dataclass(frozen=True, slots=True)
class GuestAgent:
    """Somebody else's agent, and how long it trains."""

    agent: Agent
    episodes: int | None = None
    """Training episodes; or else `total_timesteps`."""
    total_timesteps: int | None = None
    """Environment steps of training."""
    test_every: int | None = None
    """Training between two evaluations (default: a twentieth)."""
    test_episodes: int = 10
    """Episodes without exploration per evaluation."""

    def __repr__(self) -> str:
        return repr(self.agent)

    @property
    def name(self) -> str:
        """The agent's own."""
        return self.agent.name

    @property
    def deep(self) -> bool:
        """False: it is one job by itself, like a table."""
        return False

    @property
    def k(self) -> int | str:
        """Stack symbols that its policy sees: its own `k`, or 1."""
        k: int | str = vars_of(self.agent).get("k", 1)
        return k

    @property
    def unit(self) -> str:
        """The unit of its training."""
        return "episodes" if self.total_timesteps is None else "timesteps"

    @property
    def total(self) -> int:
        """The length of training, in its unit."""
        return int(self.total_timesteps or self.episodes or 0)

    def settled(self, task: Task) -> GuestAgent:
        """The agent with a length of training."""
        if self.total:
            return self
        if not isinstance(task.domain, FiniteDomain):
            return replace(self, total_timesteps=TIMESTEPS)
        paper = PAPER_SETTINGS.get(task.name, {}) if task.catalogued else {}
        return replace(self, episodes=paper.get("episodes", EPISODES))

    @property
    def between_tests(self) -> int:
        """Training between two evaluations, in its unit."""
        return self.test_every or max(1, self.total // TESTS_PER_RUN)

    def record(self) -> dict[str, Any]:
        """The fields, the class with a hash of its source, and the length of training, as JSON values."""
        kind = type(self.agent)
        own = {name: _plain(value) for name, value in vars_of(self.agent).items()}
        schedule = {name: value for name, value in vars_of(self).items() if name in SCHEDULE}
        return {
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "source": hash_source(kind),
            "fields": own,
            **schedule,
        }


AnyAgent = BuiltInAgent | GuestAgent
"""An agent that a run can have."""
AgentLike = AnyAgent | Agent | str
"""An agent, ours or anyone's, or the name of one of ours."""


def _plain(value: Any) -> Any:
    """A JSON value, or a text of it."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def agent_for(agent: object, settings: Mapping[str, Any] | None = None) -> AnyAgent:
    """The agent that is meant, with some settings changed: a name, an agent of ours, or anyone's that follows the protocol.

    >>> agent_for("cprm", {"k": 2})
    CpRM(k=2)
    """
    given = dict(settings or {})
    if isinstance(agent, str):
        return kind_of(agent)(**given)
    if isinstance(agent, type):
        raise WrongKind(f"{agent.__name__} is a class, not yet an agent", fix="call it, with ()")
    if isinstance(agent, GuestAgent):
        return _change_guest(agent, given)
    if isinstance(agent, Agent):  # ours have no `learner`, a subclass of one may have it
        own = {name: value for name, value in vars_of(agent).items() if name in SCHEDULE}
        return _change_guest(GuestAgent(agent, **own), given)
    if isinstance(agent, BuiltInAgent) and "__dataclass_fields__" in vars(type(agent)):
        return replace(agent, **given)
    fix = 'give a name or settings, such as "ppo" or pdrm.CpRM(k=1), or an agent with a name and a `learner`; decorate a subclass of one of ours with @dataclass(frozen=True, kw_only=True)'
    raise WrongKind(f"{str(agent)[:60]} is not an agent", fix=fix)


def _change_guest(guest: GuestAgent, given: dict[str, Any]) -> GuestAgent:
    """Change the length of training, and fields of the agent if it is a dataclass."""
    agent: Any = guest.agent
    known = vars_of(agent)
    own = {name: value for name, value in given.items() if name in known}
    schedule = {name: value for name, value in given.items() if name in SCHEDULE}
    for name in given.keys() - own.keys() - schedule.keys():
        fault = f"agent `{guest.name}` has no setting `{name}`"
        raise UnknownSetting(fault, fix=did_you_mean(name, [*known, *SCHEDULE]))
    for name, value in schedule.items():
        check_count(name, value, 1)
    if own and not is_dataclass(agent):
        raise BadSetting(f"`{guest.name}` is not a dataclass", fix="make it with these settings")
    if "episodes" in schedule:
        schedule["total_timesteps"] = None
    return replace(guest, agent=replace(agent, **own) if own else agent, **schedule)
