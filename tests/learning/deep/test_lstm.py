"""The LSTM: sequences and their gradients equal those of single steps in JAX, and those of
torch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.learning.deep.networks import (
    LstmState,
    gate_inputs,
    keep,
    new_lstm,
    open_gates,
    stack_trees,
    unroll,
)

LENGTH, BATCH, INPUTS, UNITS = 5, 3, 4, 6


def step_by_step(weight, first, share, kept):
    memory, hidden = first, []
    for number in range(LENGTH):
        before = keep(memory, kept[number])
        memory = open_gates(before.cell, share[number] + before.hidden @ weight)
        hidden.append(memory.hidden)
    return jnp.stack(hidden)


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(3)
    weight = jnp.asarray(rng.normal(size=(2, UNITS, 4 * UNITS)), jnp.float32)
    first = LstmState(
        *(jnp.asarray(rng.normal(size=(2, BATCH, UNITS)), jnp.float32) for _ in range(2))
    )
    share = jnp.asarray(rng.normal(size=(LENGTH, 2, BATCH, 4 * UNITS)), jnp.float32)
    kept = jnp.asarray(rng.random((LENGTH, BATCH)) > 0.3, jnp.float32)
    return weight, first, share, kept


def test_sequences_are_steps(sequences):
    np.testing.assert_allclose(
        jax.jit(unroll)(*sequences), jax.jit(step_by_step)(*sequences), atol=1e-6
    )


def test_the_way_back_is_the_derivative(sequences):
    asked = jnp.asarray(
        np.random.default_rng(4).normal(size=(LENGTH, 2, BATCH, UNITS)), jnp.float32
    )
    kept = sequences[3]
    ours, theirs = (
        jax.jit(
            jax.grad(lambda *parts, way=way: (way(*parts, kept) * asked).sum(), argnums=(0, 1, 2))
        )(*sequences[:3])
        for way in (unroll, step_by_step)
    )
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=2e-5), ours, theirs)


def test_it_is_torchs():
    torch = pytest.importorskip("torch")
    network = new_lstm(np.random.default_rng(0), INPUTS, UNITS)
    peer = torch.nn.LSTM(INPUTS, UNITS)
    with torch.no_grad():
        peer.weight_ih_l0.copy_(torch.tensor(np.asarray(network.inputs).T))
        peer.weight_hh_l0.copy_(torch.tensor(np.asarray(network.hidden).T))
        peer.bias_ih_l0.copy_(torch.tensor(np.asarray(network.bias)))
        peer.bias_hh_l0.zero_()
        x = np.random.default_rng(1).normal(size=(LENGTH, BATCH, INPUTS)).astype(np.float32)
        expected = peer(torch.tensor(x))[0].numpy()
    nothing = jnp.zeros((1, BATCH, UNITS))
    share = jax.vmap(lambda now: gate_inputs(stack_trees([network]), now))(jnp.asarray(x))
    hidden = unroll(
        network.hidden[None], LstmState(nothing, nothing), share, jnp.ones((LENGTH, BATCH))
    )
    np.testing.assert_allclose(hidden[:, 0], expected, atol=1e-6)
