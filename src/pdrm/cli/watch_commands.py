"""`pdrm replay` and `pdrm film`: look at an episode of a trained agent, in the terminal or as an animated picture."""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import check_integer, next_command
from pdrm.errors import BadSetting
from pdrm.learning.agents import MOST

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy
    from pdrm.learning.run import RunSpec
    from pdrm.learning.tabular.evaluation import Moment

# --- `pdrm replay`: an episode of a trained policy in the terminal, the stack or counters beside the grid, one key on, one back.

KEYS = {"n": 1, " ": 1, "\r": 1, "C": 1, "l": 1, "b": -1, "p": -1, "D": -1, "h": -1}
"""Forward: n, space, enter, → or l. Back: b, p, ← or h. (Arrow keys end in C and D.)"""
HINT = "n or → on, b or ← back, q quit"
TALLEST = 16
"""Stack symbols shown."""


def replay(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, shown one after the other.")],
    seed: Annotated[int, typer.Option(help="The seed of the episode.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Print every moment at once, without keys.")] = False,
) -> None:
    """Watch trained policies, the stack (or the counters) beside the grid.

    Keys: n or → one step on, b or ← one step back, q to quit. Example: pdrm replay runs/letter-q-1-seed0-…
    """
    from pdrm.learning.run import Run

    check_integer("seed", seed, 0, MOST, 0)
    screens: list[str] = []
    for run in runs:
        found = Run.load(run)
        if found.spec.task.continuous:
            raise BadSetting(f"{run} is a run in {found.spec.task.name}, which has no grid", fix=f"pdrm film {run}")
        moments = found.episode(seed)
        name = f"{run}\n\n" if len(runs) > 1 else ""
        screens += [name + screen(found.spec, moments, number) for number in range(len(moments))]
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo("\n\n".join(screens))
    else:
        _show(screens)


def screen(spec: RunSpec, moments: list[Moment], number: int) -> str:
    """One moment: the grid, and to its right the machine state and the stack, top first."""
    from pdrm.domains.pictures import draw_text
    from pdrm.learning.agents import CountingQ
    from pdrm.machines.guards import label_text
    from pdrm.machines.rewards import number_text

    moment, domain = moments[number], spec.task.finite
    action = "" if moment.action is None else domain.actions[moment.action]
    label = "none" if moment.label is None else label_text(moment.label)
    gained = sum(one.reward for one in moments[: number + 1])
    own, pays = moment.environment_reward, any(one.environment_reward for one in moments)
    left = draw_text(domain, moment.state).split("\n")
    right = [
        f"step {number} of {len(moments) - 1}   {action}",
        *([] if moment.option is None else [f"option {moment.option or 'any'}"]),
        f"label  {label}",
        f"state  {moment.configuration.state}",
        f"reward {number_text(moment.reward)}   total {gained:g}",
        *([f"  machine {number_text(moment.machine_reward)}   environment {number_text(own)}"] if pays else []),
        *(_counters if isinstance(spec.agent, CountingQ) else _stack)(moment.configuration.stack),
    ]
    width = max(len(line) for line in left) + 4
    return "\n".join(f"{one:<{width}}{other}".rstrip() for one, other in zip_longest(left, right, fillvalue=""))


def _stack(symbols: tuple[str, ...]) -> list[str]:
    more = [f"… {len(symbols) - TALLEST} more"] if len(symbols) > TALLEST else []
    return ["stack", *(f"  | {symbol} |" for symbol in symbols[:TALLEST]), *more]


def _counters(values: tuple[str, ...]) -> list[str]:
    return ["counters", *(f"  {number}: {value}" for number, value in enumerate(values, start=1))]


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


# --- `pdrm film`: an episode of a trained WaterWorld agent as an animated picture, its machine and stack beside the box.

KINDS = (".gif", ".png")


def film(
    run: Annotated[Path, typer.Argument(help="The folder of a run of WaterWorld.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A .gif, or a .png of the last moment.")] = Path(
        "water.gif"
    ),
    seed: Annotated[
        int, typer.Option(help="The seed of the episode (not one of those that `pdrm evaluate` plays).")
    ] = 0,
    every: Annotated[int, typer.Option(help="Steps from picture to picture.")] = 10,
) -> None:
    """Film a trained WaterWorld agent, the machine's state and stack beside it.

    Example: pdrm film runs/water-17-ppo-… -o water.gif
    """
    from pdrm.learning.deep.film import WaterTask, film_episode, save_film, save_picture
    from pdrm.learning.run import Run
    from pdrm.product.views import TopK

    if output.suffix not in KINDS:
        raise BadSetting(f"{output} is neither a .gif nor a .png", fix="-o water.gif")
    check_integer("every", every, 1, MOST, 10)
    check_integer("seed", seed, 0, MOST, 0)
    found = Run.load(run)
    if not found.spec.task.continuous:
        raise BadSetting(f"{run} is a run in {found.spec.task.name}; films are of WaterWorld", fix=f"pdrm replay {run}")
    acting: DeepPolicy = found.policy  # type: ignore[assignment] # a continuous task has networks
    continuous = acting.product.domain.actions == 0
    task = WaterTask(found.spec.task.name, found.spec.task.pushdown, TopK(acting.product.k), continuous=continuous)
    pictures, went = film_episode(acting, task, seed, every)
    if output.suffix == ".gif":
        save_film(output, pictures)
    else:
        save_picture(output, pictures[-1])
    typer.echo(f"{went['steps']:,} steps, return {went['return']:g}, ended in {went['end']} -> {output}")
    next_command("pdrm evaluate {}", run)
