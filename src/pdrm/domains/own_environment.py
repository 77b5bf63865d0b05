"""An environment of your own as the domain of a task: a function that makes it, and its labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gymnasium

EnvironmentLabels = Callable[..., Any] | str
"""As `labels` of `pdrm.wrap`."""


@dataclass(frozen=True, slots=True)
class OwnEnvironment:
    """A Gymnasium environment that is made when it is needed. It has no table, so only agents that step it can learn there."""

    name: str
    make: Callable[[], gymnasium.Env[Any, Any]]
    labels: EnvironmentLabels

    @property
    def step_limit(self) -> int:
        """The step limit of the environment's specification, or 0 if it has none."""
        env = self.make()
        limit = None if env.spec is None else env.spec.max_episode_steps
        env.close()
        return limit or 0
