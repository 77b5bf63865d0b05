"""Networks as trees of arrays and pure functions of them: layers, an actor and a critic, one step down a gradient."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pdrm.errors import BadPolicyFile
from pdrm.files import read_arrays
from pdrm.product.jax_env.jax_domain import JaxDomain, Key, uniforms

# --- Trees of arrays in files: `.npz`, leaf by leaf, never code; read back into a tree of the same shape.

Tree = TypeVar("Tree")


def tree_arrays(tree: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The leaves of a tree, named by their place in it."""
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def load_arrays(arrays: dict[str, np.ndarray[Any, Any]], like: Tree) -> Tree:
    """The tree that has these leaves; `like` says its shape, and `ValueError` what does not fit."""

    def leaf(place: Any, old: Any) -> jax.Array:
        found = arrays.get(jax.tree_util.keystr(place))
        if found is None or found.shape != jnp.shape(old) or found.dtype != old.dtype:
            raise ValueError(f"{jax.tree_util.keystr(place)} differs")
        return jnp.asarray(found)

    restored: Tree = jax.tree_util.tree_map_with_path(leaf, like)
    return restored


def tree_bytes(tree: Any) -> bytes:
    """A tree as the bytes of an `.npz` file."""
    buffer = io.BytesIO()
    np.savez(buffer, **tree_arrays(tree))  # type: ignore[arg-type]
    return buffer.getvalue()


def tree_from(path: Path, like: Tree) -> Tree:
    """The tree in a file; `like` says its shape, and a file that does not fit is refused."""
    try:
        arrays = read_arrays(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BadPolicyFile(f"{path} cannot be read: {error}", fix="train again, or restore a copy") from error
    try:
        return load_arrays(arrays, like)
    except ValueError as error:
        raise BadPolicyFile(f"{path} does not fit: {error}", fix="train again") from error


# --- Networks as trees of arrays and pure functions of them: fully connected layers.
#
# Several networks of one shape (an actor and a critic, two critics) are one tree with a leading axis: their layers are then
# one batched product each. First weights are drawn with NumPy, so that they are the same whatever the version of JAX.


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


# --- An actor and a critic with hidden layers of one shape each, as Stable-Baselines3's `MlpPolicy` has them.
#
# An action is one of several (categorical) or a vector (a diagonal Gaussian whose deviations do not depend on the state).

ACTOR, CRITIC = 0, 1
"""Places on the leading axis of the hidden layers."""
LOG_2_PI = math.log(2 * math.pi)


class ActorCritic(NamedTuple):
    """The parameters."""

    hidden: tuple[Layer, ...]
    """Each [2, inputs, units]: the actor's and the critic's."""
    action: Layer
    value: Layer
    log_deviation: jax.Array
    """[action size]: of the Gaussian; empty where actions are discrete."""


class Judged(NamedTuple):
    """What the networks say of observations."""

    action: jax.Array
    """[batch, actions]: logits; or [batch, action size]: means."""
    value: jax.Array
    """[batch]"""


def new_actor_critic(
    rng: np.random.Generator, inputs: int, net_arch: tuple[int, ...], domain: JaxDomain
) -> ActorCritic:
    """Orthogonal weights, with SB3's gains: √2 in the hidden layers, 0.01 for actions, 1 for values."""
    sizes = (inputs, *net_arch)
    hidden = tuple(
        side_by_side([orthogonal_layer(rng, before, after, math.sqrt(2)) for _ in (ACTOR, CRITIC)])
        for before, after in pairwise(sizes)
    )
    action = orthogonal_layer(rng, sizes[-1], domain.actions or domain.action_size, 0.01)
    return ActorCritic(hidden, action, orthogonal_layer(rng, sizes[-1], 1, 1.0), jnp.zeros(domain.action_size))


def judge(network: ActorCritic, observation: jax.Array) -> Judged:
    """observation: [batch, inputs], or [2, batch, inputs] with one for each network."""
    both = observation if observation.ndim == 3 else jnp.broadcast_to(observation, (2, *observation.shape))
    x = hidden_layers(network.hidden, both, jnp.tanh)
    return Judged(apply(network.action, x[ACTOR]), apply(network.value, x[CRITIC])[..., 0])


def best(judged: Judged, *, discrete: bool) -> jax.Array:
    """The likeliest actions."""
    return judged.action.argmax(axis=-1).astype(jnp.int32) if discrete else judged.action


def sampled(network: ActorCritic, judged: Judged, keys: Key, *, discrete: bool) -> jax.Array:
    """An action for each row, drawn with that row's key."""
    if discrete:
        up_to = jnp.cumsum(jax.nn.softmax(judged.action), axis=-1)
        number = jax.vmap(lambda key: uniforms(key, 1))(keys)
        return jnp.minimum((number >= up_to).sum(axis=-1), judged.action.shape[-1] - 1).astype(jnp.int32)
    return judged.action + jnp.exp(network.log_deviation) * normals(keys, judged.action.shape[-1])


def normals(keys: Key, count: int) -> jax.Array:
    """[batch, count] standard normal numbers (Box and Muller)."""
    number = jax.vmap(lambda key: uniforms(key, 2 * count))(keys)
    radius = jnp.sqrt(-2 * jnp.log1p(-number[:, :count]))
    return radius * jnp.cos(2 * jnp.pi * number[:, count:])


def log_probability(network: ActorCritic, judged: Judged, action: jax.Array, *, discrete: bool) -> jax.Array:
    """[batch]: of the actions."""
    if discrete:
        logits = jax.nn.log_softmax(judged.action)
        chosen = jax.nn.one_hot(action, logits.shape[-1], dtype=logits.dtype)
        return (logits * chosen).sum(axis=-1)
    away = (action - judged.action) / jnp.exp(network.log_deviation)
    return -0.5 * (away * away + LOG_2_PI).sum(axis=-1) - network.log_deviation.sum()


def entropy(network: ActorCritic, judged: Judged, *, discrete: bool) -> jax.Array:
    """[batch]: of the distributions over actions."""
    if discrete:
        logits = jax.nn.log_softmax(judged.action)
        return -(jnp.exp(logits) * logits).sum(axis=-1)
    each = 0.5 * (1 + LOG_2_PI) + network.log_deviation
    return jnp.broadcast_to(each.sum(), judged.value.shape)


# --- One step down a gradient: its norm cut, Adam, and a learning rate that may be traced.

AnyTree = Any
ADAM = optax.scale_by_adam(eps=1e-5)
"""With the ε of Stable-Baselines3's on-policy agents."""
ADAM_SMALL = optax.scale_by_adam(eps=1e-8)
"""With torch's own, as its off-policy agents have it."""


def clipped(gradient: AnyTree, most: float) -> AnyTree:
    """The gradient, scaled down where its norm is above `most`."""
    norm = jnp.sqrt(sum((part * part).sum() for part in jax.tree.leaves(gradient)))
    factor = jnp.minimum(1.0, most / (norm + 1e-6))
    return jax.tree.map(lambda part: part * factor, gradient)


def descended(
    adam: optax.GradientTransformation, tree: AnyTree, state: AnyTree, gradient: AnyTree, rate: jax.Array | float
) -> tuple[AnyTree, AnyTree]:
    """The tree and the optimiser's state after one step."""
    step, state = adam.update(gradient, state)
    return jax.tree.map(lambda part, change: part - rate * change, tree, step), state


def chosen(condition: jax.Array, new: AnyTree, old: AnyTree) -> AnyTree:
    """The new tree where the condition holds, else the old one."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), new, old)
