"""A finite domain as a Gymnasium environment: the same states, actions, labels, rewards and probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, Label, pick
from pdrm.domains.paper_domains import domain as domain_called
from pdrm.domains.pictures import draw_state, draw_text, is_drawn
from pdrm.errors import BadAction, BadDomainSetting


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
        if render_mode not in (None, *self.metadata["render_modes"]):
            fault = f"there is no render mode `{render_mode}`"
            raise BadDomainSetting(fault, fix="use `ansi` or `rgb_array`")
        if isinstance(domain, str):
            self.domain = domain_called(domain, step_limit=step_limit)
        else:
            self.domain = domain if step_limit is None else replace(domain, step_limit=step_limit)
        self.render_mode = render_mode
        self.observation_space = Discrete(self.domain.states)
        self.action_space = Discrete(len(self.domain.actions))
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

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """The present state as text or as an RGB image, by the render mode; without one a warning, and None."""
        drawn = is_drawn(self.render_mode, "ansi", begun=self.state is not None)
        if not drawn or self.state is None:
            return None
        caption = f"step {self.steps}"
        if self._label is not None:
            events = [event for event in self.domain.events if event in self._label]
            caption += f"  {{{', '.join(events)}}}"
        if self.render_mode == "ansi":
            return draw_text(self.domain, self.state, caption)
        return draw_state(self.domain, self.state, [caption])
