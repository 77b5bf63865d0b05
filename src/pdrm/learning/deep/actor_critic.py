"""An actor and a critic with hidden layers of one shape each, as Stable-Baselines3's `MlpPolicy` has them.

An action is one of several (categorical) or a vector (a diagonal Gaussian whose deviations do not depend on the state).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.deep.networks import Layer, apply, hidden_layers, orthogonal_layer, side_by_side
from pdrm.product.jax_env.domain import JaxDomain
from pdrm.product.jax_env.draws import Key, uniforms

if TYPE_CHECKING:
    import numpy as np

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
