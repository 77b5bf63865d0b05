"""Networks as trees of arrays and pure functions: files, layers, actor and critic, LSTMs,
optimiser steps.

Networks of the same shape (an actor and a critic, two critics) are one tree with a leading
axis, so each of their layers is one batched product. Initial weights are drawn with NumPy, so
they are the same for every version of JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from pdrm.files import Arrays, check_all
from pdrm.learning.agents import Deep
from pdrm.learning.settings import Number
from pdrm.product.jax_env.jax_domain import JaxDomain, Key, uniforms

Tree = TypeVar("Tree")
Rng = np.random.Generator

# --- Trees of arrays, also in files (`.npz`, leaf by leaf, never code).


def stack_trees(trees: Sequence[Tree]) -> Tree:
    """Trees of one shape as one tree with a leading axis."""
    stacked: Tree = jax.tree.map(lambda *parts: jnp.stack(parts), *trees)
    return stacked


def take(tree: Tree, index: Any) -> Tree:
    """The tree at an index (or the trees at indices) of the leading axes."""
    taken: Tree = jax.tree.map(lambda part: part[index], tree)
    return taken


def select(condition: Array, new: Tree, old: Tree) -> Tree:
    """The new tree where the condition is true, otherwise the old one."""
    selected: Tree = jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
    return selected


def tree_arrays(tree: Any) -> Arrays:
    """The leaves of a tree by their paths."""
    return {
        jax.tree_util.keystr(path): np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def load_arrays(arrays: Arrays, like: Tree) -> Tree:
    """A tree of these leaves in the shape of `like`.

    Raises `KeyError` or `ValueError` for other leaves.
    """

    def leaf(path: Any, old: Any) -> Array:
        name = jax.tree_util.keystr(path)
        array = arrays[name]
        check_all((array.shape == old.shape and array.dtype == old.dtype, f"{name} differs"))
        return jnp.asarray(array)

    restored: Tree = jax.tree_util.tree_map_with_path(leaf, like)
    return restored


# --- Fully connected layers.


class Layer(NamedTuple):
    """x -> x · weight + bias."""

    weight: Array  # [..., inputs, outputs]
    bias: Array  # [..., outputs]


Layers = tuple[Layer, ...]


def orthogonal_layer(rng: Rng, inputs: int, outputs: int, gain: float) -> Layer:
    """A layer with orthogonal weights of this gain.

    >>> weight = orthogonal_layer(np.random.default_rng(0), 3, 3, 1.0).weight
    >>> bool(jnp.allclose(weight @ weight.T, jnp.eye(3), atol=1e-5))
    True
    """
    columns, triangle = np.linalg.qr(rng.normal(size=(max(inputs, outputs), min(inputs, outputs))))
    columns = columns * np.sign(np.diag(triangle))
    weight = columns if inputs >= outputs else columns.T
    return Layer(jnp.asarray(gain * weight, jnp.float32), jnp.zeros(outputs))


def draw_uniform(rng: Rng, units: int, *shapes: tuple[int, ...]) -> list[Array]:
    """Parameters of these shapes, uniform in ±1/√units, as in torch."""
    bound = units**-0.5
    return [jnp.asarray(rng.uniform(-bound, bound, shape), jnp.float32) for shape in shapes]


def uniform_layers(rng: Rng, sizes: Sequence[int]) -> Layers:
    """Layers initialised as in torch.

    Args:
        rng: The generator.
        sizes: The sizes of the input and of each layer.
    """
    return tuple(
        Layer(*draw_uniform(rng, inputs, (inputs, outputs), (outputs,)))
        for inputs, outputs in pairwise(sizes)
    )


def apply(layer: Layer, x: Array) -> Array:
    """x: [..., B, inputs] -> [..., B, outputs]."""
    return x @ layer.weight + layer.bias[..., None, :]


def apply_hidden(layers: Layers, x: Array, activation: Callable[[Array], Array]) -> Array:
    """[..., B, inputs] -> [..., B, units]: all layers, each with the activation."""
    for layer in layers:
        x = activation(apply(layer, x))
    return x


def apply_mlp(layers: Layers, x: Array) -> Array:
    """[..., B, inputs] -> [..., B, outputs]: hidden layers with ReLU, and a linear last layer."""
    return apply(layers[-1], apply_hidden(layers[:-1], x, jax.nn.relu))


# --- An actor and a critic with hidden layers of one shape, as in Stable-Baselines3's `MlpPolicy`.
#
# Actions are discrete (categorical) or vectors (a diagonal Gaussian with deviations that do not
# depend on the state).

ACTOR, CRITIC = 0, 1
"""Indices of the leading axis of the hidden layers."""
LOG_2_PI = math.log(2 * math.pi)


class ActorCritic(NamedTuple):
    """The parameters."""

    hidden: Layers  # each [2, inputs, units]: the actor's and the critic's
    action: Layer
    value: Layer
    log_deviation: Array  # [action size]: of the Gaussian; empty if actions are discrete


class PolicyOutputs(NamedTuple):
    """The networks' outputs for observations: distributions over actions, and values."""

    action: Array  # [B, A]: logits, or [B, action size]: means
    value: Array  # [B]
    log_deviation: Array  # [action size], as in `ActorCritic`

    @property
    def discrete(self) -> bool:
        """True if actions are discrete, False if they are vectors."""
        return self.log_deviation.shape[-1] == 0


def new_actor_critic(
    rng: Rng, inputs: int, net_arch: tuple[int, ...], domain: JaxDomain
) -> ActorCritic:
    """Orthogonal weights with SB3's gains: √2 for hidden layers, 0.01 actions, 1 values."""
    sizes = (inputs, *net_arch)
    hidden = tuple(
        stack_trees([orthogonal_layer(rng, before, after, math.sqrt(2)) for _ in (ACTOR, CRITIC)])
        for before, after in pairwise(sizes)
    )
    action = orthogonal_layer(rng, sizes[-1], domain.actions or domain.action_size, 0.01)
    return ActorCritic(
        hidden, action, orthogonal_layer(rng, sizes[-1], 1, 1.0), jnp.zeros(domain.action_size)
    )


def forward(network: ActorCritic, observation: Array) -> PolicyOutputs:
    """The outputs for observations [B, inputs], or [2, B, inputs] with one for each network."""
    both = jnp.broadcast_to(observation, (2, *observation.shape[-2:]))
    x = apply_hidden(network.hidden, both, jnp.tanh)
    value = apply(network.value, x[CRITIC])[..., 0]
    return PolicyOutputs(apply(network.action, x[ACTOR]), value, network.log_deviation)


def best_action(outputs: PolicyOutputs) -> Array:
    """[B] or [B, action size]: the most likely actions."""
    if outputs.discrete:
        return outputs.action.argmax(axis=-1).astype(jnp.int32)
    return outputs.action


def sample_action(outputs: PolicyOutputs, keys: Key) -> Array:
    """[B] or [B, action size]: an action for each row, drawn with its key."""
    size = outputs.action.shape[-1]
    if not outputs.discrete:
        return outputs.action + jnp.exp(outputs.log_deviation) * draw_normals(keys, size)
    cumulative = jnp.cumsum(jax.nn.softmax(outputs.action), axis=-1)
    number = draw_numbers(keys, 1)
    return jnp.minimum((number >= cumulative).sum(axis=-1), size - 1).astype(jnp.int32)


def draw_numbers(keys: Key, count: int) -> Array:
    """[B, count]: numbers in [0, 1)."""
    return jax.vmap(lambda key: uniforms(key, count))(keys)


def draw_normals(keys: Key, count: int) -> Array:
    """[B, count]: standard normal numbers (Box and Muller)."""
    number = draw_numbers(keys, 2 * count)
    radius = jnp.sqrt(-2 * jnp.log1p(-number[:, :count]))
    return radius * jnp.cos(2 * jnp.pi * number[:, count:])


def log_probability(outputs: PolicyOutputs, action: Array) -> Array:
    """[B]: the logarithms of the actions' probabilities or densities."""
    if outputs.discrete:
        logits = jax.nn.log_softmax(outputs.action)
        return (logits * jax.nn.one_hot(action, logits.shape[-1], dtype=logits.dtype)).sum(axis=-1)
    z = (action - outputs.action) / jnp.exp(outputs.log_deviation)
    return -0.5 * (z * z + LOG_2_PI).sum(axis=-1) - outputs.log_deviation.sum()


def entropy(outputs: PolicyOutputs) -> Array:
    """[B]: the entropies of the distributions over actions."""
    if outputs.discrete:
        logits = jax.nn.log_softmax(outputs.action)
        return -(jnp.exp(logits) * logits).sum(axis=-1)
    each = 0.5 * (1 + LOG_2_PI) + outputs.log_deviation
    return jnp.broadcast_to(each.sum(), outputs.value.shape)


# --- A long short-term memory (Hochreiter and Schmidhuber 1997): one step, and whole sequences with
# a custom backward pass.
#
# The gradient of a scan adds up the weights' gradient at every step. `unroll` goes back through the
# gates alone, and computes the weights' gradient of all steps in one product.


class Lstm(NamedTuple):
    """The parameters. The gates input, forget, cell and output are concatenated."""

    inputs: Array  # [..., inputs, 4 · units]
    hidden: Array  # [..., units, 4 · units]
    bias: Array  # [..., 4 · units]


class LstmState(NamedTuple):
    """The hidden and the cell state of an LSTM."""

    hidden: Array  # [..., units]
    cell: Array  # [..., units]


def new_lstm(rng: Rng, inputs: int, units: int) -> Lstm:
    """An LSTM initialised as in torch."""
    gates = 4 * units
    return Lstm(*draw_uniform(rng, units, (inputs, gates), (units, gates), (gates,)))


def gate_inputs(network: Lstm, x: Array) -> Array:
    """[..., B, 4 · units]: the inputs' part of the gates, also for whole sequences."""
    return x @ network.inputs + network.bias[..., None, :]


def open_gates(cell: Array, gates: Array) -> LstmState:
    """The state after a step.

    Args:
        cell: The cell state before it.
        gates: [..., B, 4 · units]: the gates before their activation.
    """
    input_, forget, new, output = jnp.split(gates, 4, axis=-1)
    cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(input_) * jnp.tanh(new)
    return LstmState(jax.nn.sigmoid(output) * jnp.tanh(cell), cell)


def keep(memory: LstmState, kept: Array) -> LstmState:
    """The state, reset to zero where an episode starts.

    Args:
        memory: The state.
        kept: [B]: 0 where an episode starts, otherwise 1.
    """
    return LstmState(memory.hidden * kept[:, None], memory.cell * kept[:, None])


@jax.custom_vjp
def unroll(weight: Array, first: LstmState, share: Array, kept: Array) -> Array:
    """[T, ..., B, units]: the hidden states of whole sequences.

    Args:
        weight: `Lstm.hidden`.
        first: The state before the first step.
        share: [T, ..., B, 4 · units]: the result of `gate_inputs`.
        kept: [T, B]: as for `keep`.
    """
    return _forward(weight, first, share, kept)[0]


def _forward(weight: Array, first: LstmState, share: Array, kept: Array) -> tuple[Array, Any]:
    def step(memory: LstmState, now: tuple[Array, Array]) -> tuple[LstmState, Any]:
        before = keep(memory, now[1])
        after, back = jax.vjp(open_gates, before.cell, now[0] + before.hidden @ weight)
        return after, (after.hidden, before.hidden, back)

    hidden, before, backs = jax.lax.scan(step, first, (share, kept), unroll=len(share))[1]
    return hidden, (weight, kept, before, backs)


def _backward(saved: Any, slopes: Array) -> tuple[Array, LstmState, Array, Array]:
    """The gradients, given those of the hidden states. `kept` has none."""
    weight, kept, before, backs = saved
    transposed = jnp.swapaxes(weight, -1, -2)

    def step(slope: LstmState, now: Any) -> tuple[LstmState, Array]:
        hidden, kept, back = now
        cell, gates = back(LstmState(slope.hidden + hidden, slope.cell))
        return keep(LstmState(gates @ transposed, cell), kept), gates

    zeros = jnp.zeros_like(slopes[0])
    first, shares = jax.lax.scan(
        step, LstmState(zeros, zeros), (slopes, kept, backs), reverse=True, unroll=len(slopes)
    )
    weight_gradient = jnp.einsum("t...nu,t...ng->...ug", before, shares)
    return weight_gradient, first, shares, jnp.zeros_like(kept)


unroll.defvjp(_forward, _backward)


class Recurrent(NamedTuple):
    """An actor and a critic, each after an LSTM."""

    lstm: Lstm  # [2, ...]: the actor's and the critic's
    head: ActorCritic


# --- Optimiser steps: Adam, weighted means, and learning rates that can be traced.

ADAM = optax.scale_by_adam(eps=1e-5)
"""Adam with the ε of Stable-Baselines3's on-policy agents."""
ADAM_SMALL = optax.scale_by_adam(eps=1e-8)
"""Adam with torch's ε, as in Stable-Baselines3's off-policy agents."""


def weighted_mean(rows: Array, weight: Array) -> Array:
    """The mean of rows [B] with weights 0 and 1 [B], or 0 if all weights are 0."""
    return (rows * weight).sum() / jnp.maximum(weight.sum(), 1)


def learning_rate(settings: Deep, timesteps: Array) -> Number:
    """The learning rate after this many steps."""
    if not settings.linear_decay:
        return settings.learning_rate
    return settings.learning_rate * jnp.maximum(0.0, 1.0 - timesteps / settings.total_timesteps)


def apply_gradient(
    adam: optax.GradientTransformation,
    parameters: Tree,
    state: Any,
    gradient: Tree,
    rate: Number,
    max_norm: float | None = None,
) -> tuple[Tree, Any]:
    """The parameters and the optimiser's state after one step.

    A gradient with a larger norm is scaled to `max_norm`.

    Torch scales by max_norm / (norm + 1e-6), optax by max_norm / norm: they differ by one
    millionth of 1 / norm.
    """
    if max_norm is not None:
        gradient, _ = optax.clip_by_global_norm(max_norm).update(gradient, optax.EmptyState())
    step, state = adam.update(gradient, state)
    after: Tree = optax.apply_updates(parameters, jax.tree.map(lambda part: -rate * part, step))
    return after, state
