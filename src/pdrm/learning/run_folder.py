"""A run before it is trained: its learner, its spec, and its folder of small files, each written whole or not at all.

Everything that decides a run is its task, its agent and its seed; the hash of these is its id. `result.json` is written last: a run
with one is done and never repeated. `timing.json` is the only file that differs between two equal runs, `.progress` the only one that
is a message: the share done of a run under way.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pdrm.domains.domain_files import load_domain
from pdrm.domains.user_worlds import UserEnvironment
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadRunFolder, BadStudy, DoesNotApply, PdrmError
from pdrm.files import (
    MALFORMED,
    RUN_RECORD,
    Arrays,
    Fingerprint,
    describe_fault,
    encode_arrays,
    parse_record,
    read_arrays,
    write_atomically,
)
from pdrm.learning.agents import Deep, Summary, Tabular, kind_of
from pdrm.learning.protocol import (
    SCHEDULE,
    Agent,
    AnyAgent,
    Learner,
    ThirdPartyAgent,
    agent_for,
)
from pdrm.learning.settings import SOURCE
from pdrm.task import DomainLike, Task

SPEC, DOMAIN, CHECKPOINT = RUN_RECORD, "domain.npz", "checkpoint.npz"
POLICY, CURVE, RESULT, TIMING = "policy.npz", "curve.csv", "result.json", "timing.json"
PROGRESS = ".progress"
CHECKPOINT_DONE, CHECKPOINT_CURVE = "run.done", "run.curve"
"""In a checkpoint, next to the arrays of the learner: the training so far, and the text of the curve."""


# --- The learner


def begin(agent: AnyAgent, task: Task, seed: int) -> Learner:
    """Begin a run of a table, or of somebody's agent.

    >>> from pdrm.learning import CpRM, Until
    >>> learner = begin(CpRM(k=1), Task("maze-5x5"), seed=0)
    >>> learner.advance(Until(episodes=3))
    >>> learner.episodes
    3
    """
    if isinstance(agent, ThirdPartyAgent):
        return agent.agent.learner(task, seed)
    if isinstance(agent, Tabular):
        from pdrm.learning.tabular.learner import make_learner

        return make_learner(task, agent, seed)
    from pdrm.learning.tabular.summary import SummaryLearner

    assert isinstance(agent, Summary)
    return SummaryLearner(task, agent, seed)


def begin_all(specs: Sequence[RunSpec]) -> Sequence[Learner]:
    """Begin the runs of a batch, those of networks side by side."""
    deep = [spec.agent for spec in specs if isinstance(spec.agent, Deep)]
    if not deep:
        return [begin(spec.agent, spec.task, spec.seed) for spec in specs]
    from pdrm.learning.deep.network_learner import begin_networks

    return begin_networks([spec.task for spec in specs], deep, [spec.seed for spec in specs])


# --- The spec


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
        agent = agent_for(self.agent).resolved(self.task)
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
        agent, task = self.agent, self.task
        if isinstance(agent, ThirdPartyAgent):
            return
        if not isinstance(agent, Deep):
            begin(agent, task, self.seed)
            return
        if isinstance(task.domain, UserEnvironment):
            fault = f"agent `{agent.name}` needs a domain of arrays, and `{task.name}` is an environment"
            raise DoesNotApply(fault, fix='pdrm.SB3("PPO"), or an agent of your own')
        import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
        from pdrm.learning.deep.deep_training import check_fits

        check_fits(task, agent)


MAX_SEEDS = 100_000


def resolve_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds that are meant: n of them from 0 on, or these.

    >>> resolve_seeds(3), resolve_seeds([3, 14])
    ((0, 1, 2), (3, 14))
    """
    if type(seeds) is int and 0 < seeds <= MAX_SEEDS:
        return tuple(range(seeds))
    found = tuple(seeds) if isinstance(seeds, Sequence) else ()
    right = all(type(seed) is int and seed >= 0 for seed in found)
    if not right or not 0 < len(found) == len(set(found)) <= MAX_SEEDS:
        fix = f"give a number of seeds up to {MAX_SEEDS:,}, such as seeds=5, or different non-negative integers, such as [3, 14, 15]"
        raise BadStudy(f"the seeds are {str(seeds)[:60]}", fix=fix)
    return found


# --- The folder


class RunProgress(NamedTuple):
    """The progress of a run."""

    share: float
    """From 0 to 1."""
    last_return: float | None = None


def write_progress(folder: Path, share: float, last_return: float | None = None) -> None:
    """Leave the message for displays in other processes."""
    (folder / PROGRESS).write_text(json.dumps([share, last_return]))


def read_progress(folder: Path) -> RunProgress:
    """The progress of a run; none if it has not begun, or the message is half written."""
    if is_done(folder):
        return RunProgress(1)
    try:
        return RunProgress(*json.loads((folder / PROGRESS).read_bytes()))
    except (OSError, ValueError):
        return RunProgress(0)


def is_done(folder: Path) -> bool:
    """Return True if a folder holds a run's final result."""
    return (folder / RESULT).exists()


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock the run's folder (released when the process exits)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
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


def write_checkpoint(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write where a run stands. The file has checksums, as every `.npz` has."""
    write_atomically(folder / CHECKPOINT, encode_arrays(arrays))


def read_checkpoint(folder: Path) -> Arrays | None:
    """The arrays of the checkpoint, if there is one."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        return read_arrays(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = f"{path} is not a checkpoint, or is damaged: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path} to start that run again") from error


def read_curve(folder: Path) -> str:
    """The text of a run's curve; of a run that was stopped, until then."""
    if not is_done(folder):
        arrays = read_checkpoint(folder)
        if arrays is None:
            raise no_run(folder, "it was not trained until a first test")
        return str(arrays[CHECKPOINT_CURVE].item())
    data = (folder / CURVE).read_bytes()
    if Fingerprint.of(data).sha256 != read_json(folder / RESULT)["curve_sha256"]:
        fault = f"{folder / CURVE} is not the curve that {RESULT} names"
        raise BadRunFolder(fault, fix=f"remove {folder} and run again")
    return data.decode()


# --- Runs that were trained before


def list_runs(folder: Path) -> list[Path]:
    """The folders of all runs that a folder holds, or itself if it is a run."""
    return [file.parent for file in sorted(folder.rglob(SPEC))]


def find_run(folder: Path) -> Path:
    """The folder of a run: this one, or the only one that it holds."""
    found = list_runs(folder)
    if len(found) != 1:
        raise no_run(folder, f"it holds {len(found)} runs, and one is needed")
    return found[0]


def no_run(folder: Path, why: str) -> BadRunFolder:
    """The error that a folder is not a run."""
    fix = 'name the folder of a run, or train one: run = pdrm.train("letter", folder="runs")'
    return BadRunFolder(f"{folder} is not a trained run: {why}", fix=fix)


def read_spec(folder: Path, task: Task | None = None, agent: object = None) -> RunSpec:
    """The spec of the run in a folder.

    task, agent: as they were given for the run, if a file cannot hold them: an environment, an agent of your own.
    """
    try:
        record = parse_record((folder / SPEC).read_bytes())
        success = record.pop("success", ())
        found = _read_task(folder, record["task"], success) if task is None else task
        chosen = _read_agent(record["agent"], record["settings"], agent)
        spec = RunSpec(found, chosen, record["seed"])
    except BadRunFolder:
        raise
    except (*MALFORMED, PdrmError) as error:
        raise no_run(folder, describe_fault(error, SPEC)) from error
    if json.loads(json.dumps(spec.record())) != record:
        fault = f"{folder} is a run of another task or agent, or a file in it has changed"
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
    assert isinstance(guest, ThirdPartyAgent)  # of an `Agent`
    return replace(guest, **{word: settings[word] for word in SCHEDULE})
