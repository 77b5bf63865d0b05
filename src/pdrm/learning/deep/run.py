"""Deep runs in a folder: a frozen spec whose hash is its id, a checkpoint to go on from, a curve, and a policy for each seed.

The seeds of a run are trained side by side in one compiled program. A run that was stopped goes on from its last checkpoint;
one that is done is not repeated.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.files import find_domain
from pdrm.domains.water import water_world
from pdrm.errors import BadSetting, CannotWrite
from pdrm.files.whole_file import write
from pdrm.learning.deep.algorithm import algorithm_of
from pdrm.learning.deep.evaluation import Episodes
from pdrm.learning.deep.policy import save_policy
from pdrm.learning.deep.training import DeepTraining
from pdrm.learning.deep.trees import tree_bytes, tree_from
from pdrm.machines.catalogue import text_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.text.files import parse
from pdrm.product.any_machine import pushdown_machine
from pdrm.product.jax_env.domain import JaxDomain, finite_domain, water_domain
from pdrm.product.jax_env.product import jax_product
from pdrm.product.view import FullStack, TopK, View

SPEC, CHECKPOINT, UNFINISHED, CURVE = "spec.json", "checkpoint.npz", "unfinished.csv", "curve.csv"
NOTHING = "none"
"""In place of k: the policy sees nothing of the machine, which still pays."""
HEADER = ("timesteps", "seed", "test", "return", "steps", "end")
SECONDS_BETWEEN_CHECKPOINTS = 60.0
Watch = Callable[[int, Episodes], None]
"""Called after every test with the steps so far."""


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
    depth: int = 32

    @property
    def id(self) -> str:
        """The hash of the spec."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    def machine(self, domain: JaxDomain) -> PushdownRewardMachine:
        """The machine that the runs learn with."""
        text = self.machine_text if self.machine_text is not None else text_of(str(domain.machine))
        return pushdown_machine(parse(text, "machine.pdrm"))

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
    if name.startswith("water-"):
        return water_domain(water_world(name, continuous=continuous))
    return finite_domain(find_domain(name))


def _view(k: str) -> View | None:
    if k == NOTHING:
        return None
    if k != "full" and not k.isdecimal():
        raise BadSetting(f"k is `{k}`, but must be a whole number from 0 on, full or none", fix="--k 1")
    return FullStack() if k == "full" else TopK(int(k))


def is_done(folder: Path) -> bool:
    """Whether a folder holds a run's final result."""
    return (folder / CURVE).exists() and not (folder / CHECKPOINT).exists()


def execute(spec: DeepSpec, folder: Path, watch: Watch | None = None) -> str:
    """Train to the end, from the checkpoint if there is one; returns the curve as text. A run that is done is only read."""
    if is_done(folder):
        return (folder / CURVE).read_text(encoding="utf-8")
    training, curve = spec.training(), ",".join(HEADER) + "\n"
    _make(folder)
    write(folder / SPEC, (json.dumps(asdict(spec), indent=1, sort_keys=True) + "\n").encode())
    if (folder / CHECKPOINT).exists():
        curve = _resumed(training, folder)
    total, saved = int(spec.settings.total_timesteps), time.monotonic()
    a_test = max(1, spec.test_every // training.steps_per_iteration)
    try:
        while training.timesteps < total:
            left = -(-(total - training.timesteps) // training.steps_per_iteration)
            training.advance(min(a_test, left))
            tested = training.test(spec.test_episodes, seed=training.iterations)
            curve += _rows(spec, training, tested)
            if watch is not None:
                watch(training.timesteps, tested)
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                _save_checkpoint(training, curve, folder)
                saved = time.monotonic()
    except KeyboardInterrupt:
        _save_checkpoint(training, curve, folder)
        raise
    machine = spec.machine(training.product.domain)
    for run, seed in enumerate(spec.seeds):
        about = {"domain": spec.domain, "seed": seed, "timesteps": training.timesteps, "id": spec.id}
        save_policy(folder / f"policy-seed{seed}.npz", training, run, machine, about)
    write(folder / CURVE, curve.encode())
    for file in (CHECKPOINT, UNFINISHED):
        (folder / file).unlink(missing_ok=True)
    return curve


def _save_checkpoint(training: DeepTraining, curve: str, folder: Path) -> None:
    write(folder / CHECKPOINT, tree_bytes({"state": training.state, "iterations": np.int32(training.iterations)}))
    write(folder / UNFINISHED, curve.encode())


def _resumed(training: DeepTraining, folder: Path) -> str:
    """Put the runs where their checkpoint left them; returns the curve so far."""
    found = tree_from(folder / CHECKPOINT, {"state": training.state, "iterations": np.int32(0)})
    training.state, training.iterations = found["state"], int(found["iterations"])
    text = (folder / UNFINISHED).read_text(encoding="utf-8") if (folder / UNFINISHED).exists() else ""
    rows = [line for line in text.splitlines()[1:] if int(line.partition(",")[0]) <= training.timesteps]
    return "".join(f"{line}\n" for line in (",".join(HEADER), *rows))


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


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"the folder {folder} cannot be made: {error.strerror}", fix="choose another") from error
