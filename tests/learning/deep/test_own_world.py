"""A user's world in JAX: every network trains in it, its record identifies a run, and tables
refuse it."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pdrm
from pdrm.domains import JaxWorld
from pdrm.errors import BadDomainSetting, BadRunFolder, DoesNotApply
from pdrm.learning.run_folder import RunSpec
from pdrm.product.jax_env.jax_domain import make_key, user_domain

ROOM = JaxWorld(
    name="room",
    events=("near", "far"),
    reset=lambda key: jax.random.uniform(key, (2,), minval=-1, maxval=1),
    step=lambda place, action, key: jnp.clip(place + 0.5 * action, -1, 1),
    label=lambda before, action, after: jnp.stack([after.sum() < -1, after.sum() > 1]),
    observe=lambda place: place,
    observation_size=2,
    action_size=2,
    step_limit=20,
)
MOVES = jnp.array([[1.0, 1.0], [-1.0, -1.0]])
NUMBERED = replace(
    ROOM,
    action_size=0,
    actions=2,
    step=lambda place, action, key: jnp.clip(place + 0.5 * MOVES[action], -1, 1),
)
THERE_AND_BACK = """
events near far
stack # F
start go
final back
otherwise stay -0.1
go -> go   : far,  # / F #, 1
go -> back : near, F / eps, 1
"""
SMALL = {"net_arch": (8,), "n_envs": 4, "test_episodes": 3}
PPO = pdrm.PPO(total_timesteps=512, n_steps=32, batch_size=64, **SMALL)
AGENTS = [
    (ROOM, PPO),
    (NUMBERED, PPO),
    (
        NUMBERED,
        pdrm.learning.RecurrentPPO(
            total_timesteps=512, n_steps=32, batch_size=64, lstm_hidden_size=8, **SMALL
        ),
    ),
    (NUMBERED, pdrm.DQN(total_timesteps=256, **SMALL)),
    (ROOM, pdrm.learning.SAC(total_timesteps=256, batch_size=16, buffer_size=300, **SMALL)),
]


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded")
@pytest.mark.parametrize(("world", "agent"), AGENTS)
def test_networks_train_there_and_are_loaded_with_the_task(world, agent, tmp_path):
    task = pdrm.Task(world, THERE_AND_BACK)
    run = pdrm.train(task, agent, folder=tmp_path)
    assert len(run.curve) > 1
    again = pdrm.Run.load(run.folder, task=pdrm.Task(world, THERE_AND_BACK))
    assert again.evaluate(5) == run.evaluate(5)
    moments = again.episode()
    assert len(moments) == 21 or moments[-1].configuration.state == "back"
    seen = np.zeros(again.policy.product.observation_size)
    assert np.array_equal(again.policy.act(seen), run.policy.act(seen))
    with pytest.raises(BadRunFolder) as told:
        pdrm.Run.load(run.folder)
    assert "task=task" in told.value.fix
    other = replace(world, step_limit=30)
    with pytest.raises(BadRunFolder):
        pdrm.Run.load(run.folder, task=pdrm.Task(other, THERE_AND_BACK))


def test_ppo_learns_the_way_there_and_back():
    agent = pdrm.PPO(
        total_timesteps=40_960, n_envs=32, n_steps=32, batch_size=256, net_arch=(16,), ent_coef=0.01
    )
    assert pdrm.train(pdrm.Task(NUMBERED, THERE_AND_BACK), agent).success(50) > 0.95


def test_labels_rewards_and_ends_are_those_of_the_functions():
    world = replace(
        ROOM,
        reward=lambda before, action, after: after[0],
        terminated=lambda after: after[1] > 0.9,
    )
    domain = user_domain(world)
    for start, action in (
        ([0.4, 0.3], [1.0, 0.4]),
        ([0.0, 0.6], [0.0, 5.0]),
        ([-0.5, -0.5], [-1.0, 0.0]),
    ):
        stepped = domain.step(jnp.array(start), jnp.array(action), make_key(0))
        after = np.clip(np.array(start) + 0.5 * np.clip(action, -1, 1), -1, 1)
        events = {"near"} if after.sum() < -1 else set()
        events |= {"far"} if after.sum() > 1 else set()
        assert domain.labels[int(stepped.label)] == events
        assert float(stepped.reward) == pytest.approx(after[0])
        assert bool(stepped.terminated) == (after[1] > 0.9)


def test_what_needs_a_table_or_other_actions_refuses_it():
    continuous = pdrm.Task(ROOM, THERE_AND_BACK)
    numbered = pdrm.Task(NUMBERED, THERE_AND_BACK)
    for task, agent in (
        (continuous, pdrm.CpRM()),
        (continuous, pdrm.DQN()),
        (numbered, pdrm.learning.SAC()),
    ):
        with pytest.raises(DoesNotApply):
            RunSpec(task, agent, 0).check()
    with pytest.raises(DoesNotApply):
        pdrm.solve(continuous)
    with pytest.raises(BadDomainSetting):
        replace(ROOM, actions=3)


def test_a_run_is_known_by_all_of_its_world():
    ids = {
        RunSpec(pdrm.Task(world, THERE_AND_BACK), PPO, 0).id
        for world in (
            ROOM,
            NUMBERED,
            replace(ROOM, name="hall"),
            replace(ROOM, step_limit=30),
            replace(ROOM, reward=lambda before, action, after: 1.0),
        )
    }
    assert len(ids) == 5


@pytest.mark.parametrize(
    "changed",
    [
        {"label": lambda before, action, after: jnp.stack([after.sum() > 1])},
        {"observation_size": 3},
        {"step": lambda place, action, key: place.astype(jnp.int32)},
        {"step": lambda place, action, key: place if place.sum() > 0 else -place},
    ],
)
def test_functions_that_do_not_fit_together_are_refused(changed):
    with pytest.raises(BadDomainSetting):
        user_domain(replace(ROOM, **changed))
