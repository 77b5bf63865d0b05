"""Reading policies from files: of a run, or saved alone."""

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
from pdrm.learning.run_folder import POLICY, SPEC, RunSpec, find_run, read_spec, start_run
from pdrm.learning.settings import JsonObject
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
    """The policy of a run: a table, networks, or the policy of a third-party agent."""
    task = spec.task
    agent = spec.agent
    path = folder / POLICY
    if not path.exists():
        fix = "train it to the end with pdrm.train: a study keeps no large policies"
        if isinstance(agent, ThirdPartyAgent):
            fix = (
                f"add `save` and `load` to the learner of `{agent.name}`, so that policies are kept"
            )
        raise BadPolicyFile(f"{folder} has no {POLICY}", fix=fix)
    if isinstance(agent, Deep):
        return _read_network(path, task)
    if not isinstance(agent, ThirdPartyAgent):
        return replace(load_table(path), task=task)
    with blaming_policy(path):
        arrays = read_arrays(path.read_bytes())
    if isinstance(agent.agent, PolicyLoader):
        return agent.agent.load_policy(task, arrays)
    learner: Any = start_run(agent, task, spec.seed)
    learner.load(arrays)  # its `save` wrote the file
    return learner.policy()


def _read_network(path: Path, task: Task) -> DeepPolicy:
    import pdrm.product.jax_env  # noqa: F401 - fails if jax is not installed
    from pdrm.learning.deep.deep_policy import load_deep_policy

    world = task.domain if isinstance(task.domain, JaxWorld | WaterWorld) else task.finite
    return load_deep_policy(path, world)


def load_policy(path: FilePath, domain: FiniteDomain | WaterWorld | None = None) -> LearntPolicy:
    """Read a saved policy, a table or networks.

    Args:
        path: A run's folder, or a `.npz` file of a run or of `policy.save`, with its `.json`.
        domain: The domain in which it was learnt (default: the run's).

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
        policy: LearntPolicy = read_policy(read_spec(folder), folder)
        return policy
    with reading_policy(file) as description:
        task = _find_task(description, domain)
    if "pdrm_deep_policy" not in description:
        table = load_table(file)
        return replace(table, task=task)
    if task is None:
        fault = f"{file} was learnt in a custom domain"
        fix = f'pdrm.learning.load_policy("{file}", domain), with that domain'
        raise BadPolicyFile(fault, fix=fix)
    return _read_network(file, task)


def _find_task(description: JsonObject, domain: FiniteDomain | WaterWorld | None) -> Task | None:
    """The task of a policy's file, or None if its domain is not known."""
    if domain is not None:
        return Task(domain, description["machine"])
    record = description["about"].get("spec", {}).get("task", {})
    return Task(**record) if record.keys() == {"domain", "machine"} else None


# --- Files of tables (`TabularPolicy.save`)

MAX_STATE = 2**31 - 1


def load_table(file: Path) -> TabularPolicy:
    """Read the policy of a tabular agent from a `.npz` file and its `.json`."""
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


def _read_table(arrays: Arrays, description: JsonObject) -> QPolicy:
    text = description["machine"]
    k = description["view"]
    machine: Any = parse(text)
    view = view_of(k if k == "full" else int(k))
    actions = tuple(description["actions"])
    shared = description["about"], text, actions
    kind = machine.counters if description["kind"] == "counters" else machine.stack
    states = (*machine.states, *machine.final)

    def rows(prefix: str, view: View, width: int) -> PolicyTable:
        """Read a table of `PolicyTable.arrays` with this prefix and number of values per row."""
        names = ("symbol", "parent", "environment_state", "machine_state", "node")
        symbol, parent, *seen = indices = [arrays[prefix + name] for name in names]
        value = arrays[f"{prefix}value"]
        nodes = len(symbol)
        max_symbol = MAX_VALUE if isinstance(kind, int) else len(kind)
        limits = max_symbol, nodes - 1, MAX_STATE, len(states) - 1, nodes - 1
        bounded = zip(indices, limits, strict=True)
        valid = all(index.dtype.kind == "i" and within(index, 0, last) for index, last in bounded)
        check_all(
            (valid, "an index is out of bounds"),
            (value.shape == (len(seen[0]), width), f"its rows are not of {width} values"),
        )
        return PolicyTable.of(view, states, MemoryTree(kind, symbol, parent), seen, value)

    if description["kind"] != "options":
        return QPolicy(*shared, rows("", view, len(actions)))
    options = {state: tuple(texts) for state, texts in description["options"].items()}
    max_options = max(map(len, options.values()))
    meta = rows("meta.", view, max_options)
    option_values = rows("within.", TOP, max_options * len(actions))
    return HierarchicalPolicy(*shared, meta, options, option_values)
