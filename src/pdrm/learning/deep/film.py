"""Films of trained policies as an animated GIF or one picture; and the episodes of WaterWorld, with the machine's stack."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from pdrm.domains.pictures import Pixels, draw_water
from pdrm.files import write_atomically
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import DeepPolicy

COLOURS = 32
"""Of a film."""


def film_run(
    policy: DeepPolicy, task: Task, seed: int, every: int
) -> tuple[list[Pixels], dict[str, Any]]:
    """An episode's pictures in WaterWorld, one every few steps, and how it went."""
    env: Any = policy.env(task)
    bare = env.unwrapped
    pictures: list[Pixels] = []

    def draw() -> None:
        here = env.configuration
        note = [f"step {bare.steps}", here.state]
        pictures.append(draw_water(bare.world, bare.water, note, here.stack))

    seen, _ = env.reset(seed=seed)
    policy.reset()
    draw()
    gained, over = 0.0, False
    while not over:
        seen, reward, terminated, truncated, _ = env.step(policy.act(seen))
        gained, over = gained + reward, terminated or truncated
        if bare.steps % every == 0 or over:
            draw()
    return pictures, {"return": gained, "steps": bare.steps, "end": env.configuration.state}


def save_film(path: Path, pictures: list[Pixels], milliseconds: int) -> None:
    """Write an animated GIF, or the last picture if the path ends in .png; whole or not at all."""
    buffer = io.BytesIO()
    if path.suffix == ".png":
        Image.fromarray(pictures[-1]).save(buffer, "PNG", optimize=True)
    else:
        first, *others = [Image.fromarray(picture).quantize(COLOURS) for picture in pictures]
        timing = {"duration": milliseconds, "loop": 0}
        first.save(buffer, "GIF", save_all=True, append_images=others, **timing)
    write_atomically(path, buffer.getvalue())
