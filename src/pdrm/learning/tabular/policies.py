"""Every kind of trained policy: one loader for their files, and whether one belongs to a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pdrm.errors import PdrmError, WrongPolicy
from pdrm.learning.run_folder import in_words
from pdrm.learning.tabular.hierarchical_policy import HierarchicalPolicy
from pdrm.learning.tabular.options.rules import TOP
from pdrm.learning.tabular.policy import Policy
from pdrm.learning.tabular.policy_file import FAULTS, Arrays, no_policy, read_policy
from pdrm.learning.tabular.seen_table import table_of
from pdrm.machines.text.files import parse
from pdrm.product.view import FullStack, TopK, View

AnyPolicy = Policy | HierarchicalPolicy


def load_policy(path: str | Path) -> AnyPolicy:
    """The policy in a `.npz` file and the `.json` beside it, of whatever agent. Nothing in them is run.

    >>> import tempfile, pdrm
    >>> maze = pdrm.domain("maze-5x5")
    >>> training = pdrm.Training(maze, pdrm.catalogue(maze.machine), pdrm.TopK(1), pdrm.QLearning(), seed=0)
    >>> training.advance(10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pdrm.policy_of(training).save(Path(folder) / "policy.npz")
    ...     load_policy(Path(folder) / "policy.npz").actions
    ('u', 'd', 'l', 'r')
    """
    arrays, description = read_policy(path)
    try:
        return _policy(arrays, description)
    except PdrmError:
        raise
    except FAULTS as error:
        raise no_policy(Path(path), in_words(error)) from error


def _policy(arrays: Arrays, said: dict[str, Any]) -> AnyPolicy:
    """The policy that the arrays and their description are."""
    view: View = FullStack() if said["view"] == "full" else TopK(int(said["view"]))
    about, machine, actions = said["about"], str(said["machine"]), tuple(said["actions"])
    if said.get("kind") != "options":
        table = table_of(arrays, "", view, said)
        _check_width(table.value.shape[1], len(actions))
        return Policy(about, machine, actions, table)
    options = {state: tuple(rules) for state, rules in said["options"].items()}
    meta, within = table_of(arrays, "meta.", view, said), table_of(arrays, "within.", TOP, said)
    most = max(map(len, options.values()))
    _check_width(meta.value.shape[1], most)
    _check_width(within.value.shape[1], most * len(actions))
    return HierarchicalPolicy(about, machine, actions, options, meta, within)


def _check_width(found: int, wanted: int) -> None:
    if found != wanted:
        raise ValueError(f"its rows have {found} values, not {wanted}")


def check_same_machine(policy: AnyPolicy, machine_text: str) -> None:
    """Raise unless the policy was learnt with this machine."""
    if parse(policy.machine_text) != parse(machine_text):
        raise WrongPolicy(
            "the policy was learnt with another machine", fix="use the machine in its description, or train again"
        )
