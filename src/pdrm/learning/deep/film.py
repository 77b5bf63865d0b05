"""Films of a trained policy as an animated GIF or one picture; and the episodes of WaterWorld, the machine's stack beside it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from pdrm.domains.pictures import Pixels, draw_water
from pdrm.domains.water import WaterWorld
from pdrm.domains.water_env import WaterEnv
from pdrm.files import write_atomically
from pdrm.product.observation import Observing
from pdrm.product.views import view_of
from pdrm.product.wrapping import MachineEnv
from pdrm.task import MachineLike, Task

if TYPE_CHECKING:
    from pdrm.learning.deep.deep_policy import (
        DeepPolicy,
    )  # which needs JAX, as drawing WaterWorld does not


class WaterTask(MachineEnv):
    """The product of WaterWorld and a machine, its observation one vector.

    >>> env = WaterTask("water-17")
    >>> env.reset(seed=0)[0].shape, env.render().shape
    ((51,), (500, 660, 3))
    """

    def __init__(
        self,
        world: WaterWorld | str,
        machine: MachineLike = "water",
        k: int | str = 1,
        **settings: Any,
    ) -> None:
        super().__init__(
            WaterEnv(world, "rgb_array", **settings),
            machine,
            "info",
            Observing(view_of(k), flatten=True),
        )

    def render(self) -> Pixels:
        """The box, the machine's state and its stack."""
        env: Any = self.env.unwrapped
        if env.water is None:
            env.reset(seed=0)
        configuration = self.configuration
        return draw_water(
            env.world, env.water, [f"step {env.steps}", configuration.state], configuration.stack
        )


def film_episode(
    policy: DeepPolicy, task: WaterTask, seed: int = 0, every: int = 10
) -> tuple[list[Pixels], dict[str, Any]]:
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


def film_run(policy: Any, task: Task, seed: int, every: int) -> tuple[list[Pixels], dict[str, Any]]:
    """An episode of a policy that was learnt in WaterWorld."""
    k, continuous = policy.product.k, policy.product.domain.actions == 0
    return film_episode(
        policy, WaterTask(task.name, task.pushdown, k, continuous=continuous), seed, every
    )


def save_film(
    path: Path, pictures: list[Pixels], *, milliseconds: int = 60, colours: int = 32
) -> None:
    """Write an animated GIF, whole or not at all."""
    frames = [Image.fromarray(picture).quantize(colours) for picture in pictures]
    buffer = io.BytesIO()
    frames[0].save(
        buffer, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0
    )
    write_atomically(path, buffer.getvalue())


def save_picture(path: Path, picture: Pixels) -> None:
    """Write one picture as PNG."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    write_atomically(path, buffer.getvalue())
