"""`pdrm evaluate`, `pdrm replay` and `pdrm film`: the returns of trained policies, and an episode in the terminal or as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import pdrm
from pdrm.cli.arguments import Json, RunFolders, Seed
from pdrm.cli.output import next_command, print_json

if TYPE_CHECKING:
    from pdrm.learning.evaluation import Evaluation
    from pdrm.learning.run import Run

RUNS = Path("runs")


def evaluate(
    runs: RunFolders = None,
    episodes: Annotated[int, Option(help="Episodes without exploration, of each run.")] = 100,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Play trained policies and report their returns.

    With --json: one record for one run, a list for several. Example: pdrm evaluate runs/letter-q-1-*
    """
    from pdrm.progress import COMPILING, say_if_slow

    found = [pdrm.Run.load(folder) for folder in runs or [RUNS]]
    for run in found:
        if not run.done:
            said = "is not finished: repeat the command that started it to resume"
            typer.echo(f"{run.folder} {said}", err=True)
    with say_if_slow(COMPILING):
        records = [run.evaluate(episodes, seed) for run in found]
        for run, record in zip(found, records, strict=True):
            record["optimal_value"] = run.optimal_value()
    if as_json:
        print_json(records if len(records) > 1 else records[0])
        return
    for run, record in zip(found, records, strict=True):
        if len(found) > 1:
            typer.echo(f"{run.folder}:")
        _print_evaluation(record)
    watch = "film" if found[0].spec.task.continuous else "replay"
    next_command(f"pdrm {watch} {{}}", found[0].folder)


def _print_evaluation(record: Evaluation) -> None:
    """The returns, their standard error, the optimal value, and how the episodes ended."""
    typer.echo(f"{record['episodes']} episodes of {record['domain']}: {record.format_means()}")
    returns, optimum = record["returns"], record["optimal_value"]
    error = stdev(returns) / len(returns) ** 0.5 if len(returns) > 1 else 0.0
    if error > 0:
        said = "starts and moves are drawn at random"
        typer.echo(f"  standard error of the mean return: ± {error:.3g} ({said})")
    value = "not known: the domain is not finite, is random, or is large"
    if optimum is not None:
        value = f"{optimum:.6g}, discounted by {record['discount']:g} (without a step limit)"
    for line in (f"optimal value: {value}", *record.lines()):
        typer.echo(f"  {line}")


# --- `pdrm replay`: an episode of a trained policy in the terminal, the stack or counters next to the grid, one key forward, one back.

KEYS = {"n": 1, " ": 1, "\r": 1, "C": 1, "l": 1, "b": -1, "p": -1, "D": -1, "h": -1}
"""Forward: n, space, enter, → or l. Back: b, p, ← or h. (Arrow keys end in C and D.)"""
HINT = "n or → forward, b or ← back, q quit"


def replay(
    runs: RunFolders = None,
    seed: Seed = 0,
    plain: Annotated[bool, Option("--plain", help="Print every moment, without keys.")] = False,
) -> None:
    """Watch trained policies, the stack (or the counters) next to the grid.

    Keys: n or → one step forward, b or ← one step back, q to quit. Example: pdrm replay runs/letter-q-1-*
    """
    screens: list[str] = []
    for folder in runs or [RUNS]:
        shown = _load(folder, seed).replay(seed).screens
        name = f"{folder}\n\n" if runs and len(runs) > 1 else ""
        screens += [name + screen for screen in shown]
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo("\n\n".join(screens))
    else:
        _show(screens)


def _load(folder: Path, seed: int) -> Run:
    """The run of which an episode with this seed is asked for."""
    from pdrm.learning.settings import check_count

    check_count("seed", seed, 0)
    return pdrm.Run.load(folder)


def _show(screens: list[str]) -> None:
    """Show one screen at a time and read keys one by one."""
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


# --- `pdrm film`: an episode of a trained agent as an animated picture, next to its machine and stack.


def film(
    run: Annotated[Path, Argument(help="The folder of a run, or of one that is in it.")] = RUNS,
    output: Annotated[
        Path, Option("-o", "--output", help="A .gif, or a .png of the last moment.")
    ] = Path("film.gif"),
    seed: Seed = 0,
    every: Annotated[
        int | None, Option(min=1, help="Steps from picture to picture. [1; 10 in WaterWorld]")
    ] = None,
) -> None:
    """Film a trained agent, next to the machine's state and stack.

    Example: pdrm film runs/maze-5x5-q-1-seed0-* -o maze.gif
    """
    from pdrm.learning.evaluation import format_return

    found = _load(run, seed)
    went = found.film(output, seed, every)
    end = "ended" if went["end"] in found.spec.task.machine.final else "stopped"
    paid = format_return(went["return"])
    typer.echo(f"{went['steps']:,} steps, return {paid}, {end} in {went['end']} -> {output}")
    next_command("pdrm evaluate {}", found.folder)
