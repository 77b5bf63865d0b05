"""The product stepped by random actions: what environment and machine cost without a learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from pdrm.learning.deep.many_envs import Envs, Tally, action_keys, begin_envs, step_envs, summed
from pdrm.learning.deep.settings import Deep
from pdrm.product.jax_env.draws import seeded, uniforms
from pdrm.product.jax_env.product import JaxProduct

Burst = Callable[[], float]
"""Steps some more; returns the raw returns of the episodes that ended, so that nothing can be left out."""


def random_walk(product: JaxProduct, n_envs: int, steps: int) -> Burst:
    """A function that takes `steps` random steps of each of `n_envs` environments and waits for them."""
    envs = jax.jit(lambda: begin_envs(product, Deep(n_envs=n_envs, staggered=True), seeded(0)))()
    walk = jax.jit(partial(_walked, product, steps), donate_argnums=0)

    def burst() -> float:
        nonlocal envs
        envs, gained = walk(envs)
        return float(gained)

    return burst


def _walked(product: JaxProduct, steps: int, envs: Envs) -> tuple[Envs, jax.Array]:
    def one(envs: Envs, _: None) -> tuple[Envs, Tally]:
        number = jax.vmap(lambda key: uniforms(key, 1)[0])(action_keys(envs))
        stepped = step_envs(product, envs, (number * product.domain.actions).astype(jnp.int32))
        return stepped.envs, stepped.tally

    envs, tally = jax.lax.scan(one, envs, None, length=steps)
    return envs, summed(tally).gained
