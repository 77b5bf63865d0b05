"""Proximal policy optimisation (Schulman et al. 2017), as in Stable-Baselines3, and recurrent PPO.

An iteration takes `n_steps` steps in all environments, and then learns from shuffled batches
for `n_epochs`. Truncated episodes are bootstrapped with the value of their last observation.
Networks see scaled rewards. Experience is stored in sequences for networks with a memory.
Without a memory, a sequence is a single step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from pdrm.learning.agents import PPO, RecurrentPPO
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.algorithm import (
    Algorithm,
    Carry,
    Envs,
    action_keys,
    begin_envs,
    scale_reward,
    step_envs,
)
from pdrm.learning.settings import Number
from pdrm.product.jax_env.jax_domain import Key, key_of

Pair = tuple[Array, Array]

# --- Advantages and the loss.


def advantages(
    reward: Array,
    value: Array,
    over: Array,
    last_value: Array,
    gamma: Number,
    gae_lambda: Number,
) -> Array:
    """[T, N]: generalised advantage estimation (Schulman et al. 2016) as one associative scan.

    A_t = δ_t + γ λ A_{t+1} up to the end of the episode, with δ_t = r_t + γ V_{t+1} − V_t. `reward`
    includes the value of the last observation of truncated episodes.

    >>> one = jnp.ones((2, 1))
    >>> advantages(one, 0 * one, one < 0, jnp.zeros(1), 0.5, 1.0).ravel().tolist()
    [1.5, 1.0]
    """
    ongoing = jnp.where(over, 0.0, 1.0)
    next_value = jnp.concatenate((value[1:], last_value[None]))
    error = reward + gamma * next_value * ongoing - value

    def join(later: Pair, earlier: Pair) -> Pair:
        return earlier[0] * later[0], earlier[1] + earlier[0] * later[1]

    factors = gamma * gae_lambda * ongoing
    total: Array = jax.lax.associative_scan(join, (factors, error), reverse=True)[1]
    return total


class Batch(NamedTuple):
    """Rows of experience, [B, ...]."""

    observation: Array
    action: Array
    log_probability: Array
    value: Array
    advantage: Array


def ppo_loss(settings: PPO, batch: Batch, outputs: nn.PolicyOutputs, weight: Array) -> Pair:
    """The loss, and the approximate Kullback-Leibler divergence from the old policy, as in SB3.

    Args:
        settings: The settings.
        batch: The experience.
        outputs: The networks' outputs for its observations.
        weight: [B]: 0 for rows that only pad the batch.
    """
    advantage = batch.advantage
    if settings.normalize_advantage:
        deviation = advantage - nn.weighted_mean(advantage, weight)
        variance = (deviation * deviation * weight).sum() / jnp.maximum(weight.sum() - 1, 1)
        advantage = deviation / (jnp.sqrt(variance) + 1e-8)
    log_ratio = nn.log_probability(outputs, batch.action) - batch.log_probability
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
    gain = jnp.minimum(advantage * ratio, advantage * clipped)
    policy_loss = -nn.weighted_mean(gain, weight)
    value = outputs.value
    limit = settings.clip_range_vf
    if limit is not None:
        value = batch.value + jnp.clip(value - batch.value, -limit, limit)
    reward_to_go = batch.advantage + batch.value
    value_loss = nn.weighted_mean((reward_to_go - value) ** 2, weight)
    entropy = nn.weighted_mean(nn.entropy(outputs), weight)
    divergence = nn.weighted_mean(jax.lax.stop_gradient(ratio - 1 - log_ratio), weight)
    loss = policy_loss - settings.ent_coef * entropy + settings.vf_coef * value_loss
    return loss, divergence


# --- The agent.


class RolloutCarry(NamedTuple):
    """The state between two steps of a rollout."""

    envs: Envs
    seen: Array
    start: Array  # [N]: True for the first observation of an episode
    before: Carry  # the memories before the observations
    after: Carry  # the memories after them
    outputs: nn.PolicyOutputs


class Sequences(NamedTuple):
    """Experience in sequences, [S, T, ...]."""

    rows: Batch
    start: Array  # True at the start of an episode
    memory: Carry  # [S, 2, units]: before each sequence


class PPOState(NamedTuple):
    """The state of a run."""

    network: Any
    optimiser: Any
    envs: Envs
    memory: Carry  # before the present observations
    start: Array  # [N]: True if the next step is the first of an episode
    key: Key
    timesteps: Array


class PPOAlgorithm(Algorithm):
    """PPO for networks without a memory."""

    settings: PPO

    # --- Methods that a memory changes

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return 1

    def new_network(self, rng: nn.Rng) -> Any:
        """The initial parameters."""
        inputs = self.product.observation_size
        return nn.new_actor_critic(rng, inputs, self.settings.net_arch, self.product.domain)

    def forward(
        self, network: Any, memory: Carry, seen: Array, _start: Array
    ) -> tuple[Carry, nn.PolicyOutputs]:
        """The memories after one step of [N, inputs], and the networks' outputs."""
        return memory, nn.forward(network, seen)

    def forward_sequences(self, network: Any, sequences: Sequences) -> nn.PolicyOutputs:
        """The networks' outputs for whole sequences, [S * T] rows."""
        return nn.forward(network, _merge(sequences.rows.observation))

    # --- Methods that it does not change

    def act(self, network: Any, memory: Carry, seen: Array, start: Array) -> tuple[Carry, Array]:
        """The most likely actions."""
        memory, outputs = self.forward(network, memory, seen, start)
        return memory, nn.best_action(outputs)

    def begin(self, network: Any, key: Key) -> PPOState:
        """The state before the first step."""
        settings = self.settings
        envs = begin_envs(self.product, settings, key_of(key, 1), restarts=settings.restarts > 0)
        memory = self.empty_memory(settings.n_envs)
        start = jnp.ones(settings.n_envs, jnp.bool_)
        optimiser = nn.ADAM.init(network)
        return PPOState(network, optimiser, envs, memory, start, key_of(key, 2), jnp.int32(0))

    def iterate(self, state: PPOState) -> PPOState:
        """Collect experience, and learn from it."""
        after, sequences = self.collect(state)
        return self.descend(after, sequences)._replace(key=key_of(state.key, 0))

    def collect(self, state: PPOState) -> tuple[PPOState, Sequences]:
        """The state after `n_steps` of every environment, and the experience in sequences."""
        product = self.product
        settings = self.settings
        count = self.settings.n_envs
        observe = jax.vmap(product.observe)

        def step(now: RolloutCarry, _: None) -> tuple[RolloutCarry, tuple[Any, ...]]:
            action = nn.sample_action(now.outputs, action_keys(now.envs))
            stepped = step_envs(product, now.envs, action, settings.restarts)
            outcome = stepped.outcome
            # One pass for the next observations, and for the last ones of truncated episodes.
            seen = jnp.concatenate((observe(stepped.envs.state), observe(stepped.last)))
            start = jnp.concatenate((stepped.over, jnp.zeros_like(stepped.over)))
            twice = jax.tree.map(lambda part: jnp.concatenate((part, part), axis=1), now.after)
            memory, both = self.forward(state.network, twice, seen, start)
            reward = scale_reward(settings, outcome.reward)
            if product.potential is not None:
                shape = jax.vmap(product.potential.reward, (0, 0, 0, None))
                before = now.envs.state.configuration
                following = stepped.last.configuration
                reward = reward + shape(before, following, outcome.terminated, settings.discount)
            row = (
                now.seen,
                action,
                nn.log_probability(now.outputs, action),
                now.outputs.value,
                reward + settings.discount * jnp.where(outcome.truncated, both.value[count:], 0),
                stepped.over,
                now.start,
            )
            after = jax.tree.map(lambda part: part[:, :count], memory)
            outputs = both._replace(action=both.action[:count], value=both.value[:count])
            return RolloutCarry(
                stepped.envs, seen[:count], stepped.over, now.after, after, outputs
            ), row

        def sequence(now: RolloutCarry, _: None) -> tuple[RolloutCarry, Any]:
            # XLA replaces a scan of one step by the step.
            after, rows = jax.lax.scan(step, now, None, length=self.length)
            return after, (rows, now.before)

        seen = observe(state.envs.state)
        after, outputs = self.forward(state.network, state.memory, seen, state.start)
        first = RolloutCarry(state.envs, seen, state.start, state.memory, after, outputs)
        last, (rows, memory) = jax.lax.scan(
            sequence, first, None, length=settings.n_steps // self.length
        )
        seen, action, log_probability, value, reward, over, start = rows
        reward, values, over = (part.reshape(-1, count) for part in (reward, value, over))
        advantage = advantages(
            reward, values, over, last.outputs.value, settings.discount, settings.gae_lambda
        ).reshape(value.shape)
        batch = Batch(seen, action, log_probability, value, advantage)
        state = state._replace(
            envs=last.envs,
            memory=last.before,
            start=last.start,
            timesteps=state.timesteps + self.settings.steps_per_iteration,
        )
        # [sequences, length, N, ...] -> [sequences * N, length, ...].
        # Memories are [sequences, 2, N, units].
        sequences: Sequences = jax.tree.map(
            lambda part: _merge(jnp.moveaxis(part, 2, 1)), Sequences(batch, start, memory)
        )
        return state, sequences

    def descend(self, state: PPOState, sequences: Sequences) -> PPOState:
        """The state after `n_epochs` over the sequences in shuffled batches.

        Stops if the divergence is too large.
        """
        settings = self.settings
        rate = nn.learning_rate(settings, state.timesteps)

        def loss(network: Any, part: Sequences, weight: Array) -> Pair:
            outputs = self.forward_sequences(network, part)
            rows: Batch = jax.tree.map(_merge, part.rows)
            return ppo_loss(settings, rows, outputs, jnp.repeat(weight, self.length))

        def update(carry: tuple[Any, Any, Array], batch: Pair) -> tuple[Any, None]:
            network, optimiser, going = carry
            numbers, weight = batch
            part = nn.take(sequences, numbers)
            gradient, divergence = jax.grad(loss, has_aux=True)(network, part, weight)
            after = nn.apply_gradient(
                nn.ADAM, network, optimiser, gradient, rate, settings.max_grad_norm
            )
            if settings.target_kl is not None:
                going = going & (divergence <= 1.5 * settings.target_kl)
                after = nn.select(going, after, (network, optimiser))
            return (*after, going), None

        start = (state.network, state.optimiser, jnp.bool_(True))
        batches = self.shuffle(state.key, len(sequences.start))
        (network, optimiser, _), _ = jax.lax.scan(update, start, batches)
        return state._replace(network=network, optimiser=optimiser)

    def shuffle(self, key: Key, count: int) -> Pair:
        """[epochs * batches, size]: the sequences of each batch, and their weights.

        As in SB3, the last batch of an epoch can be short.
        """
        epochs = self.settings.n_epochs
        size = self.settings.batch_size // self.length
        keys = jax.random.split(jax.random.key(key_of(key, 1)), epochs)
        order = jax.vmap(lambda epoch_key: jax.random.permutation(epoch_key, count))(keys)
        padding = ((0, 0), (0, -count % size))
        numbers = jnp.pad(order, padding).reshape(-1, size)
        weight = jnp.pad(jnp.ones((epochs, count)), padding).reshape(-1, size)
        return numbers, weight


def _merge(part: Array) -> Array:
    """[A, B, ...] -> [A * B, ...]."""
    return part.reshape(-1, *part.shape[2:])


# --- Recurrent PPO: one LSTM for the actor and one for the critic, trained on sequences of fixed
# length (truncated back-propagation).
#
# As in sb3-contrib, memories are zero at the start of an episode, and a sequence starts with the
# memory from its collection. There a sequence is as long as a batch. Here it has `sequence_length`
# steps, and a batch contains many sequences.


class RecurrentAlgorithm(PPOAlgorithm):
    """PPO for networks with a memory."""

    settings: RecurrentPPO

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return self.settings.sequence_length

    def new_network(self, rng: nn.Rng) -> nn.Recurrent:
        """The initial parameters."""
        inputs = self.product.observation_size
        units = self.settings.lstm_hidden_size
        lstm = nn.stack_trees([nn.new_lstm(rng, inputs, units) for _ in (nn.ACTOR, nn.CRITIC)])
        head = nn.new_actor_critic(rng, units, self.settings.net_arch, self.product.domain)
        return nn.Recurrent(lstm, head)

    def empty_memory(self, count: int) -> nn.LstmState:
        """The memory at the start, [2, count, units]."""
        zeros = jnp.zeros((2, count, self.settings.lstm_hidden_size))
        return nn.LstmState(zeros, zeros)

    def forward(
        self, network: nn.Recurrent, memory: nn.LstmState, seen: Array, start: Array
    ) -> tuple[nn.LstmState, nn.PolicyOutputs]:
        """The memories after one step of [N, inputs], and the networks' outputs."""
        before = nn.keep(memory, jnp.where(start, 0.0, 1.0))
        gates = nn.gate_inputs(network.lstm, seen) + before.hidden @ network.lstm.hidden
        memory = nn.open_gates(before.cell, gates)
        return memory, nn.forward(network.head, memory.hidden)

    def forward_sequences(self, network: nn.Recurrent, sequences: Sequences) -> nn.PolicyOutputs:
        """The networks' outputs for whole sequences, [S * T] rows.

        The gates' inputs and the layers after the memories are computed for the whole batch
        at once. Only the memories are computed step by step.
        """
        count, length = sequences.start.shape
        seen = sequences.rows.observation.reshape(count * length, -1)
        share = jnp.moveaxis(nn.gate_inputs(network.lstm, seen).reshape(2, count, length, -1), 2, 0)
        first = nn.LstmState(*(jnp.moveaxis(column, 0, 1) for column in sequences.memory))
        hidden = nn.unroll(
            network.lstm.hidden, first, share, jnp.where(sequences.start.T, 0.0, 1.0)
        )
        return nn.forward(network.head, jnp.moveaxis(hidden, 0, 2).reshape(2, count * length, -1))
