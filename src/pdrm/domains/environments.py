"""Domains as Gymnasium environments: a finite one with its states, actions, labels, rewards and probabilities, and WaterWorld on NumPy."""

from __future__ import annotations

from dataclasses import replace
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
from pdrm.errors import BadAction, BadDomainSetting, count_to_caller

Floats = npt.NDArray[np.float32]
DIRECTIONS = np.array(PUSHES, np.float32)


def check_mode(env: gymnasium.Env[Any, Any], mode: str | None) -> str | None:
    """The render mode, if the environment has it."""
    modes = env.metadata["render_modes"]
    if mode not in (None, *modes):
        fault = f"unknown render mode `{mode}`"
        raise BadDomainSetting(fault, fix=f"use `{'` or `'.join(modes)}`")
    return mode


def is_drawn(env: gymnasium.Env[Any, Any], *, begun: bool) -> bool:
    """Return True if an environment is to draw itself: it must have a render mode, and have been reset. As in Gymnasium's own
    environments, a warning says so if none is given."""
    if env.render_mode is None:
        example = env.metadata["render_modes"][0]
        said = f'nothing is drawn without a render_mode: give render_mode="{example}"'
        gymnasium.logger.warn(said, stacklevel=count_to_caller())
        return False
    if not begun:
        raise ResetNeeded("call reset before render")
    return True


class FiniteEnv(gymnasium.Env[np.int64, np.int64]):
    """The environment of a domain, or of a catalogue domain by name.

    `info["label"]` is the frozenset of events true after the step; at reset it is the label the domain emits then, or
    None if it emits none. `terminated` is true in terminal states only, `truncated` at the step limit.

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
        step_limit: int | None = None,
    ) -> None:
        if isinstance(domain, str):
            self.domain = domain_called(domain, step_limit=step_limit)
        else:
            self.domain = domain if step_limit is None else replace(domain, step_limit=step_limit)
        self.render_mode = check_mode(self, render_mode)
        self.observation_space = spaces.Discrete(self.domain.states)
        self.action_space = spaces.Discrete(len(self.domain.actions))
        self.state: int | None = None
        self.steps = 0
        self._label: Label | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode; the options are not used."""
        super().reset(seed=seed, options=options)
        arrays = self.domain.arrays
        start = pick(arrays.start_probability, self.np_random.random())
        label = int(arrays.start_label[start])
        self.state, self.steps = int(arrays.start_state[start]), 0
        self._label = None if label == NO_LABEL else self.domain.labels[label]
        return np.int64(self.state), {"label": self._label}

    def step(self, action: np.int64 | int) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """One step; the outcome is drawn with one number of the environment's generator."""
        if self.state is None:
            raise ResetNeeded("call reset before the first step")
        if not self.action_space.contains(action):
            fix = f"give a number: 0 to {len(self.domain.actions) - 1}"
            raise BadAction(f"`{self.domain.name}` has no action {action!r}", fix=fix)
        arrays = self.domain.arrays
        chances = arrays.probability[self.state, int(action)]
        place = self.state, int(action), pick(chances, self.np_random.random())
        self.state, self.steps = int(arrays.next[place]), self.steps + 1
        self._label = self.domain.labels[arrays.label[place]]
        terminated = bool(arrays.terminal[self.state])
        truncated = self.steps >= self.domain.step_limit and not terminated
        reward, info = float(arrays.reward[place]), {"label": self._label}
        return np.int64(self.state), reward, terminated, truncated, info

    def render(self) -> str | Pixels | None:
        """The present state as text or as an RGB image, by the render mode; without one a warning, and None."""
        drawn = is_drawn(self, begun=self.state is not None)
        if not drawn or self.state is None:
            return None
        caption = f"step {self.steps}"
        if self._label is not None:
            events = [event for event in self.domain.events if event in self._label]
            caption += f"  {{{', '.join(events)}}}"
        if self.render_mode == "ansi":
            return draw_text(self.domain, self.state, caption)
        return draw_state(self.domain, self.state, [caption])


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
        self.world = water.water_world(world) if isinstance(world, str) else world
        if continuous is not None:
            self.world = replace(self.world, continuous=continuous)
        if step_limit is not None:
            self.world = replace(self.world, step_limit=step_limit)
        self.render_mode = check_mode(self, render_mode)
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
        drawn = is_drawn(self, begun=self.water is not None)
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
