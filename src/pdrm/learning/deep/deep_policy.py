"""Trained networks: policies that act step by step, and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.user_worlds import JaxWorld
from pdrm.domains.water import WaterWorld
from pdrm.errors import WrongPolicy
from pdrm.files import (
    Fingerprint,
    encode_arrays,
    read_arrays,
    reading_policy,
    write_policy,
)
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.learning.agents import kind_of
from pdrm.learning.deep.algorithm import Algorithm, Episodes, check_status, play
from pdrm.learning.deep.deep_training import domain_for, make_algorithm
from pdrm.learning.deep.networks import load_arrays, tree_arrays
from pdrm.learning.protocol import EvaluationResult
from pdrm.learning.settings import JsonObject
from pdrm.learning.tabular.policy import number_state, refuse_exploring
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK, Window, read_observation
from pdrm.task import Task, pushdown_machine

if TYPE_CHECKING:
    import gymnasium


@dataclass(eq=False)
class DeepPolicy:
    """A trained policy that acts step by step, without exploration.

    `load_deep_policy` reads one from a file.

    >>> import pdrm
    >>> from pdrm.learning.agents import PPO
    >>> from pdrm.learning.deep.deep_training import product_for
    >>> task = pdrm.Task("echo")
    >>> algorithm = make_algorithm(product_for(task, PPO()), PPO())
    >>> untrained = algorithm.new_network(np.random.default_rng(0))
    >>> policy = DeepPolicy(algorithm, untrained, about={})
    >>> env = policy.env(task)
    >>> policy.act(env.reset(seed=0)[0]) in range(2)
    True
    """

    algorithm: Algorithm
    network: Any
    about: JsonObject
    domain: object = None
    """The domain of training, or None. A finite one describes states."""

    def __post_init__(self) -> None:
        self.product = self.algorithm.product
        self.settings = self.algorithm.settings
        self.machine = self.product.readable
        """The machine of training."""
        self._window = Window(self.machine, TopK(self.product.k))
        self._act = jax.jit(partial(self.algorithm.act, self.network))
        self.reset()

    def __repr__(self) -> str:
        return f"<DeepPolicy of {self.settings.name}, view {self.settings.k}, sees {self.product.observation_size} numbers>"

    def reset(self) -> None:
        """Reset the memory at the start of an episode."""
        self.memory = self.algorithm.empty_memory(1)
        self._start = True

    def env(self, task: Task) -> gymnasium.Env[Any, Any]:
        """The task as an environment with the observations and actions of the policy."""
        continuous = task.continuous and self.product.domain.actions == 0
        return task.env(self.product.k, continuous=continuous)

    def play(self, task: Task, episodes: int, seed: int) -> EvaluationResult:
        """Play episodes of the task of training in parallel."""
        settings = replace(self.settings, discount=task.discount)
        algorithm = replace(self.algorithm, settings=settings)
        run = jax.jit(lambda network: play(algorithm, network, seed, episodes))
        played: Episodes = run(self.network)
        check_status(played.fault)
        return played.read(self.machine)

    def act(
        self,
        observation: object,
        machine_state: str | Mapping[str, Any] | None = None,
        memory: Sequence[str] | None = None,
        *,
        deterministic: bool = True,
    ) -> int | npt.NDArray[Any]:
        """The action for an observation of `Task.env`, a dictionary or a flat vector.

        Args:
            observation: An observation, alone or followed by its `info`. Or the environment's
                state: its number, its name, or its row and column on a grid.
            machine_state: The machine's state, after an environment's state.
            memory: The stack, top first, after an environment's state.
            deterministic: As in Stable-Baselines3. Only True, because a policy never explores.
        """
        refuse_exploring(deterministic)
        env_size = self.product.domain.observation_size
        size = self.product.observation_size
        try:
            vector = self._read(observation, machine_state, memory)
            seen = np.array(vector, np.float32).reshape(size)
        except (TypeError, ValueError, LookupError) as error:
            fault = f"{str(observation)[:80]} is not an observation that this policy can read: {size} numbers, {env_size} of them the domain's"
            fix = f"give it an observation of task.env(k={self.product.k}), or policy.act(state, machine_state, stack)"
            raise WrongPolicy(fault, fix=fix) from error
        seen[env_size:] *= float(self.product.visible)
        self.memory, action = self._act(self.memory, seen[None], np.array([self._start]))
        self._start = False
        chosen = np.asarray(action[0])
        return chosen if chosen.ndim else int(chosen)

    def _read(self, observation: Any, machine_state: Any, memory: Sequence[str] | None) -> Any:
        """The observation as a vector. Raises `ValueError` or `LookupError` if it is not one."""
        window = self._window
        size = self.product.domain.observation_size
        if isinstance(machine_state, str):
            env_state = observation
            state = machine_state
            stack = tuple(memory or ())
        elif isinstance(observation, Mapping):
            seen = read_observation(observation, (*window.state,), (*window.symbol,))
            if seen is None or not (seen.whole or len(seen.stack) >= window.slots):
                raise ValueError("it shows less than the policy sees")
            env_state, state, stack, _ = seen
        else:
            return observation
        if np.shape(env_state) != (size,):
            domain = self.domain if isinstance(self.domain, FiniteDomain) else None
            number = number_state(env_state, domain)
            env_state = np.zeros(size)
            env_state[number] = 1
        shown = window.one_hot(np.array([window.numbers(state, stack)]))
        return np.concatenate([env_state, shown[0]])

    def save(self, path: str | Path) -> Fingerprint:
        """Write the policy to a `.npz` file with a `.json` description.

        `pdrm.learning.load_policy` reads it.
        """
        description = {
            "pdrm_deep_policy": 1,
            "agent": self.settings.name,
            "settings": {**asdict(self.settings), "depth": self.product.machine.depth},
            "machine": to_text(self.machine),
            "k": self.product.k,
            "visible": float(self.product.visible),
            "about": self.about,
        }
        return write_policy(path, description, encode_arrays(tree_arrays(self.network)))


def load_deep_policy(path: str | Path, domain: JaxWorld | FiniteDomain | WaterWorld) -> DeepPolicy:
    """Read a policy from a file (`policy.npz` of a run) for the domain of training.

    Its description contains the machine.
    """
    path = Path(path)
    with reading_policy(path) as description:
        agent: Any = kind_of(description["agent"])(**description["settings"])
        machine = pushdown_machine(parse(description["machine"], "machine.pdrm"))
        view = TopK(description["k"])
        product = jax_product(domain_for(domain, agent), machine, view, depth=agent.depth)
        product = replace(product, visible=float(description["visible"]))
        algorithm = make_algorithm(product, agent)
        untrained = algorithm.new_network(np.random.default_rng(0))
        network = load_arrays(read_arrays(path.read_bytes()), untrained)
        return DeepPolicy(algorithm, network, description["about"], domain)
