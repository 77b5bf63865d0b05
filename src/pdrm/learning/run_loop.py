"""The loop that trains runs to the end, each in a folder of its own: tables, networks and agents of others alike.

A run that was stopped continues from its checkpoint to the very result it would have had. Two processes that want the same run
take turns at its folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import parent_process
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from pdrm import __version__
from pdrm.domains.domain_files import domain_bytes
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, Diverged
from pdrm.files import Fingerprint, encode_arrays, ensure_folder, write_atomically
from pdrm.learning.agents import Deep
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
    read_checkpoint,
    remove_leftovers,
    write_checkpoint,
    write_json,
    write_progress,
)
from pdrm.learning.run_spec import RunSpec

EVERY_SECONDS = "PDRM_CHECKPOINT_SECONDS"
"""The variable that says how many seconds pass between two checkpoints."""
SHARE_FOR_CHECKPOINTS = 0.1
"""Of a run's time, at most: those of millions of rows, or with a large replay buffer, take long to write."""
STANDARD_ERROR = 2
OWN = "learner."
"""In a checkpoint, the arrays of the learner begin with it."""


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


@contextmanager
def defer_interrupt() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C wait, because an interrupt in the middle of an update would leave a run where no undisturbed run ever is: the first
    is only noted (a line says so at once), and raised by the function that is yielded; a second one acts at once.

    >>> with defer_interrupt() as raise_if_asked:
    ...     raise_if_asked()
    """
    asked: list[int] = []

    def raise_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    def note(number: int, _frame: FrameType | None) -> None:
        raise_if_asked()
        asked.append(number)
        if parent_process() is None:  # a worker's parent has heard it too, and says what it does
            with suppress(OSError):  # not print: the signal may have come in the middle of one
                os.write(STANDARD_ERROR, b"\nstopping after the next test ...\n")

    if threading.current_thread() is not threading.main_thread():
        yield raise_if_asked
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield raise_if_asked
    finally:
        signal.signal(signal.SIGINT, before)


# --- One run, or several side by side


class Placed(NamedTuple):
    """A run and its folder."""

    spec: RunSpec
    folder: Path

    @property
    def done(self) -> int:
        """The training before its checkpoint."""
        arrays = read_checkpoint(self.folder)
        return 0 if arrays is None else int(arrays["done"])


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
    def of(cls, run: Placed, learner: Learner) -> Course:
        """The run before its first step, or where its checkpoint left it."""
        counted = learner if isinstance(learner, NetworkLearner) else run.spec.agent
        course = cls(run.spec, run.folder, learner, counted.total, counted.between_tests)
        arrays = read_checkpoint(run.folder)
        if arrays is not None and isinstance(learner, Resumable):
            own = {name: array for name, array in arrays.items() if name.startswith(OWN)}
            learner.load({name.removeprefix(OWN): array for name, array in own.items()})
            course.tests = read_tests(arrays)
        return course

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
            own = {f"{OWN}{name}": array for name, array in self.learner.save().items()}
            done = np.int64(self.done)
            write_checkpoint(self.folder, {"done": done, **self.curve.arrays(), **own})

    def save_policy(self) -> Fingerprint | None:
        """Write what was learnt so far; None if a file cannot hold it."""
        path, learner = self.folder / POLICY, self.learner
        if isinstance(learner, TableLearner | NetworkLearner):
            about = {"spec": self.spec.record(), "id": self.spec.id, "done": self.done}
            return learner.save_policy(path, about)
        policy = learner.policy()
        if isinstance(learner, Resumable):
            data = encode_arrays(learner.save())
        elif isinstance(policy, KeptPolicy):
            data = encode_arrays(policy.arrays())
        else:
            return None
        write_atomically(path, data)
        return Fingerprint.of(data)

    def finish(self, timing: dict[str, Any], largest: int | None) -> Policy | None:
        """Write the policy, the curve, the times and the result, in this order; return the policy if a file cannot hold it."""
        written = self.save_policy()
        if written is not None and largest is not None and written.size > largest:
            (self.folder / POLICY).unlink()
        curve = self.curve.text().encode()
        result: dict[str, Any] = {"id": self.spec.id}
        for name, value in self.facts.items():
            is_count = value.is_integer() and name != "cut_off"
            result[name] = int(value) if is_count else value
        result["policy_sha256"], result["policy_bytes"] = written or ("", 0)
        result["curve_sha256"] = hashlib.sha256(curve).hexdigest()
        write_atomically(self.folder / CURVE, curve)
        write_json(self.folder / TIMING, timing)
        write_json(self.folder / RESULT, result)
        for left in (CHECKPOINT, PROGRESS):
            (self.folder / left).unlink(missing_ok=True)
        return self.learner.policy() if written is None else None


def execute(
    specs: Sequence[RunSpec],
    folders: Sequence[Path],
    watch: Watch | None = None,
    *,
    largest_policy: int | None = None,
) -> dict[str, Policy]:
    """Train runs of one batch to the end, each in its folder; what is done is left as it is. Those whose checkpoints agree on how far
    they are are trained side by side; if one diverges, the others come to their end before that is an error.

    Args:
        specs: The runs; they have one `batch`.
        folders: Of each run.
        watch: Called after every evaluation.
        largest_policy: Bytes of a policy beyond which it is not kept (default: all are).

    Returns:
        The policies of the runs that were trained now, by the ids of the runs, if a file cannot hold them.
    """
    policies: dict[str, Policy] = {}
    diverged: Diverged | None = None
    with ExitStack() as stack:
        for folder in sorted(folders):
            stack.enter_context(hold(ensure_folder(folder)))
        placed = [Placed(*pair) for pair in zip(specs, folders, strict=True)]
        waiting = [run for run in placed if not is_done(run.folder)]
        while waiting:
            done = [run.done for run in waiting]
            together = [run for run, own in zip(waiting, done, strict=True) if own == done[0]]
            waiting = [run for run in waiting if run not in together]
            try:
                policies |= _train(together, watch, largest_policy)
            except Diverged as error:
                diverged = error
                waiting += [run for place, run in enumerate(together) if place not in error.runs]
    if diverged is not None:
        raise diverged
    return policies


def _train(runs: list[Placed], watch: Watch | None, largest: int | None) -> dict[str, Policy]:
    """Train runs side by side; returns the policies that no file can hold."""
    began, began_processor = time.perf_counter(), time.process_time()
    courses = _begin(runs)
    due, is_whole = time.monotonic() + seconds_between_checkpoints(), False
    with defer_interrupt() as raise_if_asked:
        try:
            while not courses[0].is_over:
                is_whole = False
                _advance(courses)
                is_whole = True
                for course in courses:
                    course.tell(watch)
                raise_if_asked()
                if time.monotonic() > due:
                    due = _save_checkpoints(courses)
        except KeyboardInterrupt:
            # In the middle of an update the previous checkpoint is the last state that an uninterrupted run also passes through.
            if is_whole:
                _save_checkpoints(courses)
                for course in courses:
                    course.save_policy()
            raise
        timing = {
            "seconds": round(time.perf_counter() - began, 3),
            "processor_seconds": round(time.process_time() - began_processor, 3),
            "side_by_side": len(courses),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "pdrm": __version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
        }
        kept = {course.spec.id: course.finish(timing, largest) for course in courses}
        raise_if_asked()  # these runs are done, others may follow
    return {run: policy for run, policy in kept.items() if policy is not None}


def _begin(runs: list[Placed]) -> list[Course]:
    """The runs before their first step, or where their checkpoints left them."""
    for spec, folder in runs:
        remove_leftovers(folder)
        domain = spec.task.domain
        if isinstance(domain, FiniteDomain) and not spec.task.catalogued:
            write_atomically(folder / DOMAIN, domain_bytes(domain))
        # Which states mean success changes nothing in the run, and is not part of the id.
        write_json(folder / SPEC, {**spec.record(), "success": spec.task.success})
        write_progress(folder, 0, 1)
    specs = [run.spec for run in runs]
    learners = make_learners(specs)
    courses = [Course.of(run, learner) for run, learner in zip(runs, learners, strict=True)]
    for course in courses:
        write_progress(course.folder, course.done, course.total)
    return courses


def _advance(courses: list[Course]) -> None:
    """Train all to their next evaluation, and evaluate them. The first advances all that are side by side."""
    for course in courses:
        course.advance()
    for course in courses:
        course.test()


def make_learners(specs: Sequence[RunSpec]) -> Sequence[Learner]:
    """The learners of one batch of runs, before their first step."""
    deep = [spec.agent for spec in specs if isinstance(spec.agent, Deep)]
    if deep:
        specs[0].check_jax()
        tasks, seeds = [spec.task for spec in specs], [spec.seed for spec in specs]
        return begin_together(deep, tasks, seeds)
    return [begin(spec.agent, spec.task, spec.seed) for spec in specs]


def seconds_between_checkpoints() -> float:
    """60 unless the environment says otherwise."""
    word = os.environ.get(EVERY_SECONDS, "60")
    try:
        return float(word)
    except ValueError as error:
        fault = f"{EVERY_SECONDS} is `{word}`, but must be a number of seconds"
        raise BadSetting(fault, fix=f"{EVERY_SECONDS}=60, or unset it") from error


def _save_checkpoints(courses: list[Course]) -> float:
    """Write where the runs stand; returns when the next checkpoint is due."""
    began = time.monotonic()
    for course in courses:
        course.save_checkpoint()
    ended = time.monotonic()
    return ended + max(seconds_between_checkpoints(), (ended - began) / SHARE_FOR_CHECKPOINTS)
