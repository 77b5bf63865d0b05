"""The agent protocol: the interface of agents, learners and policies. No inheritance is needed.

An agent is settings. Its learner trains on one task with one seed, and its policy acts. Optional
capabilities are separate protocols below. `ThirdPartyAgent` adapts agents from outside pdrm: their
length of training and their identity.
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
    EVALUATIONS_PER_RUN,
    PAPER_SETTINGS,
    SOURCE,
    TABULAR_DEFAULTS,
    BuiltInAgent,
    JsonObject,
    Settings,
    check_count,
    check_known,
    field_values,
    to_json_value,
)
from pdrm.task import Task

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Texts = npt.NDArray[np.str_]
    Flags = npt.NDArray[np.bool_]


@runtime_checkable
class Agent(Protocol):
    """Frozen settings.

    A run reads `k`, `episodes` or `total_timesteps`, `test_every` and `test_episodes` if they
    exist.
    """

    @property
    def name(self) -> str:
        """The name in tables, plots and folders."""

    def learner(self, task: Task, seed: int, /) -> Learner:
        """Return a learner before its first step."""


@dataclass(frozen=True, slots=True)
class Until:
    """The point at which a learner can stop: a number of episodes or environment steps in total."""

    episodes: int | None = None
    steps: int | None = None

    def reached(self, learner: Learner) -> bool:
        """Return True if the learner has trained that far."""
        if self.episodes is not None and learner.episodes < self.episodes:
            return False
        return self.steps is None or learner.steps >= self.steps


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationResult:
    """The results of E episodes without exploration."""

    returns: Floats
    """[E]"""
    steps: Ints
    """[E]: their lengths."""
    ends: Texts
    """[E]: the last machine states."""
    discounted: Floats | None = None
    """[E]: the discounted returns, or None in evaluations during training."""
    truncated: Flags | None = None
    """[E]: True if a limit ended the episode, or None in evaluations during training."""
    stack_full: Flags | None = None
    """[E]: True if a full stack ended the episode. Only for networks."""


@runtime_checkable
class Learner(Protocol):
    """An agent in training. It counts its environment steps and its episodes."""

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""

    @property
    def episodes(self) -> int:
        """Training episodes so far."""

    def advance(self, until: Until, /) -> None:
        """Train until `until.reached(self)`, then finish the episode, rollout or update."""

    def policy(self) -> Policy:
        """The present policy, without exploration."""


@runtime_checkable
class Policy(Protocol):
    """Acts on the observations of `task.env(k=…)`."""

    def act(self, observation: Any, info: Any, /) -> Any:
        """The action. `info["machine"]` contains the machine's state and the whole stack."""


# --- Optional capabilities


@runtime_checkable
class Resumable(Protocol):
    """A learner that can be saved: a stopped run continues, and its folder contains its policy."""

    def save(self) -> Arrays:
        """The complete state of the learner as arrays, including its random generator."""

    def load(self, arrays: Arrays, /) -> None:
        """Continue from the result of `save`."""


@runtime_checkable
class SelfEvaluating(Protocol):
    """A learner with its own, fast evaluation (kernels, JAX)."""

    def test(self, episodes: int, seed: int, /) -> EvaluationResult:
        """Episodes without exploration."""


@runtime_checkable
class StatefulPolicy(Protocol):
    """A policy with a memory, such as the option that it follows or the state of an LSTM."""

    def reset(self) -> None:
        """Reset the memory at the start of an episode."""


@runtime_checkable
class SavablePolicy(Protocol):
    """A policy that can be saved although its learner cannot. Its agent is a `PolicyLoader`."""

    def arrays(self) -> Arrays:
        """The parameters of the policy."""


@runtime_checkable
class PolicyLoader(Protocol):
    """An agent that restores a `SavablePolicy` from its arrays."""

    def load_policy(self, task: Task, arrays: Arrays, /) -> Policy:
        """The policy with these parameters."""


class BuiltInLearner(ABC):
    """Base class of the built-in learners.

    They report statistics, and save their policy with the spec.
    """

    @abstractmethod
    def facts(self) -> dict[str, float]:
        """Statistics of the run."""

    @abstractmethod
    def policy(self, about: JsonObject | None = None) -> Any:
        """The present policy.

        Args:
            about: JSON values that are saved with it.
        """

    def save_policy(self, path: Path, about: JsonObject) -> Fingerprint:
        """Write the policy."""
        fingerprint: Fingerprint = self.policy(about).save(path)
        return fingerprint


# --- Third-party agents

SCHEDULE = ("episodes", "total_timesteps", "test_every", "test_episodes")


@dataclass(frozen=True, slots=True)
class ThirdPartyAgent:
    """A third-party agent, and its length of training."""

    deep: ClassVar[bool] = False
    """Each run is trained separately, as for tables."""

    agent: Agent
    episodes: int | None = None
    """Training episodes, unless `total_timesteps` is given."""
    total_timesteps: int | None = None
    """Environment steps of training."""
    test_every: int | None = None
    """Training between two evaluations (default: a twentieth)."""
    test_episodes: int = 10
    """Episodes without exploration per evaluation."""
    identity: JsonObject = field(init=False, compare=False)
    """The class, a hash of its source, and its fields.

    Computed once, because another process may import a different source.
    """

    def __post_init__(self) -> None:
        from pdrm.source_hash import hash_source

        kind = type(self.agent)
        identity = {
            "class": kind.__qualname__,
            SOURCE: hash_source(kind),
            "fields": to_json_value(field_values(self.agent)),
        }
        object.__setattr__(self, "identity", identity)

    def __repr__(self) -> str:
        return repr(self.agent)

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.agent.name

    @property
    def k(self) -> int | str:
        """Stack symbols that its policy sees (default: 1)."""
        return cast("int | str", field_values(self.agent).get("k", 1))

    @property
    def unit(self) -> str:
        """The unit of training."""
        return "episodes" if self.total_timesteps is None else "timesteps"

    @property
    def total(self) -> int:
        """The length of training, in this unit."""
        return int(self.total_timesteps or self.episodes or 0)

    def resolved(self, task: Task) -> ThirdPartyAgent:
        """The agent with a length of training: its own, or the task's."""
        if self.total:
            return self
        if not isinstance(task.domain, FiniteDomain):
            return replace(self, total_timesteps=DEEP_DEFAULTS["total_timesteps"])
        paper = PAPER_SETTINGS.get(task.name, {}) if task.catalogued else {}
        return replace(self, episodes={**TABULAR_DEFAULTS, **paper}["episodes"])

    @property
    def between_tests(self) -> int:
        """Training between two evaluations, in this unit."""
        return self.test_every or max(1, self.total // EVALUATIONS_PER_RUN)

    def record(self) -> JsonObject:
        """The identity of the agent and its schedule as JSON values."""
        return self.identity | {name: field_values(self)[name] for name in SCHEDULE}

    def changed(self, settings: Settings) -> ThirdPartyAgent:
        """The agent with another schedule and other values of its fields."""
        known = field_values(self.agent)
        check_known(self.name, settings, [*known, *SCHEDULE])
        schedule = {name: value for name, value in settings.items() if name in SCHEDULE}
        for name, value in schedule.items():
            check_count(name, value, 1)
        if "episodes" in schedule:
            schedule["total_timesteps"] = None
        changes = {name: value for name, value in settings.items() if name in known}
        agent: Any = copy(self.agent)
        has_fields = is_dataclass(agent)
        if has_fields:
            agent = replace(agent, **changes)
        else:
            vars(agent).update(changes)
        return replace(self, agent=agent, **schedule)


AnyAgent = BuiltInAgent | ThirdPartyAgent
"""The agent of a run."""
AgentLike = AnyAgent | Agent | str
"""A built-in or third-party agent, or the name of a built-in agent."""


def agent_for(agent: object, settings: Mapping[str, Any] | None = None) -> AnyAgent:
    """Return an agent with some settings changed, given a name or a built-in or third-party agent.

    >>> agent_for("cprm", {"k": 2})
    CpRM(k=2)
    """
    changes = dict(settings or {})
    if isinstance(agent, str):
        return kind_of(agent)(**changes)
    if isinstance(agent, ThirdPartyAgent):
        return agent.changed(changes)
    # First: a subclass of a built-in agent can be a third-party agent.
    if isinstance(agent, Agent) and not isinstance(agent, type):
        fields = field_values(agent)
        schedule = {name: value for name, value in fields.items() if name in SCHEDULE}
        return ThirdPartyAgent(agent, **schedule).changed(changes)
    if isinstance(agent, BuiltInAgent) and "__dataclass_fields__" in vars(type(agent)):
        return replace(agent, **changes)
    fix = 'give a name or settings, such as "ppo" or pdrm.CpRM(k=1), or an agent with a name and a `learner`; decorate a subclass of a built-in agent with @dataclass(frozen=True, kw_only=True)'
    raise WrongKind(f"{str(agent)[:60]} is not an agent", fix=fix)
