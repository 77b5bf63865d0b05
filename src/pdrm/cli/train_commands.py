"""The commands for agents: train, agents, evaluate, replay, film."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import pdrm
from pdrm.cli.arguments import DomainName, Json, MachineName, RunFolders, Seed, complete_agent
from pdrm.cli.output import next_command, print_json

if TYPE_CHECKING:
    from pdrm.learning.run import Run


# --- `pdrm train` and `pdrm agents`


def train(
    domain: DomainName,
    agent: Annotated[
        str | None,
        Option(
            help="An agent (see `pdrm agents`). [q; ppo for WaterWorld]",
            autocompletion=complete_agent,
        ),
    ] = None,
    k: Annotated[
        str | None,
        Option(help="Stack symbols the policy sees: 0, 1, 2, … or full; deep agents also none."),
    ] = None,
    machine: MachineName = None,
    success: Annotated[
        list[str] | None,
        Option(metavar="<str>", help="A final machine state that means success (repeatable)."),
    ] = None,
    seeds: Annotated[int | None, Option(help="Number of runs, with seeds 0, 1, …. [1]")] = None,
    seed: Annotated[int, Option(help="The seed of a single run.")] = 0,
    episodes: Annotated[int | None, Option(help="Training episodes (tables).")] = None,
    total_timesteps: Annotated[
        int | None, Option("--steps", help="Training steps (networks).")
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="<str>",
            help="name=value: any setting of `pdrm agents NAME` (repeatable).",
        ),
    ] = None,
    output: Annotated[Path, Option("-o", "--output", help="The folder for runs.")] = Path("runs"),
    workers: Annotated[int, Option(help="Number of parallel runs.")] = 1,
    log: Annotated[
        str | None, Option(help="Also log to tensorboard (in the run's folder) or wandb.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train agents. After Ctrl-C, the same command resumes.

    Default settings depend on the task; the paper's domains have the paper's settings.

    Example: pdrm train maze-10x10 --agent cprm --k 1 --set learning_rate=0.1
    """
    from pdrm.learning.agents import DEFAULT_DEEP, DEFAULT_TABLE, kind_of
    from pdrm.learning.settings import parse_setting

    task = pdrm.Task(domain, machine, success=tuple(success or ()))
    name = agent or (DEFAULT_DEEP if task.continuous else DEFAULT_TABLE)
    options = {"k": k, "episodes": episodes, "total_timesteps": total_timesteps}
    settings: dict[str, Any] = {
        setting: value for setting, value in options.items() if value is not None
    }
    settings |= dict(parse_setting(kind_of(name), word) for word in set_ or ())
    trained = pdrm.train(
        task,
        name,
        seed=seed,
        seeds=seeds,
        folder=output,
        workers=workers,
        log=log,
        progress=not as_json,
        **settings,
    )
    runs = [trained] if isinstance(trained, pdrm.Run) else trained
    records = list(map(_summary, runs))
    if as_json:
        print_json(records)
        return
    for run, record in zip(runs, records, strict=True):
        typer.echo(f"{repr(run).strip('<>')} -> {run.folder}")
        _advise_depth(run, record.get("truncated_by_stack"))
    command = "film" if task.continuous else "evaluate"
    next_command(f"pdrm {command} {{}}", runs[0].folder)


def _summary(run: Run) -> dict[str, Any]:
    """A run as JSON values."""
    result = run.result
    curve = run.curve
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


def _advise_depth(run: Run, truncated: float | None) -> None:
    """Suggest a larger depth if stacks were too high for a network."""
    from pdrm.learning.agents import Deep

    agent = run.spec.agent
    if truncated and isinstance(agent, Deep):
        from pdrm.learning.deep.deep_training import needed_depth

        depth = 2 * (agent.depth or needed_depth(run.spec.task, agent))
        warning = f"{truncated:.1%} of the training episodes were truncated by a full stack"
        typer.echo(f"  {warning}\n  fix: --set depth={depth}", err=True)


def agents(
    name: Annotated[
        str | None,
        Argument(help="An agent's name. [list all agents]", autocompletion=complete_agent),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the agents, or the settings of an agent.

    Example: pdrm agents cprm
    """
    from pdrm.learning.agents import AGENTS, kind_of
    from pdrm.learning.settings import describe_settings, list_settings

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
    typer.echo(list_settings(kinds[0]))
    domain = "echo" if kinds[0].deep else "letter"
    next_command(f"pdrm train {domain} --agent {name} --set NAME=VALUE")


# --- `pdrm evaluate`: the returns of trained policies

RUNS = Path("runs")


def evaluate(
    runs: RunFolders = None,
    episodes: Annotated[int, Option(help="Episodes per run, without exploration.")] = 100,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Play trained policies and print their returns.

    With --json: a record for a single run, a list for several.

    Example: pdrm evaluate runs/letter-q-1-*
    """
    from pdrm.progress import COMPILING, say_if_slow

    loaded = [pdrm.Run.load(folder) for folder in runs or [RUNS]]
    for run in loaded:
        if not run.done:
            typer.echo(f"{run.folder} is not finished; repeat its command to resume", err=True)
    with say_if_slow(COMPILING):
        records = [run.evaluate(episodes, seed) for run in loaded]
        for run, record in zip(loaded, records, strict=True):
            record["optimal_value"] = run.optimal_value()
    if as_json:
        print_json(records if len(records) > 1 else records[0])
        return
    for run, record in zip(loaded, records, strict=True):
        optimum = record["optimal_value"]
        value = "unknown (the task is large, continuous, or stochastic with many configurations)"
        if optimum is not None:
            value = f"{optimum:.6g}, discounted by {record['discount']:g} (without a step limit)"
        typer.echo(f"{run.folder}: {repr(record).strip('<>')}\n  optimal value: {value}")
    command = "film" if loaded[0].spec.task.continuous else "replay"
    next_command(f"pdrm {command} {{}}", loaded[0].folder)


# --- `pdrm replay`: an episode of a trained policy in the terminal

KEYS = {"n": 1, "C": 1, "b": -1, "D": -1}
"""Steps by key. The codes of → and ← end in C and D."""
HINT = "n or → forward, b or ← back, q quit"


def replay(
    runs: RunFolders = None,
    seed: Seed = 0,
    plain: Annotated[bool, Option("--plain", help="Print all steps without waiting.")] = False,
) -> None:
    """Watch trained policies, with the grid and the stack.

    Keys: n or → one step forward, b or ← one step back, q to quit.

    Example: pdrm replay runs/letter-q-1-*
    """
    screens: list[str] = []
    for folder in runs or [RUNS]:
        title = f"{folder}\n\n" if runs and len(runs) > 1 else ""
        screens += [title + screen for screen in pdrm.Run.load(folder).replay(seed).screens]
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo("\n\n".join(screens))
    else:
        _show(screens)


def _show(screens: list[str]) -> None:
    """Show one screen at a time and read single keys."""
    import termios
    import tty

    before: Any = termios.tcgetattr(sys.stdin)
    number = 0
    try:
        tty.setcbreak(sys.stdin)
        while True:
            typer.echo(f"\x1b[2J\x1b[H{screens[number]}\n\n{HINT}")
            key = sys.stdin.read(1)
            if key in ("q", "", "\x04"):
                return
            number = min(max(number + KEYS.get(key, 0), 0), len(screens) - 1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


# --- `pdrm film`: an episode of a trained agent as an animated picture


def film(
    run: Annotated[Path, Argument(help="A run folder, or a folder with a single run.")] = RUNS,
    output: Annotated[
        Path, Option("-o", "--output", help="A .gif, or a .png of the last step.")
    ] = Path("film.gif"),
    seed: Seed = 0,
    every: Annotated[
        int | None,
        Option(min=1, metavar="<int>", help="Steps between pictures. [1; 10 in WaterWorld]"),
    ] = None,
) -> None:
    """Film a trained agent, with the machine's state and stack.

    Example: pdrm film runs/maze-5x5-q-1-seed0-* -o maze.gif
    """
    from pdrm.learning.replays import describe_length

    loaded = pdrm.Run.load(run)
    made = loaded.film(output, seed, every)
    typer.echo(f"wrote {output}: {describe_length(made)}, the machine in {made['end']}")
    next_command("pdrm evaluate {}", loaded.folder)
