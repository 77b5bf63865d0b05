"""Before the first action: its rewards count in the return, and an episode that cannot start is
an error."""

from dataclasses import replace

import numpy as np
import pytest

from pdrm.domains import from_arrays
from pdrm.errors import BadSetting, FinishedAtReset, UndefinedMove
from pdrm.language.loading import parse
from pdrm.learning.agents import PPO, kind_of
from pdrm.learning.deep.deep_training import DeepTraining, check_numbers, make_algorithm
from pdrm.learning.evaluation import Episode
from pdrm.learning.run import Runs, train
from pdrm.product.jax_env.jax_domain import finite_domain
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK
from pdrm.task import Task
from tests.learning.deep.worlds import Walker

HEAD = "events a b\nexclusive a b\nstack # A\nstart u\nfinal done\n"
SMALL = {"n_envs": 2, "net_arch": (4,), "batch_size": 8}
SETTINGS = {
    "ppo": {**SMALL, "n_steps": 8, "n_epochs": 1},
    "dqn": {**SMALL, "buffer_size": 64},
}
"""Recurrent PPO shares its rollouts with PPO, and SAC with DQN."""


def product_of(rules, depth=8, **first):
    """A world of one state and one action, which emits b at every step."""
    where = from_arrays("d", [[0]], [[1]], [("a",), ("b",)], step_limit=4, **first)
    return jax_product(finite_domain(where), parse(HEAD + rules), TopK(1), depth=depth)


def walk(product, seed=0):
    """A training that takes steps without learning."""
    return DeepTraining(lambda _: Walker(product, PPO(n_envs=2, n_steps=1).resolved()), [seed])


@pytest.mark.parametrize("agent", SETTINGS)
def test_what_is_paid_at_reset_counts_in_the_return(agent):
    """2 for the silent move, 3 for the label at reset, 1 for the action.

    Only the last is learnt from.
    """
    rules = (
        "otherwise stay 0\nu -> v : eps, z / z, 2\nv -> w : a, z / z, 3\nw -> done : b, z / z, 1\n"
    )
    algorithm = make_algorithm(product_of(rules, start_label=0), kind_of(agent)(**SETTINGS[agent]))
    runs = DeepTraining(lambda _: algorithm, [0])
    tested = runs.test(3)
    assert np.asarray(tested.returns).tolist() == [[6.0] * 3]
    assert np.asarray(tested.steps).tolist() == [[1] * 3]
    runs.iterate(3)
    assert runs.ended > 4


@pytest.mark.parametrize(
    ("rules", "depth", "error"),
    [
        ("otherwise error\nu -> u : b, z / z, 0\n", 8, UndefinedMove),
        ("otherwise stay 0\nu -> done : a, z / z, 0\n", 8, FinishedAtReset),
        ("otherwise stay 0\nu -> v : eps, z / z, 0\nv -> done : a, z / z, 0\n", 8, FinishedAtReset),
        ("otherwise stay 0\nu -> u : a, z / A A z, 0\n", 2, BadSetting),
    ],
)
def test_an_episode_that_cannot_begin_is_an_error_in_training_and_in_tests(rules, depth, error):
    runs = walk(product_of(rules, depth, start_label=0))
    with pytest.raises(error):
        runs.test(2)
    with pytest.raises(error):
        runs.iterate(1)


def test_an_episode_that_restarts_in_this_way_is_one_too():
    """Two starts with one unreadable label: the first episodes start, a later one does not."""
    where = from_arrays(
        "d",
        [[2], [2], [2]],
        [[1], [1], [1]],
        [("a",), ("b",)],
        step_limit=1,
        start={0: 0.9, 1: 0.1},
    )
    where = replace(where, arrays=where.arrays._replace(start_label=np.array([1, 0], np.int32)))
    product = jax_product(
        finite_domain(where), parse(HEAD + "otherwise error\nu -> u : b, z / z, 0\n"), TopK(1)
    )
    runs = walk(product, seed=1)
    assert not np.asarray(runs.state.envs.fault).any()
    with pytest.raises(UndefinedMove):
        runs.iterate(160)


def test_a_network_that_is_no_longer_made_of_numbers_is_an_error():
    check_numbers({"a": np.ones((2, 3)), "b": np.ones(2)}, seeds=[5, 7])
    with pytest.raises(BadSetting):
        check_numbers({"a": np.array([[1.0, 2.0], [3.0, np.nan]]), "b": np.ones(2)}, seeds=[5, 7])
    runs = walk(product_of("otherwise stay 0\nu -> done : b, z / z, 1\n"))
    runs.state = runs.state._replace(network=np.full((1, 2), np.inf, np.float32))
    with pytest.raises(BadSetting):
        runs.iterate(1)


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded", "ignore::pdrm.errors.TaskWarning")
@pytest.mark.parametrize("discount", [0.0, 0.9, 1.0])
def test_discounted_returns_are_those_of_the_readable_episode(discount):
    """Reward 2 before the first action, and 1 for every action, without choice or randomness."""
    rules = "otherwise stay 1\nu -> v : eps, z / z, 2\nv -> v : a, z / A z, -3\n"
    where = from_arrays("d", [[1], [2], [0]], [[1], [0], [1]], [("a",), ("b",)], step_limit=40)
    settings = {**SETTINGS["ppo"], "discount": discount, "total_timesteps": 16, "shaping": "none"}
    run = train(Task(where, parse(HEAD + rules)), "ppo", progress=False, **settings)
    expected = Episode(run.episode(), truncated=False).discounted(discount)
    assert expected == pytest.approx(
        2 + sum((-3 if step % 3 == 1 else 1) * discount**step for step in range(40))
    )
    found = run.evaluate(episodes=3)
    discount = 0.99  # the task's, whatever the agent learns with
    expected = Episode(run.episode(), truncated=False).discounted(discount)
    assert found["mean_discounted_return"] == pytest.approx(expected, rel=1e-6)
    assert f"discounted by {discount:g}" in repr(found)
    assert (
        Runs([run, run]).evaluate(episodes=3)["mean_discounted_return"]
        == found["mean_discounted_return"]
    )
