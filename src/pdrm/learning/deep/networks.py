"""Networks as trees of arrays and pure functions of them: files, layers, an actor and a critic, LSTMs, one step of an optimiser.

Several networks of one shape (an actor and a critic, two critics) are one tree with a leading axis, so that each of their
layers is one batched product. First weights are drawn with NumPy: they are then the same whatever the version of JAX.
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

# --- Trees of arrays: stacked, selected, and in files (`.npz`, leaf by leaf, never code).


def stack_trees(trees: Sequence[Tree]) -> Tree:
    """Trees of one shape as one tree with a leading axis."""
    stacked: Tree = jax.tree.map(lambda *parts: jnp.stack(parts), *trees)
    return stacked


def take(tree: Tree, place: Any) -> Tree:
    """The trees, or the one, at these places on the leading axes."""
    taken: Tree = jax.tree.map(lambda part: part[place], tree)
    return taken


def select(condition: Array, new: Tree, old: Tree) -> Tree:
    """The new tree where the condition holds, else the old one."""
    selected: Tree = jax.tree.map(lambda one, other: jnp.where(condition, one, other), new, old)
    return selected


def tree_arrays(tree: Any) -> Arrays:
    """The leaves of a tree, named by their place in it."""
    return {
        jax.tree_util.keystr(path): np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def load_arrays(arrays: Arrays, like: Tree) -> Tree:
    """The tree with these leaves and the shape of `like`; `KeyError` or `ValueError` if one does not fit."""

    def leaf(place: Any, old: Any) -> Array:
        name = jax.tree_util.keystr(place)
        found = arrays[name]
        check_all((found.shape == old.shape and found.dtype == old.dtype, f"{name} differs"))
        return jnp.asarray(found)

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
    """Parameters of these shapes, uniform in ±1/√units, as torch draws them."""
    bound = units**-0.5
    return [jnp.asarray(rng.uniform(-bound, bound, shape), jnp.float32) for shape in shapes]


def uniform_layers(rng: Rng, sizes: Sequence[int]) -> Layers:
    """Layers as torch makes them. sizes: of the input and of each layer."""
    return tuple(
        Layer(*draw_uniform(rng, inputs, (inputs, outputs), (outputs,)))
        for inputs, outputs in pairwise(sizes)
    )


def apply(layer: Layer, x: Array) -> Array:
    """x: [..., B, inputs] -> [..., B, outputs]."""
    return x @ layer.weight + layer.bias[..., None, :]


def apply_hidden(layers: Layers, x: Array, activation: Callable[[Array], Array]) -> Array:
    """[..., B, inputs] -> [..., B, units]: through all layers, each activated."""
    for layer in layers:
        x = activation(apply(layer, x))
    return x


def apply_mlp(layers: Layers, x: Array) -> Array:
    """[..., B, inputs] -> [..., B, outputs]: hidden layers with rectifiers, and a last layer without."""
    return apply(layers[-1], apply_hidden(layers[:-1], x, jax.nn.relu))


# --- An actor and a critic with hidden layers of one shape, as Stable-Baselines3's `MlpPolicy` has them.
#
# An action is one of several (categorical) or a vector (a diagonal Gaussian whose deviations do not depend on the state).

ACTOR, CRITIC = 0, 1
"""Places on the leading axis of the hidden layers."""
LOG_2_PI = math.log(2 * math.pi)


class ActorCritic(NamedTuple):
    """The parameters."""

    hidden: Layers  # each [2, inputs, units]: the actor's and the critic's
    action: Layer
    value: Layer
    log_deviation: Array  # [action size]: of the Gaussian; empty if actions are discrete


class Judged(NamedTuple):
    """The networks' outputs for observations: distributions over actions, and values."""

    action: Array  # [B, A]: logits; or [B, action size]: means
    value: Array  # [B]
    log_deviation: Array  # [action size], as in `ActorCritic`

    @property
    def discrete(self) -> bool:
        """True if an action is one of several, False if it is a vector."""
        return self.log_deviation.shape[-1] == 0


def new_actor_critic(
    rng: Rng, inputs: int, net_arch: tuple[int, ...], domain: JaxDomain
) -> ActorCritic:
    """Orthogonal weights, with SB3's gains: √2 in the hidden layers, 0.01 for actions, 1 for values."""
    sizes = (inputs, *net_arch)
    hidden = tuple(
        stack_trees([orthogonal_layer(rng, before, after, math.sqrt(2)) for _ in (ACTOR, CRITIC)])
        for before, after in pairwise(sizes)
    )
    action = orthogonal_layer(rng, sizes[-1], domain.actions or domain.action_size, 0.01)
    return ActorCritic(
        hidden, action, orthogonal_layer(rng, sizes[-1], 1, 1.0), jnp.zeros(domain.action_size)
    )


def judge(network: ActorCritic, observation: Array) -> Judged:
    """observation: [B, inputs], or [2, B, inputs] with one for each network."""
    both = jnp.broadcast_to(observation, (2, *observation.shape[-2:]))
    x = apply_hidden(network.hidden, both, jnp.tanh)
    value = apply(network.value, x[CRITIC])[..., 0]
    return Judged(apply(network.action, x[ACTOR]), value, network.log_deviation)


def best_action(judged: Judged) -> Array:
    """[B] or [B, action size]: the likeliest actions."""
    return judged.action.argmax(axis=-1).astype(jnp.int32) if judged.discrete else judged.action


def sample_action(judged: Judged, keys: Key) -> Array:
    """[B] or [B, action size]: an action for each row, drawn with that row's key."""
    size = judged.action.shape[-1]
    if not judged.discrete:
        return judged.action + jnp.exp(judged.log_deviation) * draw_normals(keys, size)
    up_to = jnp.cumsum(jax.nn.softmax(judged.action), axis=-1)
    number = draw_numbers(keys, 1)
    return jnp.minimum((number >= up_to).sum(axis=-1), size - 1).astype(jnp.int32)


def draw_numbers(keys: Key, count: int) -> Array:
    """[B, count]: numbers in [0, 1)."""
    return jax.vmap(lambda key: uniforms(key, count))(keys)


def draw_normals(keys: Key, count: int) -> Array:
    """[B, count]: standard normal numbers (Box and Muller)."""
    number = draw_numbers(keys, 2 * count)
    radius = jnp.sqrt(-2 * jnp.log1p(-number[:, :count]))
    return radius * jnp.cos(2 * jnp.pi * number[:, count:])


def log_probability(judged: Judged, action: Array) -> Array:
    """[B]: of the actions."""
    if judged.discrete:
        logits = jax.nn.log_softmax(judged.action)
        return (logits * jax.nn.one_hot(action, logits.shape[-1], dtype=logits.dtype)).sum(axis=-1)
    away = (action - judged.action) / jnp.exp(judged.log_deviation)
    return -0.5 * (away * away + LOG_2_PI).sum(axis=-1) - judged.log_deviation.sum()


def entropy(judged: Judged) -> Array:
    """[B]: of the distributions over actions."""
    if judged.discrete:
        logits = jax.nn.log_softmax(judged.action)
        return -(jnp.exp(logits) * logits).sum(axis=-1)
    each = 0.5 * (1 + LOG_2_PI) + judged.log_deviation
    return jnp.broadcast_to(each.sum(), judged.value.shape)


# --- A long short-term memory (Hochreiter and Schmidhuber 1997): one step, and whole sequences with a backward pass of our own.
#
# Differentiating a scan adds up the weights' gradient at every step; `unroll` goes back through the gates alone and makes
# that gradient of all steps at once, in one product.


class Lstm(NamedTuple):
    """The parameters; the gates in, forget, cell and out stand side by side."""

    inputs: Array  # [..., inputs, 4 · units]
    hidden: Array  # [..., units, 4 · units]
    bias: Array  # [..., 4 · units]


class Memory(NamedTuple):
    """The memory of an LSTM."""

    hidden: Array  # [..., units]
    cell: Array  # [..., units]


def new_lstm(rng: Rng, inputs: int, units: int) -> Lstm:
    """An LSTM as torch makes it."""
    gates = 4 * units
    return Lstm(*draw_uniform(rng, units, (inputs, gates), (units, gates), (gates,)))


def gate_inputs(network: Lstm, x: Array) -> Array:
    """The inputs' share of the gates, [..., B, 4 · units]: for a whole sequence at once."""
    return x @ network.inputs + network.bias[..., None, :]


def open_gates(cell: Array, gates: Array) -> Memory:
    """The memory after a step, given the cell before it and the gates before their activation, [..., B, 4 · units]."""
    enter, forget, new, out = jnp.split(gates, 4, axis=-1)
    cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
    return Memory(jax.nn.sigmoid(out) * jnp.tanh(cell), cell)


def keep(memory: Memory, kept: Array) -> Memory:
    """The memory, emptied where an episode starts. kept: [B], 0 there and else 1."""
    return Memory(memory.hidden * kept[:, None], memory.cell * kept[:, None])


@jax.custom_vjp
def unroll(weight: Array, first: Memory, share: Array, kept: Array) -> Array:
    """The hidden memories of whole sequences, [T, ..., B, units].

    weight: `Lstm.hidden`; first: before the first step; share: [T, ..., B, 4 · units]; kept: [T, B].
    """
    return _forward(weight, first, share, kept)[0]


def _forward(weight: Array, first: Memory, share: Array, kept: Array) -> tuple[Array, Any]:
    def step(memory: Memory, now: tuple[Array, Array]) -> tuple[Memory, Any]:
        before = keep(memory, now[1])
        after, back = jax.vjp(open_gates, before.cell, now[0] + before.hidden @ weight)
        return after, (after.hidden, before.hidden, back)

    hidden, before, backs = jax.lax.scan(step, first, (share, kept), unroll=len(share))[1]
    return hidden, (weight, kept, before, backs)


def _backward(saved: Any, slopes: Array) -> tuple[Array, Memory, Array, Array]:
    """The gradients, given those of the hidden memories; `kept` has none."""
    weight, kept, before, backs = saved
    turned = jnp.swapaxes(weight, -1, -2)

    def step(slope: Memory, now: Any) -> tuple[Memory, Array]:
        hidden, kept, back = now
        cell, gates = back(Memory(slope.hidden + hidden, slope.cell))
        return keep(Memory(gates @ turned, cell), kept), gates

    nothing = jnp.zeros_like(slopes[0])
    first, shares = jax.lax.scan(
        step, Memory(nothing, nothing), (slopes, kept, backs), reverse=True, unroll=len(slopes)
    )
    of_weight = jnp.einsum("t...nu,t...ng->...ug", before, shares)
    return of_weight, first, shares, jnp.zeros_like(kept)


unroll.defvjp(_forward, _backward)


class Recurrent(NamedTuple):
    """An actor and a critic that read an LSTM each."""

    lstm: Lstm  # [2, ...]: the actor's and the critic's
    head: ActorCritic


# --- One step of an optimiser: a mean over rows that count, a learning rate that may be traced, Adam.

ADAM = optax.scale_by_adam(eps=1e-5)
"""With the ε of Stable-Baselines3's on-policy agents."""
ADAM_SMALL = optax.scale_by_adam(eps=1e-8)
"""With torch's own ε, as its off-policy agents have it."""


def weighted_mean(rows: Array, weight: Array) -> Array:
    """The mean of rows [B] with weights 0 and 1 [B]; 0 if no row counts."""
    return (rows * weight).sum() / jnp.maximum(weight.sum(), 1)


def learning_rate(settings: Deep, timesteps: Array) -> Number:
    """The rate for an update after this many steps."""
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
    """The parameters and the optimiser's state after one step, the gradient scaled down to `max_norm` if its norm is larger.

    Torch scales by max_norm / (norm + 1e-6), optax by max_norm / norm: they differ by one millionth of 1 / norm.
    """
    if max_norm is not None:
        gradient, _ = optax.clip_by_global_norm(max_norm).update(gradient, optax.EmptyState())
    step, state = adam.update(gradient, state)
    after: Tree = optax.apply_updates(parameters, jax.tree.map(lambda part: -rate * part, step))
    return after, state
