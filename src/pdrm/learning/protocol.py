"""The agent protocol: what a run asks of an agent, its learner and its policy. Nobody has to inherit from anything.

An agent is settings. Its learner trains on one task with one seed; its policy acts. Optional abilities are protocols of
their own below, used if they are implemented. Last comes how a run sees an agent of others: how long it trains, and what identifies it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, runtime_checkable

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import WrongKind
from pdrm.files import Arrays, Fingerprint
from pdrm.learning.agents import kind_of
from pdrm.learning.settings import (
    DEEP_DEFAULTS,
    PAPER_SETTINGS,
    SOURCE,
    TABULAR_DEFAULTS,
    TESTS_PER_RUN,
    BuiltInAgent,
    check_count,
    check_known,
    field_values,
    plain,
)
from pdrm.source_hash import hash_source
from pdrm.task import Task

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@runtime_checkable
class Agent(Protocol):
    """Frozen settings. `k`, `episodes` or `total_timesteps`, `test_every` and `test_episodes` are read if they are there."""

    @property
    def name(self) -> str:
        """The name in tables, plots and folders."""

    def learner(self, task: Task, seed: int, /) -> Learner:
        """Begin a run."""


@dataclass(frozen=True, slots=True)
class Until:
    """The point at which a learner may stop: after this many episodes or environment steps in all."""

    episodes: int | None = None
    steps: int | None = None

    def reached(self, learner: Learner) -> bool:
        """Return True if the learner has trained that far."""
        if self.episodes is not None and learner.episodes < self.episodes:
            return False
        return self.steps is None or learner.steps >= self.steps


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationResult:
    """E episodes without exploration: what they paid, how long they were, and in which machine states they ended."""

    returns: npt.NDArray[np.float64]
    steps: npt.NDArray[np.int64]
    ends: npt.NDArray[np.str_]
    """[E] each."""
    discounted: npt.NDArray[np.float64] | None = None
    """[E]: the discounted returns, if it is not one of a curve."""
    truncated: npt.NDArray[np.bool_] | None = None
    """[E]: the episodes that a limit ended, likewise."""
    stack_full: npt.NDArray[np.bool_] | None = None
    """[E]: those of networks that a full stack ended, likewise."""


@runtime_checkable
class Learner(Protocol):
    """A run under way. It counts its environment steps and its episodes."""

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""

    @property
    def episodes(self) -> int:
        """Training episodes so far."""

    def advance(self, until: Until, /) -> None:
        """Train at least until `until.reached(self)`, then to the end of the episode, rollout or update."""

    def policy(self) -> Policy:
        """The policy as it stands, without exploration."""


@runtime_checkable
class Policy(Protocol):
    """Acts on what `task.env(k=…)` shows."""

    def act(self, observation: Any, info: Any, /) -> Any:
        """The action. `info["machine"]` has the machine's state and the whole stack."""


# --- What is optional


@runtime_checkable
class Resumable(Protocol):
    """A learner that resumes: a run that was stopped continues, and its policy can be loaded from the run's folder."""

    def save(self) -> Arrays:
        """All that decides what comes next, the random generator included, as arrays."""

    def load(self, arrays: Arrays, /) -> None:
        """Continue from what `save` returned."""


@runtime_checkable
class SelfEvaluating(Protocol):
    """A learner with a fast evaluation of its own (kernels, JAX)."""

    def test(self, episodes: int, seed: int, /) -> EvaluationResult:
        """Episodes without exploration."""


@runtime_checkable
class StatefulPolicy(Protocol):
    """A policy with a memory: options under way, the state of an LSTM."""

    def reset(self) -> None:
        """Forget; an episode begins."""


@runtime_checkable
class SavablePolicy(Protocol):
    """A policy that can be kept although its learner cannot resume; its agent loads it with `load_policy`."""

    def arrays(self) -> Arrays:
        """The parameters."""


@runtime_checkable
class PolicyLoader(Protocol):
    """An agent that makes a policy from the arrays of a `SavablePolicy`."""

    def load_policy(self, task: Task, arrays: Arrays, /) -> Policy:
        """The policy with these parameters."""


class BuiltInLearner(ABC):
    """A learner of ours: it tells of the run, and writes its policy with the run's spec."""

    @abstractmethod
    def facts(self) -> dict[str, float]:
        """The state of the run in numbers."""

    @abstractmethod
    def policy(self, about: dict[str, Any] | None = None) -> Any:
        """The policy as it stands. about: JSON values that are saved with it."""

    def save_policy(self, path: Path, about: dict[str, Any]) -> Fingerprint:
        """Write the policy."""
        fingerprint: Fingerprint = self.policy(about).save(path)
        return fingerprint


# --- Agents of others

SCHEDULE = ("episodes", "total_timesteps", "test_every", "test_episodes")


@dataclass(frozen=True, slots=True)
class ThirdPartyAgent:
    """Somebody else's agent, and how long it trains."""

    deep: ClassVar[bool] = False
    """It is one job by itself, like a table."""

    agent: Agent
    episodes: int | None = None
    """Training episodes; or else `total_timesteps`."""
    total_timesteps: int | None = None
    """Environment steps of training."""
    test_every: int | None = None
    """Training between two evaluations (default: a twentieth)."""
    test_episodes: int = 10
    """Episodes without exploration per evaluation."""
    identity: dict[str, Any] = field(init=False, compare=False)
    """The class with a hash of its source, and the fields. Another process may see another source, so it travels with the agent."""

    def __post_init__(self) -> None:
        kind = type(self.agent)
        identity = {
            "class": kind.__qualname__,
            SOURCE: hash_source(kind),
            "fields": plain(field_values(self.agent)),
        }
        object.__setattr__(self, "identity", identity)

    def __repr__(self) -> str:
        return repr(self.agent)

    @property
    def name(self) -> str:
        """The agent's own."""
        return self.agent.name

    @property
    def k(self) -> int | str:
        """Stack symbols that its policy sees: its own `k`, or 1."""
        return cast("int | str", field_values(self.agent).get("k", 1))

    @property
    def unit(self) -> str:
        """The unit of its training."""
        return "episodes" if self.total_timesteps is None else "timesteps"

    @property
    def total(self) -> int:
        """The length of training, in its unit."""
        return int(self.total_timesteps or self.episodes or 0)

    def resolved(self, task: Task) -> ThirdPartyAgent:
        """The agent with a length of training."""
        if self.total:
            return self
        if not isinstance(task.domain, FiniteDomain):
            return replace(self, total_timesteps=DEEP_DEFAULTS["total_timesteps"])
        paper = PAPER_SETTINGS.get(task.name, {}) if task.catalogued else {}
        return replace(self, episodes={**TABULAR_DEFAULTS, **paper}["episodes"])

    @property
    def between_tests(self) -> int:
        """Training between two evaluations, in its unit."""
        return self.test_every or max(1, self.total // TESTS_PER_RUN)

    def record(self) -> dict[str, Any]:
        """What identifies the agent, and the length of training, as JSON values."""
        return self.identity | {name: field_values(self)[name] for name in SCHEDULE}

    def changed(self, given: dict[str, Any]) -> ThirdPartyAgent:
        """The agent with another length of training, and other values of its own fields."""
        known = field_values(self.agent)
        check_known(self.name, given, [*known, *SCHEDULE])
        schedule = {name: value for name, value in given.items() if name in SCHEDULE}
        for name, value in schedule.items():
            check_count(name, value, 1)
        if "episodes" in schedule:
            schedule["total_timesteps"] = None
        own = {name: value for name, value in given.items() if name in known}
        agent: Any = copy(self.agent)
        has_fields = is_dataclass(agent)
        if has_fields:
            agent = replace(agent, **own)
        else:
            vars(agent).update(own)
        return replace(self, agent=agent, **schedule)


AnyAgent = BuiltInAgent | ThirdPartyAgent
"""An agent that a run can have."""
AgentLike = AnyAgent | Agent | str
"""An agent, ours or anyone's, or the name of one of ours."""


def agent_for(agent: object, settings: Mapping[str, Any] | None = None) -> AnyAgent:
    """The agent that is meant, with some settings changed: a name, an agent of ours, or anyone's that follows the protocol.

    >>> agent_for("cprm", {"k": 2})
    CpRM(k=2)
    """
    given = dict(settings or {})
    if isinstance(agent, str):
        return kind_of(agent)(**given)
    if isinstance(agent, ThirdPartyAgent):
        return agent.changed(given)
    if isinstance(agent, Agent) and not isinstance(agent, type):  # a subclass of ours may be one
        own = {name: value for name, value in field_values(agent).items() if name in SCHEDULE}
        return ThirdPartyAgent(agent, **own).changed(given)
    if isinstance(agent, BuiltInAgent) and "__dataclass_fields__" in vars(type(agent)):
        return replace(agent, **given)
    fix = 'give a name or settings, such as "ppo" or pdrm.CpRM(k=1), or an agent with a name and a `learner`; decorate a subclass of one of ours with @dataclass(frozen=True, kw_only=True)'
    raise WrongKind(f"{str(agent)[:60]} is not an agent", fix=fix)
