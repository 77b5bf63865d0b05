"""Proximal policy optimisation (Schulman et al. 2017), as Stable-Baselines3 does it, in pure functions; and recurrent PPO.

An iteration steps all environments `n_steps` times and then descends on shuffled batches for `n_epochs`. Truncated episodes
are bootstrapped by the value of their last observation. Networks see scaled rewards. Experience is kept in sequences, because
networks may have a memory; sequences of those that have none are single steps.
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
    """[T, N]: generalised advantage estimation (Schulman et al. 2016), as one associative scan over time.

    A_t = δ_t + γ λ A_{t+1} up to the end of the episode, with δ_t = r_t + γ V_{t+1} − V_t. reward: with the value of the last
    observation already added if an episode was truncated.

    >>> one = jnp.ones((2, 1))
    >>> advantages(one, 0 * one, one < 0, jnp.zeros(1), 0.5, 1.0).ravel().tolist()
    [1.5, 1.0]
    """
    ongoing = jnp.where(over, 0.0, 1.0)
    following = jnp.concatenate((value[1:], last_value[None]))
    error = reward + gamma * following * ongoing - value

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


def ppo_loss(settings: PPO, batch: Batch, judged: nn.PolicyOutputs, weight: Array) -> Pair:
    """The loss, and the approximate Kullback-Leibler divergence from the old policy, as SB3 has them.

    weight: [B], 0 for rows that only fill up a batch.
    """
    gain = batch.advantage
    if settings.normalize_advantage:
        away = gain - nn.weighted_mean(gain, weight)
        variance = (away * away * weight).sum() / jnp.maximum(weight.sum() - 1, 1)
        gain = away / (jnp.sqrt(variance) + 1e-8)
    shift = nn.log_probability(judged, batch.action) - batch.log_probability
    ratio = jnp.exp(shift)
    cut = jnp.clip(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
    policy = -nn.weighted_mean(jnp.minimum(gain * ratio, gain * cut), weight)
    value, limit = judged.value, settings.clip_range_vf
    if limit is not None:
        value = batch.value + jnp.clip(value - batch.value, -limit, limit)
    reward_to_go = batch.advantage + batch.value
    error = nn.weighted_mean((reward_to_go - value) ** 2, weight)
    spread = nn.weighted_mean(nn.entropy(judged), weight)
    divergence = nn.weighted_mean(jax.lax.stop_gradient(ratio - 1 - shift), weight)
    total = policy - settings.ent_coef * spread + settings.vf_coef * error
    return total, divergence


# --- The agent.


class RolloutCarry(NamedTuple):
    """Between two steps: the observations, the memories before and after them, and the networks' outputs."""

    envs: Envs
    seen: Array
    start: Array  # [N]: whether what is seen is the first of an episode
    before: Carry
    after: Carry
    judged: nn.PolicyOutputs


class Sequences(NamedTuple):
    """Experience in sequences, [S, T, ...]."""

    rows: Batch
    start: Array  # where episodes start
    memory: Carry  # [S, 2, units]: before each sequence


class PPOState(NamedTuple):
    """The state of a run."""

    network: Any
    optimiser: Any
    envs: Envs
    memory: Carry  # before seeing what the environments show
    start: Array  # [N]: whether the next step is the first of an episode
    key: Key
    timesteps: Array


class PPOAlgorithm(Algorithm):
    """PPO, of networks with or without a memory."""

    settings: PPO

    @property
    def steps_per_iteration(self) -> int:
        """Steps of all environments in an iteration."""
        return self.settings.n_steps * self.settings.n_envs

    # What a memory changes.

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return 1

    def new_network(self, rng: nn.Rng) -> Any:
        """The first parameters."""
        inputs = self.product.observation_size
        return nn.new_actor_critic(rng, inputs, self.settings.net_arch, self.product.domain)

    def judge(
        self, network: Any, memory: Carry, seen: Array, _start: Array
    ) -> tuple[Carry, nn.PolicyOutputs]:
        """The memories after one step of [N, inputs], and the networks' outputs."""
        return memory, nn.judge(network, seen)

    def judge_sequences(self, network: Any, sequences: Sequences) -> nn.PolicyOutputs:
        """The networks' outputs for whole sequences, [S * T] rows."""
        return nn.judge(network, _merge(sequences.rows.observation))

    # What it does not.

    def act(self, network: Any, memory: Carry, seen: Array, start: Array) -> tuple[Carry, Array]:
        """The likeliest actions."""
        memory, judged = self.judge(network, memory, seen, start)
        return memory, nn.best_action(judged)

    def begin(self, network: Any, key: Key) -> PPOState:
        """The state before the first step."""
        settings = self.settings
        envs = begin_envs(self.product, settings, key_of(key, 1), restarts=settings.restarts > 0)
        memory, start = self.empty_memory(settings.n_envs), jnp.ones(settings.n_envs, jnp.bool_)
        optimiser = nn.ADAM.init(network)
        return PPOState(network, optimiser, envs, memory, start, key_of(key, 2), jnp.int32(0))

    def iterate(self, state: PPOState) -> PPOState:
        """Collect and learn once."""
        after, sequences = self.collect(state)
        return self.descend(after, sequences)._replace(key=key_of(state.key, 0))

    def collect(self, state: PPOState) -> tuple[PPOState, Sequences]:
        """`n_steps` of every environment, in sequences of a length that divides them; and the state after them."""
        product, settings, count = self.product, self.settings, self.settings.n_envs
        observe = jax.vmap(product.observe)

        def step(now: RolloutCarry, _: None) -> tuple[RolloutCarry, tuple[Any, ...]]:
            action = nn.sample_action(now.judged, action_keys(now.envs))
            stepped = step_envs(product, now.envs, action, settings.restarts)
            outcome = stepped.outcome
            # One pass for both: the rows of the next step, and the last ones of truncated episodes.
            seen = jnp.concatenate((observe(stepped.envs.state), observe(stepped.last)))
            start = jnp.concatenate((stepped.over, jnp.zeros_like(stepped.over)))
            twice = jax.tree.map(lambda part: jnp.concatenate((part, part), axis=1), now.after)
            memory, both = self.judge(state.network, twice, seen, start)
            reward = scale_reward(settings, outcome.reward)
            if product.potential is not None:
                shape = jax.vmap(product.potential.reward, (0, 0, 0, None))
                here, there = now.envs.state.configuration, stepped.last.configuration
                reward = reward + shape(here, there, outcome.terminated, settings.discount)
            row = (
                now.seen,
                action,
                nn.log_probability(now.judged, action),
                now.judged.value,
                reward + settings.discount * jnp.where(outcome.truncated, both.value[count:], 0),
                stepped.over,
                now.start,
            )
            after = jax.tree.map(lambda part: part[:, :count], memory)
            judged = both._replace(action=both.action[:count], value=both.value[:count])
            return RolloutCarry(
                stepped.envs, seen[:count], stepped.over, now.after, after, judged
            ), row

        def sequence(now: RolloutCarry, _: None) -> tuple[RolloutCarry, Any]:
            # XLA makes a scan of one step the step itself.
            after, rows = jax.lax.scan(step, now, None, length=self.length)
            return after, (rows, now.before)

        seen = observe(state.envs.state)
        after, judged = self.judge(state.network, state.memory, seen, state.start)
        first = RolloutCarry(state.envs, seen, state.start, state.memory, after, judged)
        last, (rows, memory) = jax.lax.scan(
            sequence, first, None, length=settings.n_steps // self.length
        )
        seen, action, log_probability, value, reward, over, start = rows
        reward, values, over = (part.reshape(-1, count) for part in (reward, value, over))
        gain = advantages(
            reward, values, over, last.judged.value, settings.discount, settings.gae_lambda
        ).reshape(value.shape)
        batch = Batch(seen, action, log_probability, value, gain)
        state = state._replace(
            envs=last.envs,
            memory=last.before,
            start=last.start,
            timesteps=state.timesteps + self.steps_per_iteration,
        )
        # [sequences, length, N, ...] -> [sequences * N, length, ...]; memories are [sequences, 2, N, units].
        sequences: Sequences = jax.tree.map(
            lambda part: _merge(jnp.moveaxis(part, 2, 1)), Sequences(batch, start, memory)
        )
        return state, sequences

    def descend(self, state: PPOState, sequences: Sequences) -> PPOState:
        """The state after `n_epochs` over the sequences in shuffled batches, until the divergence is too large."""
        settings = self.settings
        rate = nn.learning_rate(settings, state.timesteps)

        def loss(network: Any, part: Sequences, weight: Array) -> Pair:
            judged = self.judge_sequences(network, part)
            rows: Batch = jax.tree.map(_merge, part.rows)
            return ppo_loss(settings, rows, judged, jnp.repeat(weight, self.length))

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
        """[epochs * batches, size] numbers of sequences and their weights: the last batch of an epoch may be short, as in SB3."""
        epochs, size = self.settings.n_epochs, self.settings.batch_size // self.length
        keys = jax.random.split(jax.random.key(key_of(key, 1)), epochs)
        order = jax.vmap(lambda one: jax.random.permutation(one, count))(keys)
        rows = (order, jnp.ones((epochs, count)))
        spare = -count % size
        numbers, weight = (jnp.pad(part, ((0, 0), (0, spare))).reshape(-1, size) for part in rows)
        return numbers, weight


def _merge(part: Array) -> Array:
    """[A, B, ...] -> [A * B, ...]."""
    return part.reshape(-1, *part.shape[2:])


# --- Recurrent PPO: an LSTM each for actor and critic, trained on sequences of fixed length (truncated back-propagation).
#
# As in sb3-contrib, memories are zero at the start of an episode, and a sequence begins with the memory that it had when it
# was collected. There, a sequence is as long as a batch; here `sequence_length`, and a batch holds many of them side by side.


class RecurrentAlgorithm(PPOAlgorithm):
    """PPO of networks with a memory."""

    settings: RecurrentPPO

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return self.settings.sequence_length

    def new_network(self, rng: nn.Rng) -> nn.Recurrent:
        """The first parameters."""
        inputs, units = self.product.observation_size, self.settings.lstm_hidden_size
        lstm = nn.stack_trees([nn.new_lstm(rng, inputs, units) for _ in (nn.ACTOR, nn.CRITIC)])
        head = nn.new_actor_critic(rng, units, self.settings.net_arch, self.product.domain)
        return nn.Recurrent(lstm, head)

    def empty_memory(self, count: int) -> nn.LstmState:
        """The memory at the start, [2, count, units]."""
        zeros = jnp.zeros((2, count, self.settings.lstm_hidden_size))
        return nn.LstmState(zeros, zeros)

    def judge(
        self, network: nn.Recurrent, memory: nn.LstmState, seen: Array, start: Array
    ) -> tuple[nn.LstmState, nn.PolicyOutputs]:
        """The memories after one step of [N, inputs], and the networks' outputs."""
        before = nn.keep(memory, jnp.where(start, 0.0, 1.0))
        gates = nn.gate_inputs(network.lstm, seen) + before.hidden @ network.lstm.hidden
        memory = nn.open_gates(before.cell, gates)
        return memory, nn.judge(network.head, memory.hidden)

    def judge_sequences(self, network: nn.Recurrent, sequences: Sequences) -> nn.PolicyOutputs:
        """The networks' outputs for whole sequences, [S * T] rows.

        The inputs' share of the gates and the layers that read the memories are one product for the whole batch; only the
        memories themselves go step by step.
        """
        count, length = sequences.start.shape
        seen = sequences.rows.observation.reshape(count * length, -1)
        share = jnp.moveaxis(nn.gate_inputs(network.lstm, seen).reshape(2, count, length, -1), 2, 0)
        first = nn.LstmState(*(jnp.moveaxis(column, 0, 1) for column in sequences.memory))
        hidden = nn.unroll(
            network.lstm.hidden, first, share, jnp.where(sequences.start.T, 0.0, 1.0)
        )
        return nn.judge(network.head, jnp.moveaxis(hidden, 0, 2).reshape(2, count * length, -1))
