"""PPO's loss on a batch of rows, with Stable-Baselines3's clipping of ratio and value."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.deep.settings import PPO


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
