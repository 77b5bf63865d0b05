"""The loop that trains runs to the end, each in a folder of its own: tables, networks and agents of others alike.

A run that was stopped continues from its checkpoint to the same result, if its learner can save; otherwise it begins again. Two processes that want the same run
take turns at its folder.
"""

from __future__ import annotations

import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from types import FrameType
from typing import Any

from pdrm import __version__
from pdrm.domains.domain_files import domain_bytes
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, Diverged
from pdrm.files import (
    Fingerprint,
    describe_fault,
    encode_arrays,
    ensure_folder,
    read_arrays,
    write_atomically,
)
from pdrm.learning.evaluation import COLUMNS, Curve, evaluate_policy, format_evaluation
from pdrm.learning.protocol import (
    BuiltInLearner,
    EvaluationResult,
    Learner,
    Policy,
    Resumable,
    SavablePolicy,
    SelfEvaluating,
    ThirdPartyAgent,
    Until,
)
from pdrm.learning.run_folder import (
    CHECKPOINT,
    CHECKPOINT_CURVE,
    CHECKPOINT_DONE,
    CURVE,
    DOMAIN,
    POLICY,
    PROGRESS,
    RESULT,
    SPEC,
    TIMING,
    RunSpec,
    is_done,
    lock_folder,
    read_checkpoint,
    remove_leftovers,
    start_runs,
    write_checkpoint,
    write_json,
    write_progress,
)
from pdrm.learning.settings import bad_setting

EVERY_SECONDS = "PDRM_CHECKPOINT_SECONDS"
"""The variable that says how many seconds pass between two checkpoints."""
SHARE_FOR_CHECKPOINTS = 0.05
"""Of a run's time, at most: those of millions of rows, or with a large replay buffer, take long to write."""
STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class Status:
    """A run after an evaluation: for displays and logs."""

    spec: RunSpec
    done: int
    """Training so far, in the agent's unit."""
    total: int
    test: EvaluationResult
    facts: dict[str, float]
    """Numbers that the learner tells."""


SINKS = ("tensorboard", "wandb")
"""The tools to log to, by name (`sinks` has them)."""
Watch = Callable[[Status], None]
"""Called for each run after each of its evaluations."""


@contextmanager
def defer_interrupt() -> Iterator[Callable[[], None]]:
    """Delay Ctrl-C to a point between two updates. The first is noted, and raised by the function that is yielded; a second one acts
    at once.

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
                os.write(
                    STANDARD_ERROR, b"\nstopping after the next test (Ctrl-C again: at once) ...\n"
                )

    if threading.current_thread() is not threading.main_thread():
        yield raise_if_asked
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield raise_if_asked
    finally:
        signal.signal(signal.SIGINT, before)


# --- One run, or several side by side

SpecAndFolder = tuple[RunSpec, Path]
"""A run and its folder."""


@dataclass(slots=True)
class RunInProgress:
    """A run under way."""

    spec: RunSpec
    folder: Path
    learner: Learner
    curve: str = COLUMNS
    """The text of its file so far."""
    tested: int = 0
    """The evaluations so far."""

    @property
    def done(self) -> int:
        """Training so far, in the agent's unit."""
        in_steps = self.spec.agent.unit == "timesteps"
        return self.learner.steps if in_steps else self.learner.episodes

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return min(1, self.done / self.spec.agent.total)

    @property
    def is_over(self) -> bool:
        """True after the last evaluation."""
        return self.tested * self.spec.agent.between_tests >= self.spec.agent.total

    @property
    def facts(self) -> dict[str, float]:
        """The state of the run, in numbers."""
        if isinstance(self.learner, BuiltInLearner):
            return self.learner.facts()
        return {"steps": float(self.learner.steps)}

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        arrays = read_checkpoint(self.folder)
        if arrays is not None and isinstance(self.learner, Resumable):
            self.curve = arrays.pop(CHECKPOINT_CURVE).item()
            self.tested = len(Curve.parse(self.curve))
            self.learner.load(arrays)

    def advance(self) -> None:
        """Train until the next evaluation is due; an episode or a rollout may have gone beyond it already."""
        agent, before = self.spec.agent, self.done
        due = min(agent.total, (self.tested + 1) * agent.between_tests)
        if before >= due:
            return
        self.learner.advance(Until(steps=due) if agent.unit == "timesteps" else Until(episodes=due))
        if self.done <= before:
            fault = f"`advance` of agent `{agent.name}` returned without training"
            fix = "count `steps` and `episodes`, and train while not until.reached(self)"
            raise BadSetting(fault, fix=fix)

    def test(self) -> EvaluationResult:
        """Test, and note the result."""
        agent, learner = self.spec.agent, self.learner
        if isinstance(learner, SelfEvaluating):
            test = learner.test(agent.test_episodes, self.tested)
        else:
            policy = learner.policy()
            test = evaluate_policy(
                self.spec.task, policy, agent.k, agent.test_episodes, self.tested
            )
        if not self.tested and isinstance(agent, ThirdPartyAgent):
            self.save_policy()  # if it cannot be kept, say so now
        self.curve += format_evaluation(test, learner.episodes, learner.steps)
        self.tested += 1
        return test

    def tell(self, test: EvaluationResult, watch: Watch | None) -> None:
        """Tell the watch of the last evaluation, and displays in other processes."""
        write_progress(self.folder, self.share, float(test.returns.mean()))
        if watch is not None:
            watch(Status(self.spec, self.done, self.spec.agent.total, test, self.facts))

    def save_checkpoint(self) -> None:
        """Write where the run stands, if it can resume."""
        if isinstance(self.learner, Resumable):
            own = {CHECKPOINT_DONE: self.done, CHECKPOINT_CURVE: self.curve}
            write_checkpoint(self.folder, {**self.learner.save(), **own})

    def save_policy(self) -> Fingerprint | None:
        """Write what was learnt so far; None if a file cannot hold it."""
        path, learner = self.folder / POLICY, self.learner
        if isinstance(learner, BuiltInLearner):
            about = {"spec": self.spec.record(), "id": self.spec.id, "done": self.done}
            return learner.save_policy(path, about)
        policy = learner.policy()
        if isinstance(learner, Resumable):
            arrays = learner.save()
        elif isinstance(policy, SavablePolicy):
            arrays = policy.arrays()
        else:
            return None
        try:
            data = encode_arrays(arrays)
            read_arrays(data)
        except (TypeError, ValueError) as error:
            fault = f"what `save` of agent `{self.spec.agent.name}` returns cannot be kept: {describe_fault(error)}"
            fix = "return a dictionary of arrays of numbers, none of objects"
            raise BadSetting(fault, fix=fix) from error
        write_atomically(path, data)
        return Fingerprint.of(data)

    def finish(self, timing: dict[str, Any], largest: int | None) -> Policy | None:
        """Write the policy, the curve, the times and the result, in this order; return the policy if a file cannot hold it."""
        written = self.save_policy()
        sha256, size = written or Fingerprint("", 0)
        if largest is not None and size > largest:
            (self.folder / POLICY).unlink()
        curve = self.curve.encode()
        result = {
            "id": self.spec.id,
            "policy_sha256": sha256,
            "policy_bytes": size,
            "curve_sha256": Fingerprint.of(curve).sha256,
        }
        for name, value in self.facts.items():
            result[name] = int(value) if value.is_integer() else value
        write_atomically(self.folder / CURVE, curve)
        write_json(self.folder / TIMING, timing)
        write_json(self.folder / RESULT, result)
        for left in (CHECKPOINT, PROGRESS):
            (self.folder / left).unlink(missing_ok=True)
        return self.learner.policy() if written is None else None


def train_batch(
    specs: Sequence[RunSpec],
    folders: Sequence[Path],
    watch: Watch | None = None,
    *,
    largest_policy: int | None = None,
) -> dict[str, Policy]:
    """Train runs of one batch to the end, each in its folder; finished runs are left as they are. Runs whose checkpoints stand
    at the same point are trained side by side. If one diverges, the others are finished before the error is raised.

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
            stack.enter_context(lock_folder(ensure_folder(folder)))
        side_by_side: dict[int, list[SpecAndFolder]] = {}
        for spec, folder in zip(specs, folders, strict=True):
            if not is_done(folder):
                arrays = read_checkpoint(folder)
                done = 0 if arrays is None else int(arrays[CHECKPOINT_DONE])
                side_by_side.setdefault(done, []).append((spec, folder))
        waiting = list(side_by_side.values())
        while waiting:
            runs = waiting.pop(0)
            try:
                policies |= _train(runs, watch, largest_policy)
            except Diverged as error:
                diverged = error
                sound = [run for place, run in enumerate(runs) if place not in error.runs]
                waiting += [sound] if sound else []
    if diverged is not None:
        raise diverged
    return policies


def _train(
    runs: list[SpecAndFolder], watch: Watch | None, largest: int | None
) -> dict[str, Policy]:
    """Train runs side by side; returns the policies that no file can hold."""
    began = time.perf_counter()
    courses = _begin(runs)
    due, is_whole = time.monotonic() + seconds_between_checkpoints(), False
    with defer_interrupt() as raise_if_asked:
        try:
            while not courses[0].is_over:
                is_whole = False
                for course in courses:  # the first advances all that are side by side
                    course.advance()
                tests = [course.test() for course in courses]
                is_whole = True
                for course, test in zip(courses, tests, strict=True):
                    course.tell(test, watch)
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
            "side_by_side": len(courses),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "pdrm": __version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
        }
        kept = {course.spec.id: course.finish(timing, largest) for course in courses}
        raise_if_asked()  # these runs are done, others may follow
    return {run: policy for run, policy in kept.items() if policy is not None}


def _begin(runs: list[SpecAndFolder]) -> list[RunInProgress]:
    """The runs before their first step, or where their checkpoints left them."""
    for spec, folder in runs:
        remove_leftovers(folder)
        domain = spec.task.domain
        if isinstance(domain, FiniteDomain) and not spec.task.catalogued:
            write_atomically(folder / DOMAIN, domain_bytes(domain))
        # Which states mean success changes nothing in the run, and is not part of the id.
        write_json(folder / SPEC, {**spec.record(), "success": spec.task.success})
        write_progress(folder, 0)
    learners = start_runs([spec for spec, _ in runs])
    courses = [RunInProgress(*run, learner) for run, learner in zip(runs, learners, strict=True)]
    for course in courses:
        course.resume()
        write_progress(course.folder, course.share)
    return courses


def seconds_between_checkpoints() -> float:
    """5, or what the environment variable says. Workers that Ctrl-C ends write no last checkpoint, so it must be short."""
    word = os.environ.get(EVERY_SECONDS, "5")
    try:
        return float(word)
    except ValueError:
        raise bad_setting(EVERY_SECONDS, word, "a number of seconds") from None


def _save_checkpoints(courses: list[RunInProgress]) -> float:
    """Write where the runs stand; returns when the next checkpoint is due."""
    began = time.monotonic()
    for course in courses:
        course.save_checkpoint()
    ended = time.monotonic()
    return ended + max(seconds_between_checkpoints(), (ended - began) / SHARE_FOR_CHECKPOINTS)
