"""`pdrm sizes`: the rows of each kind of policy: the theorems' bounds, what can be reached, what training reached."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import pdrm.machines
from pdrm.cli.arguments import (
    MACHINES,
    MAPS,
    Json,
    MachineName,
    complete,
    machine_names,
    read_ks,
    task_names,
)
from pdrm.cli.output import name_task, next_command, print_json
from pdrm.errors import BadRunFolder, BadSetting

if TYPE_CHECKING:
    from pdrm.analysis.sizes import Sizes
    from pdrm.task import Task

MOST_ASKED = 3
"""The largest k that is counted unasked."""


def sizes(
    task: Annotated[
        str,
        Argument(
            help="A domain, a domain's file, or a machine (then every word can happen).",
            autocompletion=complete(task_names, *MAPS, *MACHINES),
        ),
    ],
    machine: MachineName = None,
    steps: Annotated[int | None, Option(help="Steps of an episode. [the domain's limit]")] = None,
    k: Annotated[
        str | None,
        Option("--k", help="The k-policies: 0,1,2. [up to the highest stack, at most 3]"),
    ] = None,
    runs: Annotated[
        Path | None, Option(help="A folder of trained runs, to count their tables.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count table rows: bounds, reachable, seen in training.

    What Theorems 1 to 4 allow, what can be reached, and what the tables of trained runs hold.

    Example: pdrm sizes maze-10x10 --k 0,1,2 --runs runs
    """
    from dataclasses import asdict

    from pdrm.analysis.size_claims import MACHINE, measure_blowup

    found = _find_task(task, machine)
    if k is not None:
        ks = read_ks(k)
    else:
        within = found.domain.step_limit if steps is None else steps
        ks = list(range(pdrm.machines.highest_stack(found.pushdown, within, most=MOST_ASKED) + 1))
    seen = [] if runs is None else count_tables(runs, found)
    record = pdrm.sizes(found, steps=steps, k=ks, seen=seen)
    is_measured = found.pushdown == pdrm.catalogue(MACHINE)  # the machine that Theorem 4 is about
    record["blowup"] = [asdict(row) for row in measure_blowup()] if is_measured else None
    if as_json:
        print_json(record)
        return
    print_sizes(record)
    verb = "check" if found.domain.name == "all words" else "check-k"
    next_command(f"pdrm {verb} {name_task(task, machine)}")


def count_tables(folder: Path, task: Task) -> list[dict[str, Any]]:
    """The tables of all runs below a folder that learnt this domain with this machine (or counters made from it), as
    `sizes` takes them. The strings of a table that sees only the top of the stack are not its own."""
    from pdrm.learning.run_folder import POLICY, read_spec
    from pdrm.learning.saved_policy import load_table
    from pdrm.learning.tabular.policy import QPolicy
    from pdrm.product.views import FullStack

    if not folder.is_dir():
        fix = "train some: pdrm train letter -o runs"
        raise BadRunFolder(f"there is no folder {folder}", fix=fix)
    found = []
    for file in sorted(folder.rglob(POLICY)):
        spec = read_spec(file.parent)
        if spec.agent.deep or spec.task.record() != task.record():
            continue
        learnt = load_table(file)
        counted = {"agent": spec.agent.name, "k": spec.agent.k, "rows": len(learnt)}
        if isinstance(learnt, QPolicy):
            table = learnt.q_table
            memories = len(set(table.node.tolist()))
            if table.memory.counts:
                counted["counters"] = memories
            elif isinstance(table.view, FullStack):
                counted["strings"] = memories
        found.append(counted)
    return found


def _find_task(name: str, machine: str | None) -> Task:
    """The task that a name means; that of a machine alone is in the domain in which every word can happen."""
    from pdrm.analysis.size_claims import all_words
    from pdrm.domains import names
    from pdrm.task import Task, find_machine, pushdown_machine

    is_machine = name in machine_names() or Path(name).suffix in MACHINES
    if name in names() or not is_machine:
        return Task(name, machine)
    if machine is not None:
        fix = "leave --machine out, or name a domain"
        raise BadSetting(f"`{name}` is already a machine", fix=fix)
    given = find_machine(name)
    return Task(all_words(pushdown_machine(given)), given)


def print_sizes(record: Sizes) -> None:
    """The record as tables."""
    from pdrm.drawing.trace import align

    counts = {
        "|S|": f"{record['environment_states']:,}",
        "|U|": record["machine_states"],
        "|Γ|": record["symbols"],
        "m": record["added"],
        "e": "∞" if record["silent_pushes"] is None else record["silent_pushes"],
    }
    shown = ", ".join(f"{name} = {count}" for name, count in counts.items())
    episodes = f"episodes of {record['steps']:,} steps"
    counters = record["counting"] or "the two that simulate the stack"
    typer.echo(f"{record['domain']} with machine {record['machine']}, {episodes}: {shown}")
    typer.echo(f"counters: {counters}\n\n{record}")
    if record["blowup"]:
        heads = ["letters", "2ⁿ", "configurations", "counters", "counters, ≤ n letters", "1-policy"]
        names = ("n", "least", "configurations", "counters", "counters_within", "one_policy_rows")
        rows = [[f"{row[name]:,}" for name in names] for row in record["blowup"]]
        typer.echo("\nTheorem 4: two counters that simulate the stack")
        typer.echo("\n".join(align([heads, *rows])))
