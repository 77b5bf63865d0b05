"""Episodes that start in situations of earlier ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.learning.agents import PPO
from pdrm.learning.deep.algorithm import MAX_RESTART_HEIGHT, begin_envs, step_envs
from pdrm.learning.deep.deep_training import product_for, resolve_for_training
from pdrm.product.jax_env.jax_domain import make_key
from pdrm.task import Task

STEPS = 400


def situations(state):
    """The state of each environment, and the machine's configuration."""
    machine = state.configuration
    columns = (state.environment, machine.state, machine.height, *np.asarray(machine.words).T)
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def walk(name, share, seed=0):
    """The situations before each step, the starts of episodes after it, and their clocks."""
    task, settings = Task(name), PPO(n_envs=16, restarts=share)
    product = product_for(task, resolve_for_training(task, settings))
    envs = begin_envs(product, settings, make_key(seed), restarts=share > 0)
    step = jax.jit(lambda envs, action: step_envs(product, envs, action, share))
    starts = {one[0] for one in situations(envs.state)}
    met, begun, rng = set(), [], np.random.default_rng(seed)
    for _ in range(STEPS):
        stepped = step(envs, jnp.asarray(rng.integers(product.domain.actions, size=16)))
        envs, over = stepped.envs, np.asarray(stepped.over)
        met |= {one for one, ended in zip(situations(stepped.last), over, strict=True) if not ended}
        begun += [
            (one, clock)
            for one, clock, ended in zip(
                situations(envs.state), np.asarray(envs.state.clock), over, strict=True
            )
            if ended
        ]
    return met, begun, starts, product


@pytest.mark.parametrize("name", ["maze-5x5", "letter"])
def test_episodes_begin_in_situations_that_were_met_or_at_a_start(name):
    met, begun, _, product = walk(name, 0.5)
    fresh = {
        situations(jax.tree.map(lambda part: part[None], product.begin(make_key(seed)).state))[0]
        for seed in range(20)
    }
    elsewhere = [one for one, _ in begun if one not in fresh]
    assert len(begun) > 20
    assert set(elsewhere) <= met
    assert 0.25 < len(elsewhere) / len(begun) < 0.75
    assert all(clock == 0 for _, clock in begun)
    assert all(height <= MAX_RESTART_HEIGHT for _, _, height, *_ in elsewhere)
    assert len({state for _, state, *_ in elsewhere}) > 1  # more than one machine state


def test_without_restarts_every_episode_begins_at_a_start():
    _, begun, starts, _ = walk("maze-5x5", 0.0)
    assert len(begun) > 20
    assert {place for (place, *_), _ in begun} <= starts


def test_an_agent_that_sees_nothing_of_the_machine_begins_at_starts():
    assert resolve_for_training(Task("maze-5x5"), PPO(k="none")).restarts == 0
    assert resolve_for_training(Task("maze-5x5"), PPO()).restarts == PPO().resolved().restarts
