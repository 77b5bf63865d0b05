"""`pdrm replay` and `pdrm film`: look at an episode of a trained agent, in the terminal or as an animated picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.deep_commands import is_deep, is_water, prepare_jax
from pdrm.cli.output import next_command
from pdrm.errors import BadSetting
from pdrm.learning.run_folder import no_run

if TYPE_CHECKING:
    from pdrm.learning.tabular.evaluation import Moment, Trained

# --- `pdrm replay`: an episode of a trained policy in the terminal, the stack or counters beside the grid, one key on, one back.

KEYS = {"n": 1, " ": 1, "\r": 1, "C": 1, "l": 1, "b": -1, "p": -1, "D": -1, "h": -1}
"""Forward: n, space, enter, → or l. Back: b, p, ← or h. (Arrow keys end in C and D.)"""
HINT = "n or → on, b or ← back, q quit"
TALLEST = 16
"""Stack symbols shown."""


def replay(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    seed: Annotated[int, typer.Option(help="Of the episode.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Print every moment at once, without keys.")] = False,
) -> None:
    """Watch a trained policy, the stack (or the counters) beside the grid.

    Keys: n or → one step on, b or ← one step back, q to quit. Example: pdrm replay runs/letter-q-1-seed0-…
    """
    from pdrm.learning.tabular.evaluation import Trained

    if seed < 0:
        raise BadSetting("--seed takes a whole number from 0 on", fix="--seed 0")
    if is_deep(run):
        raise BadSetting(f"{run} is a run of a deep agent, and replay shows tables", fix=f"pdrm evaluate {run}")
    trained = Trained.load(run)
    moments = list(trained.episode(seed))
    screens = [screen(trained, moments, number) for number in range(len(moments))]
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo("\n\n".join(screens))
    else:
        _show(screens)


def screen(trained: Trained, moments: list[Moment], number: int) -> str:
    """One moment: the grid, and to its right the machine state and the stack, top first."""
    from pdrm.domains.pictures import draw_text
    from pdrm.machines.guards import label_text
    from pdrm.machines.transitions import number_text

    moment = moments[number]
    action = "" if moment.action is None else trained.domain.actions[moment.action]
    label = "none" if moment.label is None else label_text(moment.label)
    gained = sum(one.reward for one in moments[: number + 1])
    left = draw_text(trained.domain, moment.state).split("\n")
    right = [
        f"step {number} of {len(moments) - 1}   {action}",
        *([] if moment.option is None else [f"option {moment.option or 'any'}"]),
        f"label  {label}",
        f"state  {moment.configuration.state}",
        f"reward {number_text(moment.reward)}   total {gained:g}",
        *(_counters if trained.counts else _stack)(moment.configuration.stack),
    ]
    width = max(len(line) for line in left) + 4
    height = max(len(left), len(right))
    padded = zip(left + [""] * (height - len(left)), right + [""] * (height - len(right)), strict=True)
    return "\n".join(f"{one:<{width}}{other}".rstrip() for one, other in padded)


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
    seed: Annotated[int, typer.Option(help="Of the episode (not one of those that `pdrm evaluate` plays).")] = 0,
    policy: Annotated[int, typer.Option(help="The seed whose policy acts, of those that were trained.")] = 0,
    every: Annotated[int, typer.Option(help="Steps from picture to picture.")] = 10,
) -> None:
    """Film a trained WaterWorld agent, the machine's state and stack beside it.

    Example: pdrm film runs/water-17-ppo-… -o water.gif
    """
    if not run.is_dir():
        raise no_run(run, example="pdrm train water-17")
    prepare_jax()
    from pdrm.learning.deep.deep_policy import load_deep_policy
    from pdrm.learning.deep.deep_run import spec_of
    from pdrm.learning.deep.film import WaterTask, filmed, save_film, save_picture
    from pdrm.product.views import TopK

    if output.suffix not in KINDS:
        raise BadSetting(f"{output} is neither a .gif nor a .png", fix="-o water.gif")
    if every < 1 or seed < 0:
        fix = "--every 10" if every < 1 else "--seed 0"
        raise BadSetting("--every takes a whole number from 1 on, --seed from 0 on", fix=fix)
    spec = spec_of(run)
    if not is_water(spec.domain):
        raise BadSetting(f"{run} is a run in {spec.domain}; films are of WaterWorld", fix=f"pdrm evaluate {run}")
    if policy not in spec.seeds:
        raise BadSetting(f"seed {policy} was not trained", fix=f"--policy {spec.seeds[0]}")
    domain = spec.training().product.domain
    acting = load_deep_policy(run / f"policy-seed{policy}.npz", domain)
    seen = TopK(acting.product.k)
    task = WaterTask(spec.domain, spec.machine(domain), seen, continuous=domain.actions == 0)
    pictures, went = filmed(acting, task, seed, every)
    if output.suffix == ".gif":
        save_film(output, pictures)
    else:
        save_picture(output, pictures[-1])
    typer.echo(f"{went['steps']:,} steps, return {went['return']:g}, ended in {went['end']} -> {output}")
    next_command(f"pdrm evaluate {run}")
