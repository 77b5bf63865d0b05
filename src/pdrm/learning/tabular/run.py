"""Runs: a frozen spec, an id that is the hash of it, and a folder of small files written whole or not at all.

A run that was stopped goes on from its checkpoint to the very result it would have had; one that is done is not repeated.
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

from pdrm.domains.catalogue import domain
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadRunFolder, CannotTranslate, CannotWrite
from pdrm.learning.tabular.checkpoint import load_checkpoint, save_checkpoint
from pdrm.learning.tabular.learnt import policy_of
from pdrm.learning.tabular.policy import Policy, load_policy
from pdrm.learning.tabular.settings import QLearning
from pdrm.learning.tabular.training import Test, Training
from pdrm.machines.catalogue import text_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.machines.text.files import parse
from pdrm.machines.text.whole_file import write
from pdrm.machines.translation import reward_machine_to_pushdown
from pdrm.product.view import FullStack, TopK, View

CHECKPOINT, POLICY, CURVE = "checkpoint.npz", "policy.npz", "curve.csv"
SECONDS_BETWEEN_CHECKPOINTS = 20.0

Watch = Callable[[Training, list[Test]], None]
"""Called after every test, for progress."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that decides a run's result.

    >>> spec = RunSpec("letter", "q", "1", QLearning(episodes=10), seed=3)
    >>> spec.id == RunSpec("letter", "q", "1", QLearning(episodes=10), seed=3).id, len(spec.id)
    (True, 12)
    """

    domain: str
    agent: str
    k: str
    """How many symbols are seen: a number, or `full`."""
    settings: QLearning
    seed: int
    machine_text: str | None = None
    """The machine as text; None: the catalogue's for this domain."""

    @property
    def id(self) -> str:
        """The hash of the spec."""
        return hashlib.sha256(json.dumps(self.record(), sort_keys=True).encode()).hexdigest()[:12]

    def record(self) -> dict[str, Any]:
        """The spec as JSON values."""
        return {**asdict(self), "machine_text": self.machine().name if self.machine_text is None else self.machine_text}

    def view(self) -> View:
        """What the policy sees."""
        return FullStack() if self.k == "full" else TopK(int(self.k))

    def machine(self) -> PushdownRewardMachine:
        """The machine, translated where it is a reward machine."""
        text = self.machine_text if self.machine_text is not None else text_of(str(domain(self.domain).machine))
        machine = parse(text, "machine.pdrm")
        if isinstance(machine, RewardMachine):
            return reward_machine_to_pushdown(machine)
        if not isinstance(machine, PushdownRewardMachine):
            raise CannotTranslate(
                f"`{machine.name}` has counters", fix="use `--agent cra-q`, or translate it: pdrm convert --to pushdown"
            )
        return machine

    def training(self) -> Training:
        """The run, before its first episode."""
        return Training(domain(self.domain), self.machine(), self.view(), self.settings, self.seed)


@dataclass(frozen=True, slots=True)
class Result:
    """What a run learnt and how its tests went."""

    spec: RunSpec
    policy: Policy
    tests: list[Test]


def execute(spec: RunSpec, folder: Path, watch: Watch | None = None) -> Result:
    """Train to the end, from the checkpoint if there is one; a run that is done is loaded. Ctrl-C keeps what was learnt and
    is then passed on."""
    if is_done(folder):
        return Result(spec, load_policy(folder / POLICY), read_curve(spec, folder / CURVE))
    training, tests = spec.training(), list[Test]()
    _make(folder)
    checkpoint = folder / CHECKPOINT
    if checkpoint.exists():
        tests = load_checkpoint(checkpoint, training)
    write(folder / "spec.json", (json.dumps(spec.record(), indent=1, sort_keys=True) + "\n").encode())
    saved = time.monotonic()
    try:
        while training.episodes < spec.settings.episodes:
            training.advance(min(spec.settings.episodes, training.episodes + spec.settings.test_every))
            tests += [_one_test(training)]
            if watch is not None:
                watch(training, tests)
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                save_checkpoint(checkpoint, training, tests)
                saved = time.monotonic()
    except KeyboardInterrupt:
        save_checkpoint(checkpoint, training, tests)
        _save(spec, folder, training, tests)
        raise
    policy = _save(spec, folder, training, tests)
    checkpoint.unlink(missing_ok=True)
    return Result(spec, policy, tests)


def is_done(folder: Path) -> bool:
    """Whether a run's folder holds its final result."""
    return (folder / POLICY).exists() and (folder / CURVE).exists() and not (folder / CHECKPOINT).exists()


def _one_test(training: Training) -> Test:
    """A test in each of the domains that test this one, as one."""
    domains: tuple[FiniteDomain, ...] = training.domain.tested_on
    parts = [training.test(where) for where in domains]
    return parts[0] if len(parts) == 1 else Test.joined(parts)


def _save(spec: RunSpec, folder: Path, training: Training, tests: list[Test]) -> Policy:
    about = {"spec": spec.record(), "id": spec.id, "episodes": training.episodes}
    policy = policy_of(training, about)
    policy.save(folder / POLICY)
    write(folder / CURVE, curve_text(training, tests).encode())
    return policy


def curve_text(training: Training, tests: list[Test]) -> str:
    """The tests as a tidy table: one line a test episode."""
    states = (*training.machine.states, *training.machine.final)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["episode", "test", "return", "steps", "end"])
    for test in tests:
        for number, (paid, steps, end) in enumerate(zip(test.returns, test.steps, test.ends, strict=True)):
            rows.writerow([test.episode, number, repr(float(paid)), int(steps), states[int(end)]])
    return text.getvalue()


def read_curve(spec: RunSpec, path: Path) -> list[Test]:
    """The tests in a curve's file."""
    machine = spec.machine()
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


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"the folder {folder} cannot be made: {error.strerror}", fix="choose another with -o"
        ) from error
