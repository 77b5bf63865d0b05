"""Deep Q-learning (Mnih et al. 2015), as Stable-Baselines3 does it, with or without counterfactual experience.

An iteration is `train_freq` steps of all environments and `gradient_steps` updates. The buffer holds labelled transitions;
what the network sees of them, and of counterfactual ones, is made when they are sampled (`replay`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from pdrm.learning.agents import DQN
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep import replay
from pdrm.learning.deep.many_envs import Act, Tally, empty_memory
from pdrm.learning.deep.replay import steps_per_iteration
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

__all__ = ["act", "begin", "empty_memory", "iterate", "new_network", "steps_per_iteration"]


class DQNState(NamedTuple):
    """The state of a run."""

    network: nn.Layers
    target: nn.Layers
    optimiser: Any
    past: replay.Past
    key: Key
    timesteps: jax.Array


def new_network(product: JaxProduct, settings: DQN, rng: np.random.Generator) -> nn.Layers:
    """The first parameters: hidden layers and one value for each action."""
    return nn.uniform_layers(
        rng, (product.observation_size, *settings.net_arch, product.domain.actions)
    )


def greedy_action(network: nn.Layers, seen: jax.Array) -> jax.Array:
    """[B]: the actions of highest value."""
    return nn.apply_mlp(network, seen).argmax(axis=-1).astype(jnp.int32)


def act(_product: JaxProduct, _settings: DQN, network: nn.Layers) -> Act:
    """The greedy policy."""
    return lambda memory, seen, _start: (memory, greedy_action(network, seen))


def begin(product: JaxProduct, settings: DQN, network: nn.Layers, key: Key) -> DQNState:
    """Before the first step."""
    past = replay.begin_past(product, settings, key_of(key, 1))
    return DQNState(
        network, network, nn.ADAM_SMALL.init(network), past, key_of(key, 2), jnp.int32(0)
    )


def iterate(product: JaxProduct, settings: DQN, state: DQNState) -> tuple[DQNState, Tally]:
    """Collect, then learn."""
    epsilon = exploration(settings, state.timesteps)

    def choose(seen: jax.Array, keys: Key) -> jax.Array:
        number = jax.vmap(lambda key: uniforms(key, 2))(keys)
        anything = (number[:, 1] * product.domain.actions).astype(jnp.int32)
        return jnp.where(number[:, 0] < epsilon, anything, greedy_action(state.network, seen))

    past, tally = replay.collect(product, settings, state.past, choose)
    timesteps = state.timesteps + steps_per_iteration(settings)
    rate = nn.learning_rate(settings, timesteps)

    def update(before: tuple[nn.Layers, Any], key: jax.Array) -> tuple[tuple[nn.Layers, Any], None]:
        """One step down the temporal difference error, by Huber's loss."""
        batch = replay.sample_batch(product, settings, past, key)
        goal = batch.target(nn.apply_mlp(state.target, batch.following).max(axis=-1))

        def loss(network: nn.Layers) -> jax.Array:
            values = nn.apply_mlp(network, batch.seen)
            value = (values * jax.nn.one_hot(batch.action, values.shape[-1])).sum(axis=-1)
            return nn.weighted_mean(optax.losses.huber_loss(value, goal), batch.weight)

        gradient = jax.grad(loss)(before[0])
        norm = settings.max_grad_norm
        return nn.apply_gradient(nn.ADAM_SMALL, *before, gradient, rate, norm), None

    keys = jax.random.split(jax.random.key(key_of(state.key, 1)), settings.gradient_steps)
    network, optimiser = replay.learn(
        settings, timesteps, (state.network, state.optimiser), update, keys
    )
    target = _move_target(settings, timesteps, network, state.target)
    after = DQNState(network, target, optimiser, past, key_of(state.key, 0), timesteps)
    return after, tally


def exploration(settings: DQN, timesteps: jax.Array) -> jax.Array:
    """ε falls linearly over the first `exploration_fraction` of training."""
    share = jnp.clip(timesteps / (settings.exploration_fraction * settings.total_timesteps), 0, 1)
    fall = settings.exploration_initial_eps - settings.exploration_final_eps
    return settings.exploration_initial_eps - share * fall


def _move_target(
    settings: DQN, timesteps: jax.Array, network: nn.Layers, target: nn.Layers
) -> nn.Layers:
    """The target network, moved by τ every `target_update_interval` steps."""
    interval = max(1, settings.target_update_interval // steps_per_iteration(settings))
    due = timesteps // steps_per_iteration(settings) % interval == 0
    return nn.select(due, optax.incremental_update(network, target, settings.tau), target)
