"""Counterfactual experience for Stable-Baselines3: a replay buffer (`replay_buffer_class`) for DQN, SAC, TD3, DDPG,
and for sb3-contrib's QRDQN, TQC and CrossQ.

Rows are stored as they happened, with their labels. When a batch is sampled, rows are also seen with other machine
states and observed stacks: only the machine's part of an observation is replaced. A k-policy learns an average over the
stacks below the symbols that it sees. So what is seen, a machine state and the top symbols, is drawn uniformly, and
the rest of the stack as often as it was observed there.
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
"""Several rows: vectors, or the rows of each entry of a dictionary."""

if TYPE_CHECKING:
    import torch

ROUNDING = 1e-5
"""Relative difference of a reward that has been float32 from the one `pdrm.wrap` paid."""
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
            fault = f"{observation_space} does not say which machine it shows"
            fix = f"use an environment of pdrm.wrap; of wrappers that change observations, {INSIDE}"
            raise BadSetting(fault, fix=fix)
        check_count("counterfactuals", counterfactuals, 0)
        if optimize_memory_usage:
            fault = "optimize_memory_usage keeps no next observations, which are needed"
            raise BadSetting(fault, fix="leave `optimize_memory_usage` out")
        # A buffer of vectors is stored as SB3's simple one stores it.
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
        self.machine, self.view = self._window.machine, self._window.view
        self.counterfactuals, self.enlarge = int(counterfactuals), enlarge
        self._machine_rows = LazyTable(self.machine)
        self._rng = np.random.default_rng(seed)
        shape = (self.buffer_size, self.n_envs)
        self.label = np.empty(shape, object)
        self.environment_reward = np.zeros(shape, np.float32)
        self.environment_terminated = np.zeros(shape, np.bool_)
        self._same: dict[Label, Label] = {}
        """Each label once: environments may make a new set at every step."""
        # Stacks that agree on what one step can pop and on what counts below are one to a k-policy.
        self._kept = None
        if not isinstance(self.view, FullStack):
            self._kept = relevant_depth(self.machine, self.view.k)
        self._observed: dict[tuple[str, Stack], list[Stack]] = {}
        """Observed stacks by machine state and what is seen of them, once for each time."""
        self._anywhere: dict[Stack, list[Stack]] = {}
        """The same in any machine state."""
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
        own, shown, changed = self._window.fingerprint, [], False
        for env, info in enumerate(infos):
            record: dict[str, Any] = info.get("machine", {})
            theirs = record.get("shows", "no machine")
            if own != theirs:
                fault = f"the environment shows {theirs}; the buffer was made for {own}"
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
        # VecNormalize hands over the last observation of an episode after a detour that is not exact.
        both = zip(self._parts(next_obs), self._parts(exact), strict=True)
        if changed or not all(np.array_equal(one[~done], other[~done]) for one, other in both):
            fault = "a wrapper outside pdrm.wrap changed a reward, the end of an episode, or the machine's part of the observation"
            raise BadSetting(fault, fix=f"{INSIDE}; or counterfactuals=0")
        self._parent.add(self, obs, exact, action, reward, done, infos)

    def _is_changed(self, info: dict[str, Any], reward: float, done: bool) -> bool:
        """Return True if a wrapper outside has changed a reward or ended an episode: counterfactual rows would not have it."""
        record = info["machine"]
        paid, own = record["reward"], record["environment_reward"]
        is_paid = abs(reward - (paid + own)) <= ROUNDING * (abs(paid) + abs(own))
        by_itself = record["environment_terminated"] or record["state"] in self.machine.final
        return not is_paid or (done and not by_itself and not info.get("TimeLimit.truncated"))

    def note(self, state: str, stack: Stack) -> None:
        """Count an observed configuration."""
        kept = stack[: self._kept]
        seen = self.view.of(kept)
        self._observed.setdefault((state, seen), []).append(kept)
        self._anywhere.setdefault(seen, []).append(kept)

    # --- What would have happened

    def draw(self, count: int) -> list[tuple[str, Stack]]:
        """Configurations: what is seen uniformly, the rest as often as it was observed with it (if never with that
        state, with any)."""
        every = list(self._anywhere)
        states = self._rng.integers(len(self.machine.states), size=count)
        tops = self._rng.integers(len(every), size=count)
        drawn = []
        for number, top, share in zip(states, tops, self._rng.random(count), strict=True):
            state, seen = self.machine.states[number], every[top]
            below = self._observed.get((state, seen)) or self._anywhere[seen]
            drawn.append((state, below[int(share * len(below))]))
        return drawn

    def imagine(self, steps: Array, envs: Array) -> tuple[Any, ...]:
        """Rows (before, action, after, terminated, reward) at these places, each with a configuration drawn at random."""
        numbers, final = self._window.numbers, self.machine.final
        rows, shown, rewards, ends = list[int](), list[Any](), list[float](), list[bool]()
        for row, (state, stack) in enumerate(self.draw(len(steps))):
            label = self.label[steps[row], envs[row]]
            with suppress(UndefinedMove, StackTooHigh):
                there, above, paid = self._machine_rows.step(state, stack, label)
                shown.append((numbers(state, stack), numbers(there, above)))
                rows.append(row)
                rewards.append(paid)
                ends.append(there in final)
        places = steps[rows], envs[rows]
        before, action, after, *_ = self._rows(*places)
        pairs = np.array(shown, int).reshape(-1, 2, 1 + self._window.slots)
        self._show(before, pairs[:, 0])
        self._show(after, pairs[:, 1])
        ended = self.environment_terminated[places] | np.array(ends, bool)
        reward = self.environment_reward[places] + np.array(rewards, np.float32)
        return before, action, after, ended.astype(np.float32), reward

    def _get_samples(self, batch_inds: Array, env: Any = None) -> Any:
        """The rows with these numbers, each of one environment drawn at random, and counterfactual ones."""
        count, copies = len(batch_inds), self.counterfactuals
        envs = self._rng.integers(self.n_envs, size=count)
        drawn = count if self.enlarge else -(-count // (1 + copies))
        of = np.repeat(np.arange(drawn), copies)
        imagined = self.imagine(batch_inds[of], envs[of])
        if not self.enlarge:
            most = count - drawn
            imagined = _each(lambda values: values[:most], imagined)
            drawn = count - len(imagined[-1])  # more than before if the machine had no move
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
        shown = (
            [numbers[:, :1], numbers[:, 1:]] if self._by_name else [self._window.one_hot(numbers)]
        )
        for part, values in zip(self._parts(seen), shown, strict=False):
            part[:] = values

    def _rows(self, steps: Array, envs: Array) -> tuple[Any, ...]:
        """Copies of the rows (before, action, after, terminated, reward) at these places."""
        stored = (self.observations, self.actions, self.next_observations, self.dones, self.rewards)
        before, action, after, done, reward = _each(lambda values: values[steps, envs], stored)
        return before, action, after, done * (1 - self.timeouts[steps, envs]), reward


def _each(function: Callable[..., Any], *trees: Any) -> Any:
    """The function of arrays, or of the arrays in tuples and dictionaries."""
    first = trees[0]
    if isinstance(first, dict):
        return {name: _each(function, *(tree[name] for tree in trees)) for name in first}
    if isinstance(first, tuple):
        return tuple(_each(function, *parts) for parts in zip(*trees, strict=True))
    return function(*trees)
