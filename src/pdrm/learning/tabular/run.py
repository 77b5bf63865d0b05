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
from pdrm.errors import BadRunFolder, CannotWrite
from pdrm.learning.tabular.agents import AnySettings, AnyTraining, settings_for, training_for
from pdrm.learning.tabular.checkpoint import load_checkpoint, save_checkpoint
from pdrm.learning.tabular.interrupt import DeferredInterrupt
from pdrm.learning.tabular.learnt import policy_of
from pdrm.learning.tabular.policy import load_policy
from pdrm.learning.tabular.training import Test, Training
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.text.whole_file import write

SPEC, CHECKPOINT, POLICY, TABLES, CURVE = "spec.json", "checkpoint.npz", "policy.npz", "tables.npz", "curve.csv"
SECONDS_BETWEEN_CHECKPOINTS = 20.0

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

    @property
    def id(self) -> str:
        """The hash of the spec."""
        return hashlib.sha256(json.dumps(self.record(), sort_keys=True).encode()).hexdigest()[:12]

    def record(self) -> dict[str, Any]:
        """The spec as JSON values."""
        return asdict(self)

    def training(self) -> AnyTraining:
        """The run, before its first episode."""
        return training_for(domain(self.domain), self.agent, self.k, self.settings, self.seed, self.machine_text)


@dataclass(frozen=True, slots=True)
class Result:
    """What a run learnt and how its tests went."""

    spec: RunSpec
    tests: list[Test]
    rows: int
    """Rows of the (meta-)policy's table."""
    sha256: str
    """Of the tables' file."""


def execute(spec: RunSpec, folder: Path, watch: Watch | None = None) -> Result:
    """Train to the end, from the checkpoint if there is one; a run that is done is loaded. Ctrl-C keeps what was learnt and
    is then passed on."""
    if is_done(folder):
        return _loaded(spec, folder)
    training, tests = spec.training(), list[Test]()
    _make(folder)
    checkpoint = folder / CHECKPOINT
    if checkpoint.exists():
        tests = load_checkpoint(checkpoint, training)
    write(folder / SPEC, (json.dumps(spec.record(), indent=1, sort_keys=True) + "\n").encode())
    saved = time.monotonic()
    with DeferredInterrupt() as interrupt:
        try:
            while training.episodes < spec.settings.episodes:
                training.advance(min(spec.settings.episodes, training.episodes + spec.settings.test_every))
                tests += [_one_test(training)]
                if watch is not None:
                    watch(training, tests)
                interrupt.raise_if_asked()
                if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                    save_checkpoint(checkpoint, training, tests)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            save_checkpoint(checkpoint, training, tests)
            _save(spec, folder, training, tests)
            raise
        _save(spec, folder, training, tests)
    checkpoint.unlink(missing_ok=True)
    return Result(spec, tests, int(training.values.index.used[0]), _digest(folder))


def spec_of(folder: Path) -> RunSpec:
    """The spec of the run in a folder."""
    try:
        record = json.loads((folder / SPEC).read_text(encoding="utf-8"))
        given = {name: value for name, value in record["settings"].items() if value is not None}
        return RunSpec(**{**record, "settings": settings_for(record["domain"], record["agent"], given)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRunFolder(f"{folder} holds no trained run: {error}", fix="train one: pdrm train letter") from error


def is_done(folder: Path) -> bool:
    """Whether a run's folder holds its final result."""
    tables = (folder / POLICY).exists() or (folder / TABLES).exists()
    return tables and (folder / CURVE).exists() and not (folder / CHECKPOINT).exists()


def _digest(folder: Path) -> str:
    file = folder / POLICY if (folder / POLICY).exists() else folder / TABLES
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _loaded(spec: RunSpec, folder: Path) -> Result:
    """A run that was done before, read from its files."""
    training = spec.training()
    if (folder / POLICY).exists():
        rows = len(load_policy(folder / POLICY))
    else:
        load_checkpoint(folder / TABLES, training)
        rows = int(training.values.index.used[0])
    return Result(spec, read_curve(training, folder / CURVE), rows, _digest(folder))


def _one_test(training: AnyTraining) -> Test:
    """A test in each of the domains that test this one, as one."""
    domains: tuple[FiniteDomain, ...] = training.domain.tested_on
    parts = [training.test(where) for where in domains]
    return parts[0] if len(parts) == 1 else Test.joined(parts)


def _save(spec: RunSpec, folder: Path, training: AnyTraining, tests: list[Test]) -> None:
    """Write what was learnt: as a policy where it is one table over stacks, else as the learner's own tables."""
    if isinstance(training, Training) and isinstance(training.machine, PushdownRewardMachine):
        about = {"spec": spec.record(), "id": spec.id, "episodes": training.episodes}
        policy_of(training, about).save(folder / POLICY)
    else:
        save_checkpoint(folder / TABLES, training, tests)
    write(folder / CURVE, curve_text(training, tests).encode())


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


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"the folder {folder} cannot be made: {error.strerror}", fix="choose another with -o"
        ) from error
