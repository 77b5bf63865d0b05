"""The training loop: it trains runs to the end, each in its folder, whatever their agent is.

A stopped run continues from its checkpoint to the same result if its learner can be saved,
otherwise it starts again. If two processes train the same run, one waits for the other's lock.
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
from pdrm.learning.settings import JsonObject, bad_setting

EVERY_SECONDS = "PDRM_CHECKPOINT_SECONDS"
"""The environment variable for the seconds between two checkpoints."""
SHARE_FOR_CHECKPOINTS = 0.05
"""The maximum share of a run's time. Large tables and replay buffers take long to write."""
STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a run after an evaluation, for displays and logs."""

    spec: RunSpec
    done: int
    """Training so far, in the agent's unit."""
    total: int
    test: EvaluationResult
    facts: dict[str, float]
    """Statistics of the learner."""


SINKS = ("tensorboard", "wandb")
"""The logging tools by name (see `sinks`)."""
Watch = Callable[[Status], None]
"""A function that is called after each evaluation of a run."""


@contextmanager
def defer_interrupt() -> Iterator[Callable[[], None]]:
    """Delay Ctrl-C to a point between two updates.

    The first Ctrl-C is noted, and raised by the function that is yielded. A second one raises at
    once.

    >>> with defer_interrupt() as raise_if_interrupted:
    ...     raise_if_interrupted()
    """
    signals: list[int] = []

    def raise_if_interrupted() -> None:
        if signals:
            raise KeyboardInterrupt

    def note(number: int, _frame: FrameType | None) -> None:
        raise_if_interrupted()
        signals.append(number)
        if parent_process() is None:  # the parent of a worker gets the signal too, and reports it
            message = b"\nstopping after the next evaluation (Ctrl-C again: at once) ...\n"
            with suppress(OSError):  # not print: the signal may have interrupted one
                os.write(STANDARD_ERROR, message)

    if threading.current_thread() is not threading.main_thread():
        yield raise_if_interrupted
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield raise_if_interrupted
    finally:
        signal.signal(signal.SIGINT, previous)


# --- Runs

SpecAndFolder = tuple[RunSpec, Path]
"""The spec of a run, and its folder."""


@dataclass(slots=True)
class RunInProgress:
    """A run in training."""

    spec: RunSpec
    folder: Path
    learner: Learner
    curve: str = COLUMNS
    """The content of its file so far."""
    evaluations: int = 0
    """The number of evaluations so far."""

    @property
    def done(self) -> int:
        """Training so far, in the agent's unit."""
        if self.spec.agent.unit == "timesteps":
            return self.learner.steps
        return self.learner.episodes

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return min(1, self.done / self.spec.agent.total)

    @property
    def is_over(self) -> bool:
        """True after the last evaluation."""
        return self.evaluations * self.spec.agent.between_tests >= self.spec.agent.total

    @property
    def facts(self) -> dict[str, float]:
        """Statistics of the run."""
        if isinstance(self.learner, BuiltInLearner):
            return self.learner.facts()
        return {"steps": float(self.learner.steps)}

    def resume(self) -> None:
        """Continue from the checkpoint, if one exists."""
        arrays = read_checkpoint(self.folder)
        if arrays is not None and isinstance(self.learner, Resumable):
            self.curve = arrays.pop(CHECKPOINT_CURVE).item()
            self.evaluations = len(Curve.parse(self.curve))
            self.learner.load(arrays)

    def advance(self) -> None:
        """Train until the next evaluation is due.

        The last episode or rollout may already have gone beyond that.
        """
        agent = self.spec.agent
        before = self.done
        due = min(agent.total, (self.evaluations + 1) * agent.between_tests)
        if before >= due:
            return
        self.learner.advance(Until(steps=due) if agent.unit == "timesteps" else Until(episodes=due))
        if self.done <= before:
            fault = f"`advance` of agent `{agent.name}` returned without training"
            fix = "count `steps` and `episodes`, and train while not until.reached(self)"
            raise BadSetting(fault, fix=fix)

    def evaluate(self) -> EvaluationResult:
        """Evaluate the present policy, and add the result to the curve."""
        agent = self.spec.agent
        learner = self.learner
        episodes = agent.test_episodes
        seed = self.evaluations
        if isinstance(learner, SelfEvaluating):
            result = learner.test(episodes, seed)
        else:
            result = evaluate_policy(self.spec.task, learner.policy(), agent.k, episodes, seed)
        if not self.evaluations and isinstance(agent, ThirdPartyAgent):
            self.save_policy()  # an error here comes early
        self.curve += format_evaluation(result, learner.episodes, learner.steps)
        self.evaluations += 1
        return result

    def report(self, result: EvaluationResult, watch: Watch | None) -> None:
        """Report the last evaluation to `watch` and to displays in other processes."""
        write_progress(self.folder, self.share, float(result.returns.mean()))
        if watch is not None:
            watch(Status(self.spec, self.done, self.spec.agent.total, result, self.facts))

    def save_checkpoint(self) -> None:
        """Write a checkpoint if the learner can resume."""
        if isinstance(self.learner, Resumable):
            progress = {CHECKPOINT_DONE: self.done, CHECKPOINT_CURVE: self.curve}
            write_checkpoint(self.folder, {**self.learner.save(), **progress})

    def save_policy(self) -> Fingerprint | None:
        """Write the present policy. Returns None if it cannot be saved in a file."""
        path = self.folder / POLICY
        learner = self.learner
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
            fault = f"the result of `save` of agent `{self.spec.agent.name}` cannot be saved in a file: {describe_fault(error)}"
            fix = "return a dictionary of arrays of numbers, none of objects"
            raise BadSetting(fault, fix=fix) from error
        write_atomically(path, data)
        return Fingerprint.of(data)

    def finish(self, timing: JsonObject, largest: int | None) -> Policy | None:
        """Write the policy, the curve, the times and the result, in this order.

        Returns the policy if it cannot be saved in a file.
        """
        fingerprint = self.save_policy()
        sha256, size = fingerprint or Fingerprint("", 0)
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
        for leftover in (CHECKPOINT, PROGRESS):
            (self.folder / leftover).unlink(missing_ok=True)
        return self.learner.policy() if fingerprint is None else None


def train_batch(
    specs: Sequence[RunSpec],
    folders: Sequence[Path],
    watch: Watch | None = None,
    *,
    largest_policy: int | None = None,
) -> dict[str, Policy]:
    """Train all unfinished runs of a batch, each in its folder.

    Runs with checkpoints at the same step are trained side by side. If a run diverges, the
    others are finished before the error is raised.

    Args:
        specs: Runs with the same `batch`.
        folders: The folder of each run.
        watch: Called after every evaluation.
        largest_policy: Maximum size of a policy that is kept, in bytes (default: no limit).

    Returns:
        By the ids of their runs, the new policies that cannot be saved in a file.
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
        pending = list(side_by_side.values())
        while pending:
            runs = pending.pop(0)
            try:
                policies |= _train(runs, watch, largest_policy)
            except Diverged as error:
                diverged = error
                others = [run for i, run in enumerate(runs) if i not in error.runs]
                if error.runs and others:  # without `runs` none of them can continue
                    pending.append(others)
    if diverged is not None:
        raise diverged
    return policies


def _train(
    runs: list[SpecAndFolder], watch: Watch | None, largest: int | None
) -> dict[str, Policy]:
    """Train runs side by side; returns the policies that cannot be saved in a file."""
    start = time.perf_counter()
    in_progress = _start(runs)
    next_checkpoint = time.monotonic() + seconds_between_checkpoints()
    is_consistent = False
    with defer_interrupt() as raise_if_interrupted:
        try:
            while not in_progress[0].is_over:
                is_consistent = False
                for run in in_progress:  # the first advances all that are side by side
                    run.advance()
                results = [run.evaluate() for run in in_progress]
                is_consistent = True
                for run, result in zip(in_progress, results, strict=True):
                    run.report(result, watch)
                raise_if_interrupted()
                if time.monotonic() > next_checkpoint:
                    next_checkpoint = _save_checkpoints(in_progress)
        except KeyboardInterrupt:
            # In an update, the last checkpoint is the last state that an uninterrupted run has too.
            if is_consistent:
                _save_checkpoints(in_progress)
                for run in in_progress:
                    run.save_policy()
            raise
        timing = {
            "seconds": round(time.perf_counter() - start, 3),
            "side_by_side": len(in_progress),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "pdrm": __version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
        }
        policies = {run.spec.id: run.finish(timing, largest) for run in in_progress}
        raise_if_interrupted()  # these runs are done, but others may follow
    return {id_: policy for id_, policy in policies.items() if policy is not None}


def _start(runs: list[SpecAndFolder]) -> list[RunInProgress]:
    """Start the runs, or resume them from their checkpoints."""
    for spec, folder in runs:
        remove_leftovers(folder)
        domain = spec.task.domain
        if isinstance(domain, FiniteDomain) and not spec.task.catalogued:
            write_atomically(folder / DOMAIN, domain_bytes(domain))
        # The states of success do not change the run, and are not part of the id.
        write_json(folder / SPEC, {**spec.record(), "success": spec.task.success})
        write_progress(folder, 0)
    learners = start_runs([spec for spec, _ in runs])
    started = [RunInProgress(*run, learner) for run, learner in zip(runs, learners, strict=True)]
    for run in started:
        run.resume()
        write_progress(run.folder, run.share)
    return started


def seconds_between_checkpoints() -> float:
    """5, or the value of the environment variable.

    Workers that Ctrl-C ends write no last checkpoint, so it must be short.
    """
    word = os.environ.get(EVERY_SECONDS, "5")
    try:
        return float(word)
    except ValueError:
        raise bad_setting(EVERY_SECONDS, word, "a number of seconds") from None


def _save_checkpoints(runs: list[RunInProgress]) -> float:
    """Write a checkpoint of each run; returns the time of the next checkpoint."""
    start = time.monotonic()
    for run in runs:
        run.save_checkpoint()
    end = time.monotonic()
    return end + max(seconds_between_checkpoints(), (end - start) / SHARE_FOR_CHECKPOINTS)
