"""Films of trained policies: animated GIFs or single pictures of episodes in WaterWorld and in
environments that render, with the machine's stack."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from PIL import Image

from pdrm.domains.environments import WaterEnv
from pdrm.domains.pictures import Pixels, draw_frame, draw_water
from pdrm.errors import DoesNotApply
from pdrm.files import write_atomically
from pdrm.learning.evaluation import play_policy
from pdrm.learning.protocol import Policy

COLOURS = 32
"""The number of colours of a film."""


def film_run(
    policy: Policy, env: Any, seed: int, every: int
) -> tuple[list[Pixels], dict[str, Any]]:
    """Pictures of an episode in an environment that renders, and the episode's summary."""
    bare = env.unwrapped
    in_water = isinstance(bare, WaterEnv)
    if not in_water and env.render_mode != "rgb_array":
        fix = 'an environment made with render_mode="rgb_array" is filmed; run.episode() has every step'
        raise DoesNotApply("the environment does not render pictures", fix=fix)
    pictures: list[Pixels] = []

    def draw(steps: int, over: bool) -> None:
        if steps % every and not over:
            return
        configuration = env.configuration
        note = [f"step {steps}", configuration.state]
        if in_water:
            picture = draw_water(bare.world, bare.state, note, configuration.stack)
        else:
            picture = draw_frame(env.render(), note, configuration.stack)
        pictures.append(picture)

    (episode,) = play_policy(env, policy, 1, seed, draw)
    return pictures, episode.facts()


def save_film(path: Path, pictures: list[Pixels], milliseconds: int) -> None:
    """Write an animated GIF, or the last picture if the path ends in .png.

    Files are written atomically.
    """
    buffer = io.BytesIO()
    if path.suffix == ".png":
        Image.fromarray(pictures[-1]).save(buffer, "PNG", optimize=True)
    else:
        first, *others = [Image.fromarray(picture).quantize(COLOURS) for picture in pictures]
        timing = {"duration": milliseconds, "loop": 0}
        first.save(buffer, "GIF", save_all=True, append_images=others, **timing)
    write_atomically(path, buffer.getvalue())
