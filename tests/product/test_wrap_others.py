"""Third-party environments, agents and checks: FrozenLake, Taxi, MiniGrid, SB3, `check_env`."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import pdrm
from pdrm.errors import TaskWarning
from tests.product.plain_q import learnt, mean_return
from tests.product.tasks import (
    COINS,
    ROUND_TRIP,
    TRIP,
    Room,
    corridor,
    shopping,
    sightseeing,
    watch_room,
)

# Turn left any number of times, step forward, then turn right as often, like undoing a nested task.
UNWIND = pdrm.parse("""
name      unwind
events    left right forward
exclusive left right forward
stack     # L
start     wind
final     even odd
otherwise stay -0.1

wind   -> wind   : left,    z / L z, 0
wind   -> unwind : forward, L / L,   0
unwind -> unwind : right,   L / eps, 1
unwind -> even   : forward, # / #,   2
unwind -> odd    : forward, L / L,  -2
""")


def turns(_before, action, _after, _info):
    return {("left", "right", "forward")[action]} if action < 3 else set()


def minigrid(**settings):
    wrappers = pytest.importorskip("minigrid.wrappers")
    return wrappers.ImgObsWrapper(gymnasium.make("MiniGrid-Empty-5x5-v0", **settings))


# Through the door with the key, to the goal, where MiniGrid would end, and back through the door.
DOOR_TWICE = pdrm.parse("""
name      door-twice
events    door goal
exclusive door goal
stack     # D
start     out
final     home
otherwise stay 0
out  -> out  : door, # / D #, 1
out  -> back : goal, D / D,   1
back -> home : door, D / eps, 1
""")


def standing_on(_before, _action, _after, info):
    """The agent's cell, which MiniGrid's observation does not contain."""
    world = info["env"].unwrapped
    cell = world.grid.get(*world.agent_pos)
    return {cell.type} if cell is not None and cell.type in ("door", "goal") else set()


def door_key(**form):
    pytest.importorskip("minigrid")
    bare = gymnasium.make("MiniGrid-DoorKey-5x5-v0", disable_env_checker=True)
    return pdrm.wrap(bare, DOOR_TWICE, standing_on, reward_weight=0, ignore_end=True, **form)


def test_the_coins_need_the_stack():
    """With k = 1, pay while the top is a coin. With k = 0, leave at random: 0.6 - 0.4 at best."""
    returns = {}
    for k in (0, 1):
        env = pdrm.wrap(corridor(disable_env_checker=True), COINS, shopping, k=k)
        returns[k] = mean_return(env, learnt(env, 50_000), range(1000, 1200))
    assert returns[1] > 0.95
    assert returns[0] < 0.5


def test_unwinding_in_minigrid():
    env = pdrm.wrap(minigrid(), UNWIND, turns, k=2)
    env.reset(seed=0)
    steps = [env.step(action) for action in (0, 0, 2, 1, 1, 2)]
    assert [step[4]["machine"]["reward"] for step in steps] == [0, 0, 0, 1, 1, 2]
    assert [step[2] for step in steps] == [False] * 5 + [True]
    assert steps[1][0]["stack"].tolist() == [2, 2]
    assert steps[1][0]["observation"].shape == (7, 7, 3)


WRAPPED = {
    "FrozenLake": lambda **form: pdrm.wrap(corridor(), COINS, shopping, **form),
    "Taxi": lambda **form: pdrm.wrap(gymnasium.make("Taxi-v4"), ROUND_TRIP, sightseeing, **form),
    "MiniGrid": lambda **form: pdrm.wrap(minigrid(), UNWIND, turns, **form),
    "MiniGrid's dictionary": door_key,
}
FORMS = [{}, {"flatten": True}, {"k": 0}, {"k": "full", "depth": 300}]


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", WRAPPED)
def test_gymnasium_finds_nothing_wrong(name, form, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # to render without a display
    env = WRAPPED[name](**form)
    # MiniGrid's wrapper cannot be created from its spec, which these two checks require.
    own = name.startswith("MiniGrid")
    check_env(env, skip_render_check=own, skip_close_check=own)


@pytest.mark.filterwarnings(
    "ignore:The minimal resolution for an image:UserWarning"
)  # MiniGrid's are 7 by 7
@pytest.mark.parametrize("form", FORMS[:3], ids=str)
@pytest.mark.parametrize("name", WRAPPED)
def test_stable_baselines_finds_nothing_wrong(name, form):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(WRAPPED[name](**form), skip_render_check=True)


@pytest.fixture
def torch_alone():
    """Torch on one thread: tests share the cores."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("torch_alone")
def test_dqn_learns_to_unwind_in_minigrid():
    sb3 = pytest.importorskip("stable_baselines3")
    env = pdrm.wrap(minigrid(max_steps=20), UNWIND, turns, flatten=True)
    agent = sb3.DQN(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        learning_starts=200,
        train_freq=2,
        batch_size=64,
        gamma=0.9,
        target_update_interval=100,
        exploration_fraction=0.5,
        policy_kwargs={"net_arch": [32]},
        seed=0,
        device="cpu",
    )
    agent.learn(3_000)
    here, _ = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        here, reward, terminated, truncated, _ = env.step(
            int(agent.predict(here, deterministic=True)[0])
        )
        total, over = total + reward, terminated or truncated
    assert total > 2, "left, forward, right, forward pays 3; random play about -1"


@pytest.mark.usefixtures("torch_alone")
def test_agents_of_stable_baselines_take_dictionaries():
    sb3 = pytest.importorskip("stable_baselines3")
    small = {
        "device": "cpu",
        "buffer_size": 100,
        "learning_starts": 10,
        "policy_kwargs": {"net_arch": [4]},
    }
    limited = gymnasium.wrappers.TimeLimit(Room(), 9)
    for form, policy in (
        ({"keys": ["direction", "body/speed"]}, "MultiInputPolicy"),
        ({"flatten": True}, "MlpPolicy"),
    ):
        env = pdrm.wrap(limited, TRIP, watch_room, **form)
        assert sb3.DQN(policy, env, **small).learn(20).num_timesteps == 20
    assert sb3.DQN("MlpPolicy", door_key(flatten=True), **small).learn(20).num_timesteps == 20


def test_an_image_too_small_for_convolutions_is_warned_of(monkeypatch):
    """Only if Stable-Baselines3 is installed, and only for dictionaries."""
    room = minigrid(disable_env_checker=True)
    large = gymnasium.wrappers.TransformObservation(
        room, np.zeros_like, gymnasium.spaces.Box(0, 255, (36, 40, 3), np.uint8)
    )
    with pytest.warns(TaskWarning, match="W0611"):
        pdrm.wrap(room, UNWIND, turns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdrm.wrap(room, UNWIND, turns, flatten=True)
        pdrm.Task(lambda: room, UNWIND, labels=turns, name="room").env()
        pdrm.wrap(large, UNWIND, turns)
        monkeypatch.setattr("pdrm.product.wrapping.find_spec", lambda _: None)
        pdrm.wrap(room, UNWIND, turns)
