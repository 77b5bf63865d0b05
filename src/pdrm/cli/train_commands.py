"""`pdrm train`, `pdrm evaluate` and `pdrm domains`: learn a task, try what was learnt, see what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.deep_commands import DEEP_AGENTS, Asked, evaluate_deep, is_deep, is_water, train_deep, warn_of_unheard
from pdrm.cli.machine_commands import checked_text
from pdrm.cli.output import next_command, print_json
from pdrm.errors import BadSetting
from pdrm.learning.tabular.settings import MOST, MOST_TEST_EPISODES, Schedule

if TYPE_CHECKING:
    from pdrm.learning.tabular.run import Result, RunSpec

MOST_SEEDS = 100_000
MOST_WORKERS = 1_000
LONGEST_K = 100
"""Digits. A shorter k that is too large for a table is refused with it."""


def _else(said: str, setting: str) -> str:
    """An option's help, with the setting's value in a domain that is not the paper's."""
    value = getattr(Schedule(), setting)
    return f"{said} [the paper's, else {value:,}]"


def train(
    domain: Annotated[
        str, typer.Argument(help="A domain (see `pdrm domains`), or the file of your own: a map or .npz.")
    ],
    agent: Annotated[
        str | None,
        typer.Option(
            help="q, cprm (counterfactual), hrm (options), cra-q, cra-cql (counting automata); or deep: ppo, rppo "
            "(recurrent), dqn, sac. [q; ppo for WaterWorld]"
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("--k", help="Stack symbols the policy sees: 0, 1, 2, … or full; deep agents also none. [1]"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many runs, with seeds 0, 1, ….")] = 1,
    machine: Annotated[
        str | None, typer.Option(help="A machine file or catalogue name in place of the domain's own.")
    ] = None,
    episodes: Annotated[int | None, typer.Option(help=_else("Training episodes.", "episodes"))] = None,
    learning_rate: Annotated[float | None, typer.Option(help=_else("α", "learning_rate"))] = None,
    discount: Annotated[float | None, typer.Option(help=_else("γ", "discount"))] = None,
    epsilon: Annotated[float | None, typer.Option(help=_else("ε at first.", "epsilon"))] = None,
    epsilon_decay: Annotated[
        float | None, typer.Option(help=_else("ε is multiplied by this after every episode.", "epsilon_decay"))
    ] = None,
    epsilon_least: Annotated[
        float | None, typer.Option(help=_else("ε never falls below this.", "epsilon_least"))
    ] = None,
    step_limit: Annotated[int | None, typer.Option(help="Steps before an episode is cut off. [the domain's]")] = None,
    test_every: Annotated[int | None, typer.Option(help=_else("Episodes between tests.", "test_every"))] = None,
    test_episodes: Annotated[int | None, typer.Option(help=_else("Greedy episodes a test.", "test_episodes"))] = None,
    counterfactuals: Annotated[
        str | None, typer.Option(help="exhaustive, deduplicated or co-observed (for cprm).")
    ] = None,
    updates_per_step: Annotated[
        int | None, typer.Option(help="Counterfactual updates a step at most (for cprm, cra-cql).")
    ] = None,
    updates_per_episode: Annotated[int | None, typer.Option(help="Updates after which an episode is cut off.")] = None,
    operations_per_episode: Annotated[
        int | None, typer.Option(help="Counter operations after which an episode is cut off (for cra-q, cra-cql).")
    ] = None,
    seconds_per_episode: Annotated[
        float | None,
        typer.Option(help="Wall-clock seconds after which an episode is cut off; results then depend on the computer."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps (for deep agents).")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="name=value: a setting of a deep agent, by Stable-Baselines3's name; may be repeated."
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(help="Symbols that a stack has room for (for deep agents). [what the task can need, 32 to 1024]"),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for runs.")] = Path("runs"),
    workers: Annotated[int, typer.Option(help="Runs at a time.")] = 1,
    log: Annotated[str | None, typer.Option(help="Also log to tensorboard (in the run's folder) or wandb.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train agents; stop with Ctrl-C, go on with the same command.

    Settings that are not given are the paper's for that domain, or, in a domain of your own, those shown. Example: pdrm train maze-10x10 --agent cprm --k 1 --seeds 5

    Your own domain and task: pdrm train my_map.txt --machine my.pdrm. Deep agents: pdrm train echo --agent ppo --steps 50000
    """
    given: dict[str, Any] = {
        "episodes": episodes,
        "learning_rate": learning_rate,
        "discount": discount,
        "epsilon": epsilon,
        "epsilon_decay": epsilon_decay,
        "epsilon_least": epsilon_least,
        "step_limit": step_limit,
        "test_every": test_every,
        "test_episodes": test_episodes,
        "counterfactuals": counterfactuals,
        "updates_per_step": updates_per_step,
        "updates_per_episode": updates_per_episode,
        "operations_per_episode": operations_per_episode,
        "seconds_per_episode": seconds_per_episode,
    }
    _whole("seeds", seeds, 1, MOST_SEEDS, 5)
    _whole("workers", workers, 1, MOST_WORKERS, 2)
    chosen = {name: value for name, value in given.items() if value is not None}
    agent = agent or ("ppo" if is_water(domain) else "q")
    if agent in DEEP_AGENTS:
        _none_of(agent, list(chosen))
        train_deep(Asked(domain, agent, k, seeds, machine, steps, set_ or [], log, depth), output, as_json=as_json)
        return
    _none_of(agent, [name for name, value in (("steps", steps), ("set", set_), ("depth", depth)) if value])
    seen = k if k is not None else "full" if agent.startswith("cra-") else "1"
    specs = _specs(domain, agent, seen, machine, chosen, seeds)
    _train_tables(specs, output, workers, log, as_json=as_json)


def _whole(option: str, value: int, least: int, most: int, example: int) -> None:
    """Refuse a number out of its range."""
    if not least <= value <= most:
        said = f"--{option} takes a whole number from {least} to {most:,}"
        raise BadSetting(said, fix=f"--{option} {example}")


def _train_tables(specs: list[RunSpec], output: Path, workers: int, log: str | None, *, as_json: bool) -> None:
    """Train tabular agents, each in a folder of its own."""
    from pdrm.cli.display import run_all

    folders = [output / _called(spec) for spec in specs]
    try:
        results = run_all(specs, folders, workers, log=log, quiet=as_json)
    except KeyboardInterrupt:
        typer.echo(f"stopped; what was learnt is in {output}, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json([_summary(result, folder) for result, folder in zip(results, folders, strict=True)])
    else:
        next_command(f"pdrm evaluate {folders[0]}")


def _called(spec: RunSpec) -> str:
    """The name of a run's folder."""
    domain = re.sub(r"[^\w.-]+", "-", spec.domain)
    return f"{domain}-{spec.agent}-{spec.k}-seed{spec.seed}-{spec.id}"


INSTEAD = {
    "episodes": "--steps 100000",
    "discount": "--set gamma=0.99",
    "learning_rate": "--set learning_rate=3e-4",
    "epsilon": "--set exploration_initial_eps=1 (dqn)",
    "epsilon_least": "--set exploration_final_eps=0.05 (dqn)",
    "counterfactuals": "--set counterfactuals=2 (dqn, sac)",
}
"""What says to a deep agent what an option says to a tabular one."""


def _none_of(agent: str, given: list[str]) -> None:
    """Refuse options that say nothing to an agent."""
    for name in given:
        option = f"--{name.replace('_', '-')}"
        fix = INSTEAD.get(name, "leave it out") if agent in DEEP_AGENTS else "leave it out, or choose --agent ppo"
        raise BadSetting(f"{option} says nothing to agent `{agent}`", fix=fix)


def _specs(domain: str, agent: str, k: str, machine: str | None, given: dict[str, Any], seeds: int) -> list[RunSpec]:
    from pdrm.domains.domain_files import find_domain
    from pdrm.domains.paper_domains import names
    from pdrm.learning.tabular.agents import settings_for
    from pdrm.learning.tabular.run import RunSpec

    if is_water(domain):
        raise BadSetting(f"agent `{agent}` learns a table, and {domain} is continuous", fix="--agent ppo")
    where, listed = find_domain(domain), domain in names()
    if k != "full" and not (k.isdecimal() and len(k) < LONGEST_K):
        raise BadSetting(f"k is `{k}`, but must be a whole number from 0 on, or full", fix="--k 1")
    text = None if machine is None else checked_text(machine)
    settings = settings_for(domain if listed else "", agent, given)
    own = None if listed else where
    specs = [RunSpec(where.name, agent, k, settings, seed, text, own) for seed in range(seeds)]
    first = specs[0].training()  # so that what is wrong is said before anything is made
    warn_of_unheard(first.machine, where.name, where.labels)
    return specs


def _summary(result: Result, folder: Path) -> dict[str, Any]:
    last = result.tests[-1]
    return {
        "folder": str(folder),
        "seed": result.spec.seed,
        "episodes": last.episode,
        "final_return": float(last.returns.mean()),
        "rows": result.rows,
        "sha256": result.sha256,
    }


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    episodes: Annotated[int, typer.Option(help="Greedy episodes.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the episodes.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Play a trained policy and report its returns.

    Example: pdrm evaluate runs/letter-q-1-seed0-…
    """
    from pdrm.learning.run_folder import SPEC
    from pdrm.learning.tabular.evaluation import Trained
    from pdrm.learning.tabular.run import is_done

    _whole("episodes", episodes, 1, MOST_TEST_EPISODES, 100)
    _whole("seed", seed, 0, MOST, 0)
    deep = is_deep(run)
    if not deep and (run / SPEC).exists() and not is_done(run):
        typer.echo("this run is not finished: the command that began it goes on with it", err=True)
    records = evaluate_deep(run, episodes, seed) if deep else [Trained.load(run).evaluate(episodes, seed)]
    if as_json:
        print_json(records if deep else records[0])
        return
    for record in records:
        which = f", policy of seed {record['seed']}" if deep else ""
        typer.echo(
            f"{record['episodes']} episodes of {record['domain']}{which}: mean return {record['mean_return']:g}, mean length {record['mean_steps']:g}"
        )
        for end, count in record["ends"].items():
            typer.echo(f"  ended in {end}: {count}")
    if not deep:
        next_command(f"pdrm replay {run}")


def domains(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """List the domains, their sizes and the machines they go with.

    Example: pdrm domains
    """
    rows = _finite() + _continuous()
    if as_json:
        print_json(rows)
        return
    for row in rows:
        size = "    continuous" if row["states"] is None else f"{row['states']:>7} states"
        limit = f"limit {row['step_limit']:<6}"
        typer.echo(f"{row['name']:<13}{size}  {len(row['actions'])} actions  {limit} machine {row['machine']}")
    next_command("pdrm train letter")


def _finite() -> list[dict[str, Any]]:
    from pdrm.domains.paper_domains import domain, names

    return [
        {
            "name": one.name,
            "states": one.states,
            "actions": one.actions,
            "events": one.events,
            "step_limit": one.step_limit,
            "machine": one.machine,
        }
        for one in map(domain, names())
    ]


def _continuous() -> list[dict[str, Any]]:
    """WaterWorld, for deep agents."""
    from pdrm.domains.water import ACTIONS, EVENTS, SIDES, WaterWorld

    facts = {"states": None, "actions": ACTIONS, "events": EVENTS, "step_limit": WaterWorld().step_limit}
    return [{"name": name, **facts, "machine": "water"} for name in SIDES]
