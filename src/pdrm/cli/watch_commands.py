"""`pdrm replay` and `pdrm film`: look at an episode of a trained agent, in the terminal or as an animated picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdrm.cli.output import check_integer, name_runs, next_command
from pdrm.cli.train_commands import MOST

# --- `pdrm replay`: an episode of a trained policy in the terminal, the stack or counters next to the grid, one key forward, one back.

KEYS = {"n": 1, " ": 1, "\r": 1, "C": 1, "l": 1, "b": -1, "p": -1, "D": -1, "h": -1}
"""Forward: n, space, enter, → or l. Back: b, p, ← or h. (Arrow keys end in C and D.)"""
HINT = "n or → forward, b or ← back, q quit"


def replay(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of runs, shown one after the other. [the one in runs]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the episode.")] = 0,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print every moment at once, without keys.")
    ] = False,
) -> None:
    """Watch trained policies, the stack (or the counters) next to the grid.

    Keys: n or → one step forward, b or ← one step back, q to quit. Example: pdrm replay runs/letter-q-1-*
    """
    from pdrm.learning.run import Run

    check_integer("seed", seed, 0, MOST, 0)
    screens, named = list[str](), name_runs(runs)
    for run in named:
        found = Run.load(run)
        name = f"{run}\n\n" if len(named) > 1 else ""
        screens += [name + screen for screen in found.replay(seed).screens]
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo("\n\n".join(screens))
    else:
        _show(screens)


def _show(screens: list[str]) -> None:
    """Show one screen at a time and read keys one by one."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    number = 0
    try:
        tty.setcbreak(sys.stdin)
        while True:
            sys.stdout.write(f"\x1b[2J\x1b[H{screens[number]}\n\n{HINT}\n")
            sys.stdout.flush()
            key = sys.stdin.read(1)
            if key in ("q", "", "\x04"):
                return
            number = min(max(number + KEYS.get(key, 0), 0), len(screens) - 1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


# --- `pdrm film`: an episode of a trained agent as an animated picture, next to its machine and stack.


def film(
    run: Annotated[
        Path | None, typer.Argument(help="The folder of a run. [the one in runs]")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A .gif, or a .png of the last moment.")
    ] = Path("film.gif"),
    seed: Annotated[
        int,
        typer.Option(help="The seed of the episode (not one of those that `pdrm evaluate` plays)."),
    ] = 0,
    every: Annotated[
        int | None, typer.Option(help="Steps from picture to picture. [1; 10 in WaterWorld]")
    ] = None,
) -> None:
    """Film a trained agent, next to the machine's state and stack.

    Example: pdrm film runs/maze-5x5-q-1-seed0-* -o maze.gif
    """
    from pdrm.learning.curve import format_return
    from pdrm.learning.run import Run

    if every is not None:
        check_integer("every", every, 1, MOST, 10)
    check_integer("seed", seed, 0, MOST, 0)
    (folder,) = name_runs(None if run is None else [run])
    found = Run.load(folder)
    went, task = found.film(output, seed, every), found.spec.task
    ended = "ended" if went["end"] in task.machine.final else "stopped"
    end = f"{ended} in {went['end']}"
    typer.echo(
        f"{went['steps']:,} steps, return {format_return(went['return'])}, {end} -> {output}"
    )
    next_command("pdrm evaluate {}", found.folder)
