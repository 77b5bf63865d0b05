"""Counterfactual experience for Stable-Baselines3: a replay buffer (`replay_buffer_class`) for
DQN, SAC, TD3 and DDPG, and for sb3-contrib's QRDQN, TQC and CrossQ.

Transitions are stored with their labels. When a batch is sampled, some of them are replayed
with other machine states and observed stacks: only the machine's part of an observation is
replaced. A k-policy learns an average over the stacks below the visible symbols. So the
machine state and the top symbols are drawn uniformly, and the rest of the stack as often as
it was observed with them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.errors import BadSetting, MissingPackage, StackTooHigh, UndefinedMove
from pdrm.learning.settings import check_count
from pdrm.machines.guards import Label
from pdrm.machines.heads import relevant_depth
from pdrm.machines.tables import LazyTable
from pdrm.machines.transitions import Stack
from pdrm.product.observation import MACHINE, STACK, FullStack, ShowsMachine

try:
    from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
    from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples
except ImportError as error:
    fix = "pip install 'pdrm[sb3]'"
    raise MissingPackage("stable-baselines3 is not installed", fix=fix) from error

Array = npt.NDArray[Any]
Observations = Array | dict[str, Array]
"""Rows of observations: vectors, or a dictionary of rows."""

if TYPE_CHECKING:
    import torch

ROUNDING = 1e-5
"""Relative tolerance for a reward of `pdrm.wrap` that has been float32."""
INSIDE = "put the wrapper around the bare environment, inside pdrm.wrap"


class CounterfactualReplayBuffer(DictReplayBuffer):
    """A replay buffer that adds counterfactual rows to each batch.

    Give it to an agent as `replay_buffer_class`. It reads the machine and the view from the
    observation space of `pdrm.wrap`, with `flatten=True` or without.

    Args:
        buffer_size: As for SB3's `ReplayBuffer`.
        observation_space: The space of an environment of `pdrm.wrap`.
        action_space: As for SB3's `ReplayBuffer`.
        device: As for SB3's `ReplayBuffer`.
        n_envs: As for SB3's `ReplayBuffer`.
        optimize_memory_usage: Not supported, because next observations are needed.
        handle_timeout_termination: As for SB3's `ReplayBuffer`.
        counterfactuals: Counterfactual rows for each sampled row. Rows are left out if the machine
            has no move, or if the observation has no room for the stack.
        enlarge: Add these rows to the batch, which then has up to (1 + counterfactuals) times
            `batch_size` rows. By default they are part of it, because QRDQN, TQC and CrossQ rely on
            the size of a batch.
        seed: The seed of the random choices.

    >>> import pdrm
    >>> from pdrm.domains import FiniteEnv
    >>> from stable_baselines3 import DQN
    >>> env = pdrm.wrap(FiniteEnv("letter"), "letter", "info", k=1, flatten=True)
    >>> agent = DQN("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, device="cpu")
    >>> agent.replay_buffer.machine.name, agent.replay_buffer.counterfactuals
    ('letter', 2)
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        *,
        counterfactuals: int = 2,
        enlarge: bool = False,
        seed: int = 0,
    ) -> None:
        if not isinstance(observation_space, ShowsMachine):
            fault = f"{observation_space} does not contain a machine"
            fix = f"use an environment of pdrm.wrap; for a wrapper that changes observations, {INSIDE}"
            raise BadSetting(fault, fix=fix)
        check_count("counterfactuals", counterfactuals, 0)
        if optimize_memory_usage:
            fault = "optimize_memory_usage keeps no next observations, which are needed"
            raise BadSetting(fault, fix="leave `optimize_memory_usage` out")
        # Vectors are stored as in SB3's `ReplayBuffer`.
        self._by_name = isinstance(observation_space, spaces.Dict)
        parents: tuple[Any, Any] = (ReplayBuffer, DictReplayBuffer)
        self._parent = parents[self._by_name]
        self._parent.__init__(
            self,
            buffer_size,
            observation_space,
            action_space,
            device,
            n_envs,
            handle_timeout_termination=handle_timeout_termination,
        )
        self._window = observation_space.window
        self.machine = self._window.machine
        self.view = self._window.view
        self.counterfactuals = int(counterfactuals)
        self.enlarge = enlarge
        self._machine_rows = LazyTable(self.machine)
        self._rng = np.random.default_rng(seed)
        shape = (self.buffer_size, self.n_envs)
        self.label = np.empty(shape, object)
        self.environment_reward = np.zeros(shape, np.float32)
        self.environment_terminated = np.zeros(shape, np.bool_)
        self._same: dict[Label, Label] = {}
        """One object per label: environments can make a new one at every step."""
        self._depth = None
        """The number of top symbols that matter to the policy, or None for all."""
        if not isinstance(self.view, FullStack):
            self._depth = relevant_depth(self.machine, self.view.k)
        self._observed: dict[tuple[str, Stack], list[Stack]] = {}
        """Observed stacks by machine state and view, with repetitions."""
        self._anywhere: dict[Stack, list[Stack]] = {}
        """Observed stacks by view, with repetitions."""
        self.note(*self._machine_rows.begin()[:2])

    # --- Storing

    def add(
        self,
        obs: Observations,
        next_obs: Observations,
        action: Array,
        reward: Array,
        done: Array,
        infos: list[dict[str, Any]],
    ) -> None:
        """Store one step of every environment."""
        fingerprint = self._window.fingerprint
        shown: list[Any] = []
        changed = False
        for env, info in enumerate(infos):
            record: dict[str, Any] = info.get("machine", {})
            other = record.get("shows", "no machine")
            if fingerprint != other:
                fault = f"the environment shows {other}; the buffer was made for {fingerprint}"
                raise BadSetting(fault, fix="a new machine or k needs a new agent")
            if self.counterfactuals:
                changed |= self._is_changed(info, float(reward[env]), bool(done[env]))
            self.label[self.pos, env] = self._same.setdefault(record["label"], record["label"])
            self.environment_reward[self.pos, env] = record["environment_reward"]
            self.environment_terminated[self.pos, env] = record["environment_terminated"]
            shown.append(self._window.numbers(record["state"], record["stack"]))
            self.note(record["state"], record["stack"])
            if done[env]:
                self.note(*self._machine_rows.begin()[:2])
        exact = _each(np.copy, next_obs)
        self._show(exact, np.array(shown))
        # The last observation of an episode from VecNormalize is not exact.
        both = zip(self._parts(next_obs), self._parts(exact), strict=True)
        if changed or not all(np.array_equal(a[~done], b[~done]) for a, b in both):
            fault = "a wrapper outside pdrm.wrap changed a reward, the end of an episode, or the machine's part of the observation"
            raise BadSetting(fault, fix=f"{INSIDE}; or counterfactuals=0")
        self._parent.add(self, obs, exact, action, reward, done, infos)

    def _is_changed(self, info: dict[str, Any], reward: float, done: bool) -> bool:
        """Return True if a wrapper outside pdrm.wrap changed a reward or ended an episode.

        Counterfactual rows would not have that change.
        """
        record = info["machine"]
        machine_reward = record["reward"]
        env_reward = record["environment_reward"]
        tolerance = ROUNDING * (abs(machine_reward) + abs(env_reward))
        is_equal = abs(reward - (machine_reward + env_reward)) <= tolerance
        if not is_equal:
            return True
        has_ended = record["environment_terminated"] or record["state"] in self.machine.final
        return bool(done and not has_ended and not info.get("TimeLimit.truncated"))

    def note(self, state: str, stack: Stack) -> None:
        """Record an observed configuration."""
        tops = stack[: self._depth]
        seen = self.view.of(tops)
        self._observed.setdefault((state, seen), []).append(tops)
        self._anywhere.setdefault(seen, []).append(tops)

    # --- Counterfactuals

    def draw(self, count: int) -> list[tuple[str, Stack]]:
        """Random configurations.

        The machine state and the view are drawn uniformly, the rest of the stack as often as
        it was observed with them (or, if never with that state, with any state).
        """
        views = list(self._anywhere)
        state_numbers = self._rng.integers(len(self.machine.states), size=count)
        view_numbers = self._rng.integers(len(views), size=count)
        shares = self._rng.random(count)
        drawn = []
        for number, view, share in zip(state_numbers, view_numbers, shares, strict=True):
            state = self.machine.states[number]
            seen = views[view]
            stacks = self._observed.get((state, seen)) or self._anywhere[seen]
            drawn.append((state, stacks[int(share * len(stacks))]))
        return drawn

    def imagine(self, steps: Array, envs: Array) -> tuple[Any, ...]:
        """Rows (before, action, after, terminated, reward), each with a random configuration."""
        numbers = self._window.numbers
        final = self.machine.final
        rows = list[int]()
        shown = list[Any]()
        rewards = list[float]()
        ends = list[bool]()
        for row, (state, stack) in enumerate(self.draw(len(steps))):
            label = self.label[steps[row], envs[row]]
            with suppress(UndefinedMove, StackTooHigh):
                next_state, next_stack, reward = self._machine_rows.step(state, stack, label)
                shown.append((numbers(state, stack), numbers(next_state, next_stack)))
                rows.append(row)
                rewards.append(reward)
                ends.append(next_state in final)
        indices = steps[rows], envs[rows]
        before, action, after, *_ = self._rows(*indices)
        pairs = np.array(shown, int).reshape(-1, 2, 1 + self._window.slots)
        self._show(before, pairs[:, 0])
        self._show(after, pairs[:, 1])
        ended = self.environment_terminated[indices] | np.array(ends, bool)
        total = self.environment_reward[indices] + np.array(rewards, np.float32)
        return before, action, after, ended.astype(np.float32), total

    def _get_samples(self, batch_inds: Array, env: Any = None) -> Any:
        """The rows with these numbers, each of a random environment, and counterfactual ones."""
        count = len(batch_inds)
        copies = self.counterfactuals
        envs = self._rng.integers(self.n_envs, size=count)
        drawn = count if self.enlarge else -(-count // (1 + copies))
        source = np.repeat(np.arange(drawn), copies)
        imagined = self.imagine(batch_inds[source], envs[source])
        if not self.enlarge:
            limit = count - drawn
            imagined = _each(lambda values: values[:limit], imagined)
            drawn = count - len(imagined[-1])  # larger if the machine had no move
        real = self._rows(batch_inds[:drawn], envs[:drawn])
        seen, action, after, ended, reward = _each(
            lambda *both: np.concatenate(both), real, imagined
        )
        data = (
            self._normalize_obs(seen, env),
            action,
            self._normalize_obs(after, env),
            ended.reshape(-1, 1),
            self._normalize_reward(reward.reshape(-1, 1), env),
        )
        samples: Any = DictReplayBufferSamples if self._by_name else ReplayBufferSamples
        return samples(*_each(self.to_torch, data))

    # --- Rows

    def _parts(self, seen: Observations) -> list[Array]:
        """Views of the machine's part of observations, [rows, columns] each."""
        if not isinstance(seen, dict):
            return [seen[:, -self._window.width :]]
        return [
            seen[name].reshape(len(seen[name]), -1) for name in (MACHINE, STACK) if name in seen
        ]

    def _show(self, seen: Observations, numbers: Array) -> None:
        """Write the machine's part into observations."""
        if self._by_name:
            shown = [numbers[:, :1], numbers[:, 1:]]
        else:
            shown = [self._window.one_hot(numbers)]
        for part, values in zip(self._parts(seen), shown, strict=False):
            part[:] = values

    def _rows(self, steps: Array, envs: Array) -> tuple[Any, ...]:
        """Copies of the rows (before, action, after, terminated, reward) at these indices."""
        stored = (self.observations, self.actions, self.next_observations, self.dones, self.rewards)
        before, action, after, done, reward = _each(lambda values: values[steps, envs], stored)
        return before, action, after, done * (1 - self.timeouts[steps, envs]), reward


def _each(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to arrays, or to the arrays inside tuples and dictionaries."""
    first = trees[0]
    if isinstance(first, dict):
        return {name: _each(function, *(tree[name] for tree in trees)) for name in first}
    if isinstance(first, tuple):
        return tuple(_each(function, *parts) for parts in zip(*trees, strict=True))
    return function(*trees)
