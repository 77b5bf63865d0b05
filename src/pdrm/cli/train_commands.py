"""`pdrm train`, `pdrm evaluate`, `pdrm agents` and `pdrm domains`: learn a task, try what was learnt, see what there is.

`pdrm train` is a study with one line. Its options for settings are the fields of the agents.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
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
from pdrm.learning.agents import AGENTS, DEFAULT_DEEP, DEFAULT_TABLE, MOST_SEEDS, kind_of
from pdrm.learning.settings import MOST, MOST_TEST_EPISODES, describe_settings, parse_setting
from pdrm.machines.guards import label_text

if TYPE_CHECKING:
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.learning.evaluation import Evaluation
    from pdrm.learning.run import Run
    from pdrm.learning.settings import Agent
    from pdrm.task import Task

MOST_WORKERS = 1_000
MOST_NAMED = 3
"""Runs that `next:` names; of more, the first."""
TABULAR = [kind for kind in AGENTS.values() if not kind.deep]

INSTEAD = {
    "episodes": "--steps 100000",
    "learning_rate": "--set learning_rate=3e-4",
    "epsilon": "--set exploration_initial_eps=1 (dqn)",
    "epsilon_least": "--set exploration_final_eps=0.05 (dqn)",
    "counterfactuals": "--set counterfactuals=2 (dqn, sac)",
}
"""What tells a deep agent what an option tells a tabular one."""


WHAT, HOW_LONG, KEPT = "What is trained", "How long", "Where it is kept, and how it is run"
TABLES, ANY_AGENT = "Settings of tables", "Settings of networks, and of any agent"
"""What the options of `train` are about, as its help shows them."""
LIMITS = (
    "episodes",
    "step_limit",
    "seconds_per_episode",
    "updates_per_episode",
    "operations_per_episode",
    "test_every",
    "test_episodes",
)


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
            help="q, cprm (counterfactual), hrm (options), summary (whole stack, ours), cra-q, cra-cql (counting automata); or deep: ppo, rppo "
            "(recurrent), dqn, sac. [q; ppo for WaterWorld]",
            autocompletion=complete_agent,
            rich_help_panel=WHAT,
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            help="Stack symbols the policy sees: 0, 1, 2, … or full; deep agents also none. [1]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="How many runs, with seeds 0, 1, …. [1]", rich_help_panel=WHAT),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="One run with this seed, in place of --seeds.", rich_help_panel=WHAT),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            help="A machine file or catalogue name in place of the domain's own.",
            autocompletion=complete_machine,
            rich_help_panel=WHAT,
        ),
    ] = None,
    success: Annotated[
        list[str] | None,
        typer.Option(
            help="A final machine state that means success; may be repeated. [all, of the catalogue's those not lost]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Training steps (deep agents): their total_timesteps.", rich_help_panel=HOW_LONG
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="name=value: any setting of the agent (`pdrm agents NAME` lists them); may be repeated.",
            rich_help_panel=ANY_AGENT,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The folder for runs.", rich_help_panel=KEPT)
    ] = Path("runs"),
    workers: Annotated[int, typer.Option(help="Runs at a time.", rich_help_panel=KEPT)] = 1,
    log: Annotated[
        str | None,
        typer.Option(
            help="Also log to tensorboard (in the run's folder) or wandb.", rich_help_panel=KEPT
        ),
    ] = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    """Train agents; stop with Ctrl-C, go on with the same command.

    Settings that are not given are the paper's for its own domains, or, in a domain of your own, those shown. Example: pdrm train maze-10x10 --agent cprm --k 1 --seeds 5

    Your own domain and task: pdrm train my_map.txt --machine my.pdrm. Deep agents: pdrm train echo --agent ppo --steps 50000
    """
    from pdrm.experiments.execution import Keeping, Planned, Workers, run_all
    from pdrm.experiments.monitor import monitor
    from pdrm.experiments.store import Store
    from pdrm.files import ensure_folder
    from pdrm.learning.run_loop import RunSpec
    from pdrm.product.task_findings import inspect_task
    from pdrm.task import Task

    check_integer("seeds", 1 if seeds is None else seeds, 1, MOST_SEEDS, 5)
    check_integer("seed", seed or 0, 0, MOST, 0)
    if seed is not None and seeds is not None:
        raise ConflictingOptions("both --seed and --seeds are given", fix="leave one of them out")
    check_integer("workers", workers, 1, MOST_WORKERS, 2)
    if log is not None:
        from pdrm.experiments.sinks import check_sink

        check_sink(log)
    task = Task(domain, machine, success=tuple(success or ()))
    given = {name: value for name, value in settings.items() if value is not None}
    chosen = _agent(task, agent, k, steps, given, set_)
    runs = [
        Planned(RunSpec(task, chosen, one), f"seed {one}")
        for one in ([seed] if seed is not None else range(seeds or 1))
    ]
    runs[0].spec.check()
    print_findings(inspect_task(task))
    store = Store(ensure_folder(output))
    before = {run.spec.id for run in runs if store.done(run.spec)}
    if chosen.deep and not as_json and len(before) < len(runs):
        typer.echo(
            f"compiling `{chosen.name}` for {task.name}; the first test comes after that", err=True
        )
    try:
        with monitor(runs, store, workers, quiet=as_json):
            failures = run_all(
                runs, store, Workers(count=workers), Keeping(largest_policy=None, log=log)
            )
    except KeyboardInterrupt:
        kept = any(store.kept(run.spec) for run in runs)
        learnt = f"what was learnt is in {output}, and the same command goes on from there"
        typer.echo(
            f"stopped; {learnt}"
            if kept
            else "stopped before the first test: there is nothing to keep",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    for failure in failures:
        typer.echo(failure.why, err=True)
    if failures:
        raise typer.Exit(2)
    trained = [store.run(run.spec) for run in runs]
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


def _agent(
    task: Task,
    name: str | None,
    k: str | None,
    steps: int | None,
    settings: dict[str, Any],
    words: list[str] | None,
) -> Agent:
    """The agent that is meant; options that it does not use are refused."""
    from pdrm.learning.agents import agent_for

    called = name or (DEFAULT_DEEP if task.continuous else DEFAULT_TABLE)
    kind = kind_of(called)
    known = {field.name for field in fields(kind)}
    given = {**settings, **({} if steps is None else {"total_timesteps": steps})}
    for setting in given:
        if setting not in known or (
            kind.deep and setting != "total_timesteps" and setting in INSTEAD
        ):
            option = "--steps" if setting == "total_timesteps" else f"--{setting.replace('_', '-')}"
            fix = (
                INSTEAD.get(setting, f"--set {setting}=…")
                if kind.deep
                else "leave it out, or choose another --agent"
            )
            raise UnknownSetting(f"agent `{called}` does not use {option}", fix=fix)
    given |= dict(parse_setting(kind, word) for word in words or [])
    return agent_for(task, called, given | ({} if k is None else {"k": k}))


def _options() -> list[inspect.Parameter]:
    """One option per setting of the tabular agents, from the fields and their docstrings."""
    found: dict[str, inspect.Parameter] = {}
    for kind in TABULAR:
        for field in fields(kind):
            if field.name == "k" or field.name in found:
                continue
            words = describe_settings(kind)[field.name].replace("None: ", "if not given, ")
            users = [
                other.name for other in TABULAR if field.name in {one.name for one in fields(other)}
            ]
            some = "" if len(users) == len(TABULAR) else f" (for {', '.join(users)})"
            shown = getattr(field.default, "value", field.default)
            default = "" if shown is None else f" [the paper's, else {shown}]"
            kinds: dict[str, type] = {"str": str, "Counterfactuals": str, "bool": bool}
            value: Any = kinds.get(str(field.type), float if "float" in str(field.type) else int)
            annotation = Annotated[
                value | None,
                typer.Option(
                    help=f"{words.rstrip('. ')}{some}.{default}",
                    rich_help_panel=HOW_LONG if field.name in LIMITS else TABLES,
                ),
            ]
            keyword = inspect.Parameter.KEYWORD_ONLY
            found[field.name] = inspect.Parameter(
                field.name, keyword, default=None, annotation=annotation
            )
    return list(found.values())


_SIGNATURE = inspect.signature(train, eval_str=True)
train.__signature__ = _SIGNATURE.replace(  # type: ignore[attr-defined]
    parameters=[
        *(
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in list(_SIGNATURE.parameters.values())[:-1]
        ),
        *_options(),
    ]
)


def _summary(run: Run) -> dict[str, Any]:
    """A run for programs."""
    result, curve = run.result, run.curve
    learnt = {run.spec.agent.unit: int(curve.at[-1]), "final_return": curve.final_return}
    learnt |= {name: result[name] for name in ("rows", "cut_off") if name in result}
    own = {"folder": str(run.folder), "id": run.spec.id, "seed": run.spec.seed}
    return {**own, **learnt, "sha256": result["policy_sha256"]}


def _print(run: Run, *, done_before: bool) -> None:
    """A run for people."""
    from pdrm.learning.curve import format_return

    found, unit = _summary(run), run.spec.agent.unit
    rows = f", {found['rows']:,} table rows" if "rows" in found else ""
    before = " (done before)" if done_before else ""
    said = f"seed {run.spec.seed}: {found[unit]:,} {unit}, final test return {format_return(found['final_return'])}{rows}"
    typer.echo(f"{said}{before} -> {run.folder}")
    if found.get("cut_off"):
        share = f"{found['cut_off']:.0%}" if found["cut_off"] >= 0.005 else "under 1%"
        said = f"  {share} of the training episodes were cut off by a full stack"
        typer.echo(f"{said}\n  fix: {_more_depth(run)}", err=True)
    if (warning := run.warning) is not None:
        typer.echo(f"  {warning.message}\n  fix: {warning.shell_fix}", err=True)


def _more_depth(run: Run) -> str:
    """What to set so that stacks have more room."""
    from pdrm.learning.agents import Deep
    from pdrm.learning.deep.deep_learner import needed_depth

    agent = run.spec.agent
    assert isinstance(agent, Deep)
    needed, now = needed_depth(run.spec.task, agent), agent.depth or 0
    return f"--set depth={needed if needed > now else 2 * (now or needed)}"


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
    kinds = list(AGENTS.values()) if name is None else [kind_of(name)]
    if as_json:
        print_json({kind.name: describe_settings(kind) for kind in kinds})
        return
    for kind in kinds:
        typer.echo(
            f"{kind.name:<9}{(kind.__doc__ or '').partition('.')[0].strip().replace(chr(10), ' ')}"
        )
    if name is None:
        next_command("pdrm agents cprm")
        return
    for field in fields(kinds[0]):
        default = (
            ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        )
        typer.echo(
            f"  {field.name + '=' + str(default):<32}{describe_settings(kinds[0])[field.name]}"
        )
    next_command(
        f"pdrm train {'echo' if kinds[0].deep else 'letter'} --agent {name} --set {field.name}=…"
    )


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

    check_integer("episodes", episodes, 1, MOST_TEST_EPISODES, 100)
    check_integer("seed", seed, 0, MOST, 0)
    found = [Run.load(run) for run in name_runs(runs)]
    for run in found:
        if not run.done:
            typer.echo(
                f"{run.folder} is not finished: repeat the command that started it to resume",
                err=True,
            )
    records = [run.evaluate(episodes, seed) for run in found]
    known: dict[tuple[Task, float], float | None] = {}
    for run, record in zip(found, records, strict=True):
        task = run.spec.task, record["discount"]
        if task not in known:
            known[task] = run.optimal_value()
        record["optimal_value"] = known[task]
    if as_json:
        print_json(records[0] if len(records) == 1 else records)
        return
    for run, record in zip(found, records, strict=True):
        if len(found) > 1:
            typer.echo(f"{run.folder}:")
        _print_evaluation(run.spec.task, record)
    next_command(
        f"pdrm {'film' if found[0].spec.task.continuous else 'replay'} {{}}", found[0].folder
    )


def _print_evaluation(task: Task, record: Evaluation) -> None:
    """What episodes paid, how sure that is, what would be optimal, and how they ended."""
    typer.echo(f"{record['episodes']} episodes of {record['domain']}: {record.format_means()}")
    if (error := _standard_error(record["returns"])) > 0:
        typer.echo(
            f"  standard error of the mean return: ± {error:.3g} (starts and moves are drawn at random)"
        )
    if record["optimal_value"] is not None:
        typer.echo(f"  {_describe_optimum(task, record)}")
    for line in record.lines():
        typer.echo(f"  {line}")


def _standard_error(returns: Sequence[float]) -> float:
    """Of the mean of a sample: 0 where all episodes pay the same, or there is one only."""
    from statistics import stdev

    return stdev(returns) / len(returns) ** 0.5 if len(returns) > 1 else 0.0


def _describe_optimum(task: Task, record: Mapping[str, Any]) -> str:
    """The optimal value beside what was achieved, and the command that finds it, where the task is in the catalogue."""
    own = "" if record["discount"] == task.discount else f" --discount {record['discount']:g}"
    named = task.catalogued and task.text is None
    source = f"pdrm solve {task.name}{own}" if named else "as pdrm solve finds it"
    lucky = (
        record["mean_discounted_return"] is not None
        and record["mean_discounted_return"] > record["optimal_value"]
    )
    above = (
        "; the mean of a sample can be above it"
        if lucky and _standard_error(record["returns"]) > 0
        else ""
    )
    value = f"the optimal value, discounted as much, is {record['optimal_value']:.6g}"
    return f"{value} ({source}; without a step limit{above})"


ORDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "name": lambda row: row["name"],
    "size": lambda row: (row["states"] is None, row["states"] or 0),
}
"""What `pdrm domains --sort` goes by; a continuous domain is larger than any other."""


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
    from pdrm.domains.paper_domains import names
    from pdrm.domains.water import SIDES
    from pdrm.files import means_name

    known = [*names(), *SIDES]
    if name is not None and name not in known and means_name(name, known):
        raise UnknownDomain(f"there is no domain `{name}`", fix=did_you_mean(name, known))
    if sort is not None and sort not in ORDERS:
        raise UnknownChoice(
            f"--sort takes {' or '.join(ORDERS)}, not `{sort}`", fix=did_you_mean(sort, ORDERS)
        )
    one = None if name is None or name in SIDES else find_domain(name)
    rows = (
        [_describe_domain(word) for word in known if name in (None, word)]
        if one is None
        else [_summarise(one)]
    )
    if sort is not None:
        rows.sort(key=ORDERS[sort])
    if as_json:
        print_json(
            rows if name is None else {**rows[0], **({} if one is None else _list_states(one))}
        )
        return
    for row in rows:
        size = (
            "    continuous"
            if row["states"] is None
            else f"{row['states']:>7} state{'s' if row['states'] != 1 else ' '}"
        )
        limit = f"limit {row['step_limit']:<6}"
        machine = f"machine {row['machine']}" if row["machine"] else "no machine of its own"
        typer.echo(f"{row['name']:<13}{size}  {len(row['actions'])} actions  {limit} {machine}")
    if one is not None:
        _print_states(one)
    own = "" if name is None or rows[0]["machine"] else " --machine task.pdrm"
    next_command(f"pdrm train {{}}{own}", name or "letter")


def _print_states(domain: FiniteDomain) -> None:
    """The map, and the states with their numbers."""
    from pdrm.domains.pictures import draw_text

    facts = _list_states(domain)
    if domain.picture is not None:
        typer.echo(f"\n{draw_text(domain, facts['starts'][0]['state'])}")
    typer.echo(
        f"\nactions: {' '.join(domain.actions)}; events: {' '.join(domain.events) or '(none)'}"
    )
    for start in facts["starts"][:SHOWN_STATES]:
        label = "" if start["label"] is None else f", emits {label_text(frozenset(start['label']))}"
        typer.echo(
            f"starts in state {start['state']}, {domain.describe(start['state'])} (chance {start['chance']:.3g}){label}"
        )
    wide = max(map(len, domain.state_names[:SHOWN_STATES]))
    typer.echo("states, and the events that a step into each can emit:")
    for number, state in enumerate(facts["state_list"][:SHOWN_STATES]):
        ends = "  (ends the episode)" if state["terminal"] else ""
        typer.echo(
            f"{number:>6}  {state['name']:<{wide}}  {' '.join(state['emits'])}{ends}".rstrip()
        )
    if domain.states > SHOWN_STATES:
        typer.echo(f"     …  ({domain.states:,} states; --json lists them all)")


def _list_states(domain: FiniteDomain) -> dict[str, Any]:
    """The starts and the states for programs."""
    arrays = domain.arrays
    emits = [set[str]() for _ in range(domain.states)]
    for state, label in {
        *zip(
            arrays.next[arrays.probability > 0].tolist(),
            arrays.label[arrays.probability > 0].tolist(),
            strict=True,
        )
    }:
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


def _describe_domain(name: str) -> dict[str, Any]:
    """A domain of the catalogue for programs; WaterWorld, for deep agents, has no number of states."""
    from pdrm.domains.paper_domains import domain
    from pdrm.domains.water import ACTIONS, EVENTS, SIDES, WaterWorld

    if name in SIDES:
        facts = {
            "states": None,
            "actions": ACTIONS,
            "events": EVENTS,
            "step_limit": WaterWorld().step_limit,
        }
        return {"name": name, **facts, "machine": "water"}
    return _summarise(domain(name))


def _summarise(domain: FiniteDomain) -> dict[str, Any]:
    return {
        key: getattr(domain, key)
        for key in ("name", "states", "actions", "events", "step_limit", "machine")
    }
