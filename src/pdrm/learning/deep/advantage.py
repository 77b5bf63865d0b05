"""Generalised advantage estimation (Schulman et al. 2016), as one associative scan over time."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from pdrm.learning.deep.settings import Number


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
