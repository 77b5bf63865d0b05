"""Soft actor-critic (Haarnoja et al. 2018), as Stable-Baselines3 does it, with or without counterfactual experiences.

Actions are vectors in [-1, 1]: a Gaussian squashed by tanh. Two critics, the lower of which counts; the weight of entropy is
learnt unless it is given. The experiences are those of `dqn.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import SAC
from pdrm.learning.deep.dqn import DQNMetrics as SACMetrics
from pdrm.learning.deep.dqn import steps_per_iteration
from pdrm.learning.deep.many_envs import Act
from pdrm.learning.deep.networks import (
    ADAM_SMALL,
    LOG_2_PI,
    Layer,
    apply,
    chosen,
    descended,
    hidden_layers,
    normals,
    side_by_side,
    uniform_layer,
)
from pdrm.learning.deep.replay import Experience, Experiences, begin_experiences, lived, off_policy_rate, remembered
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

Critics = tuple[Layer, ...]
LOWEST_LOG_DEVIATION, HIGHEST_LOG_DEVIATION = -20.0, 2.0


class Networks(NamedTuple):
    """The parameters; each part has an optimiser of its own."""

    actor: tuple[Layer, ...]
    """The last layer says means and logarithms of deviations."""
    critics: tuple[Layer, ...]
    """Each [2, ...]: two critics."""
    log_weight: jax.Array
    """The logarithm of the weight of entropy."""


class SACState(NamedTuple):
    """Where a run stands."""

    network: Networks
    target: tuple[Layer, ...]
    """The critics' slow copies."""
    optimiser: Networks
    """The optimisers' states, part by part."""
    past: Experiences
    key: Key
    timesteps: jax.Array


def network(product: JaxProduct, settings: SAC, rng: np.random.Generator) -> Networks:
    """The first parameters."""
    inputs, action = product.observation_size, product.domain.action_size
    actor = _layers(rng, (inputs, *settings.net_arch, 2 * action))
    critics = side_by_side([_layers(rng, (inputs + action, *settings.net_arch, 1)) for _ in range(2)])
    weight = 1.0 if settings.ent_coef is None else settings.ent_coef
    return Networks(actor, critics, jnp.log(jnp.float32(weight)))


def _layers(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[Layer, ...]:
    return tuple(uniform_layer(rng, before, after) for before, after in pairwise(sizes))


def _forward(layers: tuple[Layer, ...], x: jax.Array) -> jax.Array:
    return apply(layers[-1], hidden_layers(layers[:-1], x, jax.nn.relu))


def _critics(layers: Critics, seen: jax.Array, action: jax.Array) -> jax.Array:
    """What both say, [2, batch]."""
    x = jnp.concatenate((seen, action), axis=-1)
    return _forward(layers, jnp.broadcast_to(x, (2, *x.shape)))[..., 0]


def _drawn(actor: tuple[Layer, ...], seen: jax.Array, keys: Key) -> tuple[jax.Array, jax.Array]:
    """Actions and the logarithms of their densities."""
    mean, spread = jnp.split(_forward(actor, seen), 2, axis=-1)
    spread = jnp.clip(spread, LOWEST_LOG_DEVIATION, HIGHEST_LOG_DEVIATION)
    noise = normals(keys, mean.shape[-1])
    action = jnp.tanh(mean + jnp.exp(spread) * noise)
    density = -0.5 * (noise * noise + LOG_2_PI) - spread - jnp.log(1 - action * action + 1e-6)
    return action, density.sum(axis=-1)


def act(_product: JaxProduct, _settings: SAC, network: Networks) -> Act:
    """The policy without noise."""
    return lambda memory, seen, _start: (memory, jnp.tanh(jnp.split(_forward(network.actor, seen), 2, axis=-1)[0]))


def begin(product: JaxProduct, settings: SAC, network: Networks, key: Key) -> SACState:
    """Before the first step."""
    past = begin_experiences(product, settings, key_of(key, 1))
    optimiser = Networks(*(ADAM_SMALL.init(part) for part in network))
    return SACState(network, network.critics, optimiser, past, key_of(key, 2), jnp.int32(0))


def iterate(product: JaxProduct, settings: SAC, state: SACState) -> tuple[SACState, SACMetrics]:
    """Live on for `train_freq` steps, then learn, once enough has been lived through."""
    size = product.domain.action_size

    def choose(seen: jax.Array, keys: Key) -> jax.Array:
        anything = jax.vmap(lambda key: 2 * uniforms(key ^ 1, size) - 1)(keys)
        early = state.timesteps < settings.learning_starts
        return jnp.where(early, anything, _drawn(state.network.actor, seen, keys)[0])

    past, tally = lived(product, settings, state.past, choose)
    state = state._replace(past=past, timesteps=state.timesteps + steps_per_iteration(settings))
    learner = (state.network, state.target, state.optimiser)
    after, losses = jax.lax.scan(
        lambda carry, number: _updated(product, settings, state, carry, number),
        learner,
        jnp.arange(settings.gradient_steps),
    )
    after = chosen(state.timesteps > settings.learning_starts, after, learner)
    state = state._replace(network=after[0], target=after[1], optimiser=after[2], key=key_of(state.key, 0))
    return state, SACMetrics(tally, losses.mean())


Learner = tuple[Networks, tuple[Layer, ...], Networks]
"""The networks, the critics' slow copies, the optimisers' states."""


def _updated(
    product: JaxProduct, settings: SAC, state: SACState, learner: Learner, number: jax.Array
) -> tuple[Learner, jax.Array]:
    """One step each of the weight of entropy, the critics and the actor, and the slow copies moved by τ."""
    (network, target, optimiser), key = learner, key_of(state.key, number + 1)
    batch = remembered(product, settings, state.past, jax.random.key(key))
    keys = key_of(key, jnp.arange(2 * len(batch.reward))).reshape(2, -1)
    rate = off_policy_rate(settings, state.timesteps)

    action, density = _drawn(network.actor, batch.seen, keys[0])
    log_weight, weight_optimiser = network.log_weight, optimiser.log_weight
    if settings.ent_coef is None:
        wanted = -float(action.shape[-1]) if settings.target_entropy is None else settings.target_entropy
        slope = -_mean(density + wanted, batch)
        log_weight, weight_optimiser = descended(ADAM_SMALL, log_weight, weight_optimiser, slope, rate)
    weight = jnp.exp(network.log_weight)

    error, gradient = jax.value_and_grad(_critics_loss)(
        network.critics, _goal(network, target, batch, keys[1], weight), batch
    )
    critics, critics_optimiser = descended(ADAM_SMALL, network.critics, optimiser.critics, gradient, rate)

    def actor_loss(candidate: tuple[Layer, ...]) -> jax.Array:
        action, density = _drawn(candidate, batch.seen, keys[0])
        return _mean(weight * density - _critics(critics, batch.seen, action).min(axis=0), batch)

    actor, actor_optimiser = descended(
        ADAM_SMALL, network.actor, optimiser.actor, jax.grad(actor_loss)(network.actor), rate
    )
    moved = jax.tree.map(lambda new, old: old + settings.tau * (new - old), critics, target)
    optimiser = Networks(actor_optimiser, critics_optimiser, weight_optimiser)
    return (Networks(actor, critics, log_weight), moved, optimiser), error


def _goal(network: Networks, target: Critics, batch: Experience, keys: Key, weight: jax.Array) -> jax.Array:
    """What the critics should say."""
    action, density = _drawn(network.actor, batch.following, keys)
    following = _critics(target, batch.following, action).min(axis=0) - weight * density
    return batch.reward + batch.discount * jnp.where(batch.terminated, 0, following)


def _critics_loss(critics: tuple[Layer, ...], goal: jax.Array, batch: Experience) -> jax.Array:
    off = _critics(critics, batch.seen, batch.action) - goal
    return 0.5 * _mean((off * off).sum(axis=0), batch)


def _mean(rows: jax.Array, batch: Experience) -> jax.Array:
    mean: jax.Array = (rows * batch.weight).sum() / jnp.maximum(batch.weight.sum(), 1)
    return mean
