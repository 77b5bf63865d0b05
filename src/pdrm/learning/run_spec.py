"""Everything that decides a run: its task, its agent and its seed. The hash of this is the run's id."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdrm.domains.domain_files import load_domain
from pdrm.domains.labelling import OwnEnvironment
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadRunFolder, BadStudy, DoesNotApply, PdrmError
from pdrm.files import MALFORMED, describe_fault, need, parse_record
from pdrm.learning.agents import Deep, kind_of
from pdrm.learning.guest import SCHEDULE, AnyAgent, GuestAgent, agent_for
from pdrm.learning.learners import begin
from pdrm.learning.protocol import Agent
from pdrm.learning.run_folder import DOMAIN, SPEC, no_run
from pdrm.task import DomainLike, Task

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
        self.check_jax()
        from pdrm.learning.deep.deep_training import batch_key

        return batch_key(self.task, self.agent)

    def check(self) -> None:
        """Raise what is wrong with the run, before anything is trained."""
        if isinstance(self.agent, Deep):
            self.check_jax()
            from pdrm.learning.deep.deep_training import check_fits

            check_fits(self.task, self.agent)
        elif not isinstance(self.agent, GuestAgent):
            begin(self.agent, self.task, self.seed)

    def check_jax(self) -> None:
        """Raise if the task's domain does not run in JAX, or JAX is not installed."""
        if isinstance(self.task.domain, OwnEnvironment):
            fault = f"agent `{self.agent.name}` needs a domain of arrays, and `{self.task.name}` is an environment"
            raise DoesNotApply(fault, fix='pdrm.SB3("PPO"), or an agent of your own')
        import pdrm.product.jax_env  # noqa: F401


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
    if "source" not in settings:
        return kind_of(name)(**settings) if given is None else agent_for(given)
    own = given
    if settings["class"].endswith("sb3_agent.SB3"):
        from pdrm.learning.deep.sb3_agent import SB3

        own = SB3.read(settings["fields"])
    if not isinstance(own, Agent):
        fault = f"agent `{name}` is {settings['class']}, which a file cannot hold"
        raise BadRunFolder(fault, fix="pdrm.Run.load(folder, agent=…)")
    return GuestAgent(own, **{word: settings[word] for word in SCHEDULE})


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
