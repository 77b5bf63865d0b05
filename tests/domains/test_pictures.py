"""What environments draw: the agent where it stands, what differs looks different, the same state gives the same bytes."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from pdrm.domains import FiniteEnv, domain, from_gymnasium, names
from pdrm.domains.finite_domain import WALL
from pdrm.domains.pictures import AGENT, EVEN, MARGIN, STONE, draw_state, draw_text, draw_water
from pdrm.domains.water import WaterWorld
from pdrm.domains.water_env import WaterEnv


def has(image, colour):
    """Whether some pixel has exactly this colour."""
    return bool((image == colour).all(axis=-1).any())


def cell_of(image, picture, cell):
    """The part of an image that shows a cell of a grid without a caption."""
    rows, columns = picture.size
    side = (image.shape[0] - 2 * MARGIN - 1) // rows
    left = (image.shape[1] - columns * side - 1) // 2
    top, left = MARGIN + cell[0] * side, left + cell[1] * side
    return image[top + 1 : top + side, left + 1 : left + side]


def test_the_agent_stands_in_its_cell_and_walls_are_stone():
    for name in ("letter", "maze-5x5", "maze-20x20", "deliver-8"):
        world = domain(name)
        picture = world.picture
        rows = picture.scenes[0].rows
        for state in range(0, world.states, 7):
            image = draw_state(world, state)
            for cell in {picture.cell[state], (0, 0), picture.cell[0]}:
                part = cell_of(image, picture, cell)
                assert has(part, AGENT) == (cell == picture.cell[state])
                assert has(part, STONE) == (rows[cell[0]][cell[1]] == WALL)


def test_every_state_looks_different_and_has_the_same_size():
    for name in ("letter", "maze-5x5", "echo"):
        world = domain(name)
        images = [draw_state(world, state, "step 1") for state in range(world.states)]
        assert len({image.shape for image in images}) == 1
        assert len({image.tobytes() for image in images}) == world.states
        assert all(image.dtype == np.uint8 and has(image, AGENT) for image in images)


def test_captions_and_notes_are_seen_however_long():
    multi = domain("multi-10x10")
    safe = next(state for state, scene in enumerate(multi.picture.scene) if scene == 1)
    assert draw_text(multi, safe, "step 3").endswith("\n0 of 3 treasures safe\nstep 3")
    assert draw_state(multi, 0, "a").tobytes() != draw_state(multi, 0, "b").tobytes()
    short, long = draw_state(multi, 0, "a"), draw_state(multi, 0, "a long caption " * 50)
    assert short.shape == long.shape
    assert (long[:, -MARGIN:] == long[0, 0]).all()  # nothing is written over the edge


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
    lazily = "import sys, pdrm.domains, pdrm.domains.water_env; sys.exit('PIL' in sys.modules)"
    subprocess.run([sys.executable, "-c", lazily], check=True)


def test_water_shows_the_agent_the_balls_that_are_left_and_the_stack():
    env = WaterEnv("water-17", render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        env.render()
    with pytest.warns(UserWarning, match='render_mode="rgb_array"'):
        assert WaterEnv("water-17").render() is None
    env.reset(seed=0)
    image, world, water = env.render(), WaterWorld(), env.water
    assert image.dtype == np.uint8
    assert (
        image.shape == draw_water(world, water, ["step 1", "collect"], ("ball_0", "#") * 40).shape
    )
    assert np.array_equal(image, env.render())
    x, y = (
        int(number)
        for number in np.array([water.place[0], world.side - water.place[1]]) * 480 / 17 + MARGIN
    )
    assert tuple(image[y, x]) == AGENT
    gone = water._replace(there=np.zeros(10, np.bool_))
    assert has(draw_water(world, water), EVEN)
    assert not has(draw_water(world, gone), EVEN)
    assert has(draw_water(world, gone, (), ("ball_0", "#")), EVEN)
