"""A world in JAX as a Gymnasium environment: for manual stepping, episodes moment by moment, and third-party agents."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from pdrm.domains.own_worlds import JaxWorld
from pdrm.product.jax_env.jax_domain import key_of, make_key, own_domain

Floats = npt.NDArray[np.float32]


class JaxWorldEnv(gymnasium.Env[Floats, Any]):
    """One environment of a `JaxWorld`; `info["label"]` is the set of events that are true after the step."""

    def __init__(self, world: JaxWorld) -> None:
        self.world, self.domain = world, own_domain(world)
        self._step, self._start = jax.jit(self.domain.step), jax.jit(self.domain.start)
        self.observation_space = spaces.Box(-np.inf, np.inf, (world.observation_size,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Box(-1, 1, (world.action_size,), np.float32)
        if world.actions:
            self.action_space = spaces.Discrete(world.actions)
        self.state: Any = None
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; the options are not used."""
        super().reset(seed=seed, options=options)
        self._key = make_key(int(self.np_random.integers(2**32)))
        self.state, _ = self._start(key_of(self._key, 0))
        self.steps = 0
        return self._observation(), {"label": None}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """One step."""
        if self.state is None:
            raise ResetNeeded("call reset before the first step")
        self.steps += 1
        stepped = self._step(self.state, action, key_of(self._key, self.steps))
        self.state = stepped.state
        terminated = bool(stepped.terminated)
        truncated = self.steps >= self.world.step_limit and not terminated
        info = {"label": self.domain.labels[int(stepped.label)]}
        return self._observation(), float(stepped.reward), terminated, truncated, info

    def _observation(self) -> Floats:
        return np.asarray(self.domain.observe(self.state), np.float32)
