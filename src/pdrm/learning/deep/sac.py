"""Soft actor-critic (Haarnoja et al. 2018), as Stable-Baselines3 does it, with or without counterfactual experience.

Actions are vectors in [-1, 1]: a Gaussian squashed by tanh. Two critics, the lower of which counts; the weight of entropy is
learnt unless it is given. Experience is collected, sampled and made counterfactual as for DQN (`replay`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import optax

from pdrm.learning.agents import SAC
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep import replay
from pdrm.learning.deep.many_envs import Act, Tally, empty_memory
from pdrm.learning.deep.replay import steps_per_iteration
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

__all__ = ["act", "begin", "empty_memory", "iterate", "new_network", "steps_per_iteration"]

LOWEST_LOG_DEVIATION, HIGHEST_LOG_DEVIATION = -20.0, 2.0


class Networks(NamedTuple):
    """The parameters; each part has an optimiser of its own."""

    actor: nn.Layers  # the last layer: means and logarithms of deviations
    critics: nn.Layers  # each [2, ...]: two critics
    log_weight: jax.Array  # the logarithm of the weight of entropy


class SACState(NamedTuple):
    """The state of a run."""

    network: Networks
    target: nn.Layers  # the critics' slow copies
    optimiser: Networks  # the optimisers' states, part by part
    past: replay.Past
    key: Key
    timesteps: jax.Array


Trainable = tuple[Networks, nn.Layers, Networks]
"""The networks, the critics' slow copies, the optimisers' states."""


def new_network(product: JaxProduct, settings: SAC, rng: np.random.Generator) -> Networks:
    """The first parameters."""
    inputs, action = product.observation_size, product.domain.action_size
    actor = nn.uniform_layers(rng, (inputs, *settings.net_arch, 2 * action))
    critics = nn.stack_trees(
        [nn.uniform_layers(rng, (inputs + action, *settings.net_arch, 1)) for _ in range(2)]
    )
    weight = 1.0 if settings.ent_coef is None else settings.ent_coef
    return Networks(actor, critics, jnp.log(jnp.float32(weight)))


def sample_action(actor: nn.Layers, seen: jax.Array, keys: Key) -> tuple[jax.Array, jax.Array]:
    """[B, action size] actions, and [B] the logarithms of their densities."""
    mean, spread = jnp.split(nn.apply_mlp(actor, seen), 2, axis=-1)
    spread = jnp.clip(spread, LOWEST_LOG_DEVIATION, HIGHEST_LOG_DEVIATION)
    noise = nn.draw_normals(keys, mean.shape[-1])
    action = jnp.tanh(mean + jnp.exp(spread) * noise)
    density = -0.5 * (noise * noise + nn.LOG_2_PI) - spread - jnp.log(1 - action * action + 1e-6)
    return action, density.sum(axis=-1)


def criticise(critics: nn.Layers, seen: jax.Array, action: jax.Array) -> jax.Array:
    """[2, B]: the values of both critics."""
    x = jnp.concatenate((seen, action), axis=-1)
    return nn.apply_mlp(critics, jnp.broadcast_to(x, (2, *x.shape)))[..., 0]


def act(_product: JaxProduct, _settings: SAC, network: Networks) -> Act:
    """The policy without noise."""
    return lambda memory, seen, _start: (
        memory,
        jnp.tanh(jnp.split(nn.apply_mlp(network.actor, seen), 2, axis=-1)[0]),
    )


def begin(product: JaxProduct, settings: SAC, network: Networks, key: Key) -> SACState:
    """Before the first step."""
    past = replay.begin_past(product, settings, key_of(key, 1))
    optimiser = Networks(*(nn.ADAM_SMALL.init(part) for part in network))
    return SACState(network, network.critics, optimiser, past, key_of(key, 2), jnp.int32(0))


def iterate(product: JaxProduct, settings: SAC, state: SACState) -> tuple[SACState, Tally]:
    """Collect, then learn."""
    size = product.domain.action_size

    def choose(seen: jax.Array, keys: Key) -> jax.Array:
        anything = jax.vmap(lambda key: 2 * uniforms(key ^ 1, size) - 1)(keys)
        early = state.timesteps < settings.learning_starts
        return jnp.where(early, anything, sample_action(state.network.actor, seen, keys)[0])

    past, tally = replay.collect(product, settings, state.past, choose)
    state = state._replace(past=past, timesteps=state.timesteps + steps_per_iteration(settings))

    def update(before: Trainable, number: jax.Array) -> tuple[Trainable, None]:
        return _update(product, settings, state, before, key_of(state.key, number + 1))

    before = (state.network, state.target, state.optimiser)
    numbers = jnp.arange(settings.gradient_steps)
    network, target, optimiser = replay.learn(settings, state.timesteps, before, update, numbers)
    after = SACState(network, target, optimiser, past, key_of(state.key, 0), state.timesteps)
    return after, tally


def _update(
    product: JaxProduct, settings: SAC, state: SACState, before: Trainable, key: Key
) -> tuple[Trainable, None]:
    """One step each of the weight of entropy, the critics and the actor, and the slow copies moved by τ."""
    network, target, optimiser = before
    batch = replay.sample_batch(product, settings, state.past, jax.random.key(key))
    keys = key_of(key, jnp.arange(2 * len(batch.reward))).reshape(2, -1)
    rate = nn.learning_rate(settings, state.timesteps)
    descend = partial(nn.apply_gradient, nn.ADAM_SMALL, rate=rate)

    action, density = sample_action(network.actor, batch.seen, keys[0])
    log_weight, weight_optimiser = network.log_weight, optimiser.log_weight
    if settings.ent_coef is None:
        wanted = settings.target_entropy
        if wanted is None:
            wanted = -float(action.shape[-1])
        gradient = -nn.weighted_mean(density + wanted, batch.weight)
        log_weight, weight_optimiser = descend(log_weight, weight_optimiser, gradient)
    weight = jnp.exp(network.log_weight)

    next_action, next_density = sample_action(network.actor, batch.following, keys[1])
    following = criticise(target, batch.following, next_action).min(axis=0) - weight * next_density
    goal = batch.target(following)

    def critics_loss(candidate: nn.Layers) -> jax.Array:
        off = criticise(candidate, batch.seen, batch.action) - goal
        return 0.5 * nn.weighted_mean((off * off).sum(axis=0), batch.weight)

    gradients = jax.grad(critics_loss)(network.critics)
    critics, critics_optimiser = descend(network.critics, optimiser.critics, gradients)

    def actor_loss(candidate: nn.Layers) -> jax.Array:
        action, density = sample_action(candidate, batch.seen, keys[0])
        # Not `.min(axis=0)`: its derivative is 0 / 0 if the compiler computes an operand twice and rounds differently.
        value = jnp.minimum(*criticise(critics, batch.seen, action))
        return nn.weighted_mean(weight * density - value, batch.weight)

    gradients = jax.grad(actor_loss)(network.actor)
    actor, actor_optimiser = descend(network.actor, optimiser.actor, gradients)
    moved = optax.incremental_update(critics, target, settings.tau)
    optimiser = Networks(actor_optimiser, critics_optimiser, weight_optimiser)
    return (Networks(actor, critics, log_weight), moved, optimiser), None
