"""Networks as trees of arrays and pure functions of them: fully connected layers.

Several networks of one shape (an actor and a critic, two critics) are one tree with a leading axis: their layers are then
one batched product each. First weights are drawn with NumPy, so that they are the same whatever the version of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Tree = TypeVar("Tree")


class Layer(NamedTuple):
    """x -> x · weight + bias."""

    weight: jax.Array
    """[..., inputs, outputs]"""
    bias: jax.Array
    """[..., outputs]"""


Activation = Callable[[jax.Array], jax.Array]
ACTIVATIONS: dict[str, Activation] = {"tanh": jnp.tanh, "relu": jax.nn.relu}


def orthogonal_layer(rng: np.random.Generator, inputs: int, outputs: int, gain: float) -> Layer:
    """A layer with orthogonal weights of this gain.

    >>> weight = orthogonal_layer(np.random.default_rng(0), 3, 3, 1.0).weight
    >>> bool(jnp.allclose(weight @ weight.T, jnp.eye(3), atol=1e-5))
    True
    """
    columns, triangle = np.linalg.qr(rng.normal(size=(max(inputs, outputs), min(inputs, outputs))))
    columns = columns * np.sign(np.diag(triangle))
    weight = columns if inputs >= outputs else columns.T
    return Layer(_floats(gain * weight), jnp.zeros(outputs))


def uniform_layer(rng: np.random.Generator, inputs: int, outputs: int) -> Layer:
    """A layer as torch makes it: weights and biases uniform in ±1/√inputs."""
    bound = inputs**-0.5
    return Layer(_floats(rng.uniform(-bound, bound, (inputs, outputs))), _floats(rng.uniform(-bound, bound, outputs)))


def side_by_side(trees: Sequence[Tree]) -> Tree:
    """Networks of one shape as one tree with a leading axis."""
    joined: Tree = jax.tree.map(lambda *parts: jnp.stack(parts), *trees)
    return joined


def _floats(values: np.ndarray[Any, Any]) -> jax.Array:
    return jnp.asarray(values, jnp.float32)


def apply(layer: Layer, x: jax.Array) -> jax.Array:
    """x: [..., batch, inputs] -> [..., batch, outputs]."""
    return x @ layer.weight + layer.bias[..., None, :]


def hidden_layers(layers: Sequence[Layer], x: jax.Array, activation: Activation) -> jax.Array:
    """Through all layers, each activated."""
    for layer in layers:
        x = activation(apply(layer, x))
    return x
