"""`pdrm train`, `pdrm evaluate`, `pdrm agents` and `pdrm domains`: learn a task, try what was learnt, see what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.arguments import complete_agent, complete_domain, complete_machine
from pdrm.cli.output import (
    INTERRUPTED,
    Json,
    check_integer,
    name_runs,
    next_command,
    print_findings,
    print_json,
)
from pdrm.errors import (
    ConflictingOptions,
    UnknownChoice,
    UnknownDomain,
    UnknownSetting,
    did_you_mean,
)

if TYPE_CHECKING:
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import WaterWorld
    from pdrm.learning.evaluation import Evaluation
    from pdrm.learning.guest import AnyAgent
    from pdrm.learning.run import Run
    from pdrm.task import Task

MOST = 2**31 - 1
MOST_NAMED = 3
"""Runs that `next:` names; of more, the first."""


def train(
    domain: Annotated[
        str,
        typer.Argument(
            help="A domain (see `pdrm domains`), or the file of your own: a map or .npz.",
            autocompletion=complete_domain,
        ),
    ],
    agent: Annotated[
        str | None,
        typer.Option(
            help="An agent (see `pdrm agents`). [q; ppo for WaterWorld]",
            autocompletion=complete_agent,
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k", help="Stack symbols the policy sees: 0, 1, 2, … or full; deep agents also none."
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            help="A machine file or catalogue name instead of the domain's own.",
            autocompletion=complete_machine,
        ),
    ] = None,
    success: Annotated[
        list[str] | None,
        typer.Option(help="A final machine state that means success; may be repeated."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many runs, with seeds 0, 1, …. [1]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="One run with this seed.")] = None,
    episodes: Annotated[
        int | None, typer.Option(help="Training episodes (tables). [the task's]")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Training steps (networks): total_timesteps. [the task's]")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="name=value: any setting (`pdrm agents NAME` lists them); may be repeated.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for runs.")] = Path(
        "runs"
    ),
    workers: Annotated[int, typer.Option(help="Runs at a time.")] = 1,
    log: Annotated[
        str | None, typer.Option(help="Also log to tensorboard (in the run's folder) or wandb.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train agents; stop with Ctrl-C, resume with the same command.

    Settings that are not given are the task's: the paper's for its own domains. Example: pdrm train maze-10x10 --agent cprm --k 1 --set learning_rate=0.1
    """
    from pdrm.files import ensure_folder
    from pdrm.learning.execution import Planned, Workers, train_all
    from pdrm.learning.run import Run
    from pdrm.learning.run_folder import is_done
    from pdrm.learning.run_spec import RunSpec
    from pdrm.product.task_findings import inspect_task
    from pdrm.task import Task

    check_integer("seeds", 1 if seeds is None else seeds, 1, 100_000, 5)
    check_integer("seed", seed or 0, 0, MOST, 0)
    check_integer("workers", workers, 1, 1_000, 2)
    if seed is not None and seeds is not None:
        raise ConflictingOptions("both --seed and --seeds are given", fix="leave one of them out")
    if log is not None:
        from pdrm.learning.sinks import check_sink

        check_sink(log)
    task = Task(domain, machine, success=tuple(success or ()))
    given = {"k": k, "episodes": episodes, "total_timesteps": steps}
    chosen = _agent(task, agent, given, set_ or ())
    specs = [RunSpec(task, chosen, one) for one in (range(seeds or 1) if seed is None else [seed])]
    specs[0].check()
    print_findings(inspect_task(task))
    task.warned = True
    root = ensure_folder(output)
    before = {spec.id for spec in specs if is_done(root / spec.name)}
    planned = [Planned(spec, f"seed {spec.seed}") for spec in specs]
    trained = [Run(spec, root / spec.name) for spec in specs]
    try:
        outcome = train_all(planned, root, Workers(count=workers), log=log, shown=not as_json)
    except KeyboardInterrupt:
        said = "before the first test: there is nothing to keep"
        if any(run.tested for run in trained):
            said = f"what was learnt is in {output}, and the same command resumes"
        typer.echo(f"stopped; {said}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    for failure in outcome.failures:
        typer.echo(failure.why, err=True)
    if outcome.failures:
        raise typer.Exit(2)
    if as_json:
        print_json([_summary(run) for run in trained])
        return
    for run in trained:
        _print(run, done_before=run.spec.id in before)
    if task.continuous:
        next_command("pdrm film {}", trained[0].folder)
    else:
        named = trained[: 1 if len(trained) > MOST_NAMED else None]
        next_command(f"pdrm evaluate{' {}' * len(named)}", *(run.folder for run in named))


def _agent(task: Task, name: str | None, given: dict[str, Any], words: Sequence[str]) -> AnyAgent:
    """The agent that is meant, with these settings."""
    from pdrm.learning.agents import DEFAULT_DEEP, DEFAULT_TABLE, kind_of
    from pdrm.learning.guest import agent_for
    from pdrm.learning.settings import parse_setting

    called = name or (DEFAULT_DEEP if task.continuous else DEFAULT_TABLE)
    settings = {setting: value for setting, value in given.items() if value is not None}
    kind = kind_of(called)
    unused, used = ("episodes", "--steps") if kind.deep else ("total_timesteps", "--episodes")
    if unused in settings:
        option = "--episodes" if kind.deep else "--steps"
        raise UnknownSetting(f"agent `{called}` does not use {option}", fix=f"{used} 10000")
    settings |= dict(parse_setting(kind, word) for word in words)
    return agent_for(called, settings)


def _summary(run: Run) -> dict[str, Any]:
    """A run for programs."""
    result, curve = run.result, run.curve
    return {
        "folder": str(run.folder),
        "id": run.spec.id,
        "seed": run.spec.seed,
        "episodes": int(curve.episodes[-1]),
        "timesteps": int(curve.timesteps[-1]),
        **{name: result[name] for name in ("rows", "truncated_by_stack") if name in result},
        "final_return": curve.final_return,
        "sha256": result["policy_sha256"],
    }


def _print(run: Run, *, done_before: bool) -> None:
    """A run for people."""
    from pdrm.learning.agents import Deep
    from pdrm.learning.curve import format_return

    found = _summary(run)
    rows = f", {found['rows']:,} table rows" if "rows" in found else ""
    before = " (done before)" if done_before else ""
    trained = f"{found['episodes']:,} episodes, {found['timesteps']:,} steps"
    final = f"final test return {format_return(found['final_return'])}"
    typer.echo(f"seed {run.spec.seed}: {trained}, {final}{rows}{before} -> {run.folder}")
    if found.get("truncated_by_stack") and isinstance(agent := run.spec.agent, Deep):
        from pdrm.learning.deep.deep_learner import needed_depth

        share = (
            f"{found['truncated_by_stack']:.0%}"
            if found["truncated_by_stack"] >= 0.005
            else "under 1%"
        )
        needed, now = needed_depth(run.spec.task, agent), agent.depth or 0
        depth = needed if needed > now else 2 * (now or needed)
        said = f"  {share} of the training episodes were truncated by a full stack"
        typer.echo(f"{said}\n  fix: --set depth={depth}", err=True)
    if (warning := run.warning) is not None:
        typer.echo(f"  {warning.message}\n  fix: {warning.fix}", err=True)


def agents(
    name: Annotated[
        str | None,
        typer.Argument(help="An agent, to list its settings.", autocompletion=complete_agent),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the agents, or the settings of one of them.

    Example: pdrm agents cprm
    """
    from pdrm.learning.agents import AGENTS, kind_of
    from pdrm.learning.settings import describe_settings, usual_value

    kinds = list(AGENTS.values()) if name is None else [kind_of(name)]
    if as_json:
        print_json({kind.name: describe_settings(kind) for kind in kinds})
        return
    for kind in kinds:
        first = (kind.__doc__ or "").partition(".")[0].strip().replace("\n", " ")
        typer.echo(f"{kind.name:<9}{first}")
    if name is None:
        next_command("pdrm agents cprm")
        return
    texts = describe_settings(kinds[0])
    for field in fields(kinds[0]):
        usual = usual_value(kinds[0], field)
        value = ",".join(map(str, usual)) if isinstance(usual, tuple) else usual
        typer.echo(f"  {f'{field.name}={value}':<32}{texts[field.name]}")
    domain = "echo" if kinds[0].deep else "letter"
    next_command(f"pdrm train {domain} --agent {name} --set {field.name}=…")


def evaluate(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Folders of runs. [the one in runs]")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes without exploration, of each run.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the episodes.")] = 0,
    as_json: Json = False,
) -> None:
    """Play trained policies and report their returns.

    With --json: one record for one run, a list for several. Example: pdrm evaluate runs/letter-q-1-*
    """
    from pdrm.learning.run import Run
    from pdrm.progress import COMPILING, say_if_slow

    check_integer("episodes", episodes, 1, 1_000_000, 100)
    check_integer("seed", seed, 0, MOST, 0)
    found = [Run.load(run) for run in name_runs(runs)]
    for run in found:
        if not run.done:
            said = "is not finished: repeat the command that started it to resume"
            typer.echo(f"{run.folder} {said}", err=True)
    with say_if_slow(COMPILING):
        records = [run.evaluate(episodes, seed) for run in found]
        optima = [run.optimal_value() for run in found]
    for record, optimum in zip(records, optima, strict=True):
        record["optimal_value"] = optimum
    if as_json:
        print_json(records[0] if len(records) == 1 else records)
        return
    for run, record, optimum in zip(found, records, optima, strict=True):
        if len(found) > 1:
            typer.echo(f"{run.folder}:")
        _print_evaluation(record, optimum)
    watch = "film" if found[0].spec.task.continuous else "replay"
    next_command(f"pdrm {watch} {{}}", found[0].folder)


def _print_evaluation(record: Evaluation, optimum: float | None) -> None:
    """The returns, their standard error, the optimal value, and how the episodes ended."""
    from statistics import stdev

    typer.echo(f"{record['episodes']} episodes of {record['domain']}: {record.format_means()}")
    returns = record["returns"]
    error = stdev(returns) / len(returns) ** 0.5 if len(returns) > 1 else 0.0
    if error > 0:
        said = "starts and moves are drawn at random"
        typer.echo(f"  standard error of the mean return: ± {error:.3g} ({said})")
    if optimum is None:
        typer.echo("  optimal value: not known: the domain is not finite, is random, or is large")
    else:
        above = record["mean_discounted_return"] > optimum and error > 0
        lucky = "; the mean of a sample can be above it" if above else ""
        value = f"{optimum:.6g}, discounted by {record['discount']:g}"
        typer.echo(f"  optimal value: {value} (without a step limit{lucky})")
    for line in record.lines():
        typer.echo(f"  {line}")


ORDERS = ("name", "size")
SHOWN_STATES = 200
"""States that are printed; with --json all are."""


def domains(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A domain, or the file of your own; without one, all are listed.",
            autocompletion=complete_domain,
        ),
    ] = None,
    sort: Annotated[
        str | None, typer.Option(help="List by name, or by size (states, the fewest first).")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the domains, or show one: its map, its starts, and its states by number, with what a step into each emits.

    Example: pdrm domains maze-5x5
    """
    from pdrm.domains.domain_files import find_domain
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.paper_domains import names
    from pdrm.domains.water import SIDES, water_world
    from pdrm.files import means_name

    known = [*names(), *SIDES]
    if name is not None and name not in known and means_name(name, known):
        raise UnknownDomain(f"there is no domain `{name}`", fix=did_you_mean(name, known))
    if sort not in (None, *ORDERS):
        fault = f"--sort takes {' or '.join(ORDERS)}, not `{sort}`"
        raise UnknownChoice(fault, fix=did_you_mean(str(sort), ORDERS))
    found = [
        water_world(word) if word in SIDES else find_domain(word)
        for word in (known if name is None else [name])
    ]
    rows = [_summarise(domain) for domain in found]
    if sort == "name":
        rows.sort(key=lambda row: row["name"])
    elif sort == "size":  # a continuous domain is larger than any other
        rows.sort(key=lambda row: (row["states"] is None, row["states"] or 0))
    one = found[0] if name is not None and isinstance(found[0], FiniteDomain) else None
    if as_json:
        states = {} if one is None else _list_states(one)
        print_json(rows if name is None else {**rows[0], **states})
        return
    for row in rows:
        size = "    continuous"
        if row["states"] is not None:
            size = f"{row['states']:>7} state{'s' if row['states'] != 1 else ' '}"
        limit = f"limit {row['step_limit']:<6}"
        machine = f"machine {row['machine']}" if row["machine"] else "no machine of its own"
        typer.echo(f"{row['name']:<13}{size}  {len(row['actions'])} actions  {limit} {machine}")
    if one is not None:
        _print_states(one)
    own = "" if name is None or rows[0]["machine"] else " --machine task.pdrm"
    next_command(f"pdrm train {{}}{own}", name or "letter")


def _summarise(domain: FiniteDomain | WaterWorld) -> dict[str, Any]:
    """A domain for programs; WaterWorld, for deep agents, has no number of states."""
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import ACTIONS, EVENTS

    facts: dict[str, Any] = {"states": None, "actions": ACTIONS, "events": EVENTS}
    if isinstance(domain, FiniteDomain):
        facts = {
            "states": domain.states,
            "actions": domain.actions,
            "events": domain.events,
        }
    limit = {"step_limit": domain.step_limit, "machine": domain.machine}
    return {"name": domain.name, **facts, **limit}


def _print_states(domain: FiniteDomain) -> None:
    """The map, and the states with their numbers."""
    from pdrm.domains.pictures import draw_text
    from pdrm.machines.guards import label_text

    facts = _list_states(domain)
    if domain.picture is not None:
        typer.echo(f"\n{draw_text(domain, facts['starts'][0]['state'])}")
    events = " ".join(domain.events) or "(none)"
    typer.echo(f"\nactions: {' '.join(domain.actions)}; events: {events}")
    for start in facts["starts"][:SHOWN_STATES]:
        place = f"{start['state']}, {domain.describe(start['state'])}"
        label = "" if start["label"] is None else f", emits {label_text(frozenset(start['label']))}"
        typer.echo(f"starts in state {place} (chance {start['chance']:.3g}){label}")
    wide = max(map(len, domain.state_names[:SHOWN_STATES]))
    typer.echo("states, and the events that a step into each can emit:")
    for number, state in enumerate(facts["state_list"][:SHOWN_STATES]):
        ends = "  (ends the episode)" if state["terminal"] else ""
        emits = " ".join(state["emits"])
        typer.echo(f"{number:>6}  {state['name']:<{wide}}  {emits}{ends}".rstrip())
    if domain.states > SHOWN_STATES:
        typer.echo(f"     …  ({domain.states:,} states; --json lists them all)")


def _list_states(domain: FiniteDomain) -> dict[str, Any]:
    """The starts and the states for programs."""
    arrays = domain.arrays
    emits = [set[str]() for _ in range(domain.states)]
    possible = arrays.probability > 0
    pairs = zip(arrays.next[possible].tolist(), arrays.label[possible].tolist(), strict=True)
    for state, label in set(pairs):
        emits[state] |= domain.labels[label]
    columns = (
        arrays.start_state.tolist(),
        arrays.start_probability.tolist(),
        arrays.start_label.tolist(),
    )
    starts = [
        {
            "state": state,
            "chance": chance,
            "label": None if label < 0 else sorted(domain.labels[label]),
        }
        for state, chance, label in zip(*columns, strict=True)
    ]
    described = zip(domain.state_names, emits, arrays.terminal.tolist(), strict=True)
    states = [
        {
            "name": name,
            "emits": [event for event in domain.events if event in found],
            "terminal": terminal,
        }
        for name, found, terminal in described
    ]
    return {"starts": starts, "state_list": states}
