"""Sub-environments of a vector have the same episodes as alone, in both autoreset modes."""

from functools import partial

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import pdrm
from pdrm.errors import UnknownEvent
from tests.product.tasks import COINS, TRIP, Room, corridor, shopping, watch_room

# Python 3.12 warns about forks next to other threads (pytest-xdist's), and Gymnasium forks.
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)

SEED, COUNT, STEPS = 10, 4, 250


def actions():
    """An action for each step and sub-environment."""
    return np.random.default_rng(0).integers(4, size=(STEPS, COUNT))


def seen(observation):
    return (
        int(observation["observation"]),
        int(observation["machine"]),
        observation["stack"].tolist(),
    )


def alone(index, same_step):
    """The expected steps of a sub-environment: an environment alone, reset after each episode."""
    env = pdrm.wrap(corridor(max_episode_steps=15 + index), COINS, shopping, k=2)
    observation, info = env.reset(seed=SEED + index)
    results, over = [(seen(observation), info["machine"])], False
    for action in actions()[:, index]:
        if over and not same_step:
            observation, info = env.reset()
            results.append((seen(observation), 0.0, False, False, info["machine"], None))
            over = False
            continue
        observation, reward, terminated, truncated, info = env.step(action)
        over, final = terminated or truncated, None
        if over and same_step:
            final = seen(observation), info["machine"]
            observation, info = env.reset()
        results.append((seen(observation), reward, terminated, truncated, info["machine"], final))
    return results


def at(batch, index):
    return {key: value[index] for key, value in batch.items() if not key.startswith("_")}


@pytest.mark.parametrize("autoreset", [AutoresetMode.NEXT_STEP, "SameStep"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_each_goes_its_own_way(mode, autoreset):
    same_step = autoreset == "SameStep"
    expected = [alone(index, same_step) for index in range(COUNT)]
    makers = [partial(corridor, max_episode_steps=15 + index) for index in range(COUNT)]
    envs = pdrm.product.wrap_vector(makers, COINS, shopping, mode=mode, autoreset=autoreset, k=2)
    try:
        observations, infos = envs.reset(seed=SEED)
        for index in range(COUNT):
            assert (seen(at(observations, index)), at(infos["machine"], index)) == expected[index][
                0
            ]
        for number, chosen in enumerate(actions(), start=1):
            observations, rewards, terminations, truncations, infos = envs.step(chosen)
            for index in range(COUNT):
                final = None
                if same_step and "final_obs" in infos and infos["_final_obs"][index]:
                    final = (
                        seen(infos["final_obs"][index]),
                        at(infos["final_info"]["machine"], index),
                    )
                found = (
                    seen(at(observations, index)),
                    rewards[index],
                    terminations[index],
                    truncations[index],
                    at(infos["machine"], index),
                    final,
                )
                assert found == expected[index][number], (number, index)
    finally:
        envs.close()
    ends = [[step[2:4] for step in steps[1:]] for steps in expected]
    assert all((True, False) in own and (False, True) in own for own in ends), (
        "both ways to end came up"
    )


@pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # Gymnasium warns that a worker failed, before it raises
def test_an_error_in_another_process_arrives():
    envs = pdrm.product.wrap_vector([corridor], COINS, lambda *_: {"coyn"}, mode="async")
    try:
        envs.reset()
        with pytest.raises(UnknownEvent, match=r"^error\[E0202\]: event `coyn`"):
            envs.step(np.zeros(1, int))
    finally:
        envs.close(terminate=True)


def test_resetting_some_without_autoreset():
    envs = pdrm.product.wrap_vector(
        [corridor] * 2, COINS, lambda *_: {"coin"}, autoreset="Disabled"
    )
    envs.reset(seed=0)
    envs.step(np.zeros(2, int))
    observations, _ = envs.reset(options={"reset_mask": np.array([True, False])})
    assert observations["stack"].tolist() == [[1], [2]]


def test_each_labelling_sees_its_own_environment():
    envs = pdrm.product.wrap_vector(
        [Room, Room], TRIP, watch_room, reward_weight=0, ignore_end=True
    )
    envs.reset(seed=0)
    for _ in range(3):
        observations, rewards, terminated, _, infos = envs.step(np.array([1, 0]))
    assert (rewards.tolist(), terminated.tolist()) == ([2, 0], [False, False])
    assert infos["machine"]["state"].tolist() == ["back", "out"]
    assert observations["body/speed"].shape == (2, 2)
