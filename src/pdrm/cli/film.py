"""`pdrm film`: an episode of a trained WaterWorld agent as an animated picture, its machine and stack beside the box."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pdrm.cli.output import next_command
from pdrm.cli.train_deep import is_water, prepare_jax
from pdrm.errors import BadSetting
from pdrm.learning.run_folder import no_run

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
    from pdrm.learning.deep.policy import load_deep_policy
    from pdrm.learning.deep.recording import filmed, save_film, save_picture
    from pdrm.learning.deep.run import spec_of
    from pdrm.product.view import TopK
    from pdrm.product.water_task import WaterTask

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
