"""`pdrm sizes`: how many rows each kind of policy takes: the theorems' bounds, what can be reached, what training reached."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.arguments import complete_machine, complete_task
from pdrm.cli.output import Json, next_command, print_json
from pdrm.errors import BadRunFolder, BadSetting

if TYPE_CHECKING:
    from pdrm.machines.counting import CountingRewardAutomaton
    from pdrm.task import Task

LONGEST = 20
"""Digits of a k that are read: more are too many in any case."""
MACHINE_FILES = (".pdrm", ".json")


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
    from pdrm.analysis.sizes import sizes_record

    ks = None if k is None else _read_ks(k)
    if steps is not None and steps < 0:
        raise BadSetting(f"--steps {steps}", fix="use a non-negative integer: --steps 20")
    found = _find_task(task, machine)
    counting = _find_counting(found)
    seen = [] if runs is None else count_tables(runs, found)
    ks = _reachable_ks(found, steps) if ks is None else ks
    record = sizes_record(found, steps=steps, k=ks, counting=counting, seen=seen)
    record["blowup"] = _blowup(found)
    if as_json:
        print_json(record)
        return
    print_sizes(record)
    _next(task, found, machine)


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
        if not spec.agent.deep and spec.task.record() == task.record():
            about = {
                "run": run.name,
                "agent": spec.agent.name,
                "k": spec.agent.k,
                "seed": spec.seed,
            }
            found.append({**about, **_count_table(run / POLICY)})
    return found


def _count_table(policy: Path) -> dict[str, int | None]:
    """What one run's table contains; the strings of a table that sees only the top of the stack are not its own."""
    from pdrm.learning.tabular.policy import TabularPolicy, load_table
    from pdrm.learning.tabular.policy_table import CounterVectors
    from pdrm.product.views import FullStack

    learnt = load_table(policy)
    if not isinstance(learnt, TabularPolicy):
        return {"rows": len(learnt), "strings": None, "counters": None}
    table = learnt.q_table
    memories = len(set(table.node.tolist()))
    counts = isinstance(table.memory, CounterVectors)
    whole = isinstance(table.view, FullStack) and not counts
    return {
        "rows": len(table),
        "strings": memories if whole else None,
        "counters": memories if counts else None,
    }


MOST_ASKED = 3
"""The largest k that is counted unasked."""


def _reachable_ks(task: Task, steps: int | None) -> list[int]:
    """From 0 to the number of symbols that the stack can hold, while they are few."""
    from pdrm.machines.stack_bounds import highest_stack

    within = task.domain.step_limit if steps is None else steps
    return list(range(highest_stack(task.pushdown, within, most=MOST_ASKED) + 1))


def _read_ks(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdecimal() for part in parts):
        raise BadSetting(f"--k {text!r} is not a list of integers", fix="--k 0,1,2")
    return [int(part[:LONGEST]) for part in parts]


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


def _find_counting(task: Task) -> CountingRewardAutomaton | None:
    """The automaton with one counter for the task: its machine, or the catalogue's, if there is one."""
    from pdrm.machines.counting import CountingRewardAutomaton
    from pdrm.task import COUNTED

    own = isinstance(task.machine, CountingRewardAutomaton)
    return task.counting if own or (task.text is None and task.machine.name in COUNTED) else None


def _blowup(task: Task) -> list[dict[str, Any]] | None:
    """Theorem 4 measured, where the machine is the one it is about."""
    from dataclasses import asdict

    from pdrm.analysis.size_claims import MACHINE, measure_blowup
    from pdrm.language.loading import catalogue

    return (
        [asdict(row) for row in measure_blowup()] if task.pushdown == catalogue(MACHINE) else None
    )


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
    table = Table(
        "",
        "theorem",
        "as printed",
        "bound",
        "reachable",
        "seen in training",
        box=None,
        header_style="bold",
    )
    for size in record["sizes"]:
        table.add_row(
            size["what"],
            str(size["theorem"]),
            number_text(size["printed"])
            + (" (too small)" if size["printed_holds"] is False else ""),
            number_text(size["bound"]),
            f"{size['reachable']:,}" + _walked(size, record),
            _seen_text(size["seen"]) or "-",
        )
    console.print(table, "")
    if record["blowup"]:
        _print_blowup(console, record["blowup"])


def _print_blowup(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    heads = (
        "n letters",
        "2ⁿ",
        "configurations",
        "counters",
        "counters, ≤ n letters",
        "1-policy",
    )
    table = Table(
        *heads,
        title="Theorem 4: two counters that simulate the stack",
        title_justify="left",
        box=None,
    )
    for row in rows:
        counts = (
            f"{row[name]:,}"
            for name in ("n", "least", "configurations", "counters", "counters_within")
        )
        table.add_row(*counts, str(row["one_policy_rows"]))
    console.print(table, "")


def _walked(size: dict[str, Any], record: dict[str, Any]) -> str:
    return "" if size["within"] == record["steps"] else f" within {size['within']:,} steps"


def _seen_text(seen: list[dict[str, Any]]) -> str:
    return ", ".join(
        f"{one['agent']}-{one['k']}: {one['most']:,} ({one['runs']} run{'s' * (one['runs'] != 1)})"
        for one in seen
    )


def _next(name: str, task: Task, machine: str | None) -> None:
    with_ = "" if machine is None else f" --machine {quote(machine)}"
    if task.domain.name == "all words":
        next_command("pdrm check {}", name)
    else:
        next_command(f"pdrm check-k {quote(name)}{with_}")
