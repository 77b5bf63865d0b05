"""Gymnasium environments for finite domains and for WaterWorld (NumPy)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from pdrm.domains import water
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, Label, pick
from pdrm.domains.paper_domains import domain as domain_called
from pdrm.domains.pictures import Pixels, draw_state, draw_text, draw_water
from pdrm.errors import BadAction, BadDomainSetting
from pdrm.wording import caller_stacklevel

Floats = npt.NDArray[np.float32]
DIRECTIONS = np.array(water.PUSHES, np.float32)


class DomainEnv(gymnasium.Env[Any, Any], ABC):
    """An environment with labelled steps and a step limit.

    `info["label"]` is the frozenset of events true after the step. At reset it is the label emitted
    there, or None. `truncated` is true at the step limit.
    """

    state: Any = None
    label: Label | None = None
    steps = 0

    def __init__(self, step_limit: int, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            fault = f"unknown render mode `{render_mode}`"
            raise BadDomainSetting(fault, fix=f"use `{'` or `'.join(modes)}`")
        self.step_limit = step_limit
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode. The options are not used."""
        super().reset(seed=seed, options=options)
        self.steps = 0
        self.begin()
        return self.observe(), {"label": self.label}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make a step, with random numbers from the environment's generator."""
        if self.state is None:
            raise ResetNeeded("call reset before the first step")
        space = self.action_space
        if isinstance(space, spaces.Discrete) and not space.contains(action):
            fix = f"give a number from 0 to {space.n - 1}"
            raise BadAction(f"unknown action {action!r}", fix=fix)
        reward, terminated = self.advance(action)
        self.steps += 1
        truncated = self.steps >= self.step_limit and not terminated
        return self.observe(), reward, terminated, truncated, {"label": self.label}

    def render(self) -> Any:
        """Render the state. Without a render mode, warn as Gymnasium's environments do."""
        if self.render_mode is None:
            example = "".join(self.metadata["render_modes"][:1])
            gymnasium.logger.warn(
                f'nothing is drawn without a render_mode: give render_mode="{example}"',
                stacklevel=caller_stacklevel(),
            )
            return None
        if self.state is None:
            raise ResetNeeded("call reset before render")
        return self.draw()

    @abstractmethod
    def begin(self) -> None:
        """Set the initial state and its label."""

    @abstractmethod
    def advance(self, action: Any) -> tuple[float, bool]:
        """Set the next state and its label; return the reward, and True if the environment ends."""

    @abstractmethod
    def observe(self) -> Any:
        """The observation of the state."""

    def draw(self) -> Any:
        """Draw the state as text or image (None for environments without render modes)."""
        return None


class FiniteEnv(DomainEnv):
    """The environment of a domain, or of a catalogue domain by name.

    `terminated` is true in terminal states only.

    >>> env = FiniteEnv("maze-5x5")
    >>> env.reset(seed=0)
    (np.int64(0), {'label': None})
    >>> state, reward, terminated, truncated, info = env.step(1)
    >>> int(state), reward, terminated, truncated, info["label"]
    (1, 0.0, False, False, frozenset({'d'}))
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        domain: FiniteDomain | str,
        render_mode: str | None = None,
    ) -> None:
        self.domain = domain_called(domain) if isinstance(domain, str) else domain
        super().__init__(self.domain.step_limit, render_mode)
        self.observation_space = spaces.Discrete(self.domain.states)
        self.action_space = spaces.Discrete(len(self.domain.actions))

    def begin(self) -> None:
        arrays = self.domain.arrays
        start = pick(arrays.start_probability, self.np_random.random())
        label = arrays.start_label[start]
        self.state = int(arrays.start_state[start])
        self.label = None if label == NO_LABEL else self.domain.labels[label]

    def advance(self, action: np.int64 | int) -> tuple[float, bool]:
        arrays = self.domain.arrays
        probability = arrays.probability[self.state, int(action)]
        index = (self.state, int(action), pick(probability, self.np_random.random()))
        self.state = int(arrays.next[index])
        self.label = self.domain.labels[arrays.label[index]]
        return float(arrays.reward[index]), bool(arrays.terminal[self.state])

    def observe(self) -> np.int64:
        return np.int64(self.state)

    def draw(self) -> str | Pixels:
        caption = f"step {self.steps}"
        if self.label is not None:
            events = [event for event in self.domain.events if event in self.label]
            caption += f"  {{{', '.join(events)}}}"
        if self.render_mode == "ansi":
            return draw_text(self.domain, self.state, caption)
        return draw_state(self.domain, self.state, [caption])


class WaterEnv(DomainEnv):
    """WaterWorld, as an object or by name. It emits no label at reset and never terminates.

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
        world: water.WaterWorld | str = "water-17",
        render_mode: str | None = None,
    ) -> None:
        self.world = water.water_world(world) if isinstance(world, str) else world
        super().__init__(self.world.step_limit, render_mode)
        # All numbers are scaled to [-1, 1], up to rounding.
        self.observation_space = spaces.Box(-1.01, 1.01, (water.OBSERVED,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(water.ACTIONS))
        if self.world.continuous:
            self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def begin(self) -> None:
        self.state = water.begin(self.world, self._numbers(water.START_NUMBERS), np)
        self.label = None

    def advance(self, action: Any) -> tuple[float, bool]:
        """Make a step. A continuous push is clipped to [-1, 1]."""
        push = self._clip(action) if self.world.continuous else DIRECTIONS[int(action)]
        numbers = self._numbers(water.STEP_NUMBERS)
        self.state, label = water.advance(self.world, self.state, push, numbers, np)
        self.label = water.LABELS[int(label)]
        return 0.0, False

    def observe(self) -> Floats:
        observation: Floats = water.observe(self.world, self.state, np)
        return observation

    def draw(self) -> Pixels:
        return draw_water(self.world, self.state, [f"step {self.steps}"])

    def _numbers(self, count: int) -> Floats:
        return self.np_random.random(count, dtype=np.float32)

    def _clip(self, action: Any) -> Floats:
        push = np.asarray(action, np.float32)
        if push.shape != (2,) or not np.isfinite(push).all():
            raise BadAction(f"{action!r} is not a push", fix="give two numbers in [-1, 1]")
        return np.clip(push, -1, 1)
