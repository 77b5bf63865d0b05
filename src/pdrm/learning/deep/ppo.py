"""Proximal policy optimisation (Schulman et al. 2017), as Stable-Baselines3 does it: `begin` and `iterate`, pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import PPO, Number
from pdrm.learning.deep import networks as ac
from pdrm.learning.deep.many_envs import Envs, Tally, action_keys, begin_envs, observed, scaled, step_envs, summed
from pdrm.learning.deep.networks import ADAM, chosen, clipped, descended
from pdrm.learning.deep.networks import AnyTree as Tree
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

# --- Generalised advantage estimation (Schulman et al. 2016), as one associative scan over time.


def advantages(
    reward: jax.Array,
    value: jax.Array,
    over: jax.Array,
    last_value: jax.Array,
    gamma: Number,
    gae_lambda: Number,
) -> jax.Array:
    """[T, n]: A_t = δ_t + γ λ A_{t+1} up to the end of the episode, with δ_t = r_t + γ V_{t+1} − V_t.

    reward: with the value of the last observation already added where an episode was truncated.

    >>> one = jnp.ones((2, 1))
    >>> advantages(one, 0 * one, one < 0, jnp.zeros(1), 0.5, 1.0).ravel().tolist()
    [1.5, 1.0]
    """
    goes_on = jnp.where(over, 0.0, 1.0)
    following = jnp.concatenate((value[1:], last_value[None]))
    error = reward + gamma * following * goes_on - value

    def joined(later: tuple[jax.Array, jax.Array], earlier: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return earlier[0] * later[0], earlier[1] + earlier[0] * later[1]

    factors = gamma * gae_lambda * goes_on
    total: jax.Array = jax.lax.associative_scan(joined, (factors, error), reverse=True)[1]
    return total


# --- PPO's loss on a batch of rows, with Stable-Baselines3's clipping of ratio and value.


class Batch(NamedTuple):
    """Rows of experience."""

    observation: jax.Array
    action: jax.Array
    log_probability: jax.Array
    value: jax.Array
    advantage: jax.Array
    reward_to_go: jax.Array
    """What the critic should have said: advantage plus value."""


class Losses(NamedTuple):
    """The parts of the loss, and how far the policy has moved."""

    policy: jax.Array
    value: jax.Array
    entropy: jax.Array
    divergence: jax.Array
    """The approximate Kullback-Leibler divergence from the old policy."""


def ppo_loss(
    settings: PPO, batch: Batch, value: jax.Array, log_probability: jax.Array, entropy: jax.Array, weight: jax.Array
) -> tuple[jax.Array, Losses]:
    """The loss and its parts; weight is 0 for rows that only fill up a batch."""
    count = weight.sum()

    def mean(rows: jax.Array) -> jax.Array:
        return (rows * weight).sum() / count

    gain = batch.advantage
    if settings.normalize_advantage:
        away = gain - mean(gain)
        gain = away / (jnp.sqrt((away * away * weight).sum() / jnp.maximum(count - 1, 1)) + 1e-8)
    shift = log_probability - batch.log_probability
    ratio = jnp.exp(shift)
    cut = jnp.clip(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
    policy = -mean(jnp.minimum(gain * ratio, gain * cut))
    if settings.clip_range_vf is not None:
        value = batch.value + jnp.clip(value - batch.value, -settings.clip_range_vf, settings.clip_range_vf)
    error = mean((batch.reward_to_go - value) ** 2)
    spread = mean(entropy)
    divergence = mean(jax.lax.stop_gradient(ratio - 1 - shift))
    total = policy - settings.ent_coef * spread + settings.vf_coef * error
    return total, Losses(policy, error, spread, divergence)


# --- Proximal policy optimisation (Schulman et al. 2017), as Stable-Baselines3 does it: `begin` and `iterate`, pure functions.
#
# An iteration steps all environments `n_steps` times and then descends on shuffled batches for `n_epochs`. Truncated episodes
# are bootstrapped by the value of their last observation. Networks see scaled rewards; tallies hold raw ones.


class PPOState(NamedTuple):
    """Where a run stands."""

    network: ac.ActorCritic
    optimiser: Any
    envs: Envs
    key: Key
    timesteps: jax.Array
    """Steps taken, over all environments."""


class Metrics(NamedTuple):
    """What an iteration came to."""

    tally: Tally
    losses: Losses
    """The means over its updates."""


def network(product: JaxProduct, settings: PPO, rng: np.random.Generator) -> ac.ActorCritic:
    """The first parameters."""
    return ac.new_actor_critic(rng, product.observation_size, settings.net_arch, product.domain)


def begin(product: JaxProduct, settings: PPO, network: ac.ActorCritic, key: Key) -> PPOState:
    """Before the first step."""
    envs = begin_envs(product, settings, key_of(key, 1))
    return PPOState(network, ADAM.init(network), envs, key_of(key, 2), jnp.int32(0))


def steps_per_iteration(settings: PPO) -> int:
    """Steps that an iteration takes, over all environments."""
    return settings.n_steps * settings.n_envs


def iterate(product: JaxProduct, settings: PPO, state: PPOState) -> tuple[PPOState, Metrics]:
    """Collect and learn once."""
    envs, batch, tally = _collected(product, settings, state)
    state = state._replace(envs=envs, timesteps=state.timesteps + steps_per_iteration(settings))
    state, losses = learnt(product, settings, state, batch)
    return state._replace(key=key_of(state.key, 0)), Metrics(tally, losses)


def _collected(product: JaxProduct, settings: PPO, state: PPOState) -> tuple[Envs, Batch, Tally]:
    """`n_steps` of every environment, as one batch of [n_steps * n_envs] rows."""
    discrete, network = product.domain.actions > 0, state.network

    def one(carry: tuple[Envs, jax.Array, ac.Judged], _: None) -> tuple[Any, Any]:
        envs, seen, judged = carry
        action = ac.sampled(network, judged, action_keys(envs), discrete=discrete)
        stepped = step_envs(product, envs, action)
        # The first half of the rows goes on, the second half is what a truncated episode ended with: one pass for both.
        after = jnp.concatenate((observed(product, stepped.envs), jax.vmap(product.observe)(stepped.last)))
        both = ac.judge(network, after)
        following, last_value = jax.tree.map(lambda part: part[: settings.n_envs], both), both.value[settings.n_envs :]
        bootstrapped = settings.gamma * jnp.where(stepped.outcome.truncated, last_value, 0)
        row = (
            seen,
            action,
            ac.log_probability(network, judged, action, discrete=discrete),
            judged.value,
            scaled(settings, stepped.outcome.reward) + bootstrapped,
            stepped.over,
            stepped.tally,
        )
        return (stepped.envs, after[: settings.n_envs], following), row

    seen = observed(product, state.envs)
    first = (state.envs, seen, ac.judge(network, seen))
    (envs, _, judged), rows = jax.lax.scan(one, first, None, length=settings.n_steps)
    seen, action, log_probability, value, reward, over, tally = rows
    gain = advantages(reward, value, over, judged.value, settings.gamma, settings.gae_lambda)
    batch = Batch(seen, action, log_probability, value, gain, gain + value)
    flat: Batch = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), batch)
    return envs, flat, summed(tally)


def learnt(product: JaxProduct, settings: PPO, state: PPOState, batch: Batch) -> tuple[PPOState, Losses]:
    """The network after `n_epochs` over the rows, shuffled anew for each, until the divergence is too large."""
    discrete, rate = product.domain.actions > 0, learning_rate(settings, state.timesteps)

    def update(carry: tuple[Any, Any, jax.Array], rows: tuple[jax.Array, jax.Array]) -> tuple[Any, Losses]:
        network, optimiser, going = carry
        part: Batch = jax.tree.map(lambda column: column[rows[0]], batch)

        def loss(candidate: ac.ActorCritic) -> tuple[jax.Array, Losses]:
            judged = ac.judge(candidate, part.observation)
            log_probability = ac.log_probability(candidate, judged, part.action, discrete=discrete)
            spread = ac.entropy(candidate, judged, discrete=discrete)
            return ppo_loss(settings, part, judged.value, log_probability, spread, rows[1])

        gradient, losses = jax.grad(loss, has_aux=True)(network)
        return stepped_down(settings, (network, optimiser, going), gradient, losses, rate)

    rows = shuffled_rows(settings, state.key, len(batch.reward_to_go), settings.batch_size)
    start = (state.network, state.optimiser, jnp.bool_(True))
    (network, optimiser, _), losses = jax.lax.scan(update, start, rows)
    return state._replace(network=network, optimiser=optimiser), jax.tree.map(jnp.mean, losses)


def stepped_down(
    settings: PPO, carry: tuple[Tree, Tree, jax.Array], gradient: Tree, losses: Losses, rate: Number
) -> tuple[tuple[Tree, Tree, jax.Array], Losses]:
    """One update, unless the divergence was or is too large."""
    network, optimiser, going = carry
    if settings.target_kl is not None:
        going = going & (losses.divergence <= 1.5 * settings.target_kl)
    after = descended(ADAM, network, optimiser, clipped(gradient, settings.max_grad_norm), rate)
    if settings.target_kl is None:
        return (*after, going), losses
    return (*chosen(going, after, (network, optimiser)), going), losses


def learning_rate(settings: PPO, timesteps: jax.Array) -> Any:
    """The rate for the update after so many steps."""
    if not settings.linear_decay:
        return settings.learning_rate
    return settings.learning_rate * jnp.maximum(0.0, 1.0 - timesteps / settings.total_timesteps)


def shuffled_rows(settings: PPO, key: Key, count: int, size: int) -> tuple[jax.Array, jax.Array]:
    """[epochs * batches, size] row numbers and their weights: the last batch of an epoch may be short, as in SB3."""
    batches = -(-count // size)
    keys = jax.random.split(jax.random.key(key_of(key, 1)), settings.n_epochs)
    order = jax.vmap(lambda one: jax.random.permutation(one, count))(keys)
    spare = batches * size - count
    order = jnp.pad(order, ((0, 0), (0, spare))).reshape(-1, size)
    weight = jnp.pad(jnp.ones((settings.n_epochs, count)), ((0, 0), (0, spare))).reshape(-1, size)
    return order, weight
