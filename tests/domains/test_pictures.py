"""Pictures of environments: the agent's position, different states, and equal bytes."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from PIL import ImageColor

from pdrm.domains import FiniteEnv, domain, from_gymnasium, names
from pdrm.domains.environments import WaterEnv
from pdrm.domains.pictures import AGENT, EVEN, MARGIN, draw_state, draw_water
from pdrm.domains.water import WaterWorld


def has(image, colour):
    """Return True if some pixel has exactly this colour."""
    return bool((image == ImageColor.getrgb(colour)).all(axis=-1).any())


def test_every_state_looks_different_and_has_the_same_size():
    for name in ("letter", "maze-5x5", "echo"):
        world = domain(name)
        images = [draw_state(world, state, ["step 1"]) for state in range(world.states)]
        assert len({image.shape for image in images}) == 1
        assert len({image.tobytes() for image in images}) == world.states
        assert all(image.dtype == np.uint8 and has(image, AGENT) for image in images)


def test_environments_render_what_is_there_and_need_nothing_to_be_imported():
    for name in (*names(), from_gymnasium(gymnasium.make("Taxi-v4"), lambda *_: set())):
        env = FiniteEnv(name, render_mode="rgb_array")
        with pytest.raises(ResetNeeded):
            env.render()
        env.reset(seed=0)
        first = env.render()
        assert np.array_equal(first, env.render())
        env.step(0)
        assert first.shape == env.render().shape
        assert first.tobytes() != env.render().tobytes()  # the caption counts the steps
    lazily = "import sys, pdrm.domains, pdrm.domains.environments; sys.exit('PIL' in sys.modules)"
    subprocess.run([sys.executable, "-c", lazily], check=True)


def test_water_shows_the_agent_the_balls_that_are_left_and_the_stack():
    env = WaterEnv("water-17", render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        env.render()
    with pytest.warns(UserWarning, match='render_mode="rgb_array"'):
        assert WaterEnv("water-17").render() is None
    env.reset(seed=0)
    image, world, water = env.render(), WaterWorld(), env.state
    assert image.dtype == np.uint8
    assert (
        image.shape == draw_water(world, water, ["step 1", "collect"], ("ball_0", "#") * 40).shape
    )
    assert np.array_equal(image, env.render())
    x, y = (
        int(number)
        for number in np.array([water.position[0], world.side - water.position[1]]) * 480 / 17
        + MARGIN
    )
    assert tuple(image[y, x]) == ImageColor.getrgb(AGENT)
    gone = water._replace(present=np.zeros(10, np.bool_))
    assert has(draw_water(world, water), EVEN)
    assert not has(draw_water(world, gone), EVEN)
    assert has(draw_water(world, gone, (), ("ball_0", "#")), EVEN)
