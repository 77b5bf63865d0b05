"""Learning gates: every deep agent solves its probe, and no agent solves the impossible."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.domains import domain
from pdrm.language.loading import catalogue
from pdrm.learning.agents import PPO, kind_of
from pdrm.learning.deep.deep_training import DeepTraining, make_algorithm
from pdrm.learning.deep.networks import apply_mlp
from pdrm.product.jax_env.jax_domain import finite_domain
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK
from tests.learning.deep.worlds import cue, errand, target
from tests.probes import COLLECT, VALUES, corridor


def trained(agent, product, seeds, iterations, **given):
    algorithm = make_algorithm(product, kind_of(agent)(**given))
    training = DeepTraining(lambda _: algorithm, range(seeds))
    if iterations:
        training.iterate(iterations)
    return training


def test_a_stack_task_that_ppo_solves_with_the_machine_and_not_without():
    """Echo: repeat the letters in reverse.

    Without the stack, a constant answer is right two times in five.
    """
    settings = PPO(
        n_envs=32, n_steps=32, batch_size=256, n_epochs=4, learning_rate=3e-3, ent_coef=0.01
    )
    echo = jax_product(finite_domain(domain("echo")), catalogue("echo"), TopK(1))

    def task(numbers):
        return make_algorithm(dataclasses.replace(echo, visible=numbers["visible"]), settings)

    numbers = {"visible": [1.0, 1.0, 0.0, 0.0]}
    training = DeepTraining(task, [0, 1, 0, 1], numbers)
    training.iterate(30)
    returns = np.asarray(training.test(200).returns).mean(axis=1)
    assert (returns[:2] > 0.97).all()
    assert (returns[2:] < 0.7).all()


RECURRENT = {
    "n_envs": 32,
    "n_steps": 30,
    "batch_size": 320,
    "n_epochs": 4,
    "learning_rate": 3e-3,
    "ent_coef": 0.01,
}


def test_a_memory_task_that_recurrent_ppo_solves():
    training = trained(
        "rppo", cue(), 2, 10, **RECURRENT, sequence_length=10, lstm_hidden_size=16, net_arch=(16,)
    )
    assert (np.asarray(training.test(200).returns).mean(axis=1) > 0.97).all()


def test_and_no_agent_without_memory_can():
    """When the action counts, both cues look the same and are equally likely: the mean reward is
    1/2."""
    domain = cue().domain
    assert np.array_equal(domain.observe(4), domain.observe(5))
    keys = jnp.arange(1_000, dtype=jnp.uint32)
    assert float(jax.vmap(lambda key: domain.start(key)[0])(keys).mean()) == pytest.approx(
        0.5, abs=0.05
    )


DEEP_Q = {
    "n_envs": 4,
    "train_freq": 4,
    "gradient_steps": 4,
    "batch_size": 32,
    "buffer_size": 20_000,
    "learning_rate": 1e-3,
    "linear_decay": False,
    "tau": 1.0,
    "learning_starts": 64,
    "target_update_interval": 64,
    "total_timesteps": 10_000,
    "exploration_fraction": 1.0,
    "exploration_final_eps": 0.1,
    "net_arch": (32,),
}


def test_dqn_reaches_values_known_by_hand():
    product = jax_product(finite_domain(corridor()), COLLECT, TopK(1), depth=8)
    training = trained("dqn", product, 2, 300, **DEEP_Q, discount=0.9, counterfactuals=1)
    machine = {state: number for number, state in enumerate((*COLLECT.states, *COLLECT.final))}
    symbol = {name: number for number, name in enumerate(COLLECT.stack, start=1)}
    network = jax.tree.map(lambda part: part[0], training.state.network)
    for (cell, state, stack), known in VALUES.items():
        packed = product.machine.pack(machine[state], tuple(symbol[one] for one in stack))
        seen = product.seen(jax.nn.one_hot(cell, 3), packed)
        said = apply_mlp(network, seen[None])[0]
        for value, right in zip(said, known, strict=True):
            assert right is None or float(value) == pytest.approx(right, abs=0.3)


def solved_by(steps, imagined, enough=6):
    """The number of six seeds that have solved an evaluation within these steps, or by the
    time that `enough` have."""
    training = trained("dqn", errand(), 6, 0, **DEEP_Q, discount=0.95, counterfactuals=imagined)
    solved = np.zeros(6, np.bool_)
    while training.timesteps < steps and solved.sum() < enough:
        training.iterate(30)
        solved |= np.asarray(training.test(1).returns)[:, 0] == 1
    return int(solved.sum())


def test_dqn_with_counterfactuals_needs_fewer_steps():
    assert solved_by(4_320, imagined=3, enough=5) >= 5
    assert solved_by(4_320, imagined=0) <= 1


def test_sac_finds_the_target():
    training = trained(
        "sac",
        target(),
        2,
        150,
        n_envs=8,
        batch_size=64,
        buffer_size=4_000,
        learning_rate=3e-3,
        net_arch=(32,),
        train_freq=4,
        gradient_steps=4,
    )
    assert (np.asarray(training.test(200).returns).mean(axis=1) > -0.01).all()
