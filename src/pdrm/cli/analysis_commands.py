"""The commands about what can be proved of a task: solve, sizes, check-k, verify."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import pdrm
import pdrm.analysis
import pdrm.machines
from pdrm.cli.arguments import (
    MACHINES,
    MAPS,
    Discount,
    DomainName,
    Json,
    MachineName,
    complete,
    machine_names,
    read_ks,
    task_names,
)
from pdrm.cli.output import (
    INTERRUPTED,
    STANDARD,
    coloured,
    name_task,
    next_command,
    print_json,
)
from pdrm.errors import BadRunFolder, CannotWrite

if TYPE_CHECKING:
    from pdrm.analysis.sizes import Sizes
    from pdrm.analysis.solving import Solution
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.task import Task


# --- `pdrm solve`: the optimal value and actions with the whole stack in view, at the starts or at any stack.


def solve(
    domain: DomainName,
    machine: MachineName = None,
    discount: Discount = None,
    stack: Annotated[
        str | None, Option(help="A stack, top first: `d d l`. [that of the first start]")
    ] = None,
    state: Annotated[
        str | None, Option(help="The environment state: its number or name. [the first start's]")
    ] = None,
    machine_state: Annotated[
        str | None, Option("--in", help="The machine state, by name. [the first start's]")
    ] = None,
    seconds: Annotated[float, Option(help="How long it may take; then it is an error.")] = 60.0,
    as_json: Json = False,
) -> None:
    """Find the optimal value and actions with the whole stack in view, at the start or at any stack, with a proved error.

    If moves have chance, the configurations that can be reached must be finitely many. A step limit is not part of the problem.

    Example: pdrm solve maze-5x5 --in return --state 4 --stack "d r #"
    """
    from pdrm.analysis.witness import follow_solution
    from pdrm.product.task_findings import warn_of_tasks

    task = pdrm.Task(domain, machine)
    warn_of_tasks(task)
    begun = monotonic()
    solution = pdrm.solve(task, discount=discount, seconds=seconds)
    followed = follow_solution(solution)
    record = solution.record()
    places = record["starts"]
    if (state, machine_state, stack) != (None, None, None):
        first = solution.begins[0]
        record["asked"] = solution.record_at(
            first.s if state is None else state,
            machine_state or first.u,
            first.stack if stack is None else _read_stack(task.pushdown, stack),
        )
        places = [record["asked"]]
    record["optimal_steps"] = None if followed is None else followed.total
    record["seconds"] = round(monotonic() - begun, 3)
    if as_json:
        print_json(record)
        return
    _print(solution, places)
    limit = task.finite.step_limit
    if followed is not None and followed.exceeds(limit):
        said = f"optimal play takes more than the domain's {limit:,} steps"
        typer.echo(f"{said}: raise the step limit to train")
    agent = "--k full" if followed is None else "--agent summary"
    next_command(f"pdrm train {name_task(domain, machine, discount)} {agent}")


def _read_stack(machine: PushdownRewardMachine, text: str) -> tuple[str, ...]:
    """A stack as it is given, top first, with the bottom symbol if that was left out."""
    symbols = tuple(text.split())
    bottom = machine.begin().after.stack[-1:]
    return symbols if symbols[-1:] == bottom else symbols + bottom


def _print(solution: Solution, places: list[dict[str, Any]]) -> None:
    """The value from the start, and the values and best actions at some places."""
    from pdrm.analysis.solving import spell_value
    from pdrm.drawing.trace import align

    cells = solution.list_cells(places)
    for line in (*solution.headlines, align(cells)):
        typer.echo(line)
    if len(places) == 1:
        values = places[0]["action_values"].items()
        typer.echo(", ".join(f"{name} {spell_value(value)}" for name, value in values))
    if len(cells) <= len(places):
        typer.echo(f"… ({len(places)} starts)")


# --- `pdrm sizes`: the rows of each kind of policy: the theorems' bounds, what can be reached, what training reached.


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
    k: Annotated[str, Option(help="The k-policies: 0..3, or 0,1,5.")] = "0..2",
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
    seen = [] if runs is None else count_tables(runs, found)
    record = pdrm.sizes(found, steps=steps, k=read_ks(k), seen=seen)
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
    from pdrm.product.observation import FullStack

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
    if not found:
        fault, fix = f"{folder} holds no runs of this task", "train some: pdrm train letter -o runs"
        raise BadRunFolder(fault, fix=fix)
    return found


def _find_task(name: str, machine: str | None) -> Task:
    """The task that a name means; that of a machine alone is in the domain in which every word can happen."""
    from pdrm.analysis.size_claims import all_words
    from pdrm.domains import names
    from pdrm.task import Task, find_machine, pushdown_machine

    if name in names() or not (name in machine_names() or Path(name).suffix in MACHINES):
        return Task(name, machine)
    given = find_machine(name)
    return Task(all_words(pushdown_machine(given)), given if machine is None else machine)


def print_sizes(record: Sizes) -> None:
    """The record as tables."""
    from pdrm.drawing.rows import Cells

    pushes = "∞" if record["silent_pushes"] is None else record["silent_pushes"]
    counts = f"|S| = {record['environment_states']:,}, |U| = {record['machine_states']}"
    growth = f"|Γ| = {record['symbols']}, m = {record['added']}, e = {pushes}"
    episodes = f"episodes of {record['steps']:,} steps"
    typer.echo(
        f"{record['domain']} with machine {record['machine']}, {episodes}: {counts}, {growth}"
    )
    typer.echo(f"counters: {record['counting'] or 'the two that simulate the stack'}\n\n{record}")
    if record["blowup"]:
        typer.echo("\nTheorem 4: two counters that simulate the stack")
        typer.echo(Cells.from_records(record["blowup"]).text())


# --- `pdrm check-k`: what the best k-policy loses, for each k; and `pdrm verify`, which checks a saved certificate.

COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}


def check_k(
    domain: DomainName,
    machine: MachineName = None,
    k: Annotated[
        str | None, Option(help="The k to ask about: 0..4, or 0,1,5. [0..4, and upwards]")
    ] = None,
    seconds: Annotated[
        float, Option(help="The time to search; then the best bounds so far.")
    ] = 60.0,
    depth: Annotated[
        int | None, Option(help="Explore the states within so many steps only.")
    ] = None,
    discount: Discount = None,
    from_: Annotated[
        str | None, Option("--from", help="`start`: ask only what is lost from the start.")
    ] = None,
    height: Annotated[int | None, Option(help="The highest stack that is explored.")] = None,
    most: Annotated[int, Option(help="States to explore at most.")] = 1_500_000,
    memory: Annotated[float, Option(help="GiB for them at most.")] = 4.0,
    draw: Annotated[Path | None, Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[
        Path | None, Option(help="Write a proof of the recommended k (JSON); - prints it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound what the best policy that sees the top k symbols loses, for each k.

    Stopped by --seconds or Ctrl-C, it prints what is known by then.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    from pdrm.product.task_findings import warn_of_tasks

    _check_paths(draw, certificate)
    task = pdrm.Task(domain, machine)
    ks = None if k is None else read_ks(k)
    warn_of_tasks(task)
    begun = monotonic()
    report = pdrm.check_k(
        task, k=ks, discount=discount, depth=depth, from_=from_, height=height,
        most=most, memory=memory, seconds=seconds, progress=not as_json,
    )  # fmt: skip
    stopped = report.ended == "stopped"
    aside = as_json or certificate == STANDARD
    if as_json:
        spent = round(monotonic() - begun, 3)
        print_json({**report.record(), "seconds": spent, "stopped": stopped})
    else:
        for line in report.lines(lambda text, verdict: coloured(text, fg=COLOURS[verdict])):
            typer.echo(line, err=aside)
    if draw is not None:
        report.draw().save(draw)
        typer.echo(f"wrote {draw}", err=aside)
    if certificate is not None:
        given = {"domain": domain, "machine": machine}
        files = {name: where for name, where in given.items() if where is not None}
        proof = replace(report.certificate(), files=files)
        proof.save(certificate)
        typer.echo(f"{certificate} proves: {proof.claim}", err=aside)
    if not as_json:
        k_seen = "full" if report.recommended is None else report.recommended
        next_command(f"pdrm train {name_task(domain, machine, discount)} --k {k_seen}")
    if stopped:
        typer.echo("stopped; this is what was known by then", err=True)
        raise typer.Exit(INTERRUPTED)


def _check_paths(draw: Path | None, certificate: Path | None) -> None:
    """Refuse files that could not be written, before all the work."""
    if draw is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(draw)
    for path in (draw, certificate):
        if path is not None and not path.parent.is_dir():
            raise CannotWrite(f"no folder is called {path.parent}", fix="create it first")


def verify(
    certificate: Annotated[
        Path, Argument(help="What `pdrm check-k … --certificate FILE` wrote, or -.")
    ],
    domain: Annotated[
        str | None, Option(help="The domain, or its file. [the one it names]")
    ] = None,
    machine: MachineName = None,
    as_json: Json = False,
) -> None:
    """Check a certificate of `pdrm check-k`, and print what it proves.

    Every step is taken with the readable machine and computed in fractions. Exit code 2: it proves nothing.

    Example: pdrm verify proof.json
    """
    said = pdrm.verify(certificate, domain, machine)
    if as_json:
        print_json({"ok": True, "errors": [], "says": said})
    else:
        typer.echo(coloured(f"{certificate}: it holds", fg="green", bold=True))
        typer.echo(f"  {said}")
