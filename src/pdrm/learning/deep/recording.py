"""A trained policy filmed: WaterWorld and the machine's stack, as an animated GIF or one picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from pdrm.files.whole_file import write
from pdrm.learning.deep.policy import DeepPolicy
from pdrm.product.water_task import WaterTask

Picture = npt.NDArray[np.uint8]


def filmed(policy: DeepPolicy, task: WaterTask, seed: int = 0, every: int = 10) -> tuple[list[Picture], dict[str, Any]]:
    """An episode's pictures, one every few steps, and how it went."""
    seen, _ = task.reset(seed=seed)
    policy.begin()
    pictures, gained, over, steps = [task.render()], 0.0, False, 0
    while not over:
        seen, reward, terminated, truncated, _ = task.step(policy.act(seen))
        gained, steps, over = gained + reward, steps + 1, terminated or truncated
        if steps % every == 0 or over:
            pictures.append(task.render())
    return pictures, {"return": gained, "steps": steps, "end": task.configuration.state}


def save_film(path: Path, pictures: list[Picture], *, milliseconds: int = 60, colours: int = 32) -> None:
    """Write an animated GIF, whole or not at all."""
    frames = [Image.fromarray(picture).quantize(colours) for picture in pictures]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)
    write(path, buffer.getvalue())


def save_picture(path: Path, picture: Picture) -> None:
    """Write one picture as PNG."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    write(path, buffer.getvalue())
