"""What decides a run, and the loop that trains it to the end in a folder of its own. Tables and networks alike.

Everything that decides a run is its `RunSpec`, whose hash is the run's id. Its folder holds small files written whole or not at
all; `result.json` is written last: a run with one is done and never repeated, one without goes on from its checkpoint to the
very result it would have had. Two processes that want the same run take turns at its folder. `timing.json` is the only file
that differs between two equal runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from multiprocessing import parent_process
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any, Protocol, Self

import numpy as np

from pdrm import __version__
from pdrm.domains.array_domain import domain_bytes
from pdrm.domains.domain_files import load_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.water import WaterWorld
from pdrm.errors import (
    BadRunFolder,
    BadSetting,
    CannotWrite,
    Diverged,
    PdrmError,
    name_alike,
)
from pdrm.files import (
    MALFORMED,
    RUN_RECORD,
    Arrays,
    Fingerprint,
    describe_fault,
    ensure_folder,
    need,
    parse_record,
    write_atomically,
)
from pdrm.learning.agents import Deep, Summary, read_agent
from pdrm.learning.checkpoint import encode_checkpoint, read_checkpoint
from pdrm.learning.curve import Curve, Test, read_tests
from pdrm.learning.settings import Agent
from pdrm.task import Task

SPEC, DOMAIN, CHECKPOINT, POLICY, CURVE = (
    RUN_RECORD,
    "domain.npz",
    "checkpoint.npz",
    "policy.npz",
    "curve.csv",
)
RESULT, TIMING, FAILURE, PROGRESS = "result.json", "timing.json", "failure.txt", ".progress"
EVERY_SECONDS = "PDRM_CHECKPOINT_SECONDS"
"""The variable that says how many seconds pass between two checkpoints."""
SHARE_FOR_CHECKPOINTS = 0.1
"""Of a run's time, at most: those of millions of rows, or with a large replay buffer, take long to write."""
FACTS = ("epsilon", "steps", "rows", "numbers", "cut_off")
"""What learners say of themselves at the end."""
STANDARD_ERROR = 2
LOCKS: ModuleType | None = import_module("fcntl") if find_spec("fcntl") is not None else None
"""Windows has none: run one command at a time there."""


# --- What decides a run


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that decides a run's result.

    >>> from pdrm.learning.agents import QLearning
    >>> spec = RunSpec(Task("letter"), QLearning(k=1, episodes=10), seed=3)
    >>> spec.name == f"letter-q-1-seed3-{spec.id}", len(spec.id)
    (True, 12)
    """

    task: Task
    agent: Agent
    seed: int

    def record(self) -> dict[str, Any]:
        """The spec as JSON values."""
        task, agent = self.task.record(), self.agent
        return {"task": task, "agent": agent.name, "settings": agent.record(), "seed": self.seed}

    @property
    def id(self) -> str:
        """The hash of the spec."""
        return hashlib.sha256(json.dumps(self.record(), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        called = re.sub(r"[^\w.-]+", "-", self.task.name)
        return f"{called}-{self.agent.name}-{self.agent.k}-seed{self.seed}-{self.id}"

    @property
    def batch(self) -> str:
        """Runs with the same text here can be trained side by side; a table is trained by itself."""
        if not self.agent.deep:
            return self.id
        import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
        from pdrm.learning.deep.deep_learner import batch_key

        return batch_key(self.task, self.agent)

    def check(self) -> None:
        """Raise what is wrong with the run, before anything is trained."""
        if isinstance(self.agent, Deep):
            import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
            from pdrm.learning.deep.deep_learner import check_fits

            check_fits(self.task, self.agent)
        else:
            make_learner([self])


def read_spec(folder: Path) -> RunSpec:
    """The spec of the run in a folder; also of one that version 0.1 trained with a table."""
    try:
        record = parse_record((folder / SPEC).read_bytes())
        if "task" not in record:
            record = _convert_old_spec(record)
        where, agent = record["task"], read_agent(record["agent"], record["settings"])
        sha256 = where.get("domain_sha256")
        domain: FiniteDomain | WaterWorld | str = where["domain"]
        if sha256 is not None:
            domain = load_domain(folder / DOMAIN)
        elif "world" in where:
            domain = _read_world(where["world"])
        task = Task(domain, where["machine"], success=record.get("success", ()))
        same = where.get("edition") == task.record().get("edition")
        need(
            (
                same,
                f"domain `{task.name}` is not the one that it was trained in: it has changed since",
            )
        )
        seed = record["seed"]
        need((type(seed) is int and seed >= 0, f"its seed is {str(seed)[:40]!r}"))
        spec = RunSpec(task, agent, seed)
    except (*MALFORMED, PdrmError) as error:
        raise no_run(folder, describe_fault(error, SPEC)) from error
    if spec.task.record().get("domain_sha256") != sha256:
        raise BadRunFolder(
            f"{folder / DOMAIN} is not the domain of this run", fix="restore a copy, or train again"
        )
    return spec


def _read_world(record: dict[str, Any]) -> WaterWorld:
    """The WaterWorld of a spec."""
    world, plain = WaterWorld(**record), WaterWorld()
    for name in record:
        value, kind = getattr(world, name), type(getattr(plain, name))
        right = type(value) is kind or (kind is float and type(value) is int)
        need(
            (
                right and 0 <= value < float("inf"),
                f"the `{name}` of its world is {str(value)[:40]!r}",
            )
        )
    return world


def _convert_old_spec(record: dict[str, Any]) -> dict[str, Any]:
    """A spec as version 0.1 wrote it."""
    if "seeds" in record:
        raise ValueError("it is a deep run of an earlier version")
    task = {"domain": record["domain"], "machine": record["machine_text"]}
    if "domain_sha256" in record:
        task["domain_sha256"] = record["domain_sha256"]
    return {**record, "task": task, "settings": {**record["settings"], "k": record["k"]}}


# --- What learns


class Learner(Protocol):
    """What the loop needs of tables and networks alike: one run, or several side by side."""

    total: int  # of training, in the agent's unit
    between_tests: int
    ends: tuple[str, ...]  # the machine states in which an episode may end, by number

    @property
    def done(self) -> int: ...
    def advance(self, amount: int) -> None: ...
    def test(self) -> list[Test]: ...
    def snapshot(self, run: int) -> Arrays: ...
    def restore(self, snapshots: Iterable[Arrays]) -> None: ...
    def save_policy(
        self, run: int, path: Path, about: dict[str, Any], largest: int | None = None
    ) -> Fingerprint: ...
    def facts(self, run: int) -> dict[str, float]: ...


def make_learner(specs: Sequence[RunSpec]) -> Learner:
    """The runs, before their first step: one of a tabular agent, or any number of one batch of a deep one."""
    first = specs[0]
    if first.agent.deep:
        import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
        from pdrm.learning.deep.deep_learner import DeepLearner

        columns = zip(*((spec.task, spec.agent, spec.seed) for spec in specs), strict=True)
        return DeepLearner(*columns)
    if isinstance(first.agent, Summary):
        from pdrm.learning.tabular.summary_learner import SummaryLearner

        return SummaryLearner(first.task, first.agent, first.seed)
    from pdrm.learning.tabular.learner import TabularRun

    return TabularRun(first.task, first.agent, first.seed)


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run stands after a test: for displays and logs."""

    spec: RunSpec
    done: int
    total: int
    test: Test
    facts: dict[str, float]


Watch = Callable[[Status], None]
"""Called for each run after each of its tests."""


# --- The loop


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


def execute(
    specs: Sequence[RunSpec],
    folders: Sequence[Path],
    watch: Watch | None = None,
    *,
    largest_policy: int | None = None,
) -> None:
    """Train runs of one batch to the end, from their checkpoints where there are some; those that are done are left alone.

    Ctrl-C keeps what was learnt and is then passed on. largest_policy: bytes of a policy's file above which the result has its hash, and
    it is not kept.
    """
    with ExitStack() as stack:
        for folder in sorted(folders):
            stack.enter_context(_hold(ensure_folder(folder)))
        pending = [
            (spec, folder)
            for spec, folder in zip(specs, folders, strict=True)
            if not is_done(folder)
        ]
        done = {folder: _checkpointed(folder) for _, folder in pending}
        for _, group in groupby(
            sorted(pending, key=lambda run: done[run[1]]), lambda run: done[run[1]]
        ):
            _train_all(list(group), watch, largest_policy)
        for path in (folder / POLICY for folder in folders):
            if (
                largest_policy is not None
                and path.exists()
                and path.stat().st_size > largest_policy
            ):
                path.unlink()


def _train_all(
    runs: list[tuple[RunSpec, Path]], watch: Watch | None, largest_policy: int | None
) -> None:
    """Train runs side by side; where one diverges, the others come to their end before that is an error."""
    try:
        _train(runs, watch, largest_policy)
    except Diverged as error:
        others = [run for place, run in enumerate(runs) if place not in error.runs]
        for _, group in groupby(others, lambda run: _checkpointed(run[1])):
            _train_all(list(group), watch, largest_policy)
        raise


def _train(
    runs: list[tuple[RunSpec, Path]], watch: Watch | None, largest_policy: int | None
) -> None:
    """Train runs whose checkpoints agree on how far they are."""
    specs, folders = [spec for spec, _ in runs], [folder for _, folder in runs]
    for folder in folders:
        _remove_leftovers(folder)
    began = time.perf_counter(), time.process_time()
    learner = make_learner(specs)
    tests = _resume(learner, folders)
    for spec, folder in runs:
        domain = spec.task.domain
        if isinstance(domain, FiniteDomain) and not spec.task.catalogued:
            write_atomically(folder / DOMAIN, domain_bytes(domain))
        # What counts as success is kept, and is not part of the id: it changes nothing in the run.
        write_atomically(
            folder / SPEC, _json({**spec.record(), "success": spec.task.success}, sort_keys=True)
        )
    due, whole = time.monotonic() + seconds_between_checkpoints(), False
    with DeferredInterrupt() as interrupt:
        try:
            while learner.done < learner.total:
                whole = False
                learner.advance(learner.between_tests)
                for own, test in zip(tests, learner.test(), strict=True):
                    own.append(test.settle() if specs[0].agent.deep else test)
                whole = True
                _report_status(watch, runs, learner, tests)
                interrupt.raise_if_asked()
                if time.monotonic() > due:
                    due = _save_checkpoints(runs, learner, tests)
        except KeyboardInterrupt:
            # In the middle of an update the previous checkpoint is the last state that an uninterrupted run would also pass through.
            if whole:
                _save_checkpoints(runs, learner, tests)
                _save_policies(runs, learner)
            raise
        policies = _save_policies(runs, learner, largest_policy)
        _finish(
            runs,
            learner,
            tests,
            policies,
            (time.perf_counter() - began[0], time.process_time() - began[1]),
        )
        interrupt.raise_if_asked()  # these runs are done, others may follow


def _report_status(
    watch: Watch | None, runs: list[tuple[RunSpec, Path]], learner: Learner, tests: list[list[Test]]
) -> None:
    """Tell the watch of each run's test, and leave a note for displays in other processes."""
    for number, (spec, folder) in enumerate(runs):
        status = Status(spec, learner.done, learner.total, tests[number][-1], learner.facts(number))
        note = {
            "done": status.done,
            "total": status.total,
            "return": float(status.test.returns.mean()),
        }
        (folder / PROGRESS).write_text(json.dumps(note))
        if watch is not None:
            watch(status)


def seconds_between_checkpoints() -> float:
    """As the environment says: 60 unless it says otherwise."""
    word = os.environ.get(EVERY_SECONDS, "60")
    try:
        seconds = float(word)
        need((0 <= seconds < float("inf"), "out of range"))
    except ValueError as error:
        fault = f"{EVERY_SECONDS} is `{word}`, but must be a number of seconds from 0 on"
        raise BadSetting(fault, fix=f"{EVERY_SECONDS}=60, or unset it") from error
    return seconds


def _checkpointed(folder: Path) -> int:
    """How far a run's checkpoint is; 0: there is none."""
    path = folder / CHECKPOINT
    try:
        return _done(read_checkpoint(path.read_bytes()))
    except FileNotFoundError:
        return 0
    except MALFORMED as error:
        raise _damaged_checkpoint(path, error) from error


def _done(arrays: Arrays) -> int:
    done = arrays["done"]
    need(
        (
            done.dtype == np.int64 and done.shape == () and int(done) > 0,
            "`done` is not a count of training",
        )
    )
    return int(done)


def _resume(learner: Learner, folders: list[Path]) -> list[list[Test]]:
    """Put the runs where their checkpoints left them, once all that these hold was checked; returns their tests by then."""
    path, snapshots = folders[0] / CHECKPOINT, list[Arrays]()
    if not path.exists():
        return [[] for _ in folders]

    def read() -> Iterator[Arrays]:
        nonlocal path  # the one that is being checked
        for folder in folders:
            path = folder / CHECKPOINT
            snapshots.append(read_checkpoint(path.read_bytes()))
            yield snapshots[-1]

    try:
        learner.restore(read())
        last = -(-learner.done // learner.between_tests) * learner.between_tests
        times = [
            min(at, learner.total)
            for at in range(learner.between_tests, last + 1, learner.between_tests)
        ]
        tests = []
        for folder, arrays in zip(folders, snapshots, strict=True):
            path = folder / CHECKPOINT
            need((_done(arrays) == learner.done == times[-1], "it stands between two tests"))
            tests.append(read_tests(arrays, times, learner.ends))
    except MALFORMED as error:
        raise _damaged_checkpoint(path, error) from error
    return tests


def read_curve_so_far(folder: Path, unit: str) -> Curve:
    """The tests of a run that is not done, by its last checkpoint."""
    path = folder / CHECKPOINT
    if not path.exists():
        raise no_run(folder, "it was not trained until a first test")
    try:
        arrays = read_checkpoint(path.read_bytes())
        tests = read_tests(
            arrays, arrays["tests.at"].tolist(), arrays["tests.ends"].ravel().tolist()
        )
    except MALFORMED as error:
        raise _damaged_checkpoint(path, error) from error
    return Curve.of(unit, tests)


def _damaged_checkpoint(path: Path, error: Exception) -> BadRunFolder:
    fault = f"{path} is not a checkpoint, or is damaged: {describe_fault(error)}"
    return BadRunFolder(fault, fix=f"remove {path} to start that run afresh")


def _save_checkpoints(
    runs: list[tuple[RunSpec, Path]], learner: Learner, tests: list[list[Test]]
) -> float:
    """Write where the runs stand; returns when the next checkpoint is due."""
    began = time.monotonic()
    for number, (spec, folder) in enumerate(runs):
        arrays = {
            "done": np.int64(learner.done),
            **Curve.of(spec.agent.unit, tests[number]).arrays(),
        }
        write_atomically(
            folder / CHECKPOINT, encode_checkpoint({**arrays, **learner.snapshot(number)})
        )
    ended = time.monotonic()
    return ended + max(seconds_between_checkpoints(), (ended - began) / SHARE_FOR_CHECKPOINTS)


def _save_policies(
    runs: list[tuple[RunSpec, Path]], learner: Learner, largest: int | None = None
) -> list[Fingerprint]:
    """Write what was learnt so far; a learner may leave out what has more than so many bytes."""
    found = []
    for number, (spec, folder) in enumerate(runs):
        about = {"spec": spec.record(), "id": spec.id, spec.agent.unit: learner.done}
        found.append(learner.save_policy(number, folder / POLICY, about, largest))
    return found


def _finish(
    runs: list[tuple[RunSpec, Path]],
    learner: Learner,
    tests: list[list[Test]],
    policies: list[Fingerprint],
    took: tuple[float, float],
) -> None:
    """Write the curves, the times (by the clock, and of the processor) and the results, in this order."""
    seconds, processor = took
    timing = {
        "seconds": round(seconds, 3),
        "processor_seconds": round(processor, 3),
        "side_by_side": len(runs),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "pdrm": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
    for number, (spec, folder) in enumerate(runs):
        curve = Curve.of(spec.agent.unit, tests[number]).text().encode()
        write_atomically(folder / CURVE, curve)
        write_atomically(folder / TIMING, _json(timing))
        write_atomically(
            folder / RESULT, _json(_result(spec, policies[number], curve, learner.facts(number)))
        )
        for left in (CHECKPOINT, PROGRESS):
            (folder / left).unlink(missing_ok=True)


def _result(
    spec: RunSpec, policy: Fingerprint, curve: bytes, facts: dict[str, float]
) -> dict[str, Any]:
    """What `result.json` says: the policy's and the curve's hashes, and where the run ended."""
    facts = {
        name: int(value) if value.is_integer() and name != "cut_off" else value
        for name, value in facts.items()
    }
    return {
        "id": spec.id,
        **facts,
        "policy_sha256": policy.sha256,
        "policy_bytes": policy.size,
        "curve_sha256": hashlib.sha256(curve).hexdigest(),
    }


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Hold the folder: whoever else wants it waits. A process that dies lets go."""
    if LOCKS is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        LOCKS.flock(handle, LOCKS.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed process or an earlier failure left: files that were never finished, and its message. The folder's
    time is now that of this attempt."""
    try:
        for left in (*folder.glob(".*"), folder / FAILURE):
            left.unlink(missing_ok=True)
        os.utime(folder)
    except OSError as error:
        fix = "check its permissions, or choose another with -o"
        raise CannotWrite(
            f"{folder} cannot be written to: {str(error.strerror).lower()}", fix=fix
        ) from error


def read_progress(folder: Path) -> dict[str, Any]:
    """How far a run that is not done is: `done` and `total`, and the `return` of its last test; nothing before the first."""
    try:
        return parse_record((folder / PROGRESS).read_bytes())
    except (OSError, ValueError):
        return {}


def is_done(folder: Path) -> bool:
    """Whether a folder holds a run's final result."""
    if (folder / RESULT).exists():
        return True
    old = (folder / POLICY).exists() and (
        folder / CURVE
    ).exists()  # version 0.1 wrote the curve last
    return old and not (folder / CHECKPOINT).exists()


def _json(value: dict[str, Any], *, sort_keys: bool = False) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=sort_keys) + "\n").encode()


Kinds = Mapping[str, type | tuple[type, ...]]
"""What a record's values are, by name."""


def read_json(path: Path, kinds: Kinds, optional: Kinds) -> dict[str, Any]:
    """A record of a run; its values are of these kinds, numbers not below 0."""
    try:
        record = parse_record(path.read_bytes())
        for name, kind in {**kinds, **optional}.items():
            if name in record or name in kinds:
                value = record.get(name)
                right = isinstance(value, kind) and not isinstance(value, bool)
                right = right and not (isinstance(value, int | float) and not value >= 0)
                need((right, f"its `{name}` is {str(value)[:40]!r}"))
    except (OSError, ValueError) as error:
        fault = f"{path} cannot be read: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path.parent} and run again") from error
    return record


PLACES = ("", "*/", "*/*/", "*/runs/*/", "runs/*/*/", "runs/*/runs/*/")
"""Where runs are in a folder: itself, what `pdrm train -o` was given, a study's folder, one that holds some of these, or one where commands were run."""


def list_runs(folder: Path) -> list[Path]:
    """The folders of all runs that a folder holds, itself if it is a run; nothing: it holds none."""
    found = {
        file.parent: None for place in PLACES for file in sorted(folder.glob(f"{place}{SPEC}"))
    }
    return [folder] if folder in found else list(found)


MOST_RUNS_NAMED = 5


def _list_last(runs: list[Path]) -> str:
    """The last one, and before it a few that are older."""
    older = runs[-2 : -MOST_RUNS_NAMED - 1 : -1]
    more = f", and {len(runs) - 1 - len(older)} more" * (len(runs) > 1 + len(older))
    return f"the last one: {runs[-1]}" + (
        f" (before it: {', '.join(map(str, older))}{more})" if older else ""
    )


def no_run(
    folder: Path,
    why: str = "",
    example: str = 'run = pdrm.train("letter", folder="runs") (pdrm train letter)',
) -> BadRunFolder:
    """The error that a folder is not a run. Where it holds runs, the fix names the last of them."""
    if not folder.is_dir():
        near = sorted(list_runs(folder.parent), key=lambda run: run.stat().st_mtime)
        alike = name_alike(folder.name, (run.name for run in near))
        guess = next((run for run in near if run.name == alike), None)
        fix = (
            f"did you mean {guess}?"
            if guess
            else f"name a run that is there, {_list_last(near)}"
            if near
            else f"train one: {example}"
        )
        return BadRunFolder(f"there is no folder {folder}", fix=fix)
    found = list(folder.glob(f"*/{SPEC}")) or folder.glob(
        f"runs/*/{SPEC}"
    )  # where a study has its runs
    runs = sorted((file.parent for file in found), key=lambda run: run.stat().st_mtime)
    if runs:
        count = "a run: name it" if len(runs) == 1 else f"{len(runs)} runs: name one of them"
        return BadRunFolder(f"{folder} holds {count}", fix=_list_last(runs))
    return BadRunFolder(
        f"{folder} holds no trained run{': ' if why else ''}{why}", fix=f"train one: {example}"
    )
