"""Test episodes: a policy played without exploration, its raw returns, lengths and the machine's last states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.product.jax_env.draws import Key, key_of
from pdrm.product.jax_env.machine import FINISHED, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.product import JaxProduct, ProductState

Carry = Any
"""What a policy remembers: a tree of arrays, or nothing."""
Act = Callable[[Carry, jax.Array, jax.Array], tuple[Carry, jax.Array]]
"""memory, [n, observation size], [n] which of them are at their start -> memory, [n] actions."""

CHUNK = 500
"""Steps between looks at whether all episodes are over."""


class Episodes(NamedTuple):
    """How test episodes went, [n] each."""

    returns: jax.Array
    steps: jax.Array
    ends: jax.Array
    """The machine's last state."""
    terminated: jax.Array
    cut_off: jax.Array
    """Whether the stack was full."""
    undefined: jax.Array
    """Whether the machine had no move, in a step or at reset."""
    unfit: jax.Array
    """Whether the first stack was higher than the depth."""
    finished: jax.Array
    """Whether it began in a final state."""


class _Playing(NamedTuple):
    state: ProductState
    memory: Carry
    played: Episodes
    over: jax.Array
    step: jax.Array


def play(product: JaxProduct, act: Act, memory: Carry, key: Key, episodes: int, step_limit: int) -> Episodes:
    """So many episodes side by side, each up to its end or the limit."""
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    none, undefined, unfit, finished = (status == one for one in (-1, UNDEFINED, OVERFLOW, FINISHED))
    steps, ends = jnp.zeros(episodes, jnp.int32), state.configuration.state
    played = Episodes(paid, steps, ends, none, none, undefined, unfit, finished)
    chunk = min(CHUNK, step_limit)

    def one(playing: _Playing, _: None) -> tuple[_Playing, None]:
        seen = jax.vmap(product.observe)(playing.state)
        memory, action = act(playing.memory, seen, jnp.broadcast_to(playing.step == 0, none.shape))
        state, outcome = jax.vmap(product.step)(playing.state, action)
        ongoing, before = ~playing.over, playing.played
        played = before._replace(
            returns=before.returns + jnp.where(ongoing, outcome.reward, 0),
            steps=before.steps + ongoing,
            ends=jnp.where(ongoing, state.configuration.state, before.ends),
            terminated=before.terminated | (ongoing & outcome.terminated),
            cut_off=before.cut_off | (ongoing & outcome.truncated & (outcome.status == OVERFLOW)),
            undefined=before.undefined | (ongoing & (outcome.status == UNDEFINED)),
        )
        over = playing.over | outcome.terminated | outcome.truncated
        return _Playing(state, memory, played, over, playing.step + 1), None

    def some(playing: _Playing) -> _Playing:
        after: _Playing = jax.lax.scan(one, playing, None, length=chunk)[0]
        return after

    start = _Playing(state, memory, played, none, jnp.int32(0))
    done: _Playing = jax.lax.while_loop(lambda now: ~now.over.all() & (now.step < step_limit), some, start)
    return done.played
