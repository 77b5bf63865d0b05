"""`pdrm solve`: the optimal value and actions with the whole stack in view, at the starts or at any stack."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from pdrm.cli.arguments import Discount, DomainName, Json, MachineName
from pdrm.cli.output import coloured, name_task, next_command, print_json, warn_of_task
from pdrm.errors import BadSetting

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine

SHOWN = 10
"""Starts that are printed."""


def solve(
    domain: DomainName,
    machine: MachineName = None,
    discount: Discount = None,
    stack: Annotated[
        str | None, Option(help="A stack, top first: `d d l #`. [the starts' own]")
    ] = None,
    state: Annotated[
        str | None, Option(help="The environment state: its number or name. [the first start's]")
    ] = None,
    machine_state: Annotated[
        str | None, Option("--in", help="The machine state, by name. [the first start's]")
    ] = None,
    precision: Annotated[
        float, Option(help="The error to aim at, as a share of the largest value.")
    ] = 1e-12,
    seconds: Annotated[float, Option(help="How long it may take; then it is an error.")] = 60.0,
    as_json: Json = False,
) -> None:
    """Find the optimal value and actions with the whole stack in view, at the start or at any stack, with a proved error.

    If moves have chance, the configurations that can be reached must be finitely many. A step limit is not part of the problem.

    Example: pdrm solve maze-5x5 --in return --state 4 --stack "d r #"
    """
    from pdrm.analysis.product_solution import solve as find
    from pdrm.analysis.witness import follow_solution
    from pdrm.task import Task

    task = Task(domain, machine)
    warned = warn_of_task(task, quiet=as_json)
    begun = monotonic()
    solution = find(task, discount=discount, precision=precision, seconds=seconds)
    followed = follow_solution(solution)
    record = solution.record()
    asked = (state, machine_state, stack) != (None, None, None)
    if asked:
        if not solution.begins:
            fix = "name all three: --state 0 --in u0 --stack '#'"
            raise BadSetting("no start has a chance", fix=fix)
        first = solution.begins[0]
        record["asked"] = solution.record_at(
            first.s if state is None else state,
            machine_state or first.u,
            first.stack if stack is None else _read_stack(task.pushdown, stack),
        )
    record["optimal_steps"] = followed.steps if followed is not None and followed.ends else None
    record["seconds"] = round(monotonic() - begun, 3)
    record["step_limit"] = None
    record["warnings"] = warned
    if as_json:
        print_json(record)
        return
    limit = task.finite.step_limit
    _print(record, [record["asked"]] if asked else record["starts"], limit)
    if followed is not None and followed.exceeds(limit):
        said = f"optimal play takes more than the domain's {limit:,} steps"
        typer.echo(f"{said}: raise the step limit to train")
    agent = "--k full" if followed is None else "--agent summary"
    next_command(f"pdrm train {name_task(domain, machine, discount)} {agent}")


def _read_stack(machine: PushdownRewardMachine, text: str) -> tuple[str, ...]:
    """A stack as it is given, top first; the bottom symbol is added if it was left out and no rule removes it."""
    symbols, bottom = tuple(text.split()), machine.begin().after.stack[-1:]
    if not bottom or symbols[-1:] == bottom:
        return symbols
    rules = (rule for rule in machine.transitions if rule.looks_at(bottom[0]))
    if any(rule.replacement(bottom[0])[-1:] != bottom for rule in rules):
        return symbols
    if bottom[0] in symbols:
        fault = f"`{bottom[0]}` is the bottom of the stack, and stands above others in {text!r}"
        raise BadSetting(fault, fix=f"top first, and `{bottom[0]}` last")
    typer.echo(f"`{bottom[0]}` lies under every stack: it was added to --stack", err=True)
    return symbols + bottom


def _print(record: dict[str, Any], places: list[dict[str, Any]], limit: int) -> None:
    """The value from the start, and the values and best actions at some places."""
    from pdrm.drawing.trace import write_stack

    task = f"{record['domain']} with machine {record['machine']}"
    limited = f"no step limit (the domain's is {limit:,})"
    typer.echo(f"{task}, discount {record['discount']:g}, {limited}")
    value = coloured(_number(record["value_from_start"]), bold=True)
    error = f"± {record['error']:.2g} ({record['relative_error']:.1g} of it)"
    typer.echo(f"value from the start {value}, proved to {error}")
    for one in places[:SHOWN]:
        best = coloured(" or ".join(one["actions"]) or "(the episode is over)", fg="green")
        chance = f"{one['chance']:.3g} of episodes: " if one.get("chance", 1.0) < 1 else ""
        where = f"state {one['s']} ({one['where']}), {one['state']}"
        typer.echo(f"  {chance}{where}, stack {write_stack(one['stack'])}")
        typer.echo(f"    value {_number(one['value'])}; best: {best}")
        if len(places) == 1:
            values = one["action_values"].items()
            shown = (f"{name} {_number(value)}" for name, value in values)
            typer.echo(f"    {', '.join(shown)}")
    if len(places) > SHOWN:
        typer.echo(f"  … ({len(places)} starts)")
    kept = ", ".join(f"{count:,} {name}" for name, count in record["size"].items())
    typer.echo(f"kept: {kept}; {record['seconds']:.1f} s")


def _number(value: float) -> str:
    return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.3f}"
