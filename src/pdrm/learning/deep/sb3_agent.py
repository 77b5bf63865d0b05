"""Agents of Stable-Baselines3 and sb3-contrib by name: `pdrm.SB3("PPO")` is an agent like any
other.

It trains on `task.env(k)`. Its parameters are saved as arrays. A stopped run starts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np

from pdrm.errors import BadSetting, UnknownAgent, did_you_mean
from pdrm.files import MALFORMED, Arrays, describe_fault
from pdrm.lazy import load_package
from pdrm.learning.protocol import Until
from pdrm.learning.tabular.policy import refuse_exploring
from pdrm.task import Task

NAMES = (
    "A2C", "ARS", "CrossQ", "DDPG", "DQN", "PPO", "QRDQN", "RecurrentPPO", "SAC", "TD3", "TQC", "TRPO",
)  # fmt: skip


class SB3:
    """An algorithm of Stable-Baselines3 or sb3-contrib.

    Args:
        algorithm: Its name, such as `"PPO"` or `"RecurrentPPO"`.
        policy: The name of its policy. If it starts with `Mlp`, observations are flat vectors.
        k: Stack symbols that the policy sees.
        total_timesteps: Environment steps of training.
        test_every: Steps between two evaluations (default: a twentieth of the total).
        test_episodes: Episodes per evaluation.
        options: Other arguments of the algorithm.

    >>> SB3("DQN", k=2, learning_rate=1e-3)
    SB3('DQN', k=2, learning_rate=0.001)
    """

    def __init__(
        self,
        algorithm: str,
        policy: str = "MultiInputPolicy",
        *,
        k: int | str = 1,
        total_timesteps: int = 100_000,
        test_every: int | None = None,
        test_episodes: int = 10,
        **options: Any,
    ) -> None:
        if not isinstance(policy, str):
            raise BadSetting(f"policy is {policy}, not a name", fix='policy="MlpPolicy"')
        if algorithm not in NAMES:
            fault = f"Stable-Baselines3 has no algorithm `{algorithm}`"
            raise UnknownAgent(fault, fix=did_you_mean(str(algorithm), NAMES))
        self.algorithm = algorithm
        self.policy = policy
        self.k = k
        self.total_timesteps = total_timesteps
        self.test_every = test_every
        self.test_episodes = test_episodes
        self.options = options

    @classmethod
    def read(cls, fields: dict[str, Any]) -> SB3:
        """The agent with these fields, from the record of a run."""
        arguments = dict(fields)
        options = arguments.pop("options")
        return cls(**arguments, **options)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        policy = "" if self.policy == "MultiInputPolicy" else f", {self.policy!r}"
        return f"SB3({self.algorithm!r}{policy}, k={self.k}{options})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SB3) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def name(self) -> str:
        """The name of the algorithm in tables."""
        return f"sb3-{self.algorithm.lower()}"

    def learner(self, task: Task, seed: int, /) -> SB3Model:
        """The learner before its first step."""
        return SB3Model(self, task, seed)

    def load_policy(self, task: Task, arrays: Arrays, /) -> SB3Model:
        """The policy with these parameters."""
        model = self.learner(task, 0)
        tensors = model.network.state_dict()
        for name, array in arrays.items():
            tensors[name] = tensors[name].new_tensor(np.array(array))
        model.network.load_state_dict(tensors)
        return model


class RolloutBoundary(Exception):
    """Raised between two rollouts to stop training."""


class SB3Model:
    """A model in training, and its present policy, which acts without exploration."""

    def __init__(self, agent: SB3, task: Task, seed: int) -> None:
        shown = task.env(agent.k)
        self.space = shown.observation_space
        self.is_flat = agent.policy.startswith("Mlp")
        env: Any = task.env(agent.k, flatten=True) if self.is_flat else shown
        kind = _find_algorithm(agent.algorithm)
        try:
            self.model = kind(agent.policy, env, **{"seed": seed, "verbose": 0, **agent.options})
        except (*MALFORMED, AssertionError) as error:
            fix = f"its policies are {', '.join(kind.policy_aliases)}; settings that pdrm.SB3 does not have are its own arguments"
            fault = f"Stable-Baselines3 refuses {agent}: {describe_fault(error)}"
            raise BadSetting(fault, fix=fix) from error
        self.network = self.model.policy
        self.total = agent.total_timesteps
        self.episodes = 0
        self.reset()

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return int(self.model.num_timesteps)

    def advance(self, until: Until, /) -> None:
        """Train in whole rollouts. Schedules refer to `total_timesteps`."""
        from stable_baselines3.common.callbacks import BaseCallback

        learner = self

        class Counting(BaseCallback):
            """Count episodes, and stop between two rollouts."""

            def _on_rollout_start(self) -> None:
                if until.reached(learner):
                    raise RolloutBoundary

            def _on_step(self) -> bool:
                learner.episodes += int(np.sum(self.locals["dones"]))
                return True

        left = self.total - self.steps
        if left > 0:
            with suppress(RolloutBoundary):
                self.model.learn(left, callback=Counting(), reset_num_timesteps=False)

    def policy(self) -> SB3Model:
        """The present policy."""
        return self

    def reset(self) -> None:
        """Reset the state of an LSTM at the start of an episode."""
        self.memory = None
        self.episode_start = np.ones(1, bool)

    def act(self, observation: Any, _info: Any = None, *, deterministic: bool = True) -> Any:
        """The action."""
        refuse_exploring(deterministic)
        if self.is_flat and np.shape(observation) != self.model.observation_space.shape:
            observation = gymnasium.spaces.flatten(self.space, observation)
        elif isinstance(self.space, Mapping) and not (
            self.is_flat or isinstance(observation, Mapping)
        ):
            observation = gymnasium.spaces.unflatten(self.space, observation)
        action, self.memory = self.model.predict(
            observation, state=self.memory, episode_start=self.episode_start, deterministic=True
        )
        self.episode_start = np.zeros(1, bool)
        return int(action) if np.ndim(action) == 0 else action

    def arrays(self) -> Arrays:
        """The parameters of the networks."""
        state = self.network.state_dict()
        return {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}


def _find_algorithm(name: str) -> Any:
    sb3 = load_package("stable_baselines3", "'pdrm[sb3]'")
    contrib = load_package("sb3_contrib", "'pdrm[sb3]'")
    return vars(sb3).get(name) or vars(contrib)[name]
