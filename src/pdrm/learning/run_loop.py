"""The loop that trains runs to the end, each in a folder of its own: tables, networks and agents of others alike.

A run that was stopped continues from its checkpoint to the very result it would have had. Two processes that want the same run
take turns at its folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from multiprocessing import parent_process
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from pdrm import __version__
from pdrm.domains.domain_files import domain_bytes
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadRunFolder, BadSetting, Diverged
from pdrm.files import (
    MALFORMED,
    Arrays,
    describe_fault,
    encode_arrays,
    ensure_folder,
    need,
    write_atomically,
)
from pdrm.learning.agents import Deep
from pdrm.learning.checkpoint import decode_checkpoint, encode_checkpoint
from pdrm.learning.curve import Curve, Test, read_tests
from pdrm.learning.evaluation import make_test
from pdrm.learning.learners import NetworkLearner, TableLearner, begin, begin_together
from pdrm.learning.protocol import KeptPolicy, Learner, Policy, Resumable, SelfTesting, Until
from pdrm.learning.run_folder import (
    CHECKPOINT,
    CURVE,
    DOMAIN,
    POLICY,
    PROGRESS,
    RESULT,
    SPEC,
    TIMING,
    hold,
    is_done,
    no_run,
    remove_leftovers,
    write_progress,
)
from pdrm.learning.run_spec import RunSpec

EVERY_SECONDS = "PDRM_CHECKPOINT_SECONDS"
"""The variable that says how many seconds pass between two checkpoints."""
SHARE_FOR_CHECKPOINTS = 0.1
"""Of a run's time, at most: those of millions of rows, or with a large replay buffer, take long to write."""
STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class Status:
    """A run after an evaluation: for displays and logs."""

    spec: RunSpec
    done: int
    """Training so far, in the agent's unit."""
    total: int
    test: Test
    facts: dict[str, float]
    """Numbers that the learner tells."""


Watch = Callable[[Status], None]
"""Called for each run after each of its evaluations."""


class DeferredInterrupt:
    """Ctrl-C that waits, because an interrupt in the middle of an update would leave a run where no undisturbed run ever is: the
    first is only noted (a line says so at once) and raised by `raise_if_asked`; a second one acts at once.

    >>> with DeferredInterrupt() as interrupt:
    ...     interrupt.raise_if_asked()
    """

    def __init__(self) -> None:
        self._asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.raise_if_asked()
        self._asked = True
        if parent_process() is None:  # a worker's parent has heard it too, and says what it does
            with suppress(OSError):  # not print: the signal may have come in the middle of one
                os.write(STANDARD_ERROR, b"\nstopping after the next test ...\n")

    def raise_if_asked(self) -> None:
        """Raise the interrupt that was noted, if there was one."""
        if self._asked:
            raise KeyboardInterrupt


# --- One run, or several side by side


@dataclass(slots=True)
class Course:
    """A run under way."""

    spec: RunSpec
    folder: Path
    learner: Learner
    total: int
    between_tests: int
    tests: list[Test] = field(default_factory=list)

    @classmethod
    def of(cls, spec: RunSpec, folder: Path, learner: Learner) -> Course:
        """The run before its first step."""
        own = learner if isinstance(learner, NetworkLearner) else spec.agent
        return cls(spec, folder, learner, own.total, own.between_tests)

    @property
    def done(self) -> int:
        """Training so far, in the agent's unit."""
        in_steps = self.spec.agent.unit == "timesteps"
        return self.learner.steps if in_steps else self.learner.episodes

    @property
    def is_over(self) -> bool:
        """True after the last evaluation."""
        return len(self.tests) >= -(-self.total // self.between_tests)

    def advance(self) -> None:
        """Train until the next evaluation is due; an episode or a rollout may have gone beyond it already."""
        due = min(self.total, (len(self.tests) + 1) * self.between_tests)
        before = self.done
        if before >= due:
            return
        in_steps = self.spec.agent.unit == "timesteps"
        self.learner.advance(Until(steps=due) if in_steps else Until(episodes=due))
        if self.done <= before:
            fault = f"`advance` of agent `{self.spec.agent.name}` returned without training"
            fix = "count `steps` and `episodes`, and train while not until.reached(self)"
            raise BadSetting(fault, fix=fix)

    def test(self) -> None:
        """Test, and note the result."""
        agent, seed = self.spec.agent, len(self.tests)
        if isinstance(self.learner, SelfTesting):
            test = self.learner.test(agent.test_episodes, seed)
        else:
            policy = self.learner.policy()
            test = make_test(self.spec.task, policy, agent.k, agent.test_episodes, seed)
        before, steps = self.learner.episodes, self.learner.steps
        self.tests.append(replace(test, episodes=before, timesteps=steps))

    @property
    def curve(self) -> Curve:
        """The evaluations so far."""
        return Curve.of(self.spec.agent.unit, self.tests)

    @property
    def facts(self) -> dict[str, float]:
        """The state of the run, in numbers."""
        if isinstance(self.learner, TableLearner | NetworkLearner):
            return self.learner.facts()
        return {"steps": float(self.learner.steps)}

    def tell(self, watch: Watch | None) -> None:
        """Tell the watch of the last evaluation, and displays in other processes."""
        last = self.tests[-1]
        write_progress(self.folder, self.done, self.total, float(last.returns.mean()))
        if watch is not None:
            watch(Status(self.spec, self.done, self.total, last, self.facts))

    def save_checkpoint(self) -> None:
        """Write where the run stands, if it can resume."""
        if isinstance(self.learner, Resumable):
            own = {f"learner.{name}": array for name, array in self.learner.save().items()}
            arrays = {"done": np.int64(self.done), **self.curve.arrays(), **own}
            write_atomically(self.folder / CHECKPOINT, encode_checkpoint(arrays))

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        path = self.folder / CHECKPOINT
        if path.exists() and isinstance(self.learner, Resumable):
            arrays = read_checkpoint(path)
            try:
                own = {name: array for name, array in arrays.items() if name.startswith("learner.")}
                self.learner.load({name.removeprefix("learner."): own[name] for name in own})
                self.tests = read_tests(arrays)
                need((self.done == int(arrays["done"]), "it stands between two tests"))
            except MALFORMED as error:
                raise damaged_checkpoint(path, error) from error

    def save_policy(self, largest: int | None = None) -> dict[str, Any]:
        """Write what was learnt so far, as far as it can be; its hash and its size."""
        path, learner = self.folder / POLICY, self.learner
        if isinstance(learner, TableLearner | NetworkLearner):
            about = {"spec": self.spec.record(), "id": self.spec.id, "done": self.done}
            written = learner.save_policy(path, about, largest)
            return {"policy_sha256": written.sha256, "policy_bytes": written.size}
        arrays: Arrays | None = None
        if isinstance(learner, Resumable):
            arrays = learner.save()
        elif isinstance(policy := learner.policy(), KeptPolicy):
            arrays = policy.arrays()
        if arrays is None:
            return {"policy_sha256": "", "policy_bytes": 0}
        data = encode_arrays(arrays)
        if largest is None or len(data) <= largest:
            write_atomically(path, data)
        return {"policy_sha256": hashlib.sha256(data).hexdigest(), "policy_bytes": len(data)}

    def finish(self, policy: dict[str, Any], timing: dict[str, Any]) -> None:
        """Write the curve, the times and the result, in this order."""
        curve = self.curve.text().encode()
        facts = {
            name: int(value) if value.is_integer() and name != "cut_off" else value
            for name, value in self.facts.items()
        }
        hashes = {**policy, "curve_sha256": hashlib.sha256(curve).hexdigest()}
        write_atomically(self.folder / CURVE, curve)
        write_atomically(self.folder / TIMING, _json(timing))
        write_atomically(self.folder / RESULT, _json({"id": self.spec.id, **facts, **hashes}))
        for left in (CHECKPOINT, PROGRESS):
            (self.folder / left).unlink(missing_ok=True)


class Placed(NamedTuple):
    """A run and its folder."""

    spec: RunSpec
    folder: Path


def execute(
    specs: Sequence[RunSpec],
    folders: Sequence[Path],
    watch: Watch | None = None,
    *,
    largest_policy: int | None = None,
) -> dict[str, Policy]:
    """Train runs of one batch to the end, each in its folder; what is done is left as it is.

    Args:
        specs: The runs; they have one `batch`.
        folders: Of each run.
        watch: Called after every evaluation.
        largest_policy: Bytes of a policy beyond which it is not kept (default: all are).

    Returns:
        The policies of the runs that were trained now, by the ids of the runs, if a file cannot hold them.
    """
    policies: dict[str, Policy] = {}
    with ExitStack() as stack:
        for folder in sorted(folders):
            stack.enter_context(hold(ensure_folder(folder)))
        placed = [Placed(*one) for one in zip(specs, folders, strict=True)]
        pending = [run for run in placed if not is_done(run.folder)]
        _train_groups(pending, watch, largest_policy, policies)
        for folder in folders:
            path = folder / POLICY
            size = path.stat().st_size if path.exists() else 0
            if largest_policy is not None and size > largest_policy:
                path.unlink()
    return policies


def _train_groups(
    runs: list[Placed], watch: Watch | None, largest: int | None, policies: dict[str, Policy]
) -> None:
    """Train runs side by side whose checkpoints agree on how far they are; if one diverges, the others come to their end before
    that is an error."""
    done = {run.folder: _checkpointed(run.folder) for run in runs}
    diverged: Diverged | None = None
    for _, group in groupby(
        sorted(runs, key=lambda run: done[run.folder]), lambda run: done[run.folder]
    ):
        together = list(group)
        try:
            _train(together, watch, largest, policies)
        except Diverged as error:
            diverged = error
            others = [run for place, run in enumerate(together) if place not in error.runs]
            _train_groups(others, watch, largest, policies)
    if diverged is not None:
        raise diverged


def _train(
    runs: list[Placed], watch: Watch | None, largest: int | None, policies: dict[str, Policy]
) -> None:
    """Train runs side by side."""
    began = time.perf_counter(), time.process_time()
    courses = _begin(runs)
    due, is_whole = time.monotonic() + seconds_between_checkpoints(), False
    with DeferredInterrupt() as interrupt:
        try:
            while not courses[0].is_over:
                is_whole = False
                _advance(courses)
                is_whole = True
                for course in courses:
                    course.tell(watch)
                interrupt.raise_if_asked()
                if time.monotonic() > due:
                    due = _save_checkpoints(courses)
        except KeyboardInterrupt:
            # In the middle of an update the previous checkpoint is the last state that an uninterrupted run also passes through.
            if is_whole:
                _save_checkpoints(courses)
                for course in courses:
                    course.save_policy()
            raise
        seconds = time.perf_counter() - began[0], time.process_time() - began[1]
        for course in courses:
            written = course.save_policy(largest)
            course.finish(written, _timing(seconds, len(courses)))
            if not written["policy_bytes"]:
                policies[course.spec.id] = course.learner.policy()
        interrupt.raise_if_asked()  # these runs are done, others may follow


def _begin(runs: list[Placed]) -> list[Course]:
    """The runs before their first step, or where their checkpoints left them."""
    for spec, folder in runs:
        remove_leftovers(folder)
        domain = spec.task.domain
        if isinstance(domain, FiniteDomain) and not spec.task.catalogued:
            write_atomically(folder / DOMAIN, domain_bytes(domain))
        # Which states mean success changes nothing in the run, and is not part of the id.
        record = {**spec.record(), "success": spec.task.success}
        write_atomically(folder / SPEC, _json(record))
        write_progress(folder, 0, 1)
    learners = make_learners([run.spec for run in runs])
    courses = [Course.of(*run, learner) for run, learner in zip(runs, learners, strict=True)]
    for course in courses:
        course.resume()
        write_progress(course.folder, course.done, course.total)
    return courses


def _advance(courses: list[Course]) -> None:
    """Train all to their next evaluation, and evaluate them. The first advances all that are side by side."""
    for course in courses:
        course.advance()
    for course in courses:
        course.test()


def make_learners(specs: Sequence[RunSpec]) -> list[Learner]:
    """The learners of one batch of runs, before their first step."""
    deep = [spec.agent for spec in specs if isinstance(spec.agent, Deep)]
    if deep:
        tasks, seeds = [spec.task for spec in specs], [spec.seed for spec in specs]
        specs[0].check_jax()
        return list(begin_together(deep, tasks, seeds))
    return [begin(spec.agent, spec.task, spec.seed) for spec in specs]


def _timing(seconds: tuple[float, float], side_by_side: int) -> dict[str, Any]:
    return {
        "seconds": round(seconds[0], 3),
        "processor_seconds": round(seconds[1], 3),
        "side_by_side": side_by_side,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "pdrm": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


# --- Checkpoints


def seconds_between_checkpoints() -> float:
    """60 unless the environment says otherwise."""
    word = os.environ.get(EVERY_SECONDS, "60")
    try:
        seconds = float(word)
        need((0 <= seconds < float("inf"), "out of range"))
    except ValueError as error:
        fault = f"{EVERY_SECONDS} is `{word}`, but must be a number of seconds from 0 on"
        raise BadSetting(fault, fix=f"{EVERY_SECONDS}=60, or unset it") from error
    return seconds


def _save_checkpoints(courses: list[Course]) -> float:
    """Write where the runs stand; returns when the next checkpoint is due."""
    began = time.monotonic()
    for course in courses:
        course.save_checkpoint()
    ended = time.monotonic()
    return ended + max(seconds_between_checkpoints(), (ended - began) / SHARE_FOR_CHECKPOINTS)


def read_checkpoint(path: Path) -> Arrays:
    """The arrays of a checkpoint."""
    try:
        return decode_checkpoint(path.read_bytes())
    except MALFORMED as error:
        raise damaged_checkpoint(path, error) from error


def _checkpointed(folder: Path) -> int:
    """The training before a run's checkpoint."""
    path = folder / CHECKPOINT
    if not path.exists():
        return 0
    try:
        return int(read_checkpoint(path)["done"])
    except MALFORMED as error:
        raise damaged_checkpoint(path, error) from error


def damaged_checkpoint(path: Path, error: Exception) -> BadRunFolder:
    """The error that a checkpoint cannot be used."""
    fault = f"{path} is not a checkpoint, or is damaged: {describe_fault(error)}"
    return BadRunFolder(fault, fix=f"remove {path} to start that run again")


def read_curve_so_far(folder: Path, unit: str) -> Curve:
    """The evaluations of a run that is not done, by its last checkpoint."""
    path = folder / CHECKPOINT
    if not path.exists():
        raise no_run(folder, "it was not trained until a first test")
    try:
        return Curve.of(unit, read_tests(read_checkpoint(path)))
    except MALFORMED as error:
        raise damaged_checkpoint(path, error) from error
