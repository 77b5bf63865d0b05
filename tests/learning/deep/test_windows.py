"""Windows of several steps: their rewards and ends, compared with manual steps of the machine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.domains import domain
from pdrm.language.loading import catalogue
from pdrm.learning.agents import DQN
from pdrm.learning.deep.off_policy import DQNAlgorithm
from pdrm.learning.deep.replay import sample_windows
from pdrm.machines.transitions import Configuration
from pdrm.product.jax_env.jax_domain import finite_domain, make_key, uniforms
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK

ECHO, WORLD = catalogue("echo"), domain("echo", step_limit=9)
SETTINGS = DQN(
    n_envs=3,
    train_freq=40,
    buffer_size=300,
    n_steps=4,
    discount=0.5,
    reward_scale=10.0,
    counterfactuals=1,
)


class Random(DQNAlgorithm):
    """Random actions."""

    def explore(self, _state, _seen, keys):
        return (jax.vmap(lambda key: uniforms(key, 1)[0])(keys) * 2).astype(jnp.int32)


@pytest.fixture(scope="module")
def past():
    product = jax_product(finite_domain(WORLD), ECHO, TopK(1), depth=12)

    algorithm = Random(product, SETTINGS.resolved())
    network = algorithm.new_network(np.random.default_rng(0))
    begun = jax.jit(algorithm.begin)(network, make_key(0))
    return algorithm, jax.jit(algorithm.collect)(begun)


def by_hand(rows, state, stack):
    """The same window in the readable machine: return, discount, configuration, and whether it
    ended."""
    now, paid, factor, over = Configuration(state, stack), 0.0, 1.0, False
    for label, reward, cut in zip(
        rows.label.tolist(), rows.reward.tolist(), rows.over.tolist(), strict=True
    ):
        step = ECHO.step(now, WORLD.labels[label])
        now, paid, factor = step.after, paid + factor * 10 * (reward + step.reward), factor * 0.5
        over = now.state in ECHO.final
        if over or cut:
            break
    return paid, factor, now, over


def test_windows_pay_what_the_machine_would_have_paid(past):
    algorithm, collected = past
    product = algorithm.product
    rows = sample_windows(collected.replay, jnp.int32(40), jax.random.key(0), 60, 4)
    rows = jax.tree.map(np.asarray, rows)
    assert bool(rows.over.any())
    step, ends = jax.jit(algorithm.replay_window), set()
    for number in range(60):
        row = jax.tree.map(lambda part, number=number: part[number], rows)
        for state, stack in (("listen", ("#",)), ("speak", ("a", "#")), ("speak", ("b", "a", "#"))):
            places = tuple(ECHO.stack.index(symbol) + 1 for symbol in stack)
            packed = product.machine.pack(("listen", "speak", "done").index(state), places)
            found = step(row, packed)
            paid, factor, now, over = by_hand(row, state, stack)
            assert float(found.reward) == pytest.approx(paid)
            assert float(found.discount) == pytest.approx(factor)
            assert bool(found.terminated) == over
            top = product.machine.pack(
                ("listen", "speak", "done").index(now.state),
                tuple(ECHO.stack.index(symbol) + 1 for symbol in now.stack),
            )
            assert (
                np.asarray(found.following)[2:].tolist()
                == np.asarray(product.seen(jnp.zeros(2), top))[2:].tolist()
            )
            ends.add(over)
    assert ends == {False, True}


def test_windows_are_rows_of_one_environment_in_order(past):
    _, collected = past
    rows = sample_windows(collected.replay, jnp.int32(40), jax.random.key(1), 100, 4)
    following = np.asarray(rows.before[:, 1:] == rows.after[:, :-1]).all(axis=-1)
    assert (following | np.asarray(rows.over[:, :-1])).all()


def test_what_was_observed_are_the_tops_of_stacks(past):
    algorithm, collected = past
    tops = algorithm.tops
    seen = np.flatnonzero(np.asarray(collected.tops))
    rows = jax.tree.map(np.asarray, collected.replay.configuration)
    flat = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[: 40 * 3], rows)
    assert np.isin(jax.jit(jax.vmap(tops.number))(flat), seen).all()
    again = jax.jit(jax.vmap(lambda number: tops.number(tops.pack(jnp.int32(0), number))))(seen)
    assert again.tolist() == seen.tolist()
