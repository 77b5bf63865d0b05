"""Counterfactual experience for Stable-Baselines3: a replay buffer (`replay_buffer_class`) for DQN, SAC, TD3, DDPG,
and for sb3-contrib's QRDQN, TQC and CrossQ.

Rows are stored as they happened, with their labels. When a batch is sampled, rows are also seen with other machine
states and observed stacks: only the machine's part of an observation is replaced. A k-policy learns an average over the
stacks below the symbols that it sees. So what is seen, a machine state and the top symbols, is drawn uniformly, and
the rest of the stack as often as it was observed there.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.errors import BadSetting, MissingPackage, StackTooHigh, UndefinedMove
from pdrm.machines.guards import Label
from pdrm.machines.stack_bounds import symbols_that_matter
from pdrm.machines.tables import LazyTable
from pdrm.machines.transitions import Stack
from pdrm.product.observation import MACHINE, STACK, ShowsMachine
from pdrm.product.views import FullStack

try:
    from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
    from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples
except ImportError as error:
    fix = "pip install 'pdrm[sb3]'"
    raise MissingPackage("stable-baselines3 is not installed", fix=fix) from error

Array = npt.NDArray[Any]
Observations = Array | dict[str, Array]
"""Several rows: vectors, or the rows of each entry of a dictionary."""

if TYPE_CHECKING:
    import torch

ROUNDING = 1e-5
"""Relative difference of a reward that has been float32 from the one `pdrm.wrap` paid."""
MOST_KEPT = 2**20
"""Observed stacks of one view; beyond, every other one is forgotten."""
INSIDE = "put the wrapper around the bare environment, inside pdrm.wrap"


class CounterfactualReplayBuffer(DictReplayBuffer):
    """A replay buffer that adds counterfactual rows to each batch.

    Give it to an agent as `replay_buffer_class`. It reads the machine and the view from the observation space of
    `pdrm.wrap`, with `flatten=True` or without.

    Args:
        buffer_size: As for SB3's `ReplayBuffer`.
        observation_space: The space of an environment of `pdrm.wrap`.
        action_space: As for SB3's `ReplayBuffer`.
        device: As for SB3's `ReplayBuffer`.
        n_envs: As for SB3's `ReplayBuffer`.
        optimize_memory_usage: Not supported, because next observations are needed.
        handle_timeout_termination: As for SB3's `ReplayBuffer`.
        counterfactuals: Counterfactual rows for each sampled row. Rows for which the machine has no move, or
            the observation no room for its stack, are left out.
        enlarge: Add these rows to the batch, which then has up to (1 + counterfactuals) times `batch_size` rows.
            By default they are part of it, because QRDQN, TQC and CrossQ rely on the size of a batch.
        seed: The seed of what is drawn.

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
            fault = (
                f"the observation space, {observation_space}, does not say which machine it shows"
            )
            fix = (
                f"use the environment of pdrm.wrap; for wrappers that change observations, {INSIDE}"
            )
            raise BadSetting(fault, fix=fix)
        if counterfactuals < 0 or int(counterfactuals) != counterfactuals:
            fault = f"counterfactuals is {counterfactuals!r}, but must be a non-negative integer"
            raise BadSetting(fault, fix="counterfactuals=2")
        if optimize_memory_usage:
            fault = (
                "optimize_memory_usage keeps no next observations, and a part of them is replaced"
            )
            raise BadSetting(fault, fix="leave `optimize_memory_usage` out")
        self._stores_dict = isinstance(observation_space, spaces.Dict)
        # A buffer of vectors is stored as SB3's simple one stores it.
        parent: Any = DictReplayBuffer if self._stores_dict else ReplayBuffer
        parent.__init__(
            self,
            buffer_size,
            observation_space,
            action_space,
            device,
            n_envs,
            handle_timeout_termination=handle_timeout_termination,
        )
        self._window = observation_space.window
        self.machine, self.view = self._window.machine, self._window.view
        self.counterfactuals, self.enlarge = int(counterfactuals), enlarge
        self._machine_rows = LazyTable(self.machine)
        self._rng = np.random.default_rng(seed)
        shape = (self.buffer_size, self.n_envs)
        self.label = np.zeros(shape, np.int32)
        self.environment_reward = np.zeros(shape, np.float32)
        self.environment_terminated = np.zeros(shape, np.bool_)
        self._labels: list[Label] = []
        self._number: dict[Label, int] = {}
        # Stacks that agree on what one step can pop and on what counts below are one to a k-policy.
        self._kept = (
            None
            if isinstance(self.view, FullStack)
            else symbols_that_matter(self.machine, self.view.k)
        )
        self._same: dict[Stack, Stack] = {}
        self._observed: dict[tuple[str | None, Stack], list[Stack]] = {}
        """Observed stacks by machine state (None for any) and what is seen of them, once for each time."""
        self._seen: list[Stack] = []
        self.note(*self._machine_rows.begin()[:2])

    # --- What happened

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
        records = [self._read_record(info) for info in infos]
        shown = np.array(
            [self._window.numbers(record["state"], record["stack"]) for record in records]
        )
        if done.any():
            # VecNormalize hands over the last observation of an episode after a detour that is not exact.
            next_obs, over = deepcopy(next_obs), np.flatnonzero(done)
            self._replace(next_obs, over, shown[over])
        self._check_shown(next_obs, shown)
        for env, (record, info) in enumerate(zip(records, infos, strict=True)):
            if self.counterfactuals:
                self._check_outcome(record, float(reward[env]), bool(done[env]), info)
            label = record["label"]
            if label not in self._number:
                self._number[label] = len(self._labels)
                self._labels.append(label)
            self.label[self.pos, env] = self._number[label]
            self.environment_reward[self.pos, env] = record["environment_reward"]
            self.environment_terminated[self.pos, env] = record["environment_terminated"]
            self.note(record["state"], record["stack"])
            if done[env]:
                self.note(*self._machine_rows.begin()[:2])
        parent: Any = DictReplayBuffer if self._stores_dict else ReplayBuffer
        parent.add(self, obs, next_obs, action, reward, done, infos)

    def _read_record(self, info: dict[str, Any]) -> dict[str, Any]:
        """The entry `machine` of an info, about the machine of this buffer."""
        record: dict[str, Any] = info.get("machine", {})
        if record.get("shows") != self._window.fingerprint:
            shown = record.get("shows", "no machine")
            fault = (
                f"the environment shows {shown}; the buffer was made for {self._window.fingerprint}"
            )
            raise BadSetting(fault, fix="a new machine or k needs a new agent")
        return record

    def _check_outcome(
        self, record: dict[str, Any], reward: float, done: bool, info: dict[str, Any]
    ) -> None:
        """Raise if a wrapper outside has changed a reward or ended an episode: counterfactual rows would not have it."""
        paid, own = record["reward"], record["environment_reward"]
        if abs(reward - (paid + own)) > ROUNDING * (abs(paid) + abs(own)):
            fault = f"a wrapper outside pdrm.wrap made the reward {reward:g} of {paid + own:g}"
            raise BadSetting(fault, fix=f"{INSIDE}; or counterfactuals=0")
        ended = record["environment_terminated"] or record["state"] in self.machine.final
        if done and not ended and not info.get("TimeLimit.truncated"):
            fault = "a wrapper outside pdrm.wrap ended the episode, and counterfactual ones would not end"
            raise BadSetting(fault, fix=INSIDE)

    def _check_shown(self, seen: Observations, shown: Array) -> None:
        """Raise if the machine's part of the observations has been changed."""
        if isinstance(seen, dict):
            names = [name for name in (MACHINE, STACK) if name in seen]
            parts = [np.reshape(seen[name], (len(shown), -1)) for name in names]
            alike = np.array_equal(np.concatenate(parts, axis=1), shown)
        else:
            alike = np.array_equal(seen[:, -self._window.width :], self._window.one_hot(shown))
        if not alike:
            fault = "a wrapper outside pdrm.wrap changed the machine's part of the observation"
            raise BadSetting(fault, fix=INSIDE)

    def note(self, state: str, stack: Stack) -> None:
        """Count an observed configuration."""
        stack = self._same.setdefault(stack[: self._kept], stack[: self._kept])
        seen = self.view.of(stack)
        if (None, seen) not in self._observed:
            self._seen.append(seen)
        for key in ((state, seen), (None, seen)):
            below = self._observed.setdefault(key, [])
            below.append(stack)
            if len(below) > MOST_KEPT:
                del below[::2]

    # --- What would have happened

    def draw(self, count: int) -> list[tuple[str, Stack]]:
        """Configurations: what is seen uniformly, the rest as often as it was observed with it (if never with that
        state, with any)."""
        states = self._rng.integers(len(self.machine.states), size=count)
        tops = self._rng.integers(len(self._seen), size=count)
        drawn = []
        for number, top, share in zip(states, tops, self._rng.random(count), strict=True):
            state, seen = self.machine.states[number], self._seen[top]
            below = self._observed.get((state, seen)) or self._observed[None, seen]
            drawn.append((state, below[int(share * len(below))]))
        return drawn

    def imagine(self, steps: Array, envs: Array) -> tuple[Any, ...]:
        """Rows (before, action, after, terminated, reward) at these places, each with a configuration drawn at random."""
        rows, before, after, reward, final = [], [], [], [], []
        for row, (state, stack) in enumerate(self.draw(len(steps))):
            label = self._labels[self.label[steps[row], envs[row]]]
            try:
                there, above, paid = self._machine_rows.step(state, stack, label)
                shown = self._window.numbers(state, stack), self._window.numbers(there, above)
            except (UndefinedMove, StackTooHigh):
                continue
            rows.append(row)
            before.append(shown[0])
            after.append(shown[1])
            reward.append(paid)
            final.append(there in self.machine.final)
        steps, envs = steps[rows], envs[rows]
        real = self._rows(steps, envs)
        everyone = np.arange(len(rows))
        self._replace(real[0], everyone, np.array(before))
        self._replace(real[2], everyone, np.array(after))
        ended = self.environment_terminated[steps, envs] | np.array(final, np.bool_)
        paid_here = self.environment_reward[steps, envs] + np.array(reward, np.float32)
        return *real[:3], ended.astype(np.float32), paid_here

    def _get_samples(self, batch_inds: Array, env: Any = None) -> Any:
        """The rows with these numbers, each of one environment drawn at random, and counterfactual ones."""
        count, copies = len(batch_inds), self.counterfactuals
        envs = self._rng.integers(self.n_envs, size=count)
        drawn = count if self.enlarge else -(-count // (1 + copies))
        of = np.repeat(np.arange(drawn), copies)
        imagined = self.imagine(batch_inds[of], envs[of])
        if not self.enlarge:
            imagined = tuple(_first(part, count - drawn) for part in imagined)
            drawn = count - len(imagined[-1])  # more than before if the machine had no move
        real = self._rows(batch_inds[:drawn], envs[:drawn])
        seen, action, after, ended, reward = map(_join, real, imagined)
        data = (
            self._normalize_obs(seen, env),
            action,
            self._normalize_obs(after, env),
            ended.reshape(-1, 1),
            self._normalize_reward(reward.reshape(-1, 1), env),
        )
        samples = DictReplayBufferSamples if self._stores_dict else ReplayBufferSamples
        return samples(*map(self._as_tensors, data))

    # --- Rows

    def _replace(self, seen: Observations, rows: Array, shown: Array) -> None:
        """Write the machine's part into some rows of observations."""
        if not len(rows):
            return
        if isinstance(seen, dict):
            seen[MACHINE][rows] = shown[:, 0].reshape(seen[MACHINE][rows].shape)
            if STACK in seen:
                seen[STACK][rows] = shown[:, 1:]
        else:
            seen[rows, -self._window.width :] = self._window.one_hot(shown)

    def _rows(self, steps: Array, envs: Array) -> tuple[Any, ...]:
        """Copies of the rows (before, action, after, terminated, reward) at these places."""

        def at(stored: Any) -> Any:
            if isinstance(stored, dict):
                return {name: values[steps, envs] for name, values in stored.items()}
            return stored[steps, envs]

        ended = at(self.dones) * (1 - at(self.timeouts))
        before, after = at(self.observations), at(self.next_observations)
        return before, at(self.actions), after, ended, at(self.rewards)

    def _as_tensors(self, part: Any) -> Any:
        if isinstance(part, dict):
            return {name: self.to_torch(values) for name, values in part.items()}
        return self.to_torch(part)


def _first(rows: Any, most: int) -> Any:
    """The first rows, at most this many."""
    if isinstance(rows, dict):
        return {name: values[:most] for name, values in rows.items()}
    return rows[:most]


def _join(first: Any, second: Any) -> Any:
    """The rows of both, one after the other."""
    if isinstance(first, dict):
        return {name: np.concatenate([values, second[name]]) for name, values in first.items()}
    return np.concatenate([first, second])
