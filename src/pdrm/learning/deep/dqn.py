"""Deep Q-learning (Mnih et al. 2015), as Stable-Baselines3 does it, with or without counterfactual experiences.

An iteration is `train_freq` steps of all environments and `gradient_steps` updates. The buffer holds labelled transitions;
what the network sees of them, and of imagined ones, is made when they are sampled.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import DQN, OffPolicy
from pdrm.learning.deep.many_envs import Act, Tally
from pdrm.learning.deep.networks import (
    ADAM_SMALL,
    Layer,
    apply,
    chosen,
    clipped,
    descended,
    hidden_layers,
    uniform_layer,
)
from pdrm.learning.deep.replay import Experiences, begin_experiences, lived, off_policy_rate, remembered
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

Network = tuple[Layer, ...]


class DQNState(NamedTuple):
    """Where a run stands."""

    network: Network
    target: Network
    optimiser: Any
    past: Experiences
    key: Key
    timesteps: jax.Array


class DQNMetrics(NamedTuple):
    """What an iteration came to."""

    tally: Tally
    loss: jax.Array


def network(product: JaxProduct, settings: DQN, rng: np.random.Generator) -> Network:
    """The first parameters: hidden layers and one value for each action."""
    sizes = (product.observation_size, *settings.net_arch, product.domain.actions)
    return tuple(uniform_layer(rng, before, after) for before, after in pairwise(sizes))


def values(layers: Network, seen: jax.Array) -> jax.Array:
    """Of every action, [batch, actions]."""
    return apply(layers[-1], hidden_layers(layers[:-1], seen, jax.nn.relu))


def act(_product: JaxProduct, _settings: DQN, layers: Network) -> Act:
    """The greedy policy."""
    return lambda memory, seen, _start: (memory, values(layers, seen).argmax(axis=-1).astype(jnp.int32))


def begin(product: JaxProduct, settings: DQN, network: Network, key: Key) -> DQNState:
    """Before the first step."""
    past = begin_experiences(product, settings, key_of(key, 1))
    return DQNState(network, network, ADAM_SMALL.init(network), past, key_of(key, 2), jnp.int32(0))


def steps_per_iteration(settings: OffPolicy) -> int:
    """Steps that an iteration takes, over all environments."""
    return settings.train_freq * settings.n_envs


def iterate(product: JaxProduct, settings: DQN, state: DQNState) -> tuple[DQNState, DQNMetrics]:
    """Live on for `train_freq` steps, then learn, once enough has been lived through."""
    layers = state.network
    epsilon = exploration(settings, state.timesteps)

    def choose(seen: jax.Array, keys: Key) -> jax.Array:
        number = jax.vmap(lambda key: uniforms(key, 2))(keys)
        anything = (number[:, 1] * product.domain.actions).astype(jnp.int32)
        return jnp.where(number[:, 0] < epsilon, anything, values(layers, seen).argmax(axis=-1).astype(jnp.int32))

    past, tally = lived(product, settings, state.past, choose)
    state = state._replace(past=past, timesteps=state.timesteps + steps_per_iteration(settings))
    (network, optimiser), losses = jax.lax.scan(
        lambda carry, key: _updated(product, settings, state, carry, key),
        (state.network, state.optimiser),
        jax.random.split(jax.random.key(key_of(state.key, 1)), settings.gradient_steps),
    )
    network, optimiser = chosen(
        state.timesteps > settings.learning_starts, (network, optimiser), (state.network, state.optimiser)
    )
    state = state._replace(network=network, optimiser=optimiser, key=key_of(state.key, 0))
    return _with_target(settings, state), DQNMetrics(tally, losses.mean())


def exploration(settings: DQN, timesteps: jax.Array) -> jax.Array:
    """ε falls linearly over the first `exploration_fraction` of training."""
    share = jnp.clip(timesteps / (settings.exploration_fraction * settings.total_timesteps), 0, 1)
    fall = settings.exploration_initial_eps - settings.exploration_final_eps
    return settings.exploration_initial_eps - share * fall


def _updated(
    product: JaxProduct, settings: DQN, state: DQNState, carry: tuple[Network, Any], key: jax.Array
) -> tuple[tuple[Network, Any], jax.Array]:
    """One step down the temporal difference error, by Huber's loss."""
    layers, optimiser = carry
    batch = remembered(product, settings, state.past, key)
    following = values(state.target, batch.following).max(axis=-1)
    goal = batch.reward + batch.discount * jnp.where(batch.terminated, 0, following)

    def loss(candidate: Network) -> jax.Array:
        said = values(candidate, batch.seen)
        off = (said * jax.nn.one_hot(batch.action, said.shape[-1])).sum(axis=-1) - goal
        huber = jnp.where(jnp.abs(off) < 1, 0.5 * off * off, jnp.abs(off) - 0.5)
        return (huber * batch.weight).sum() / jnp.maximum(batch.weight.sum(), 1)

    error, gradient = jax.value_and_grad(loss)(layers)
    rate = off_policy_rate(settings, state.timesteps)
    return descended(ADAM_SMALL, layers, optimiser, clipped(gradient, settings.max_grad_norm), rate), error


def _with_target(settings: DQN, state: DQNState) -> DQNState:
    """The target network moved by τ, every `target_update_interval` steps."""
    interval = max(1, settings.target_update_interval // steps_per_iteration(settings))
    due = state.timesteps // steps_per_iteration(settings) % interval == 0
    moved = jax.tree.map(lambda new, old: old + settings.tau * (new - old), state.network, state.target)
    return state._replace(target=chosen(due, moved, state.target))
