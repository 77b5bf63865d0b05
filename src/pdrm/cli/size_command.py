"""`pdrm sizes`: the rows of each kind of policy: the theorems' bounds, what can be reached, what training reached."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.arguments import complete_machine, complete_task
from pdrm.cli.output import Json, next_command, print_json
from pdrm.errors import BadRunFolder, BadSetting

if TYPE_CHECKING:
    from pdrm.task import Task

KS = re.compile(r"\s*[0-9]{1,9}\s*(,\s*[0-9]{1,9}\s*)*")
MACHINE_FILES = (".pdrm", ".json")
MOST_ASKED = 3
"""The largest k that is counted unasked."""


def sizes(
    task: Annotated[
        str,
        typer.Argument(
            help="A domain, a domain's file, or a machine (then every word can happen).",
            autocompletion=complete_task,
        ),
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            help="A machine file or catalogue name for the domain.", autocompletion=complete_machine
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps of an episode. [the domain's limit]")
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k", help="The k-policies to count: 0,1,2. [up to the highest stack, at most 3]"
        ),
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(help="A folder of trained runs, to count their tables.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count table rows: bounds, reachable, seen in training.

    What Theorems 1 to 4 allow, what can be reached, and what the tables of trained runs hold.

    Example: pdrm sizes maze-10x10 --k 0,1,2 --runs runs
    """
    from dataclasses import asdict

    from pdrm.analysis.size_claims import MACHINE, measure_blowup
    from pdrm.analysis.sizes import sizes_record
    from pdrm.language.loading import catalogue
    from pdrm.machines.counting import CountingRewardAutomaton
    from pdrm.machines.stack_bounds import highest_stack
    from pdrm.task import COUNTED

    if k is not None and not KS.fullmatch(k):
        raise BadSetting(f"--k {k[:60]!r} is not a list of integers", fix="--k 0,1,2")
    if steps is not None and steps < 0:
        raise BadSetting(f"--steps {steps}", fix="use a non-negative integer: --steps 20")
    found = _find_task(task, machine)
    if k is not None:
        ks = [int(part) for part in k.split(",")]
    else:
        within = found.domain.step_limit if steps is None else steps
        ks = list(range(highest_stack(found.pushdown, within, most=MOST_ASKED) + 1))
    own = found.text is None and found.machine.name in COUNTED
    one_counter = own or isinstance(found.machine, CountingRewardAutomaton)
    record = sizes_record(
        found,
        steps=steps,
        k=ks,
        counting=found.counting if one_counter else None,
        seen=[] if runs is None else count_tables(runs, found),
    )
    is_measured = found.pushdown == catalogue(MACHINE)  # the machine that Theorem 4 is about
    record["blowup"] = [asdict(row) for row in measure_blowup()] if is_measured else None
    if as_json:
        print_json(record)
        return
    print_sizes(record)
    if found.domain.name == "all words":
        next_command("pdrm check {}", task)
    else:
        with_ = "" if machine is None else f" --machine {quote(machine)}"
        next_command(f"pdrm check-k {quote(task)}{with_}")


def count_tables(folder: Path, task: Task) -> list[dict[str, Any]]:
    """The tables of all runs below a folder that learnt this domain with this machine (or counters made from it), as
    `sizes_record` takes them."""
    from pdrm.learning.run_folder import POLICY
    from pdrm.learning.run_spec import read_spec

    if not folder.is_dir():
        raise BadRunFolder(
            f"there is no folder {folder}", fix="train some: pdrm train letter -o runs"
        )
    found = []
    for run in sorted(file.parent for file in folder.rglob(POLICY)):
        spec = read_spec(run)
        agent = spec.agent
        if not agent.deep and spec.task.record() == task.record():
            about = {"run": run.name, "agent": agent.name, "k": agent.k, "seed": spec.seed}
            found.append({**about, **_count_table(run / POLICY)})
    return found


def _count_table(policy: Path) -> dict[str, int | None]:
    """Count the contents of one run's table; the strings of a table that sees only the top of the stack are not its own."""
    from pdrm.learning.tabular.policy import QPolicy
    from pdrm.learning.tabular.policy_file import load_table
    from pdrm.product.views import FullStack

    learnt = load_table(policy)
    if not isinstance(learnt, QPolicy):
        return {"rows": len(learnt), "strings": None, "counters": None}
    table = learnt.q_table
    memories = len(set(table.node.tolist()))
    counts = learnt.counts
    whole = isinstance(table.view, FullStack) and not counts
    return {
        "rows": len(table),
        "strings": memories if whole else None,
        "counters": memories if counts else None,
    }


def _find_task(name: str, machine: str | None) -> Task:
    """The task that a name means; that of a machine alone is in the domain in which every word can happen."""
    from pdrm.analysis.size_claims import all_words
    from pdrm.domains import names
    from pdrm.language.loading import KINDS, catalogue_names
    from pdrm.task import Task, find_machine, pushdown_machine

    if name in names() or not (
        Path(name).suffix in (*MACHINE_FILES, *(f".{kind}" for kind in KINDS))
        or name in catalogue_names()
    ):
        return Task(name, machine)
    if machine is not None:
        raise BadSetting(
            f"`{name}` is already a machine", fix="leave --machine out, or name a domain"
        )
    given = find_machine(name)
    return Task(all_words(pushdown_machine(given)), given)


def print_sizes(record: dict[str, Any]) -> None:
    """The record as tables."""
    from rich.console import Console
    from rich.table import Table

    from pdrm.analysis.sizes import number_text

    console = Console(highlight=False)
    e = "∞" if record["silent_pushes"] is None else record["silent_pushes"]
    console.print(
        f"{record['domain']} with machine {record['machine']}, episodes of {record['steps']:,} steps: "
        f"|S| = {record['environment_states']:,}, |U| = {record['machine_states']}, |Γ| = {record['symbols']}, "
        f"m = {record['added']}, e = {e}; counters: {record['counting'] or 'the two that simulate the stack'}\n",
        soft_wrap=True,
    )
    heads = ("", "theorem", "as printed", "bound", "reachable", "seen in training")
    table = Table(*heads, box=None, header_style="bold")
    for size in record["sizes"]:
        printed = number_text(size["printed"])
        if size["printed_holds"] is False:
            printed += " (too small)"
        reachable = f"{size['reachable']:,}"
        if size["within"] != record["steps"]:
            reachable += f" within {size['within']:,} steps"
        seen = ", ".join(
            f"{one['agent']}-{one['k']}: {one['most']:,} ({one['runs']} run{'s' * (one['runs'] != 1)})"
            for one in size["seen"]
        )
        bound = number_text(size["bound"])
        table.add_row(size["what"], str(size["theorem"]), printed, bound, reachable, seen or "-")
    console.print(table, "")
    if record["blowup"]:
        _print_blowup(console, record["blowup"])


def _print_blowup(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    heads = ("n letters", "2ⁿ", "configurations", "counters", "counters, ≤ n letters", "1-policy")
    title = "Theorem 4: two counters that simulate the stack"
    table = Table(*heads, title=title, title_justify="left", box=None)
    names = ("n", "least", "configurations", "counters", "counters_within")
    for row in rows:
        counts = (f"{row[name]:,}" for name in names)
        table.add_row(*counts, str(row["one_policy_rows"]))
    console.print(table, "")
