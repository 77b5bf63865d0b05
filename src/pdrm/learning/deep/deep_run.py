"""Deep runs in a folder: a frozen spec whose hash is its id, a checkpoint to go on from, a curve, and a policy file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pdrm.domains.array_domain import domain_bytes
from pdrm.domains.domain_files import find_domain
from pdrm.domains.water import SIDES, water_world
from pdrm.errors import BadSetting
from pdrm.files import ensure_folder, write_atomically
from pdrm.language.loading import catalogue_text, parse
from pdrm.learning.deep.deep_policy import read_description, save_policy
from pdrm.learning.deep.deep_training import Checkpoint, DeepTraining, algorithm_of, settings_of, trained
from pdrm.learning.deep.many_envs import Episodes
from pdrm.learning.deep.networks import side_by_side, tree_from
from pdrm.learning.run_folder import SPEC, in_words, no_run
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.pushdown_analysis import highest_stack
from pdrm.product.jax_env.jax_domain import JaxDomain, finite_domain, water_domain
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.views import FullStack, TopK, View
from pdrm.task import pushdown_machine

# --- What JAX runs on.


def device_name() -> str:
    """The device in words, and JAX's version.

    >>> "JAX" in device_name()
    True
    """
    return f"{jax.devices()[0].device_kind}, JAX {jax.__version__}"


def on_accelerator() -> bool:
    """Whether there is something faster than a processor."""
    return bool(jax.default_backend() != "cpu")


# --- How many symbols the stacks of a deep run have room for, where one does not say: as many as the task can need.
#
# Compiled programs need arrays of fixed size. Where the policy sees a few symbols, depth costs memory alone: at most half a
# kilobyte for each environment and each transition in a replay buffer. Where it sees the whole stack, every symbol is a few
# inputs of the network as well.

LEAST = 32
"""Symbols that there is always room for."""
MOST = 1024
"""Symbols at most where the top is seen; higher stacks cut their episode off, and are reported."""
MOST_SEEN = 512
"""Symbols at most where the whole stack is seen."""


def depth_for(machine: PushdownRewardMachine, step_limit: int, *, full: bool = False) -> int:
    """Room for the highest stack within an episode (one label a step, one at reset), if that is affordable.

    full: whether the policy sees the whole stack.

    >>> from pdrm.language.loading import catalogue
    >>> [depth_for(catalogue(name), 300) for name in ("letter", "deliver")]
    [302, 32]
    """
    return max(LEAST, highest_stack(machine, step_limit + 1, MOST_SEEN if full else MOST))


# --- Deep runs in a folder: a frozen spec whose hash is its id, a checkpoint to go on from, a curve, and a policy for each seed.
#
# The seeds of a run are trained side by side in one compiled program. A run that was stopped goes on from its last checkpoint;
# one that is done is not repeated.

UNFINISHED, CURVE, DOMAIN = "unfinished.npz", "curve.csv", "domain.npz"
NOTHING = "none"
"""In place of k: the policy sees nothing of the machine, which still pays."""
HEADER = ("timesteps", "seed", "test", "return", "steps", "end")
Watch = Callable[[int, Episodes, float], None]
"""Called after every test with the steps so far, the test, and the share of training episodes since the last one that a full
stack cut off."""
WATER_MACHINES = ("water", "water-strict")
"""Their stacks have nine symbols at most, since WaterWorld's balls 2 to 9 are touched once each."""


@dataclass(frozen=True, slots=True)
class DeepSpec:
    """Everything that decides a run's result."""

    domain: str
    """`water-17`, `water-20`, or a finite domain by name or file."""
    agent: str
    k: str
    """Stack symbols that are seen: a number, `full`, or `none` for nothing of the machine at all."""
    settings: Any
    seeds: tuple[int, ...]
    machine_text: str | None = None
    """The machine as text; None: the catalogue's for this domain."""
    test_every: int = 100_000
    test_episodes: int = 5
    depth: int = LEAST
    """Symbols that a stack has room for (see `needed_depth`)."""
    domain_sha256: str = ""
    """Of the domain's file, where it is one's own."""

    @property
    def id(self) -> str:
        """The hash of the spec."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    def machine(self, domain: JaxDomain) -> PushdownRewardMachine:
        """The machine that the runs learn with."""
        text = self.machine_text if self.machine_text is not None else catalogue_text(str(domain.machine))
        return pushdown_machine(parse(text, "machine.pdrm"))

    def needed_depth(self) -> int:
        """Room for the stacks that the task can need, as far as it is affordable."""
        if self.domain in SIDES and self.machine_text in (None, *map(catalogue_text, WATER_MACHINES)):
            return LEAST
        domain = domain_of(self.domain)
        return depth_for(self.machine(domain), int(domain.step_limit), full=self.k == "full")

    def training(self) -> DeepTraining:
        """The runs, before their first step."""
        domain = domain_of(self.domain, continuous=algorithm_of(self.agent).continuous is True)
        product = jax_product(domain, self.machine(domain), _view(self.k), depth=self.depth)
        return DeepTraining(algorithm_of(self.agent), lambda _: (product, self.settings), self.seeds)


def domain_of(name: str, *, continuous: bool = False) -> JaxDomain:
    """A domain by name or file, for JAX.

    >>> domain_of("letter").observation_size, domain_of("water-20", continuous=True).action_size
    (42, 2)
    """
    if name in SIDES:
        return water_domain(water_world(name, continuous=continuous))
    return finite_domain(find_domain(name))


def spec_of(folder: Path) -> DeepSpec:
    """The spec of the run in a folder; a domain of one's own is the folder's copy."""
    try:
        found = json.loads((folder / SPEC).read_text(encoding="utf-8"))
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in found["settings"].items()}
        spec = DeepSpec(**{**found, "settings": settings_of(found["agent"], given), "seeds": tuple(found["seeds"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise no_run(folder, in_words(error, SPEC), "pdrm train echo --agent ppo") from error
    return replace(spec, domain=str(folder / DOMAIN)) if spec.domain_sha256 else spec


def evaluated(folder: Path, episodes: int, seed: int) -> list[dict[str, Any]]:
    """Episodes without exploration of each seed of a finished run, summed up."""
    spec = spec_of(folder)
    training = spec.training()
    networks = [
        tree_from(folder / f"policy-seed{one}.npz", _network(training, run)) for run, one in enumerate(spec.seeds)
    ]
    training.state = training.state._replace(network=side_by_side(networks))
    played, machine = training.test(episodes, seed), spec.machine(training.product.domain)
    states = (*machine.states, *machine.final)
    return [
        {
            "domain": training.product.domain.name,
            "seed": one,
            "episodes": episodes,
            "mean_return": float(played.returns[run].mean()),
            "returns": [float(value) for value in played.returns[run]],
            "mean_steps": float(played.steps[run].mean()),
            "ends": dict(Counter(states[int(end)] for end in played.ends[run]).most_common()),
            "cut_off": int(played.cut_off[run].sum()),
        }
        for run, one in enumerate(spec.seeds)
    ]


def _network(training: DeepTraining, run: int) -> Any:
    return jax.tree.map(lambda part: part[run], training.state.network)


def _view(k: str) -> View | None:
    if k == NOTHING:
        return None
    if k != "full" and not k.isdecimal():
        raise BadSetting(f"k is `{k}`, but must be a whole number from 0 on, full or none", fix="--k 1")
    return FullStack() if k == "full" else TopK(int(k))


def is_done(folder: Path) -> bool:
    """Whether a folder holds a run's final result."""
    return (folder / CURVE).exists() and not (folder / UNFINISHED).exists()


def execute(spec: DeepSpec, folder: Path, watch: Watch | None = None) -> str:
    """Train to the end, from the checkpoint if there is one; returns the curve as text. A run that is done is only read."""
    if is_done(folder):
        return (folder / CURVE).read_text(encoding="utf-8")
    training, curve, checkpoint = spec.training(), ",".join(HEADER) + "\n", Checkpoint(folder / UNFINISHED)
    ensure_folder(folder)
    write_atomically(folder / SPEC, (json.dumps(asdict(spec), indent=1, sort_keys=True) + "\n").encode())
    if spec.domain_sha256:
        write_atomically(folder / DOMAIN, domain_bytes(find_domain(spec.domain)))
    if checkpoint.exists():
        curve = checkpoint.resume(training)
    total, per_iteration = int(spec.settings.total_timesteps), training.steps_per_iteration
    ended, cut_off = [training.ended], [training.cut_off]

    def test() -> str:
        tested = training.test(spec.test_episodes, seed=training.iterations)
        ended.append(training.ended)
        cut_off.append(training.cut_off)
        if watch is not None:
            watch(training.timesteps, tested, _share(cut_off[-1] - cut_off[-2], ended[-1] - ended[-2]))
        return _rows(spec, training, tested)

    every = max(1, spec.test_every // per_iteration)
    curve = trained(training, -(-total // per_iteration), every, checkpoint, test, curve)
    machine, cut = spec.machine(training.product.domain), _share(training.cut_off, training.ended)
    for run, seed in enumerate(spec.seeds):
        about = {"domain": spec.domain, "seed": seed, "timesteps": training.timesteps, "id": spec.id, "cut_off": cut}
        save_policy(folder / f"policy-seed{seed}.npz", training, run, machine, about)
    write_atomically(folder / CURVE, curve.encode())
    checkpoint.remove()
    return curve


def share_cut_off(folder: Path, spec: DeepSpec) -> float:
    """The share of training episodes, of all seeds of a finished run, that a full stack cut off."""
    return float(read_description(folder / f"policy-seed{spec.seeds[0]}.npz")["about"].get("cut_off", 0.0))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _rows(spec: DeepSpec, training: DeepTraining, tested: Episodes) -> str:
    machine = spec.machine(training.product.domain)
    states = (*machine.states, *machine.final)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for run, seed in enumerate(spec.seeds):
        columns = (np.asarray(part[run]) for part in (tested.returns, tested.steps, tested.ends))
        for test, (gained, steps, end) in enumerate(zip(*columns, strict=True)):
            rows.writerow([training.timesteps, seed, test, repr(float(gained)), int(steps), states[int(end)]])
    return text.getvalue()
