"""Trained networks in files: arrays in `.npz`, and beside them a description (agent, settings, machine, domain) in `.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from pdrm.errors import BadPolicyFile
from pdrm.files.whole_file import write
from pdrm.learning.deep.algorithm import Algorithm, algorithm_of, settings_of
from pdrm.learning.deep.training import DeepTraining
from pdrm.learning.deep.trees import tree_bytes, tree_from
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.text.build import AnyMachine
from pdrm.machines.text.files import parse
from pdrm.machines.text.writer import to_text
from pdrm.product.jax_env.domain import JaxDomain
from pdrm.product.jax_env.product import JaxProduct, jax_product
from pdrm.product.view import TopK


@dataclass(eq=False)
class DeepPolicy:
    """A trained policy that acts step by step, without exploration, remembering where its agent does."""

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
        self.memory, self._start = self.algorithm.memory(self.settings, 1), True

    def shown(self, observation: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """An observation of the product as the policy sees it: without the machine's part, if it never saw that."""
        seen = np.array(observation, np.float32)
        seen[self.product.domain.observation_size :] *= float(self.product.visible)
        return seen

    def act(self, observation: npt.ArrayLike) -> npt.NDArray[Any]:
        """The action for an observation as `pdrm.wrap(..., flatten=True)` gives it."""
        seen = np.asarray(observation, np.float32)[None]
        self.memory, action = self._act(self.memory, seen, np.array([self._start]))
        self._start = False
        return np.asarray(action[0])


def save_policy(path: Path, training: DeepTraining, run: int, machine: AnyMachine, about: dict[str, Any]) -> None:
    """Write the network of one run as `path` (.npz), and the description beside it, each whole or not at all."""
    network = jax.tree.map(lambda part: part[run], training.state.network)
    own = {name: float(values[run]) for name, values in training.numbers.items() if hasattr(training.settings, name)}
    settings = {**asdict(training.settings), **own}
    product = training.product
    visible = float(training.numbers["visible"][run]) if "visible" in training.numbers else float(product.visible)
    description = {
        "pdrm_deep_policy": 1,
        "agent": training.algorithm.name,
        "settings": settings,
        "machine": to_text(machine),
        "k": product.k,
        "visible": visible,
        "depth": product.machine.depth,
        "about": about,
    }
    write(path, tree_bytes(network))
    write(path.with_suffix(".json"), (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode())


def read_description(path: Path) -> dict[str, Any]:
    """What stands beside a policy's arrays."""
    try:
        found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadPolicyFile(f"{path} is no deep policy: {error}", fix="train one: pdrm train water-17") from error
    if not isinstance(found, dict) or "pdrm_deep_policy" not in found:
        raise BadPolicyFile(f"{path} is no deep policy", fix="train one: pdrm train water-17")
    return found


def load_deep_policy(path: Path, domain: JaxDomain) -> DeepPolicy:
    """The policy in a file, for the domain it was learnt in; the machine is in its description."""
    description = read_description(path)
    machine = parse(description["machine"], "machine.pdrm")
    if not isinstance(machine, PushdownRewardMachine):
        raise BadPolicyFile(f"{path} was not learnt with a pushdown machine", fix="train again")
    seeing = jax_product(domain, machine, TopK(description["k"]), depth=description["depth"])
    product = replace(seeing, visible=description["visible"])
    given = {name: _tupled(value) for name, value in description["settings"].items()}
    algorithm, settings = algorithm_of(description["agent"]), settings_of(description["agent"], given)
    like = algorithm.network(product, settings, np.random.default_rng(0))
    return DeepPolicy(algorithm, settings, product, tree_from(path, like), description["about"])


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
