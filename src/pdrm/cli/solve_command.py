"""`pdrm solve`: the optimal value and actions with the whole stack in view, at the starts or at any stack."""

from __future__ import annotations

from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.arguments import DomainName, MachineName
from pdrm.cli.output import Json, coloured, next_command, print_json, warn_of_task
from pdrm.errors import BadSetting

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.task import Task

SHOWN = 10
"""Starts that are printed."""
LONGEST_SHOWN = 12
"""Symbols of a stack that are printed."""


def solve(
    domain: DomainName,
    machine: MachineName = None,
    discount: Annotated[
        float | None, typer.Option(help="γ, below 1. [the paper's for its domains, else 0.99]")
    ] = None,
    stack: Annotated[
        str | None, typer.Option(help="A stack, top first: `d d l #`. [the starts' own]")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="The environment state: its number, or its name as printed. [the first start's]"
        ),
    ] = None,
    machine_state: Annotated[
        str | None, typer.Option("--in", help="The machine state, by name. [the first start's]")
    ] = None,
    precision: Annotated[
        float, typer.Option(help="The error to aim at, as a share of the largest value.")
    ] = 1e-12,
    seconds: Annotated[
        float, typer.Option(help="How long it may take; then it is an error.")
    ] = 60.0,
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
    given = "" if machine is None else f" --machine {quote(machine)}"
    own = "" if discount is None else f" --discount {discount:g}"
    warned = warn_of_task(task, quiet=as_json)
    begun = monotonic()
    solution = find(task, discount=discount, precision=precision, seconds=seconds)
    asked = None
    if stack is not None or state is not None or machine_state is not None:
        if not solution.begins:
            raise BadSetting(
                "no start has a chance", fix="name all three: --state 0 --in u0 --stack '#'"
            )
        first = solution.begins[0]
        symbols = first.stack if stack is None else _read_stack(task.pushdown, stack)
        asked = solution.record_at(
            first.s if state is None else state,
            first.u if machine_state is None else machine_state,
            symbols,
        )
    followed = follow_solution(solution)
    record = {**solution.record(), **({} if asked is None else {"asked": asked})}
    record["optimal_steps"] = followed.steps if followed is not None and followed.ends else None
    record["seconds"] = round(monotonic() - begun, 3)
    record["step_limit"] = None
    record["warnings"] = warned
    if as_json:
        print_json(record)
        return
    _print(task, record, asked)
    limit = task.finite.step_limit
    if followed is not None and followed.exceeds(limit):
        typer.echo(
            f"optimal play takes more than the domain's {limit:,} steps: raise the step limit to train"
        )
    agent = " --agent summary" if followed is not None else " --k full"
    next_command(f"pdrm train {quote(domain)}{given}{agent}{own}")


def _read_stack(machine: PushdownRewardMachine, text: str) -> tuple[str, ...]:
    """A stack as it is given, top first; the bottom symbol is added if it was left out and no rule removes it."""
    symbols, below = tuple(text.split()), machine.begin().after.stack
    if not below or symbols[-1:] == below[-1:]:
        return symbols
    rules = (rule for rule in machine.transitions if rule.looks_at(below[-1]))
    if any(rule.replacement(below[-1])[-1:] != below[-1:] for rule in rules):
        return symbols
    if below[-1] in symbols:
        raise BadSetting(
            f"`{below[-1]}` is the bottom of the stack, and stands above other symbols in --stack {text!r}",
            fix=f"top first, and `{below[-1]}` last",
        )
    typer.echo(f"`{below[-1]}` lies under every stack: it was added to --stack", err=True)
    return (*symbols, below[-1])


def _print(task: Task, record: dict[str, Any], asked: dict[str, Any] | None) -> None:
    typer.echo(
        f"{record['domain']} with machine {record['machine']}, discount {record['discount']:g},"
        f" no step limit (the domain's is {task.finite.step_limit:,})"
    )
    typer.echo(
        f"value from the start {coloured(_number(record['value_from_start']), bold=True)}"
        f", proved to ± {record['error']:.2g} ({record['relative_error']:.1g} of it)"
    )
    for one in [asked] if asked is not None else record["starts"][:SHOWN]:
        best = " or ".join(one["actions"]) or "(the episode is over)"
        chance = f"{one['chance']:.3g} of episodes: " if one.get("chance", 1.0) < 1 else ""
        typer.echo(
            f"  {chance}state {one['s']} ({one['where']}), {one['state']}, stack {_stack(one['stack'])}"
        )
        typer.echo(f"    value {_number(one['value'])}; best: {coloured(best, fg='green')}")
        if asked is not None:
            typer.echo(
                "    "
                + ", ".join(
                    f"{name} {_number(value)}" for name, value in one["action_values"].items()
                )
            )
    if asked is None and len(record["starts"]) > SHOWN:
        typer.echo(f"  … ({len(record['starts'])} starts)")
    kept = ", ".join(f"{count:,} {name}" for name, count in record["size"].items())
    typer.echo(f"kept: {kept}; {record['seconds']:.1f} s")


def _stack(stack: list[str]) -> str:
    shown = " ".join(stack[:LONGEST_SHOWN]) or "(empty)"
    return f"{shown} … ({len(stack)} symbols)" if len(stack) > LONGEST_SHOWN else shown


def _number(value: float) -> str:
    return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.3f}"
