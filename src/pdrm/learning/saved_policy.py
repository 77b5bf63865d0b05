"""Policies in files: of a run, or saved by themselves."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.domain_files import load_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.own_worlds import JaxWorld
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadPolicyFile, CannotTranslate
from pdrm.files import Arrays, FilePath, blaming_policy, need, read_arrays, reading_policy, within
from pdrm.language.loading import parse
from pdrm.learning.agents import CountingQ, Deep, Extras, Tabular
from pdrm.learning.evaluation import Trained
from pdrm.learning.protocol import GuestAgent, LoadsPolicy, Policy
from pdrm.learning.run_folder import (
    POLICY,
    SPEC,
    RunSpec,
    begin,
    find_run,
    is_done,
    no_run,
    read_spec,
)
from pdrm.learning.tabular.hierarchical import TOP, options_of
from pdrm.learning.tabular.policy import (
    STANDS_IN,
    VERSION,
    HierarchicalPolicy,
    MemoryTree,
    PolicyTable,
    QPolicy,
    TabularPolicy,
    option_texts,
)
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.tables import LARGEST_VALUE
from pdrm.machines.transitions import Stack
from pdrm.product.observation import FullStack, View, view_of
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy

    LearntPolicy = TabularPolicy | DeepPolicy


def read_policy(spec: RunSpec, folder: Path) -> Any:
    """The policy of a run: a table, networks that act step by step, or the policy of an agent of your own."""
    task, agent = spec.task, spec.agent
    if isinstance(agent, GuestAgent):
        return _read_guest(agent, spec, find_policy(spec, folder))
    if isinstance(agent, Deep):
        return _read_network(find_policy(spec, folder), task)
    return _place(read_table(spec, folder, task).policy, task)


def _read_guest(agent: GuestAgent, spec: RunSpec, path: Path) -> Policy:
    with blaming_policy(path):
        arrays = read_arrays(path.read_bytes())
    if isinstance(agent.agent, LoadsPolicy):
        return agent.agent.load_policy(spec.task, arrays)
    learner: Any = begin(agent, spec.task, spec.seed)
    learner.load(arrays)  # its `save` wrote the file
    policy: Policy = learner.policy()
    return policy


def _read_network(path: Path, task: Task) -> DeepPolicy:
    import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
    from pdrm.learning.deep.deep_policy import load_deep_policy

    world = task.domain if isinstance(task.domain, JaxWorld | WaterWorld) else task.finite
    return load_deep_policy(path, world)


def find_policy(spec: RunSpec, folder: Path) -> Path:
    """The file of a run's policy; an error if it is not trained yet, or its policy was not kept."""
    path = folder / POLICY
    if path.exists():
        return path
    if not is_done(folder):
        raise no_run(folder)
    fault = f"{folder} holds a run that is trained, but no {POLICY}"
    fix = "train again with pdrm.train: a study keeps no large policies, and no agent of your own without `save`"
    raise BadPolicyFile(fault, fix=fix)


def read_table(spec: RunSpec, folder: Path, task: Task) -> Trained:
    """The table of a run, to play episodes of a task with; it must have been learnt with the machine that the spec names."""
    agent: Any = spec.agent
    machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
    where = task.tested_on[0].finite if len(task.tested_on) == 1 else task.finite
    extras = agent.extras if isinstance(agent, Tabular) else Extras()
    table = load_table(find_policy(spec, folder))
    operations = extras.operations_per_episode
    return Trained(table, where, machine, agent.step_limit, operations, extras.ties)


def load_policy(path: FilePath, domain: FiniteDomain | WaterWorld | None = None) -> LearntPolicy:
    """A policy that was saved: a table or networks, as its file says.

    Args:
        path: A run's folder, or a `.npz` file of a run or of `policy.save`, with the files next to it.
        domain: Where it was learnt (default: the run's own, or the one next to the file).

    >>> import tempfile
    >>> from pdrm.learning.run import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train("letter", "q", k=1, episodes=200).policy.save(f"{folder}/mine.npz")
    ...     policy = load_policy(f"{folder}/mine.npz")
    >>> policy.act(15, "u0", ("#",)) in range(4)
    True
    """
    file = Path(path)
    is_of_run = file.name == POLICY and domain is None and (file.parent / SPEC).exists()
    if file.is_dir() or is_of_run:
        folder = find_run(file if file.is_dir() else file.parent)
        own: LearntPolicy = read_policy(read_spec(folder), folder)
        return own
    with reading_policy(file) as description:
        task = _find_task(file, description, domain)
    if "pdrm_deep_policy" not in description:
        table = load_table(file)
        return table if task is None else _place(table, task)
    if task is None:
        fault = f"{file} was learnt in a domain of its own, which is not next to it"
        fix = f'pdrm.learning.load_policy("{file}", domain), with that domain'
        raise BadPolicyFile(fault, fix=fix)
    return _read_network(file, task)


def _find_task(
    file: Path, description: dict[str, Any], domain: FiniteDomain | WaterWorld | None
) -> Task | None:
    """The task of a policy's file: in the domain that is given, kept next to the file, or named by the run's spec if that is one of
    the catalogue's."""
    saved = file.with_suffix(".domain.npz")
    if domain is None and saved.exists():
        domain = load_domain(saved)
    if domain is not None:
        return Task(domain, description["machine"])
    where = description["about"].get("spec", {}).get("task", {})
    return Task(**where) if where.keys() == {"domain", "machine"} else None


def _place(policy: TabularPolicy, task: Task) -> TabularPolicy:
    """The policy, with the domain where it was learnt; if it sees counters, also with the machine that shows a stack instead."""
    placed = replace(policy, domain=task.finite)
    if isinstance(placed, QPolicy) and placed.counts:
        with suppress(CannotTranslate):  # several counters
            return replace(placed, pushdown=task.pushdown)
    return placed


# --- The files of tables, which `TabularPolicy.save` wrote

LARGEST_STATE = 2**31 - 1


def load_table(path: str | Path) -> TabularPolicy:
    """The policy of any tabular agent in a `.npz` file and its `.json`."""
    file = Path(path)
    with reading_policy(file) as description:
        data = file.read_bytes()
        fits = hashlib.sha256(data).hexdigest() == description["sha256"]
        need(
            (fits, "it does not match the fingerprint in its .json file"),
            (description.get("pdrm_policy") == VERSION, f"it is not of version {VERSION}"),
            (isinstance(description["about"], dict), "its description is damaged"),
        )
        arrays = read_arrays(data)
        if description["kind"] == "summary":
            from pdrm.learning.tabular.summary import read_summary_policy

            return read_summary_policy(arrays, description)
        return _read_table(arrays, description)


def _read_table(arrays: Arrays, description: dict[str, Any]) -> QPolicy:
    text, seen, kind = (str(description[name]) for name in ("machine", "view", "kind"))
    actions = tuple(map(str, description["actions"]))
    shared = description["about"], text, actions
    machine, view = parse(text), view_of(seen if seen == "full" else int(seen))
    if isinstance(machine, CountingRewardAutomaton):
        need((kind == "counters" and view == FullStack(), "it is not a policy over counters"))
        states = (*machine.states, *machine.final)
        return QPolicy(
            *shared, _read_rows(arrays, "", view, states, machine.counters, len(actions))
        )
    states, symbols = (*machine.states, *machine.final), machine.stack
    if kind == "stack":
        return QPolicy(*shared, _read_rows(arrays, "", view, states, symbols, len(actions)))
    options = {state: tuple(texts) for state, texts in description["options"].items()}
    fits = tuple(options) == machine.states and all(
        texts in (option_texts(options_of(machine, state)), STANDS_IN)
        for state, texts in options.items()
    )
    need((fits, "its options are not those of its machine"))
    most = max(map(len, options.values()))
    meta = _read_rows(arrays, "meta.", view, states, symbols, most)
    within = _read_rows(arrays, "within.", TOP, states, symbols, most * len(actions))
    return HierarchicalPolicy(*shared, meta, options, within)


def _read_rows(
    arrays: Arrays, prefix: str, view: View, states: tuple[str, ...], kind: Stack | int, width: int
) -> PolicyTable:
    """The table that `PolicyTable.arrays` saved under a prefix; `ValueError` says what is wrong with it.

    kind: the stack symbols, or the number of counters. width: the values of a row."""

    def read(name: str, most: int) -> npt.NDArray[Any]:
        found = arrays[prefix + name]
        fits = found.dtype.kind == "i" and found.ndim == 1 and within(found, 0, most)
        need((fits, f"`{prefix}{name}` is out of bounds"))
        return found

    symbol = read("symbol", LARGEST_VALUE if isinstance(kind, int) else len(kind))
    parent = read("parent", len(symbol) - 1)
    below = parent[1:] < np.arange(1, len(symbol))
    need((len(parent) == len(symbol) > 0 and below.all(), "its memories are not a tree"))
    most = {
        "environment_state": LARGEST_STATE,
        "machine_state": len(states) - 1,
        "node": len(symbol) - 1,
    }
    seen = [read(name, last) for name, last in most.items()]
    value = arrays[prefix + "value"]
    alike = all(value.shape == (len(one), width) for one in seen)
    need((alike and value.dtype == np.float64, f"its rows are not of {width} values"))
    return PolicyTable.of(view, states, MemoryTree(kind, symbol, parent), seen, value)
