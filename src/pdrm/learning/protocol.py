"""The agent protocol: what a run asks of an agent, its learner and its policy. Nobody has to inherit from anything.

An agent is settings. Its learner trains on one task with one seed; its policy acts. What is optional is a protocol of its own
below, and is used if it is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pdrm.files import Arrays

if TYPE_CHECKING:
    from pdrm.learning.curve import Test
    from pdrm.task import Task


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
        """All that is needed to continue, as arrays."""

    def load(self, arrays: Arrays, /) -> None:
        """Continue from what `save` returned."""


@runtime_checkable
class SelfTesting(Protocol):
    """A learner with a fast evaluation of its own (kernels, JAX)."""

    def test(self, episodes: int, seed: int, /) -> Test:
        """Episodes without exploration."""


@runtime_checkable
class Remembering(Protocol):
    """A policy with a memory: options under way, the state of an LSTM."""

    def reset(self) -> None:
        """Forget; an episode begins."""


@runtime_checkable
class KeptPolicy(Protocol):
    """A policy that can be kept although its learner cannot resume; its agent loads it with `load_policy`."""

    def arrays(self) -> Arrays:
        """The parameters."""


@runtime_checkable
class LoadsPolicy(Protocol):
    """An agent that makes a policy from the arrays of a `KeptPolicy`."""

    def load_policy(self, task: Task, arrays: Arrays, /) -> Policy:
        """The policy with these parameters."""
