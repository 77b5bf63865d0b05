"""Policies in files: of a run, or saved by themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.user_worlds import JaxWorld
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadPolicyFile
from pdrm.files import (
    Arrays,
    FilePath,
    Fingerprint,
    blaming_policy,
    check_all,
    read_arrays,
    reading_policy,
    within,
)
from pdrm.language.loading import parse
from pdrm.learning.agents import Deep
from pdrm.learning.protocol import PolicyLoader, ThirdPartyAgent
from pdrm.learning.run_folder import POLICY, SPEC, RunSpec, begin, find_run, read_spec
from pdrm.learning.tabular.hierarchical import TOP
from pdrm.learning.tabular.policy import (
    VERSION,
    HierarchicalPolicy,
    MemoryTree,
    PolicyTable,
    QPolicy,
    TabularPolicy,
)
from pdrm.machines.tables import MAX_VALUE
from pdrm.product.observation import View, view_of
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy

    LearntPolicy = TabularPolicy | DeepPolicy


def read_policy(spec: RunSpec, folder: Path) -> Any:
    """The policy of a run: a table, networks that act step by step, or the policy of an agent of your own."""
    task, agent, path = spec.task, spec.agent, folder / POLICY
    if not path.exists():
        fix = "train it to the end; a study keeps no large policies, and no agent of your own without `save`"
        raise BadPolicyFile(f"{folder} has no {POLICY}", fix=fix)
    if isinstance(agent, Deep):
        return _read_network(path, task)
    if not isinstance(agent, ThirdPartyAgent):
        return replace(load_table(path), task=task)
    with blaming_policy(path):
        arrays = read_arrays(path.read_bytes())
    if isinstance(agent.agent, PolicyLoader):
        return agent.agent.load_policy(task, arrays)
    learner: Any = begin(agent, task, spec.seed)
    learner.load(arrays)  # its `save` wrote the file
    return learner.policy()


def _read_network(path: Path, task: Task) -> DeepPolicy:
    import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
    from pdrm.learning.deep.deep_policy import load_deep_policy

    world = task.domain if isinstance(task.domain, JaxWorld | WaterWorld) else task.finite
    return load_deep_policy(path, world)


def load_policy(path: FilePath, domain: FiniteDomain | WaterWorld | None = None) -> LearntPolicy:
    """A policy that was saved: a table or networks, as its file says.

    Args:
        path: A run's folder, or a `.npz` file of a run or of `policy.save`, with the `.json` next to it.
        domain: Where it was learnt (default: the run's own).

    >>> import tempfile
    >>> from pdrm.learning.run import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train("letter", "q", k=1, episodes=200).policy.save(f"{folder}/mine.npz")
    ...     policy = load_policy(f"{folder}/mine.npz")
    >>> policy.act(15, "u0", ("#",)) in range(4)
    True
    """
    file = Path(path)
    if file.is_dir() or (file.name == POLICY and domain is None and (file.parent / SPEC).exists()):
        folder = find_run(file if file.is_dir() else file.parent)
        own: LearntPolicy = read_policy(read_spec(folder), folder)
        return own
    with reading_policy(file) as description:
        task = _find_task(description, domain)
    if "pdrm_deep_policy" not in description:
        table = load_table(file)
        return replace(table, task=task)
    if task is None:
        fault = f"{file} was learnt in a domain of its own"
        fix = f'pdrm.learning.load_policy("{file}", domain), with that domain'
        raise BadPolicyFile(fault, fix=fix)
    return _read_network(file, task)


def _find_task(
    description: dict[str, Any], domain: FiniteDomain | WaterWorld | None
) -> Task | None:
    """The task of a policy's file: in the domain that is given, or named by the run's spec if that is one of the catalogue's."""
    if domain is not None:
        return Task(domain, description["machine"])
    where = description["about"].get("spec", {}).get("task", {})
    return Task(**where) if where.keys() == {"domain", "machine"} else None


# --- The files of tables, which `TabularPolicy.save` wrote

MAX_STATE = 2**31 - 1


def load_table(file: Path) -> TabularPolicy:
    """The policy of any tabular agent in a `.npz` file and its `.json`."""
    with reading_policy(file) as description:
        data = file.read_bytes()
        check_all(
            (Fingerprint.of(data).sha256 == description["sha256"], "its fingerprint differs"),
            (description.get("pdrm_policy") == VERSION, f"it is not of version {VERSION}"),
        )
        arrays = read_arrays(data)
        if description["kind"] == "summary":
            from pdrm.learning.tabular.summary import read_summary_policy

            return read_summary_policy(arrays, description)
        return _read_table(arrays, description)


def _read_table(arrays: Arrays, description: dict[str, Any]) -> QPolicy:
    text, k = description["machine"], description["view"]
    machine: Any = parse(text)
    view = view_of(k if k == "full" else int(k))
    actions = tuple(description["actions"])
    shared = description["about"], text, actions
    kind = machine.counters if description["kind"] == "counters" else machine.stack
    states = (*machine.states, *machine.final)

    def rows(prefix: str, view: View, width: int) -> PolicyTable:
        """The table that `PolicyTable.arrays` saved under a prefix, with so many values in a row."""
        names = ("symbol", "parent", "environment_state", "machine_state", "node")
        symbol, parent, *seen = indices = [arrays[prefix + name] for name in names]
        value, nodes = arrays[f"{prefix}value"], len(symbol)
        most = MAX_VALUE if isinstance(kind, int) else len(kind)
        limits = most, nodes - 1, MAX_STATE, len(states) - 1, nodes - 1
        bounded = zip(indices, limits, strict=True)
        right = all(one.dtype.kind == "i" and within(one, 0, last) for one, last in bounded)
        check_all(
            (right, "an index is out of bounds"),
            (value.shape == (len(seen[0]), width), f"its rows are not of {width} values"),
        )
        return PolicyTable.of(view, states, MemoryTree(kind, symbol, parent), seen, value)

    if description["kind"] != "options":
        return QPolicy(*shared, rows("", view, len(actions)))
    options = {state: tuple(texts) for state, texts in description["options"].items()}
    most = max(map(len, options.values()))
    meta, inside = rows("meta.", view, most), rows("within.", TOP, most * len(actions))
    return HierarchicalPolicy(*shared, meta, options, inside)
