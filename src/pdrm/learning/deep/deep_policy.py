"""Trained networks in files: arrays in `.npz`, and beside them a description (agent, settings, machine, domain)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.finite_env import FiniteEnv
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadPolicyFile
from pdrm.files import describe_fault, encode_arrays, read_arrays, write_atomically
from pdrm.language.document import AnyMachine
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.learning.agents import read_agent
from pdrm.learning.deep.deep_training import Algorithm, DeepTraining, algorithm_of
from pdrm.learning.deep.networks import load_arrays, tree_arrays
from pdrm.learning.tabular.evaluation import Moment
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_domain import JaxDomain, finite_domain, water_domain
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.views import TopK
from pdrm.product.wrapping import wrap
from pdrm.task import Task


@dataclass(eq=False)
class DeepPolicy:
    """A trained policy that acts step by step, without exploration, remembering where its agent does. `load_deep_policy` reads
    one from a run's folder.

    >>> import pdrm
    >>> from pdrm.learning.agents import PPO
    >>> product = jax_product(finite_domain(pdrm.domain("echo")), pdrm.catalogue("echo"), TopK(1))
    >>> algorithm, settings = algorithm_of("ppo"), PPO()
    >>> untrained = algorithm.new_network(product, settings, np.random.default_rng(0))
    >>> policy = DeepPolicy(algorithm, settings, product, untrained, about={})
    >>> env = pdrm.wrap(pdrm.domains.FiniteEnv("echo"), "echo", labels="info", view=TopK(1), flatten=True)
    >>> int(policy.act(env.reset(seed=0)[0])) in range(2)
    True
    """

    algorithm: Algorithm
    settings: Any
    product: JaxProduct
    network: Any
    about: dict[str, Any]
    memory: Any = None

    def __post_init__(self) -> None:
        self._act = jax.jit(self.algorithm.act(self.product, self.settings, self.network))
        self._start = True
        self.begin()

    def begin(self) -> None:
        """Forget: a new episode begins."""
        self.memory, self._start = self.algorithm.empty_memory(self.settings, 1), True

    def act(self, observation: npt.ArrayLike) -> npt.NDArray[Any]:
        """The action for an observation as `pdrm.wrap(..., flatten=True)` gives it; what the policy never saw is left out."""
        seen = np.array(observation, np.float32)
        seen[self.product.domain.observation_size :] *= float(self.product.visible)
        self.memory, action = self._act(self.memory, seen[None], np.array([self._start]))
        self._start = False
        return np.asarray(action[0])


def save_policy(path: Path, training: DeepTraining, run: int, machine: AnyMachine, about: dict[str, Any]) -> None:
    """Write the network of one run as `path` (.npz), and the description beside it, each whole or not at all."""
    network = jax.tree.map(lambda part: part[run], training.state.network)
    own = {name: float(values[run]) for name, values in training.numbers.items() if hasattr(training.settings, name)}
    product = training.product
    description = {
        "pdrm_deep_policy": 1,
        "agent": training.settings.name,
        "settings": {**asdict(training.settings), **own},
        "machine": to_text(machine),
        "k": product.k,
        "visible": float(training.numbers["visible"][run] if "visible" in training.numbers else product.visible),
        "depth": product.machine.depth,
        "about": about,
    }
    write_atomically(path, encode_arrays(tree_arrays(network)))
    write_atomically(path.with_suffix(".json"), (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode())


def load_deep_policy(path: str | Path, domain: JaxDomain | FiniteDomain | WaterWorld) -> DeepPolicy:
    """The policy in a file of a run's folder (`policy.npz`), for the domain it was learnt in; its description has the machine."""
    path = Path(path)
    beside, fix = path.with_suffix(".json"), "restore a copy of it, or train one: pdrm train water-17"
    try:
        description = json.loads(beside.read_text(encoding="utf-8"))
        text, k, depth, visible = (description[name] for name in ("machine", "k", "depth", "visible"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPolicyFile(f"{path} is not a deep policy: {describe_fault(error, beside.name)}", fix=fix) from error
    machine = parse(text, "machine.pdrm")
    if not isinstance(machine, PushdownRewardMachine):
        raise BadPolicyFile(f"{path} was not learnt with a pushdown machine", fix="train again")
    product = replace(jax_product(_in_jax(domain), machine, TopK(k), depth=depth), visible=visible)
    algorithm, settings = algorithm_of(description["agent"]), read_agent(description["agent"], description["settings"])
    like = algorithm.new_network(product, settings, np.random.default_rng(0))
    try:
        network = load_arrays(read_arrays(path.read_bytes()), like)
    except (OSError, ValueError) as error:
        raise BadPolicyFile(f"{path} cannot be read or does not fit: {describe_fault(error)}", fix=fix) from error
    return DeepPolicy(algorithm, settings, product, network, description["about"])


def _in_jax(domain: JaxDomain | FiniteDomain | WaterWorld) -> JaxDomain:
    if isinstance(domain, FiniteDomain):
        return finite_domain(domain)
    return water_domain(domain) if isinstance(domain, WaterWorld) else domain


def play_episode(policy: DeepPolicy, task: Task, seed: int) -> list[Moment]:
    """One episode without exploration in a finite domain, moment by moment, with the readable machine."""
    env = wrap(FiniteEnv(task.finite), task.pushdown, labels="info", view=TopK(policy.product.k), flatten=True)
    where: Any = env.env.unwrapped
    seen, info = env.reset(seed=seed)
    policy.begin()
    reward, over = float(info["machine"]["reward"]), False
    moments = [Moment(where.state, env.configuration, None, info.get("label"), reward)]
    while not over:
        action = int(policy.act(seen))
        seen, paid, terminated, truncated, info = env.step(action)
        moments.append(Moment(where.state, env.configuration, action, info.get("label"), float(paid)))
        over = terminated or truncated
    return moments
