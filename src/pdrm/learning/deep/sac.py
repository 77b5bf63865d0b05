"""Soft actor-critic (Haarnoja et al. 2018), as Stable-Baselines3 does it, with or without counterfactual experience.

Actions are vectors in [-1, 1]: a Gaussian squashed by tanh. Two critics, the lower of which counts; the weight of entropy is
learnt unless it is given. Experience is collected, sampled and made counterfactual as for DQN (`replay`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from pdrm.learning.agents import SAC
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.algorithm import Carry
from pdrm.learning.deep.replay import Learnt, OffPolicyAlgorithm, OffPolicyState
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms

LOWEST_LOG_DEVIATION, HIGHEST_LOG_DEVIATION = -20.0, 2.0


class Networks(NamedTuple):
    """The parameters; each part has an optimiser of its own."""

    actor: nn.Layers  # the last layer: means and logarithms of deviations
    critics: nn.Layers  # each [2, ...]: two critics
    log_weight: jax.Array  # the logarithm of the weight of entropy


def judge(actor: nn.Layers, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
    """[B, action size] each: the means, and the logarithms of the deviations."""
    mean, spread = jnp.split(nn.apply_mlp(actor, seen), 2, axis=-1)
    return mean, jnp.clip(spread, LOWEST_LOG_DEVIATION, HIGHEST_LOG_DEVIATION)


def sample_action(actor: nn.Layers, seen: jax.Array, keys: Key) -> tuple[jax.Array, jax.Array]:
    """[B, action size] actions, and [B] the logarithms of their densities."""
    mean, spread = judge(actor, seen)
    noise = nn.draw_normals(keys, mean.shape[-1])
    action = jnp.tanh(mean + jnp.exp(spread) * noise)
    density = -0.5 * (noise * noise + nn.LOG_2_PI) - spread - jnp.log(1 - action * action + 1e-6)
    return action, density.sum(axis=-1)


def criticise(critics: nn.Layers, seen: jax.Array, action: jax.Array) -> jax.Array:
    """[2, B]: the values of both critics."""
    x = jnp.concatenate((seen, action), axis=-1)
    return nn.apply_mlp(critics, jnp.broadcast_to(x, (2, *x.shape)))[..., 0]


@dataclass(frozen=True, eq=False)
class SACAlgorithm(OffPolicyAlgorithm):
    """SAC: an actor and two critics, of which there are slow copies."""

    settings: SAC

    def new_network(self, rng: nn.Rng) -> Networks:
        """The first parameters."""
        inputs, action = self.product.observation_size, self.product.domain.action_size
        hidden = self.settings.net_arch
        actor = nn.uniform_layers(rng, (inputs, *hidden, 2 * action))
        critics = nn.stack_trees(
            [nn.uniform_layers(rng, (inputs + action, *hidden, 1)) for _ in range(2)]
        )
        weight = 1.0 if self.settings.ent_coef is None else self.settings.ent_coef
        return Networks(actor, critics, jnp.log(jnp.float32(weight)))

    def begin_learning(self, network: Networks) -> Learnt:
        """Before the first update."""
        return Learnt(network, network.critics, Networks(*map(nn.ADAM_SMALL.init, network)))

    def act(
        self, network: Networks, memory: Carry, seen: jax.Array, start: jax.Array
    ) -> tuple[Carry, jax.Array]:
        """The means."""
        del start
        return memory, jnp.tanh(judge(network.actor, seen)[0])

    def explore(self, state: OffPolicyState, seen: jax.Array, keys: Key) -> jax.Array:
        """[N, action size]: sampled actions; uniform ones until learning starts."""
        size = self.product.domain.action_size
        anything = jax.vmap(lambda key: 2 * uniforms(key ^ 1, size) - 1)(keys)
        early = state.timesteps < self.settings.learning_starts
        return jnp.where(early, anything, sample_action(state.network.actor, seen, keys)[0])

    def update_inputs(self, key: Key) -> jax.Array:
        """[gradient_steps]: the number of each update of an iteration."""
        del key
        return jnp.arange(self.settings.gradient_steps)

    def update(self, state: OffPolicyState, learnt: Learnt, number: jax.Array) -> Learnt:
        """One step each of the weight of entropy, the critics and the actor, and the slow copies moved by τ."""
        network, target, optimiser = learnt
        # Made here, not before the scan: the compiler would join operations in another way, and round others.
        key = key_of(state.key, number + 1)
        batch = self.sample(state, jax.random.key(key))
        keys = key_of(key, jnp.arange(2 * len(batch.reward))).reshape(2, -1)
        rate = nn.learning_rate(self.settings, state.timesteps)
        descend = partial(nn.apply_gradient, nn.ADAM_SMALL, rate=rate)

        action, density = sample_action(network.actor, batch.seen, keys[0])
        log_weight, weight_optimiser = network.log_weight, optimiser.log_weight
        if self.settings.ent_coef is None:
            wanted = self.settings.target_entropy
            if wanted is None:
                wanted = -float(action.shape[-1])
            gradient = -nn.weighted_mean(density + wanted, batch.weight)
            log_weight, weight_optimiser = descend(log_weight, weight_optimiser, gradient)
        weight = jnp.exp(network.log_weight)

        next_action, next_density = sample_action(network.actor, batch.following, keys[1])
        lower = criticise(target, batch.following, next_action).min(axis=0)
        goal = batch.target(lower - weight * next_density)

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
        moved = optax.incremental_update(critics, target, self.settings.tau)
        optimisers = Networks(actor_optimiser, critics_optimiser, weight_optimiser)
        return Learnt(Networks(actor, critics, log_weight), moved, optimisers)
