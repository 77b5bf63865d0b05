"""Agents of others as a run sees them: how long they train, what identifies them, and which subclasses of ours are agents at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UnknownSetting, WrongKind, did_you_mean
from pdrm.learning.agents import AGENTS, kind_of
from pdrm.learning.protocol import Agent, Learner
from pdrm.learning.settings import BuiltInAgent, check_count, check_known
from pdrm.learning.usual_settings import PAPER_SETTINGS, TESTS_PER_RUN
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

    def learner(self, task: Task, seed: int, /) -> Learner:
        """Begin a run."""
        return self.agent.learner(task, seed)


AnyAgent = BuiltInAgent | GuestAgent


def vars_of(agent: object) -> dict[str, Any]:
    """The fields of an agent: of a dataclass, or what it was given."""
    if is_dataclass(agent):
        return {field.name: getattr(agent, field.name) for field in fields(agent)}
    return dict(vars(agent))


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
    if isinstance(agent, BuiltInAgent):
        if check_subclass(type(agent)):
            check_known(type(agent), given)
            return replace(agent, **given)
    elif not isinstance(agent, Agent):
        fix = 'give a name or settings, such as "ppo" or pdrm.CpRM(k=1), or an agent with a name and a `learner`'
        raise WrongKind(f"{str(agent)[:60]} is not an agent", fix=fix)
    own = {name: value for name, value in vars_of(agent).items() if name in SCHEDULE}
    return _change_guest(GuestAgent(agent, **own), given)


def _change_guest(guest: GuestAgent, given: dict[str, Any]) -> GuestAgent:
    """Change the length of training, and fields of the agent if it is a dataclass."""
    own = {name: value for name, value in given.items() if name in vars_of(guest.agent)}
    schedule = {name: value for name, value in given.items() if name in SCHEDULE}
    for name in given:
        if name not in own and name not in schedule:
            known = [*vars_of(guest.agent), *SCHEDULE]
            fault = f"agent `{guest.name}` has no setting `{name}`"
            raise UnknownSetting(fault, fix=did_you_mean(name, known))
    for name, value in schedule.items():
        check_count(name, value, 1)
    if own and not is_dataclass(guest.agent):
        raise BadSetting(f"`{guest.name}` is not a dataclass", fix="make it with these settings")
    agent: Any = guest.agent
    if "episodes" in schedule:
        schedule["total_timesteps"] = None
    return replace(guest, agent=replace(agent, **own) if own else agent, **schedule)


def check_subclass(kind: type[BuiltInAgent]) -> bool:
    """Return True for an agent of ours, or one with other values of what we read; False if it has a learner of its own.

    Raise if a subclass changes nothing that runs.
    """
    if kind.__module__.startswith("pdrm."):
        return True
    base = next(one for one in kind.__mro__ if one in AGENTS.values())
    changed = {name for one in kind.__mro__[: kind.__mro__.index(base)] for name in vars(one)}
    if "learner" in changed:
        return False
    own = {name for name in changed if not name.startswith("_")} - {"name"}
    unread = {name for name in own if not hasattr(base, name) or callable(vars(kind).get(name))}
    if unread or not own or "__dataclass_fields__" not in vars(kind):
        what = ", ".join(f"`{name}`" for name in sorted(unread or own)) or "nothing"
        fault = f"{kind.__name__} is a {base.__name__} that changes {what}, which no run reads"
        fix = "define `learner(self, task, seed)`; or, for other settings, decorate it with @dataclass(frozen=True, kw_only=True)"
        raise WrongKind(fault, fix=fix)
    return True
