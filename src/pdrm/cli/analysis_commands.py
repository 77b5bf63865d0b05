"""The commands for analysis: solve, sizes, check-k, verify."""

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


# --- `pdrm solve`: the optimal value and actions for policies that see the whole stack


def solve(
    domain: DomainName,
    machine: MachineName = None,
    discount: Discount = None,
    stack: Annotated[
        str | None, Option(help="A stack, top first: `d d l`. [the first start's]")
    ] = None,
    state: Annotated[
        str | None, Option(help="The environment state, by number or name. [the first start's]")
    ] = None,
    machine_state: Annotated[
        str | None, Option("--in", help="The machine state, by name. [the first start's]")
    ] = None,
    seconds: Annotated[float, Option(help="Time limit; exceeding it is an error.")] = 60.0,
    as_json: Json = False,
) -> None:
    """Compute the optimal value and actions.

    The error bound is proved. Policies see the whole stack, without a step limit. A
    stochastic domain must have finitely many reachable configurations.

    Example: pdrm solve maze-5x5 --in return --state 4 --stack "d r #"
    """
    from pdrm.analysis.witness import follow_solution

    task = pdrm.Task(domain, machine)
    start_time = monotonic()
    solution = pdrm.solve(task, discount=discount, seconds=seconds)
    optimal_play = follow_solution(solution)
    record = solution.record()
    points = record["starts"]
    if (state, machine_state, stack) != (None, None, None):
        first = solution.begins[0]
        record["asked"] = solution.record_at(
            first.s if state is None else state,
            machine_state or first.u,
            first.stack if stack is None else _read_stack(task.pushdown, stack),
        )
        points = [record["asked"]]
    record["optimal_steps"] = None if optimal_play is None else optimal_play.total
    record["seconds"] = round(monotonic() - start_time, 3)
    if as_json:
        print_json(record)
        return
    _print(solution, points)
    limit = task.finite.step_limit
    if optimal_play is not None and optimal_play.exceeds(limit):
        typer.echo(f"optimal play takes more than {limit:,} steps: raise the step limit to train")
    agent = "--k full" if optimal_play is None else "--agent summary"
    next_command(f"pdrm train {name_task(domain, machine, discount)} {agent}")


def _read_stack(machine: PushdownRewardMachine, text: str) -> tuple[str, ...]:
    """Parse a stack, top first. The bottom symbol is optional."""
    symbols = tuple(text.split())
    bottom = machine.begin().after.stack[-1:]
    return symbols if symbols[-1:] == bottom else symbols + bottom


def _print(solution: Solution, points: list[dict[str, Any]]) -> None:
    """Print the value from the start, and the values and best actions at some points."""
    from pdrm.analysis.solving import spell_value
    from pdrm.drawing.trace import align

    cells = solution.list_cells(points)
    for line in (*solution.headlines, align(cells)):
        typer.echo(line)
    if len(points) == 1:
        values = points[0]["action_values"].items()
        typer.echo(", ".join(f"{name} {spell_value(value)}" for name, value in values))
    if len(cells) <= len(points):
        typer.echo(f"… ({len(points)} starts)")


# --- `pdrm sizes`: the table rows of each kind of policy


def sizes(
    task: Annotated[
        str,
        Argument(
            help="A domain, its file, or a machine (alone, it can read any word).",
            autocompletion=complete(task_names, *MAPS, *MACHINES),
        ),
    ],
    machine: MachineName = None,
    steps: Annotated[int | None, Option(help="Steps per episode. [the domain's limit]")] = None,
    k: Annotated[str, Option(help="Values of k for k-policies: 0..3, or 0,1,5.")] = "0..2",
    runs: Annotated[
        Path | None, Option(help="A folder of trained runs, to count their table rows.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count table rows: bounds, reachable, and seen in training.

    The bounds are those of Theorems 1 to 4.

    Example: pdrm sizes maze-10x10 --k 0,1,2 --runs runs
    """
    from dataclasses import asdict

    from pdrm.paper.size_claims import MACHINE, measure_blowup

    resolved = _find_task(task, machine)
    seen = [] if runs is None else count_tables(runs, resolved)
    record = pdrm.sizes(resolved, steps=steps, k=read_ks(k), seen=seen)
    is_theorem_4 = resolved.pushdown == pdrm.catalogue(MACHINE)
    record["blowup"] = [asdict(row) for row in measure_blowup()] if is_theorem_4 else None
    if as_json:
        print_json(record)
        return
    print_sizes(record)
    verb = "check" if resolved.domain.name == "all words" else "check-k"
    next_command(f"pdrm {verb} {name_task(task, machine)}")


def count_tables(folder: Path, task: Task) -> list[dict[str, Any]]:
    """The tables of all runs of this task below a folder, in the format of `sizes`.

    Stack strings are counted only for tables that see the whole stack.
    """
    from pdrm.learning.run_folder import POLICY, read_spec
    from pdrm.learning.saved_policy import load_table
    from pdrm.learning.tabular.policy import QPolicy
    from pdrm.product.observation import FullStack

    tables = []
    for file in sorted(folder.rglob(POLICY)):
        spec = read_spec(file.parent)
        if spec.agent.deep or spec.task.record() != task.record():
            continue
        policy = load_table(file)
        counts = {"agent": spec.agent.name, "k": spec.agent.k, "rows": len(policy)}
        if isinstance(policy, QPolicy):
            table = policy.q_table
            memories = len(set(table.node.tolist()))
            if table.memory.counts:
                counts["counters"] = memories
            elif isinstance(table.view, FullStack):
                counts["strings"] = memories
        tables.append(counts)
    if not tables:
        fix = "train some: pdrm train letter -o runs"
        raise BadRunFolder(f"{folder} contains no runs of this task", fix=fix)
    return tables


def _find_task(name: str, machine: str | None) -> Task:
    """The task of a domain or a machine. For a machine alone, the domain emits every word."""
    from pdrm.analysis.sizes import all_words
    from pdrm.domains import names
    from pdrm.task import Task, find_machine, pushdown_machine

    if name in names() or not (name in machine_names() or Path(name).suffix in MACHINES):
        return Task(name, machine)
    alone = find_machine(name)
    return Task(all_words(pushdown_machine(alone)), alone if machine is None else machine)


def print_sizes(record: Sizes) -> None:
    """Print the record as tables."""
    from pdrm.drawing.rows import Cells

    pushes = "∞" if record["silent_pushes"] is None else record["silent_pushes"]
    counts = f"|S| = {record['environment_states']:,}, |U| = {record['machine_states']}"
    growth = f"|Γ| = {record['symbols']}, m = {record['added']}, e = {pushes}"
    episodes = f"episodes of {record['steps']:,} steps"
    typer.echo(
        f"{record['domain']} with machine {record['machine']}, {episodes}: {counts}, {growth}"
    )
    typer.echo(f"counters: {record['counting'] or 'two, which simulate the stack'}\n\n{record}")
    if record["blowup"]:
        typer.echo("\nTheorem 4: two counters that simulate the stack")
        typer.echo(Cells.from_records(record["blowup"]).text())


# --- `pdrm check-k`: the loss of the best k-policy for each k; `pdrm verify`: check a certificate

COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}


def check_k(
    domain: DomainName,
    machine: MachineName = None,
    k: Annotated[
        str | None, Option(help="Values of k: 0..4, or 0,1,5. [0..4, then larger ones]")
    ] = None,
    seconds: Annotated[
        float, Option(help="Time limit of the search, which then prints its bounds.")
    ] = 60.0,
    depth: Annotated[int | None, Option(help="Explore only states within this many steps.")] = None,
    discount: Discount = None,
    from_: Annotated[
        str | None, Option("--from", help="`start`: bound only the loss from the start.")
    ] = None,
    height: Annotated[int | None, Option(help="Maximum stack height to explore.")] = None,
    most: Annotated[int, Option(help="Maximum number of states to explore.")] = 1_500_000,
    memory: Annotated[float, Option(help="Maximum memory for the states, in GiB.")] = 4.0,
    draw: Annotated[Path | None, Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[
        Path | None, Option(help="Write a proof of the recommended k (JSON); - prints it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound the loss of the best k-policy, for each k.

    A k-policy sees the top k symbols of the stack. If stopped by --seconds or Ctrl-C, the command
    prints the current bounds.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    _check_paths(draw, certificate)
    task = pdrm.Task(domain, machine)
    ks = None if k is None else read_ks(k)
    start_time = monotonic()
    report = pdrm.check_k(
        task, k=ks, discount=discount, depth=depth, from_=from_, height=height,
        most=most, memory=memory, seconds=seconds, progress=not as_json,
    )  # fmt: skip
    stopped = report.ended == "stopped"
    stdout_in_use = as_json or certificate == STANDARD
    if as_json:
        duration = round(monotonic() - start_time, 3)
        print_json({**report.record(), "seconds": duration, "stopped": stopped})
    else:
        for line in report.lines(lambda text, verdict: coloured(text, fg=COLOURS[verdict])):
            typer.echo(line, err=stdout_in_use)
    if draw is not None:
        report.draw().save(draw)
        typer.echo(f"wrote {draw}", err=stdout_in_use)
    if certificate is not None:
        files = {"domain": domain} if machine is None else {"domain": domain, "machine": machine}
        proof = replace(report.certificate(), files=files)
        proof.save(certificate)
        typer.echo(f"{certificate} proves: {proof.claim}", err=stdout_in_use)
    if report.recommended is not None and not as_json:
        next_command(f"pdrm train {name_task(domain, machine, discount)} --k {report.recommended}")
    if stopped:
        typer.echo("stopped; all bounds found by then are valid, but not final", err=True)
        raise typer.Exit(INTERRUPTED)


def _check_paths(draw: Path | None, certificate: Path | None) -> None:
    """Raise if the files cannot be written, before the work starts."""
    if draw is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(draw)
    for path in (draw, certificate):
        if path is not None and not path.parent.is_dir():
            raise CannotWrite(f"the folder {path.parent} does not exist", fix="create it first")


def verify(
    certificate: Annotated[
        Path, Argument(help="A file of `pdrm check-k … --certificate FILE`, or -.")
    ],
    domain: Annotated[
        str | None, Option(help="The domain, or its file. [named by the certificate]")
    ] = None,
    machine: MachineName = None,
    as_json: Json = False,
) -> None:
    """Check a certificate of `pdrm check-k`.

    Prints the proved claim. The checker uses exact fractions and the readable machine. The exit
    code is 2 if it fails.

    Example: pdrm verify proof.json
    """
    claim = pdrm.verify(certificate, domain, machine)
    if as_json:
        print_json({"ok": True, "errors": [], "says": claim})
    else:
        typer.echo(coloured(f"{certificate}: verified", fg="green", bold=True))
        typer.echo(f"  {claim}")
