"""Proximal policy optimisation (Schulman et al. 2017), as Stable-Baselines3 does it, in pure functions.

An iteration steps all environments `n_steps` times and then descends on shuffled batches for `n_epochs`. Truncated episodes
are bootstrapped by the value of their last observation. Networks see scaled rewards; tallies hold raw ones. Collecting and
descending serve networks with a memory too (`recurrent_ppo`): those here have an empty one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import PPO
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.many_envs import (
    Act,
    Envs,
    Tally,
    action_keys,
    begin_envs,
    empty_memory,
    learning_reward,
    observe_envs,
    step_envs,
    sum_tally,
)
from pdrm.learning.settings import Number
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

__all__ = ["act", "begin", "empty_memory", "iterate", "new_network", "steps_per_iteration"]

# --- Advantages and the loss.


def advantages(
    reward: jax.Array,
    value: jax.Array,
    over: jax.Array,
    last_value: jax.Array,
    gamma: Number,
    gae_lambda: Number,
) -> jax.Array:
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

    def join(
        later: tuple[jax.Array, jax.Array], earlier: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        return earlier[0] * later[0], earlier[1] + earlier[0] * later[1]

    factors = gamma * gae_lambda * ongoing
    total: jax.Array = jax.lax.associative_scan(join, (factors, error), reverse=True)[1]
    return total


class Batch(NamedTuple):
    """Rows of experience, [B, ...]."""

    observation: jax.Array
    action: jax.Array
    log_probability: jax.Array
    value: jax.Array
    advantage: jax.Array
    reward_to_go: jax.Array  # the critic's target: advantage plus value


def ppo_loss(
    settings: PPO,
    batch: Batch,
    value: jax.Array,
    log_probability: jax.Array,
    entropy: jax.Array,
    weight: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """The loss, and the approximate Kullback-Leibler divergence from the old policy, as SB3 has them.

    weight: [B], 0 for rows that only fill up a batch.
    """
    gain = batch.advantage
    if settings.normalize_advantage:
        away = gain - nn.weighted_mean(gain, weight)
        gain = away / (
            jnp.sqrt((away * away * weight).sum() / jnp.maximum(weight.sum() - 1, 1)) + 1e-8
        )
    shift = log_probability - batch.log_probability
    ratio = jnp.exp(shift)
    cut = jnp.clip(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
    policy = -nn.weighted_mean(jnp.minimum(gain * ratio, gain * cut), weight)
    if settings.clip_range_vf is not None:
        value = batch.value + jnp.clip(
            value - batch.value, -settings.clip_range_vf, settings.clip_range_vf
        )
    error = nn.weighted_mean((batch.reward_to_go - value) ** 2, weight)
    spread = nn.weighted_mean(entropy, weight)
    divergence = nn.weighted_mean(jax.lax.stop_gradient(ratio - 1 - shift), weight)
    total = policy - settings.ent_coef * spread + settings.vf_coef * error
    return total, divergence


def judged_loss(
    settings: PPO, network: nn.ActorCritic, judged: nn.Judged, batch: Batch, weight: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The loss of the networks' present outputs for the rows of a batch."""
    log_probability = nn.log_probability(network, judged, batch.action)
    entropy = nn.entropy(network, judged)
    return ppo_loss(settings, batch, judged.value, log_probability, entropy, weight)


# --- Collecting experience.

Memory = Any
"""The memory of networks: a tree of arrays [2, N, ...], or ()."""
Read = Callable[[Memory, jax.Array, jax.Array], tuple[Memory, nn.Judged]]
"""memory, observations [N, inputs], [N] whether an episode starts -> the memory after them, the outputs."""


class Between(NamedTuple):
    """Between two steps: the observations, the memories before and after them, and the networks' outputs."""

    envs: Envs
    seen: jax.Array
    start: jax.Array  # [N]: whether what is seen is the first of an episode
    before: Memory
    after: Memory
    judged: nn.Judged


class Collected(NamedTuple):
    """Experience in sequences."""

    batch: Batch  # [sequences, length, N, ...]
    start: jax.Array  # [sequences, length, N]: where episodes start
    memory: Memory  # [sequences, 2, N, ...]: before each sequence
    tally: Tally


class PPOState(NamedTuple):
    """The state of a run."""

    network: Any
    optimiser: Any
    envs: Envs
    memory: Memory  # before seeing what the environments show
    start: jax.Array  # [N]: whether the next step is the first of an episode
    key: Key
    timesteps: jax.Array  # steps taken, over all environments


def collect(
    product: JaxProduct,
    settings: PPO,
    state: PPOState,
    head: nn.ActorCritic,
    read: Read,
    length: int,
) -> tuple[PPOState, Collected]:
    """`n_steps` of every environment, in sequences of a length that divides them; and the state after them."""
    count = settings.n_envs

    def step(now: Between, _: None) -> tuple[Between, tuple[Any, ...]]:
        action = nn.sample_action(head, now.judged, action_keys(now.envs))
        stepped = step_envs(product, now.envs, action, settings.restarts)
        # One pass for both: the rows of the next step, and the last ones of truncated episodes.
        seen = jnp.concatenate(
            (observe_envs(product, stepped.envs), jax.vmap(product.observe)(stepped.last))
        )
        start = jnp.concatenate((stepped.over, jnp.zeros_like(stepped.over)))
        twice = jax.tree.map(lambda part: jnp.concatenate((part, part), axis=1), now.after)
        memory, both = read(twice, seen, start)
        bootstrapped = settings.discount * jnp.where(
            stepped.outcome.truncated, both.value[count:], 0
        )
        row = (
            now.seen,
            action,
            nn.log_probability(head, now.judged, action),
            now.judged.value,
            learning_reward(product, settings, now.envs, stepped) + bootstrapped,
            stepped.over,
            now.start,
            stepped.tally,
        )
        after = jax.tree.map(lambda part: part[:, :count], memory)
        judged: nn.Judged = jax.tree.map(lambda part: part[:count], both)
        return Between(stepped.envs, seen[:count], stepped.over, now.after, after, judged), row

    def sequence(now: Between, _: None) -> tuple[Between, Any]:
        after, rows = jax.lax.scan(step, now, None, length=length)
        return after, (rows, now.before)

    seen = observe_envs(product, state.envs)
    after, judged = read(state.memory, seen, state.start)
    first = Between(state.envs, seen, state.start, state.memory, after, judged)
    last, (rows, memory) = jax.lax.scan(sequence, first, None, length=settings.n_steps // length)
    seen, action, log_probability, value, reward, over, start, tally = rows
    reward, values, over = (part.reshape(-1, count) for part in (reward, value, over))  # [T, N]
    gain = advantages(
        reward, values, over, last.judged.value, settings.discount, settings.gae_lambda
    )
    gain = gain.reshape(value.shape)
    batch = Batch(seen, action, log_probability, value, gain, gain + value)
    timesteps = state.timesteps + steps_per_iteration(settings)
    state = state._replace(
        envs=last.envs, memory=last.before, start=last.start, timesteps=timesteps
    )
    return state, Collected(batch, start, memory, sum_tally(sum_tally(tally)))


# --- Descending on shuffled batches.

Loss = Callable[[Any, Any, jax.Array], tuple[jax.Array, jax.Array]]
"""network, rows, their weights -> the loss, and the divergence."""


def descend(
    settings: PPO, state: PPOState, rows: Any, count: int, size: int, loss: Loss
) -> PPOState:
    """The state after `n_epochs` over the rows [count, ...] in batches of a size, until the divergence is too large."""
    rate = nn.learning_rate(settings, state.timesteps)

    def update(
        carry: tuple[Any, Any, jax.Array], batch: tuple[jax.Array, jax.Array]
    ) -> tuple[Any, None]:
        network, optimiser, going = carry
        part = jax.tree.map(lambda column: column[batch[0]], rows)
        gradient, divergence = jax.grad(loss, has_aux=True)(network, part, batch[1])
        after = nn.apply_gradient(
            nn.ADAM, network, optimiser, gradient, rate, settings.max_grad_norm
        )
        if settings.target_kl is not None:
            going = going & (divergence <= 1.5 * settings.target_kl)
            after = nn.select(going, after, (network, optimiser))
        return (*after, going), None

    start = (state.network, state.optimiser, jnp.bool_(True))
    batches = shuffle_rows(settings, state.key, count, size)
    (network, optimiser, _), _ = jax.lax.scan(update, start, batches)
    return state._replace(network=network, optimiser=optimiser)


def shuffle_rows(settings: PPO, key: Key, count: int, size: int) -> tuple[jax.Array, jax.Array]:
    """[epochs * batches, size] row numbers and their weights: the last batch of an epoch may be short, as in SB3."""
    batches = -(-count // size)
    keys = jax.random.split(jax.random.key(key_of(key, 1)), settings.n_epochs)
    order = jax.vmap(lambda one: jax.random.permutation(one, count))(keys)
    spare = batches * size - count
    order = jnp.pad(order, ((0, 0), (0, spare))).reshape(-1, size)
    weight = jnp.pad(jnp.ones((settings.n_epochs, count)), ((0, 0), (0, spare))).reshape(-1, size)
    return order, weight


# --- The agent.


def new_network(product: JaxProduct, settings: PPO, rng: np.random.Generator) -> nn.ActorCritic:
    """The first parameters."""
    return nn.new_actor_critic(rng, product.observation_size, settings.net_arch, product.domain)


def act(_product: JaxProduct, _settings: PPO, network: nn.ActorCritic) -> Act:
    """The policy without exploration."""
    return lambda memory, seen, _start: (
        memory,
        nn.best_action(network, nn.judge(network, seen)),
    )


def begin_with(
    product: JaxProduct, settings: PPO, network: Any, memory: Memory, key: Key
) -> PPOState:
    """The state before the first step."""
    envs = begin_envs(product, settings, key_of(key, 1), restarts=settings.restarts > 0)
    start = jnp.ones(settings.n_envs, jnp.bool_)
    optimiser = nn.ADAM.init(network)
    return PPOState(network, optimiser, envs, memory, start, key_of(key, 2), jnp.int32(0))


def begin(product: JaxProduct, settings: PPO, network: nn.ActorCritic, key: Key) -> PPOState:
    """The state before the first step."""
    return begin_with(product, settings, network, (), key)


def steps_per_iteration(settings: PPO) -> int:
    """Steps of an iteration, over all environments."""
    return settings.n_steps * settings.n_envs


def iterate(product: JaxProduct, settings: PPO, state: PPOState) -> tuple[PPOState, Tally]:
    """Collect and learn once."""

    def read(memory: Memory, seen: jax.Array, _start: jax.Array) -> tuple[Memory, nn.Judged]:
        return memory, nn.judge(state.network, seen)

    def loss(
        network: nn.ActorCritic, batch: Batch, weight: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        judged = nn.judge(network, batch.observation)
        return judged_loss(settings, network, judged, batch, weight)

    after, collected = collect(product, settings, state, state.network, read, settings.n_steps)
    count = steps_per_iteration(settings)
    rows: Batch = jax.tree.map(lambda part: part.reshape(count, *part.shape[3:]), collected.batch)
    after = descend(settings, after, rows, count, settings.batch_size, loss)
    return after._replace(key=key_of(state.key, 0)), collected.tally
