"""WaterWorld: motion and labels by hand, its JAX twin, and Gymnasium's check."""

import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pdrm.domains import WATER_IDS, water
from pdrm.domains.environments import WaterEnv
from pdrm.domains.water import Water, WaterWorld, advance, water_world
from pdrm.errors import BadAction, BadDomainSetting, UnknownDomain

WORLD = WaterWorld()
AWAY = np.array([[8 + 0.7 * i, 12.0] for i in range(10)], np.float32)
STILL = np.zeros((10, 2), np.float32)
NUMBERS = np.array([0.25, 0.75], np.float32)


def scene(place=(2.0, 2.0), velocity=(0.0, 0.0), balls=AWAY, there=(True,) * 10, announced=False):
    arrays = (
        np.array(place, np.float32),
        np.array(velocity, np.float32),
        np.array(balls, np.float32),
        STILL,
    )
    return Water(*arrays, np.array(there), np.bool_(announced))


def step(water_now, push=(0.0, 0.0)):
    after, label = advance(WORLD, water_now, np.array(push, np.float32), NUMBERS, np)
    return after, water.LABELS[int(label)]


def test_a_push_speeds_up_to_the_top_speed():
    now = scene()
    speeds = []
    for _ in range(5):
        now, _ = step(now, (1.0, 0.0))
        speeds.append(float(now.velocity[0]))
    assert speeds == pytest.approx([0.5, 1.0, 1.5, 1.5, 1.5])
    assert float(now.position[0]) == pytest.approx(2 + 0.1 * sum(speeds))


def test_walls_are_elastic():
    now, _ = step(scene(place=(0.35, 2.0), velocity=(-1.5, 0.0)))
    assert float(now.velocity[0]) == pytest.approx(1.5)
    assert float(now.position[0]) == pytest.approx(2 * WORLD.radius - (0.35 - 0.15))


def with_ball_at(number, place):
    balls = AWAY.copy()
    balls[number] = place
    return balls


def test_balls_2_to_9_vanish_and_emit_their_parity():
    for number, event in [(2, "even"), (3, "odd"), (8, "even"), (9, "odd")]:
        now, label = step(scene(balls=with_ball_at(number, (2.5, 2.0))))
        assert label == {event}
        assert not now.present[number]
        assert now.present.sum() == 9
        assert step(now)[1] == frozenset()


def test_balls_0_and_1_jump():
    for number in [0, 1]:
        now, label = step(scene(balls=with_ball_at(number, (2.5, 2.0))))
        assert label == {f"ball_{number}"}
        assert now.present.all()
        assert now.ball_position[number] == pytest.approx(WORLD.radius + WORLD.inner * NUMBERS)


def test_all_found_is_said_once_in_the_next_step():
    there = (True, True, True) + (False,) * 7
    now, label = step(scene(balls=with_ball_at(2, (2.5, 2.0)), there=there))
    assert label == {"even"}
    labels = []
    for _ in range(3):
        now, label = step(now)
        labels.append(label)
    assert labels == [{"A_F"}, frozenset(), frozenset()]


def test_gymnasium_is_content():
    for name in WATER_IDS:
        for continuous in [False, True]:
            world = replace(water_world(WATER_IDS[name]), continuous=continuous)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings(
                    "ignore", message=".*not able to test alternative render modes.*"
                )
                env = gymnasium.make(name, render_mode="rgb_array", world=world)
                check_env(env.unwrapped)
            assert env.unwrapped.world.name.startswith(WATER_IDS[name])


def test_the_limit_truncates_and_nothing_terminates():
    env = WaterEnv(WaterWorld(step_limit=30))
    env.reset(seed=0)
    flags = [env.step(0)[2:4] for _ in range(30)]
    assert flags == [(False, False)] * 29 + [(False, True)]


def test_seeds_are_respected():
    def walk(seed):
        env = WaterEnv("water-20")
        first, _ = env.reset(seed=seed)
        return [first.tolist(), *(env.step(action)[0].tolist() for action in (0, 1, 2, 3, 4))]

    assert walk(1) == walk(1) != walk(2)


def test_wrong_requests_are_refused():
    env = WaterEnv("water-17")
    env.reset(seed=0)
    with pytest.raises(BadAction, match="action 7"):
        env.step(7)
    with pytest.raises(UnknownDomain, match="water-18"):
        water_world("water-18")
    with pytest.raises(BadDomainSetting, match="ansi"):
        WaterEnv("water-17", render_mode="ansi")
