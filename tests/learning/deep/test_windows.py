"""Windows of several steps: what they pay and where they end, against the machine stepped by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.domains import domain
from pdrm.language.loading import catalogue
from pdrm.learning.agents import DQN
from pdrm.learning.deep.replay import begin_past, collect, find_tops, replay_window, sample_windows
from pdrm.machines.configurations import Configuration
from pdrm.product.jax_env.jax_domain import finite_domain, make_key, uniforms
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.views import TopK

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


@pytest.fixture(scope="module")
def past():
    product = jax_product(finite_domain(WORLD), ECHO, TopK(1), depth=12)

    def anything(_seen, keys):
        return (jax.vmap(lambda key: uniforms(key, 1)[0])(keys) * 2).astype(jnp.int32)

    begun = jax.jit(lambda: begin_past(product, SETTINGS, make_key(0)))()
    return product, jax.jit(lambda past: collect(product, SETTINGS, past, anything))(begun)[0]


def by_hand(rows, state, stack):
    """The same window with the readable machine: the sum, the factor, the configuration, and whether it ended."""
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
    product, collected = past
    rows = jax.tree.map(np.asarray, sample_windows(collected.replay, jax.random.key(0), 60, 4))
    assert bool(rows.over.any())
    step, ends = jax.jit(lambda row, at: replay_window(product, SETTINGS, row, at)), set()
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
    rows = sample_windows(collected.replay, jax.random.key(1), 100, 4)
    following = np.asarray(rows.before[:, 1:] == rows.after[:, :-1]).all(axis=-1)
    assert (following | np.asarray(rows.over[:, :-1])).all()


def test_what_was_observed_are_the_tops_of_stacks(past):
    product, collected = past
    tops = find_tops(product, SETTINGS)
    seen = np.flatnonzero(np.asarray(collected.tops))
    rows = jax.tree.map(np.asarray, collected.replay.rows.configuration)
    flat = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[: 40 * 3], rows)
    assert np.isin(jax.jit(jax.vmap(tops.number))(flat), seen).all()
    again = jax.jit(jax.vmap(lambda number: tops.number(tops.pack(jnp.int32(0), number))))(seen)
    assert again.tolist() == seen.tolist()
