"""Counterfactual stacks: recorded tops give the experience of the whole stacks, or a shorter
part of it."""

from itertools import product as every

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.domains import domain, from_arrays
from pdrm.language.loading import catalogue, parse
from pdrm.learning.agents import DQN
from pdrm.learning.deep import replay as cf
from pdrm.learning.deep.deep_training import DeepTraining, make_algorithm
from pdrm.learning.deep.networks import weighted_mean
from pdrm.learning.deep.replay import Row
from pdrm.product.jax_env.jax_domain import finite_domain
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import FullStack, TopK

PAINT = domain("paint")
POPPING = parse(
    "events a b\nexclusive a b\nstack # A B\nstart u\nfinal done\notherwise stay -1\n"
    "u -> u : a, A / eps, 1\nu -> u : b, B / eps, 2\nu -> done : a, # / #, 5\n"
)


def window(labels):
    """Rows of these labels in a world of two numbers."""
    count = len(labels)
    none, zeros = jnp.zeros(count, jnp.bool_), jnp.zeros(count)
    seen = jnp.zeros((count, 2))
    return Row(
        seen, jnp.zeros(count, jnp.int32), seen, jnp.array(labels, jnp.int32), zeros, none, none, ()
    )


def same(one, other):
    return all(np.allclose(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("k", [0, 1, 2])
def test_one_step_with_a_kept_top_is_that_with_the_whole_stack(k):
    """PaintWorld: soap for five stains looks six symbols deep, whatever the view."""
    product = jax_product(finite_domain(PAINT), catalogue("paint"), TopK(k))
    algorithm = make_algorithm(product, DQN(counterfactuals=1, shaping="none"))
    tops, machine, ends = algorithm.tops, catalogue("paint"), set()
    step = jax.jit(algorithm.replay_window)
    ask = machine.states.index("ask")
    for stains, (label, events) in every(range(1, 8), enumerate(PAINT.labels)):
        if not any(event.startswith("soap") for event in events):
            continue
        real = product.machine.pack(ask, (2,) * stains + (1,))
        kept = tops.pack(jnp.int32(ask), tops.number(real))
        least = tops.least(kept)
        row = window([label])._replace(
            before=jnp.zeros((1, PAINT.states)), after=jnp.zeros((1, PAINT.states))
        )
        right = step(row, real, 0)
        assert same(step(row, kept, least), right)
        ends.add(bool(right.terminated))
    assert ends == {False, True}


@pytest.mark.parametrize("most", [10_000, 1])
def test_windows_are_whole_or_end_where_no_more_is_known(most, monkeypatch):
    monkeypatch.setattr(cf, "MANY_TOPS", most)
    where = finite_domain(from_arrays("d", [[0]], [[0]], [("a",), ("b",)], step_limit=9))
    product = jax_product(where, POPPING, TopK(1))
    algorithms = {
        steps: make_algorithm(
            product, DQN(n_steps=steps, discount=0.5, counterfactuals=1, shaping="none")
        )
        for steps in (1, 2, 3)
    }
    tops, lengths = algorithms[3].tops, set()
    assert tops.symbols == (4 if most > 1 else 2)
    step = {steps: jax.jit(one.replay_window) for steps, one in algorithms.items()}
    for symbols, labels in every(every((2, 3), repeat=4), every((0, 1), repeat=3)):
        real = product.machine.pack(0, (*symbols, 1))
        kept = tops.pack(jnp.int32(0), tops.number(real))
        found = step[3](window(labels), kept, tops.least(kept))
        length = round(float(-jnp.log2(found.discount)))
        assert same(found, step[length](window(labels[:length]), real, 0))
        lengths.add(length)
    assert lengths == ({3} if most > 1 else {1, 2, 3})


def test_a_push_onto_a_full_stack_teaches_nothing():
    machine = parse("events a\nstack # A\nstart u\notherwise stay 0\nu -> u : a, z / A z, 1\n")
    where = finite_domain(from_arrays("d", [[0]], [[0]], [("a",)], step_limit=9))
    product = jax_product(where, machine, FullStack(), depth=3)
    algorithm = make_algorithm(product, DQN(counterfactuals=1, shaping="none"))
    stacks = [product.machine.pack(0, (2,) * pushed + (1,)) for pushed in (0, 1, 2)]
    weights = [float(algorithm.replay_window(window([0]), stack).weight) for stack in stacks]
    assert weights == [1, 1, 0]


def test_a_batch_that_teaches_nothing_leaves_numbers():
    """If every step overflows, the loss is 0 and the network does not change."""
    machine = parse("events a\nstack # A\nstart u\notherwise stay 0\nu -> u : a, z / A z, 1\n")
    where = finite_domain(from_arrays("d", [[0]], [[0]], [("a",)], step_limit=9))
    product = jax_product(where, machine, TopK(1), depth=1)
    settings = DQN(n_envs=2, net_arch=(4,), learning_starts=1, buffer_size=64)
    runs = DeepTraining(lambda _: make_algorithm(product, settings), [0])
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(runs.state.network)]
    runs.iterate(3)
    assert runs.cut_off == runs.ended > 0
    for old, new in zip(before, jax.tree.leaves(runs.state.network), strict=True):
        assert np.array_equal(old, np.asarray(new))
    assert float(weighted_mean(jnp.ones(2), jnp.zeros(2))) == 0
