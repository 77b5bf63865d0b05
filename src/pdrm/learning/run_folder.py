"""Run specs, learners and run folders. Files are written atomically.

The task, the agent and the seed determine a run. The hash of their record is its id.
`result.json` is written last: a run that has one is done and never repeated. Only `timing.json`
differs between two equal runs. `.progress` is a message to displays: the share of training that
is done.
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
from pdrm.learning.settings import SOURCE, JsonObject, Settings
from pdrm.task import DomainLike, Task
from pdrm.wording import plural

SPEC, DOMAIN, CHECKPOINT = RUN_RECORD, "domain.npz", "checkpoint.npz"
POLICY, CURVE, RESULT, TIMING = "policy.npz", "curve.csv", "result.json", "timing.json"
PROGRESS = ".progress"
CHECKPOINT_DONE, CHECKPOINT_CURVE = "run.done", "run.curve"
"""In a checkpoint, in addition to the learner's arrays: the training so far, and the curve."""


# --- The learner


def start_run(agent: AnyAgent, task: Task, seed: int) -> Learner:
    """The learner of a tabular or third-party agent before its first step.

    >>> from pdrm.learning import CpRM, Until
    >>> learner = start_run(CpRM(k=1), Task("maze-5x5"), seed=0)
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


def start_runs(specs: Sequence[RunSpec]) -> Sequence[Learner]:
    """The learners of a batch before their first step. Networks are trained side by side."""
    deep = [spec.agent for spec in specs if isinstance(spec.agent, Deep)]
    if not deep:
        return [start_run(spec.agent, spec.task, spec.seed) for spec in specs]
    from pdrm.learning.deep.network_learner import start_networks

    return start_networks([spec.task for spec in specs], deep, [spec.seed for spec in specs])


# --- The spec


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that determines a run. Settings that depend on the task are filled in.

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

    def record(self) -> JsonObject:
        """The spec as JSON values."""
        task = self.task.record()
        agent = self.agent
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
        """Runs with the same value are trained side by side. A table is trained alone."""
        if not isinstance(self.agent, Deep):
            return self.id
        from pdrm.learning.deep.deep_training import batch_key

        return batch_key(self.task, self.agent)

    def check(self) -> None:
        """Raise if the run cannot be trained."""
        agent = self.agent
        task = self.task
        if isinstance(agent, ThirdPartyAgent):
            return
        if not isinstance(agent, Deep):
            start_run(agent, task, self.seed)
            return
        if isinstance(task.domain, UserEnvironment):
            fault = f"agent `{agent.name}` needs a domain of arrays, and `{task.name}` is an environment"
            raise DoesNotApply(fault, fix='pdrm.SB3("PPO"), or your own agent')
        import pdrm.product.jax_env  # noqa: F401 - fails if jax is not installed
        from pdrm.learning.deep.deep_training import check_fits

        check_fits(task, agent)


MAX_SEEDS = 100_000


def resolve_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds of n runs (0 to n - 1), or these seeds.

    >>> resolve_seeds(3), resolve_seeds([3, 14])
    ((0, 1, 2), (3, 14))
    """
    if type(seeds) is int and 0 < seeds <= MAX_SEEDS:
        return tuple(range(seeds))
    listed = tuple(seeds) if isinstance(seeds, Sequence) else ()
    are_seeds = all(type(seed) is int and seed >= 0 for seed in listed)
    if not are_seeds or not 0 < len(listed) == len(set(listed)) <= MAX_SEEDS:
        fix = f"give a number of seeds up to {MAX_SEEDS:,}, such as seeds=5, or different non-negative integers, such as [3, 14, 15]"
        raise BadStudy(f"`seeds` is {str(seeds)[:60]}", fix=fix)
    return listed


# --- The folder


class RunProgress(NamedTuple):
    """The progress of a run."""

    share: float
    """The share of training that is done, from 0 to 1."""
    last_return: float | None = None


def write_progress(folder: Path, share: float, last_return: float | None = None) -> None:
    """Write the progress for displays in other processes."""
    (folder / PROGRESS).write_text(json.dumps([share, last_return]))


def read_progress(folder: Path) -> RunProgress:
    """The progress of a run. It is 0 before the start, or if the message is incomplete."""
    if is_done(folder):
        return RunProgress(1)
    try:
        return RunProgress(*json.loads((folder / PROGRESS).read_bytes()))
    except (OSError, ValueError):
        return RunProgress(0)


def is_done(folder: Path) -> bool:
    """Return True if a folder contains the final result of a run."""
    return (folder / RESULT).exists()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the run's folder (released when the process exits)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of a killed process."""
    with suppress(OSError):  # then writing fails too, with a better error
        for leftover in folder.glob(".*"):
            leftover.unlink()


def write_json(path: Path, record: JsonObject) -> None:
    """Write a JSON file of a run."""
    write_atomically(path, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> JsonObject:
    """Read a JSON file of a run."""
    try:
        return parse_record(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = f"{path} cannot be read: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path.parent} and run again") from error


def write_checkpoint(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write a checkpoint, an `.npz` file with checksums."""
    write_atomically(folder / CHECKPOINT, encode_arrays(arrays))


def read_checkpoint(folder: Path) -> Arrays | None:
    """Read the arrays of the checkpoint, or None."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        return read_arrays(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = f"{path} is not a checkpoint, or is damaged: {describe_fault(error)}"
        raise BadRunFolder(fault, fix=f"remove {path} to start that run again") from error


def read_curve(folder: Path) -> str:
    """Read the text of a run's curve. A stopped run has its curve so far."""
    if not is_done(folder):
        arrays = read_checkpoint(folder)
        if arrays is None:
            raise no_run(folder, "it was not trained until its first evaluation")
        return str(arrays[CHECKPOINT_CURVE].item())
    data = (folder / CURVE).read_bytes()
    if Fingerprint.of(data).sha256 != read_json(folder / RESULT)["curve_sha256"]:
        fault = f"{folder / CURVE} is not the curve of {RESULT}: its hash differs"
        raise BadRunFolder(fault, fix=f"remove {folder} and run again")
    return data.decode()


# --- Reading runs


def list_runs(folder: Path) -> list[Path]:
    """The folders of all runs inside a folder, which can be a run itself."""
    return [file.parent for file in sorted(folder.rglob(SPEC))]


def find_run(folder: Path) -> Path:
    """The folder of the only run inside a folder, which can be the run itself."""
    runs = list_runs(folder)
    if len(runs) != 1:
        raise no_run(folder, f"it contains {plural(len(runs), 'run')}, and one is needed")
    return runs[0]


def no_run(folder: Path, why: str) -> BadRunFolder:
    """The error for a folder that is not a run."""
    fix = "name the folder of one run, such as runs/letter-q-1-*; `pdrm train letter` makes one"
    return BadRunFolder(f"{folder} is not a trained run: {why}", fix=fix)


def read_spec(folder: Path, task: Task | None = None, agent: object = None) -> RunSpec:
    """Read the spec of the run in a folder.

    Args:
        folder: The folder of the run.
        task: The task of the run, if it has an environment of your own.
        agent: The agent of the run, if a file cannot contain it.
    """
    try:
        record = parse_record((folder / SPEC).read_bytes())
        success = record.pop("success", ())
        if task is None:
            task = _read_task(folder, record["task"], success)
        resolved = _read_agent(record["agent"], record["settings"], agent)
        spec = RunSpec(task, resolved, record["seed"])
    except BadRunFolder:
        raise
    except (*MALFORMED, PdrmError) as error:
        raise no_run(folder, describe_fault(error, SPEC)) from error
    if json.loads(json.dumps(spec.record())) != record:
        fault = f"{folder} is a run of another task or agent, or a file in it has changed"
        raise BadRunFolder(fault, fix="restore its files, or give its `task` and `agent`")
    return spec


def _read_task(folder: Path, record: JsonObject, success: Any) -> Task:
    """Rebuild the task from its record."""
    if "environment" in record:
        fix = (
            f"in Python: pdrm.Run.load({str(folder)!r}, task=task), with agent=… if it is your own"
        )
        raise BadRunFolder(f"{folder} was trained in your own environment", fix=fix)
    domain: DomainLike = record["domain"]
    if "domain_sha256" in record:
        domain = load_domain(folder / DOMAIN)
    elif "world" in record:
        domain = WaterWorld(**record["world"])
    return Task(domain, record["machine"], success=success)


def _read_agent(name: str, settings: Settings, agent: object) -> AnyAgent:
    """Rebuild the agent from its record. A third-party agent must be passed in."""
    if SOURCE not in settings:
        return kind_of(name)(**settings) if agent is None else agent_for(agent)
    fields = settings["fields"]
    has_source = f'"{SOURCE}"' in json.dumps(fields)
    if agent is None and settings["class"] == "SB3" and not has_source:
        from pdrm.learning.deep.sb3_agent import SB3

        agent = SB3.read(fields)
    if not isinstance(agent, Agent):
        reason = (
            "has an object as a setting" if has_source else f"is of your class {settings['class']}"
        )
        fault = f"agent `{name}` {reason}, which is not kept in files"
        raise BadRunFolder(fault, fix="in Python: pdrm.Run.load(folder, agent=…)")
    schedule = {word: fields[word] for word in SCHEDULE if fields.get(word) is not None}
    third_party = agent_for(agent, schedule)
    assert isinstance(third_party, ThirdPartyAgent)  # of an `Agent`
    return replace(third_party, **{word: settings[word] for word in SCHEDULE})
