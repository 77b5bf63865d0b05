"""Trained networks in files: arrays in `.npz`, and beside them a description (agent, settings, machine, domain)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.domains.array_domain import domain_bytes
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.jax_world import JaxWorld
from pdrm.domains.water import WaterWorld
from pdrm.errors import (
    BadPolicyFile,
    NotHere,
    PdrmError,
    UnknownFormat,
    WrongPolicy,
    check_policy_files,
)
from pdrm.files import (
    MALFORMED,
    Arrays,
    describe_fault,
    encode_arrays,
    need,
    parse_record,
    read_arrays,
    read_bytes,
    write_atomically,
)
from pdrm.language.document import AnyMachine
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.learning.agents import Deep, RecurrentPPO, read_agent
from pdrm.learning.deep.deep_training import Algorithm, DeepTraining, algorithm_of
from pdrm.learning.deep.networks import load_arrays, tree_arrays
from pdrm.learning.tabular.policy_table import PolicyRow, number_state, refuse_exploring
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_domain import JaxDomain, finite_domain, own_domain, water_domain
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.observation import AsVector, Seen, Window, read_seen
from pdrm.product.views import TopK

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

DOMAIN = ".domain.npz"
"""The ending of a file with the domain of the policy beside it."""
MOST_DEPTH = 2**24
"""Symbols of a stack that a policy's file may ask room for."""


@dataclass(eq=False)
class DeepPolicy:
    """A trained policy that acts step by step, without exploration, remembering where its agent does. `load_deep_policy` reads
    one from a run's folder.

    >>> import pdrm
    >>> from pdrm.learning.agents import PPO
    >>> product = jax_product(finite_domain(pdrm.domain("echo")), pdrm.catalogue("echo"), TopK(1))
    >>> algorithm, settings = algorithm_of("ppo"), PPO().settled()
    >>> untrained = algorithm.new_network(product, settings, np.random.default_rng(0))
    >>> policy = DeepPolicy(algorithm, settings, product, untrained, about={})
    >>> env = pdrm.Task("echo").env(k=1)
    >>> policy.act(env.reset(seed=0)[0]) in range(2)
    True
    """

    algorithm: Algorithm
    settings: Any
    product: JaxProduct
    network: Any
    about: dict[str, Any]
    memory: Any = None
    domain: FiniteDomain | None = None
    """Where it was learnt, to have states and actions described; None where that is continuous, or not known."""

    def __post_init__(self) -> None:
        self._act = jax.jit(self.algorithm.act(self.product, self.settings, self.network))
        self._start = True
        self.begin()

    def __repr__(self) -> str:
        return f"<DeepPolicy of {self.settings.name}, view {self.settings.k}, sees {self.product.observation_size} numbers>"

    def begin(self) -> None:
        """Forget: a new episode begins."""
        self.memory, self._start = self.algorithm.empty_memory(self.settings, 1), True

    def act(
        self,
        observation: object,
        machine_state: str | None = None,
        memory: Sequence[str] | None = None,
        *,
        deterministic: bool = True,
    ) -> int | npt.NDArray[Any]:
        """The action for an observation as `Task.env` shows it, a dictionary or a flat vector; what the policy never saw is left out.

        observation: or the environment's state (its number, its name, or its row and column on a grid), then the machine's, and
        `memory`: the stack, top first.
        deterministic: as `predict` has it in Stable-Baselines3, and True only, because a policy never explores.
        """
        refuse_exploring(deterministic)
        wanted, own = self.product.observation_size, self.product.domain.observation_size
        if isinstance(observation, Mapping) or machine_state is not None:
            observation = self._encode(observation, machine_state, memory)
        try:
            seen = np.array(observation, np.float32)
        except (TypeError, ValueError):  # rows of several lengths
            seen = np.zeros(0, np.float32)
        if seen.shape != (wanted,):
            kind = f"has the shape {seen.shape}" if seen.size > 1 else f"is {str(observation)[:60]}"
            fault = f"the observation {kind}, but this policy sees vectors of {wanted} numbers: {own} of the domain, {wanted - own} of the machine"
            raise WrongPolicy(
                fault, fix=f"hand it what task.env(k={self.product.k}) shows, one at a time"
            )
        seen[own:] *= float(self.product.visible)
        self.memory, action = self._act(self.memory, seen[None], np.array([self._start]))
        self._start = False
        found = np.asarray(action[0])
        return int(found) if not found.ndim else found

    def _encode(
        self, shown: Any, machine_state: str | None, memory: Sequence[str] | None
    ) -> npt.NDArray[np.float32]:
        """The vector for a dictionary, or for a state, a machine state and a stack."""
        machine, k, own = self.machine, self.product.k, self.product.domain.observation_size
        window = Window(machine, TopK(k))
        if machine_state is None:
            seen = read_seen(shown, (*window.state,), machine.stack)
        else:
            if self.domain is not None and np.shape(shown) != (own,):
                shown = number_state(shown, self.domain)
            known = (
                machine_state in window.state and memory is not None and not isinstance(memory, str)
            )
            known = known and window.symbol.keys() >= {*(memory or ())}
            seen = Seen(shown, machine_state, tuple(memory or ()), whole=True) if known else None
        where = np.zeros(0) if seen is None else np.asarray(seen.observation)
        numbered = where.ndim == 0 and where.dtype.kind in "iu" and 0 <= where < own
        if seen is None or not (numbered or where.shape == (own,)):
            given = shown if machine_state is None else (shown, machine_state, memory)
            fault = f"{str(given)[:80]} is not an observation of the environment and the machine that this policy was learnt with"
            example = f"policy.act(0, {machine.states[0]!r}, ({machine.stack[0]!r},))"
            raise WrongPolicy(
                fault,
                fix=f"hand it what task.env(k={k}) shows, or {example}: state, machine state, stack",
            )
        if not seen.whole and len(seen.stack) < k:
            fault = f"the observation shows {len(seen.stack)} symbols of the stack, and this policy sees {k}"
            raise WrongPolicy(fault, fix=f"env = task.env(k={k})")
        space = spaces.Discrete(own) if numbered else spaces.Box(-np.inf, np.inf, (own,))
        return AsVector(space, window).put(seen.observation, seen.state, seen.stack)

    @property
    def machine(self) -> PushdownRewardMachine:
        """The machine it was learnt with."""
        assert self.product.readable is not None
        return self.product.readable

    def table(self, domain: FiniteDomain | None = None) -> Rows[PolicyRow]:
        """The action it takes, row by row: for every machine state, k symbols on top of the stack, and environment state. Of a
        finite domain, and a network that remembers nothing. domain: where it was learnt, to have states and actions described.
        """
        from pdrm.drawing.rows import Rows

        places, known = (
            self.product.domain.observation_size,
            self.domain if domain is None else domain,
        )
        if known is None or isinstance(self.settings, RecurrentPPO):
            why = "it remembers what it saw" if known is not None else "it sees no numbered states"
            raise NotHere(
                f"this network has no table: {why}",
                fix="look at an episode: run.replay(), or run.film()",
            )
        symbols, states, k = self.machine.stack, self.machine.states, self.product.k

        def make(number: int) -> PolicyRow:
            rest, place = divmod(number, places)
            state, seen = divmod(rest, len(symbols) ** k)
            stack = tuple(
                symbols[seen // len(symbols) ** power % len(symbols)]
                for power in reversed(range(k))
            )
            action = self.act(place, states[state], stack)
            return PolicyRow(
                place, known.describe(place), states[state], stack, known.actions[int(action)], {}
            )

        return Rows(places * len(states) * len(symbols) ** k, make)

    def _repr_html_(self) -> str | None:
        from pdrm.drawing.markup import html

        said = html("p", repr(self).strip("<>"))
        return (
            said
            if self.domain is None or isinstance(self.settings, RecurrentPPO)
            else said + self.table()._repr_html_()
        )

    def save(self, path: str | Path) -> None:
        """Write it to a `.npz` file, with a `.json` and its domain (`.domain.npz`) beside it; `pdrm.learning.load_policy` reads it.
        path: of the `.npz`."""
        file = Path(path)
        if file.suffix != ".npz":
            raise UnknownFormat(f"{file} does not end in .npz", fix=f"{file.with_suffix('.npz')}")
        product, settings = self.product, asdict(self.settings)
        description = _describe(
            self.settings.name, settings, self.machine, product, product.visible, self.about
        )
        _write(file, self.network, description)
        if self.domain is not None:  # so that it can be read again wherever its files are
            write_atomically(file.with_suffix(DOMAIN), domain_bytes(self.domain))


def save_policy(
    path: Path, training: DeepTraining, run: int, machine: AnyMachine, about: dict[str, Any]
) -> None:
    """Write the network of one run as `path` (.npz), and the description beside it, each whole or not at all."""
    network = jax.tree.map(lambda part: part[run], training.state.network)
    own = {
        name: float(values[run])
        for name, values in training.numbers.items()
        if hasattr(training.settings, name)
    }
    visible = (
        training.numbers["visible"][run]
        if "visible" in training.numbers
        else training.product.visible
    )
    settings = {**asdict(training.settings), **own}
    _write(
        path,
        network,
        _describe(training.settings.name, settings, machine, training.product, visible, about),
    )


def _describe(
    agent: str,
    settings: dict[str, Any],
    machine: AnyMachine,
    product: JaxProduct,
    visible: float,
    about: dict[str, Any],
) -> dict[str, Any]:
    return {
        "pdrm_deep_policy": 1,
        "agent": agent,
        "settings": settings,
        "machine": to_text(machine),
        "k": product.k,
        "visible": float(visible),
        "depth": product.machine.depth,
        "about": about,
    }


def _write(path: Path, network: object, description: dict[str, Any]) -> None:
    write_atomically(path, encode_arrays(tree_arrays(network)))
    write_atomically(
        path.with_suffix(".json"),
        (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode(),
    )


def load_deep_policy(
    path: str | Path, domain: JaxDomain | JaxWorld | FiniteDomain | WaterWorld
) -> DeepPolicy:
    """The policy in a file of a run's folder (`policy.npz`), for the domain it was learnt in; its description has the machine."""
    path = Path(path)
    check_policy_files(path)
    beside, fix = (
        path.with_suffix(".json"),
        "restore a copy of it, or train one: pdrm train water-17",
    )
    try:
        description = parse_record(read_bytes(beside))
        text, k, depth, visible, name, given, about = (
            description[part]
            for part in ("machine", "k", "depth", "visible", "agent", "settings", "about")
        )
        need(
            (
                all(isinstance(part, str) for part in (text, name)),
                "its machine and agent are not texts",
            ),
            (
                all(isinstance(part, dict) for part in (given, about)),
                "what it says of its agent is no record",
            ),
            (
                type(k) is int and type(depth) is int and k >= 0 and depth >= 1,
                "its k or depth is not a number of symbols",
            ),
            (visible in (0, 1), "what is visible is neither 0 nor 1"),
        )
        machine = parse(text, "machine.pdrm")
        algorithm, settings = algorithm_of(name), read_agent(name, given).settled()
    except (*MALFORMED, PdrmError) as error:
        raise BadPolicyFile(
            f"{path} is not a deep policy: {describe_fault(error, beside.name)}", fix=fix
        ) from error
    if not isinstance(machine, PushdownRewardMachine) or not isinstance(settings, Deep):
        raise BadPolicyFile(f"{path} was not learnt with a pushdown machine", fix="train again")
    try:
        arrays = read_arrays(path.read_bytes())
        _check_sizes(settings, k, depth, arrays)
        product = replace(
            jax_product(_in_jax(domain), machine, TopK(k), depth=depth), visible=float(visible)
        )
        network = load_arrays(
            arrays, algorithm.new_network(product, settings, np.random.default_rng(0))
        )
    except MALFORMED as error:
        raise BadPolicyFile(
            f"{path} cannot be read or does not fit: {describe_fault(error)}", fix=fix
        ) from error
    return DeepPolicy(
        algorithm,
        settings,
        product,
        network,
        about,
        domain=domain if isinstance(domain, FiniteDomain) else None,
    )


def _check_sizes(settings: Deep, k: int, depth: int, arrays: Arrays) -> None:
    """Raise unless networks of these sizes can be what the arrays hold: others would be made only to be compared."""
    largest = max((array.size for array in arrays.values()), default=0)
    units = (
        *([settings.lstm_hidden_size] * 2 if isinstance(settings, RecurrentPPO) else []),
        *settings.net_arch,
    )
    need(
        (
            all(a * b <= largest for a, b in pairwise((max(k, 1), *units))),
            "its layers have other sizes",
        ),
        (depth <= MOST_DEPTH, "its stacks are higher than any"),
    )


def _in_jax(domain: JaxDomain | JaxWorld | FiniteDomain | WaterWorld) -> JaxDomain:
    if isinstance(domain, FiniteDomain):
        return finite_domain(domain)
    if isinstance(domain, JaxWorld):
        return own_domain(domain)
    return water_domain(domain) if isinstance(domain, WaterWorld) else domain
