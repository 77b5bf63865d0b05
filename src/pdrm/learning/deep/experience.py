"""What an off-policy agent lives through: environments, the replay buffer, and the stacks observed on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.deep import counterfactual as cf
from pdrm.learning.deep import replay as rb
from pdrm.learning.deep.many_envs import Envs, Stepped, Tally, action_keys, begin_envs, observed, step_envs, summed
from pdrm.learning.deep.settings import OffPolicy
from pdrm.product.jax_env.draws import Key
from pdrm.product.jax_env.product import JaxProduct

Choose = Callable[[jax.Array, Key], jax.Array]
"""observations, keys -> actions."""


class Experiences(NamedTuple):
    """All of it."""

    envs: Envs
    replay: rb.Replay
    tops: jax.Array
    """[tops]: which tops of stacks were observed; empty where nothing is imagined."""


def begin_experiences(product: JaxProduct, settings: OffPolicy, key: Key) -> Experiences:
    """Nothing lived through yet."""
    envs, count, domain = begin_envs(product, settings, key), settings.n_envs, product.domain
    action = jnp.zeros(count, jnp.int32) if domain.actions else jnp.zeros((count, domain.action_size))
    row = jax.eval_shape(lambda: _row(product, envs, action, step_envs(product, envs, action)))
    tops = cf.tops_of(product, settings)
    seen = jnp.zeros(0 if tops is None else tops.count, jnp.bool_)
    if tops is not None:
        seen = cf.noted(tops, seen, envs.state.configuration)
    return Experiences(envs, rb.empty(row, max(1, settings.buffer_size // count)), seen)


def lived(product: JaxProduct, settings: OffPolicy, past: Experiences, choose: Choose) -> tuple[Experiences, Tally]:
    """`train_freq` steps of every environment."""
    tops = cf.tops_of(product, settings)

    def one(past: Experiences, _: None) -> tuple[Experiences, Tally]:
        envs = past.envs
        action = choose(observed(product, envs), action_keys(envs))
        stepped = step_envs(product, envs, action)
        replay = rb.added(past.replay, _row(product, envs, action, stepped))
        seen = past.tops if tops is None else cf.noted(tops, past.tops, stepped.last.configuration)
        return Experiences(stepped.envs, replay, seen), stepped.tally

    past, tally = jax.lax.scan(one, past, None, length=settings.train_freq)
    return past, summed(tally)


def remembered(product: JaxProduct, settings: OffPolicy, past: Experiences, key: jax.Array) -> cf.Experience:
    """A batch, with what is imagined beside it; key: of `jax.random`."""
    rows, imagined = jax.random.split(key)
    batch = rb.sampled_rows(past.replay, rows, settings.batch_size, settings.n_steps)
    return cf.expanded(product, settings, past.tops, batch, imagined)


def off_policy_rate(settings: OffPolicy, timesteps: jax.Array) -> Any:
    """The learning rate after so many steps."""
    if not settings.linear_decay:
        return settings.learning_rate
    return settings.learning_rate * jnp.maximum(0.0, 1.0 - timesteps / settings.total_timesteps)


def _row(product: JaxProduct, envs: Envs, action: jax.Array, stepped: Stepped) -> rb.Row:
    """What happened, [n_envs], an ended episode with its own last observation."""
    outcome = stepped.outcome
    return rb.Row(
        jax.vmap(product.domain.observe)(envs.state.environment),
        action,
        jax.vmap(product.domain.observe)(stepped.last.environment),
        outcome.label,
        outcome.environment_reward,
        outcome.environment_terminated,
        stepped.over,
        envs.state.configuration,
    )
