"""WaterWorld as a Gymnasium environment, on NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from pdrm.domains import water
from pdrm.domains.pictures import Pixels, draw_water, is_drawn
from pdrm.domains.water import (
    ACTIONS,
    LABELS,
    OBSERVED,
    PUSHES,
    START_NUMBERS,
    STEP_NUMBERS,
    Water,
    WaterWorld,
)
from pdrm.errors import BadAction, BadDomainSetting

Floats = npt.NDArray[np.float32]
DIRECTIONS = np.array(PUSHES, np.float32)


class WaterEnv(gymnasium.Env[Floats, Any]):
    """WaterWorld, given as such or by name.

    `info["label"]` is the frozenset of events true after the step; nothing is emitted at reset. An episode is never
    `terminated` (a machine on top of it may end it), and `truncated` at the step limit.

    >>> env = WaterEnv("water-17")
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, info, env.action_space
    ((44,), {'label': None}, Discrete(5))
    >>> env.step(0)[1:]
    (0.0, False, False, {'label': frozenset()})
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(
        self,
        world: WaterWorld | str = "water-17",
        render_mode: str | None = None,
        continuous: bool | None = None,
        step_limit: int | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            fault = f"there is no render mode `{render_mode}`"
            raise BadDomainSetting(fault, fix="use `rgb_array`")
        self.world = water.water_world(world) if isinstance(world, str) else world
        if continuous is not None:
            self.world = replace(self.world, continuous=continuous)
        if step_limit is not None:
            self.world = replace(self.world, step_limit=step_limit)
        self.render_mode = render_mode
        # Everything is scaled to [-1, 1], up to rounding.
        self.observation_space = spaces.Box(-1.01, 1.01, (OBSERVED,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(ACTIONS))
        if self.world.continuous:
            self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.water: Water | None = None
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; the options are not used."""
        super().reset(seed=seed, options=options)
        self.water, self.steps = water.begin(self.world, self._numbers(START_NUMBERS), np), 0
        return self._observation(), {"label": None}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """One step; a push in any direction is clipped to [-1, 1]."""
        if self.water is None:
            raise ResetNeeded("call reset before the first step")
        self.water, label = water.advance(
            self.world, self.water, self._push(action), self._numbers(STEP_NUMBERS), np
        )
        self.steps += 1
        truncated = self.steps >= self.world.step_limit
        return self._observation(), 0.0, False, truncated, {"label": LABELS[int(label)]}

    def render(self) -> Pixels | None:
        """The box as an image; without a render mode a warning, and None."""
        drawn = is_drawn(self.render_mode, "rgb_array", begun=self.water is not None)
        if not drawn or self.water is None:
            return None
        return draw_water(self.world, self.water, [f"step {self.steps}"])

    def _numbers(self, count: int) -> Floats:
        return self.np_random.random(count, dtype=np.float32)

    def _observation(self) -> Floats:
        seen: Floats = water.observe(self.world, self.water, np)  # type: ignore[arg-type]  # called once there is one
        return seen

    def _push(self, action: Any) -> Floats:
        if self.world.continuous:
            push = np.asarray(action, np.float32)
            if push.shape != (2,) or not np.isfinite(push).all():
                raise BadAction(f"{action!r} is not a push", fix="give two numbers in [-1, 1]")
            return np.clip(push, -1, 1)
        if not self.action_space.contains(action):
            raise BadAction(
                f"WaterWorld has no action {action!r}", fix=f"actions: {' '.join(ACTIONS)}"
            )
        direction: Floats = DIRECTIONS[int(action)]
        return direction
