"""A run before it is trained: its spec, its learner, and its folder of small files, each written whole or not at all.

Everything that decides a run is its task, its agent and its seed; the hash of these is its id. `begin` makes the learner, from the
agent's class: of ours one table, or networks trained side by side. `result.json` is written last: a run
with one is done and never repeated. `timing.json` is the only file that differs between two equal runs, `.progress` the only one that
is a message: the share done of a run under way. A checkpoint carries a checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pdrm.domains.domain_files import load_domain
from pdrm.domains.own_worlds import OwnEnvironment
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadRunFolder, BadStudy, DoesNotApply, PdrmError, name_alike
from pdrm.files import (
    MALFORMED,
    RUN_RECORD,
    Arrays,
    Fingerprint,
    describe_fault,
    encode_arrays,
    need,
    parse_record,
    read_arrays,
    write_atomically,
)
from pdrm.learning.agents import Deep, Summary, Tabular, kind_of
from pdrm.learning.protocol import (
    SCHEDULE,
    Agent,
    AnyAgent,
    GuestAgent,
    Learner,
    OwnLearner,
    Test,
    Until,
    agent_for,
)
from pdrm.learning.settings import SOURCE
from pdrm.product.observation import list_entries
from pdrm.task import DomainLike, Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy
    from pdrm.learning.deep.deep_training import DeepTraining

SPEC, DOMAIN, CHECKPOINT = RUN_RECORD, "domain.npz", "checkpoint.npz"
POLICY, CURVE, RESULT, TIMING = "policy.npz", "curve.csv", "result.json", "timing.json"
PROGRESS = ".progress"
CHECKPOINT_DONE, CHECKPOINT_CURVE = "run.done", "run.curve"
"""In a checkpoint, next to the arrays of the learner: the training so far, and the text of the curve."""
LOCKS: ModuleType | None = import_module("fcntl") if find_spec("fcntl") is not None else None
"""Windows has none: run one command at a time there."""


class RunProgress(NamedTuple):
    """The progress of a run."""

    done: int
    total: int
    last_return: float | None = None

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(1.0, self.done / max(1, self.total))


def write_progress(folder: Path, done: int, total: int, last_return: float | None = None) -> None:
    """Leave the message for displays in other processes."""
    (folder / PROGRESS).write_text(json.dumps([done, total, last_return]))


def read_progress(folder: Path) -> RunProgress:
    """The progress of a run; none if it has not begun, or the message is half written."""
    if is_done(folder):
        return RunProgress(1, 1)
    try:
        return RunProgress(*json.loads((folder / PROGRESS).read_bytes()))
    except (OSError, ValueError, TypeError):
        return RunProgress(0, 1)


def is_done(folder: Path) -> bool:
    """Return True if a folder holds a run's final result."""
    return (folder / RESULT).exists()


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock the run's folder (released when the process exits)."""
    if LOCKS is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        LOCKS.flock(handle, LOCKS.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove files that a killed process never finished."""
    with suppress(OSError):  # then nothing can be written either, which is an error of its own
        for left in folder.glob(".*"):
            left.unlink()


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write a record of a run."""
    write_atomically(path, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """A record of a run."""
    try:
        return parse_record(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = f"{path} cannot be read: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path.parent} and run again") from error


CHECKSUM_BYTES = hashlib.sha256().digest_size


def write_checkpoint(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write where a run stands: a checksum, then the arrays."""
    data = encode_arrays(arrays)
    write_atomically(folder / CHECKPOINT, hashlib.sha256(data).digest() + data)


def read_checkpoint(folder: Path) -> Arrays | None:
    """The arrays of the checkpoint, if there is one."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        data = path.read_bytes()
        checksum, arrays = data[:CHECKSUM_BYTES], data[CHECKSUM_BYTES:]
        need((hashlib.sha256(arrays).digest() == checksum, "its checksum does not fit"))
        return read_arrays(arrays)
    except MALFORMED as error:
        fault = f"{path} is not a checkpoint, or is damaged: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path} to start that run again") from error


PLACES = ("", "*/", "*/*/", "*/runs/*/", "runs/*/*/", "runs/*/runs/*/")
"""The places of runs in a folder: itself, what `pdrm train -o` was given, a study's folder, one that holds some of these, or one where
commands were run."""


def list_runs(folder: Path) -> list[Path]:
    """The folders of all runs that a folder holds, or itself if it is a run."""
    files = [file for place in PLACES for file in sorted(folder.glob(f"{place}{SPEC}"))]
    found = list(dict.fromkeys(file.parent for file in files))
    return [folder] if folder in found else found


def find_run(folder: Path) -> Path:
    """The folder of a run: this one, or the only one that it holds."""
    found = list_runs(folder)
    if len(found) > 1:
        raise no_run(folder, f"{len(found)} runs are here, name one")
    return found[0] if found else folder


def no_run(folder: Path, why: str = "") -> BadRunFolder:
    """The error that a folder is not a run. If it holds runs, or has some next to it, the fix names one of them."""
    near = list_runs(folder if folder.is_dir() else folder.parent)
    others = {run.name: run for run in near if run != folder}
    fix = 'train one: run = pdrm.train("letter", folder="runs")'
    if others:
        like = name_alike(folder.name, others) or max(others)
        fix = f"did you mean {others[like]}?"
    if not folder.is_dir():
        return BadRunFolder(f"the folder {folder} does not exist", fix=fix)
    return BadRunFolder(f"{folder} is not a trained run{f': {why}' if why else ''}", fix=fix)


# --- The learner


def begin(agent: AnyAgent, task: Task, seed: int) -> Learner:
    """Begin a run.

    >>> from pdrm.learning.agents import CpRM
    >>> learner = begin(CpRM(k=1), Task("maze-5x5"), seed=0)
    >>> learner.advance(Until(episodes=3))
    >>> learner.episodes
    3
    """
    if isinstance(agent, GuestAgent):
        return agent.agent.learner(task, seed)
    if isinstance(agent, Deep):
        return begin_all([agent], [task], [seed])[0]
    if isinstance(agent, Tabular):
        from pdrm.learning.tabular.learner import make_learner

        return make_learner(task, agent, seed)
    from pdrm.learning.tabular.summary import SummaryLearner

    assert isinstance(agent, Summary)
    return SummaryLearner(task, agent, seed)


def begin_all(
    agents: Sequence[AnyAgent], tasks: Sequence[Task], seeds: Sequence[int]
) -> Sequence[Learner]:
    """Begin the runs of a batch: those of networks are trained side by side."""
    deep = [
        agent.settled(task)
        for agent, task in zip(agents, tasks, strict=True)
        if isinstance(agent, Deep)
    ]
    if not deep:
        return [begin(*run) for run in zip(agents, tasks, seeds, strict=True)]
    from pdrm.learning.deep.deep_training import train_together

    training = train_together(tasks, deep, seeds)
    return [
        NetworkLearner(training, run, task, agent)
        for run, (task, agent) in enumerate(zip(tasks, deep, strict=True))
    ]


class NetworkLearner(OwnLearner):
    """One of several runs that are trained side by side: the first that is asked advances, or evaluates, them all."""

    def __init__(self, training: DeepTraining, run: int, task: Task, agent: Deep) -> None:
        self.training, self.run, self.task = training, run, task
        self.per_iteration = training.algorithm.steps_per_iteration
        iterations = -(-agent.total // self.per_iteration)
        self.total = iterations * self.per_iteration
        """The steps of training, in whole iterations."""
        self.between_tests = max(1, agent.between_tests // self.per_iteration) * self.per_iteration
        """The steps between two evaluations, in whole iterations."""

    @property
    def steps(self) -> int:
        """Environment steps of training so far."""
        return self.training.timesteps

    @property
    def episodes(self) -> int:
        """Training episodes that have ended so far."""
        return int(self.training.ended[self.run])

    def advance(self, until: Until, /) -> None:
        """Train all until then, in whole iterations."""
        left = min(until.steps or 0, self.total) - self.steps
        if left > 0:
            self.training.iterate(-(-left // self.per_iteration))
        while not until.reached(self) and self.steps < self.total:
            self.training.iterate(1)

    def policy(self, about: dict[str, Any] | None = None) -> DeepPolicy:
        """The network as it stands. about: JSON values that are saved with it."""
        from pdrm.learning.deep.deep_policy import DeepPolicy

        return DeepPolicy(*self.training.trained(self.run), about or {}, self.task.domain)

    def test(self, episodes: int, _seed: int, /) -> Test:
        """Episodes without exploration; the same starts for all runs."""
        played = self.training.test(episodes, self.training.iterations)
        return played.of_run(self.run).read(self.task.pushdown)

    def save(self) -> Arrays:
        """The state of the run."""
        return self.training.snapshot(self.run)

    def load(self, arrays: Arrays, /) -> None:
        """Continue from there; the runs side by side must all be loaded."""
        self.training.restore(self.run, arrays)

    def save_policy(self, path: Path, about: dict[str, Any]) -> Fingerprint:
        """Write the network."""
        return self.policy({**about, **self.facts()}).save(path, with_domain=False)

    def facts(self) -> dict[str, float]:
        """The share of training episodes that a full stack truncated."""
        share = self.training.cut_off[self.run] / max(1, self.episodes)
        return {"truncated_by_stack": float(share)}


# --- The spec

MOST_SEEDS = 100_000


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that decides a run's result. Settings that the agent leaves to the task are settled here.

    >>> from pdrm.learning.agents import QLearning
    >>> spec = RunSpec(Task("letter"), QLearning(k=1, episodes=10), seed=3)
    >>> spec.name == f"letter-q-1-seed3-{spec.id}", len(spec.id), spec.agent.learning_rate
    (True, 12, 0.01)
    """

    task: Task
    agent: AnyAgent
    seed: int

    def __post_init__(self) -> None:
        agent = agent_for(self.agent).settled(self.task)
        object.__setattr__(self, "agent", agent)

    def record(self) -> dict[str, Any]:
        """The spec as JSON values."""
        task, agent = self.task.record(), self.agent
        return {"task": task, "agent": agent.name, "settings": agent.record(), "seed": self.seed}

    @property
    def id(self) -> str:
        """The hash of the spec."""
        text = json.dumps(self.record(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        words = (self.task.name, self.agent.name, str(self.agent.k), f"seed{self.seed}", self.id)
        return "-".join(re.sub(r"[^\w.-]+", "-", word) for word in words)

    @property
    def batch(self) -> Hashable:
        """Runs with an equal value are trained side by side; a table is trained by itself."""
        if not isinstance(self.agent, Deep):
            return self.id
        from pdrm.learning.deep.deep_training import batch_key

        return batch_key(self.task, self.agent)

    def check(self) -> None:
        """Raise what is wrong with the run, before anything is trained."""
        if isinstance(self.agent, GuestAgent):
            return
        if not isinstance(self.agent, Deep):
            begin(self.agent, self.task, self.seed)
            return
        if isinstance(self.task.domain, OwnEnvironment):
            fault = f"agent `{self.agent.name}` needs a domain of arrays, and `{self.task.name}` is an environment"
            raise DoesNotApply(fault, fix='pdrm.SB3("PPO"), or an agent of your own')
        import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
        from pdrm.learning.deep.deep_training import check_fits

        check_fits(self.task, self.agent)


def read_spec(folder: Path, task: Task | None = None, agent: object = None) -> RunSpec:
    """The spec of the run in a folder.

    task, agent: as they were given for the run, if a file cannot hold them: an environment, an agent of your own.
    """
    try:
        record = parse_record((folder / SPEC).read_bytes())
        where, seed, settings = record["task"], record["seed"], record["settings"]
        need((type(seed) is int and seed >= 0, f"its seed is {str(seed)[:40]!r}"))
        found = _read_task(folder, where, record.get("success", ())) if task is None else task
        spec = RunSpec(found, _read_agent(record["agent"], settings, agent), seed)
    except BadRunFolder:
        raise
    except (*MALFORMED, PdrmError) as error:
        raise no_run(folder, describe_fault(error, SPEC)) from error
    record.pop("success", None)
    kept, given = list_entries(record), list_entries(json.loads(json.dumps(spec.record())))
    if differ := [name for name in kept | given if kept.get(name) != given.get(name)]:
        fault = f"{folder} is a run of another task or agent, or a file in it has changed: they differ in {', '.join(differ)}"
        raise BadRunFolder(fault, fix="restore its files, or give its own `task` and `agent`")
    return spec


def _read_task(folder: Path, record: dict[str, Any], success: Any) -> Task:
    """The task of a record."""
    if "environment" in record:
        fix = f"give its task: pdrm.Run.load({str(folder)!r}, task=task)"
        raise BadRunFolder(f"{folder} was trained in a world of your own", fix=fix)
    domain: DomainLike = record["domain"]
    if "domain_sha256" in record:
        domain = load_domain(folder / DOMAIN)
    elif "world" in record:
        domain = WaterWorld(**record["world"])
    return Task(domain, record["machine"], success=success)


def _read_agent(name: str, settings: dict[str, Any], given: object) -> AnyAgent:
    """The agent of a record; somebody else's is given."""
    if SOURCE not in settings:
        return kind_of(name)(**settings) if given is None else agent_for(given)
    own, fields = given, settings["fields"]
    is_ours = settings["class"] == "SB3"
    if given is None and is_ours and f'"{SOURCE}"' not in json.dumps(fields):
        from pdrm.learning.deep.sb3_agent import SB3

        own = SB3.read(fields)
    if not isinstance(own, Agent):
        fault = f"agent `{name}` is {settings['class']}, or has a setting, which a file cannot hold"
        raise BadRunFolder(fault, fix="pdrm.Run.load(folder, agent=…)")
    schedule = {word: fields[word] for word in SCHEDULE if fields.get(word) is not None}
    guest = agent_for(own, schedule)
    assert isinstance(guest, GuestAgent)  # of an `Agent`
    return replace(guest, **{word: settings[word] for word in SCHEDULE})


def resolve_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds that are meant: n of them from 0 on, or these.

    >>> resolve_seeds(3), resolve_seeds([3, 14])
    ((0, 1, 2), (3, 14))
    """
    given: Any = range(min(seeds, MOST_SEEDS + 1)) if type(seeds) is int else seeds
    found = tuple(given) if isinstance(given, Iterable) else ()
    right = all(type(seed) is int and seed >= 0 for seed in found)
    if not found or not right or len(set(found)) < len(found) or len(found) > MOST_SEEDS:
        fix = f"give a number of seeds up to {MOST_SEEDS:,}, such as seeds=5, or different non-negative integers, such as [3, 14, 15]"
        raise BadStudy(f"the seeds are {str(seeds)[:60]}", fix=fix)
    return found
