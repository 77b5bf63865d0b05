"""How large trained tables came to be: rows, stack strings and counter configurations of every run below a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.array_domain import domain_bytes
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadRunFolder
from pdrm.language.document import AnyMachine
from pdrm.language.loading import catalogue_text, parse
from pdrm.learning.tabular.policy import load_policy
from pdrm.learning.tabular.policy_table import CounterVectors
from pdrm.learning.tabular.run import POLICY, RunSpec, spec_of
from pdrm.product.views import FullStack


def seen_in_training(folder: Path, domain: FiniteDomain, machine: AnyMachine) -> list[dict[str, Any]]:
    """The tables of all runs below a folder that learnt this domain with this machine (or counters made from it), as
    `sizes_record` takes them."""
    if not folder.is_dir():
        raise BadRunFolder(f"there is no folder {folder}", fix="train some: pdrm train letter -o runs")
    specs = {file.parent: spec_of(file.parent) for file in sorted(folder.rglob(POLICY))}
    return [_seen(run, spec) for run, spec in specs.items() if _same_task(spec, domain, machine)]


def _same_task(spec: RunSpec, domain: FiniteDomain, machine: AnyMachine) -> bool:
    own = spec.where()
    same = spec.domain == domain.name if spec.own is None else domain_bytes(own) == domain_bytes(domain)
    text = (
        spec.machine_text
        if spec.machine_text is not None
        else catalogue_text(str(own.machine))
        if own.machine
        else None
    )
    return same and text is not None and parse(text) == machine


def _seen(folder: Path, spec: RunSpec) -> dict[str, Any]:
    """What one run's table holds; the strings of a table that sees only the top of the stack are not its own."""
    table = load_policy(folder / POLICY).table
    memories = len(np.unique(table.node))
    counts = isinstance(table.memory, CounterVectors)
    whole = isinstance(table.view, FullStack) and not counts
    return {
        "run": folder.name,
        "agent": spec.agent,
        "k": spec.k,
        "seed": spec.seed,
        "rows": len(table),
        "strings": memories if whole else None,
        "counters": memories if counts else None,
    }
