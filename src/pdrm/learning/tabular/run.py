"""Runs: a frozen spec, an id that is the hash of it, and a folder of small files written whole or not at all.

A run that was stopped goes on from its checkpoint to the very result it would have had; one that is done is not repeated.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.array_domain import domain_bytes
from pdrm.domains.domain_files import load_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadRunFolder, PdrmError
from pdrm.files import ensure_folder, write_atomically
from pdrm.learning.interrupt import DeferredInterrupt
from pdrm.learning.run_folder import SPEC, in_words, no_run
from pdrm.learning.tabular.agents import AnySettings, AnyTraining, agent_of, training_for
from pdrm.learning.tabular.checkpoint import load_checkpoint, save_checkpoint
from pdrm.learning.tabular.policy import load_policy, policy_of
from pdrm.learning.tabular.training import Test

DOMAIN, CHECKPOINT, POLICY, CURVE = "domain.npz", "checkpoint.npz", "policy.npz", "curve.csv"
SECONDS_BETWEEN_CHECKPOINTS = float(os.environ.get("PDRM_CHECKPOINT_SECONDS", "20"))
SHARE_FOR_CHECKPOINTS = 0.1
"""Of a run's time, at most: those of millions of rows take long to write."""
OWN = "domain_sha256"
LATER = ("seconds_per_episode",)
"""Settings that a spec without them leaves out."""

Watch = Callable[[AnyTraining, list[Test]], None]
"""Called after every test, for progress."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that decides a run's result.

    >>> from pdrm.learning.tabular.settings import QLearning
    >>> spec = RunSpec("letter", "q", "1", QLearning(episodes=10), seed=3)
    >>> spec.id == RunSpec("letter", "q", "1", QLearning(episodes=10), seed=3).id, len(spec.id)
    (True, 12)
    """

    domain: str
    agent: str
    k: str
    """How many symbols are seen: a number, or `full`."""
    settings: AnySettings
    seed: int
    machine_text: str | None = None
    """The machine as text; None: the catalogue's for this domain."""
    own: FiniteDomain | None = field(default=None, repr=False)
    """A domain of one's own, called `domain`; None: the catalogue's of that name."""

    @property
    def id(self) -> str:
        """The hash of the spec."""
        return hashlib.sha256(json.dumps(self.record(), sort_keys=True).encode()).hexdigest()[:12]

    def record(self) -> dict[str, Any]:
        """The spec as JSON values: one's own domain by the hash of its file, settings that came later only where they are
        set, so that ids stay."""
        settings = {
            name: value for name, value in asdict(self.settings).items() if value is not None or name not in LATER
        }
        values = {name: getattr(self, name) for name in ("domain", "agent", "k", "seed", "machine_text")}
        own = {} if self.own is None else {OWN: hashlib.sha256(domain_bytes(self.own)).hexdigest()}
        return {**values, "settings": settings, **own}

    def where(self) -> FiniteDomain:
        """The domain."""
        return domain(self.domain) if self.own is None else self.own

    def training(self) -> AnyTraining:
        """The run, before its first episode."""
        return training_for(self.where(), self.agent, self.k, self.settings, self.seed, self.machine_text)


@dataclass(frozen=True, slots=True)
class Result:
    """What a run learnt and how its tests went."""

    spec: RunSpec
    tests: list[Test]
    rows: int
    """Rows of the (meta-)policy's table."""
    sha256: str
    """Of the policy's file."""


def execute(spec: RunSpec, folder: Path, watch: Watch | None = None) -> Result:
    """Train to the end, from the checkpoint if there is one; a run that is done is loaded. Ctrl-C keeps what was learnt and
    is then passed on."""
    if is_done(folder):
        return _loaded(spec, folder)
    training, tests = spec.training(), list[Test]()
    ensure_folder(folder)
    checkpoint = folder / CHECKPOINT
    if checkpoint.exists():
        tests = load_checkpoint(checkpoint, training)
    if spec.own is not None:
        write_atomically(folder / DOMAIN, domain_bytes(spec.own))
    write_atomically(folder / SPEC, (json.dumps(spec.record(), indent=1, sort_keys=True) + "\n").encode())
    due, whole = time.monotonic() + SECONDS_BETWEEN_CHECKPOINTS, False
    with DeferredInterrupt() as interrupt:
        try:
            while training.episodes < spec.settings.episodes:
                whole = False
                training.advance(spec.settings.test_every)
                tests += [_one_test(training)]
                whole = True
                if watch is not None:
                    watch(training, tests)
                interrupt.raise_if_asked()
                if time.monotonic() > due:
                    due = _checkpointed(checkpoint, training, tests)
        except KeyboardInterrupt:
            if whole:  # else the checkpoint before this one is the last place where an undisturbed run ever is
                save_checkpoint(checkpoint, training, tests)
                _save_policy(spec, folder, training)
            raise
        _save_policy(spec, folder, training)
        write_atomically(folder / CURVE, curve_text(training, tests).encode())
    checkpoint.unlink(missing_ok=True)
    return Result(spec, tests, int(training.values.index.used[0]), _digest(folder))


def _checkpointed(path: Path, training: AnyTraining, tests: list[Test]) -> float:
    """Write a checkpoint; returns when the next one is due."""
    began = time.monotonic()
    save_checkpoint(path, training, tests)
    ended = time.monotonic()
    return ended + max(SECONDS_BETWEEN_CHECKPOINTS, (ended - began) / SHARE_FOR_CHECKPOINTS)


def spec_of(folder: Path) -> RunSpec:
    """The spec of the run in a folder."""
    try:
        record = json.loads((folder / SPEC).read_text(encoding="utf-8"))
        sha256 = record.pop(OWN, None)
        settings = agent_of(record["agent"]).settings(**record.pop("settings"))
        own = None if sha256 is None else load_domain(folder / DOMAIN)
        spec = RunSpec(**record, settings=settings, own=own)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PdrmError) as error:
        raise no_run(folder, in_words(error, SPEC)) from error
    if spec.record().get(OWN) != sha256:
        raise BadRunFolder(f"{folder / DOMAIN} is not the domain of this run", fix="restore a copy, or train again")
    return spec


def is_done(folder: Path) -> bool:
    """Whether a run's folder holds its final result: the curve is written when all else is."""
    return (folder / POLICY).exists() and (folder / CURVE).exists() and not (folder / CHECKPOINT).exists()


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / POLICY).read_bytes()).hexdigest()


def _loaded(spec: RunSpec, folder: Path) -> Result:
    """A run that was done before, read from its files."""
    rows = len(load_policy(folder / POLICY))
    return Result(spec, read_curve(spec.training(), folder / CURVE), rows, _digest(folder))


def _one_test(training: AnyTraining) -> Test:
    """A test in each of the domains that test this one, as one."""
    domains: tuple[FiniteDomain, ...] = training.domain.tested_on
    parts = [training.test(where) for where in domains]
    return parts[0] if len(parts) == 1 else Test.joined(parts)


def _save_policy(spec: RunSpec, folder: Path, training: AnyTraining) -> None:
    """Write what was learnt so far."""
    policy_of(training, {"spec": spec.record(), "id": spec.id, "episodes": training.episodes}).save(folder / POLICY)


def curve_text(training: AnyTraining, tests: list[Test]) -> str:
    """The tests as a tidy table: one line a test episode."""
    states = (*training.machine.states, *training.machine.final)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["episode", "test", "return", "steps", "end"])
    for test in tests:
        for number, (paid, steps, end) in enumerate(zip(test.returns, test.steps, test.ends, strict=True)):
            rows.writerow([test.episode, number, repr(float(paid)), int(steps), states[int(end)]])
    return text.getvalue()


def read_curve(training: AnyTraining, path: Path) -> list[Test]:
    """The tests in a curve's file."""
    machine = training.machine
    number = {state: place for place, state in enumerate((*machine.states, *machine.final))}
    rows: dict[int, list[dict[str, str]]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                rows.setdefault(int(row["episode"]), []).append(row)
        return [
            Test(
                episode,
                np.array([float(row["return"]) for row in part]),
                np.array([int(row["steps"]) for row in part], np.int32),
                np.array([number[row["end"]] for row in part], np.int32),
            )
            for episode, part in rows.items()
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRunFolder(f"{path} is damaged: {error}", fix=f"remove {path.parent} and train again") from error
