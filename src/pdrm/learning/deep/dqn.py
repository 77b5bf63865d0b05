"""Deep Q-learning (Mnih et al. 2015), as Stable-Baselines3 does it, with or without counterfactual experience.

The buffer holds labelled transitions; what the network sees of them, and of counterfactual ones, is made when they are sampled
(`replay`).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax

from pdrm.learning.agents import DQN
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.algorithm import Carry
from pdrm.learning.deep.replay import Learnt, OffPolicyAlgorithm, OffPolicyState
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms


@dataclass(frozen=True, eq=False)
class DQNAlgorithm(OffPolicyAlgorithm):
    """DQN: a network with one value for each action."""

    settings: DQN

    def new_network(self, rng: nn.Rng) -> nn.Layers:
        """The first parameters."""
        inputs, outputs = self.product.observation_size, self.product.domain.actions
        return nn.uniform_layers(rng, (inputs, *self.settings.net_arch, outputs))

    def begin_learning(self, network: nn.Layers) -> Learnt:
        """Before the first update."""
        return Learnt(network, network, nn.ADAM_SMALL.init(network))

    def act(
        self, network: nn.Layers, memory: Carry, seen: jax.Array, start: jax.Array
    ) -> tuple[Carry, jax.Array]:
        """The actions of highest value."""
        del start
        return memory, nn.apply_mlp(network, seen).argmax(axis=-1).astype(jnp.int32)

    def explore(self, state: OffPolicyState, seen: jax.Array, keys: Key) -> jax.Array:
        """[N]: any action with probability ε, which falls linearly over the first `exploration_fraction` of training."""
        settings = self.settings
        length = settings.exploration_fraction * settings.total_timesteps
        fall = settings.exploration_initial_eps - settings.exploration_final_eps
        share = jnp.clip(state.timesteps / length, 0, 1)
        epsilon = settings.exploration_initial_eps - share * fall
        number = jax.vmap(lambda key: uniforms(key, 2))(keys)
        anything = (number[:, 1] * self.product.domain.actions).astype(jnp.int32)
        greedy = self.act(state.network, (), seen, keys)[1]
        return jnp.where(number[:, 0] < epsilon, anything, greedy)

    def update_inputs(self, key: Key) -> jax.Array:
        """[gradient_steps]: a key for each update of an iteration."""
        return jax.random.split(jax.random.key(key_of(key, 1)), self.settings.gradient_steps)

    def update(self, state: OffPolicyState, learnt: Learnt, key: jax.Array) -> Learnt:
        """One step down the temporal difference error, by Huber's loss."""
        network, target, optimiser = learnt
        batch = self.sample(state, key)
        goal = batch.target(nn.apply_mlp(target, batch.following).max(axis=-1))

        def loss(network: nn.Layers) -> jax.Array:
            values = nn.apply_mlp(network, batch.seen)
            value = (values * jax.nn.one_hot(batch.action, values.shape[-1])).sum(axis=-1)
            return nn.weighted_mean(optax.losses.huber_loss(value, goal), batch.weight)

        gradient = jax.grad(loss)(network)
        rate = nn.learning_rate(self.settings, state.timesteps)
        norm = self.settings.max_grad_norm
        network, optimiser = nn.apply_gradient(
            nn.ADAM_SMALL, network, optimiser, gradient, rate, norm
        )
        return Learnt(network, target, optimiser)

    def iterate(self, state: OffPolicyState) -> OffPolicyState:
        """Collect, then learn; the target network is moved by τ every `target_update_interval` steps."""
        after = OffPolicyAlgorithm.iterate(self, state)
        interval = max(1, self.settings.target_update_interval // self.steps_per_iteration)
        due = after.timesteps // self.steps_per_iteration % interval == 0
        network, target, _ = after.learnt
        moved = optax.incremental_update(network, target, self.settings.tau)
        learnt = after.learnt._replace(target=nn.select(due, moved, target))
        return after._replace(learnt=learnt)
